//! `restore`, `undo`, `redo` and `restore --resume`: each chooses a target and reports.

use crate::error::{Code, Error, Result, Sentence};
use crate::model::checkpoint::manifest;
use crate::model::{ObjectId, RestorePlan, RestoreScope, RestoreStory, Steps, UndoStep, Verb};
use crate::ops::capture::pipeline::Sink;
use crate::ops::restore::planned_restore::capture_and_plan;
use crate::ops::restore::to_directory::{no_path_matches, restore_to};
use crate::ops::restore::{protocol, restore_paths};
use crate::ops::{
    CommonOptions, Consent, Context, Lookup, Pending, RestoreOptions, RestoreOutcome,
    RestoreRequest, TakenStep, Target, TypedWords, Warning, session,
};
use crate::store::files::read_regular;
use crate::store::{Inventory, JournalState, Store};

/// The end of the manifest row of a safety checkpoint.
const SAFETY_SOURCE: &str = "| checkpoint |";

/// Restores the directory to the state of the selected checkpoint.
pub fn restore(
    context: &Context,
    options: &RestoreOptions,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    options.words.check_paths(&context.root)?;
    if let Some(to) = &options.to {
        return restore_to(context, options, to);
    }
    if options.words.words.first().is_some_and(Vec::is_empty) {
        return Err(Error::usage(
            "the selector is empty: no checkpoint is named",
        ));
    }
    let found = FoundStore::of(context, &options.common)?;
    let request = found.request(options)?;
    let mut outcome = until_taken(|| found.run(&request, consent))?;
    let is_of_nothing = outcome.plan.is_of_nothing() && outcome.databases.is_empty();
    if request.scope.filter.only.is_some() && is_of_nothing {
        return Err(no_path_matches(&outcome.target));
    }
    outcome.warnings.extend(Warning::partial(&outcome.target));
    Ok(outcome)
}

/// Plans a restore as [`restore`] would, for a reader.
///
/// # Errors
/// As [`restore`], and an interruption.
pub fn preview(context: &Context, options: &RestoreOptions) -> Result<RestorePlan> {
    let found = FoundStore::of(context, &options.common)?;
    let request = found.request(options)?;
    let planned = capture_and_plan(&request, Sink::HashOnly)?;
    Ok(planned.plan)
}

/// Undoes the last restore or redo; an interrupted restore comes first. `passed` newer ones are
/// passed over: there is nothing to do for them.
pub fn undo(
    context: &Context,
    common: &CommonOptions,
    passed: usize,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    until_taken(|| {
        let found = FoundStore::of(context, common)?;
        let checkpoints = &found.inventory.checkpoints;
        if let Some(pending) = session::pending_unlocked(&found.store, checkpoints)? {
            return found.undo_pending(pending, consent);
        }
        refuse_after_one_that_never_began(&found.recovered)?;
        let steps = Steps::of(checkpoints.safeties()).done;
        found.take_step(Verb::Undo, steps, passed, consent)
    })
}

/// Tries again as long as other processes take the step that was chosen.
fn until_taken(mut step: impl FnMut() -> Result<Option<RestoreOutcome>>) -> Result<RestoreOutcome> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        if let Some(outcome) = step()? {
            return Ok(outcome);
        }
    }
    Err(Error::unexpected(
        "other undos and redos came first; nothing was changed",
    ))
}

/// Reapplies what the last undo took back.
pub fn redo(
    context: &Context,
    common: &CommonOptions,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    until_taken(|| {
        let found = FoundStore::of(context, common)?;
        found.refuse_pending()?;
        let steps = Steps::of(found.inventory.checkpoints.safeties()).taken_back;
        found.take_step(Verb::Redo, steps, 0, consent)
    })
}

/// Finishes an interrupted restore without asking: consent was given when it began.
pub fn resume(context: &Context, common: &CommonOptions) -> Result<RestoreOutcome> {
    let common = CommonOptions {
        yes: true,
        ..common.clone()
    };
    let found = FoundStore::of(context, &common)?;
    let Some(pending) = session::pending_unlocked(&found.store, &found.inventory.checkpoints)?
    else {
        let what = "nothing to resume: no restore was interrupted";
        let error = Error::new(Code::NOTHING_TO_TAKE_BACK, what);
        return Err(error.advise("'checkpoint list' shows what can be restored"));
    };
    let Some(journal) = &pending.journal else {
        let why =
            "it does not tell what to restore; 'checkpoint undo' takes the restore back".to_owned();
        return Err(Error::damaged(
            "the journal of the interrupted restore",
            why,
        ));
    };
    let target = found.target(journal.target)?;
    let (scope, settles) = (journal.scope.clone(), journal.settles);
    let request = RestoreRequest {
        pending: Some(pending.clone()),
        settles,
        ..found.request_of(Verb::Resume, target, scope)
    };
    until_taken(|| found.run(&request, &mut |_| Ok(())))
}

