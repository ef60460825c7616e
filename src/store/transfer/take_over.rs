//! Adds a received bundle to the store: everything is checked first, then the pack is put in place,
//! then each checkpoint gets its refs. A kill leaves whole checkpoints; the next import adds the
//! others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::base::malformed::Malformed;
use crate::base::progress::Progress;
use crate::error::{Error, Result};
use crate::model::checkpoint::line::LineEntry;
use crate::model::checkpoint::message;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::session::origin::OriginStore;
use crate::model::state::object_id::ObjectId;
use crate::store::damage::check::{CheckOptions, CheckReport};
use crate::store::damage::check_checkpoints::CheckpointChecker;
use crate::store::files::atomic_file;
use crate::store::layout::Layout;
use crate::store::lifecycle::relocate;
use crate::store::locked::LockedStore;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::ref_files::{self, Family};
use crate::store::repository::Store;
use crate::store::runs::{run_reader, run_refs};
use crate::store::small_files::origins::{self, OriginNote, Origins};
use crate::store::small_files::rewords::{self, Rewords};
use crate::store::transfer::header::{BundleHeader, BundleRef};
use crate::store::transfer::receive::{Received, bad};

/// Upper bound on a sequence number: more of them must have room above it.
const LARGEST_SEQUENCE: u64 = 1 << 53;

/// The first moment that no longer fits the forms of times, in milliseconds since 1970.
const YEAR_10000_MS: i64 = 253_402_300_800_000;

/// What an import did.
#[derive(Clone, Debug, Default)]
pub struct BundleTaken {
    /// New here, in the order of their origin.
    pub added: Vec<Checkpoint>,
    /// Those that were here already.
    pub known: usize,
    /// Those of them that were damaged here, and are whole again.
    pub healed: Vec<Checkpoint>,
    /// Safety checkpoints that were left out.
    pub safety_left: usize,
    pub runs: usize,
    pub origin: Option<OriginStore>,
}

/// How a bundle is taken over.
pub struct TakeOverOptions<'o> {
    /// Name of the bundle in messages.
    pub name: &'o str,
    pub safety: bool,
    /// Checkpoints that were checked before.
    pub checked: BTreeSet<ObjectId>,
    /// Trees of such checkpoints; what others share with them in place is not checked again.
    pub clean_trees: Vec<ObjectId>,
    /// Says what is wrong with the state of a run.
    pub check_run: fn(&Store, ObjectId) -> Result<(), Malformed>,
}

/// What the store notes of its checkpoints beside their commits.
struct LaterNotes {
    origins: Origins,
    reasons: Rewords,
}

impl LaterNotes {
    /// # Errors
    /// A file cannot be read: it would be lost if it were written again.
    fn read(layout: &Layout) -> Result<Self> {
        let damaged = |what| move |why| Error::damaged(what, why);
        Ok(Self {
            origins: origins::read(layout).map_err(damaged("the file of origins"))?,
            reasons: rewords::read(layout).map_err(damaged("the file of later reasons"))?,
        })
    }
}

