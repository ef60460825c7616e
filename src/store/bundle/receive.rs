//! Takes a bundle into a quarantine: a store of its own in a scratch directory, with every object
//! of the pack read and hashed. Nothing of it is in the store yet.

use std::io::{BufRead, Write as _};

use crate::base::progress::{Progress, WorkPhase};
use crate::error::{Error, Result};
use crate::store::bundle::header::{BundleHeader, HeaderError};
use crate::store::files::atomic_file::TemporaryFile;
use crate::store::files::scratch::Scratch;
use crate::store::lifecycle::description::{Description, Identity};
use crate::store::objects::pack::pack_publish;
use crate::store::objects::pack::pack_reader::{PIECE_BYTES, PackReader, ReadError};
use crate::store::objects::pack::pack_walk;
use crate::store::repository::Store;

/// A bundle in quarantine, which is removed on drop.
pub struct Received {
    pub header: BundleHeader,
    pub(super) quarantine: Store,
    _scratch: Scratch,
}

impl Received {
    /// Reads a bundle to its end. `name` stands for it in messages.
    ///
    /// # Errors
    /// The input cannot be read, the scratch directory cannot be written, or it is no whole bundle.
    pub fn read(
        scratch: Scratch,
        input: &mut dyn BufRead,
        name: &str,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<Self> {
        let header = BundleHeader::read(input).map_err(|why| match why {
            HeaderError::Flaw(why) => bad(name, why),
            HeaderError::Io(why) => unread(name, &why),
        })?;
        let description = Description::of_root(scratch.dir(), 0, Identity::default(), true);
        let quarantine = Store::open_or_create(scratch.dir().join("store"), &description)?;
        let pack_dir = quarantine.layout().packs();
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
            quarantine.objects().refresh()?;
        }
        Ok(Self {
            header,
            quarantine,
            _scratch: scratch,
        })
    }
}

/// The failure of a bundle that is not taken.
pub(super) fn bad(name: &str, why: impl std::fmt::Display) -> Error {
    Error::BadBundle {
        file: name.to_owned(),
        why: why.to_string(),
    }
}

fn unread(name: &str, why: &std::io::Error) -> Error {
    Error::unexpected(format!("the bundle {name} cannot be read: {why}"))
}
