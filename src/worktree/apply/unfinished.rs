//! A directory that gets its final name only once its content is written and synced.

use std::io;

use crate::base::random_name::is_random_name;
use crate::error::{Error, Result};
use crate::model::state::entry::OWNER_RWX;
use crate::model::state::rel_path::RelPath;
use crate::worktree::files::private_dir::open_or_make;
use crate::worktree::sys::{Access, Dir, Item, ItemKind, kind_of};
use crate::worktree::tree_handle::WorkTree;

/// Prefix of the name of an unfinished directory; a random part follows.
const UNFINISHED_PREFIX: &str = ".unfinished-";

/// A directory that is being filled.
#[derive(Debug)]
pub struct Unfinished<'w> {
    holder: &'w WorkTree,
    name: RelPath,
    pub work: WorkTree,
}

impl<'w> Unfinished<'w> {
    /// Makes an unfinished directory in `holder` and removes leftovers of killed processes; the
    /// caller must be the only process that does so there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn begin(holder: &'w WorkTree, hex16: &str) -> Result<Self> {
        let items = holder
            .root()
            .list()
            .map_err(|error| holder.io("read", &RelPath::root(), error))?;
        for item in items
            .iter()
            .filter(|item| is_random_name(&item.name, UNFINISHED_PREFIX.as_bytes()))
        {
            // A leftover that cannot be removed does no harm.
            let _ = remove(holder.root(), &item.name);
        }
        let bytes = format!("{UNFINISHED_PREFIX}{hex16}").into_bytes();
        let name = RelPath::new(&bytes).map_err(Error::unexpected)?;
        let work = open_or_make(holder, &name)?;
        Ok(Self { holder, name, work })
    }

    /// Syncs the content and renames the directory to `name`, which must be free.
    ///
    /// # Errors
    /// `name` is occupied, or an I/O error; the directory may then still be unfinished.
    pub fn publish(&self, name: &RelPath) -> Result<()> {
        let flushed = match self.work.root().sync_file_system() {
            Ok(true) => Ok(()),
            Ok(false) => flush(self.work.root()),
            Err(error) => Err(error),
        };
        flushed.map_err(|error| self.holder.io("flush", &self.name, error))?;
        let top = self.holder.root();
        let renamed = top.rename_dir_no_replace(self.name.name(), top, name.name());
        renamed
            .and_then(|()| top.sync())
            .map_err(|error| self.holder.io("make", name, error))
    }

    /// Removes the directory and its content.
    ///
    /// # Errors
    /// I/O errors; the next [`Self::begin`] removes the rest.
    pub fn give_up(self) -> Result<()> {
        remove(self.holder.root(), self.name.name())
            .map_err(|error| self.holder.io("remove", &self.name, error))
    }
}

/// Returns `top` and the directories below it, parents first; `each` is called for every item,
/// directories included.
fn walk(
    top: &Dir,
    each: &mut dyn FnMut(&Dir, &Item) -> io::Result<()>,
) -> io::Result<Vec<RelPath>> {
    let mut places = vec![RelPath::root()];
    let mut at = 0;
    while let Some(below) = places.get(at).cloned() {
        let dir = top.open_below(&below, Access::Read)?;
        for item in dir.list()? {
            if kind_of(&dir.stat_child(&item.name)?) == ItemKind::Dir {
                places.push(below.join(&item.name));
            }
            each(&dir, &item)?;
        }
        at += 1;
    }
    Ok(places)
}

fn flush(top: &Dir) -> io::Result<()> {
    let places = walk(
        top,
        &mut |dir, item| match kind_of(&dir.stat_child(&item.name)?) {
            ItemKind::File => dir.sync_file(&item.name),
            _ => Ok(()),
        },
    )?;
    places
        .iter()
        .try_for_each(|place| top.open_below(place, Access::Read)?.sync())
}

fn remove(holder: &Dir, name: &[u8]) -> io::Result<()> {
    holder.chmod_child(name, OWNER_RWX)?;
    let top = holder.open_child(name, Access::Read)?;
    let places = walk(
        &top,
        &mut |dir, item| match kind_of(&dir.stat_child(&item.name)?) {
            ItemKind::Dir => dir.chmod_child(&item.name, OWNER_RWX),
            _ => dir.unlink(&item.name),
        },
    )?;
    for place in places.iter().skip(1).rev() {
        top.open_below(&place.parent().unwrap_or_default(), Access::Search)?
            .rmdir(place.name())?;
    }
    holder.rmdir(name)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn fill(work: &WorkTree) {
        let top = work.root();
        top.make_dir(b"d").unwrap();
        top.open_child(b"d", Access::Read)
            .unwrap()
            .create_file(b"f")
            .unwrap();
        top.make_symlink(b"l", b"../..").unwrap();
        top.chmod_child(b"d", 0o500).unwrap();
    }

    #[test]
    fn it_gets_its_name_whole_and_replaces_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let holder = WorkTree::open(temp.path()).unwrap();
        let name = RelPath::new(b"done").unwrap();
        let first = Unfinished::begin(&holder, "0123456789abcdef").unwrap();
        fill(&first.work);
        assert!(flush(first.work.root()).is_ok());
        first.publish(&name).unwrap();
        let second = Unfinished::begin(&holder, "0123456789abcdee").unwrap();
        fill(&second.work);
        second.publish(&name).unwrap_err();
        second.give_up().unwrap();
        assert!(temp.path().join("done/d/f").exists());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_goes_with_the_next_one() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".unfinished-mine")).unwrap();
        let holder = WorkTree::open(temp.path()).unwrap();
        fill(&Unfinished::begin(&holder, "0123456789abcdef").unwrap().work);
        Unfinished::begin(&holder, "fedcba9876543210")
            .unwrap()
            .give_up()
            .unwrap();
        assert!(temp.path().join(".unfinished-mine").exists());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
