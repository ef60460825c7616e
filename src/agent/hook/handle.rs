//! Decides what is done for an event, and what its agent is answered.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::agent::dialect::answer::HookAnswer;
use crate::agent::dialect::event::AgentEvent;
use crate::agent::hook::anchor::{self, Anchor};
use crate::agent::hook::marks::{self, Marks};
use crate::agent::hook::{start, text};
use crate::agent::shell_calls::asks_consent;
use crate::base::time::utc_seconds;
use crate::config::agents::AutoCheckpoints;
use crate::error::{Code, Error, Result};
use crate::model::session::provenance::Moment;
use crate::ops::context::Context;
use crate::ops::contract::audit;
use crate::ops::create::command::create;
use crate::ops::create::options::{CreateOptions, PromptOrigin};
use crate::ops::create::outcome::CreateOutcome;
use crate::ops::open_store::open_usable;
use crate::ops::session;
use crate::store::small_files::hook_log;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::step::{StepOptions, step};
use crate::workflow::rules::change::{Change, Note};

/// How an event is worked on.
#[derive(Clone, Copy, Debug)]
pub struct HookOptions<'t> {
    /// Make the first checkpoint of a directory, and nothing else.
    pub first: bool,
    /// Folder for temporary files, where marks are left of what a user was told.
    pub temporary: &'t Path,
    /// Renders a failure with its next step.
    pub words: fn(&Error) -> String,
}

/// What was done, and what the agent is told.
#[derive(Debug, Default)]
pub struct Handled {
    pub answer: HookAnswer,
    /// For the log.
    pub done: String,
}

/// Works on an event; a failure becomes part of what was done.
pub fn handle(context: &Context, event: &AgentEvent, options: &HookOptions<'_>) -> Handled {
    if context.environment.disabled {
        return Handled::done("checkpoints are disabled");
    }
    if event.agent_id.is_some() && event.moment == Moment::SessionStart {
        return Handled::done("within a subagent");
    }
    if event.moment == Moment::FileEdited {
        return match audit::note_edits(context, &event.edited) {
            Ok(()) => Handled::default(),
            Err(error) => Handled::done(&format!("failed: {error}")),
        };
    }
    if let Some(why) = unsuited(context) {
        let why = format!("this is {why}; 'checkpoint create' begins here all the same");
        let is_new = event.moment == Moment::Prompt && options.marks(context, event).is_new(&why);
        return not_made(is_new, &why);
    }
    let worked = if options.first {
        first(context, event, options)
    } else {
        match event.moment {
            Moment::SessionStart => begin_session(context, event, options),
            _ => work(context, event, options),
        }
    };
    worked.unwrap_or_else(|error| failed(context, event, options, &error))
}

/// Tells the user that nothing can be made in a directory, such as without a home directory.
pub fn unopened(
    event: &AgentEvent,
    options: &HookOptions<'_>,
    dir: &Path,
    error: &Error,
) -> HookAnswer {
    let is_new = Marks::of(options.temporary, dir, event).is_new(error.code.name);
    not_made(is_new, &(options.words)(error)).answer
}

/// Returns why the user is to be asked before a shell call, if it calls us to change something.
pub fn question(event: &AgentEvent) -> Option<String> {
    let command = event.command.as_deref()?;
    let is_before_call = event.moment == Moment::PreTool && !event.waives_questions;
    let verb = asks_consent(command).filter(|_| is_before_call)?;
    let what = match verb {
        "delete" | "prune" => "drops checkpoints",
        _ => "overwrites files",
    };
    Some(format!(
        "this calls checkpoint to {verb}, which {what} and needs the user's consent; show the user a dry run first"
    ))
}

/// Directories of the system, and those that hold the directories of users: no projects.
const SYSTEM: [&str; 24] = [
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
];

/// Directories each of which holds a volume.
const VOLUMES: [&str; 3] = ["/Volumes", "/media", "/mnt"];

/// Those of Windows, on any drive.
const SYSTEM_OF_WINDOWS: [&str; 5] = [
    "Program Files",
    "Program Files (x86)",
    "ProgramData",
    "Users",
    "Windows",
];

/// Whether a path is a directory of the system itself.
fn is_system(root: &Path) -> bool {
    if cfg!(windows) {
        let is_top = root.parent().is_some_and(|drive| drive.parent().is_none());
        let name = root.file_name().unwrap_or_default();
        let mut known = SYSTEM_OF_WINDOWS.iter();
        return is_top && known.any(|known| name.eq_ignore_ascii_case(known));
    }
    let is_volume = |top: &&str| root.parent() == Some(Path::new(top));
    SYSTEM.iter().any(|top| root == Path::new(top)) || VOLUMES.iter().any(is_volume)
}

