//! The commit message of a workflow transition: the caller's text, and the trailers by which the
//! store identifies it.

use crate::model::checkpoint::message;

/// Value of the trailer `Workflow-Format`; a run with a larger one is read as far as it is
/// understood, and not extended.
pub const TRANSITION_FORMAT: u32 = 1;

const FORMAT_KEY: &str = "Workflow-Format";
const ID_KEY: &str = "Workflow";
const TIME_KEY: &str = "Time-Ms";
const CUT_KEY: &str = "Cut-From";
/// Keys that callers cannot set, as a transition could pass for something else.
const RESERVED: [&str; 5] = [FORMAT_KEY, ID_KEY, TIME_KEY, CUT_KEY, "Checkpoint-Format"];

/// Adds the store's trailers to a message, which may end with trailers of its own.
pub fn render(id: &str, said: &str, time_ms: i64) -> String {
    let said = said.replace('\0', "\\0");
    let said = said.trim();
    let (body, trailers) = match said.rsplit_once("\n\n") {
        Some((body, last)) if last.lines().all(is_trailer) => (body.trim_end(), last),
        _ => (said, ""),
    };
    let mut lines: Vec<String> = trailers
        .lines()
        .filter(|line| !is_reserved(line))
        .map(str::to_owned)
        .collect();
    lines.push(format!("{ID_KEY}: {id}"));
    lines.push(format!("{TIME_KEY}: {time_ms}"));
    lines.push(format!("{FORMAT_KEY}: {TRANSITION_FORMAT}"));
    let subject = if body.is_empty() { "transition" } else { body };
    format!("{subject}\n\n{}\n", lines.join("\n"))
}

/// Returns the message for a parentless copy of `original`, whose history is lost.
pub fn cut(message: &str, original: &str) -> String {
    format!(
        "{}\n{CUT_KEY}: {original}\n",
        message.trim_end_matches('\n')
    )
}

/// Whether a message is that of a transition, in any format.
pub fn is_ours(text: &str) -> bool {
    message::trailer(text, FORMAT_KEY).is_some()
}

/// Returns the declared format.
pub fn format_of(text: &str) -> Option<u32> {
    message::trailer(text, FORMAT_KEY)?.parse().ok()
}

/// Returns the name of its workflow, as recorded.
pub fn workflow_of(text: &str) -> Option<&str> {
    message::trailer(text, ID_KEY).filter(|_| is_ours(text))
}

/// Returns the time in milliseconds since 1970; `None` for commits of plain git.
pub fn time_of(text: &str) -> Option<i64> {
    message::trailer(text, TIME_KEY)?.parse().ok()
}

fn is_trailer(line: &str) -> bool {
    let key = line.split_once(": ").map(|(key, _)| key);
    key.is_some_and(|key| {
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

fn is_reserved(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, _)| {
        RESERVED
            .iter()
            .any(|reserved| key.eq_ignore_ascii_case(reserved))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_of_the_caller_and_of_the_store_stand_in_one_paragraph() {
        let text = render(
            "w_1",
            "phase done a\n\nwhy: not\nmore words\n\nPhase: a\nActor: me\n",
            7,
        );
        assert!(text.starts_with(
            "phase done a\n\nwhy: not\nmore words\n\nPhase: a\nActor: me\nWorkflow: w_1\n"
        ));
        let found = (workflow_of(&text), time_of(&text), format_of(&text));
        assert_eq!(found, (Some("w_1"), Some(7), Some(TRANSITION_FORMAT)));
        assert_eq!(message::trailer(&text, "Phase"), Some("a"));
        for bare in ["start", "a: b", "", "x\n\ntwo words\n"] {
            let text = render("w", bare, -1);
            assert_eq!(
                (workflow_of(&text), time_of(&text)),
                (Some("w"), Some(-1)),
                "{text}"
            );
        }
    }

    #[test]
    fn no_caller_can_make_it_look_like_something_else() {
        let text = render(
            "w",
            "x\n\nCheckpoint-Format: 1\nWorkflow: other\ntime-ms: 3\nPhase: \0\n",
            5,
        );
        assert!(!message::is_ours(&text) && is_ours(&text) && !text.contains('\0'));
        assert_eq!((workflow_of(&text), time_of(&text)), (Some("w"), Some(5)));
        assert!(!is_ours("x\n\nPhase: 1\n"));
        let cut = cut(&text, "abc");
        let found = (workflow_of(&cut), message::trailer(&cut, CUT_KEY));
        assert_eq!(found, (Some("w"), Some("abc")));
    }
}
