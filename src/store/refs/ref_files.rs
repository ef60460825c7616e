//! Refs as files: the name of a ref under `refs/checkpoints` is itself the commit, so a torn file
//! loses nothing.
//!
//! They are not read and written through libgit2, which skips a damaged ref in silence and sees
//! none at all after one bad line in `packed-refs`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::random_name::random_hex;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::{Layout, ObjectIds, Objects, TemporaryFile};

/// Longest file name, in bytes, that every common file system accepts.
const LONGEST_NAME_BYTES: usize = 255;

/// Families of refs, each in a folder of its name; the last component is the id of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Family {
    Checkpoints,
    Meta,
    Pins,
    /// A commit that another program put on `main`, kept until it is adopted.
    Foreign,
}

/// Blanks that git too ignores at the end of a ref.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The content of a ref file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefValue {
    Id(ObjectId),
    /// Empty, cut or garbage.
    Torn,
}

impl RefValue {
    pub fn id(&self) -> Option<ObjectId> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Torn => None,
        }
    }
}

/// Reads one family: the value of each ref by the id in its name. Other files are not ours.
pub fn read_family(layout: &Layout, family: Family) -> Result<BTreeMap<ObjectId, RefValue>> {
    let mut found = BTreeMap::new();
    for id in loose_names(layout, family)? {
        let value = read_file(&path(layout, family, id))?;
        found.extend(value.map(|value| (id, value)));
    }
    each_packed(layout, &beginning(family), &mut |_, rest, value| {
        let value = ObjectId::from_hex(value).map(RefValue::Id);
        if let Some((id, value)) = ObjectId::from_hex(rest).zip(value) {
            found.entry(id).or_insert(value);
        }
    })?;
    Ok(found)
}

fn beginning(family: Family) -> String {
    format!("refs/{}/", family.into_str())
}

/// The ids in the names of one family, for callers that need no values. Opens no ref file.
///
/// # Errors
/// The directory cannot be listed.
pub fn names(layout: &Layout, family: Family) -> Result<ObjectIds> {
    // Files come first: git removes them only once they are packed.
    let mut found = loose_names(layout, family)?;
    each_packed(layout, &beginning(family), &mut |_, rest, _| {
        found.extend(ObjectId::from_hex(rest));
    })?;
    Ok(found)
}

fn loose_names(layout: &Layout, family: Family) -> Result<ObjectIds> {
    let files = list(&layout.refs().join(family.into_str()))?;
    let id = |entry: &std::fs::DirEntry| ObjectId::from_hex(entry.file_name().to_str()?);
    let ids: Vec<ObjectId> = files.iter().filter_map(id).collect();
    Ok(ids.into_iter().collect())
}

/// The branch that HEAD points to.
pub const MAIN: &str = "refs/heads/main";

/// Refs that keep lines of unadopted commits alive: branches, and those that an earlier writer set
/// aside. By name, relative to the store; refs without a value are skipped.
pub fn tips(layout: &Layout) -> Result<BTreeMap<String, ObjectId>> {
    const FOLDERS: [&str; 2] = ["refs/heads", "refs/foreign"];
    let mut tips = BTreeMap::new();
    for folder in FOLDERS {
        tips.append(&mut packed(layout, &format!("{folder}/"))?);
    }
    let mut folders = FOLDERS.map(str::to_owned).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in list(&layout.dir().join(&folder))? {
            let Some(name) = entry
                .file_name()
                .to_str()
                .map(|name| format!("{folder}/{name}"))
            else {
                continue;
            };
            let kind = entry
                .file_type()
                .map_err(Error::io("stat", &entry.path()))?;
            if kind.is_dir() {
                folders.push(name);
            } else if let (true, Some(RefValue::Id(id))) =
                (kind.is_file(), read_file(&entry.path())?)
            {
                tips.insert(name, id);
            }
        }
    }
    tips.extend(detached_head(layout)?.map(|id| ("HEAD".to_owned(), id)));
    Ok(tips)
}

