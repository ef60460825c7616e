//! Operations by purpose: options in, outcome out. Store and worktree meet; nothing is printed.

pub mod browse;
pub mod capture;
pub mod context;
pub mod contract;
pub mod create;
pub mod database;
pub mod find_root;
pub mod maintain;
pub mod open_store;
pub mod own_files;
pub mod restore;
pub mod select;
pub mod session;
pub mod transfer;
pub mod warning;

pub use browse::bisect::BisectOutcome;
pub use browse::config::ConfigOutcome;
pub use browse::diff::file_diff::{
    Body, Detail, FileDiff, FileVersion, LoadedVersion, PatchOptions, SeenFile,
};
pub use browse::diff::{DiffOutcome, Side};
pub use browse::find::text_search::FoundText;
pub use browse::find::{FindOutcome, History, TextMatch};
pub use browse::list::{ListOptions, ListOutcome, StepsOutcome};
pub use browse::ls::{LsKind, LsOptions, LsOutcome};
pub use browse::prompts::PromptsOutcome;
pub use capture::gather::CapturedScope;
pub use capture::lazy_snapshot::{DirFilter, LazySnapshot};
pub use capture::left_out::LeftOut;
pub use capture::pipeline::{CaptureOptions, Captured, Capturing};
pub use capture::present::WorktreeSide;
pub use capture::sink::{Admission, Pieces, ThreadSink};
pub use context::{Context, FedCommand, GitCommand, GitEnd};
pub use contract::guard::GuardOutcome;
pub use contract::hold::{HoldOutcome, ReleaseOutcome};
pub use create::options::{CreateCounts, CreateOptions, CreateOutcome, DedupPolicy, Skipped};
pub use database::backup::DatabaseFailure;
pub use find_root::{Place, RootSearch};
pub use maintain::delete::{DeleteOptions, DeleteOutcome, DeletedWithStore, ToDelete};
pub use maintain::moved::{Moved, RelinkOutcome, RootEvidence};
pub use maintain::pin::{PinOutcome, RewordOutcome};
pub use maintain::prune::{KeepOptions, PruneOutcome};
pub use maintain::repair::RepairOutcome;
pub use maintain::stores::{KnownStore, OrphansOutcome, RootState, StoreList};
pub use maintain::verify::VerifyOutcome;
pub use own_files::OwnFiles;
pub use restore::planned_restore::RestoreJob;
pub use restore::restore_options::{
    CommonOptions, Consent, DatabaseFate, DatabaseReport, RestoreOptions, RestoreOutcome,
    RestoreRequest, TakenStep,
};
pub use restore::target::Target;
pub use restore::verify_written::Verified;
pub use select::checkpoint::Timeline;
pub use select::words::{Globs, Lookup, Period, TypedWords};
pub use session::{Pending, Session};
pub use transfer::bundle::{ExportBundleOptions, ExportOutcome, ImportOutcome};
pub use transfer::clone::CloneOutcome;
pub use transfer::fetch::FetchOutcome;
pub use transfer::push::PushOutcome;
pub use transfer::remote::{RemoteChange, RemoteOutcome};
pub use transfer::remote_git::{GitLimits, Pushed, RemoteGit};
pub use warning::Warning;
