//! Reads runs: a ref names the newest commit of a line, one per transition, each with its state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::model::transition;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::objects::odb::Objects;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::repository::Store;
use crate::store::runs::run_refs;
use crate::store::trees::convert;
use crate::store::trees::tree_codec::{self, MODE_FILE, TreeEntry};

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
        let tips = tips(self)?.into_iter();
        Ok(tips.filter_map(|(id, tip)| Some((id, tip?))).collect())
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
pub fn tips(store: &Store) -> Result<BTreeMap<String, Option<ObjectId>>> {
    let refs = run_refs::read(store.layout())?.into_iter();
    let mut tips: BTreeMap<_, _> = refs.map(|(id, value)| (id, value.id())).collect();
    let torn = tips.iter().filter(|(_, tip)| tip.is_none());
    let torn: BTreeSet<String> = torn.map(|(id, _)| id.clone()).collect();
    if !torn.is_empty() {
        let taken: Vec<ObjectId> = tips.values().copied().flatten().collect();
        let newest = newest_of(store.objects(), &torn, &taken).into_iter();
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
