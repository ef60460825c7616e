//! Runs of phases that outlive the sessions that work on them: rules, documents, commands.

pub mod documents;
pub mod engine;
pub mod plan;
pub mod port;
pub mod profiles;
pub mod rules;
pub mod words;

pub use documents::conflict::Conflict;
pub use documents::files::Leaving;
pub use engine::end::EndOutcome;
pub use engine::exchange::Exported;
pub use engine::init::InitOptions;
pub use engine::phase::Start;
pub use engine::report::{ComparedRun, Listed, Shown, Status, View};
pub use engine::resume::{RecoverOutcome, ResumeOutcome};
pub use engine::rewind::RewindOutcome;
pub use engine::runs::{Run, Runs};
pub use engine::work::{StepOptions, StepOutcome, Work};
pub use profiles::format::{Format, Found, Time};
pub use rules::change::Change;
pub use rules::dialog::Chosen;
pub use rules::observation::{Observations, ObservedFile};
pub use rules::workflow::{
    Class, Finding, Interruption, MiniCommit, Phase, PhaseOutput, PhaseStatus, Profile, RunStatus,
    Task, TaskStatus, Workflow,
};
