//! What advice depends on in this call: the global options, added to every suggested command so that
//! it works as printed, and the command at hand.

use std::path::Path;

use crate::base::shell_word::shell_line;
use crate::error::{CommandWords, Sentence};

/// Returns a call for the words of a command; `None` if there is none.
pub type CallOf = fn(&[String]) -> Option<String>;

/// The call that is answered.
#[derive(Clone, Debug, Default)]
pub struct PlaceWords {
    /// Words such as `-C` and its directory.
    pub options: Vec<Vec<u8>>,
    /// Commands that take these options.
    pub commands: &'static [&'static str],
    /// What is true after a signal, unless nothing was changed.
    pub left_by_a_signal: Option<&'static str>,
    /// The command line whose `--help` has the correct usage: `checkpoint workflow init`.
    pub help_of: Option<String>,
    /// For who has no command line: what does the same as a command.
    pub call_of: Option<CallOf>,
}

impl PlaceWords {
    /// Makes the commands named from now on those of another directory.
    pub fn move_to(&mut self, dir: &Path) {
        let others = self.options.chunks(2).filter(|option| option[0] != b"-C");
        let dir = [b"-C".to_vec(), dir.as_os_str().as_encoded_bytes().to_vec()];
        self.options = dir.into_iter().chain(others.flatten().cloned()).collect();
    }

    /// Adds the options to a command.
    pub fn command(&self, command: CommandWords) -> CommandWords {
        let words = command.texts().unwrap_or_default();
        let call = self.call_of.and_then(|call_of| call_of(words.get(1..)?));
        let placed = command.with_options(&self.options, self.commands);
        placed.shown_as(call)
    }

    /// Adds the options to the commands of a sentence.
    pub fn sentence(&self, sentence: Sentence) -> Sentence {
        sentence.map_commands(|command| self.command(command))
    }

    /// Adds the options to commands at the beginning of the advice or in quotes; a command that has
    /// options already is left alone.
    pub fn advice(&self, advice: &str) -> String {
        const PROGRAM: &str = "checkpoint ";
        if self.options.is_empty() {
            return advice.to_owned();
        }
        let (mut placed, mut rest) = (String::new(), advice);
        while let Some(at) = rest.find(PROGRAM) {
            let (before, after) = rest.split_at(at + PROGRAM.len());
            placed.push_str(before);
            rest = after;
            let lead = &placed[..placed.len() - PROGRAM.len()];
            let mut words = after.split(|sign: char| !sign.is_ascii_lowercase());
            let word = words.next().unwrap_or_default();
            if (lead.is_empty() || lead.ends_with('\'')) && self.commands.contains(&word) {
                placed.push_str(&shell_line(self.options.iter().map(Vec::as_slice)));
                placed.push(' ');
            }
        }
        placed + rest
    }
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
            let found = (place.advice(advice), place.advice(placed));
            assert_eq!(found, (placed.to_owned(), placed.to_owned()));
        }
    }
}
