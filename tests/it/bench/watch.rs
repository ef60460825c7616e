//! A watch over a place that must stay untouched: bytes, modes, inodes and change times of all that
//! is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::os;

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    stamp: (u64, [i64; 4]),
    bytes: Option<Vec<u8>>,
}

#[derive(Debug)]
pub struct Watch {
    pub top: PathBuf,
    seen: BTreeMap<PathBuf, Seen>,
}

impl Watch {
    pub fn over(top: &Path) -> Self {
        Self {
            top: top.to_path_buf(),
            seen: look(top),
        }
    }

    /// Takes the present state as the expected one, after a test itself, or git, has changed it.
    pub fn renew(&mut self) {
        self.seen = look(&self.top);
    }

    #[track_caller]
    pub fn assert_untouched(&self) {
        let now = look(&self.top);
        for (path, seen) in &self.seen {
            assert_eq!(Some(seen), now.get(path), "{} was touched", path.display());
        }
        for path in now.keys() {
            assert!(self.seen.contains_key(path), "{} was added", path.display());
        }
    }
}

fn look(top: &Path) -> BTreeMap<PathBuf, Seen> {
    walkdir::WalkDir::new(top)
        .into_iter()
        .map(|entry| {
            let entry = entry.expect("a watched place can be walked");
            let meta =
                fs::symlink_metadata(entry.path()).expect("a watched place can be looked at");
            let bytes = meta
                .is_file()
                .then(|| fs::read(entry.path()).expect("a watched file can be read"));
            let seen = Seen {
                mode: os::mode(&meta),
                stamp: os::stamp(&meta),
                bytes,
            };
            (entry.path().to_path_buf(), seen)
        })
        .collect()
}
