//! What `restore --to` wrote, or would write.

use std::path::Path;

use crate::base::text::{escape, escape_bytes};
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::view::format::Paint;
use crate::view::human::Output;
use crate::view::plan;

pub fn restore_to(outcome: &RestoreOutcome, to: &Path, paint: Paint) -> Output {
    let (short, reason) = (outcome.target.id.short(), escape(&outcome.target.record.reason));
    let dir = escape_bytes(to.as_os_str().as_encoded_bytes());
    let counts = plan::counts(&outcome.plan);
    if outcome.dry_run {
        let listed = plan::listing(&outcome.plan, usize::MAX, paint);
        let result = format!("{listed}Writing checkpoint `{short}` ({reason}) to {dir} {counts}.\n");
        return Output { result, talk: String::new() };
    }
    let mut result = String::new();
    for path in &outcome.paths {
        result.push_str(&format!("Wrote `{path}` of checkpoint `{short}` ({reason}) to {dir}.\n"));
    }
    if result.is_empty() {
        result = format!("Wrote checkpoint `{short}` ({reason}) to {dir}.\n");
    }
    Output { result, talk: format!("{}\n", super::capitalised(&counts)) }
}