/// Returns what a root is, if nothing is begun there unasked: a directory of the system, or one of
/// the user's settings. One with a repository or a store of its own is a project all the same.
pub fn unsuited(context: &Context) -> Option<&'static str> {
    let root = context.root.path();
    let is_virtual = ["/proc", "/sys", "/dev"]
        .iter()
        .any(|top| root.starts_with(top) && !root.starts_with("/dev/shm"));
    let is_own = || root.join(".git").exists() || !matches!(context.find_store(), Ok(None));
    let home = context.environment.home.as_deref();
    let below_home = home.and_then(|home| root.strip_prefix(home).ok());
    let first = below_home.and_then(|below| below.components().next());
    let is_settings = first.is_some_and(|first| {
        let name = first.as_os_str();
        name.as_encoded_bytes().starts_with(b".") || name == "AppData" || name == "Library"
    });
    let is_git_dir = || {
        ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| root.join(name).exists())
    };
    let unowned = [
        (is_system(root), "a directory of the system"),
        (is_settings, "a directory of settings"),
        (is_git_dir(), "a repository's own data"),
    ];
    if is_virtual {
        return Some(unowned[0].1);
    }
    let found = unowned.into_iter().find(|(is_one, _)| *is_one);
    found.filter(|_| !is_own()).map(|(_, what)| what)
}

/// Makes the first checkpoint of a directory that has none of the whole of it.
fn first(context: &Context, event: &AgentEvent, options: &HookOptions<'_>) -> Result<Handled> {
    if context.settings.agents.auto == AutoCheckpoints::Off {
        return Ok(Handled::done("auto is off"));
    }
    if let Some(store) = context.find_store()? {
        let inventory = store.inventory()?;
        if inventory.checkpoints.rev().any(|known| known.is_whole()) {
            return Ok(Handled::done("not the first"));
        }
    }
    let mut origin = PromptOrigin::default();
    origin.provenance.agent = Some(event.agent.into_str().to_owned());
    origin.provenance.session = Some(event.session.clone());
    origin.provenance.event = Some(event.moment);
    let asked = CreateOptions {
        reason: Some("session start".to_owned()),
        source: Some(event.agent.into_str().to_owned()),
        is_automatic: true,
        origin: Some(origin),
        ..CreateOptions::default()
    };
    let mut handled = Handled::default();
    let tell = &mut |outcome: &CreateOutcome| {
        handled = anchored(context, event, options, &Anchor::of(outcome));
    };
    create(context, &asked, tell, &|| true)?;
    Ok(handled)
}

/// Heals the store, notes the session, and tells what is here.
fn begin_session(
    context: &Context,
    event: &AgentEvent,
    options: &HookOptions<'_>,
) -> Result<Handled> {
    marks::remove_old(options.temporary, context.now_ms);
    let Some(store) = context.find_store()? else {
        let home = context.environment.account_home.as_deref();
        let Some(why) = context.root.danger(&context.base, home) else {
            return Ok(Handled::done("no store"));
        };
        let root = context.root.path().to_path_buf();
        return Err(Error::unsafe_root(&root, &why));
    };
    let noted = session::begin(context, &store).and_then(|session| {
        anchor::note_start(context, &session, event, &options.marks(context, event))
    });
    let mut handled = Handled::done("told");
    handled.answer.context = start::line(context, &store);
    match noted {
        // The process that holds the lock heals the store too.
        Err(error) if error.code != Code::BUSY => Err(error),
        _ => Ok(handled),
    }
}

/// Makes the checkpoint of a moment.
fn work(context: &Context, event: &AgentEvent, options: &HookOptions<'_>) -> Result<Handled> {
    let makes_store = !matches!(
        event.moment,
        Moment::SubagentStart | Moment::SubagentEnd | Moment::SessionEnd
    );
    let store = if makes_store && context.settings.unread.is_none() {
        open_usable(context, false)?
    } else if let Some(store) = context.find_store()? {
        store
    } else {
        context.settings.require_readable()?;
        return Ok(Handled::done("no store"));
    };
    let done = {
        let mut session = session::begin(context, &store)?;
        anchor::work(context, &mut session, event, &options.marks(context, event))
    };
    let is_repeated = matches!(done, Ok(Anchor::Repeated));
    let has_failed = matches!(event.moment, Moment::TurnFailed | Moment::Interrupted);
    let interrupted = if has_failed && !is_repeated {
        interrupt_run(context, event)
    } else {
        Ok(())
    };
    let handled = anchored(context, event, options, &done?);
    interrupted.map(|()| handled)
}

