//! Sentences for users that name commands to run. A command is words from the start, and is quoted
//! only for display, so that no name in a sentence can become one.

use std::fmt;

use crate::base::shell_word::shell_line;
use crate::base::text::escape_line;

const PROGRAM: &str = "checkpoint";

/// A command line of this program, as words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWords {
    words: Vec<Vec<u8>>,
    /// Whether a word has to be replaced before it can be run, such as `PATH` or `…`.
    has_placeholder: bool,
    /// What does the same where its reader has no command line.
    call: Option<String>,
}

impl CommandWords {
    /// Makes a command of the words after the program's name.
    pub fn new(words: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_vec());
        Self {
            words: std::iter::once(PROGRAM.into()).chain(words).collect(),
            has_placeholder: false,
            call: None,
        }
    }

    /// Reads a template whose words are separated by blanks; each `{}` stands for the next argument,
    /// whatever is in it. One that would be read as an option gets `./`.
    fn of_template<'a>(template: &str, args: &mut impl Iterator<Item = &'a [u8]>) -> Self {
        let is_placeholder = |word: &str| {
            word.contains('…')
                || word.starts_with("SEL:")
                || (word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
        };
        let words = template.split(' ').map(|word| {
            let filled = filled(word, args);
            let is_no_option = !word.starts_with("{}") || !filled.starts_with(b"-");
            let lead: &[u8] = if is_no_option { b"" } else { b"./" };
            [lead, &filled].concat()
        });
        Self {
            has_placeholder: template.split(' ').any(is_placeholder),
            ..Self::new(words)
        }
    }

    /// Adds options with their values after the program's name, but for those that are there.
    #[must_use]
    pub fn with_options(mut self, options: &[Vec<u8>], commands: &[&str]) -> Self {
        let given = self.words[1..].chunks(2).map(|option| &option[0]);
        let given = given.take_while(|word| word.starts_with(b"-"));
        let given: Vec<_> = given.cloned().collect();
        let is_command = |word: &Vec<u8>| commands.iter().any(|name| *word == name.as_bytes());
        if self.words.get(1 + 2 * given.len()).is_some_and(is_command) {
            let missing = options
                .chunks(2)
                .filter(|option| !given.contains(&option[0]));
            self.words.splice(1..1, missing.flatten().cloned());
        }
        self
    }

    /// Adds options at the end, or before `--`.
    #[must_use]
    pub fn with(mut self, options: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let dashes = self.words.iter().position(|word| word == b"--");
        let at = dashes.unwrap_or(self.words.len());
        let options = options.into_iter().map(|option| option.as_ref().to_vec());
        self.words.splice(at..at, options);
        self
    }

    /// Sets what is shown in its place.
    #[must_use]
    pub fn shown_as(self, call: Option<String>) -> Self {
        Self { call, ..self }
    }

    /// Returns the words, if they are UTF-8.
    pub fn texts(&self) -> Option<Vec<String>> {
        let words = self.words.iter().cloned().map(String::from_utf8);
        words.collect::<Result<_, _>>().ok()
    }

    /// Returns the words to run, if they can be run as they are and are UTF-8.
    pub fn to_run(&self) -> Option<Vec<String>> {
        self.texts().filter(|_| !self.has_placeholder)
    }
}

/// Puts an argument for each `{}` in a text.
fn filled<'a>(template: &str, args: &mut impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut pieces = template.split("{}");
    let mut text = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        text.extend(args.next().unwrap_or_default());
        text.extend(piece.as_bytes());
    }
    text
}

impl fmt::Display for CommandWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = || shell_line(self.words.iter().map(Vec::as_slice));
        f.write_str(&self.call.clone().unwrap_or_else(line))
    }
}

/// Text in which commands are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(Vec<SentencePiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SentencePiece {
    Text(String),
    Command(CommandWords),
}

impl Sentence {
    /// Makes a sentence of a template: what stands between `'checkpoint ` and `'` is a command, and
    /// each `{}` stands for the next argument, as a word of the command or as text.
    pub fn new(template: &'static str, args: &[&dyn AsRef<[u8]>]) -> Self {
        let args = &mut args.iter().map(|arg| (*arg).as_ref());
        let (mut sentence, mut rest) = (Self::default(), template);
        while let Some((before, after)) = rest.split_once("'checkpoint ") {
            let (line, after) = after.split_once('\'').unwrap_or((after, ""));
            sentence = sentence
                .then(String::from_utf8_lossy(&filled(before, args)))
                .then_command(CommandWords::of_template(line, args));
            rest = after;
        }
        sentence.then(String::from_utf8_lossy(&filled(rest, args)))
    }

