//! Takes a bundle into a quarantine: a store of its own in a scratch directory, with every object
//! of the pack read and hashed. Nothing of it is in the store yet.

use std::io::{BufRead, Read, Write as _};
use std::path::Path;

use crate::base::{Progress, WorkPhase};
use crate::error::{Code, Error, More, Result};
use crate::store::files::atomic_file;
use crate::store::files::directories;
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_reader::PIECE_BYTES;
use crate::store::objects::pack::{pack_publish, pack_walk};
use crate::store::transfer::header::HeaderError;
use crate::store::{
    BundleHeader, LockedStore, PackReader, ReadError, Scratch, Store, TemporaryFile,
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
