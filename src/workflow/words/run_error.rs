//! Why a command on a run fails: each failure with its sentence, its code and the next step.

use strum::EnumMessage as _;

use crate::base::cut_list::and_more;
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Code, Error, More, RunDetails};

/// Maximum number of names listed in a message.
const LISTED_NAMES: usize = 10;

/// A failure of a command on a run. Its code is the name of the variant, unless one is given; its
/// next step is the `message`, unless it depends on the data.
#[derive(Debug, thiserror::Error, strum::EnumMessage, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RunError {
    // What is named is not there.
    #[error("there is no workflow here")]
    #[strum(message = "'checkpoint workflow init --phase NAME' starts one")]
    NoWorkflow,
    #[error("no workflow '{0}'")]
    #[strum(message = "'checkpoint workflow list --all' lists all of them")]
    NoSuchWorkflow(String),
    #[error("workflow {run} has no phase {phase}")]
    NoSuchPhase {
        run: String,
        phase: String,
        known: Vec<String>,
    },
    #[error("there is no phase {0}")]
    #[strum(serialize = "no_such_phase")]
    UnknownPhase(String),
    #[error("workflow {run} never started a phase {phase}")]
    #[strum(
        serialize = "no_such_phase",
        message = "'checkpoint workflow show' lists what happened"
    )]
    NeverBegun { run: String, phase: String },
    #[error("there is no task {0}")]
    #[strum(message = "'checkpoint task list' lists them")]
    NoSuchTask(String),
    #[error("no checkpoint was made before phase {phase}")]
    #[strum(message = "--state rewinds the state without the files")]
    NoCheckpoint { phase: String },
    #[error("checkpoint {checkpoint} of phase {phase} no longer exists")]
    #[strum(
        serialize = "no_checkpoint",
        message = "--state rewinds the state without the files"
    )]
    CheckpointGone { checkpoint: String, phase: String },
    #[error("{path} needs no decision")]
    NothingToSettle { path: String },
    #[error("nothing to resume: workflow {run} is {status}")]
    NothingToResume {
        run: String,
        status: &'static str,
        /// The name that selects the run, perhaps in the archive.
        name: String,
    },

    // A document cannot be understood.
    #[error("State file is malformed: {path}: {flaws}")]
    StateFileMalformed { path: String, flaws: String },
    #[error("State file is malformed: {flaws}")]
    #[strum(message = "nothing was recorded; fix the document")]
    DocumentMalformed { flaws: String },

    // The state of the run forbids it.
    #[error("no phase can be started now")]
    NothingToStart { run: String },
    #[error("no phase can be started before {phase} is approved")]
    #[strum(serialize = "nothing_to_start")]
    ApprovalFirst {
        phase: String,
        command: CommandWords,
    },
    #[error("phase {phase} depends on {unmet}, which is not complete")]
    #[strum(message = "complete that first, or add --force")]
    DependenciesUnmet {
        phase: String,
        unmet: String,
        /// The command that approves one of them.
        command: Option<CommandWords>,
    },
    #[error("phase {phase} cannot run beside {other}: {}", in_common(*.both_commit))]
    #[strum(message = "finish that one first, or add --force")]
    NotSideBySide {
        phase: String,
        other: String,
        both_commit: bool,
    },
    #[error("phase {phase} is not done: {}", and_more(.lacking, LISTED_NAMES))]
    #[strum(message = "write what is missing, or add --force")]
    OutputsMissing { phase: String, lacking: Vec<String> },
    #[error("phase {phase} is not done: it has open tasks: {}", and_more(.open, LISTED_NAMES))]
    #[strum(message = "end them first, or add --force")]
    TasksOpen { phase: String, open: Vec<String> },
    #[error("phase {0} is already approved")]
    AlreadyApproved(String),
    #[error("phase {phase} is {}", in_the_way(.status, .verb))]
    WrongPhaseState {
        code: &'static str,
        phase: String,
        status: &'static str,
        verb: &'static str,
        next: Sentence,
    },
    #[error("no phase is in progress")]
    NothingUnderWay,
    #[error("several phases are in progress: {phases}")]
    #[strum(message = "name one of them")]
    SeveralUnderWay { phases: String },
    #[error("a task needs a name in one line")]
    BadId,
    #[error("task {0} already exists")]
    #[strum(message = "'checkpoint task list' shows it")]
    TaskExists(String),
    #[error("task {task} is {}; 'task {verb}' is not possible from there", .status.replace('_', " "))]
    #[strum(
        serialize = "invalid_transition",
        message = "'checkpoint task list' shows the state of each"
    )]
    WrongTaskState {
        task: String,
        status: &'static str,
        verb: &'static str,
    },
    #[error("{key} takes a text, in quotes")]
    BadValue { key: String },
    #[error("'{key}' is not a valid key: a name in it is empty")]
    #[strum(serialize = "bad_key")]
    EmptyKey { key: String },
    #[error("'{key}' leads through '{name}', which holds no keys")]
    #[strum(serialize = "bad_key")]
    NoKeysIn { key: String, name: String },
    #[error("workflow {run} is archived and can only be read")]
    #[strum(serialize = "workflow_archived")]
    Archived { run: String },
    #[error("workflow {run} is {status}")]
    #[strum(message = "'checkpoint workflow init --phase NAME' starts another")]
    WorkflowEnded { run: String, status: &'static str },

    // Another run or another process is in the way.
    #[error("workflow {0} already exists")]
    #[strum(message = "give another --id")]
    WorkflowExists(String),
    #[error("workflow {0} is open and has the same task")]
    #[strum(serialize = "workflow_open")]
    SameTask(String),
    #[error("workflow {0} keeps its state in the same file")]
    #[strum(serialize = "workflow_open")]
    SameFile(String),
    #[error("workflow {0} is open and keeps its state in the same file")]
    #[strum(serialize = "workflow_open")]
    OpenInSameFile(String),
    #[error("workflow {run} was changed by another process")]
    #[strum(message = "check its state, then try again")]
    MovedOn { run: String },
    #[error("workflow {run} is at {at}, not at {expected}")]
    #[strum(serialize = "moved_on", message = "check its state, then try again")]
    NotAtExpected {
        run: String,
        at: String,
        expected: String,
    },
    #[error("{path} was edited while the workflow moved on: both sides changed")]
    BothChanged { path: String },
    #[error("{path} was removed while its workflow is open")]
    StateFileGone { path: String },
    #[error("{operation} is in progress in the project's repository; nothing was changed")]
    #[strum(serialize = "no_commit", message = "finish it with git first")]
    GitUnderWay { operation: String },
    #[error("the project has no repository to commit to: {why}; nothing was changed")]
    #[strum(
        serialize = "no_commit",
        message = "'checkpoint phase done' ends the phase without it"
    )]
    NoRepository { why: String },

    // The user has to decide.
    #[error("workflow {run} is open{}; choose what to do with it", and_unsound(.wrong.as_deref()))]
    DecisionNeeded { run: String, wrong: Option<String> },
    #[error("workflow {run} is inconsistent: {wrong}; nothing was changed")]
    Unsound { run: String, wrong: String },
    #[error("{}; nothing was changed", not_valid(.given))]
    NoAnswer { given: String, keys: String },
}

