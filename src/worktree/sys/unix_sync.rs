//! Flushes directories and whole file systems to the disk.

use std::io;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::OnceLock;

use rustix::fs;
use rustix::io::{Errno, retry_on_intr};

use super::unix::Dir;

impl Dir {
    /// Syncs the entries of this directory.
    pub fn sync(&self) -> io::Result<()> {
        match retry_on_intr(|| fs::fsync(&self.fd)) {
            // Some file systems cannot sync directories.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Syncs the whole file system, with what others wrote there; returns `false` if this system
    /// has no call for it that reports failed writes.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if reports_failed_writes() {
            match retry_on_intr(|| fs::syncfs(&self.fd)) {
                Ok(()) => return Ok(true),
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// Whether `syncfs` reports failed writes, as it does since Linux 5.8.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reports_failed_writes() -> bool {
    static REPORTS: OnceLock<bool> = OnceLock::new();
    *REPORTS.get_or_init(|| {
        let name = rustix::system::uname();
        is_at_least_5_8(&name.release().to_string_lossy())
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_at_least_5_8(release: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut numbers = release.split(|c| !is_digit(c)).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 8))
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "android"))]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        for (release, expected) in [
            ("5.8.0-63-generic", true),
            ("5.10.1", true),
            ("6.18.44-fc", true),
            ("5.7.19", false),
            ("4.19.0-amd64", false),
            ("strange", false),
        ] {
            assert_eq!(is_at_least_5_8(release), expected, "{release}");
        }
    }
}
