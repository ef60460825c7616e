//! Lines that git fetched from a remote: checks them in a quarantine, takes them over, reads them.
//! Their checkpoints are not those of the store: nothing counts or evicts them.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Code, Error, Result, Sentence};
use crate::model::{Checkpoint, Line, ObjectId, OriginStore};
use crate::store::lifecycle::relocate;
use crate::store::transfer::receive::IncomingChecker;
use crate::store::transfer::{carrier, remotes};
use crate::store::{
    BundleHeader, BundleRef, BundleTaken, CheckOptions, CheckRun, CheckpointChecker, CommitReader,
    LineName, LineState, LockedStore, Quarantine, Store,
};

/// What was fetched from a remote.
#[derive(Clone, Debug, Default)]
pub struct FetchedCheckpoints {
    /// Of all its lines, by time unless all come from one store.
    pub checkpoints: Line,
    pub origins: BTreeMap<ObjectId, OriginStore>,
    /// The checkpoints as their commits have them.
    stored: BTreeMap<ObjectId, Checkpoint>,
    /// What each line says, by its newest carrier.
    states: BTreeMap<ObjectId, LineState>,
}

impl FetchedCheckpoints {
    /// The refs of all lines, with their values.
    pub fn values(&self) -> BTreeSet<(String, ObjectId)> {
        let refs = self.states.values().flat_map(LineState::refs);
        refs.map(|one| (one.to_string(), one.value())).collect()
    }
}

impl Store {
    /// Finds a checkpoint of any remote; what cannot be read is passed over.
    pub fn find_fetched(&self, id: ObjectId) -> Option<Checkpoint> {
        let (_, fetched) = self.fetched_with(id)?;
        fetched.checkpoints.find(id).cloned()
    }

    /// Adds what a directory was restored to from a remote.
    pub(in crate::store) fn know_fetched(&self, line: &mut Line) {
        line.find_elsewhere(|missing| {
            let remotes = remotes::read(self.layout()).unwrap_or_default();
            let fetched = remotes
                .iter()
                .filter_map(|one| self.fetched(&one.name).ok());
            let found = |one: FetchedCheckpoints| {
                let found = missing.iter().filter_map(|id| one.checkpoints.find(*id));
                found.cloned().collect::<Vec<_>>()
            };
            fetched.flat_map(found).collect()
        });
    }

    /// Returns the remote that has a checkpoint, and what was fetched from it.
    pub fn fetched_with(&self, id: ObjectId) -> Option<(String, FetchedCheckpoints)> {
        let remotes = remotes::read(self.layout()).unwrap_or_default();
        let mut fetched = remotes
            .into_iter()
            .filter_map(|remote| Some((self.fetched(&remote.name).ok()?, remote.name)));
        let (fetched, name) = fetched.find(|(one, _)| one.checkpoints.holds(id))?;
        Some((name, fetched))
    }

    /// Reads what was fetched from a remote.
    ///
    /// # Errors
    /// A ref, a carrier or a checkpoint cannot be read.
    pub fn fetched(&self, remote: &str) -> Result<FetchedCheckpoints> {
        let damaged = |why: String| {
            Error::new(
                Code::DAMAGED,
                format!("what was fetched from {remote} is damaged: {why}"),
            )
            .next(Sentence::new(
                "'checkpoint fetch {}' brings it again",
                &[&remote],
            ))
        };
        let tips = remotes::fetched(self.layout(), remote)?;
        let mut reader = CommitReader::new(self.objects());
        let mut found = FetchedCheckpoints::default();
        let mut noted = BTreeMap::new();
        for tip in tips.values() {
            let state = carrier::state(self.objects(), *tip);
            let state = state.map_err(|why| damaged(why.to_string()))?;
            let line = state.to_header();
            for id in line.checkpoints() {
                let read = reader.checkpoint(id);
                let read = read.map_err(|why| damaged(why.to_string()))?;
                found.stored.entry(id).or_insert_with(|| read.clone());
                noted.entry(id).or_insert(read);
                let origin = line.origin().cloned();
                found.origins.extend(origin.map(|origin| (id, origin)));
            }
            for one in &line.refs {
                note(one, &mut noted, &mut found.origins);
            }
            found.states.insert(*tip, state);
        }
        let origins: BTreeSet<_> = found.origins.values().map(OriginStore::to_ref).collect();
        if origins.len() > 1 {
            for checkpoint in noted.values_mut() {
                checkpoint.record.sequence = 0;
            }
        }
        found.checkpoints = Line::from(noted.into_values().collect::<Vec<_>>());
        Ok(found)
    }
}

/// Puts in what a ref says of a checkpoint.
fn note(
    one: &BundleRef,
    checkpoints: &mut BTreeMap<ObjectId, Checkpoint>,
    origins: &mut BTreeMap<ObjectId, OriginStore>,
) {
    let Some(checkpoint) = one.checkpoint().and_then(|id| checkpoints.get_mut(&id)) else {
        return;
    };
    match one {
        BundleRef::Pin(_) => checkpoint.pinned = true,
        BundleRef::Reason(_, reason) => checkpoint.record.reason.clone_from(reason),
        BundleRef::OriginOf(origin, id) => drop(origins.insert(*id, origin.clone())),
        _ => {}
    }
}