/// Refuses if the last restore was killed before it changed anything: there is nothing to undo, and
/// the restore before it is not the one meant.
fn refuse_after_one_that_never_began(recovered: &[Warning]) -> Result<()> {
    for warning in recovered {
        if let Warning::RestoreNeverBegan { target } = warning {
            let to = target.short();
            let what = format!("the last restore, to {to}, was stopped before it changed anything");
            let hint =
                "nothing was changed; 'checkpoint undo' again takes back the restore before it";
            return Err(Error::new(Code::RESTORE_NEVER_BEGAN, what).advise(hint));
        }
    }
    Ok(())
}

/// The store and its checkpoints as each of these commands finds them.
struct FoundStore<'c> {
    context: &'c Context,
    common: &'c CommonOptions,
    store: Store,
    inventory: Inventory,
    /// What had to be recovered first.
    recovered: Vec<Warning>,
}

impl<'c> FoundStore<'c> {
    /// Looks under the lock after trouble, so that lost refs are restored and a restore still
    /// running is waited for. A dry run writes nothing, so it reads the store as it is.
    fn of(context: &'c Context, common: &'c CommonOptions) -> Result<Self> {
        let store = context.require_store()?;
        let mut found = Self {
            context,
            common,
            inventory: store.inventory()?,
            store,
            recovered: Vec::new(),
        };
        let known = &found.inventory;
        if common.dry_run {
            found.recovered.extend(Warning::damaged(&known.damaged));
            return Ok(found);
        }
        let all_have_refs = known.without_ref.is_empty() && known.unadopted.is_empty();
        let untroubled = all_have_refs && !known.checkpoints.is_empty();
        if untroubled && found.store.journal()? == JournalState::None {
            return Ok(found);
        }
        let mut session = session::begin(context, &found.store)?;
        session.warnings.retain(|warning| {
            matches!(
                warning,
                Warning::RefsRestored { .. }
                    | Warning::Adopted { .. }
                    | Warning::AnotherRoot { .. }
                    | Warning::RestoreNeverBegan { .. }
            )
        });
        found.inventory = session.locked.inventory().clone();
        found.recovered = std::mem::take(&mut session.warnings);
        drop(session);
        Ok(found)
    }