/// Marks the open workflow as interrupted.
fn interrupt_run(context: &Context, event: &AgentEvent) -> Result<()> {
    let store = context.require_store()?;
    let runs = Runs::live(&store)?;
    let is_under_way =
        |run: &&Run| run.workflow.status.is_open() && run.workflow.interrupted.is_none();
    let Some(run) = runs.runs.iter().find(is_under_way) else {
        return Ok(());
    };
    let options = StepOptions {
        run: Some(run.id().to_owned()),
        expect: None,
        actor: Some(event.agent.into_str().to_owned()),
    };
    let note = Note {
        interrupted: Some(text::cause(event, context.settings.agents.prompts)),
        ..Note::default()
    };
    step(context, &options, &Change::Note(note)).map(drop)
}

/// Tells what was made, to the user only if nothing could be.
fn anchored(
    context: &Context,
    event: &AgentEvent,
    options: &HookOptions<'_>,
    anchor: &Anchor,
) -> Handled {
    match anchor {
        Anchor::Repeated => Handled::done("repeated"),
        Anchor::Nothing(why) => Handled::done(why),
        Anchor::Made(made) => {
            let mut handled = Handled::done(&format!("made {}", made.id.short()));
            if made.is_partial() && options.marks(context, event).is_new("partial") {
                let id = made.id.short();
                handled.answer.message = Some(format!(
                    "checkpoint: {id} is partial, some files cannot be read: 'checkpoint show {id}' names them"
                ));
            }
            handled
        }
        Anchor::Unchanged(same) => Handled::done(&format!("unchanged since {}", same.id.short())),
        Anchor::TooManyFiles(why) => {
            let is_new = options.marks(context, event).is_new("too_many_files");
            not_made(is_new, why)
        }
    }
}

fn failed(
    context: &Context,
    event: &AgentEvent,
    options: &HookOptions<'_>,
    error: &Error,
) -> Handled {
    let what = if error.code == Code::INTERRUPTED {
        "it took longer than a hook may".to_owned()
    } else {
        (options.words)(error)
    };
    // During a hold, only a prompt must not pass unsaved without a word.
    let is_held = error.code == Code::HELD && event.moment != Moment::Prompt;
    if is_held || error.code == Code::ROOT_MISSING {
        return Handled::done(&what);
    }
    let marks = options.marks(context, event);
    let is_new = marks.is_new(error.code.name);
    if !is_passing(error) || !is_users_prompt(context, event, options) {
        return not_made(is_new, &what);
    }
    let prompt = anchor::unnoted(context, event);
    let is_told_first = anchor::is_noted(context, event, &prompt) || marks.keep(&prompt);
    not_made(is_told_first, &what)
}

/// Returns what is logged of a failure, and told to the user if it is new.
fn not_made(is_new: bool, what: &str) -> Handled {
    let mut handled = Handled::done(&format!("failed: {what}"));
    if is_new {
        handled.answer.message = Some(format!("checkpoint: nothing was recorded: {what}"));
    }
    handled
}

/// Whether a failure says nothing of the next prompt, so that each prompt lost by it is told.
fn is_passing(error: &Error) -> bool {
    [Code::BUSY, Code::INTERRUPTED].contains(&error.code)
        || matches!(
            error.io_kind(),
            Some(
                ErrorKind::PermissionDenied
                    | ErrorKind::QuotaExceeded
                    | ErrorKind::ReadOnlyFilesystem
                    | ErrorKind::StorageFull
            )
        )
}

/// Whether an event is a prompt that is to be recorded.
fn is_users_prompt(context: &Context, event: &AgentEvent, options: &HookOptions<'_>) -> bool {
    event.moment == Moment::Prompt
        && event.agent_id.is_none()
        && !options.first
        && context.settings.agents.auto != AutoCheckpoints::Off
}

/// Adds a line to the log of the store, if there is one. That this failed is nothing to report.
pub fn log(context: &Context, event: &AgentEvent, done: &str, took: Duration) {
    let (Ok(Some(store)), false) = (context.find_store(), done.is_empty()) else {
        return;
    };
    let line = format!(
        "{} {} {} {} ms: {}",
        utc_seconds(context.now_ms),
        event.agent.into_str(),
        event.moment.into_str(),
        took.as_millis(),
        done.replace('\n', " ")
    );
    let _ = hook_log::append(store.layout(), &line);
}

impl<'t> HookOptions<'t> {
    fn marks(&self, context: &'t Context, event: &'t AgentEvent) -> Marks<'t> {
        Marks::of(self.temporary, context.root.path(), event)
    }
}

impl Handled {
    fn done(what: &str) -> Self {
        Self {
            done: what.to_owned(),
            ..Self::default()
        }
    }
}
