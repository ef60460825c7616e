//! Carries out a repack plan: copies live objects, checks the copy, then removes the old packs.

use std::collections::HashSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::atomic_file::{remove_if_there, sync_directory};
use crate::store::gc::repack_plan::{self, RepackPlan};
use crate::store::gc::{deltas, sweep};
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_list::{check_new, read_back};
use crate::store::small_files::stat_cache;
use crate::store::{
    Effort, EntryCrc, EntryKind, IndexEntry, LockedStore, ObjectIds, Objects, Pack, PackUsage,
    PackWriter, Reach, ReadError,
};

/// The result of a repack. Bytes are those of packs, indexes and loose objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepackOutcome {
    pub packs_before: usize,
    pub packs_after: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub loose_removed: u64,
    /// Whether it was stopped early by the caller.
    pub stopped: bool,
    /// The disk was full during a merge; objects dropped before stay dropped.
    pub no_space: Option<String>,
}

impl LockedStore<'_> {
    /// Frees the space of all objects outside `live`: removes dead packs, merges small and mostly
    /// dead ones until `stop` returns true, and makes deltas of large files unless `effort` is cheap.
    /// Updates the packs named in the stat cache: each of its blobs stays in some pack.
    pub fn sweep(
        &self,
        live: &Reach<'_>,
        effort: Effort,
        stop: &dyn Fn() -> bool,
    ) -> Result<RepackOutcome> {
        let store = self.store();
        let (layout, objects) = (store.layout(), store.objects());
        let cache = stat_cache::head(layout).filter(|head| store.trusts(&head.basis));
        let survey = || repack_plan::survey(objects, &live.met, &deltas::packs(layout));
        let mut survey_now = survey()?;
        let packs_before = survey_now.packs.len();
        let mut no_space = None;
        if effort != Effort::Cheap {
            match deltas::write(store, &survey_now, live) {
                // The new packs are the ones that hold the versions now.
                Ok(true) => survey_now = survey()?,
                Ok(false) => {}
                Err(error) if error.is_full() => no_space = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let plan = repack_plan::plan(&survey_now.facts(), effort);
        if !plan.keeps_all_packs() || plan.loose {
            self.flush_drops()?;
        }
        let outcome = repack(objects, &survey_now, &plan, &live.met, stop)?;
        if let Some(cache) = cache {
            // On failure (a full disk) the next scan just checks each blob that it relies on.
            let _ = stat_cache::save_packs(layout, cache, objects.packs());
        }
        Ok(RepackOutcome {
            packs_before,
            no_space: outcome.no_space.or(no_space),
            ..outcome
        })
    }
}

/// Carries out a plan. The caller holds the exclusive lock and made `survey` under it. The order:
/// check all sources of copies; remove dead packs, which needs no space; then for each group copy,
/// publish, read back and remove its old packs. `stop` is asked between these steps.
///
/// # Errors
/// A live object cannot be read (nothing was removed), or a file cannot be written or removed.
pub fn repack(
    objects: &Objects,
    survey: &PackUsage,
    plan: &RepackPlan,
    live: &ObjectIds,
    stop: &dyn Fn() -> bool,
) -> Result<RepackOutcome> {
    let objects_dir = objects.objects_dir();
    let mut work = RepackWork {
        objects_dir,
        survey,
        plan,
        live,
        objects,
        stop,
        published: HashSet::new(),
    };
    let mut outcome = RepackOutcome::default();
    (outcome.packs_before, outcome.bytes_before) = measure(objects_dir)?;
    if work.check_sources()? {
        work.run(&mut outcome)?;
    } else {
        outcome.stopped = true;
    }
    objects.refresh()?;
    (outcome.packs_after, outcome.bytes_after) = measure(objects_dir)?;
    Ok(outcome)
}

struct RepackWork<'a> {
    objects_dir: &'a Path,
    survey: &'a PackUsage,
    plan: &'a RepackPlan,
    live: &'a ObjectIds,
    objects: &'a Objects,
    stop: &'a dyn Fn() -> bool,
    /// Names of the new packs. One may equal an old pack that is about to be removed: then both are
    /// one file.
    published: HashSet<String>,
}

impl<'a> RepackWork<'a> {
    fn run(&mut self, outcome: &mut RepackOutcome) -> Result<()> {
        if !self.plan.keeps_all_packs() {
            sweep::remove_caches(self.objects_dir)?;
        }
        // Objects that no pack can give are claimed by none: save them before any copy is removed.
        let (loose, packed): (Vec<ObjectId>, Vec<ObjectId>) = self
            .survey
            .unclaimed
            .iter()
            .partition(|id| self.survey.loose.binary_search(id).is_ok());
        self.pack_unclaimed(&packed)?;
        self.plan
            .drop
            .iter()
            .try_for_each(|name| self.remove(name))?;
        if self.plan.loose {
            self.remove_loose(outcome, |id| {
                !self.live.contains(id) || !self.is_unclaimed(id)
            })?;
        }
        match self.merge_all(&loose, outcome) {
            Err(error) if error.is_full() => outcome.no_space = Some(error.to_string()),
            other => other?,
        }
        sync_directory(&self.pack_dir())
    }

    fn merge_all(&mut self, loose: &[ObjectId], outcome: &mut RepackOutcome) -> Result<()> {
        if self.plan.loose && self.pack_unclaimed(loose)? {
            self.remove_loose(outcome, |id| self.is_unclaimed(id))?;
        }
        for group in &self.plan.merge {
            if (self.stop)() {
                outcome.stopped = true;
                return Ok(());
            }
            self.merge(group, outcome)?;
        }
        Ok(())
    }

