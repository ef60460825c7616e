//! The oracle of printed commands: each can be typed in, and works.

use serde_json::Value;

use super::field::Field;
use crate::bench::Run;

/// Keys of JSON whose text is a command, or contains one in quotes.
const KEYS: [&str; 4] = ["restore_command", "command", "command_line", "hint"];
const NAME: &str = "checkpoint ";

/// The commands of this program that a run printed, without repetition.
pub fn commands(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_str(&run.stdout) {
        Ok(document) => in_json("", &document, &mut found),
        Err(_) => in_text(&run.stdout, &mut found),
    }
    in_text(&run.stderr, &mut found);
    found.retain(|command| is_whole(command) && !is_choice(command));
    found.sort();
    found.dedup();
    found
}

fn in_json(key: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if KEYS.contains(&key) && text.starts_with(NAME) => {
            found.push(text.clone());
        }
        Value::String(text) => in_text(text, found),
        Value::Array(items) => items.iter().for_each(|item| in_json(key, item, found)),
        Value::Object(pairs) => pairs
            .iter()
            .for_each(|(key, value)| in_json(key, value, found)),
        _ => {}
    }
}

/// Finds commands in quotes, or in brackets at the end of a line.
fn in_text(text: &str, found: &mut Vec<String>) {
    for (open, close) in [("'", '\''), ("(", ')')] {
        let begin = format!("{open}{NAME}");
        let starts = text.match_indices(&begin).map(|(at, _)| at + open.len());
        let ended = starts.filter_map(|at| text[at..].split_once(close));
        let at_end =
            ended.filter(|(_, rest)| open == "'" || rest.is_empty() || rest.starts_with('\n'));
        found.extend(at_end.map(|(command, _)| command.to_owned()));
    }
}

/// Whether a command is for the user alone to choose: it deletes or removes, or takes one side.
fn is_choice(command: &str) -> bool {
    let parts = [
        " delete ",
        " remove ",
        " prune --keep ",
        " --take ",
        " --choose ",
    ];
    parts.iter().any(|part| command.contains(part))
}

/// Whether a command contains no placeholder such as PATH.
fn is_whole(command: &str) -> bool {
    let is_name = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    !command.contains('…') && !command.contains('\n') && !command.split_whitespace().any(is_name)
}

/// Types it in, with consent where that is asked for.
///
/// # Errors
/// It fails.
pub fn follow(field: &Field, command: &str) -> Result<(), String> {
    let mut run = field.shell(command);
    if run.code == 4 && run.stderr.contains("--yes") {
        run = field.shell(&format!("{command} --yes"));
    }
    // A check finds the damage it looks for, and a look at a file what is wrong in it; an obstacle may be gone with the fault; there is no
    // session of an agent.
    let is_found = (run.code == 6 && (command.contains(" verify") || command.ends_with(" -n")))
        || (run.code == 3
            && [" recover", " rewind"]
                .iter()
                .any(|word| command.contains(word)));
    if matches!(run.code, 0 | 5) || is_found {
        Ok(())
    } else {
        Err(format!("{command:?} was printed: {run}"))
    }
}
