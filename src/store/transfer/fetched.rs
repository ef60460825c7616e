//! Lines that git fetched from a remote: checks them in a quarantine, takes them over, reads them.
//! Their checkpoints are not those of the store: nothing counts or evicts them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::model::checkpoint::line::Line;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::session::origin::OriginStore;
use crate::model::state::object_id::ObjectId;
use crate::store::damage::check::CheckOptions;
use crate::store::lifecycle::relocate;
use crate::store::locked::LockedStore;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::repository::Store;
use crate::store::runs::run_refs;
use crate::store::transfer::carrier;
use crate::store::transfer::header::{BundleHeader, BundleRef};
use crate::store::transfer::receive::{Quarantine, bad};
use crate::store::transfer::remotes::{self, LineName};
use crate::store::transfer::take_over::{self, BundleTaken, TakeOverOptions};

/// What was fetched from a remote.
#[derive(Debug, Default)]
pub struct FetchedCheckpoints {
    /// Of all its lines, by time unless all come from one store.
    pub checkpoints: Line,
    pub origins: BTreeMap<ObjectId, OriginStore>,
    lines: Vec<BundleHeader>,
}

impl Store {
    /// Finds a checkpoint of any remote; what cannot be read is passed over.
    pub fn find_fetched(&self, id: ObjectId) -> Option<Checkpoint> {
        let fetched = self.fetched_with(id)?;
        fetched.checkpoints.find(id).map(Cow::into_owned)
    }

    /// Returns what was fetched from the remote that has a checkpoint.
    pub fn fetched_with(&self, id: ObjectId) -> Option<FetchedCheckpoints> {
        let remotes = remotes::read(self.layout()).unwrap_or_default();
        let mut fetched = remotes
            .iter()
            .filter_map(|remote| self.fetched(&remote.name).ok());
        fetched.find(|one| one.checkpoints.holds(id))
    }

    /// Whether a checkpoint is one of a remote.
    pub fn is_fetched(&self, id: ObjectId) -> bool {
        self.fetched_with(id).is_some()
    }

    /// Reads what was fetched from a remote.
    ///
    /// # Errors
    /// A ref, a carrier or a checkpoint cannot be read.
    pub fn fetched(&self, remote: &str) -> Result<FetchedCheckpoints> {
        let tips = remotes::fetched(self.layout(), remote)?;
        let mut reader = CommitReader::new(self.objects());
        let (mut found, mut all) = (FetchedCheckpoints::default(), BTreeMap::new());
        for tip in tips.values() {
            let damaged = |why: String| Error::DamageFound {
                what: format!("what was fetched from {remote} is damaged: {why}"),
                hint: Sentence::new("'checkpoint fetch {}' brings it again", &[&remote]),
            };
            let state = carrier::read_line(self.objects(), *tip);
            let refs = state.map_err(|why| damaged(why.to_string()))?.into_refs();
            let line = BundleHeader {
                prerequisites: Vec::new(),
                refs,
            };
            for id in line.checkpoints() {
                let read = reader
                    .checkpoint(id)
                    .map_err(|why| damaged(why.to_string()))?;
                all.entry(id).or_insert(read);
                let origin = line.origin().cloned();
                found.origins.extend(origin.map(|origin| (id, origin)));
            }
            for one in &line.refs {
                note(one, &mut all, &mut found.origins);
            }
            found.lines.push(line);
        }
        let origins: BTreeSet<_> = found.origins.values().map(OriginStore::to_ref).collect();
        if origins.len() > 1 {
            for checkpoint in all.values_mut() {
                checkpoint.record.sequence = 0;
            }
        }
        found.checkpoints = Line::from(all.into_values().collect::<Vec<_>>());
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

impl LockedStore<'_> {
    /// Takes over lines whose packs are in quarantine. Returns the checkpoints of each.
    ///
    /// # Errors
    /// A line is damaged or has what is forbidden: nothing is added. Or a file cannot be written.
    pub fn take_over_lines(
        &self,
        quarantine: &Quarantine,
        remote: &str,
        tips: &BTreeMap<LineName, ObjectId>,
        with: &TakeOverOptions<'_>,
        options: &CheckOptions<'_>,
    ) -> Result<Vec<BundleTaken>> {
        quarantine.link_objects_of(self.store())?;
        quarantine.check_extents(with.name, options.check_interrupt)?;
        let mut lines = Vec::new();
        for (line, tip) in tips {
            let name = format!("{}, {},", with.name, line.on_server());
            let with = TakeOverOptions {
                name: &name,
                safety: with.safety,
                checked: with.checked.clone(),
                clean_trees: with.clean_trees.clone(),
                check_run: with.check_run,
            };
            let state = carrier::read_line(quarantine.store.objects(), *tip);
            let header = BundleHeader {
                prerequisites: Vec::new(),
                refs: state.map_err(|why| bad(&name, why))?.into_refs(),
            };
            lines.push(take_over::check(
                &header,
                &quarantine.store,
                &with,
                options,
            )?);
        }
        let (from, into) = (quarantine.store.layout(), self.store().layout());
        // A store without a manifest takes every commit for a checkpoint.
        self.write_derived()?;
        relocate::copy_packs(&from.packs(), &into.packs())?;
        self.store().objects().refresh()?;
        for (line, tip) in tips {
            self.write_fetched(remote, line, *tip)?;
        }
        Ok(lines)
    }

    /// Makes fetched checkpoints and runs those of this store, as an import does.
    ///
    /// # Errors
    /// A file cannot be written; the next try adds what is missing.
    pub fn adopt_fetched(&self, fetched: &FetchedCheckpoints) -> Result<()> {
        let mut all = BundleHeader::default();
        for one in fetched.lines.iter().flat_map(|line| &line.refs) {
            if !matches!(one, BundleRef::Run(..)) {
                all.refs.push(one.clone());
            }
        }
        if fetched.lines.len() > 1 {
            let of_lines =
                |one: &BundleRef| matches!(one, BundleRef::Origin(..) | BundleRef::OriginOf(..));
            all.refs.retain(|one| !of_lines(one));
            let origins = fetched.origins.iter();
            all.refs
                .extend(origins.map(|(id, origin)| BundleRef::OriginOf(origin.clone(), *id)));
        }
        let mut taken = BundleTaken {
            added: fetched.checkpoints.iter().cloned().collect(),
            origin: all.origin().cloned(),
            ..BundleTaken::default()
        };
        let known = |c: &Checkpoint| self.inventory().knows(c.id);
        taken.added.retain(|checkpoint| !known(checkpoint));
        let empty = Quarantine::begin(self.begin_scratch()?)?;
        self.add_checked(&all, &empty.store, &mut taken)?;
        // One line after the other: a workflow may have gone on differently on each.
        for line in &fetched.lines {
            let runs = Quarantine::begin(self.begin_scratch()?)?;
            for one in &line.refs {
                if let BundleRef::Run(namespace, id, tip) = one {
                    run_refs::write(runs.store.layout(), *namespace, id, *tip)?;
                }
            }
            relocate::take_over_workflows(self, &runs.store)?;
        }
        Ok(())
    }
}