impl LockedStore<'_> {
    /// Adds the checkpoints, pins and runs of a bundle. The caller updates what is derived.
    ///
    /// # Errors
    /// A part of the bundle is missing, damaged or forbidden: nothing of it is added. Or a file
    /// cannot be written.
    pub fn take_over_bundle(
        &mut self,
        received: &Received,
        with: &TakeOverOptions<'_>,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<BundleTaken> {
        let name = with.name;
        self.read_older();
        self.link_prerequisites(received, name)?;
        let options = CheckOptions {
            full: false,
            check_interrupt,
            progress,
        };
        let quarantine = &received.quarantine.store;
        let mut taken = check(&received.header, quarantine, with, &options)?;
        taken.added.sort_by_key(LineEntry::of);
        let before = taken.added.len();
        taken
            .added
            .retain(|checkpoint| with.safety || !checkpoint.is_safety());
        taken.safety_left = before - taken.added.len();
        self.part_with_known(&mut taken, &options)?;
        if taken.added.is_empty() && taken.healed.is_empty() && taken.runs == 0 {
            return Ok(taken);
        }
        self.add_checked(&received.header, quarantine, &mut taken)?;
        Ok(taken)
    }

    /// Adds what was checked, from a store with its objects and the refs of its runs.
    pub(super) fn add_checked(
        &self,
        header: &BundleHeader,
        quarantine: &Store,
        taken: &mut BundleTaken,
    ) -> Result<()> {
        let notes = LaterNotes::read(self.store().layout())?;
        // A store without a manifest takes every commit for a checkpoint.
        self.write_derived()?;
        relocate::copy_packs(&quarantine.layout().packs(), &self.store().layout().packs())?;
        self.store().objects().refresh()?;
        self.note_origins(header, taken, notes.origins)?;
        self.write_refs(header, taken, notes.reasons)?;
        relocate::take_over_workflows(self, quarantine)
    }

    /// Takes out what is here already, and keeps apart what is damaged here.
    fn part_with_known(&self, taken: &mut BundleTaken, options: &CheckOptions<'_>) -> Result<()> {
        let (known, added) = std::mem::take(&mut taken.added)
            .into_iter()
            .partition::<Vec<_>, _>(|c| self.inventory().knows(c.id));
        (taken.known, taken.added) = (known.len(), added);
        let mut checker = CheckpointChecker::new(self.store().objects(), options);
        let mut report = CheckReport::default();
        for checkpoint in known {
            checker.check(checkpoint.id, &mut report)?;
            taken
                .healed
                .extend(report.damaged.pop().map(|_| checkpoint));
        }
        taken.known -= taken.healed.len();
        Ok(())
    }

    /// Lets the quarantine see the objects of this store, if the bundle builds on them.
    fn link_prerequisites(&self, received: &Received, name: &str) -> Result<()> {
        let wanted = &received.header.prerequisites;
        let line = &self.inventory().checkpoints;
        if let Some(missing) = wanted.iter().find(|id| !line.holds(**id)) {
            return Err(Error::BundleNeeds {
                file: name.to_owned(),
                id: *missing,
            });
        }
        if wanted.is_empty() {
            return Ok(());
        }
        received.quarantine.link_objects_of(self.store())
    }

    /// Notes origin and place. Those of one origin keep their order in a store that has no others;
    /// else they are placed by their time.
    fn note_origins(
        &self,
        header: &BundleHeader,
        taken: &BundleTaken,
        mut noted: Origins,
    ) -> Result<()> {
        let layout = self.store().layout();
        let line: Vec<LineEntry> = self
            .inventory()
            .checkpoints
            .iter()
            .map(LineEntry::of)
            .collect();
        let is_of_this = |entry: &LineEntry| {
            noted
                .get(&entry.id)
                .is_some_and(|known| known.origin == taken.origin)
        };
        let refs = header.refs.iter();
        let others: HashMap<ObjectId, &OriginStore> = refs
            .filter_map(|one| match one {
                BundleRef::OriginOf(origin, id) => Some((*id, origin)),
                _ => None,
            })
            .collect();
        let keeps_order = others.is_empty() && line.iter().all(is_of_this);
        let mut time_ms = i64::MIN;
        let mut added = Vec::new();
        for checkpoint in &taken.added {
            time_ms = time_ms.max(checkpoint.record.time_ms);
            let before = line.iter().rev().find(|entry| entry.time_ms <= time_ms);
            let sequence = if keeps_order {
                checkpoint.record.sequence
            } else {
                before.map_or(0, |entry| entry.sequence)
            };
            let origin = others.get(&checkpoint.id).copied();
            let origin = origin.cloned().or_else(|| taken.origin.clone());
            added.push((checkpoint.id, OriginNote { sequence, origin }));
        }
        noted.extend(added);
        noted.retain(|id, _| {
            self.inventory().knows(*id) || taken.added.iter().any(|added| added.id == *id)
        });
        origins::write(layout, &noted)
    }

    fn write_refs(
        &self,
        header: &BundleHeader,
        taken: &mut BundleTaken,
        mut known_reasons: Rewords,
    ) -> Result<()> {
        let layout = self.store().layout();
        // Without the seal, the rows of the manifest are compared with all checkpoints again.
        atomic_file::remove_if_there(&layout.packed_seal())?;
        let (mut pins, mut reasons) = (BTreeSet::new(), BTreeMap::new());
        for one in &header.refs {
            match one {
                BundleRef::Pin(id) => drop(pins.insert(*id)),
                BundleRef::Reason(id, reason) => drop(reasons.insert(*id, reason.clone())),
                _ => {}
            }
        }
        reasons.retain(|id, _| taken.added.iter().any(|added| added.id == *id));
        if !reasons.is_empty() {
            known_reasons.append(&mut reasons);
            rewords::write(layout, &known_reasons)?;
        }
        for checkpoint in taken.added.iter_mut().chain(&mut taken.healed) {
            let id = checkpoint.id;
            checkpoint.pinned |= pins.contains(&id);
            if let Some(meta) = checkpoint.meta {
                ref_files::write(layout, Family::Meta, id, meta)?;
            }
            if checkpoint.pinned {
                ref_files::write(layout, Family::Pins, id, id)?;
            }
            ref_files::write(layout, Family::Checkpoints, id, id)?;
        }
        ref_files::sync(layout)
    }
}

