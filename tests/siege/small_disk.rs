//! A disk with as many free pages, or as many free inodes, as are wanted.

use std::path::Path;

use tempfile::TempDir;

use crate::{field, mounts};

/// More than anything here needs.
const ROOMY: &str = "size=256m,nr_inodes=100000";

/// What there is too little of.
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
        // A limit of nothing would be none at all.
        std::fs::write(disk.top().join("something"), "1").map_err(|error| error.to_string())?;
        Ok(disk)
    }

    pub fn top(&self) -> &Path {
        self.0.path()
    }

    /// As much as it could need.
    pub fn make_room(&self) {
        mounts::remount(ROOMY, self.top()).expect("a file system in memory grows");
    }

    /// Just so many pages or inodes are free from now on.
    pub fn leave(&self, free: u64, scarce: Scarce) {
        let now = rustix::fs::statvfs(self.top()).expect("it is mounted");
        let options = match scarce {
            Scarce::Pages => format!("size={},nr_inodes=100000", (now.f_blocks - now.f_bfree + free) * now.f_frsize),
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