/// `already in progress`, or `failed; 'phase done' is not possible then`.
fn in_the_way(status: &str, verb: &str) -> String {
    let words = status.replace('_', " ");
    match (status, verb) {
        ("complete" | "skipped", _) | ("in_progress", "start") => format!("already {words}"),
        ("pending", _) => "not started".to_owned(),
        _ => format!("{words}; 'phase {verb}' is not possible then"),
    }
}

fn not_valid(answer: &str) -> String {
    if answer.is_empty() {
        "no answer was given".to_owned()
    } else {
        format!("'{answer}' is not a valid answer")
    }
}

fn in_common(both_commit: bool) -> &'static str {
    if both_commit {
        "both commit"
    } else {
        "both write the same files"
    }
}

fn and_unsound(wrong: Option<&str>) -> String {
    wrong.map_or_else(String::new, |wrong| format!(" and inconsistent: {wrong}"))
}

/// The next step where a phase waits for approval.
pub fn approves(command: &CommandWords) -> Sentence {
    quoted(command).then(" approves it")
}

/// The next step where a phase is in progress.
pub fn ends(command: &CommandWords) -> Sentence {
    quoted(command).then(" ends it")
}

/// The next step where a phase can start.
pub fn starts(command: &CommandWords) -> Sentence {
    quoted(command).then(" starts it")
}

