//! System calls on the working directory, one interface for all platforms: all go through a [`Dir`]
//! and follow no symlink.
//!
//! `unix` works by descriptor. `portable` works by path, for systems without directory descriptors;
//! built with `--cfg checkpoint_portable` it can be tested anywhere. Its header lists its limits.

mod exchange;
mod io_error;
mod item;
#[cfg(any(not(unix), checkpoint_portable))]
mod portable;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix_rights;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix_stat;
#[cfg(all(unix, not(checkpoint_portable)))]
mod unix_sync;

use crate::model::Stat;

pub use exchange::SWAP_SUFFIX;
pub use io_error::{is_absent, reason};
pub use item::{Access, Item, ItemKind, Rights, is_same_place, kind_of, sort_items};

#[cfg(not(unix))]
pub use portable::identity;
#[cfg(any(not(unix), checkpoint_portable))]
pub use portable::{
    Dir, coarse_now_ns, fine_now_ns, is_exhausted, is_symlink_error, set_file_mode, stat_file,
    stat_path,
};
#[cfg(all(unix, not(checkpoint_portable)))]
pub use unix::{Dir, is_exhausted, is_symlink_error, set_file_mode};
#[cfg(all(unix, not(checkpoint_portable)))]
pub use unix_stat::{coarse_now_ns, fine_now_ns, stat_file, stat_path};

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

/// Returns the stat of an entry with the number of its links, which Windows tells of open files.
pub fn stat_with_links(dir: &Dir, name: &[u8]) -> std::io::Result<Stat> {
    let stat = dir.stat_child(name)?;
    if cfg!(windows) && kind_of(&stat) == ItemKind::File {
        return Ok(dir.open_file(name)?.1);
    }
    Ok(stat)
}

#[cfg(test)]
mod tests;
