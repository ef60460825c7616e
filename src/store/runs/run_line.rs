//! The line of commits of a run: a ref names the newest, one per transition, each with its state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::model::run_id::is_legal;
use crate::model::transition::{self, TRANSITION_FORMAT};
use crate::store::files::{atomic_file, checksummed_text};
use crate::store::locked::{check_still_there, is_gone};
use crate::store::refs::{commit_codec, ref_files};
use crate::store::runs::run_refs;
use crate::store::trees::convert;
use crate::store::trees::tree_codec::{self, MODE_FILE};
use crate::store::{
    CommitReader, Layout, LockedStore, ObjectKind, Objects, ReadFailure, Store, TreeEntry,
};

const RUN_STATE: &str = "state.json";
/// Fewest states for which deltas are worthwhile.
const WORTH_DELTAS: usize = 8;

/// One transition of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    pub commit: ObjectId,
    pub parent: Option<ObjectId>,
    pub time_ms: i64,
    pub message: String,
    /// The blob of the state.
    pub state: ObjectId,
}

/// Transitions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransitionLine {
    pub transitions: Vec<Transition>,
    /// Why the line ends early, if it is damaged.
    pub broken: Option<String>,
}

impl Store {
    /// The newest transition of each run, by id.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn workflows(&self) -> Result<Vec<(String, ObjectId)>> {
        let tips = tips(self.layout(), self.objects())?.into_iter();
        Ok(tips.filter_map(|(id, tip)| Some((id, tip?))).collect())
    }

    /// The newest transition of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// The ref is torn or cannot be read.
    pub fn workflow_tip(&self, id: &str) -> Result<Option<ObjectId>> {
        let torn = || Error::damaged(format!("workflow {id}"), "its ref does not name a commit");
        let named = run_refs::value(self.layout(), id)?;
        named.map(|value| value.id().ok_or_else(torn)).transpose()
    }

    /// Reads the state after a transition.
    ///
    /// # Errors
    /// `damaged` if it cannot be read.
    pub fn workflow_state(&self, commit: ObjectId) -> Result<Vec<u8>> {
        let read = transition(self.objects(), commit);
        let read = read.and_then(|found| state_of(self.objects(), found.state));
        let name = || format!("transition {} of a workflow", commit.short());
        read.map_err(|why| Error::damaged(name(), why))
    }

    /// The transitions from `tip` on, newest first. Reads no state.
    pub fn workflow_line(&self, tip: ObjectId, at_most: usize) -> TransitionLine {
        let mut line = TransitionLine::default();
        let mut next = Some(tip);
        while let Some(id) = next.filter(|_| line.transitions.len() < at_most) {
            match transition(self.objects(), id) {
                Ok(found) => {
                    next = found.parent;
                    line.transitions.push(found);
                }
                Err(why) => {
                    line.broken = Some(format!("transition {}: {why}", id.short()));
                    break;
                }
            }
        }
        line
    }

    /// Returns the prepared transition: its process was killed while it wrote or moved the files, so its
    /// commit is in the store, and perhaps no ref names it yet. The note of it is derived; without it
    /// the files count as edited by hand.
    pub fn prepared_transition(&self) -> Option<Transition> {
        let noted: Option<ObjectId> = checksummed_text::read(&self.layout().prepared()).ok()?;
        transition(self.objects(), noted?).ok()
    }

    /// The states of each run that has more than a few, newest first, each only once.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn workflow_states(&self) -> Result<Vec<Vec<ObjectId>>> {
        let mut met = HashSet::new();
        let mut lines = Vec::new();
        for (_, tip) in self.workflows()? {
            let line = self.workflow_line(tip, usize::MAX).transitions.into_iter();
            let states = line.map(|transition| transition.state);
            let states: Vec<ObjectId> = states.filter(|state| met.insert(*state)).collect();
            lines.extend((states.len() >= WORTH_DELTAS).then_some(states));
        }
        Ok(lines)
    }
}