fn quoted(command: &CommandWords) -> Sentence {
    Sentence::default().then_command(command.clone())
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

/// The next step after a phase was picked that cannot begin.
pub fn names_ready(run: &str) -> Sentence {
    Sentence::new(
        "'checkpoint workflow next {} --parallel' lists what can start",
        &[&run],
    )
}

/// The next step where another run is open.
fn goes_on(run: &str) -> Sentence {
    Sentence::new(
        "'checkpoint workflow resume {}' continues it, 'checkpoint workflow end {} --abandon' ends it",
        &[&run, &run],
    )
}

impl RunError {
    fn code(&self) -> &'static str {
        match self {
            Self::WrongPhaseState { code, .. } => code,
            other => other.into(),
        }
    }

    fn exit(&self) -> u8 {
        match self {
            Self::NoWorkflow
            | Self::NoSuchWorkflow(_)
            | Self::NoSuchPhase { .. }
            | Self::UnknownPhase(_)
            | Self::NeverBegun { .. }
            | Self::NoSuchTask(_)
            | Self::NoCheckpoint { .. }
            | Self::CheckpointGone { .. }
            | Self::NothingToSettle { .. }
            | Self::NothingToResume { .. } => Code::NOTHING_FOUND.exit,
            Self::StateFileMalformed { .. } | Self::DocumentMalformed { .. } => Code::DAMAGED.exit,
            _ => Code::CONFLICT.exit,
        }
    }

    fn next_step(&self) -> Option<Sentence> {
        Some(match self {
            Self::Archived { run } => Sentence::new(
                "'checkpoint workflow show {}' shows it, 'checkpoint workflow end {} --purge' drops it, and ",
                &[run, run],
            )
            .then_sentence(starts_from_plan(run)),
            Self::NoSuchPhase { known, .. } if known.is_empty() => {
                Sentence::text("it has no phases")
            }
            Self::NoSuchPhase { known, .. } => {
                Sentence::text(format!("its phases are {}", and_more(known, LISTED_NAMES)))
            }
            Self::NothingToSettle { .. } => {
                Sentence::command(CommandWords::new(["workflow", "status"]))
            }
            Self::NothingUnderWay => Sentence::command(CommandWords::new(["phase", "start"])),
            Self::NothingToResume { name, .. } => Sentence::new(
                "'checkpoint workflow init --phase NAME' starts a new one, and ",
                &[],
            )
            .then_sentence(starts_from_plan(name)),
            Self::NothingToStart { run } => shows_state(run),
            Self::ApprovalFirst { command, .. }
            | Self::DependenciesUnmet {
                command: Some(command),
                ..
            } => approves(command),
            Self::WrongPhaseState { next, .. } => next.clone(),
            Self::SameTask(id) => goes_on(id).then("; --id starts another beside it"),
            Self::SameFile(id) | Self::OpenInSameFile(id) => goes_on(id),
            Self::NoAnswer { keys, .. } => Sentence::text(format!("choose one of {keys}")),
            _ => Sentence::new(self.get_message()?, &[]),
        })
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        let code = Code {
            name: error.code(),
            exit: error.exit(),
        };
        let mut failure = Self::new(code, error.to_string());
        failure.next = error.next_step();
        failure.more(More::Run(RunDetails::default()))
    }
}
