//! The transition whose files are being written: its commit is in the store, and no ref names it yet.
//! Derived, so damage to the note only means that the files count as edited by hand.

use crate::error::Result;
use crate::model::run_id::is_legal;
use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, checksummed_text};
use crate::store::layout::Layout;
use crate::store::locked::LockedStore;
use crate::store::repository::Store;
use crate::store::runs::run_refs;

/// Stands for the parent of the first transition.
const NONE: &str = "-";

/// A transition that a process was about to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedTransition {
    pub id: String,
    pub parent: Option<ObjectId>,
    pub commit: ObjectId,
}

impl Store {
    /// Returns the transition whose process was killed before a ref named it.
    pub fn prepared_transition(&self) -> Option<PreparedTransition> {
        let lines: Vec<PreparedTransition> =
            checksummed_text::read(&self.layout().prepared(), parse_line).ok()??;
        lines.into_iter().next()
    }
}

impl LockedStore<'_> {
    /// Records the transition if its files were written, and removes the note.
    ///
    /// # Errors
    /// The ref cannot be written, or the note not be removed.
    pub fn settle_prepared(&self, prepared: &PreparedTransition, is_written: bool) -> Result<()> {
        let layout = self.store().layout();
        if is_written {
            run_refs::write(layout, &prepared.id, prepared.commit)?;
        }
        forget(layout)
    }
}

/// # Errors
/// The note cannot be written.
pub fn note(layout: &Layout, id: &str, parent: Option<ObjectId>, commit: ObjectId) -> Result<()> {
    let parent = parent.map_or(NONE.to_owned(), ObjectId::to_hex);
    let text = checksummed_text::seal(&format!("{commit} {parent} {id}\n"));
    atomic_file::replace_derived(&layout.own(), &layout.prepared(), text.as_bytes())
}

/// # Errors
/// The note cannot be removed.
pub fn forget(layout: &Layout) -> Result<()> {
    atomic_file::remove_if_there(&layout.prepared()).map(drop)
}

fn parse_line(line: &str) -> Option<PreparedTransition> {
    let (commit, rest) = line.split_once(' ')?;
    let (parent, id) = rest.split_once(' ')?;
    is_legal(id).then_some(PreparedTransition {
        id: id.to_owned(),
        // [`NONE`] is not hex.
        parent: ObjectId::from_hex(parent),
        commit: ObjectId::from_hex(commit)?,
    })
}
