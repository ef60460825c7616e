//! `statusline` and `prompt`: a store in a few words.

use crate::agent::glance::Glance;
use crate::base::text::escape_line;
use crate::base::time::age;
use crate::view::format::count;

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
    if let Some(phase) = phase(glance) {
        line.push_str(&format!(", in {phase}"));
    } else if let Some(latest) = &glance.latest {
        line.push_str(&format!(": {}", short(&latest.record.reason)));
    }
    if glance.is_interrupted {
        line.push_str(", a restore was interrupted");
    }
    line
}

/// Formats `1a2b3c4d 4 min`, and the phase of an unfinished workflow.
pub fn shell_prompt(glance: &Glance, now_ms: i64) -> String {
    let latest = glance.latest.as_ref().map(|latest| {
        let age = age(latest.record.time_ms, now_ms);
        format!("{} {age}", latest.id.short())
    });
    let parts: Vec<String> = latest.into_iter().chain(phase(glance)).collect();
    parts.join(" ")
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

/// The phase that is under way or comes next in the unfinished workflow; else its name.
fn phase(glance: &Glance) -> Option<String> {
    let workflow = &glance.run.as_ref()?.workflow;
    let phase = workflow.next().map(|phase| phase.id.as_str());
    Some(short(phase.unwrap_or(workflow.named())))
}

fn short(text: &str) -> String {
    let text = escape_line(text);
    let mut shown: String = text.chars().take(LONGEST_NAME).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
