//! `workflow resume`: shows the state of a run, asks as its profile does, and does what was chosen.

use crate::base::cut_list::one_of;
use crate::error::problem::{Choice, WorkflowProblem};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::workflow::documents::conflict::in_words;
use crate::workflow::documents::sync;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::phase_transitions::{self, StartOptions};
use crate::workflow::engine::report::{self, Status};
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::step::{StepOptions, actor, choose};
use crate::workflow::engine::transition::{self, StepOutcome, change_run};
use crate::workflow::engine::{abandon, init_run};
use crate::workflow::rules::advice::{self, Advice};
use crate::workflow::rules::change::{Change, Start};
use crate::workflow::rules::choices::{self, Chosen};
use crate::workflow::rules::event::Event;
use crate::workflow::rules::observation::Observations;
use crate::workflow::rules::workflow::Workflow;

#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    pub step: StepOptions,
    /// The answer to the first question.
    pub choose: Option<String>,
    /// Resume the run even if it is not valid.
    pub anyway: bool,
    /// Skip questions that only ask for confirmation.
    pub yes: bool,
}

/// One question to the user.
pub enum Question<'s> {
    /// The full status, then the question of the profile.
    Resume(&'s Status),
    /// What is wrong with the run, then whether to start fresh.
    Unsound(&'s Status),
    /// No question: shows why the run is not resumed.
    Refused(&'s Status),
    AbandonOrPick,
    /// Which of the remaining phases.
    Pick(&'s Workflow),
    /// Whether to really restart the plan.
    Restart(&'s Workflow),
    /// The answer was not understood.
    Again(&'s Workflow, String),
    /// The full state, on request.
    Details(&'s Status),
}

/// Asks the user; returns `None` if there is no one to ask.
pub type Ask<'a> = dyn FnMut(&Question<'_>) -> Result<Option<String>> + 'a;

#[derive(Debug)]
pub struct ResumeOutcome {
    pub run: Run,
    pub done: ResumeAction,
    /// Repairs that were made, in words.
    pub mended: Vec<String>,
    pub advice: Advice,
    /// Status of the run before.
    pub before: Status,
    pub warnings: Vec<Warning>,
}

struct Acted {
    run: Run,
    done: ResumeAction,
    mended: Vec<String>,
    advice: Advice,
    warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum ResumeAction {
    /// The run was only shown.
    Viewed,
    Resumed,
    StartedFresh,
    Picked,
    Deleted,
    Abandoned,
}

/// # Errors
/// There is nothing to resume, the user cannot be asked (the error has the options), or a file
/// cannot be understood.
pub fn resume(
    context: &Context,
    options: &ResumeOptions,
    ask: &mut Ask<'_>,
) -> Result<ResumeOutcome> {
    let status = report::status(context, options.step.workflow.as_deref(), true)?;
    if let Some(conflict) = status
        .conflicts
        .iter()
        .find(|conflict| conflict.concerns(&status.run.workflow))
    {
        return Err(conflict.problem(Some(&status.run.workflow)).into());
    }
    let workflow = &status.run.workflow;
    if !workflow.status.is_open() {
        let what = format!(
            "nothing to resume: workflow {} is {}",
            workflow.id,
            workflow.word()
        );
        let id = status.run.id();
        let hint = format!(
            "'checkpoint workflow init' begins one, and 'checkpoint workflow init --plan -' one that goes on with what \
             'checkpoint workflow export {id} --format plan' prints"
        );
        return Err(WorkflowProblem::no_such("nothing_to_resume", what)
            .hint(hint)
            .into());
    }
    let chosen = match &options.choose {
        Some(word) => {
            choices::understand(workflow, word).ok_or_else(|| no_answer(&status, word))?
        }
        None => first(&status, options, ask)?,
    };
    if options.choose.is_some() && chosen.goes_on() && !options.anyway && !is_sound(&status) {
        ask(&Question::Refused(&status))?;
        return Err(unsound(&status).into());
    }
    let chosen = if chosen == Chosen::Decline {
        decline(&status, options, ask)?
    } else {
        chosen
    };
    let acted = match chosen {
        Chosen::View => Acted {
            run: status.run.clone(),
            done: ResumeAction::Viewed,
            mended: Vec::new(),
            advice: status.advice.clone(),
            warnings: status.warnings.clone(),
        },
        other => act(context, options, &status, other)?,
    };
    let Acted {
        run,
        done,
        mended,
        advice,
        warnings,
    } = acted;
    Ok(ResumeOutcome {
        run,
        done,
        mended,
        advice,
        before: status,
        warnings,
    })
}

fn is_sound(status: &Status) -> bool {
    status.report.errors.is_empty()
}

/// Asks the first question. Nothing is changed and no lock is held until the last answer is given.
fn first(status: &Status, options: &ResumeOptions, ask: &mut Ask<'_>) -> Result<Chosen> {
    let workflow = &status.run.workflow;
    let undecided = || decision(status, choices::choices(workflow, is_sound(status)));
    if !is_sound(status) && !options.anyway {
        let answer = ask(&Question::Unsound(status))?.ok_or_else(undecided)?;
        if answer.is_empty() {
            return Err(no_answer(status, "").into());
        }
        if is_yes(&answer) {
            return Ok(Chosen::StartFresh);
        }
    }
    let mut answer = ask(&Question::Resume(status))?.ok_or_else(undecided)?;
    loop {
        // An empty answer is the end of the input; asking again would loop forever.
        if answer.is_empty() {
            return Err(no_answer(status, "").into());
        }
        answer = match choices::understand_line(workflow, &answer) {
            Some(Chosen::View) => ask(&Question::Details(status))?.unwrap_or_default(),
            Some(Chosen::StartFresh) if choices::is_confirmed(workflow) && !options.yes => {
                let answer = ask(&Question::Restart(workflow))?.unwrap_or_default();
                return if is_yes(&answer) {
                    Ok(Chosen::StartFresh)
                } else {
                    Err(Error::Declined)
                };
            }
            Some(chosen) => return Ok(chosen),
            None => ask(&Question::Again(workflow, answer.trim().to_owned()))?.unwrap_or_default(),
        };
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn decline(status: &Status, options: &ResumeOptions, ask: &mut Ask<'_>) -> Result<Chosen> {
    let workflow = &status.run.workflow;
    let undecided = || decision(status, choices::after_no(workflow, is_sound(status)));
    // A choice on the command line answers the further questions as well.
    let answer = if options.choose.is_some() {
        None
    } else {
        ask(&Question::AbandonOrPick)?
    };
    let answer = answer.ok_or_else(undecided)?.trim().to_ascii_lowercase();
    match answer.as_str() {
        "abandon" | "a" => Ok(Chosen::Abandon),
        "pick" | "p" => {
            let picked = ask(&Question::Pick(workflow))?.ok_or_else(undecided)?;
            let picked = picked.trim();
            let numbered = picked
                .parse::<usize>()
                .ok()
                .and_then(|at| workflow.phases.get(at.checked_sub(1)?));
            let phase = workflow
                .phase(picked)
                .or(numbered)
                .ok_or_else(|| no_answer(status, picked))?;
            Ok(Chosen::Pick(phase.id.clone()))
        }
        _ => Err(no_answer(status, &answer).into()),
    }
}

/// The error if the user cannot be asked; nothing is changed.
fn decision(status: &Status, options: Vec<Choice>) -> WorkflowProblem {
    let workflow = &status.run.workflow;
    let unsound = what_is_wrong(status)
        .map(|wrong| format!(" and not sound: {wrong}"))
        .unwrap_or_default();
    let what = format!(
        "workflow {} is open{unsound}; what is to become of it?",
        workflow.id
    );
    with_choices(WorkflowProblem::refused("decision_needed", what), options).with_state(workflow)
}

/// The error if an invalid run was to be resumed.
fn unsound(status: &Status) -> WorkflowProblem {
    let workflow = &status.run.workflow;
    let wrong = what_is_wrong(status).unwrap_or_default();
    let what = format!(
        "workflow {} is not sound: {wrong}; nothing was changed",
        workflow.id
    );
    with_choices(
        WorkflowProblem::refused("unsound", what),
        choices::choices(workflow, false),
    )
    .with_state(workflow)
}

fn what_is_wrong(status: &Status) -> Option<String> {
    let errors = &status.report.errors;
    Some(one_of(in_words(errors.first()?), errors.len()))
}

/// Adds the choices to the error; the hint names only the first ones.
fn with_choices(problem: WorkflowProblem, options: Vec<Choice>) -> WorkflowProblem {
    const NAMED_CHOICES: usize = 5;
    let told = |choice: &Choice| format!("'{}': {}", choice.command, choice.label);
    let mut hint: Vec<String> = options.iter().take(NAMED_CHOICES).map(told).collect();
    if options.len() > NAMED_CHOICES {
        hint.push(format!(
            "{} more with --json",
            options.len() - NAMED_CHOICES
        ));
    }
    problem.hint(hint.join("; ")).with_options(options)
}

fn no_answer(status: &Status, given: &str) -> WorkflowProblem {
    let options = choices::choices(&status.run.workflow, is_sound(status));
    let keys: Vec<&str> = options.iter().map(|choice| choice.key.as_str()).collect();
    let what = format!("'{given}' is no answer here; nothing was changed");
    WorkflowProblem::refused("no_answer", what)
        .hint(format!("one of {}", keys.join(", ")))
        .with_options(options)
}

fn act(
    context: &Context,
    options: &ResumeOptions,
    status: &Status,
    chosen: Chosen,
) -> Result<Acted> {
    let store = sync::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = sync::sync(context, &mut session)?;
    let of_run = StepOptions {
        workflow: Some(status.run.workflow.id.clone()),
        ..options.step.clone()
    };
    let run = choose(&store, &of_run, &conflicts)?;
    if run.tip != status.run.tip {
        let what = format!("workflow {} was moved on by somebody else", run.workflow.id);
        return Err(WorkflowProblem::refused("moved_on", what)
            .hint("look at it again, then decide")
            .with_state(&run.workflow)
            .into());
    }
    let actor = actor(context, &of_run);
    match chosen {
        Chosen::Resume | Chosen::View | Chosen::Decline => {
            go_on(context, &mut session, run, &actor)
        }
        Chosen::Pick(id) => {
            check_pick(&run.workflow, &id, context.now_ms)?;
            let outcome = leave_current(context, &mut session, run, &actor)?;
            drop(session);
            picked(context, &of_run, &outcome, id)
        }
        Chosen::StartFresh => {
            let outcome = start_fresh(context, &mut session, &run, &actor)?;
            let advice = advice::advice(
                &outcome.run.workflow,
                &observe(context, &outcome.run.workflow)?,
            );
            Ok(ended(outcome, ResumeAction::StartedFresh, advice))
        }
        Chosen::Delete | Chosen::Abandon => {
            let done = if chosen == Chosen::Delete {
                ResumeAction::Deleted
            } else {
                ResumeAction::Abandoned
            };
            let outcome = abandon::abandon_run(context, &mut session, &run, "", &actor)?;
            let advice = advice::advice(&outcome.run.workflow, &Observations::new());
            Ok(ended(outcome, done, advice))
        }
    }
}

/// Repairs what the interruption left, and resumes the run.
fn go_on(context: &Context, session: &mut Session<'_>, run: Run, actor: &str) -> Result<Acted> {
    let (mut run, mut mended, mut warnings) = (run, Vec::new(), Vec::new());
    let observations = observe(context, &run.workflow)?;
    for mend in crate::workflow::rules::recover::mends(&run.workflow, &observations) {
        let outcome = change_run(context, session, &run, &mend.change, actor)?;
        warnings.extend(outcome.warnings);
        run = outcome.run;
        mended.push(mend.what);
    }
    if run.workflow.status.is_open() {
        let outcome = change_run(context, session, &run, &Change::Resume, actor)?;
        warnings.extend(outcome.warnings);
        run = outcome.run;
    }
    let advice = advice::advice(&run.workflow, &observe(context, &run.workflow)?);
    Ok(Acted {
        run,
        done: ResumeAction::Resumed,
        mended,
        advice,
        warnings,
    })
}

fn ended(outcome: StepOutcome, done: ResumeAction, advice: Advice) -> Acted {
    let StepOutcome { run, warnings, .. } = outcome;
    Acted {
        run,
        done,
        mended: Vec::new(),
        advice,
        warnings,
    }
}

/// Checks that the phase can begin once the running ones are pending again, before any change.
fn check_pick(workflow: &Workflow, id: &str, now_ms: i64) -> Result<()> {
    let running = workflow.running().map(|phase| Change::Reset {
        phase: phase.id.clone(),
    });
    let begin = Change::StartPhase(Start {
        phase: Some(id.to_owned()),
        ..Start::default()
    });
    let waiting = running
        .chain([begin])
        .try_fold(workflow.clone(), |state, change| {
            state.after(&change, now_ms)
        });
    let ways = || {
        format!(
            "'checkpoint workflow next {} --parallel' names what can begin",
            workflow.id
        )
    };
    waiting
        .map(drop)
        .map_err(|problem| problem.hint(ways()).with_state(workflow).into())
}

/// Makes the running phases pending again, and keeps their progress notes.
fn leave_current(
    context: &Context,
    session: &mut Session<'_>,
    run: Run,
    actor: &str,
) -> Result<Run> {
    let mut run = run;
    let running: Vec<String> = run
        .workflow
        .running()
        .map(|phase| phase.id.clone())
        .collect();
    for phase in running {
        run = change_run(context, session, &run, &Change::Reset { phase }, actor)?.run;
    }
    Ok(run)
}

fn picked(context: &Context, options: &StepOptions, run: &Run, id: String) -> Result<Acted> {
    let step = StepOptions {
        expect: None,
        ..options.clone()
    };
    let started = phase_transitions::start(
        context,
        &StartOptions {
            step,
            phase: Some(id),
            ..StartOptions::default()
        },
    );
    let outcome = started.map_err(|error| match error {
        Error::Workflow(problem) => problem.with_state(&run.workflow).into(),
        other => other,
    })?;
    let advice = advice::advice(
        &outcome.run.workflow,
        &observe(context, &outcome.run.workflow)?,
    );
    Ok(ended(outcome, ResumeAction::Picked, advice))
}

/// Archives the old run first: it may be the only record of what was done.
///
/// # Errors
/// A transition cannot be recorded.
pub fn start_fresh(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    actor: &str,
) -> Result<StepOutcome> {
    let next = init_run::anew(context, session, &run.workflow)?;
    let old = abandon::abandon_run(context, session, run, "started fresh", actor)?;
    let event = Event {
        note: Some(old.run.workflow.id),
        ..Event::new("init", actor)
    };
    let mut outcome = transition::record(context, session, None, next, event)?;
    outcome.warnings.extend(old.warnings);
    Ok(outcome)
}