/// The commit of a detached HEAD.
pub fn detached_head(layout: &Layout) -> Result<Option<ObjectId>> {
    match read_file(&layout.head())? {
        Some(RefValue::Id(id)) => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// The commit that `main` names, if any.
pub fn read_main(layout: &Layout) -> Result<Option<ObjectId>> {
    let loose = read_file(&layout.main())?;
    if let Some(RefValue::Id(id)) = loose {
        return Ok(Some(id));
    }
    Ok(packed(layout, MAIN)?.get(MAIN).copied())
}

/// Writes a ref under a temporary name, to be flushed with its packs.
pub fn stage(layout: &Layout, id: ObjectId) -> Result<TemporaryFile> {
    atomic_file::write_temporary(&layout.own(), format!("{id}\n").as_bytes())
}

/// Renames a staged and flushed ref into place, durably. From then on the checkpoint exists.
pub fn publish_checkpoint(layout: &Layout, id: ObjectId, staged: TemporaryFile) -> Result<()> {
    let folder = layout.refs().join(Family::Checkpoints.into_str());
    directories::create_private(&folder)?;
    atomic_file::put_in_place(
        staged,
        &layout.own(),
        &path(layout, Family::Checkpoints, id),
    )?;
    atomic_file::sync_directory(&folder)
}

/// Writes the meta ref of a new checkpoint under a temporary name.
pub fn stage_meta(layout: &Layout, value: ObjectId) -> Result<TemporaryFile> {
    directories::create_private(&layout.refs().join(Family::Meta.into_str()))?;
    atomic_file::write_temporary(&layout.own(), format!("{value}\n").as_bytes())
}

/// Renames a staged meta ref into place. The commit names the meta too, so the ref may be lost in a
/// power cut.
pub fn publish_meta(layout: &Layout, name: ObjectId, staged: TemporaryFile) -> Result<()> {
    atomic_file::put_in_place(staged, &layout.own(), &path(layout, Family::Meta, name))
}

pub fn write(layout: &Layout, family: Family, name: ObjectId, value: ObjectId) -> Result<()> {
    directories::create_private(&layout.refs().join(family.into_str()))?;
    atomic_file::replace_through(
        &layout.own(),
        &path(layout, family, name),
        format!("{value}\n").as_bytes(),
    )
}

/// Points `main` at a commit. On a full disk it is overwritten in place: it is derived, and its
/// length is the same.
pub fn write_main(layout: &Layout, commit: ObjectId) -> Result<()> {
    let text = format!("{commit}\n");
    match atomic_file::replace_derived(&layout.own(), &layout.main(), text.as_bytes()) {
        Err(error) if error.is_full() => atomic_file::shrink(&layout.main(), text.as_bytes()),
        written => written,
    }
}

/// Writes a foreign ref by its full name, which is below `refs/` and has only plain components.
pub fn write_named(layout: &Layout, name: &str, value: ObjectId) -> Result<()> {
    let path = match layout.dir().join(name) {
        folder if layout.directories().contains(&folder) => out_of_the_way(layout),
        path => path,
    };
    directories::create_private(path.parent().unwrap_or(layout.dir()))?;
    atomic_file::replace_through(&layout.own(), &path, format!("{value}\n").as_bytes())
}

/// A new path for a ref that is in the way of one of our folders.
pub(in crate::store) fn out_of_the_way(layout: &Layout) -> PathBuf {
    layout.refs().join(format!("in-the-way-{}", random_hex()))
}

/// Leaves `main` unborn, as in an empty store.
pub fn remove_main(layout: &Layout) -> Result<()> {
    if atomic_file::remove_if_there(&layout.main())? {
        atomic_file::sync_directory(&layout.refs().join("heads"))?;
    }
    Ok(())
}

/// Whether a checkpoint, readable or not, is pinned.
pub fn is_pinned(layout: &Layout, checkpoint: ObjectId) -> Result<bool> {
    Ok(names(layout, Family::Pins)?.contains(&checkpoint))
}

/// Removes refs, packed or not; missing ones are no error.
pub fn remove(layout: &Layout, gone: &[(Family, ObjectId)]) -> Result<()> {
    let _lock = PackedRefsLock::wait(layout)?;
    for (family, id) in gone {
        atomic_file::remove_if_there(&path(layout, *family, *id))?;
    }
    let names = gone
        .iter()
        .map(|(family, id)| format!("refs/{}/{id}", family.into_str()));
    remove_lines(layout, &names.collect()).map(drop)
}

/// Removes refs from `packed-refs` by their full names; returns whether any was there.
pub fn remove_packed(layout: &Layout, names: &BTreeSet<String>) -> Result<bool> {
    let _lock = PackedRefsLock::wait(layout)?;
    remove_lines(layout, names)
}

fn remove_lines(layout: &Layout, names: &BTreeSet<String>) -> Result<bool> {
    if names.is_empty() || !layout.packed_refs().exists() {
        return Ok(false);
    }
    let mut left = packed(layout, "")?;
    let before = left.len();
    left.retain(|name, _| !names.contains(name));
    let is_found = left.len() < before;
    if is_found {
        write_packed(layout, &left)?;
    }
    Ok(is_found)
}

fn write_packed(layout: &Layout, refs: &BTreeMap<String, ObjectId>) -> Result<()> {
    if refs.is_empty() {
        return atomic_file::remove_if_there(&layout.packed_refs()).map(drop);
    }
    let lines = refs.iter().map(|(name, id)| format!("{id} {name}\n"));
    let text: String = lines.collect();
    let path = layout.packed_refs();
    match atomic_file::replace_through(&layout.own(), &path, text.as_bytes()) {
        // A line that a cut garbles is that of a ref whose row brings it back.
        Err(error) if error.is_full() => atomic_file::shrink(&path, text.as_bytes()),
        written => written,
    }
}

/// Makes the removal of refs, packed or not, durable.
pub fn sync(layout: &Layout) -> Result<()> {
    for family in [Family::Checkpoints, Family::Meta, Family::Pins] {
        atomic_file::sync_directory(&layout.refs().join(family.into_str()))?;
    }
    atomic_file::sync_directory(layout.dir())
}

/// Unpacks `packed-refs`, which the user's own `git gc` may have left, into one file per ref. Refs of
/// checkpoints whose commit is missing stay: as files, a million would take minutes.
pub fn unpack(layout: &Layout, objects: &Objects) -> Result<()> {
    if !layout.packed_refs().exists() {
        return Ok(());
    }
    let _lock = PackedRefsLock::wait(layout)?;
    let families = [Family::Checkpoints, Family::Meta, Family::Pins].map(beginning);
    let is_ours = |name: &str| families.iter().any(|family| name.starts_with(family));
    // A file beside its line is one that git, having packed it, is about to remove.
    let has_file = |name: &str| {
        !name.starts_with("refs/heads/") && layout.dir().join(name).symlink_metadata().is_ok()
    };
    let (staying, live): (BTreeMap<_, _>, BTreeMap<_, _>) = packed(layout, "")?
        .into_iter()
        .partition(|(name, id)| is_ours(name) && !objects.holds(id) || has_file(name));
    if live.is_empty() && !staying.is_empty() {
        return Ok(());
    }
    for (name, id) in live {
        let path = layout.dir().join(&name);
        if !path.exists() {
            let parent = path.parent().unwrap_or(layout.dir());
            directories::create_private(parent)?;
            let text = format!("{id}\n");
            // The names of ours tell their content, and are flushed together.
            if is_ours(&name) {
                atomic_file::replace_derived(&layout.own(), &path, text.as_bytes())?;
            } else {
                atomic_file::replace_through(&layout.own(), &path, text.as_bytes())?;
            }
        }
    }
    sync(layout)?;
    write_packed(layout, &staying)
}

/// The values of all refs except those named after a commit in `gone`, and of a detached HEAD: the
/// roots of live objects.
///
/// # Errors
/// A foreign ref cannot be read; then nothing may be dropped.
pub fn roots(layout: &Layout, gone: &ObjectIds) -> Result<Vec<ObjectId>> {
    let is_gone = |name: &str| {
        name.rsplit('/')
            .next()
            .and_then(ObjectId::from_hex)
            .is_some_and(|id| gone.contains(&id))
    };
    let kept = packed(layout, "")?
        .into_iter()
        .filter(|(name, _)| !is_gone(name));
    let mut roots: Vec<ObjectId> = kept.map(|(_, id)| id).collect();
    roots.extend(detached_head(layout)?);
    for path in files_below_refs(layout)? {
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(is_gone) {
            roots.extend(root_of(&path)?);
        }
    }
    Ok(roots)
}

/// Files under `refs/` without a valid value whose name does not tell it either.
///
/// # Errors
/// A directory cannot be listed.
pub fn unreadable(layout: &Layout) -> Result<Vec<PathBuf>> {
    let mut files = files_below_refs(layout)?;
    files.retain(|path| root_of(path).is_err());
    Ok(files)
}

pub(in crate::store) fn files_below_refs(layout: &Layout) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![layout.refs()]);
    while let Some(folder) = folders.pop() {
        for entry in list(&folder)? {
            // No ref is called so: it is what a git that was killed left.
            if entry.file_name().as_encoded_bytes().ends_with(b".lock") {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let found = if is_folder { &mut folders } else { &mut files };
            found.push(entry.path());
        }
    }
    Ok(files)
}

/// The value of a ref file, which the name of a torn one may tell; `None` if it keeps nothing alive.
///
/// # Errors
/// It is torn, or cannot be read.
pub(in crate::store) fn root_of(path: &Path) -> Result<Option<ObjectId>> {
    let by_name = || {
        path.file_name()
            .and_then(|name| ObjectId::from_hex(name.to_str()?))
    };
    match read_file(path)? {
        Some(RefValue::Id(id)) => Ok(Some(id)),
        Some(RefValue::Torn) if by_name().is_some() => Ok(by_name()),
        Some(RefValue::Torn) if path.ends_with(MAIN) => Ok(None),
        Some(RefValue::Torn) => Err(Error::damaged(
            format!("ref {}", path.display()),
            "it names no object",
        )),
        None => Ok(None),
    }
}

pub(in crate::store) fn list(folder: &Path) -> Result<Vec<std::fs::DirEntry>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .collect::<std::io::Result<_>>()
            .map_err(Error::io("read", folder)),
        // A file in place of a folder has no refs below it.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(e) => Err(Error::io("read", folder)(e)),
    }
}

