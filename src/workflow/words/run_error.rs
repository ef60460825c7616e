//! Why a command on a run fails: what is missing, what is refused, and sentences that several use.

use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Code, Error, More, RunDetails};

/// Maximum number of names listed in a message.
pub const LISTED_NAMES: usize = 10;

fn failed(name: &'static str, exit: u8, what: impl Into<String>) -> Error {
    Error::new(Code { name, exit }, what).more(More::Run(RunDetails::default()))
}

/// What is named is not there.
pub fn absent(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::NOTHING_FOUND.exit, what)
}

/// The state of a run, or another run, forbids it.
pub fn refused(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::CONFLICT.exit, what)
}

/// A document cannot be understood.
pub fn malformed(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::DAMAGED.exit, what)
}

/// Returns the command of a transition of a phase.
pub fn phase_command(verb: &str, phase: &str, run: &str) -> CommandWords {
    CommandWords::new(["phase", verb, phase, "-w", run])
}

/// The next step where the plan of a run can be used again.
pub fn starts_from_plan(run: &str) -> Sentence {
    Sentence::new(
        "'checkpoint workflow init --plan -' starts one from what 'checkpoint workflow export {} --format plan' prints",
        &[&run],
    )
}

/// The next step where the state tells all.
pub fn shows_state(run: &str) -> Sentence {
    Sentence::new("'checkpoint workflow status {}' shows its state", &[&run])
}

/// The next step where another run is open.
fn goes_on(run: &str) -> Sentence {
    Sentence::new(
        "'checkpoint workflow resume {}' continues it, 'checkpoint workflow end {} --abandon' ends it",
        &[&run, &run],
    )
}

/// A failure of the commands of runs that several of them share.
#[derive(Debug)]
pub enum RunError {
    NoWorkflow,
    NoSuchWorkflow(String),
    NeverBegun {
        run: String,
        phase: String,
    },
    NoCheckpoint {
        phase: String,
    },
    CheckpointGone {
        checkpoint: String,
        phase: String,
    },
    NothingToSettle {
        path: String,
    },
    StateFileMalformed {
        path: String,
        flaws: String,
    },
    DocumentMalformed {
        flaws: String,
    },
    Archived {
        run: String,
    },
    WorkflowExists(String),
    SameTask(String),
    SameFile(String),
    OpenInSameFile(String),
    MovedOn {
        run: String,
    },
    NotAtExpected {
        run: String,
        at: String,
        expected: String,
    },
    BothChanged {
        path: String,
    },
    StateFileGone {
        path: String,
    },
    GitUnderWay {
        operation: String,
    },
    NoRepository {
        why: String,
    },
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::NoWorkflow => absent("no_workflow", "there is no workflow here")
                .advise("'checkpoint workflow init --phase NAME' starts one"),
            RunError::NoSuchWorkflow(name) => {
                absent("no_such_workflow", format!("no workflow '{name}'"))
                    .advise("'checkpoint workflow list --all' lists all of them")
            }
            RunError::NeverBegun { run, phase } => absent(
                "no_such_phase",
                format!("workflow {run} never started a phase {phase}"),
            )
            .advise("'checkpoint workflow show' lists what happened"),
            RunError::NoCheckpoint { phase } => absent(
                "no_checkpoint",
                format!("no checkpoint was made before phase {phase}"),
            )
            .advise("--state rewinds the state without the files"),
            RunError::CheckpointGone { checkpoint, phase } => {
                let what = format!("checkpoint {checkpoint} of phase {phase} no longer exists");
                absent("no_checkpoint", what).advise("--state rewinds the state without the files")
            }
            RunError::NothingToSettle { path } => {
                absent("nothing_to_settle", format!("{path} needs no decision"))
                    .next(Sentence::command(CommandWords::new(["workflow", "status"])))
            }
            RunError::StateFileMalformed { path, flaws } => malformed(
                "state_file_malformed",
                format!("State file is malformed: {path}: {flaws}"),
            ),
            RunError::DocumentMalformed { flaws } => malformed(
                "document_malformed",
                format!("State file is malformed: {flaws}"),
            )
            .advise("nothing was recorded; fix the document"),
            RunError::Archived { run } => {
                let next = Sentence::new(
                    "'checkpoint workflow show {}' shows it, 'checkpoint workflow end {} --purge' drops it, and ",
                    &[&run, &run],
                );
                let what = format!("workflow {run} is archived and can only be read");
                refused("workflow_archived", what).next(next.then_sentence(starts_from_plan(&run)))
            }
            RunError::WorkflowExists(id) => {
                refused("workflow_exists", format!("workflow {id} already exists"))
                    .advise("give another --id")
            }
            RunError::SameTask(id) => refused(
                "workflow_open",
                format!("workflow {id} is open and has the same task"),
            )
            .next(goes_on(&id).then("; --id starts another beside it")),
            RunError::SameFile(id) => refused(
                "workflow_open",
                format!("workflow {id} keeps its state in the same file"),
            )
            .next(goes_on(&id)),
            RunError::OpenInSameFile(id) => {
                let what = format!("workflow {id} is open and keeps its state in the same file");
                refused("workflow_open", what).next(goes_on(&id))
            }
            RunError::MovedOn { run } => refused(
                "moved_on",
                format!("workflow {run} was changed by another process"),
            )
            .advise("check its state, then try again"),
            RunError::NotAtExpected { run, at, expected } => refused(
                "moved_on",
                format!("workflow {run} is at {at}, not at {expected}"),
            )
            .advise("check its state, then try again"),
            RunError::BothChanged { path } => {
                let what =
                    format!("{path} was edited while the workflow moved on: both sides changed");
                refused("both_changed", what)
            }
            RunError::StateFileGone { path } => refused(
                "state_file_gone",
                format!("{path} was removed while its workflow is open"),
            ),
            RunError::GitUnderWay { operation } => {
                let what = format!(
                    "{operation} is in progress in the project's repository; nothing was changed"
                );
                refused("no_commit", what).advise("finish it with git first")
            }
            RunError::NoRepository { why } => {
                let what = format!(
                    "the project has no repository to commit to: {why}; nothing was changed"
                );
                refused("no_commit", what)
                    .advise("'checkpoint phase done' ends the phase without it")
            }
        }
    }
}
