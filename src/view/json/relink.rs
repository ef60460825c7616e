//! `relink` for programs.

use serde_json::json;

use crate::ops::maintain::moved::Likeness;
use crate::ops::maintain::relink::RelinkOutcome;
use crate::view::json::parts::envelope;

pub fn relink(outcome: &RelinkOutcome) -> String {
    let by = match outcome.moved.by {
        Likeness::Directory => "directory",
        Likeness::Content => "content",
        Likeness::Nothing => "nothing",
    };
    let data = json!({
        "old_root": outcome.moved.old_root.display().to_string(),
        "root": outcome.root.display().to_string(),
        "store": outcome.store.display().to_string(),
        "checkpoints": outcome.moved.checkpoints,
        "already_here": outcome.here,
        "likeness": by,
        "dry_run": outcome.dry_run,
    });
    envelope("relink", 0, &data, &outcome.warnings)
}
