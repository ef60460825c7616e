//! What the system would refuse to change, asked for without a change.

use std::io;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::item::{ItemKind, Rights};
use super::kind_of;
use super::unix::{Dir, NEVER_FOLLOW};
use super::unix_stat::to_stat;

impl Dir {
    /// Returns who may change an entry of this directory; of the directory itself without a name.
    pub fn rights(&self, name: Option<&[u8]>) -> io::Result<Rights> {
        let (at, flags) = match name {
            Some(name) => (name, AtFlags::SYMLINK_NOFOLLOW),
            None => (&b""[..], AtFlags::EMPTY_PATH),
        };
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Ok(found) = fs::statx(&self.fd, at, flags, fs::StatxFlags::BASIC_STATS) {
            let has = |flag| found.stx_attributes.contains(flag);
            let stat = super::unix_stat::from_statx(&found);
            return Ok(Rights {
                is_owned: self.acts_as_owner(name, found.stx_uid, kind_of(&stat)),
                stat,
                is_frozen: has(fs::StatxAttributes::IMMUTABLE) || has(fs::StatxAttributes::APPEND),
                is_mounted: has(fs::StatxAttributes::MOUNT_ROOT),
            });
        }
        let found = match name {
            Some(name) => fs::statat(&self.fd, name, flags)?,
            None => fs::fstat(&self.fd)?,
        };
        let stat = to_stat(&found);
        Ok(Rights {
            is_owned: self.acts_as_owner(name, found.st_uid, kind_of(&stat)),
            stat,
            ..Rights::default()
        })
    }

    /// Whether the system treats this user as the owner. Where an owner is another, a privilege may
    /// count, or not for this owner: only an owner may open a file without noting the time.
    fn acts_as_owner(&self, name: Option<&[u8]>, owner: u32, kind: ItemKind) -> bool {
        let me = rustix::process::geteuid();
        if owner == me.as_raw() {
            return true;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if matches!(kind, ItemKind::File | ItemKind::Dir) {
            let flags = NEVER_FOLLOW | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOATIME;
            let opened = fs::openat(&self.fd, name.unwrap_or(b"."), flags, Mode::empty());
            return match opened {
                Err(Errno::PERM) => false,
                Ok(_) => true,
                Err(_) => me.is_root(),
            };
        }
        me.is_root()
    }

    /// Returns why names in this directory cannot be changed, if so.
    pub fn refusal_to_write(&self) -> Option<io::Error> {
        let asked = fs::Access::WRITE_OK | fs::Access::EXEC_OK;
        let answer = fs::accessat(&self.fd, c".", asked, AtFlags::EACCESS);
        answer
            .err()
            .filter(|error| *error != Errno::NOSYS)
            .map(io::Error::from)
    }
}