/// Checks every checkpoint and run of a bundle down to its objects, and writes the refs of the runs
/// into the quarantine. All checkpoints count as added.
pub(super) fn check(
    header: &BundleHeader,
    quarantine: &Store,
    with: &TakeOverOptions<'_>,
    options: &CheckOptions<'_>,
) -> Result<BundleTaken> {
    let name = with.name;
    let objects = quarantine.objects();
    let mut checker = CheckpointChecker::new(objects, options);
    let mut reader = CommitReader::new(objects);
    let mut report = CheckReport::default();
    let mut taken = BundleTaken {
        origin: header.origin().cloned(),
        ..BundleTaken::default()
    };
    for id in header.checkpoints() {
        if !with.checked.contains(&id) {
            if let Ok(checkpoint) = reader.checkpoint(id) {
                let known = with.clean_trees.iter();
                known.for_each(|known| checker.trust(checkpoint.tree, *known));
            }
            checker.check(id, &mut report)?;
        }
        if let Some(faulty) = report.damaged.pop() {
            let fault = faulty.faults.first();
            let why = fault.map(|fault| match &fault.path {
                Some(path) => format!("{path}: {}", fault.why),
                None => fault.why.clone(),
            });
            let why = why.unwrap_or_default();
            return Err(bad(
                name,
                format!("its checkpoint {} is damaged: {why}", id.short()),
            ));
        }
        let read = reader.checkpoint(id);
        let checkpoint = read.map_err(|why| bad(name, why))?;
        if checkpoint.record.sequence > LARGEST_SEQUENCE {
            return Err(bad(name, "it has an absurd sequence number"));
        }
        if !(0..YEAR_10000_MS).contains(&checkpoint.record.time_ms) {
            return Err(bad(name, "it has an absurd time"));
        }
        taken.added.push(checkpoint);
    }
    if reader.newest_format() > message::CHECKPOINT_FORMAT {
        return Err(bad(name, "a newer program made it"));
    }
    check_values(header, &taken.added)
        .map_err(|one| bad(name, format!("its ref {one} leads nowhere")))?;
    for one in &header.refs {
        let BundleRef::Run(namespace, run, tip) = one else {
            continue;
        };
        let transition =
            run_reader::transition(objects, *tip).map_err(|why| Malformed::from(why.to_string()));
        let sound = transition.and_then(|_| (with.check_run)(quarantine, *tip));
        if let Err(why) = sound {
            return Err(bad(name, format!("its workflow {run} is damaged: {why}")));
        }
        if !checker.line_is_whole(*tip)? {
            return Err(bad(name, format!("its workflow {run} is damaged")));
        }
        run_refs::write(quarantine.layout(), *namespace, run, *tip)?;
        taken.runs += 1;
    }
    Ok(taken)
}

/// Checks that refs which name a checkpoint name one of these, and a meta the right one. Returns
/// the first that does not.
fn check_values<'h>(
    header: &'h BundleHeader,
    checkpoints: &[Checkpoint],
) -> Result<(), &'h BundleRef> {
    let metas: HashMap<ObjectId, Option<ObjectId>> =
        checkpoints.iter().map(|c| (c.id, c.meta)).collect();
    let is_right = |one: &&BundleRef| match one {
        BundleRef::Meta(id, meta) => metas.get(id) == Some(&Some(*meta)),
        BundleRef::Checkpoint(id)
        | BundleRef::Pin(id)
        | BundleRef::Reason(id, _)
        | BundleRef::Origin(_, id)
        | BundleRef::OriginOf(_, id) => metas.contains_key(id),
        // A branch of a store may be older than its checkpoints.
        BundleRef::Branch(..) | BundleRef::Run(..) => true,
    };
    header
        .refs
        .iter()
        .find(|one| !is_right(one))
        .map_or(Ok(()), Err)
}
