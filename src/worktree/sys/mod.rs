//! System calls on the working directory, one interface for all platforms: all go through a [`Dir`] and follow no
//! symlink.
//!
//! `unix` works by descriptor. `portable` works by path, for systems without directory descriptors; built with `--cfg
//! checkpoint_portable` it can be tested anywhere. Its module comment lists its limits.

use std::io;

use crate::model::state::stat::{Name, SYMLINK_BITS, Stat, TYPE_BITS};

#[cfg(any(not(unix), checkpoint_portable))]
mod portable;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix;

#[cfg(any(not(unix), checkpoint_portable))]
pub use portable::{
    Dir, coarse_now_ns, fine_now_ns, is_exhausted, is_symlink_met, set_file_mode, stat_file, stat_path,
};
#[cfg(all(unix, not(checkpoint_portable)))]
pub use unix::{Dir, coarse_now_ns, fine_now_ns, is_exhausted, is_symlink_met, set_file_mode, stat_file, stat_path};

const DIR_BITS: u32 = 0o040_000;
const FILE_BITS: u32 = 0o100_000;

/// Suffix of the temporary name used while two names are exchanged by renames.
pub const SWAP_SUFFIX: &[u8] = b".swap";

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    File,
    Dir,
    Symlink,
    Fifo,
    Socket,
    Device,
    /// The directory listing did not report it; needs a stat.
    Unknown,
    /// The name has no byte form on this system and cannot be used.
    Unnameable,
}

/// One directory entry with the kind that the listing reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub name: Name,
    pub kind: ItemKind,
}

/// Sorts a listing by name. A name listed twice, as happens when it is replaced meanwhile, is kept once with kind
/// `Unknown`.
pub fn sort_items(items: &mut Vec<Item>) {
    items.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    items.dedup_by(|again, item| {
        let is_same = again.name == item.name;
        if is_same {
            item.kind = ItemKind::Unknown;
        }
        is_same
    });
}

/// Access with which a directory is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To list or sync it.
    Read,
    /// Only to reach its entries; needs no permission to list it where the system distinguishes the two.
    Search,
}

/// Whether both are the same file or directory, regardless of content.
pub fn is_same_place(one: &Stat, other: &Stat) -> bool {
    one.dev == other.dev && one.ino == other.ino
}

pub fn kind_of(stat: &Stat) -> ItemKind {
    match stat.mode & TYPE_BITS {
        FILE_BITS => ItemKind::File,
        DIR_BITS => ItemKind::Dir,
        SYMLINK_BITS => ItemKind::Symlink,
        0o010_000 => ItemKind::Fifo,
        0o140_000 => ItemKind::Socket,
        _ => ItemKind::Device,
    }
}

/// Returns the message of an I/O error without the OS error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Whether the path does not exist: the name is missing, or a component is no directory.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_symlink_met(error)
}

/// Exchanges two names by three renames, for systems and file systems that have no call for it.
///
/// Not atomic: `theirs` is missing for a moment. A process killed then leaves the old `theirs` in `our_dir`, named
/// `our` plus `.swap`.
fn exchange_by_renames(our_dir: &Dir, our: &[u8], their_dir: &Dir, theirs: &[u8]) -> io::Result<()> {
    let aside = [our, SWAP_SUFFIX].concat();
    their_dir.rename_no_replace(theirs, our_dir, &aside)?;
    if let Err(error) = our_dir.rename_no_replace(our, their_dir, theirs) {
        our_dir.rename_no_replace(&aside, their_dir, theirs)?;
        return Err(error);
    }
    our_dir.rename_no_replace(&aside, our_dir, our)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and break files directly")]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_number_and_starts_lower_case() {
        let error = io::Error::from_raw_os_error(2);
        assert!(!reason(&error).contains("os error"), "{}", reason(&error));
        assert!(reason(&error).starts_with(|c: char| c.is_lowercase()), "{}", reason(&error));
    }

    #[test]
    fn a_name_that_is_listed_twice_is_kept_once_and_asked_for_its_kind() {
        let item = |name: &[u8], kind| Item { name: name.into(), kind };
        let (file, dir) = (ItemKind::File, ItemKind::Dir);
        let mut items = vec![item(b"d", dir), item(b"b", file), item(b"d", file), item(b"a", dir)];
        sort_items(&mut items);
        assert_eq!(items, [item(b"a", dir), item(b"b", file), item(b"d", ItemKind::Unknown)]);
    }

    #[test]
    fn both_forms_of_a_rename_keep_what_stands_at_the_new_name() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), "1").unwrap();
        std::fs::write(temp.path().join("b"), "2").unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        let error = dir.rename_no_replace(b"a", &dir, b"b").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        dir.rename_exchange(b"a", &dir, b"b").unwrap();
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"2");
        exchange_by_renames(&dir, b"a", &dir, b"b").unwrap();
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"1");
        assert_eq!(dir.list().unwrap().len(), 2);
    }

    #[test]
    fn a_file_is_flushed_by_its_name_and_nothing_else_is() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("f"), "1").unwrap();
        std::fs::create_dir(temp.path().join("d")).unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        dir.sync_file(b"f").unwrap();
        assert_eq!(dir.sync_file(b"d").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(dir.sync_file(b"none").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_directory_is_opened_through_a_symlink() {
        #[cfg(unix)]
        {
            use crate::model::state::rel_path::RelPath;
            let temp = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(temp.path().join("real/in")).unwrap();
            std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
            let dir = Dir::open_root(temp.path()).unwrap();
            assert!(is_absent(&dir.open_child(b"link", Access::Read).unwrap_err()));
            for access in [Access::Read, Access::Search] {
                let path = RelPath::new(b"link/in").unwrap();
                assert!(is_absent(&dir.open_below(&path, access).unwrap_err()));
                assert!(dir.open_below(&RelPath::new(b"real/in").unwrap(), access).is_ok());
            }
        }
    }
}
