//! The words of a checkpoint that an event leads to, without secrets.

use crate::agent::dialect::event::AgentEvent;
use crate::config::agents::PromptWords;
use crate::model::session::provenance::Moment;
use crate::model::session::redact::redact;

/// Lengths in characters of what is recorded of a prompt, of one in a reason, and of a command.
const PROMPT_LINE: usize = 200;
const PROMPT_IN_REASON: usize = 80;
const COMMAND_IN_REASON: usize = 60;
/// Upper bound on the text of a whole prompt, in characters.
const WHOLE_PROMPT: usize = 100_000;

/// Returns the first line of a prompt as it may be noted; empty if prompts are not recorded.
pub fn line_of(prompt: &str, words: PromptWords) -> String {
    match words {
        PromptWords::Off => String::new(),
        PromptWords::Line | PromptWords::Full => first_line(prompt, PROMPT_LINE),
    }
}

/// Returns the text of a prompt as it may be recorded.
pub fn recorded(prompt: &str, words: PromptWords) -> Option<String> {
    let text = match words {
        PromptWords::Off => return None,
        PromptWords::Line => first_line(prompt, PROMPT_LINE),
        PromptWords::Full => cut(&redact(prompt), WHOLE_PROMPT),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the reason of the checkpoint for an event; `line` is that of the prompt at hand.
pub fn reason(event: &AgentEvent, number: u32, line: &str, words: PromptWords) -> String {
    let prompt = if line.is_empty() {
        format!("prompt {number}")
    } else {
        cut(line, PROMPT_IN_REASON)
    };
    match event.moment {
        Moment::Prompt => format!("before: {prompt}"),
        Moment::PreTool => {
            let tool = event.tool.as_deref().unwrap_or("a command");
            let tool = first_line(tool, COMMAND_IN_REASON);
            let command = event.command.as_deref().unwrap_or_default();
            match first_line(command, COMMAND_IN_REASON) {
                line if line.is_empty() || words == PromptWords::Off => format!("before {tool}"),
                line => format!("before {tool}: {line}"),
            }
        }
        Moment::TurnEnd => format!("after: {prompt}"),
        Moment::TurnFailed => format!("turn failed ({})", cause(event, words)),
        Moment::Interrupted => "turn interrupted".to_owned(),
        Moment::PreCompact => "before compaction".to_owned(),
        Moment::SessionStart => "session start".to_owned(),
        other => other.into_str().to_owned(),
    }
}

/// Returns why a turn failed.
pub fn cause(event: &AgentEvent, words: PromptWords) -> String {
    let cause = event.cause.as_deref().unwrap_or_default();
    // A sentence may repeat words of the prompt, the name of an error does not.
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if words == PromptWords::Off && !cause.chars().all(is_name) {
        return event.moment.into_str().to_owned();
    }
    match first_line(cause, COMMAND_IN_REASON) {
        line if line.is_empty() => event.moment.into_str().to_owned(),
        line => line,
    }
}

/// Returns the first line with words. Secrets are looked for in the whole text, since one may begin
/// before the line.
fn first_line(text: &str, most: usize) -> String {
    let text = redact(&cut(text, WHOLE_PROMPT));
    let mut lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let line = lines.find(|line| !line.trim().is_empty()).map(str::trim);
    cut(line.unwrap_or_default(), most)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
