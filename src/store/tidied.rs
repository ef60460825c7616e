//! How many packs the last tidying up left: remembered, so that no `create` looks again for what cannot be merged.

use crate::store::durable;
use crate::store::layout::Layout;
use crate::store::plain_file;

/// Zero if that is not known.
pub fn left(layout: &Layout) -> usize {
    plain_file::read_text(&layout.tidied()).ok().and_then(|text| text.trim_end().parse().ok()).unwrap_or_default()
}

/// Remembers a number. A failure costs one more look and is not reported.
pub fn remember(layout: &Layout, packs: usize) {
    if left(layout) == packs {
        return;
    }
    let _ = durable::replace_derived(&layout.own(), &layout.tidied(), format!("{packs}\n").as_bytes());
}
