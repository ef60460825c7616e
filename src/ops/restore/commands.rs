//! `restore`, `undo`, `redo` and `restore --resume`: each chooses the target state and reports the outcome.

use crate::error::{Error, Result};
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::checkpoint::selector::{self, SelectorProblem};
use crate::model::checkpoint::undo_stack::{Steps, UndoStep};
use crate::model::restore_plan::RestoreScope;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::restore::restore_options::{CommonOptions, Consent, Request, RestoreOutcome};
use crate::ops::restore::target::Target;
use crate::ops::restore::{protocol, restore_paths};
use crate::ops::session::{self, Pending};
use crate::ops::warning::Warning;
use crate::store::refs::inventory::Inventory;
use crate::store::repository::Store;
use crate::store::state::journal::JournalState;

#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    pub selector: String,
    /// Paths as typed by the user.
    pub paths: Vec<Vec<u8>>,
    pub overlay: bool,
    pub special_bits: bool,
    pub common: CommonOptions,
}

/// Restores the directory to the state of the selected checkpoint.
pub fn restore(context: &Context, options: &RestoreOptions, consent: &mut Consent<'_>) -> Result<RestoreOutcome> {
    let paths = restore_paths::parse(&context.root, &options.paths)?;
    if options.selector.is_empty() {
        return Err(Error::Usage { what: "the selector is empty: no checkpoint is named".into() });
    }
    let store = context.require_store()?;
    let (inventory, healed) = decided_by_names(context, &store, &options.common)?;
    refuse_pending(&store, &inventory)?;
    let checkpoint = find(&inventory, &options.selector, context.now_ms)?;
    let spared = context.own_files(Some(&store));
    spared.refuse(&paths)?;
    let target = Target::load(&store, &checkpoint)?.sparing(spared);
    restore_paths::check_held(&target, &paths)?;
    let paths = restore_paths::limits(paths);
    let within = checkpoint.record.terms.scope.clone();
    let reach = RestoreScope { paths, within, overlay: options.overlay, special_bits: options.special_bits };
    let request = Request { verb: Verb::Restore, target, reach, pending: None, settles: false };
    let mut outcome = protocol::run(context, &store, &request, &options.common, consent)?;
    outcome.warnings.extend(healed);
    if checkpoint.is_partial() {
        outcome.warnings.push(Warning::IsPartial { id: checkpoint.id });
    }
    Ok(outcome)
}

/// Finds the checkpoint that a selector names; an unreadable one is damage, not absence.
pub fn find(inventory: &Inventory, query: &str, now_ms: i64) -> Result<Checkpoint> {
    match selector::resolve(query, &inventory.checkpoints, now_ms) {
        Ok(found) => Ok(found.clone()),
        // A damaged checkpoint has no readable reason or time, so any of them may be the one meant.
        Err(problem) => Err(match inventory.damaged_by_prefix(query).or(inventory.damaged.first()) {
            Some(damaged) if matches!(problem, SelectorProblem::NoMatch { .. }) => {
                Error::Damaged { what: format!("checkpoint {}", damaged.id.short()), why: damaged.why.clone() }
            }
            _ => problem.into(),
        }),
    }
}

/// Undoes the last restore or redo; an interrupted restore comes first.
pub fn undo(context: &Context, common: &CommonOptions, consent: &mut Consent<'_>) -> Result<RestoreOutcome> {
    let store = context.require_store()?;
    let (inventory, healed) = decided_by_names(context, &store, common)?;
    if let Some(pending) = session::look(&store, &inventory.checkpoints)? {
        return Ok(with(undo_pending(context, &store, &inventory, pending, common, consent)?, healed));
    }
    refuse_after_one_that_never_began(&healed)?;
    let steps = Steps::of(&inventory.checkpoints).done;
    Ok(with(take_step(context, &store, &inventory, Verb::Undo, steps, common, consent)?, healed))
}

/// Reapplies what the last undo took back.
pub fn redo(context: &Context, common: &CommonOptions, consent: &mut Consent<'_>) -> Result<RestoreOutcome> {
    let store = context.require_store()?;
    let (inventory, healed) = decided_by_names(context, &store, common)?;
    refuse_pending(&store, &inventory)?;
    let steps = Steps::of(&inventory.checkpoints).taken_back;
    Ok(with(take_step(context, &store, &inventory, Verb::Redo, steps, common, consent)?, healed))
}

/// Refuses if the last restore was killed before it changed anything: there is nothing to undo, and the restore before
/// it is not the one meant.
fn refuse_after_one_that_never_began(healed: &[Warning]) -> Result<()> {
    let target = healed.iter().find_map(|warning| match warning {
        Warning::RestoreNeverBegan { target } => Some(*target),
        _ => None,
    });
    target.map_or(Ok(()), |target| Err(Error::RestoreNeverBegan { target }))
}