/// The runs of a store, with their tips; that behind a torn ref is looked for among the commits.
/// Writes nothing.
///
/// # Errors
/// The refs cannot be read.
pub fn tips(layout: &Layout, objects: &Objects) -> Result<BTreeMap<String, Option<ObjectId>>> {
    let refs = run_refs::read(layout)?.into_iter();
    let mut tips: BTreeMap<_, _> = refs.map(|(id, value)| (id, value.id())).collect();
    let torn = tips.iter().filter(|(_, tip)| tip.is_none());
    let torn: BTreeSet<String> = torn.map(|(id, _)| id.clone()).collect();
    if !torn.is_empty() {
        let taken: Vec<ObjectId> = tips.values().copied().flatten().collect();
        let newest = newest_of(objects, &torn, &taken).into_iter();
        tips.extend(newest.map(|(id, tip)| (id, Some(tip))));
    }
    Ok(tips)
}

/// The newest intact transition of each of these runs that has no later one and is not `taken` as
/// the tip of another run. Reads every commit of the store.
pub fn newest_of(
    objects: &Objects,
    ids: &BTreeSet<String>,
    taken: &[ObjectId],
) -> BTreeMap<String, ObjectId> {
    let mut met: BTreeMap<String, Vec<Transition>> = BTreeMap::new();
    let commits = objects.commits().into_iter();
    for found in commits.filter_map(|id| transition(objects, id).ok()) {
        let id = transition::workflow_of(&found.message).filter(|id| ids.contains(*id));
        let id = id.filter(|_| state_of(objects, found.state).is_ok());
        if let Some(id) = id.map(str::to_owned) {
            met.entry(id).or_default().push(found);
        }
    }
    let newest = met.into_iter().filter_map(|(id, line)| {
        let below: HashSet<_> = line.iter().filter_map(|one| one.parent).collect();
        let ends = line.iter().filter(|end| !taken.contains(&end.commit));
        let ends = ends.filter(|end| !below.contains(&end.commit));
        let newest = ends.max_by_key(|end| (end.time_ms, end.commit))?.commit;
        Some((id, newest))
    });
    newest.collect()
}

/// Reads the commit and the tree of a transition.
///
/// # Errors
/// An object cannot be read, or the commit is no transition.
pub fn transition(objects: &Objects, id: ObjectId) -> Result<Transition, ReadFailure> {
    let read = CommitReader::new(objects).parts(id)?;
    let mut entries = convert::read_tree(objects, read.tree)?.into_iter();
    let state = entries.find(|entry| *entry.name == *RUN_STATE.as_bytes());
    let state = state.ok_or_else(|| format!("there is no {RUN_STATE} in it"))?;
    let time_ms = transition::time_of(&read.message);
    Ok(Transition {
        commit: id,
        parent: read.parents.first().copied(),
        time_ms: time_ms.unwrap_or_else(|| read.seconds.saturating_mul(1000)),
        message: read.message,
        state: state.id,
    })
}

/// Reads a state.
///
/// # Errors
/// The object cannot be read or is no blob.
pub fn state_of(objects: &Objects, id: ObjectId) -> Result<Vec<u8>, ReadFailure> {
    match objects.read(&id) {
        Ok((ObjectKind::Blob, state)) => Ok(state),
        Ok(_) => Err(format!("its {RUN_STATE} is not a file").into()),
        Err(why) => Err(format!("its {RUN_STATE}: {why}").into()),
    }
}

/// Encodes the tree of a transition.
pub fn tree_of(state: ObjectId) -> Vec<u8> {
    tree_codec::encode(&mut [TreeEntry {
        mode: MODE_FILE,
        name: RUN_STATE.as_bytes().into(),
        id: state,
    }])
}

/// Returns a commit and those before it, as far as they can be read.
pub fn lineage(objects: &Objects, tip: ObjectId) -> impl Iterator<Item = ObjectId> {
    let before = |id: &ObjectId| {
        let read = CommitReader::new(objects).parts(*id).ok()?;
        read.parents.first().copied()
    };
    std::iter::successors(Some(tip), before)
}

