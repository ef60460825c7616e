//! System calls on the working directory, one interface for all platforms: all go through a [`Dir`]
//! and follow no symlink.
//!
//! `unix` works by descriptor. `portable` works by path, for systems without directory descriptors;
//! built with `--cfg checkpoint_portable` it can be tested anywhere. Its header lists its limits.

mod item;
#[cfg(any(not(unix), checkpoint_portable))]
mod portable;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix;

use std::io;

use crate::model::Stat;

pub use item::{Access, Item, ItemKind, Rights, is_same_place, kind_of, sort_items};

#[cfg(not(unix))]
pub use portable::identity;
#[cfg(any(not(unix), checkpoint_portable))]
pub use portable::{
    Dir, coarse_now_ns, fine_now_ns, is_exhausted, is_symlink_error, set_file_mode, stat_file,
    stat_path,
};
#[cfg(all(unix, not(checkpoint_portable)))]
pub use unix::{
    Dir, coarse_now_ns, fine_now_ns, is_exhausted, is_symlink_error, set_file_mode, stat_file,
    stat_path,
};

/// Returns the number of the user who owns a path, zero for the superuser.
#[cfg(unix)]
pub fn owner(path: &std::path::Path) -> Option<u32> {
    let found = path.symlink_metadata().ok()?;
    Some(std::os::unix::fs::MetadataExt::uid(&found))
}

#[cfg(not(unix))]
pub fn owner(_path: &std::path::Path) -> Option<u32> {
    None
}

/// Returns what is mounted at a directory and below it, as the kernel lists it; `None` if it does not.
pub fn mounts_below(dir: &std::path::Path) -> Option<Vec<String>> {
    let dir = dir.to_string_lossy();
    let plain = |place: &str| {
        let escapes = [
            ("\\040", " "),
            ("\\011", "\t"),
            ("\\012", "\n"),
            ("\\134", "\\"),
        ];
        let unescape = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
        escapes.iter().fold(place.to_owned(), unescape)
    };
    let all = std::fs::read("/proc/self/mountinfo").ok()?;
    let all = String::from_utf8_lossy(&all);
    let is_below = |line: &&str| {
        let place = line.split(' ').nth(4).map(plain);
        place.is_some_and(|place| place.starts_with(&*dir))
    };
    Some(all.lines().filter(is_below).map(str::to_owned).collect())
}

/// Returns the stat of an entry with the number of its links, which Windows tells of open files.
pub fn stat_with_links(dir: &Dir, name: &[u8]) -> io::Result<Stat> {
    let stat = dir.stat_child(name)?;
    if cfg!(windows) && kind_of(&stat) == ItemKind::File {
        return Ok(dir.open_file(name)?.1);
    }
    Ok(stat)
}

/// Suffix of the temporary name used while two names are exchanged by renames.
pub const SWAP_SUFFIX: &[u8] = b".swap";

/// Exchanges two names by three renames, for systems and file systems that have no call for it.
///
/// Not atomic: `theirs` is missing for a moment. A process killed then leaves the old `theirs` in
/// `our_dir`, named `our` plus `.swap`.
pub fn exchange_by_renames(
    our_dir: &Dir,
    our: &[u8],
    their_dir: &Dir,
    theirs: &[u8],
) -> io::Result<()> {
    let aside = [our, SWAP_SUFFIX].concat();
    their_dir.rename_no_replace(theirs, our_dir, &aside)?;
    if let Err(error) = our_dir.rename_no_replace(our, their_dir, theirs) {
        our_dir.rename_no_replace(&aside, their_dir, theirs)?;
        return Err(error);
    }
    our_dir.rename_no_replace(&aside, our_dir, our)
}

/// Returns the message of an I/O error without the OS error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// The failure of a call on what is of another kind, or has another name, than it takes.
pub fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Whether the path does not exist: the name is missing, or a component is no directory.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || is_symlink_error(error)
}

#[cfg(test)]
mod tests;