fn with(mut outcome: RestoreOutcome, healed: Vec<Warning>) -> RestoreOutcome {
    outcome.warnings.extend(healed);
    outcome
}

fn take_step(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
    verb: Verb,
    mut steps: Vec<UndoStep>,
    common: &CommonOptions,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    let step = steps.pop().ok_or(Error::NothingToTakeBack { verb: verb.word() })?;
    let target = load_known(context, store, inventory, step.safety)?;
    let reach = RestoreScope { paths: step.paths, within: step.within, ..RestoreScope::default() };
    let request = Request { verb, target, reach, pending: None, settles: false };
    let mut outcome = protocol::run(context, store, &request, common, consent)?;
    if outcome.is_nothing_to_do() {
        outcome.beyond = steps.pop().and_then(|step| inventory.get(step.safety).cloned());
    }
    Ok(outcome)
}

/// Goes back from an interrupted restore. One that was itself an undo is finished instead.
fn undo_pending(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
    pending: Pending,
    common: &CommonOptions,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    let reach = |paths: Vec<RelPath>, within| RestoreScope { paths, within, ..RestoreScope::default() };
    let (back_to, reach) = match &pending {
        Pending::Known(journal) if journal.settles => (journal.target, journal.reach.clone()),
        Pending::Known(journal) => (journal.safety, reach(journal.reach.paths.clone(), journal.reach.within.clone())),
        Pending::Unreadable { safety, .. } => {
            let operation = inventory.get(*safety).and_then(|c| c.record.operation.clone());
            let (paths, within) = operation.map(|o| (o.paths, o.within)).unwrap_or_default();
            (*safety, reach(paths, within))
        }
    };
    let target = load_known(context, store, inventory, back_to)?;
    let request = Request { verb: Verb::Undo, target, reach, pending: Some(pending), settles: true };
    protocol::run(context, store, &request, common, consent)
}

/// Finishes an interrupted restore without asking: consent was given when it began.
pub fn resume(context: &Context, common: &CommonOptions) -> Result<RestoreOutcome> {
    let store = context.require_store()?;
    let (inventory, healed) = decided_by_names(context, &store, common)?;
    let Some(pending) = session::look(&store, &inventory.checkpoints)? else {
        return Err(Error::NothingToTakeBack { verb: "resume" });
    };
    let Pending::Known(journal) = &pending else {
        let why = "it does not say how far the restore was to go; 'checkpoint undo' goes back".to_owned();
        return Err(Error::Damaged { what: "the journal of the interrupted restore".into(), why });
    };
    let target = load_known(context, &store, &inventory, journal.target)?;
    let (reach, settles) = (journal.reach.clone(), journal.settles);
    let request = Request { verb: Verb::Resume, target, reach, pending: Some(pending.clone()), settles };
    let common = CommonOptions { yes: true, ..common.clone() };
    Ok(with(protocol::run(context, &store, &request, &common, &mut |_| Ok(()))?, healed))
}

/// Returns the checkpoints; after trouble under the lock, so that lost refs are restored and a restore still running is
/// waited for. A dry run writes nothing, so it reads the store as it is.
fn decided_by_names(context: &Context, store: &Store, common: &CommonOptions) -> Result<(Inventory, Vec<Warning>)> {
    let inventory = store.inventory()?;
    let all_have_refs = inventory.without_ref.is_empty() && inventory.unadopted.is_empty();
    let untroubled = all_have_refs && !inventory.checkpoints.is_empty();
    if common.dry_run || (untroubled && store.journal()? == JournalState::None) {
        return Ok((inventory, Vec::new()));
    }
    let mut session = session::begin(context, store)?;
    session.warnings.retain(|warning| {
        matches!(
            warning,
            Warning::RefsRestored { .. }
                | Warning::Adopted { .. }
                | Warning::AnotherRoot { .. }
                | Warning::RestoreNeverBegan { .. }
        )
    });
    Ok((session.locked.inventory().clone(), session.warnings))
}

fn refuse_pending(store: &Store, inventory: &Inventory) -> Result<()> {
    match session::look(store, &inventory.checkpoints)? {
        Some(pending) => Err(Error::RestorePending { target: pending.target(), safety: pending.safety() }),
        None => Ok(()),
    }
}

fn load_known<'s>(context: &Context, store: &'s Store, inventory: &Inventory, id: ObjectId) -> Result<Target<'s>> {
    let checkpoint = inventory.get(id).ok_or_else(|| Error::Damaged {
        what: format!("checkpoint {}", id.short()),
        why: "it is needed here and is gone or unreadable".into(),
    })?;
    Ok(Target::load(store, checkpoint)?.sparing(context.own_files(Some(store))))
}
