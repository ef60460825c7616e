//! `workflow rewind`: restores the files, the state or both as they were before a phase began.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Code, Result, Sentence};
use crate::model::ObjectId;
use crate::ops::restore::commands::restore;
use crate::ops::{Consent, Context, RestoreOptions, RestoreOutcome, TypedWords};
use crate::store::Store;
use crate::workflow::engine::transact::{open_imported, with_run};
use crate::workflow::words::absent;
use crate::workflow::{Change, Run, RunStatus, Runs, StepOptions, Workflow};

/// Take files, state or both back to right before a phase
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
#[derive(Clone, Debug, Default, clap::Args)]
#[command(group(clap::ArgGroup::new("what").args(["files", "state", "both"]).required(true)))]
pub struct RewindOptions {
    /// Phase
    #[arg(value_name = "PHASE")]
    pub to: String,
    /// Rewind the files, as 'checkpoint restore' would
    #[arg(long)]
    pub files: bool,
    /// Rewind the state of the run
    #[arg(long)]
    pub state: bool,
    /// Rewind files and state
    #[arg(long)]
    pub both: bool,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run [default: the newest open one]
    #[arg(short = 'w', long = "workflow", value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Ask for no consent.
    #[arg(skip)]
    pub yes: bool,
}

/// A run that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct RewindOutcome {
    #[serde(flatten)]
    pub run: Run,
    pub to_phase_id: String,
    pub dry_run: bool,
    /// Whether the state is rewound, or would be.
    pub state_rewound: bool,
    /// What was done to the files; null if they were not taken back.
    pub rewound: Option<RestoreOutcome>,
}

/// Rewinds a run. `agree` asks for consent if the state is rewound without files.
///
/// # Errors
/// There is no such phase, its checkpoint is gone, or consent was denied; then nothing has changed.
pub fn rewind(
    context: &Context,
    options: &RewindOptions,
    consent: &mut Consent<'_>,
    agree: &mut dyn FnMut(String) -> Result<()>,
) -> Result<RewindOutcome> {
    let (store, conflicts) = open_imported(context)?;
    let run = Runs::pick_live(&store, options.run.as_deref())?;
    let mut of_run = conflicts
        .iter()
        .filter(|conflict| conflict.concerns(&run.workflow));
    if let Some(conflict) = of_run.next().filter(|_| options.state || options.both) {
        return Err(conflict.problem().with_state(&run.workflow));
    }
    let (start, before) = newest_start(&store, &run, &options.to)?;
    let mut outcome = RewindOutcome {
        run,
        to_phase_id: options.to.clone(),
        dry_run: options.dry_run,
        state_rewound: options.state || options.both,
        rewound: None,
    };
    if options.files || options.both {
        let phase = &options.to;
        let instead = "--state rewinds the state without the files";
        let none = |what| absent("no_checkpoint", what).advise(instead);
        let never = || none(format!("no checkpoint was made before phase {phase}"));
        let mut ids = start.checkpoint_ids.iter();
        let found = ids.find_map(|id| ObjectId::from_hex(id));
        let checkpoint = found.ok_or_else(never)?;
        let mut restored = RestoreOptions::default();
        restored.common.yes = options.yes;
        restored.common.dry_run = options.dry_run;
        restored.words = TypedWords::of_checkpoint(checkpoint.to_hex());
        let id = checkpoint.short();
        let gone = format!("checkpoint {id} of phase {phase} no longer exists");
        let restored = restore(context, &restored, consent);
        let mut files = restored.map_err(|error| match error.code {
            code if code == Code::NO_SUCH_CHECKPOINT => none(gone),
            _ => error,
        })?;
        for warning in files.warnings.drain(..) {
            context.pending_warnings.add(warning);
        }
        outcome.rewound = Some(files);
    } else if !options.yes && !options.dry_run {
        let run = outcome.run.workflow.named();
        agree(format!("take workflow {run} back to before {}", options.to))?;
    }
    if outcome.state_rewound && !options.dry_run {
        let rewound = state(context, &outcome, before);
        outcome.run = rewound.map_err(|why| match outcome.rewound {
            Some(_) => {
                let next = Sentence::new("'checkpoint undo' brings the files back", &[]);
                why.after("the files are rewound, and the state is not:", Some(next))
            }
            None => why,
        })?;
    }
    Ok(outcome)
}

/// Rewinds the state, except for the count of resumes.
fn state(context: &Context, shown: &RewindOutcome, before: Run) -> Result<Run> {
    let mut of_run = StepOptions::of_run(&shown.run.workflow.id);
    of_run.expect = Some(shown.run.tip.to_hex());
    with_run(context, &of_run, |work, run| {
        let (now, mut next) = (&run.workflow, before.workflow);
        // A file that came later stays, without what it said; a field that did stays in its file.
        let mut documents = now.documents.clone();
        for (path, old) in &mut next.documents {
            let since = documents.get(path).and_then(Value::as_object);
            for (key, value) in since.into_iter().flatten() {
                if let Some(old) = old.as_object_mut() {
                    old.entry(key.as_str()).or_insert_with(|| value.clone());
                }
            }
        }
        documents.append(&mut next.documents);
        next = Workflow {
            documents,
            id: now.id.clone(),
            status: RunStatus::Open,
            finished_ms: None,
            resume_count: now.resume_count,
            updated_ms: context.now_ms.max(now.updated_ms),
            profile: now.profile,
            ..next
        };
        let mut event = Change::new("rewind").noting(before.tip.short());
        event.phase_id = Some(shown.to_phase_id.clone());
        Ok(work.record(Some(&run), next, event, true)?.run)
    })
}

/// Returns the newest start of a phase, and the run before it.
fn newest_start(store: &Store, run: &Run, phase: &str) -> Result<(Change, Run)> {
    let line = store.workflow_line(run.tip, usize::MAX).transitions;
    let found = line.into_iter().find_map(|found| {
        let event = Change::read(&found.message);
        let is_start = event.verb == "phase start" && event.phase_id.as_deref() == Some(phase);
        is_start.then(|| (event, found.parent.unwrap_or(found.commit)))
    });
    let (start, before) = found.ok_or_else(|| {
        let named = run.workflow.named();
        let what = format!("workflow {named} never started a phase {phase}");
        absent("no_such_phase", what).advise("'checkpoint workflow show' lists what happened")
    })?;
    Ok((start, run.at(store, before)?))
}