/// The path of a ref.
pub fn path(layout: &Layout, family: Family, name: ObjectId) -> PathBuf {
    layout.refs().join(family.into_str()).join(name.to_hex())
}

/// Reads a ref file; `None` if there is none.
pub(in crate::store) fn read_file(path: &Path) -> Result<Option<RefValue>> {
    let bytes = match read_regular::read(path) {
        Ok(bytes) => bytes,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) if e.kind() == ErrorKind::InvalidData => return Ok(Some(RefValue::Torn)),
        Err(e) => return Err(Error::io("read", path)(e)),
    };
    let id = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| ObjectId::from_hex(text.trim_end_matches(BLANKS)));
    Ok(Some(id.map_or(RefValue::Torn, RefValue::Id)))
}

/// The refs in `packed-refs` whose names start with `beginning`, by name. Skips invalid lines.
pub fn packed(layout: &Layout, beginning: &str) -> Result<BTreeMap<String, ObjectId>> {
    let mut refs = BTreeMap::new();
    each_packed(layout, beginning, &mut |name, _, id| {
        refs.extend(ObjectId::from_hex(id).map(|id| (name.to_owned(), id)));
    })?;
    Ok(refs)
}

/// The refs in a text like `packed-refs`, by name. Skips invalid lines.
pub fn named_in(text: &str) -> BTreeMap<String, ObjectId> {
    let mut refs = BTreeMap::new();
    each_line(text, "", &mut |name, _, id| {
        refs.extend(ObjectId::from_hex(id).map(|id| (name.to_owned(), id)));
    });
    refs
}

