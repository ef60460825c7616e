//! `phase start` and `phase done`: the transitions that make checkpoints of the files, one more
//! after every third phase, and on request a commit in the project.

use serde_json::Value;

use crate::base::json::parse;
use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::ObjectId;
use crate::ops::create::command::create_in;
use crate::ops::maintain::size_limit::auto_gc;
use crate::ops::restore::restore_paths::from_root;
use crate::ops::{Context, CreateOptions, DedupPolicy, Warning};
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::{Store, TreeMemo};
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::report;
use crate::workflow::engine::transact::{step, with_run};
use crate::workflow::rules::change::Given;
use crate::workflow::words::refused;
use crate::workflow::{
    Change, MiniCommit, PhaseStatus, Profile, Run, RunStatus, StepOptions, StepOutcome, Work,
    Workflow,
};
use crate::worktree::git::git_head;

/// Hex digits of an abbreviated commit id.
const SHORT_SHA: usize = 7;

/// Maximum number of new files recorded for one phase; more would not help a new session.
const MOST_NEW_FILES: usize = 50;

/// Start a phase, with a checkpoint of the files before it
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Start {
    /// Phase [default: the next one]
    pub phase: Option<String>,
    /// Start it despite open dependencies or shared files
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
}

/// End a phase, with a checkpoint of the files after it
///
/// In the profile 'pipeline' every third phase is followed by a checkpoint of its own.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Finish {
    /// Phase [default: the only one under way]
    pub phase: Option<String>,
    /// Commit made in the phase [default: HEAD, if it moved]
    #[arg(long = "commit", value_name = "SHA")]
    pub commit_sha: Option<String>,
    /// File made or changed in the phase (repeatable)
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Decision made in the phase (repeatable)
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// End it despite missing outputs and open tasks
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    /// After every third phase, also commit everything in the project's own repository
    #[arg(long)]
    pub project_git: bool,
}

/// Record what a new session should know
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "noted", multiple = true)]
pub struct Note {
    /// Decision (repeatable)
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// File made or changed (repeatable)
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Key of the run or of its free state, with JSON or plain text; null removes it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, Value)>,
    /// The run was interrupted, for this reason
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "interrupted")]
    pub interrupted: Option<String>,
}

/// Reads `KEY=VALUE`. Other text than JSON is taken as is, to spare the user a second level of
/// quotes.
fn pair(typed: &str) -> Result<(String, Value)> {
    let unlike = || Error::usage(format!("'{typed}' is not KEY=VALUE"));
    let (key, value) = typed.split_once('=').ok_or_else(unlike)?;
    let value = parse(value.as_bytes()).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}

impl From<Note> for Change {
    fn from(note: Note) -> Self {
        let keys: Vec<&str> = note.set.iter().map(|(key, _)| key.as_str()).collect();
        let mut change = match note.interrupted {
            Some(reason) => Self::new("interrupt").noting(reason),
            None => Self::new("note").noting(keys.join(", ")),
        };
        change.given.decisions = note.decisions;
        change.given.files = note.files;
        change.given.set = note.set;
        change
    }
}

impl Start {
    pub fn change(&self) -> Change {
        let mut change = Change::of_phase("start", self.phase.as_deref());
        change.given.force = self.force;
        change
    }
}

/// Makes the checkpoint `pre-<phase>`, then begins the phase. No checkpoint is made beside a
/// running phase, because it would hold half of that phase's work.
///
/// # Errors
/// The rules forbid it, or the files cannot be captured; then nothing is changed.
pub fn start(work: &mut Work<'_>, run: &Run, begin: &Start) -> Result<StepOutcome> {
    let (context, workflow) = (work.context, &run.workflow);
    let mut change = begin.change();
    // Check the rules before any checkpoint is made.
    workflow.after(&change, context.now_ms)?;
    let id = workflow.phase_of(&change)?;
    let mut running = workflow.running();
    let beside = running.find(|other| other.id != id && other.status == PhaseStatus::InProgress);
    let reason = format!("pre-{id}");
    change.phase_id = Some(id);
    match beside {
        _ if begin.no_snapshot => {}
        Some(other) => {
            let why = format!("phase {} is under way beside it", escape(&other.id));
            work.warn(Warning::SnapshotLeftOut { reason, why });
        }
        None => change.checkpoint_ids = work.checkpoint(run, reason, DedupPolicy::Never)?,
    }
    change.given.commit = git_head::read(context.root.path()).and_then(|head| head.commit);
    work.change(run, &change)
}

