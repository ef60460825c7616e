//! All stores under the base, whichever root they are for, and the damaged copies that were kept beside them.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::ops::context::{Context, projects, subdirectories};
use crate::store::description::Description;
use crate::store::layout::Layout;
pub use crate::store::swap::KEPT_MARK;

/// Hex digits of the name of a store directory.
const NAME_DIGITS: usize = 16;

/// One store, as far as its description tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownStore {
    pub dir: PathBuf,
    /// Without a description nobody knows whose it is.
    pub description: Option<Description>,
    pub root: RootState,
}

/// What has become of the root of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootState {
    Present,
    Gone,
    /// Its parent is gone too: perhaps a disk that is not mounted, so nothing may be concluded.
    ParentGone,
    Unknown,
}

/// Every store, in order of its path.
pub fn all(context: &Context) -> Result<Vec<KnownStore>> {
    let known = |dir: PathBuf| -> Result<KnownStore> {
        let description = Description::read(&Layout::new(dir.clone()))?;
        let root = description.as_ref().and_then(Description::root_path).map_or(RootState::Unknown, |r| state_of(&r));
        Ok(KnownStore { dir, description, root })
    };
    directories(context, is_store_name)?.into_iter().map(known).collect()
}

/// Damaged stores that a repair kept, in order of their path.
pub fn kept_copies(context: &Context) -> Result<Vec<PathBuf>> {
    directories(context, |name| name.split_once(KEPT_MARK).is_some_and(|(store, _)| is_store_name(store)))
}

fn directories(context: &Context, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for project in projects(&context.base)? {
        let named = |dir: &PathBuf| dir.file_name().and_then(|name| name.to_str()).is_some_and(&wanted);
        found.extend(subdirectories(&project.join("checkpoints"))?.into_iter().filter(named));
    }
    found.sort();
    Ok(found)
}

fn is_store_name(name: &str) -> bool {
    name.len() == NAME_DIGITS && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn state_of(root: &Path) -> RootState {
    if root.is_dir() {
        RootState::Present
    } else if root.parent().is_some_and(Path::is_dir) {
        RootState::Gone
    } else {
        RootState::ParentGone
    }
}
