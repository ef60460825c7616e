//! One transition under the lock: the files are written, and one commit is made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::model::Evicted;
use crate::ops::session;
use crate::ops::{Context, Session, Warning};
use crate::store::Store;
use crate::workflow::documents::files;
use crate::workflow::profiles::dispatch;
use crate::workflow::words::moved_on;
use crate::workflow::{Change, Leaving, Phase, Profile, Run, Task, Workflow};
use crate::worktree::WorkTree;

// Which run is meant, and who acts.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StepOptions {
    /// Run [default: the newest open one]
    #[arg(short = 'w', long = "workflow", value_name = "WORKFLOW", global = true)]
    pub run: Option<String>,
    /// Revision at which the run must be, or the beginning of it; refuse otherwise
    #[arg(long, value_name = "REVISION", global = true)]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect: Option<String>,
    /// Actor to record, for the tools over MCP [default: the source, as in create]
    #[arg(long, value_name = "NAME", global = true, hide = true)]
    pub actor: Option<String>,
}

impl StepOptions {
    /// Names a run, at any revision.
    pub fn of_run(id: &str) -> Self {
        Self {
            run: Some(id.to_owned()),
            ..Self::default()
        }
    }
}

/// A run after a transition.
#[derive(Serialize, JsonSchema)]
pub struct StepOutcome {
    #[serde(flatten)]
    pub run: Run,
    /// The log entry; the last one of several transitions.
    pub event: Change,
    /// The phase concerned; of a task the one that it is part of.
    pub phase: Option<Phase>,
    pub task: Option<Task>,
    /// What the checkpoints of this step pushed out.
    pub dropped: Vec<Evicted>,
}

impl StepOutcome {
    pub fn of(run: Run, event: Change) -> Self {
        let workflow = &run.workflow;
        let task = event.task_id.as_ref().and_then(|id| workflow.task(id));
        let phase = event.phase_id.as_ref().or_else(|| task?.phase.as_ref());
        Self {
            phase: phase.and_then(|id| workflow.phase(id)).cloned(),
            task: task.cloned(),
            run,
            event,
            dropped: Vec::new(),
        }
    }
}

/// What a command does to runs: by whom, while the store is locked.
pub struct Work<'w> {
    pub context: &'w Context,
    pub session: Session<'w>,
    pub tree: WorkTree,
    pub actor: String,
    /// What checkpoints pushed out since the last transition.
    pub evicted: Vec<Evicted>,
    /// Short id of the checkpoint that was made for the next transition.
    pub made: Option<String>,
    /// Archive folders that were removed.
    pub removed_folders: Vec<String>,
}

impl<'w> Work<'w> {
    /// Locks the store. The actor is as given, else from the environment, else `cli`.
    ///
    /// # Errors
    /// There is no root, or the store cannot be locked.
    pub fn begin(context: &'w Context, store: &'w Store, options: &StepOptions) -> Result<Self> {
        let source = context.environment.source.as_deref();
        let named = options.actor.as_deref().or(source).map(str::trim);
        let named = named.filter(|name| !name.is_empty());
        Ok(Self {
            context,
            session: session::begin(context, store)?,
            tree: WorkTree::open_root(&context.root)?,
            actor: named.unwrap_or("cli").to_owned(),
            evicted: Vec::new(),
            made: None,
            removed_folders: Vec::new(),
        })
    }

