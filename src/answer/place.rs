//! What advice depends on in this call: the global options, added to every suggested command so that
//! it works as printed, and the command at hand.

use std::cell::RefCell;

use crate::base::shell_word::shell_line;
use crate::error::sentence::{CommandWords, Sentence};

/// The call that is answered.
#[derive(Clone, Default)]
pub struct PlaceWords {
    /// Words such as `-C` and its directory.
    options: Vec<Vec<u8>>,
    /// Commands that take these options.
    commands: &'static [&'static str],
    left_by_a_signal: Option<&'static str>,
    help_of: Option<String>,
}

thread_local! {
    /// The call that this thread answers.
    static PLACE: RefCell<PlaceWords> = RefCell::default();
}

/// Begins a call; `options` are added to all suggestions of these commands. `left_by_a_signal` is
/// what is true after one, unless nothing was changed.
pub fn begin(
    options: Vec<Vec<u8>>,
    commands: &'static [&'static str],
    left_by_a_signal: Option<&'static str>,
) {
    adopt(PlaceWords {
        options,
        commands,
        left_by_a_signal,
        help_of: None,
    });
}

/// Returns the call of this thread, for a thread that speaks for it too.
pub fn at_hand() -> PlaceWords {
    PLACE.with_borrow(Clone::clone)
}

/// Lets this thread speak for the call of another.
pub fn adopt(call: PlaceWords) {
    PLACE.set(call);
}

/// Returns what is true after a signal.
pub fn left_by_a_signal() -> &'static str {
    let declared = PLACE.with_borrow(|place| place.left_by_a_signal);
    declared.unwrap_or("nothing was changed")
}

/// Sets the command line whose `--help` has the correct usage: `checkpoint workflow init`.
pub fn set_help_of(line: String) {
    PLACE.with_borrow_mut(|place| place.help_of = Some(line));
}

pub fn help_of() -> String {
    let named = PLACE.with_borrow(|place| place.help_of.clone());
    named.unwrap_or_else(|| "checkpoint".to_owned())
}

/// Adds the options to a command.
pub fn placed_command(command: CommandWords) -> CommandWords {
    PLACE.with_borrow(|place| command.with_options(&place.options, place.commands))
}

/// Adds the options to the commands of a sentence.
pub fn placed_sentence(sentence: Sentence) -> Sentence {
    sentence.map_commands(placed_command)
}

/// Adds the options to commands at the beginning of the advice or in quotes; a command that has
/// options already is left alone.
pub fn placed(advice: &str) -> String {
    PLACE.with_borrow(|place| {
        if place.options.is_empty() {
            advice.to_owned()
        } else {
            put(advice, place)
        }
    })
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
        if (lead.is_empty() || lead.ends_with('\'')) && place.commands.contains(&word) {
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
            commands: &["undo", "release"],
            ..PlaceWords::default()
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
