//! Entries of a directory as a listing or a stat reports them.

use crate::model::state::entry::{FILE_BITS, SYMLINK_BITS, TYPE_BITS};
use crate::model::{Name, Stat};

pub const DIR_BITS: u32 = 0o040_000;

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

/// Sorts a listing by name. A name listed twice, as happens when it is replaced meanwhile, is kept
/// once with kind `Unknown`.
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
    /// Only to reach its entries; needs no permission to list it where that differs.
    Search,
}

/// Who may change an entry, and what keeps everybody from it; where a system does not tell, nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rights {
    pub stat: Stat,
    /// Whether this user counts as its owner.
    pub is_owned: bool,
    /// Nothing of it can be changed, or it can only be added to.
    pub is_frozen: bool,
    /// Another file or directory is mounted on it.
    pub is_mounted: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_listed_twice_is_kept_once_and_asked_for_its_kind() {
        let item = |name: &[u8], kind| Item {
            name: name.into(),
            kind,
        };
        let (file, dir) = (ItemKind::File, ItemKind::Dir);
        let mut items = vec![
            item(b"d", dir),
            item(b"b", file),
            item(b"d", file),
            item(b"a", dir),
        ];
        sort_items(&mut items);
        assert_eq!(
            items,
            [
                item(b"a", dir),
                item(b"b", file),
                item(b"d", ItemKind::Unknown)
            ]
        );
    }
}