    pub fn store(&self) -> &'w Store {
        self.session.locked.store()
    }

    /// Returns the path of the root.
    pub fn root(&self) -> String {
        self.context.root.path().display().to_string()
    }

    /// Adds a warning, which is shown even if the command fails.
    pub fn warn(&self, warning: Warning) {
        self.context.pending_warnings.add(warning);
    }

    /// Makes an error of a step after the commit a warning.
    pub fn warn_of<T>(&self, step: &'static str, done: Result<T>) -> Option<T> {
        let failed = |error| self.warn(Warning::bookkeeping(step)(error));
        done.map_err(failed).ok()
    }

    /// Applies and records a change.
    ///
    /// # Errors
    /// The rules forbid it, or it cannot be recorded; then nothing is changed, and the checkpoint that
    /// was made for it is named.
    pub fn change(&mut self, run: &Run, change: &Change) -> Result<StepOutcome> {
        let next = run.workflow.after(change, self.context.now_ms)?;
        let mut event = change.clone();
        if event.verb.starts_with("phase ") {
            event.phase_id = Some(run.workflow.phase_of(change)?);
        }
        let made = self.made.take();
        self.record(Some(run), next, event, true).map_err(|why| {
            let Some(made) = made else {
                return why;
            };
            let made = format!("checkpoint {made} is made, and the phase is as it was:");
            let next = why.next.clone();
            why.after(&made, next)
        })
    }

    /// Abandons and archives a chosen run.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn abandon(&mut self, run: &Run, reason: &str) -> Result<StepOutcome> {
        let outcome = self.change(run, &Change::new("abandon").noting(reason.to_owned()))?;
        self.drop_old_archives();
        Ok(outcome)
    }

    /// Archives a run, and removes all but the newest archive folders. With `why`, a warning names
    /// it.
    ///
    /// # Errors
    /// The run cannot be archived.
    pub fn archive(&mut self, run: &Run, why: Option<String>) -> Result<()> {
        let mut next = run.workflow.clone();
        next.is_archived = true;
        let id = next.id.clone();
        let event = Change::new("archive").noting(why.clone());
        self.record(Some(run), next, event, false)?;
        if let Some(why) = why {
            self.warn(Warning::PutAside { id, why });
        }
        self.drop_old_archives();
        Ok(())
    }

    fn drop_old_archives(&mut self) {
        let dropped = files::drop_old_archives(&self.tree, self.store(), false);
        let dropped = self.warn_of("deleting old archives", dropped);
        self.removed_folders.extend(dropped.unwrap_or_default());
    }

    /// As [`Self::archive`], with the files of the run.
    ///
    /// # Errors
    /// As [`Self::archive`], or a file cannot be moved.
    pub fn put_away(&mut self, run: &Run, leaving: Leaving, why: Option<String>) -> Result<()> {
        let moved = files::put_away(&self.tree, &run.workflow, leaving, self.context.now_ms)?;
        let archived = self.archive(run, why);
        archived.inspect_err(|_| moved.take_back(&self.tree))
    }

    /// Brings the files of a run into line with its recorded transition, beside those that were
    /// written before it: a new run gets its schema, and one that is open again loses its failed
    /// file. If it has ended, its files are moved.
    ///
    /// # Errors
    /// A file cannot be moved. The run has ended all the same, and the next command tries again.
    pub fn finish_recorded(
        &mut self,
        before: Option<&Workflow>,
        workflow: &Workflow,
    ) -> Result<()> {
        match before {
            None if workflow.profile == Some(Profile::Pipeline) => {
                let written = files::write_schema(&self.tree);
                self.warn_of("writing the schema of its file", written);
            }
            Some(before) if !before.is_open() && workflow.is_open() => {
                let removed = files::remove_failed(&self.tree, before);
                self.warn_of("removing the file of the run that had failed", removed);
            }
            _ => {}
        }
        files::put_away(&self.tree, workflow, Leaving::Ended, self.context.now_ms)?;
        self.session.locked.forget_prepared()
    }

    /// Records a state as the next of its run, or without `before` as the first; one whose phases
    /// are all settled is complete. The files, unless the state was read from them, are written
    /// before a ref names the commit: the next command finishes what a killed process has begun.
    ///
    /// # Errors
    /// Another process was first, or a file or the commit cannot be written; nothing is recorded.
    pub fn record(
        &mut self,
        before: Option<&Run>,
        mut workflow: Workflow,
        mut event: Change,
        writes_files: bool,
    ) -> Result<StepOutcome> {
        let (context, tree) = (self.context, &self.tree);
        workflow.end_if_settled(context.now_ms);
        let profile = workflow.profile.filter(|_| writes_files);
        if let Some(profile) = profile {
            let documents = dispatch::export(&workflow, profile, &self.root());
            workflow.documents.extend(documents);
        }
        event.session.clone_from(&context.environment.session);
        if event.actor.is_empty() {
            event.actor.clone_from(&self.actor);
        }
        let _shield = context.interrupt.shield();
        let none = BTreeMap::new();
        let known = before.map_or(&none, |run| &run.workflow.documents);
        let mut written = files::ChangedFiles::default();
        let mut write = || {
            if profile.is_some() {
                written = files::write(tree, &workflow, known)?;
            }
            Ok(())
        };
        let is_noted = profile.is_some() || !workflow.status.is_open();
        let recorded = self.session.locked.record_workflow(
            &workflow.id,
            before.map(|run| run.tip),
            workflow.to_json().as_bytes(),
            &event.render(context.now_ms),
            context.now_ms,
            is_noted.then_some(&mut write),
        );
        if !matches!(recorded, Ok(Some(_))) {
            written.take_back(tree);
        }
        let moved = || format!("workflow {} was changed by another process", workflow.id);
        let tip = recorded?.ok_or_else(|| moved_on(moved()))?;
        if is_noted || before.is_none() {
            let moved = self.finish_recorded(before.map(|run| &run.workflow), &workflow);
            self.warn_of("moving the files of the run that has ended", moved);
        }
        let mut outcome = StepOutcome::of(Run { tip, workflow }, event);
        outcome.dropped = std::mem::take(&mut self.evicted);
        Ok(outcome)
    }
}
