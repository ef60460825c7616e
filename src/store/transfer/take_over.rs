//! Adds a received bundle to the store once it is checked: the pack is put in place, then each
//! checkpoint gets its refs. A kill leaves whole checkpoints; the next import adds the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::base::Progress;
use crate::error::{Code, Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::{Checkpoint, LineEntry, ObjectId, OriginStore};
use crate::store::files::checksummed_text::{read, write};
use crate::store::lifecycle::relocate;
use crate::store::refs::ref_files;
use crate::store::transfer::receive::IncomingChecker;
use crate::store::{
    BundleHeader, BundleRef, CheckOptions, CheckReport, CheckRun, CheckpointChecker, Family,
    LockedStore, OriginNote, Origins, Received, Rewords, Store,
};

/// What came in.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct BundleTaken {
    /// Those that are new here, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Number of those that were here already.
    pub already_here: usize,
    /// Those that were damaged here, and can be read again.
    pub healed_checkpoints: Vec<Checkpoint>,
    /// Number of safety checkpoints that were left out.
    pub safety_left_out: usize,
    /// Those that were not taken, and why.
    #[serde(skip)]
    pub bad: Vec<(ObjectId, String)>,
    pub workflow_count: usize,
    /// Null if plain git made the bundle.
    pub origin: Option<OriginStore>,
}

/// How a bundle is taken over.
pub struct TakeOverOptions<'o> {
    /// Name of the bundle in messages.
    pub name: &'o str,
    pub safety: bool,
    pub check_run: CheckRun,
}

impl LockedStore<'_> {
    /// Adds the checkpoints, pins and runs of a bundle. The caller updates what is derived.
    ///
    /// # Errors
    /// All checkpoints of the bundle, a run or a ref of it are missing, damaged or forbidden: nothing
    /// of it is added. Or a file cannot be written.
    pub fn take_over_bundle(
        &mut self,
        received: &mut Received,
        with: &TakeOverOptions<'_>,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<BundleTaken> {
        let name = with.name;
        self.link_prerequisites(received, name)?;
        let options = CheckOptions {
            full: false,
            check_interrupt,
            progress,
        };
        let quarantine = &received.quarantine.store;
        let checker = IncomingChecker {
            quarantine,
            checked: &BTreeMap::new(),
            check_run: with.check_run,
        };
        let mut whole = CheckpointChecker::new(quarantine.objects(), &options);
        let sound = checker.check(&mut whole, &received.header, name)?;
        let mut taken = BundleTaken {
            checkpoints: sound.checkpoints,
            bad: sound.bad,
            workflow_count: received.header.runs().count(),
            origin: received.header.origin().cloned(),
            ..BundleTaken::default()
        };
        taken.checkpoints.sort_by_key(LineEntry::of);
        let before = taken.checkpoints.len();
        taken
            .checkpoints
            .retain(|checkpoint| with.safety || !checkpoint.is_safety());
        taken.safety_left_out = before - taken.checkpoints.len();
        self.part_with_known(&mut taken, &options)?;
        if taken.checkpoints.is_empty()
            && taken.healed_checkpoints.is_empty()
            && taken.workflow_count == 0
        {
            return Ok(taken);
        }
        self.add_checked(&received.header, Some(quarantine), &mut taken)?;
        Ok(taken)
    }

    /// Adds what was checked, from a store with its objects unless they are here.
    pub(super) fn add_checked(
        &self,
        header: &BundleHeader,
        quarantine: Option<&Store>,
        taken: &mut BundleTaken,
    ) -> Result<()> {
        // One that cannot be read would be lost if it were written again.
        let (layout, damaged) = (self.store().layout(), |what| {
            move |why| Error::damaged(what, why)
        });
        let origins = read(&layout.origins()).map_err(damaged("the file of origins"))?;
        let reasons = read(&layout.rewords()).map_err(damaged("the file of later reasons"))?;
        // A store without a manifest takes every commit for a checkpoint.
        self.write_derived()?;
        if let Some(quarantine) = quarantine {
            let packs = quarantine.layout().packs();
            relocate::copy_packs(&packs, &self.store().layout().packs())?;
            self.store().objects().refresh()?;
        }
        self.note_origins(header, taken, origins)?;
        self.write_refs(header, taken, reasons)?;
        relocate::take_over_workflows(self, header.runs())
    }

    /// Takes out what is here already, and keeps apart what is damaged here.
    fn part_with_known(&self, taken: &mut BundleTaken, options: &CheckOptions<'_>) -> Result<()> {
        let (known, added) = std::mem::take(&mut taken.checkpoints)
            .into_iter()
            .partition::<Vec<_>, _>(|c| self.inventory().knows(c.id));
        (taken.already_here, taken.checkpoints) = (known.len(), added);
        let mut checker = CheckpointChecker::new(self.store().objects(), options);
        let mut report = CheckReport::default();
        for checkpoint in known {
            checker.check(checkpoint.id, &mut report)?;
            taken
                .healed_checkpoints
                .extend(report.damaged.pop().map(|_| checkpoint));
        }
        taken.already_here -= taken.healed_checkpoints.len();
        Ok(())
    }

    /// Lets the quarantine see the objects of this store, if the bundle builds on them.
    fn link_prerequisites(&self, received: &mut Received, name: &str) -> Result<()> {
        let wanted = &received.header.prerequisites;
        let line = &self.inventory().checkpoints;
        if let Some(missing) = wanted.iter().find(|id| !line.holds(**id)) {
            return Err(Error::new(
                Code::BUNDLE_NEEDS,
                format!(
                    "{name} builds on checkpoint {}, which is not here",
                    missing.short()
                ),
            )
            .advise("nothing was imported; import the bundle before it first"));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        received.quarantine.link_objects_of(self)
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
        let line: Vec<&LineEntry> = self.inventory().checkpoints.entries().collect();
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
        let keeps_order = others.is_empty() && line.iter().all(|entry| is_of_this(entry));
        let mut time_ms = i64::MIN;
        let mut added = Vec::new();
        for checkpoint in &taken.checkpoints {
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
            self.inventory().knows(*id) || taken.checkpoints.iter().any(|added| added.id == *id)
        });
        write(&layout.origins(), &noted)
    }

    fn write_refs(
        &self,
        header: &BundleHeader,
        taken: &mut BundleTaken,
        mut known_reasons: Rewords,
    ) -> Result<()> {
        let layout = self.store().layout();
        let (mut pins, mut reasons) = (BTreeSet::new(), BTreeMap::new());
        for one in &header.refs {
            match one {
                BundleRef::Pin(id) => drop(pins.insert(*id)),
                BundleRef::Reason(id, reason) => drop(reasons.insert(*id, reason.clone())),
                _ => {}
            }
        }
        reasons.retain(|id, _| taken.checkpoints.iter().any(|added| added.id == *id));
        if !reasons.is_empty() {
            known_reasons.append(&mut reasons);
            write(&layout.rewords(), &known_reasons)?;
        }
        for checkpoint in taken
            .checkpoints
            .iter_mut()
            .chain(&mut taken.healed_checkpoints)
        {
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
