//! Whether a directory is a store and safe to use: owned by the user, nothing planted, no
//! unexpected file types.

use std::collections::BTreeMap;
use std::fs::{FileType, Metadata, ReadDir};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::manifest;
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;
use crate::store::refs::ref_files::{self, Family};

/// Files that would redirect git, or us, elsewhere.
const PLANTED: [&str; 7] = [
    "commondir",
    "gitdir",
    "shallow",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "refs/replace",
];

/// Whether any part of a store exists. A half-made one counts: it will be completed.
///
/// # Errors
/// The path is not a directory.
pub fn is_store(layout: &Layout) -> Result<bool> {
    if let Some(found) = lstat(layout.dir())?.filter(|found| !found.is_dir()) {
        return Err(wrong_kind(
            layout,
            layout.dir(),
            found.file_type(),
            "directory",
        ));
    }
    for path in [
        layout.own(),
        layout.head(),
        layout.refs(),
        layout.objects(),
        layout.manifest(),
    ] {
        if lstat(&path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a store that another user owns, that leads elsewhere, or in which a file or directory
/// has another type and could block a read. Goes by metadata; reads the manifest only if the
/// objects are missing.
pub fn check(layout: &Layout) -> Result<()> {
    let refuse = |why: String| Error::hostile_store(layout.dir(), why);
    let Some(dir) = lstat(layout.dir())? else {
        return Ok(());
    };
    if !dir.is_dir() {
        return Err(wrong_kind(
            layout,
            layout.dir(),
            dir.file_type(),
            "directory",
        ));
    }
    check_owner(layout.dir(), &dir)?;
    let parts = Parts::list(layout)?;
    for name in PLANTED {
        if parts.kind(&layout.dir().join(name))?.is_some() {
            return Err(refuse(format!("{name} was planted in it")));
        }
    }
    if parts.kind(&layout.objects())?.is_none() && has_no_record(layout) {
        let why = "its objects are missing, and neither refs nor a manifest tell which they were"
            .to_owned();
        return Err(Error::store_unusable(layout.dir(), why));
    }
    let unusable = parts.of_a_wrong_kind()?;
    let wrong = unusable.iter();
    let mut wrong = wrong.map(|(path, found, wanted)| wrong_kind(layout, path, *found, wanted));
    let is_attack = |error: &Error| error.code == Code::HOSTILE_STORE;
    wrong
        .clone()
        .find(is_attack)
        .or(wrong.next())
        .map_or(Ok(()), Err)
}

/// Whether nothing tells which checkpoints existed, not even that there were none.
fn has_no_record(layout: &Layout) -> bool {
    let manifest = read_regular::read(&layout.manifest()).unwrap_or_default();
    let has_refs =
        || ref_files::names(layout, Family::Checkpoints).is_ok_and(|names| !names.is_empty());
    !manifest::is_readable(&manifest) && !has_refs()
}

/// The types of what lies in a store. The two folders with most of it are listed, which takes less
/// time than a look at each name.
struct Parts<'l> {
    layout: &'l Layout,
    folders: [PathBuf; 2],
    listed: BTreeMap<PathBuf, FileType>,
}

impl<'l> Parts<'l> {
    fn list(layout: &'l Layout) -> Result<Self> {
        let folders = [layout.dir().to_path_buf(), layout.own()];
        let mut listed = BTreeMap::new();
        for folder in &folders {
            match std::fs::read_dir(folder).and_then(|entries| kinds(entries, &mut listed)) {
                Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Err(Error::io("list", folder)(e));
                }
                _ => {}
            }
        }
        Ok(Self {
            layout,
            folders,
            listed,
        })
    }

    fn kind(&self, path: &Path) -> Result<Option<FileType>> {
        if self
            .folders
            .iter()
            .any(|folder| path.parent() == Some(folder))
        {
            return Ok(self.listed.get(path).copied());
        }
        Ok(lstat(path)?.map(|found| found.file_type()))
    }

    /// Returns paths of the wrong type: not a directory, or not a regular file.
    fn of_a_wrong_kind(&self) -> Result<Vec<(PathBuf, FileType, &'static str)>> {
        let mut wrong = Vec::new();
        for path in self.layout.directories().into_iter().skip(1) {
            let found = self.kind(&path)?.filter(|found| !found.is_dir());
            wrong.extend(found.map(|found| (path, found, "directory")));
        }
        for path in self.layout.files() {
            let found = self
                .kind(&path)?
                .filter(|found| !found.is_file() && !is_put_right(self.layout, &path, *found));
            wrong.extend(found.map(|found| (path, found, "plain file")));
        }
        Ok(wrong)
    }
}

fn kinds(entries: ReadDir, listed: &mut BTreeMap<PathBuf, FileType>) -> std::io::Result<()> {
    for entry in entries {
        let entry = entry?;
        match entry.file_type() {
            Err(gone) if gone.kind() == ErrorKind::NotFound => {}
            kind => drop(listed.insert(entry.path(), kind?)),
        }
    }
    Ok(())
}

/// Removes a link in the place of a cache: nothing that it leads to is needed.
fn is_put_right(layout: &Layout, path: &Path, found: FileType) -> bool {
    let is_cache = || layout.caches().iter().any(|cache| cache == path);
    found.is_symlink() && is_cache() && atomic_file::remove_if_there(path).is_ok()
}

/// Classifies a wrong file type: a link in the place of a directory may lead to another user's files
/// and is an attack. Anything else is damage: no link is followed to a file.
fn wrong_kind(layout: &Layout, path: &Path, found: FileType, wanted: &str) -> Error {
    let inside = layout.name_of(path).unwrap_or_else(|| path.to_path_buf());
    let named = if inside.as_os_str().is_empty() {
        "it".to_owned()
    } else {
        inside.display().to_string()
    };
    let (store, why) = (
        layout.dir().to_path_buf(),
        format!("{named} is no {wanted}"),
    );
    if found.is_symlink() && wanted == "directory" {
        let why = format!("{named} is a symbolic link, and no link is followed in a store");
        Error::hostile_store(&store, why)
    } else if path == layout.exclusion_list() {
        Error::store_unusable(&store, why)
            .advise("'checkpoint verify --repair' keeps all that can be read")
    } else {
        Error::store_unusable(&store, why)
    }
}

/// Whether a path exists; if so, it is a directory of this user.
///
/// # Errors
/// The path is of another type or owned by another user.
pub fn is_own_directory(dir: &Path) -> Result<bool> {
    let Some(found) = lstat(dir)? else {
        return Ok(false);
    };
    if !found.is_dir() {
        return Err(Error::hostile_store(dir, "it is not a directory"));
    }
    check_owner(dir, &found)?;
    Ok(true)
}

#[cfg(unix)]
fn check_owner(dir: &Path, found: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        let why = format!(
            "it belongs to user {}, and this process runs as user {me}",
            found.uid()
        );
        return Err(Error::hostile_store(dir, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_dir: &Path, _found: &Metadata) -> Result<()> {
    Ok(())
}

fn lstat(path: &Path) -> Result<Option<Metadata>> {
    read_regular::lstat(path).map_err(Error::io("look at", path))
}