/// Makes the checkpoint after the phase, and ends the phase.
///
/// # Errors
/// The rules forbid it; the phase then stays under way.
pub fn done(context: &Context, options: &StepOptions, typed: &Finish) -> Result<StepOutcome> {
    with_run(context, options, |work, run| {
        let workflow = &run.workflow;
        let is_over = typed.project_git && workflow.status == RunStatus::Complete;
        if is_over && workflow.project_commit_due(0).is_some() {
            return Ok(StepOutcome::of(run, Change::new("mini-commit")));
        }
        let mut change = Change::of_phase("done", typed.phase.as_deref());
        let id = run.workflow.phase_of(&change)?;
        let phase = run.workflow.phase(&id);
        let was = phase.and_then(|phase| phase.head.as_ref());
        let head = git_head::read(context.root.path()).and_then(|head| head.commit);
        let moved = head.filter(|head| was.is_some_and(|was| was != head));
        let moved = moved.map(|head| head.chars().take(SHORT_SHA).collect());
        let reason = format!("post-{id}");
        let files = typed.files.iter();
        let files = files.map(|file| from_root(&context.root, file));
        change.phase_id = Some(id);
        change.given = Given {
            force: typed.force,
            commit: typed.commit_sha.clone().or(moved),
            files: files.collect(),
            decisions: typed.decisions.clone(),
            observed: observe(context, &run.workflow)?,
            ..Given::default()
        };
        run.workflow.after(&change, context.now_ms)?;
        let is_pipeline = run.workflow.profile == Some(Profile::Pipeline);
        if !typed.no_snapshot {
            change.checkpoint_ids = work.checkpoint(&run, reason, DedupPolicy::Always)?;
        }
        if typed.files.is_empty() && is_pipeline {
            let files = new_files(work.store(), &run.workflow, &change).unwrap_or_default();
            let count = files.len();
            if count > MOST_NEW_FILES {
                let what = format!("{count} are too many; name those that matter with --file");
                work.warn_of::<()>("noting new files", Err(Error::unexpected(what)));
            } else {
                change.given.files = files;
            }
        }
        let mut outcome = work.change(&run, &change)?;
        if is_pipeline && !typed.no_snapshot {
            match mini_checkpoint(work, &mut outcome) {
                // A hold delays it until the next phase is done.
                Err(e) if e.code == Code::HELD => {}
                done => drop(work.warn_of("making the checkpoint of every third phase", done)),
            }
        }
        Ok(outcome)
    })
}

/// Makes the named checkpoint that is due after every third phase.
fn mini_checkpoint(work: &mut Work<'_>, outcome: &mut StepOutcome) -> Result<()> {
    let workflow = &outcome.run.workflow;
    let Some(range) = workflow.mini_commit_due() else {
        return Ok(());
    };
    let message = workflow.mini_commit_message(&range);
    let reason = message.lines().next().unwrap_or_default();
    let checkpoint = work.snapshot(&outcome.run, reason, DedupPolicy::Never)?;
    let made = work.change(&outcome.run, &mini_commit(*range.end(), checkpoint, None))?;
    outcome.run = made.run;
    outcome.dropped.extend(made.dropped);
    Ok(())
}

fn mini_commit(completed: usize, checkpoint: Option<String>, commit: Option<String>) -> Change {
    let mut change = Change::new("mini-commit");
    change.checkpoint_ids = checkpoint.iter().cloned().collect();
    change.given.mini_commit = Some(MiniCommit {
        completed_count: completed,
        checkpoint_id: checkpoint,
        commit_sha: commit,
    });
    change
}