    /// Finds what is to be restored.
    fn request(&self, options: &RestoreOptions) -> Result<RestoreRequest<'_>> {
        self.refuse_pending()?;
        let filter = options.globs.parse(&self.context.root)?;
        let lookup = Lookup::new(self.context, &self.store, &self.inventory);
        let (checkpoint, paths) = lookup.read_restored(&options.words)?;
        let spared = self.context.own_files(Some(&self.store));
        spared.refuse(&paths)?;
        let target = Target::load(&self.store, &checkpoint)?.sparing(spared);
        lookup.check_known(&target, &paths)?;
        let scope = RestoreScope {
            paths: restore_paths::limits(paths),
            within: checkpoint.record.terms.scope.clone(),
            filter,
            overlay: options.overlay,
            special_bits: options.special_bits,
        };
        Ok(RestoreRequest {
            again: Some(options.words.again()),
            story: RestoreStory::with_reason(&checkpoint, &self.inventory.checkpoints),
            ..self.request_of(Verb::Restore, target, scope)
        })
    }

    fn request_of<'s>(
        &'s self,
        verb: Verb,
        target: Target<'s>,
        scope: RestoreScope,
    ) -> RestoreRequest<'s> {
        RestoreRequest::new(
            self.context,
            &self.store,
            self.common,
            (verb, target, scope),
        )
    }

    fn refuse_pending(&self) -> Result<()> {
        match session::pending_unlocked(&self.store, &self.inventory.checkpoints)? {
            Some(pending) => Err(pending.refusal()),
            None => Ok(()),
        }
    }

    fn target(&self, id: ObjectId) -> Result<Target<'_>> {
        let own = self.inventory.get(id).cloned();
        let fetched = || self.store.find_fetched(id);
        let checkpoint = own.or_else(fetched).ok_or_else(|| {
            Error::damaged(
                format!("checkpoint {}", id.short()),
                "it is needed here and is gone or unreadable",
            )
        })?;
        Ok(Target::load(&self.store, &checkpoint)?
            .sparing(self.context.own_files(Some(&self.store))))
    }

    /// `None` if another process took the step meanwhile.
    fn run(
        &self,
        request: &RestoreRequest<'_>,
        consent: &mut Consent<'_>,
    ) -> Result<Option<RestoreOutcome>> {
        let mut outcome = protocol::restore(request, consent)?;
        if let Some(outcome) = &mut outcome {
            outcome.warnings.extend(self.recovered.iter().cloned());
        }
        Ok(outcome)
    }

    /// `None` if another process took the step meanwhile.
    fn take_step(
        &self,
        verb: Verb,
        mut steps: Vec<UndoStep>,
        passed: usize,
        consent: &mut Consent<'_>,
    ) -> Result<Option<RestoreOutcome>> {
        steps.truncate(steps.len().saturating_sub(passed));
        self.refuse_to_pass_damage(steps.last())?;
        let step = steps.pop().ok_or_else(|| {
            Error::nothing_to(
                verb.into_str(),
                self.inventory.checkpoints.safety_count() > 0,
            )
        })?;
        let target = self.target(step.safety)?;
        let taken = self.taken(step.target, step.time_ms);
        let typed = step
            .paths
            .iter()
            .map(|path| restore_paths::as_typed(&self.context.root, path));
        let again = TypedWords {
            paths: typed.collect(),
            ..TypedWords::of_checkpoint(step.safety.short())
        };
        let is_whole = step.filter.is_empty() && step.within.is_none();
        let again = is_whole.then(|| again.again());
        let scope = RestoreScope {
            paths: step.paths,
            within: step.within,
            filter: step.filter,
            // What was here before comes back as it was.
            special_bits: true,
            ..RestoreScope::default()
        };
        let request = RestoreRequest {
            again,
            step: Some(taken),
            passed,
            ..self.request_of(verb, target, scope)
        };
        let mut outcome = self.run(&request, consent)?;
        if let Some(outcome) = &mut outcome {
            let beyond = steps.pop().filter(|_| outcome.nothing_to_do);
            outcome.beyond = beyond
                .and_then(|step| self.inventory.get(step.safety))
                .cloned();
        }
        Ok(outcome)
    }

    /// Refuses if a checkpoint made by a later restore than that of `step` is damaged: its step would
    /// be passed over.
    fn refuse_to_pass_damage(&self, step: Option<&UndoStep>) -> Result<()> {
        let damaged = &self.inventory.damaged;
        if damaged.is_empty() {
            return Ok(());
        }
        let manifest = read_regular::read(&self.store.layout().manifest()).unwrap_or_default();
        let manifest = String::from_utf8_lossy(&manifest);
        // A damaged checkpoint has nothing but its row to tell its place and its kind.
        let rows: Vec<(String, &str)> = manifest::rows(&manifest).collect();
        let is_of_step = |id: &String| step.is_some_and(|step| step.safety.short() == *id);
        let at = rows.iter().position(|(id, _)| is_of_step(id));
        let later = rows.iter().skip(at.map_or(0, |at| at + 1));
        let mut later = later.filter(|(_, row)| row.ends_with(SAFETY_SOURCE));
        let lost = later.find_map(|(id, _)| damaged.iter().find(|lost| lost.id.answers_to(id)));
        let Some(lost) = lost else { return Ok(()) };
        let (short, why) = (lost.id.short(), &lost.why);
        let what = format!(
            "checkpoint {short}, made before a restore, is damaged: {why}; nothing was changed"
        );
        let next =
            "'checkpoint verify --repair' repairs what it can, 'checkpoint delete {}' gives it up";
        Err(Error::new(Code::DAMAGED, what).next(Sentence::new(next, &[&short])))
    }

    /// Names a restore that is taken back or repeated.
    fn taken(&self, restored: ObjectId, time_ms: i64) -> TakenStep {
        let own = self.inventory.get(restored).cloned();
        let found = own.or_else(|| self.store.find_fetched(restored));
        TakenStep {
            restored,
            reason: found.map(|found| found.record.reason),
            age_ms: self.context.now_ms.saturating_sub(time_ms),
        }
    }

    /// Goes back from an interrupted restore. One that was itself an undo is finished instead.
    fn undo_pending(
        &self,
        pending: Pending,
        consent: &mut Consent<'_>,
    ) -> Result<Option<RestoreOutcome>> {
        let (back_to, scope, step) = match &pending.journal {
            Some(journal) if journal.settles => (journal.target, journal.scope.clone(), None),
            Some(journal) => {
                let scope = RestoreScope {
                    overlay: false,
                    special_bits: false,
                    ..journal.scope.clone()
                };
                let safety = self.inventory.get(journal.safety);
                let time_ms = safety.map_or(self.context.now_ms, |c| c.record.time_ms);
                let step = self.taken(journal.target, time_ms);
                (journal.safety, scope, Some(step))
            }
            None => {
                let found = self.inventory.get(pending.safety).cloned();
                let operation = found.and_then(|found| found.record.operation);
                let scope = operation.map(|operation| RestoreScope {
                    paths: operation.paths,
                    within: operation.within,
                    filter: operation.filter,
                    ..RestoreScope::default()
                });
                (pending.safety, scope.unwrap_or_default(), None)
            }
        };
        let target = self.target(back_to)?;
        let request = RestoreRequest {
            step,
            pending: Some(pending),
            settles: true,
            ..self.request_of(Verb::Undo, target, scope)
        };
        self.run(&request, consent)
    }
}
