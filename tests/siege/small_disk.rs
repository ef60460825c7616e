//! A disk with any number of free pages or free inodes.

use std::path::Path;

use tempfile::TempDir;

use super::{field, mounts};

/// Mount options with more of both than any command needs.
const ROOMY: &str = "size=256m,nr_inodes=100000";

/// The resource that is short.
#[derive(Clone, Copy, Debug)]
pub enum Scarce {
    Pages,
    Inodes,
}

pub struct SmallDisk(TempDir);

impl SmallDisk {
    pub fn new() -> Result<Self, String> {
        let disk = Self(field::place("small"));
        mounts::mount(ROOMY, &["-t", "tmpfs", "none"], disk.top())?;
        // A limit of zero would mean none at all.
        std::fs::write(disk.top().join("something"), "1").map_err(|error| error.to_string())?;
        Ok(disk)
    }

    pub fn top(&self) -> &Path {
        self.0.path()
    }

    /// Makes room for everything.
    pub fn make_room(&self) {
        mounts::remount(ROOMY, self.top()).expect("a file system in memory grows");
    }

    /// Leaves exactly this many pages or inodes free.
    pub fn leave(&self, free: u64, scarce: Scarce) {
        let now = rustix::fs::statvfs(self.top()).expect("it is mounted");
        let options = match scarce {
            Scarce::Pages => format!(
                "size={},nr_inodes=100000",
                (now.f_blocks - now.f_bfree + free) * now.f_frsize
            ),
            Scarce::Inodes => format!("size=256m,nr_inodes={}", now.f_files - now.f_ffree + free),
        };
        mounts::remount(&options, self.top()).expect("a file system in memory shrinks");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if mounts::unmount(self.top()).is_err() {
            mounts::detach(self.top());
        }
    }
}
