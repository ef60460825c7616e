//! What advice depends on in this call: the global options, added to every suggested command so that
//! it works as printed, and the command at hand.

use std::sync::OnceLock;

use crate::base::shell_word::shell_line;
use crate::error::sentence::{CommandWords, Sentence};

struct PlaceWords {
    /// Words such as `-C` and its directory.
    options: Vec<Vec<u8>>,
    /// Commands that take these options.
    commands: Vec<String>,
}

static PLACE: OnceLock<PlaceWords> = OnceLock::new();
static COMMAND: OnceLock<&'static str> = OnceLock::new();
static HELP_OF: OnceLock<String> = OnceLock::new();

/// Sets the options for all later suggestions.
pub fn set_options(options: Vec<Vec<u8>>, commands: Vec<String>) {
    let _ = PLACE.set(PlaceWords { options, commands });
}

/// Sets the name of the command at hand in the JSON schema.
pub fn set_command(name: &'static str) {
    let _ = COMMAND.set(name);
}

pub fn command() -> &'static str {
    COMMAND.get().copied().unwrap_or_default()
}

/// Sets the command line whose `--help` has the correct usage: `checkpoint workflow init`.
pub fn set_help_of(line: String) {
    let _ = HELP_OF.set(line);
}

pub fn help_of() -> &'static str {
    HELP_OF.get().map_or("checkpoint", String::as_str)
}

/// Adds the options to a command.
pub fn placed_command(command: CommandWords) -> CommandWords {
    match PLACE.get() {
        Some(place) => command.with_options(&place.options, &place.commands),
        None => command,
    }
}

/// Adds the options to the commands of a sentence.
pub fn placed_sentence(sentence: Sentence) -> Sentence {
    sentence.map_commands(placed_command)
}

/// Adds the options to commands at the beginning of the advice or in quotes; a command that has
/// options already is left alone.
pub fn placed(advice: &str) -> String {
    PLACE
        .get()
        .map_or_else(|| advice.to_owned(), |place| put(advice, place))
}

fn put(advice: &str, place: &PlaceWords) -> String {
    const PROGRAM: &str = "checkpoint ";
    let (mut placed, mut rest) = (String::new(), advice);
    while let Some(at) = rest.find(PROGRAM) {
        let (before, after) = rest.split_at(at + PROGRAM.len());
        placed.push_str(before);
        rest = after;
        let lead = &placed[..placed.len() - PROGRAM.len()];
        let word = after
            .split(|sign: char| !sign.is_ascii_lowercase())
            .next()
            .unwrap_or_default();
        if (lead.is_empty() || lead.ends_with('\''))
            && place.commands.iter().any(|command| command == word)
        {
            placed.push_str(&shell_line(place.options.iter().map(Vec::as_slice)));
            placed.push(' ');
        }
    }
    placed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_the_options_once_and_other_words_stay() {
        let place = PlaceWords {
            options: vec!["-C".into(), "../p".into()],
            commands: vec!["undo".into(), "release".into()],
        };
        for (advice, placed) in [
            ("checkpoint release wave", "checkpoint -C ../p release wave"),
            (
                "'checkpoint undo' or 'checkpoint release x'",
                "'checkpoint -C ../p undo' or 'checkpoint -C ../p release x'",
            ),
            ("checkpoint -C /q undo", "checkpoint -C /q undo"),
            (
                "checkpoint fade is there; process 7 (checkpoint undo)",
                "checkpoint fade is there; process 7 (checkpoint undo)",
            ),
            ("'checkpoint --help'", "'checkpoint --help'"),
        ] {
            assert_eq!(
                (put(advice, &place), put(placed, &place)),
                (placed.to_owned(), placed.to_owned())
            );
        }
    }
}
