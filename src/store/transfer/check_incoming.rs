//! Checks what came from elsewhere before any of it is added to the store: every checkpoint and every
//! run down to its objects, and that each ref leads to what it names. What goes elsewhere is checked
//! likewise.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::base::Malformed;
use crate::error::Result;
use crate::model::checkpoint::message;
use crate::model::{Checkpoint, ObjectId};
use crate::store::refs::commit_codec;
use crate::store::runs::run_line;
use crate::store::transfer::receive::bad;
use crate::store::{
    BundleHeader, BundleRef, CheckOptions, CheckReport, CheckpointChecker, CommitReader, Objects,
    Reach, Store,
};

/// Says what is wrong with the state of a run.
pub type CheckRun = fn(&Store, ObjectId) -> Result<(), Malformed>;

impl Store {
    /// Takes out those that another store would refuse, and returns them; what is `there` already was
    /// checked.
    ///
    /// # Errors
    /// The caller asked to stop.
    pub fn take_out_bad(
        &self,
        checkpoints: &mut Vec<Checkpoint>,
        there: &BTreeSet<ObjectId>,
        options: &CheckOptions<'_>,
    ) -> Result<Vec<(ObjectId, String)>> {
        let objects = self.objects();
        let (known, new): (Vec<_>, Vec<_>) =
            checkpoints.iter().partition(|c| there.contains(&c.id));
        let mut checker = CheckpointChecker::new(objects, options);
        if let (Some(newest), false) = (known.last(), new.is_empty()) {
            checker.trust(newest.tree)?;
        }
        let mut bad = Vec::new();
        for Checkpoint { id, .. } in new {
            bad.extend(check_one(&mut checker, objects, *id)?.map(|why| (*id, why)));
        }
        checkpoints.retain(|c| bad.iter().all(|(bad, _)| *bad != c.id));
        Ok(bad)
    }
}

/// Returns those of the checkpoints in which one of these objects is; what cannot be read is in none.
pub fn holders(
    store: &Store,
    checkpoints: &[Checkpoint],
    sought: &BTreeSet<ObjectId>,
) -> Vec<ObjectId> {
    let mut found = Vec::new();
    // What is reached from those that have none of them need not be read again.
    let mut without = Reach::to_copy(store);
    for Checkpoint { id, .. } in checkpoints {
        let mut is_holder = false;
        let _ = without.extend(vec![*id], &mut |id| is_holder |= sought.contains(&id));
        if is_holder {
            found.push(*id);
            without = Reach::to_copy(store);
        }
    }
    found
}

/// What was found sound.
#[derive(Default)]
pub(super) struct SoundParts {
    pub checkpoints: Vec<Checkpoint>,
    /// Those that are damaged or forbidden, and why.
    pub bad: Vec<(ObjectId, String)>,
}

pub(super) struct IncomingChecker<'c> {
    /// The store that has the objects.
    pub quarantine: &'c Store,
    /// Checkpoints that were checked before.
    pub checked: &'c BTreeMap<ObjectId, Checkpoint>,
    pub check_run: CheckRun,
}

impl IncomingChecker<'_> {
    /// Checks all that a header names; `name` stands for its origin in messages.
    ///
    /// # Errors
    /// All checkpoints, a run or a ref are damaged or forbidden, or a signal came.
    pub fn check(
        &self,
        checker: &mut CheckpointChecker<'_>,
        header: &BundleHeader,
        name: &str,
    ) -> Result<SoundParts> {
        let mut reader = CommitReader::new(self.quarantine.objects());
        let mut sound = SoundParts::default();
        for id in header.checkpoints() {
            if let Some(checked) = self.checked.get(&id) {
                sound.checkpoints.push(checked.clone());
                continue;
            }
            if let Some(why) = check_one(checker, reader.objects(), id)? {
                sound.bad.push((id, why));
                continue;
            }
            let checkpoint = reader.checkpoint(id).map_err(|why| bad(name, why))?;
            sound.checkpoints.push(checkpoint);
        }
        if let ([], [(id, why), ..]) = (&*sound.checkpoints, &*sound.bad) {
            return Err(bad(name, format!("its checkpoint {} {why}", id.short())));
        }
        check_values(header, &sound)
            .map_err(|one| bad(name, format!("its ref {one} leads nowhere")))?;
        for (run, tip) in header.runs() {
            self.check_run(checker, tip)?
                .map_err(|why| bad(name, format!("its workflow {run} is damaged: {why}")))?;
        }
        Ok(sound)
    }

    fn check_run(
        &self,
        checker: &mut CheckpointChecker<'_>,
        tip: ObjectId,
    ) -> Result<Result<(), Malformed>> {
        let transition = run_line::transition(self.quarantine.objects(), tip);
        let transition = transition.map_err(|why| Malformed::from(why.to_string()));
        let sound = transition.and_then(|_| (self.check_run)(self.quarantine, tip));
        if sound.is_ok() && !checker.line_is_whole(tip)? {
            return Ok(Err("something of it is missing".into()));
        }
        Ok(sound)
    }
}

/// Says what is wrong with a checkpoint.
///
/// # Errors
/// The caller asked to stop.
fn check_one(
    checker: &mut CheckpointChecker<'_>,
    objects: &Objects,
    id: ObjectId,
) -> Result<Option<String>> {
    if format_of(objects, id) > Some(message::CHECKPOINT_FORMAT) {
        return Ok(Some(message::MADE_BY_NEWER.to_owned()));
    }
    let seconds = |(_, bytes): (_, Vec<u8>)| Some(commit_codec::parse(&bytes).ok()?.seconds);
    if objects
        .read(&id)
        .ok()
        .and_then(seconds)
        .is_some_and(|seconds| seconds < 0)
    {
        return Ok(Some("has a time before 1970, which git refuses".to_owned()));
    }
    let mut report = CheckReport::default();
    checker.check(id, &mut report)?;
    let fault = report
        .damaged
        .pop()
        .and_then(|one| one.faults.into_iter().next());
    Ok(fault.map(|fault| match fault.path {
        Some(path) => format!("is damaged: {path}: {}", fault.why),
        None => format!("is damaged: {}", fault.why),
    }))
}

/// The format that a commit says it has.
fn format_of(objects: &Objects, id: ObjectId) -> Option<u32> {
    let (_, bytes) = objects.read(&id).ok()?;
    message::read(&commit_codec::parse(&bytes).ok()?.message)?.format
}

/// Checks that refs which name a checkpoint name one of these, and a meta the right one. Returns
/// the first that does not.
fn check_values<'h>(header: &'h BundleHeader, sound: &SoundParts) -> Result<(), &'h BundleRef> {
    let metas: HashMap<ObjectId, Option<ObjectId>> =
        (sound.checkpoints.iter()).map(|c| (c.id, c.meta)).collect();
    let is_bad = |id| sound.bad.iter().any(|(bad, _)| *bad == id);
    let is_right = |one: &&BundleRef| match one {
        BundleRef::Meta(id, meta) => metas.get(id) == Some(&Some(*meta)) || is_bad(*id),
        BundleRef::Checkpoint(id)
        | BundleRef::Pin(id)
        | BundleRef::Reason(id, _)
        | BundleRef::Origin(_, id)
        | BundleRef::OriginOf(_, id) => metas.contains_key(id) || is_bad(*id),
        // A branch of a store may be older than its checkpoints.
        BundleRef::Branch(..) | BundleRef::Run(..) => true,
    };
    header
        .refs
        .iter()
        .find(|one| !is_right(one))
        .map_or(Ok(()), Err)
}
