//! Removes files of dead processes and of packs that are no longer needed.

use std::path::Path;

use crate::error::{Error, Result};
use crate::store::files::atomic_file::{TMP_PREFIX, remove_if_there};
use crate::store::objects::loose_files::names_in;

/// Prefixes of temporary files of unfinished writers: ours, git's and libgit2's.
const TEMPORARIES: [&str; 6] = [
    TMP_PREFIX,
    "tmp_pack_",
    "tmp_idx_",
    "tmp_obj_",
    "tmp_object_",
    "tmp_rev_",
];
/// The index goes first: a pack without one is invisible to readers, an index without a pack is an
/// error to them.
const ENDINGS_OF_A_PACK: [&str; 7] = ["idx", "pack", "rev", "keep", "mtimes", "bitmap", "promisor"];
/// Caches of plain git that name packs or commits; invalid once some are gone.
const CACHES: [&str; 3] = [
    "pack/multi-pack-index",
    "info/commit-graph",
    "info/commit-graphs/commit-graph-chain",
];

/// Removes files that dead processes left under `objects/`; the caller holds the exclusive lock, so
/// no process is writing. Returns the number of removed files.
///
/// # Errors
/// A directory cannot be listed or a file cannot be removed.
pub fn sweep_temporaries(objects_dir: &Path) -> Result<u64> {
    let mut removed = 0;
    let fan_out = names_in(objects_dir)?
        .into_iter()
        .filter(|name| name.len() == 2)
        .map(|name| objects_dir.join(name));
    for directory in [objects_dir.to_path_buf(), objects_dir.join("pack")]
        .into_iter()
        .chain(fan_out)
    {
        for name in names_in(&directory)? {
            let path = directory.join(&name);
            let stale = TEMPORARIES.iter().any(|prefix| name.starts_with(prefix));
            if stale && path.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                match remove_if_there(&path) {
                    // A reader may still have it open there; a later sweep removes it.
                    Err(_) if cfg!(windows) => {}
                    done => removed += u64::from(done?),
                }
            }
        }
    }
    Ok(removed)
}

/// Removes a pack and all its files.
///
/// # Errors
/// A file cannot be removed; those after it in the order are left.
pub fn remove_pack(pack_dir: &Path, name: &str) -> Result<()> {
    for ending in ENDINGS_OF_A_PACK {
        remove_if_there(&pack_dir.join(format!("{name}.{ending}")))?;
    }
    Ok(())
}

/// Removes caches that plain git may have made and can do without.
///
/// # Errors
/// A file cannot be removed.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is one of the store's own"
)]
pub fn remove_caches(objects_dir: &Path) -> Result<()> {
    for cache in CACHES {
        remove_if_there(&objects_dir.join(cache))?;
    }
    let layered = objects_dir.join("pack/multi-pack-index.d");
    if layered.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        std::fs::remove_dir_all(&layered).map_err(Error::io("remove", &layered))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::place;

    #[test]
    fn only_leftovers_go() {
        let stale = "pack/tmp_pack_1_ab= pack/tmp_idx_x= pack/.tmp-1-2= ab/tmp_obj_x= \
            tmp_object_git2_x= .tmp-1=";
        let good = [
            "pack/pack-1.pack",
            "pack/pack-1.idx",
            "info/keep",
            "ab/cdef",
        ];
        let place = place(&format!("{stale} {}=", good.join("= ")));
        let objects = place.path();
        assert_eq!(sweep_temporaries(objects).unwrap(), 6);
        assert!(good.iter().all(|path| objects.join(path).exists()));
        remove_pack(&objects.join("pack"), "pack-1").unwrap();
        let found = names_in(&objects.join("pack")).unwrap();
        assert_eq!(found, Vec::<String>::new());
    }
}