impl LockedStore<'_> {
    /// Adds a transition to the run whose newest one is `expected`; `None` begins a new run.
    /// `message` is a subject, optional text, and optional trailers in its last paragraph, to which
    /// the store's own are added. `write_files` is called once the commit is in the store, before
    /// the ref names it; then the transition counts as prepared until [`Self::forget_prepared`]. On
    /// return, commit and ref are durable. `None` if another transition than the expected one is the
    /// newest.
    ///
    /// # Errors
    /// The ref is torn, the previous transition is unreadable or from a newer program, or a file
    /// cannot be written: nothing has changed.
    pub fn record_workflow(
        &mut self,
        id: &str,
        expected: Option<ObjectId>,
        state: &[u8],
        message: &str,
        time_ms: i64,
        write_files: Option<&mut dyn FnMut() -> Result<()>>,
    ) -> Result<Option<ObjectId>> {
        if !is_legal(id) {
            let what = format!("'{}' cannot be the id of a workflow", id.escape_debug());
            return Err(Error::usage(what));
        }
        let layout = self.store().layout();
        let present = self.store().workflow_tip(id)?;
        if present != expected {
            return Ok(None);
        }
        if let Some(parent) = present {
            self.check_parent(id, parent)?;
        }
        let mut pack = self.begin_pack()?;
        let blob = pack.add(ObjectKind::Blob, state)?;
        let tree = pack.add(ObjectKind::Tree, &tree_of(blob))?;
        let text = transition::render(id, message, time_ms);
        let seconds = time_ms.div_euclid(1000);
        let commit = commit_codec::encode_after(tree, present.as_slice(), seconds, &text);
        let commit = pack.add(ObjectKind::Commit, &commit)?;
        let merged = self.merge_small_packs(pack.first())?;
        let staged = ref_files::stage(layout, commit)?;
        let published = pack.finish(Some(&staged))?;
        if let Some(write_files) = write_files {
            let text = checksummed_text::document(&commit);
            atomic_file::replace_derived(&layout.own(), &layout.prepared(), text.as_bytes())?;
            if let Err(error) = write_files() {
                let _ = self.forget_prepared();
                return Err(error);
            }
        }
        // As with a checkpoint: the user's own `git gc` may remove a pack that no ref names yet.
        let is_there = || check_still_there(layout, &published);
        // What cannot be looked at is not gone.
        let is_not_gone = |why| {
            if is_gone(layout, &published) {
                Err(why)
            } else {
                Ok(())
            }
        };
        let done = is_there()
            .and_then(|()| run_refs::publish(layout, id, staged))
            .and_then(|()| is_there().or_else(is_not_gone));
        if let Err(e) = done {
            // The caller gets the failure of the transition; one of this clean-up is not reported.
            let _ = match present {
                Some(tip) => run_refs::write(layout, id, tip),
                None => run_refs::remove(layout, id).map(drop),
            };
            // A ref that cannot be put back names what is recorded, and the files follow it.
            let names_it = || (self.store().workflow_tip(id)).is_ok_and(|tip| tip == Some(commit));
            if is_gone(layout, &published) || !names_it() {
                return Err(e);
            }
        }
        self.store().objects().add_packs(&published);
        // The transition is recorded. Merged packs that could not be removed are duplicates, which
        // a prune removes.
        let _ = self.remove_merged(&merged, &published);
        Ok(Some(commit))
    }

    /// Checks that the parent is readable, so that the line can be read to its beginning.
    fn check_parent(&self, id: &str, parent: ObjectId) -> Result<()> {
        let damaged = |why| Error::damaged(format!("workflow {id}"), why);
        let commit = CommitReader::new(self.store().objects()).parts(parent);
        let (message, known) = (commit.map_err(damaged)?.message, TRANSITION_FORMAT);
        match transition::format_of(&message) {
            Some(found) if found > known => {
                Err(Error::store_too_new(self.store().dir(), found, known))
            }
            _ => Ok(()),
        }
    }

    /// Records a prepared transition of a run whose files were written.
    ///
    /// # Errors
    /// The ref cannot be written.
    pub fn record_prepared(&self, prepared: ObjectId, id: &str) -> Result<()> {
        run_refs::write(self.store().layout(), id, prepared)
    }

    /// Removes the note of a prepared transition.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget_prepared(&self) -> Result<()> {
        atomic_file::remove_if_there(&self.store().layout().prepared()).map(drop)
    }

    /// Deletes a run with all its transitions; returns whether there was one. The next prune frees the
    /// space.
    ///
    /// # Errors
    /// The ref cannot be removed; the run is as it was.
    pub fn delete_workflow(&mut self, id: &str) -> Result<bool> {
        if !is_legal(id) {
            return Ok(false);
        }
        let removed = run_refs::remove(self.store().layout(), id);
        // One that is gone and could not be flushed is gone: its files are not to come back alone.
        let is_gone = || self.store().workflow_tip(id).is_ok_and(|tip| tip.is_none());
        removed.or_else(|why| if is_gone() { Ok(true) } else { Err(why) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::error::Code;
    use crate::store::lifecycle::description::{Description, Identity};

    fn store(place: &Path) -> Store {
        let description = Description::of_root(Path::new("/w"), 0, Identity::default(), false);
        Store::open_or_create(place.join("s"), &description).unwrap()
    }

    fn locked(store: &Store) -> LockedStore<'_> {
        store.lock(Duration::from_secs(5), "test").unwrap()
    }

    fn done(recorded: Result<Option<ObjectId>>) -> ObjectId {
        recorded.unwrap().expect("it was recorded")
    }

    #[test]
    fn each_transition_stands_on_the_one_that_was_expected() {
        let place = tempfile::tempdir().unwrap();
        let store = store(place.path());
        let mut locked = locked(&store);
        let one = done(locked.record_workflow("w", None, b"{1}", "begin", 5, None));
        let next = "next\n\nPhase: a";
        let two = done(locked.record_workflow("w", Some(one), b"{2}", next, 7_001, None));
        for (run, expected) in [("w", None), ("w", Some(one)), ("v", Some(one))] {
            let refused = locked.record_workflow(run, expected, b"{3}", "x", 8, None);
            assert_eq!(refused.unwrap(), None, "{run} after {expected:?}");
        }
        let elsewhere = locked.record_workflow("../x", None, b"", "x", 8, None);
        assert!(elsewhere.is_err());
        drop(locked);
        assert_eq!(store.workflows().unwrap(), [("w".to_owned(), two)]);
        assert_eq!(store.workflow_state(two).unwrap(), b"{2}");
        let line = store.workflow_line(two, 9).transitions;
        let commits: Vec<_> = line.iter().map(|made| (made.commit, made.parent)).collect();
        assert_eq!(commits, [(two, Some(one)), (one, None)]);
        assert_eq!(line[0].time_ms, 7_001);
        let message = &line[0].message;
        assert!(message.starts_with("next\n\nPhase: a\n"), "{message}");
        assert_eq!(store.workflow_line(two, 1).transitions.len(), 1);
        let inventory = store.inventory().unwrap();
        assert!(
            inventory.checkpoints.is_empty(),
            "a transition is no checkpoint"
        );
    }

    #[test]
    fn a_torn_ref_is_found_again_by_its_commits() {
        let place = tempfile::tempdir().unwrap();
        let store = store(place.path());
        let mut first = locked(&store);
        let one = done(first.record_workflow("w", None, b"1", "a", 9, None));
        let two = done(first.record_workflow("w", Some(one), b"2", "b", 3, None));
        let path = run_refs::path(store.layout(), "w");
        std::fs::write(&path, "").unwrap();
        let torn = first.record_workflow("w", Some(two), b"3", "c", 4, None);
        assert!(torn.is_err_and(|error| error.code == Code::DAMAGED));
        drop(first);
        let found = store.workflows().unwrap();
        assert_eq!(found, [("w".to_owned(), two)], "a reader writes nothing");
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        let again = locked(&store);
        assert_eq!(again.recovery().workflows_restored, ["w"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{two}\n"));
        drop(again);
        let unknown = run_refs::path(store.layout(), "unknown");
        std::fs::write(&unknown, "nonsense").unwrap();
        assert!(locked(&store).recovery().workflows_restored.is_empty());
        let tips = tips(store.layout(), store.objects()).unwrap();
        assert_eq!(
            (tips["unknown"], store.workflows().unwrap().len()),
            (None, 1)
        );
    }
}
