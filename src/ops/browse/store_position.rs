//! Where a store stands: a text that is another one after every change of the store.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::time::SystemTime;

use crate::ops::find_root::exactly;
use crate::ops::locate_store::locate_store;
use crate::store::Layout;

/// Returns the position of the store of a root. What only makes later commands faster does not count.
pub fn position(base: &Path, root: &Path) -> String {
    let store = exactly(root).and_then(|root| locate_store(base, &root));
    let Ok(store) = store.map(Layout::new) else {
        return String::new();
    };
    let refs = store.refs();
    // A file that is replaced changes its directory too.
    let directories = ["checkpoints", "pins", "workflows", "archive/workflows"];
    let directories = directories.map(|name| refs.join(name));
    let files = [
        store.packed_refs(),
        store.journal(),
        store.holds(),
        store.rewords(),
    ];
    let mut sum = DefaultHasher::new();
    for path in directories.iter().chain(&files) {
        let found = path.symlink_metadata().ok();
        let stamp = found.map(|found| {
            (
                found.len(),
                found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            )
        });
        stamp.hash(&mut sum);
    }
    format!("{:016x}", sum.finish())
}