    /// Packs objects that no pack claims; returns whether there were any.
    fn pack_unclaimed(&mut self, ids: &[ObjectId]) -> Result<bool> {
        let mut writer = self.writer()?;
        ids.iter()
            .try_for_each(|id| self.add_by_reading(&mut writer, id))?;
        self.publish(writer)
    }

    fn merge(&mut self, group: &[String], outcome: &mut RepackOutcome) -> Result<()> {
        let mut writer = self.writer()?;
        for found in group.iter().filter_map(|name| self.survey.get(name)) {
            for IndexEntry { id, .. } in &found.claimed {
                if (self.stop)() {
                    outcome.stopped = true;
                    return Ok(());
                }
                self.copy(&mut writer, &found.pack, id)?;
            }
        }
        self.publish(writer)?;
        group.iter().try_for_each(|name| self.remove(name))
    }

    /// Copies an object; a delta becomes whole.
    fn copy(&self, writer: &mut PackWriter<'_>, pack: &Pack, id: &ObjectId) -> Result<()> {
        let bad = |cause: ReadError| pack.unreadable(cause);
        match (
            pack.header(id).map_err(bad)?,
            pack.place_of(id).map_err(bad)?,
        ) {
            (Some(header), Some((entry, end))) if header.kind != EntryKind::Delta => {
                let reader = pack.reader().map_err(bad)?;
                writer.copy_entry(reader, &entry, end).map_err(Error::from)
            }
            _ => self.add_by_reading(writer, id),
        }
    }

    fn add_by_reading(&self, writer: &mut PackWriter<'_>, id: &ObjectId) -> Result<()> {
        let (kind, content) = self.objects.read_any(id)?;
        writer.rewrite(*id, kind, &content).map_err(Error::from)
    }

    fn writer(&self) -> Result<PackWriter<'a>> {
        PackWriter::begin(self.objects_dir, self.objects)
    }

    /// Publishes a pack and reads back each object in it; returns whether there was one.
    fn publish(&mut self, writer: PackWriter<'_>) -> Result<bool> {
        let Some(stamp) = writer.finish()? else {
            return Ok(false);
        };
        check_new(&self.pack_dir(), &stamp, read_back)?;
        self.published.insert(stamp.name);
        Ok(true)
    }

    /// Checks all sources for unreadable objects before any change; returns whether to go on.
    fn check_sources(&self) -> Result<bool> {
        for found in self
            .plan
            .merge
            .iter()
            .flatten()
            .filter_map(|name| self.survey.get(name))
        {
            for IndexEntry { id, .. } in &found.claimed {
                if (self.stop)() {
                    return Ok(false);
                }
                self.check_source(&found.pack, id)?;
            }
        }
        for id in &self.survey.unclaimed {
            self.objects.read_any(id)?;
        }
        Ok(true)
    }

    fn check_source(&self, pack: &Pack, id: &ObjectId) -> Result<()> {
        let bad = |cause: ReadError| pack.unreadable(cause);
        let header = pack.header(id).map_err(bad)?;
        let (Some((entry, end)), Some(EntryKind::Object(_))) = (
            pack.place_of(id).map_err(bad)?,
            header.map(|header| header.kind),
        ) else {
            return self.objects.read_any(id).map(drop).map_err(Error::from);
        };
        let mut crc = EntryCrc::default();
        let read = pack
            .reader()
            .map_err(bad)?
            .raw(entry.offset, end, &mut |bytes| {
                crc.update(bytes);
                Ok(())
            });
        read.map_err(bad)?;
        if crc.sum() == entry.crc {
            return Ok(());
        }
        let what = format!("object {id} in {}", pack.pack_path.display());
        Err(Error::damaged(
            what,
            "its bytes do not match their checksum",
        ))
    }

    fn is_unclaimed(&self, id: &ObjectId) -> bool {
        self.survey.unclaimed.binary_search(id).is_ok()
    }

    fn remove_loose(
        &self,
        outcome: &mut RepackOutcome,
        goes: impl Fn(&ObjectId) -> bool,
    ) -> Result<()> {
        for id in self.survey.loose.iter().filter(|id| goes(id)) {
            let path = loose_files::path_of(self.objects_dir, id);
            outcome.loose_removed += u64::from(remove_if_there(&path)?);
            if let Some(fan_out) = path.parent() {
                // Fails, as intended, if other files are in it.
                let _ = std::fs::remove_dir(fan_out);
            }
        }
        Ok(())
    }

    /// Removes an old pack, unless it is the same file as a new one.
    fn remove(&self, name: &str) -> Result<()> {
        if self.published.contains(name) {
            return Ok(());
        }
        sweep::remove_pack(&self.pack_dir(), name)
    }

    fn pack_dir(&self) -> std::path::PathBuf {
        self.objects_dir.join("pack")
    }
}

/// Counts the packs, and the bytes of packs, indexes and loose objects.
fn measure(objects_dir: &Path) -> Result<(usize, u64)> {
    let pack_dir = objects_dir.join("pack");
    let (mut packs, mut bytes) = (0, 0);
    let len_of = |path: &Path| path.symlink_metadata().map_or(0, |meta| meta.len());
    for name in loose_files::names_in(&pack_dir)? {
        let path = pack_dir.join(&name);
        packs += usize::from(path.extension().is_some_and(|ending| ending == "pack"));
        bytes += len_of(&path);
    }
    let loose = loose_files::list(objects_dir)?;
    bytes += loose
        .iter()
        .map(|id| len_of(&loose_files::path_of(objects_dir, id)))
        .sum::<u64>();
    Ok((packs, bytes))
}
