//! Takes a bundle into a quarantine, a store of its own in a scratch directory, with every object of
//! the pack read and hashed, and checks what came from elsewhere before any of it is added to the
//! store: every checkpoint and every run down to its objects, and that each ref leads to what it
//! names. What goes elsewhere is checked likewise.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, Read, Write as _};
use std::path::Path;

use crate::base::{Malformed, Progress, WorkPhase};
use crate::error::{Code, Error, More, Result};
use crate::model::checkpoint::message;
use crate::model::{Checkpoint, ObjectId};
use crate::store::files::{atomic_file, directories};
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_reader::PIECE_BYTES;
use crate::store::objects::pack::{pack_publish, pack_walk};
use crate::store::refs::commit_codec;
use crate::store::runs::run_line;
use crate::store::transfer::header::HeaderError;
use crate::store::{
    BundleHeader, BundleRef, CheckOptions, CheckReport, CheckpointChecker, CommitReader,
    LockedStore, Objects, PackReader, Reach, ReadError, Scratch, Store, TemporaryFile,
};

/// Objects from elsewhere, in a store of their own.
pub struct Quarantine {
    pub(super) store: Store,
}

/// A bundle in quarantine.
pub struct Received {
    pub header: BundleHeader,
    pub(super) quarantine: Quarantine,
    _scratch: Scratch,
}

/// Reads the header of a bundle. `name` stands for the bundle in messages.
///
/// # Errors
/// The input cannot be read, or does not begin as a bundle of checkpoints.
pub fn read_header(input: &mut dyn BufRead, name: &str) -> Result<BundleHeader> {
    BundleHeader::read(input).map_err(|why| match why {
        HeaderError::Flaw(why) => bad(name, why),
        HeaderError::Io(why) => unread(name, &why),
    })
}

impl Received {
    /// Reads the pack of a bundle to its end.
    ///
    /// # Errors
    /// The input cannot be read, the scratch directory cannot be written, or it is no whole bundle.
    pub fn read(
        scratch: Scratch,
        header: BundleHeader,
        input: &mut dyn BufRead,
        name: &str,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<Self> {
        let mut quarantine = Quarantine::begin(scratch.dir())?;
        quarantine.take_pack(input, name, check_interrupt, progress)?;
        Ok(Self {
            header,
            quarantine,
            _scratch: scratch,
        })
    }
}

impl Quarantine {
    /// Begins one in a directory that the caller removes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(dir: &Path) -> Result<Self> {
        Ok(Self {
            store: Store::make_scratch(dir.join("store"))?,
        })
    }

    /// Reads a pack to its end, and hashes each of its objects. `name` stands for its origin in
    /// messages.
    ///
    /// # Errors
    /// The input cannot be read, the scratch directory cannot be written, or it is no whole pack.
    pub fn take_pack(
        &mut self,
        input: &mut dyn Read,
        name: &str,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<()> {
        let pack_dir = self.store.layout().packs();
        let pack = TemporaryFile::create(&pack_dir, "tmp_pack_", "_")?;
        let mut piece = vec![0; PIECE_BYTES];
        progress.begin(WorkPhase::Reading, 0, 0);
        loop {
            check_interrupt()?;
            let read = input.read(&mut piece).map_err(|why| unread(name, &why))?;
            if read == 0 {
                break;
            }
            pack.file()
                .write_all(&piece[..read])
                .map_err(Error::io("write", pack.path()))?;
            progress.add(0, read as u64);
        }
        let failed = |why: ReadError| match why {
            ReadError::Io(why) => Error::io("read", pack.path())(why),
            why => bad(name, why),
        };
        let reader = PackReader::open(pack.path()).map_err(failed)?;
        progress.begin(WorkPhase::Verifying, u64::from(reader.declared_count()), 0);
        let mut stopped = None;
        let walked = pack_walk::walk_foreign(&reader, &mut || {
            progress.add(1, 0);
            check_interrupt().map_err(|why| {
                stopped = Some(why);
                std::io::ErrorKind::Interrupted.into()
            })
        });
        stopped.map_or(Ok(()), Err)?;
        let mut walk = walked.map_err(failed)?;
        drop(reader);
        if !walk.entries.is_empty() {
            let pack = pack_publish::complete(&pack_dir, pack, walk.trailer, &mut walk.entries)?;
            pack_publish::publish(&pack_dir, vec![pack], None)?;
            self.store.objects().refresh()?;
        }
        Ok(())
    }

    /// Lets the quarantine see the objects of a locked store too.
    pub(super) fn link_objects_of(&mut self, store: &LockedStore<'_>) -> Result<()> {
        let (from, into) = (store.store().layout(), self.store.layout());
        for id in loose_files::list(&from.objects())? {
            let to = loose_files::path_of(&into.objects(), &id);
            directories::create_private(to.parent().unwrap_or(into.dir()))?;
            atomic_file::link_or_copy(&loose_files::path_of(&from.objects(), &id), &to)?;
        }
        self.store.borrow_packs_of(store.store())
    }
}

/// The failure of a bundle that is not taken.
pub(super) fn bad(name: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Code::BAD_BUNDLE, format!("{name} was not taken: {why}"))
        .advise("nothing of it was added; get it once more from where it was made")
        .more(More::Why(why.to_string()))
}

fn unread(name: &str, why: &std::io::Error) -> Error {
    Error::unexpected(format!("{name} cannot be read: {why}"))
}

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
    /// Checks all that a header names; messages call its origin `name`.
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
    let bytes = objects.read(&id).map(|(_, bytes)| bytes);
    if let Some(parts) = bytes
        .ok()
        .and_then(|bytes| commit_codec::parse(&bytes).ok())
    {
        let format = message::read(&parts.message).and_then(|ours| ours.format);
        if format > Some(message::CHECKPOINT_FORMAT) {
            return Ok(Some(message::MADE_BY_NEWER.to_owned()));
        }
        if parts.seconds < 0 {
            return Ok(Some("has a time before 1970, which git refuses".to_owned()));
        }
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
