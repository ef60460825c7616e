//! The oracle of the escapes: files outside the root and the store, and the project's own `.git`,
//! must stay untouched.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::field::Field;

/// Sentence in every file that must never be read into a checkpoint.
pub const MARKER: &str = "nobody's business but the owner's";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    inode: u64,
    links: u64,
    mtime: (i64, i64),
    /// Change time, which nothing can put back, so that a reverted change shows too.
    ctime: (i64, i64),
    bytes: Option<Vec<u8>>,
}

/// The initial state of everything that must stay untouched.
pub struct Guard {
    tops: Vec<PathBuf>,
    passed_over: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Seen>,
}

impl Guard {
    /// Watches the whole field except the root, the folder of the store, and the place for copies
    /// of checkpoints.
    pub fn over(field: &Field) -> Self {
        let stores = field
            .store()
            .parent()
            .expect("a store lies in a folder")
            .to_path_buf();
        let tops = vec![
            field.top(),
            field.work().join(".git"),
            field.work().join("sub/.git"),
        ];
        let mut guard = Self {
            tops,
            passed_over: vec![field.work(), stores, field.kept(), copies(field)],
            seen: BTreeMap::new(),
        };
        guard.seen = guard.look();
        guard
    }

    /// # Errors
    /// Names what was touched.
    pub fn check(&self) -> Result<(), String> {
        let now = self.look();
        if now == self.seen {
            return Ok(());
        }
        let changed = self
            .seen
            .iter()
            .filter(|(path, seen)| now.get(*path) != Some(seen))
            .map(|(path, _)| path);
        let added = now.keys().filter(|path| !self.seen.contains_key(*path));
        let names: Vec<String> = changed
            .chain(added)
            .map(|path| path.display().to_string())
            .collect();
        Err(format!("touched outside: {}", names.join(", ")))
    }

    fn look(&self) -> BTreeMap<PathBuf, Seen> {
        let mut seen = BTreeMap::new();
        self.tops
            .iter()
            .for_each(|top| look(top, &self.passed_over, &mut seen));
        seen
    }
}

/// The folder in which a test has copies of checkpoints written, as `copies/out`.
pub fn copies(field: &Field) -> PathBuf {
    field.top().join("copies")
}

/// Fails if the folder of copies contains anything but `out`.
pub fn check_copies(field: &Field) -> Result<(), String> {
    let mut names = std::fs::read_dir(copies(field))
        .expect("it is there")
        .map(|entry| entry.expect("a name").file_name());
    match names.find(|name| name != "out") {
        Some(name) => Err(format!("written beside the copy: {}", name.display())),
        None => Ok(()),
    }
}

/// Everything below a root, its `.git` included, to check that a refusal changed nothing.
pub struct Picture(PathBuf, BTreeMap<PathBuf, Seen>);

impl Picture {
    pub fn of(root: PathBuf) -> Self {
        let mut seen = BTreeMap::new();
        look(&root, &[], &mut seen);
        Self(root, seen)
    }

    /// # Errors
    /// The number of paths that differ.
    pub fn check(&self) -> Result<(), String> {
        let Self(_, now) = Self::of(self.0.clone());
        let differ = |path: &&PathBuf| now.get(*path) != self.1.get(*path);
        let mut paths = self.1.keys().chain(now.keys()).filter(differ);
        paths.next().map_or(Ok(()), |path| {
            Err(format!("{} was changed", path.display()))
        })
    }
}

fn look(top: &Path, passed_over: &[PathBuf], seen: &mut BTreeMap<PathBuf, Seen>) {
    let mut open = vec![top.to_path_buf()];
    while let Some(path) = open.pop() {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if passed_over.contains(&path) {
            continue;
        }
        let bytes = if meta.is_symlink() {
            std::fs::read_link(&path)
                .ok()
                .map(|text| text.into_os_string().into_encoded_bytes())
        } else if meta.is_file() {
            std::fs::read(&path).ok()
        } else {
            open.extend(
                std::fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path()),
            );
            None
        };
        let (mtime, ctime) = (
            (meta.mtime(), meta.mtime_nsec()),
            (meta.ctime(), meta.ctime_nsec()),
        );
        seen.insert(
            path,
            Seen {
                mode: meta.mode(),
                inode: meta.ino(),
                links: meta.nlink(),
                mtime,
                ctime,
                bytes,
            },
        );
    }
}
