//! Damage found in the packs of a store: noted when it is met, and examined again when it matters.

use std::io;
use std::path::Path;

use crate::base::mutex::lock;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::damage::unindexed_packs::{self, ReadablePacks};
use crate::store::objects::odb::{ObjectListing, corrupt};
use crate::store::{ObjectError, Objects, Pack, ReadError};

impl Objects {
    /// Makes damaged packs and those without an index as readable as possible, in memory and only
    /// once, after an object was missing or unreadable. Returns whether there are such packs.
    pub fn make_packs_readable(&self) -> bool {
        let mut looked = lock(&self.made_readable);
        if *looked {
            return self.has_damaged_packs();
        }
        let before = self.refresh().map(|()| self.snapshot());
        let repaired = before.and_then(|before| {
            Ok((
                unindexed_packs::make_readable(&self.dir.join("pack"), &before.packs)?,
                before,
            ))
        });
        match repaired {
            Err(cause) => *lock(&self.unread) = Some(cause),
            Ok((ReadablePacks { packs, unread }, before)) => {
                *looked = true;
                *lock(&self.unread) = unread;
                // An object read through a damaged index may be elsewhere in the same pack.
                lock(&self.bad_copies).clear();
                self.replace_listing(ObjectListing {
                    packs,
                    loose_fan_out: before.loose_fan_out,
                });
            }
        }
        drop(looked);
        self.has_damaged_packs()
    }

    /// Takes the read error, if any, of the last look at all packs or of a later search: missing
    /// objects may exist.
    pub fn take_unread(&self) -> Option<Error> {
        lock(&self.unread).take()
    }

    pub(in crate::store) fn note_unread(&self, path: &Path, cause: ReadError) {
        match cause {
            // The pack was merged into another.
            ReadError::Io(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            ReadError::Io(cause) => self.remember_unread(Error::io("read", path)(cause)),
            ReadError::Damaged(_) | ReadError::Sink(_) => {}
        }
    }

    pub(in crate::store) fn remember_unread(&self, cause: Error) {
        lock(&self.unread).get_or_insert(cause);
    }

    /// Whether damaged packs were made readable.
    pub fn has_damaged_packs(&self) -> bool {
        self.snapshot()
            .packs
            .iter()
            .any(|pack| pack.damage().is_some())
    }

    /// Forgets all damage found and lists the packs again: they were repaired or replaced on disk.
    ///
    /// # Errors
    /// The packs cannot be listed.
    pub fn forget_damage(&self) -> Result<()> {
        *lock(&self.made_readable) = false;
        lock(&self.bad_copies).clear();
        self.list_again(&[])
    }

    pub(in crate::store) fn is_bad(&self, pack: &Pack, id: &ObjectId) -> bool {
        let bad = lock(&self.bad_copies);
        !bad.is_empty() && bad.contains(&(pack.stamp.clone(), *id))
    }

    pub(in crate::store) fn fail(
        &self,
        pack: &Pack,
        id: &ObjectId,
        cause: ReadError,
    ) -> ObjectError {
        match cause {
            ReadError::Damaged(why) => {
                lock(&self.bad_copies).insert((pack.stamp.clone(), *id));
                corrupt(id, why)
            }
            ReadError::Io(cause) => ObjectError::Io(Error::io("read", &pack.pack_path)(cause)),
            ReadError::Sink(cause) => ObjectError::Sink(cause),
        }
    }
}
