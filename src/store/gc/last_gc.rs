//! After which checkpoint packs were last tidied up: remembered, so that not every `create` looks for what can go.

use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;

/// `None` if that is not known.
pub fn last(layout: &Layout) -> Option<ObjectId> {
    ObjectId::from_hex(read_regular::read_text(&layout.last_gc()).ok()?.trim_end())
}

/// Remembers a checkpoint. A failure costs the next `create` a look and is not reported.
pub fn remember(layout: &Layout, id: ObjectId) {
    let _ = atomic_file::replace_derived(&layout.own(), &layout.last_gc(), format!("{id}\n").as_bytes());
}
