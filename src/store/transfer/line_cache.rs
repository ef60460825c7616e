//! The states of the lines that were fetched from a remote, by their newest carriers: a file that can
//! be derived, so that not every carrier is read each time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::layout::Layout;
use crate::store::transfer::line_state::LineState;

/// Begins the line that names a carrier; its state follows.
const TIP: &str = "= ";

fn path(layout: &Layout, remote: &str) -> PathBuf {
    layout.transport(remote).join("lines")
}

/// Reads what was written last; empty if it cannot be read.
pub fn read(layout: &Layout, remote: &str) -> BTreeMap<ObjectId, LineState> {
    let text = read_regular::read_text(&path(layout, remote)).unwrap_or_default();
    checksummed_text::unseal(&text)
        .and_then(parse)
        .unwrap_or_default()
}

fn parse(text: &str) -> Option<BTreeMap<ObjectId, LineState>> {
    let mut states: BTreeMap<ObjectId, LineState> = BTreeMap::new();
    let mut tip = None;
    for line in text.lines() {
        if let Some(id) = line.strip_prefix(TIP) {
            tip = Some(states.entry(ObjectId::from_hex(id)?).or_default());
            continue;
        }
        tip.as_mut()?.apply(line).ok()?;
    }
    Some(states)
}

/// Writes the states, without a flush.
///
/// # Errors
/// The file cannot be written.
pub fn write(layout: &Layout, remote: &str, states: &BTreeMap<ObjectId, LineState>) -> Result<()> {
    let none = LineState::default();
    let blocks = states.iter();
    let text: String = blocks
        .map(|(tip, state)| format!("{TIP}{tip}\n{}", state.changes_since(&none)))
        .collect();
    let text = checksummed_text::seal(&text);
    let place = layout.transport(remote);
    atomic_file::replace_derived(&place, &path(layout, remote), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::transfer::header::BundleRef;

    #[test]
    fn states_come_back_as_they_were_written() {
        let id = |byte| ObjectId::from_bytes([byte; 20]);
        let one = [BundleRef::Checkpoint(id(1)), BundleRef::Pin(id(1))];
        let states = BTreeMap::from([(id(8), LineState::of(one)), (id(9), LineState::default())]);
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path().to_path_buf());
        std::fs::create_dir_all(layout.transport("origin")).unwrap();
        write(&layout, "origin", &states).unwrap();
        assert_eq!(read(&layout, "origin"), states);
        let file = path(&layout, "origin");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("pins", "pine")).unwrap();
        assert!(read(&layout, "origin").is_empty());
        assert!(read(&layout, "other").is_empty());
    }
}