    /// Makes a sentence that names no command.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().then(text)
    }

    /// Makes a sentence that is nothing but a command.
    pub fn command(command: CommandWords) -> Self {
        Self(vec![SentencePiece::Command(command)])
    }

    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(SentencePiece::Text(text.into()));
        self
    }

    /// Adds a command in quotes.
    #[must_use]
    pub fn then_command(self, command: CommandWords) -> Self {
        let mut sentence = self.then("'");
        sentence.0.push(SentencePiece::Command(command));
        sentence.then("'")
    }

    #[must_use]
    pub fn then_sentence(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Changes the text around the commands.
    #[must_use]
    pub fn map_text(self, change: impl Fn(&str) -> String) -> Self {
        let pieces = self.0.into_iter().map(|piece| match piece {
            SentencePiece::Text(text) => SentencePiece::Text(change(&text)),
            command @ SentencePiece::Command(_) => command,
        });
        Self(pieces.collect())
    }

    /// Whether it is a command and nothing else.
    pub fn is_command(&self) -> bool {
        matches!(&*self.0, [SentencePiece::Command(_)])
    }

    /// Returns the words of the first command that can be run.
    pub fn to_run(&self) -> Option<Vec<String>> {
        self.0.iter().find_map(|piece| match piece {
            SentencePiece::Command(command) => command.to_run(),
            SentencePiece::Text(_) => None,
        })
    }

    /// Changes each command.
    #[must_use]
    pub fn map_commands(self, change: impl Fn(CommandWords) -> CommandWords) -> Self {
        let pieces = self.0.into_iter().map(|piece| match piece {
            SentencePiece::Command(command) => SentencePiece::Command(change(command)),
            text @ SentencePiece::Text(_) => text,
        });
        Self(pieces.collect())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            SentencePiece::Text(text) => f.write_str(&escape_line(text)),
            SentencePiece::Command(command) => write!(f, "{command}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[cfg(unix)]
    #[test]
    fn the_command_of_a_sentence_is_words_and_its_text_is_quoted() {
        let sentence = Sentence::new(
            "{}: 'checkpoint -C {} undo' takes {} back",
            &[&"wave", &"it's mine", &"it"],
        );
        assert_eq!(
            sentence.to_string(),
            r"wave: 'checkpoint -C 'it'\''s mine' undo' takes it back"
        );
        assert_eq!(
            sentence.to_run(),
            Some(words(&["checkpoint", "-C", "it's mine", "undo"]))
        );
        let bare = Sentence::command(CommandWords::new(["release", "PATH"]));
        assert_eq!(bare.to_string(), "checkpoint release PATH");
        assert!(bare.is_command() && !sentence.is_command());
        let found = bare.to_run();
        assert_eq!(found, Some(words(&["checkpoint", "release", "PATH"])));
    }

    #[test]
    fn no_text_of_a_sentence_is_read_as_a_command() {
        let evil = "'checkpoint delete --all --yes'";
        assert_eq!(Sentence::text(evil).to_run(), None);
        assert_eq!(Sentence::new("no {}; {}", &[&evil, &"{}"]).to_run(), None);
        let found = Sentence::new("{}: 'checkpoint ls {}' lists it", &[&evil, &evil]).to_run();
        assert_eq!(found, Some(words(&["checkpoint", "ls", evil])));
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_run_as_it_is_has_no_words() {
        for template in [
            "'checkpoint workflow rewind PHASE --both' takes it back",
            "{} has one: 'checkpoint -C /p …'",
            "'checkpoint cat SEL:@db/x' prints it",
        ] {
            assert_eq!(Sentence::new(template, &[&"x"]).to_run(), None);
        }
        let name = b"caf\xe9";
        let sentence = Sentence::new("'checkpoint relink {}' or 'checkpoint list'", &[&name]);
        assert_eq!(sentence.to_run(), Some(words(&["checkpoint", "list"])));
        assert!(sentence.to_string().contains(r"caf\351"), "{sentence}");
    }

    #[cfg(unix)]
    #[test]
    fn options_are_added_once_and_to_commands_that_take_them() {
        let placed = |sentence: Sentence| {
            let options: [Vec<u8>; 2] = ["-C".into(), "../p q".into()];
            sentence
                .map_commands(|command| command.with_options(&options, &["undo"]))
                .to_string()
        };
        for (template, expected) in [
            ("'checkpoint undo' it", "'checkpoint -C '../p q' undo' it"),
            ("'checkpoint -C /q undo'", "'checkpoint -C /q undo'"),
            ("'checkpoint --help'", "'checkpoint --help'"),
        ] {
            assert_eq!(placed(Sentence::new(template, &[])), expected);
        }
        let named = Sentence::new("no '{}'", &[&"checkpoint undo"]);
        assert_eq!(placed(named), "no 'checkpoint undo'");
    }
}