/// Calls `see` with the name, the rest of it after `beginning`, and the value of each.
fn each_packed(
    layout: &Layout,
    beginning: &str,
    see: &mut dyn FnMut(&str, &str, &str),
) -> Result<()> {
    let path = layout.packed_refs();
    let bytes = match read_regular::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if is_no_file(&e) => return Ok(()),
        Err(e) => return Err(Error::io("read", &path)(e)),
    };
    each_line(&String::from_utf8_lossy(&bytes), beginning, see);
    Ok(())
}

fn each_line(text: &str, beginning: &str, see: &mut dyn FnMut(&str, &str, &str)) {
    for line in text.lines() {
        let Some((id, name)) = line.split_once(' ') else {
            continue;
        };
        let Some(rest) = name.strip_prefix(beginning) else {
            continue;
        };
        if name.starts_with("refs/") && name.split('/').all(can_be_a_file) {
            see(name, rest, id);
        }
    }
}

/// Whether there is no file to read, but perhaps something in its place.
fn is_no_file(cause: &std::io::Error) -> bool {
    matches!(
        cause.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidData
    )
}

/// Whether a part of a ref's name is valid as a file name. Git forbids control characters too.
fn can_be_a_file(part: &str) -> bool {
    !matches!(part, "" | "." | "..")
        && part.len() <= LONGEST_NAME_BYTES
        && !part.chars().any(char::is_control)
}

/// Whether a checkpoint has a ref.
pub fn exists(layout: &Layout, checkpoint: ObjectId) -> bool {
    path(layout, Family::Checkpoints, checkpoint).exists()
        || packed(layout, &format!("refs/checkpoints/{checkpoint}"))
            .is_ok_and(|refs| !refs.is_empty())
}

/// What tells our lock from git's.
const LOCK_CONTENT: &[u8] = b"checkpoint\n";

/// How often and how long to wait for git, which writes the file in milliseconds.
const WAITS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock, while this process holds it.
pub struct PackedRefsLock(PathBuf);

/// Removes the lock on `packed-refs` that a killed process of ours left.
///
/// # Errors
/// The file cannot be removed.
pub fn sweep_lock(layout: &Layout) -> Result<()> {
    let path = layout.packed_refs_lock();
    if read_regular::read(&path).is_ok_and(|content| content == LOCK_CONTENT) {
        atomic_file::remove_if_there(&path)?;
    }
    Ok(())
}

impl PackedRefsLock {
    /// Waits for git to finish writing the file; after that its lock is one that a killed git left.
    /// `None` also on a full disk, or if the file system has no hard links, by which the lock is made
    /// with its content.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn wait(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.packed_refs_lock();
        let is_wanted = layout.packed_refs().exists() || path.exists();
        for _ in 0..if is_wanted { WAITS } else { 0 } {
            let content = match atomic_file::write_temporary(&layout.own(), LOCK_CONTENT) {
                Err(error) if error.is_full() => break,
                written => written?,
            };
            if std::fs::hard_link(content.path(), &path).is_ok() {
                return Ok(Some(Self(path)));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }
}

impl Drop for PackedRefsLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
