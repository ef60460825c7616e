//! The checkpoints of a report.

use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::select::checkpoint;

/// Returns the ids from the first to the last checkpoint of a range, newest first.
///
/// # Errors
/// It is no range, or names no checkpoint.
pub fn find(context: &Context, range: Option<&str>) -> Result<Vec<String>> {
    let (_, inventory) = context.read()?;
    let ends = match range {
        None => ("", ""),
        Some(range) => range.split_once("..").ok_or_else(|| {
            Error::usage(format!(
                "'{range}' is no range; write SEL..SEL, SEL.. or ..SEL"
            ))
        })?,
    };
    let place = |selector: &str, otherwise: u64| {
        if selector.is_empty() {
            return Ok(otherwise);
        }
        checkpoint::find(context, &inventory, selector).map(|found| found.record.sequence)
    };
    let (first, last) = (place(ends.0, 0)?, place(ends.1, u64::MAX)?);
    let is_within = |sequence| (first..=last).contains(&sequence);
    let within = inventory.checkpoints.rev();
    let within = within.filter(|one| is_within(one.record.sequence));
    let ids: Vec<String> = within.map(|one| one.id.to_hex()).collect();
    if ids.is_empty() {
        let what = "there is no checkpoint in this range";
        return Err(Error::new(Code::NOTHING_FOUND, what));
    }
    Ok(ids)
}
