//! `statusline`: a store in a few words.

use crate::agent::glance::Glance;
use crate::base::text::escape_line;
use crate::base::time::age;
use crate::view::format::count;
use crate::workflow::engine::runs::Run;

/// Upper bound on a reason or the name of a phase in characters.
const LONGEST_NAME: usize = 40;

/// Formats `3 checkpoints, 4 min ago: before refactor`, with the phase of an unfinished workflow in
/// the place of the reason.
pub fn status_line(glance: &Glance, now_ms: i64) -> String {
    let mut line = count(glance.count, "checkpoint", "checkpoints");
    if let Some(latest) = &glance.latest {
        let age = age(latest.record.time_ms, now_ms);
        let is_past = age.starts_with(|c: char| c.is_ascii_digit());
        line.push_str(&format!(", {age}{}", if is_past { " ago" } else { "" }));
    }
    if let Some(phase) = glance.run.as_ref().map(phase) {
        line.push_str(&format!(", in {phase}"));
    } else if let Some(latest) = &glance.latest {
        line.push_str(&format!(": {}", short(&latest.record.reason)));
    }
    if glance.is_interrupted {
        line.push_str(", a restore was interrupted");
    }
    line
}

/// Puts our line behind what another command printed, which may have colours.
pub fn joined(theirs: &str, ours: &str) -> String {
    let end = if theirs.contains('\u{1b}') {
        "\u{1b}[0m"
    } else {
        ""
    };
    if theirs.is_empty() || ours.is_empty() {
        return format!("{theirs}{ours}");
    }
    format!("{theirs}{end} | {ours}")
}

/// The phase of an unfinished workflow that is under way or comes next; else its name.
pub fn phase(run: &Run) -> String {
    let phase = run.workflow.next().map(|phase| phase.id.as_str());
    short(phase.unwrap_or(run.workflow.named()))
}

fn short(text: &str) -> String {
    let text = escape_line(text);
    let mut shown: String = text.chars().take(LONGEST_NAME).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
