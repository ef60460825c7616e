//! Whether a directory is a store and safe to use: owned by the user, nothing planted, no
//! unexpected file types.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{FileType, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::manifest;
use crate::store::files::{atomic_file, read_regular};
use crate::store::refs::ref_files;
use crate::store::{Family, Layout};

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
        return Err(wrong_kind(layout, "", found.file_type(), "directory"));
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
        return Err(wrong_kind(layout, "", dir.file_type(), "directory"));
    }
    check_owner(layout.dir(), &dir)?;
    let parts = Parts::list(layout)?;
    for name in PLANTED {
        if parts.kind(name)?.is_some() {
            return Err(refuse(format!("{name} was planted in it")));
        }
    }
    if parts.kind("objects")?.is_none() && has_no_record(layout) {
        let why = "its objects are missing, and neither refs nor a manifest tell which they were"
            .to_owned();
        return Err(Error::store_unusable(layout.dir(), why));
    }
    let unusable = parts.of_a_wrong_kind()?;
    let wrong = unusable.iter();
    let mut wrong = wrong.map(|(name, found, wanted)| wrong_kind(layout, name, *found, wanted));
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

/// What lies in one folder, by name.
type Listing = BTreeMap<OsString, FileType>;

/// The types of what lies in a store. The two folders with most of it are listed, which takes less
/// time than a look at each name.
struct Parts<'l> {
    layout: &'l Layout,
    top: Listing,
    own: Listing,
}

impl<'l> Parts<'l> {
    fn list(layout: &'l Layout) -> Result<Self> {
        let list = |dir: &Path| match listing(dir) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Listing::new())
            }
            listed => listed.map_err(Error::io("list", dir)),
        };
        Ok(Self {
            layout,
            top: list(layout.dir())?,
            own: list(&layout.own())?,
        })
    }

    fn kind(&self, name: &str) -> Result<Option<FileType>> {
        let listed = |listing: &Listing, name| Ok(listing.get(OsStr::new(name)).copied());
        match name.rsplit_once('/') {
            None => listed(&self.top, name),
            Some(("checkpoint", name)) => listed(&self.own, name),
            Some(_) => Ok(lstat(&self.layout.below(name))?.map(|found| found.file_type())),
        }
    }

    /// Returns names of the wrong type: not a directory, or not a regular file.
    fn of_a_wrong_kind(&self) -> Result<Vec<(&'static str, FileType, &'static str)>> {
        let mut wrong = Vec::new();
        for name in Layout::DIRECTORIES {
            let found = self.kind(name)?.filter(|found| !found.is_dir());
            wrong.extend(found.map(|found| (name, found, "directory")));
        }
        for name in Layout::FILES {
            let found = self.kind(name)?.filter(|found| !found.is_file());
            let found = found.filter(|found| !is_put_right(self.layout, name, *found));
            wrong.extend(found.map(|found| (*name, found, "plain file")));
        }
        Ok(wrong)
    }
}

fn listing(dir: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type() {
            Err(gone) if gone.kind() == ErrorKind::NotFound => {}
            kind => drop(listing.insert(entry.file_name(), kind?)),
        }
    }
    Ok(listing)
}

/// Removes a link in the place of a cache: nothing that it leads to is needed.
fn is_put_right(layout: &Layout, name: &str, found: FileType) -> bool {
    let path = layout.below(name);
    let is_cache = || layout.caches().contains(&path);
    found.is_symlink() && is_cache() && atomic_file::remove_if_there(&path).is_ok()
}

/// Classifies a wrong file type: a link in the place of a directory may lead to another user's files
/// and is an attack. Anything else is damage: no link is followed to a file.
fn wrong_kind(layout: &Layout, name: &str, found: FileType, wanted: &str) -> Error {
    let named = if name.is_empty() { "it" } else { name };
    let why = format!("{named} is no {wanted}");
    if found.is_symlink() && wanted == "directory" {
        let why = format!("{named} is a symbolic link, and no link is followed in a store");
        return Error::hostile_store(layout.dir(), why);
    }
    let unusable = Error::store_unusable(layout.dir(), why);
    if layout.below(name) == layout.exclusion_list() {
        unusable.advise("'checkpoint verify --repair' keeps all that can be read")
    } else {
        unusable
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
