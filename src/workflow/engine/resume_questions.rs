//! What is to become of a run: the questions of its profile, and the decision from the answers.

use crate::base::cut_list::one_of;

use crate::error::{Choice, Error, Result};
use crate::workflow::documents::conflict::in_words;
use crate::workflow::engine::report::Status;
use crate::workflow::rules::choices::{self, Chosen, PICK};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::labels::listed;
use crate::workflow::words::run_error::RunError;

/// Maximum number of choices in a hint.
const LISTED_CHOICES: usize = 5;

/// Show the state of a run, ask, and resume it
///
/// Without a terminal it asks nothing: it shows the same, exits with 4 and names the answers. A run
/// with errors is resumed only with --anyway.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ResumeOptions {
    /// Run [default: the newest open one]
    #[arg(value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Answer: y, n, restart, abandon or pick:ID; with registry r, s, v or d
    #[arg(long, value_name = "ANSWER")]
    pub choose: Option<String>,
    /// Resume even if 'workflow check' finds errors
    #[arg(long)]
    pub anyway: bool,
    /// Skip questions that only ask for confirmation.
    #[arg(skip)]
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
    /// Which of the remaining phases; asked again until it is one that can begin.
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

/// Returns the decision, from the options or the answers. Nothing is changed and no lock is held
/// until the last answer is given.
///
/// # Errors
/// The user cannot be asked, an answer is invalid, or the run is not valid and would be resumed.
pub fn decide(status: &Status, options: &ResumeOptions, ask: &mut Ask<'_>) -> Result<Chosen> {
    let chosen = match &options.choose {
        Some(word) => choices::understand(&status.run.workflow, word)
            .ok_or_else(|| no_answer(word, first_choices(status)))?,
        None => first(status, options, ask)?,
    };
    if options.choose.is_some() && chosen.goes_on() && !options.anyway && !is_sound(status) {
        ask(&Question::Refused(status))?;
        return Err(unsound(status));
    }
    if chosen == Chosen::Decline {
        decline(status, options, ask)
    } else {
        Ok(chosen)
    }
}

fn is_sound(status: &Status) -> bool {
    status.seen.report.valid
}

fn first(status: &Status, options: &ResumeOptions, ask: &mut Ask<'_>) -> Result<Chosen> {
    let workflow = &status.run.workflow;
    let undecided = || undecided(status, first_choices(status));
    if !is_sound(status) && !options.anyway {
        let answer = ask(&Question::Unsound(status))?.ok_or_else(undecided)?;
        if is_yes(&answer) {
            return Ok(Chosen::StartFresh);
        }
    }
    let mut answer = ask(&Question::Resume(status))?.ok_or_else(undecided)?;
    loop {
        answer = match choices::understand_line(workflow, &answer) {
            Some(Chosen::View) => ask(&Question::Details(status))?.ok_or_else(undecided)?,
            Some(Chosen::StartFresh) if choices::is_confirmed(workflow) && !options.yes => {
                let answer = ask(&Question::Restart(workflow))?.unwrap_or_default();
                return if is_yes(&answer) {
                    Ok(Chosen::StartFresh)
                } else {
                    Err(Error::declined())
                };
            }
            Some(chosen) => return Ok(chosen),
            None => {
                let again = Question::Again(workflow, answer.trim().to_owned());
                ask(&again)?.ok_or_else(undecided)?
            }
        };
    }
}

fn first_choices(status: &Status) -> Vec<Choice> {
    choices::choices(&status.run.workflow, is_sound(status))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn decline(status: &Status, options: &ResumeOptions, ask: &mut Ask<'_>) -> Result<Chosen> {
    let workflow = &status.run.workflow;
    let mut offered = choices::after_no(workflow, is_sound(status));
    // A choice on the command line answers the further questions as well.
    let answer = if options.choose.is_some() {
        None
    } else {
        ask(&Question::AbandonOrPick)?
    };
    let undecided = |offered: &[Choice]| undecided(status, offered.to_vec());
    let answer = answer.ok_or_else(|| undecided(&offered))?.trim().to_owned();
    let picked = match answer.to_ascii_lowercase().as_str() {
        "abandon" | "a" => return Ok(Chosen::Abandon),
        "pick" | "p" => {
            offered.retain(|choice| choice.key.starts_with(PICK));
            loop {
                let picked = ask(&Question::Pick(workflow))?.ok_or_else(|| undecided(&offered))?;
                let picked = picked.trim().to_owned();
                if picked.is_empty() || picked_phase(workflow, &picked, &offered).is_some() {
                    break picked;
                }
            }
        }
        _ => answer,
    };
    match picked_phase(workflow, &picked, &offered) {
        Some(phase) => Ok(Chosen::Pick(phase.id.clone())),
        None => Err(no_answer(&picked, offered)),
    }
}

/// Returns the phase that an answer names, by id or number, if it is among those offered.
fn picked_phase<'w>(workflow: &'w Workflow, picked: &str, offered: &[Choice]) -> Option<&'w Phase> {
    let id = picked.strip_prefix(PICK).unwrap_or(picked);
    let place = id.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
    let found = workflow.phase(id).or_else(|| workflow.phases.get(place?));
    let is_it = |choice: &Choice, phase: &Phase| choice.key.strip_prefix(PICK) == Some(&phase.id);
    found.filter(|phase| offered.iter().any(|choice| is_it(choice, phase)))
}

/// The error if the user cannot be asked; nothing is changed.
fn undecided(status: &Status, options: Vec<Choice>) -> Error {
    let error = RunError::DecisionNeeded {
        run: status.run.workflow.named().to_owned(),
        wrong: what_is_wrong(status),
    };
    with_choices(error, options).with_state(&status.run.workflow)
}

/// The error if an invalid run was to be resumed.
fn unsound(status: &Status) -> Error {
    let workflow = &status.run.workflow;
    let error = RunError::Unsound {
        run: workflow.named().to_owned(),
        wrong: what_is_wrong(status).unwrap_or_default(),
    };
    with_choices(error, first_choices(status)).with_state(workflow)
}

fn what_is_wrong(status: &Status) -> Option<String> {
    let errors = &status.seen.report.errors;
    Some(one_of(in_words(errors.first()?), errors.len()))
}

fn with_choices(error: RunError, options: Vec<Choice>) -> Error {
    Error::from(error)
        .next(listed(&options, LISTED_CHOICES))
        .with_options(options)
}

/// The error if the answer is none of those that were offered.
fn no_answer(given: &str, offered: Vec<Choice>) -> Error {
    let keys: Vec<&str> = offered.iter().map(|choice| choice.key.as_str()).collect();
    let error = RunError::NoAnswer {
        given: given.to_owned(),
        keys: keys.join(", "),
    };
    Error::from(error).with_options(offered)
}