/// Checks that a commit in the project is due once another phase is done, and possible there.
///
/// # Errors
/// Git would use a repository above the root, or finish an operation under way.
pub fn will_commit(context: &Context, options: &StepOptions) -> Result<bool> {
    let status = report::status(context, options.run.as_deref(), report::View::Check)?;
    let workflow = &status.run.workflow;
    // Of a run that is complete it may be due still.
    let more = workflow.status.is_open().into();
    if workflow.project_commit_due(more).is_none() {
        return Ok(false);
    }
    let (what, next) = match git_head::under_way(context.root.path()) {
        Ok(None) => return Ok(true),
        Ok(Some(operation)) => (
            format!("{operation} is in progress in the project's repository"),
            "finish it with git first",
        ),
        Err(why) => (
            format!("the project has no repository to commit to: {why}"),
            "'checkpoint phase done' ends the phase without it",
        ),
    };
    Err(refused("no_commit", format!("{what}; nothing was changed")).advise(next))
}

/// Makes the commit in the project's own repository that is due, and records it.
///
/// The store is not locked during the commit: hooks of the project may run this program.
///
/// # Errors
/// The commit was refused; it stays due.
pub fn commit_project(
    context: &Context,
    options: &StepOptions,
    done: &mut StepOutcome,
    commit: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    let Some(range) = done.run.workflow.project_commit_due(0) else {
        return Ok(());
    };
    commit(&done.run.workflow.mini_commit_message(&range))?;
    let made = git_head::read(context.root.path()).and_then(|head| head.commit);
    let mut of_run = StepOptions::of_run(&done.run.workflow.id);
    of_run.actor.clone_from(&options.actor);
    done.run = step(context, &of_run, &mini_commit(*range.end(), None, made))?.run;
    Ok(())
}

impl Work<'_> {
    /// Makes a checkpoint of the files; an identical newest one causes no warning. `None` if none was
    /// made, as the warnings say.
    fn snapshot(&mut self, run: &Run, reason: &str, dedup: DedupPolicy) -> Result<Option<String>> {
        let context = self.context;
        if context.settings.unread.is_some() {
            // The transition counts, and the warning on the settings says that no checkpoint is made.
            return Ok(None);
        }
        let automatic = CreateOptions::automatic(reason, &run.workflow.kind)?;
        let options = CreateOptions { dedup, ..automatic };
        let outcome = create_in(context, &mut self.session, &options)?;
        let made = outcome
            .checkpoint
            .as_ref()
            .filter(|_| outcome.skipped.is_none());
        self.made = made.map(|checkpoint| checkpoint.id.short());
        let mut warnings = outcome.warnings;
        if outcome.skipped.is_none() && context.settings.auto_prune {
            // The transitions merge packs themselves.
            warnings.extend(auto_gc(context, &mut self.session, &|| true));
        }
        warnings.retain(|warning| !matches!(warning, Warning::Dedup { .. }));
        self.session.warnings.extend(warnings);
        self.evicted.extend(outcome.evicted);
        Ok(outcome.checkpoint.map(|checkpoint| checkpoint.id.to_hex()))
    }

    /// Makes a checkpoint for a phase; under a hold none is made, and the transition is still
    /// recorded.
    fn checkpoint(&mut self, run: &Run, reason: String, dedup: DedupPolicy) -> Result<Vec<String>> {
        match self.snapshot(run, &reason, dedup) {
            Err(error) if error.code == Code::HELD => {
                let why = error.why().unwrap_or_default().to_owned();
                self.warn(Warning::SnapshotLeftOut { reason, why });
                Ok(Vec::new())
            }
            made => Ok(made?.into_iter().collect()),
        }
    }
}

/// Returns the files created during the phase; `None` if the checkpoints around it do not
/// tell.
fn new_files(store: &Store, workflow: &Workflow, done: &Change) -> Option<Vec<String>> {
    let phase = workflow.phase(done.phase_id.as_deref()?)?;
    let tree = |id: &String| {
        let read = read_checkpoint(store.objects(), ObjectId::from_hex(id)?);
        read.map(|read| Some(read.tree)).ok()
    };
    let before = tree(phase.before_id.as_ref()?)?;
    let after = tree(done.checkpoint_ids.first()?)?;
    let mut memo = TreeMemo::new(store.objects());
    let changes = memo.diff(before, after, &|_| true).ok()?;
    let new = changes.iter().filter(|change| change.before.is_none());
    let paths = new.filter_map(|new| String::from_utf8(new.path.as_bytes().to_vec()).ok());
    Some(paths.collect())
}