/// A line of which nothing is taken, and why.
pub type BadLine = (LineName, String);

/// Lines that git fetched.
pub struct IncomingLines<'i> {
    pub remote: &'i str,
    /// The newest carrier of each.
    pub tips: &'i BTreeMap<LineName, ObjectId>,
    /// Those of this store, which only bring objects again.
    pub own: &'i [LineName],
    /// What is here of that remote.
    pub here: &'i FetchedCheckpoints,
    /// Whether that is checked again too.
    pub is_all: bool,
    pub check_run: CheckRun,
}

impl LockedStore<'_> {
    /// Takes over lines whose packs are in quarantine. Returns the lines that are damaged or have what
    /// is forbidden: then nothing is added.
    ///
    /// # Errors
    /// A file cannot be written, or a signal came.
    pub fn take_over_lines(
        &self,
        quarantine: &mut Quarantine,
        incoming: &IncomingLines<'_>,
        options: &CheckOptions<'_>,
    ) -> Result<Vec<BadLine>> {
        let IncomingLines { remote, here, .. } = incoming;
        let none = FetchedCheckpoints::default();
        let before = if incoming.is_all { &none } else { here };
        quarantine.link_objects_of(self)?;
        let mut states = here.states.clone();
        let (mut lines, mut bad) = (Vec::new(), Vec::new());
        let objects = quarantine.store.objects();
        for (line, tip) in incoming.tips {
            match carrier::check_line(objects, *tip, &before.states) {
                Ok(state) => {
                    lines.push((line, state.to_header()));
                    states.insert(*tip, state);
                }
                Err(why) => bad.push((line.clone(), why.to_string())),
            }
        }
        let mut whole = CheckpointChecker::new(objects, options);
        if let Some(newest) = before.checkpoints.newest() {
            whole.trust(newest.tree)?;
        }
        let checker = IncomingChecker {
            quarantine: &quarantine.store,
            checked: &before.stored,
            check_run: incoming.check_run,
        };
        for (line, header) in lines {
            match checker.check(&mut whole, &header, "") {
                Ok(sound) => bad.extend(sound.bad.first().map(|(id, why)| {
                    let why = format!("its checkpoint {} {why}", id.short());
                    (line.clone(), why)
                })),
                Err(error) => match error.why().filter(|_| error.code == Code::BAD_BUNDLE) {
                    Some(why) => bad.push((line.clone(), why.to_owned())),
                    None => return Err(error),
                },
            }
        }
        if !bad.is_empty() {
            return Ok(bad);
        }
        // A store without a manifest takes every commit for a checkpoint.
        self.write_derived()?;
        let (from, into) = (quarantine.store.layout(), self.store().layout());
        relocate::copy_packs(&from.packs(), &into.packs())?;
        self.store().objects().refresh()?;
        let known = remotes::fetched(into, remote)?;
        let of_others = |line: &LineName| !incoming.own.contains(line);
        for (line, tip) in incoming.tips.iter().filter(|(line, _)| of_others(line)) {
            // What a line no longer has stays, until it is forgotten on request.
            if let Some(old) = known.get(line)
                && states
                    .get(old)
                    .is_some_and(|old| lacks_any(&states, *tip, old))
            {
                self.write_fetched(remote, &line.at(*old), *old)?;
            }
            self.write_fetched(remote, line, *tip)?;
        }
        Ok(bad)
    }

    /// Makes fetched checkpoints and runs those of this store, as an import does.
    ///
    /// # Errors
    /// A file cannot be written; the next try adds what is missing.
    pub fn adopt_fetched(&self, fetched: &FetchedCheckpoints) -> Result<()> {
        let mut all = BundleHeader::default();
        let lines = fetched.states.values();
        all.refs.extend(lines.flat_map(LineState::refs).cloned());
        if fetched.states.len() > 1 {
            let of_lines =
                |one: &BundleRef| matches!(one, BundleRef::Origin(..) | BundleRef::OriginOf(..));
            all.refs.retain(|one| !of_lines(one));
            let origins = fetched.origins.iter();
            all.refs
                .extend(origins.map(|(id, origin)| BundleRef::OriginOf(origin.clone(), *id)));
        }
        let mut taken = BundleTaken {
            checkpoints: fetched.checkpoints.iter().cloned().collect(),
            origin: all.origin().cloned(),
            ..BundleTaken::default()
        };
        let known = |c: &Checkpoint| self.inventory().knows(c.id);
        taken.checkpoints.retain(|checkpoint| !known(checkpoint));
        // One line after the other: a workflow may have gone on differently on each.
        self.add_checked(&all, None, &mut taken)
    }
}

/// Whether a line at its newest carrier lacks a checkpoint that it had.
fn lacks_any(states: &BTreeMap<ObjectId, LineState>, tip: ObjectId, old: &LineState) -> bool {
    let now = states.get(&tip).map(LineState::checkpoints);
    !old.checkpoints().is_subset(&now.unwrap_or_default())
}
