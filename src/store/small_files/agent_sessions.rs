//! The notes on the sessions of agents: one file, which may be lost without damage.

use crate::base::json;
use crate::error::Result;
use crate::model::SessionNotes;
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text, read_regular};

/// Reads the notes; those that are missing or damaged count as empty.
pub fn read(layout: &Layout) -> SessionNotes {
    let text = read_regular::read_text(&layout.agent_sessions()).unwrap_or_default();
    let notes = checksummed_text::unseal(&text).and_then(|text| json::read(text.as_bytes()));
    notes.unwrap_or_default()
}

/// Writes the notes without a flush: a power cut may leave the old ones.
///
/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, notes: &SessionNotes) -> Result<()> {
    let text = checksummed_text::seal(&json::document(notes, false));
    atomic_file::replace_derived(&layout.own(), &layout.agent_sessions(), text.as_bytes())
}
