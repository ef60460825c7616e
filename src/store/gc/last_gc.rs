//! The newest checkpoint at the time of the last gc, so that not every `create` looks for garbage.

use crate::model::ObjectId;
use crate::store::Layout;
use crate::store::files::{atomic_file, read_regular};

/// Returns that checkpoint; `None` if unknown.
pub fn last(layout: &Layout) -> Option<ObjectId> {
    ObjectId::from_hex(read_regular::read_text(&layout.last_gc()).ok()?.trim_end())
}

/// Remembers a checkpoint. A failure only makes the next `create` look and is not reported.
pub fn remember(layout: &Layout, id: ObjectId) {
    let _ = atomic_file::replace_derived(
        &layout.own(),
        &layout.last_gc(),
        format!("{id}\n").as_bytes(),
    );
}
