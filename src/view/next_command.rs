//! The command that a hint or a message suggests, as words to run.

/// Returns the words of the first command in `text` that can be run as printed: one in quotes, or
/// the whole text. A command with a placeholder, such as `PATH` or `…`, is none.
pub fn argv(text: &str) -> Option<Vec<String>> {
    const PROGRAM: &str = "checkpoint ";
    let starts = text.match_indices(PROGRAM).map(|(at, _)| at);
    let mut quoted = starts.filter(|at| *at == 0 || text[..*at].ends_with('\''));
    quoted.find_map(|at| words(&text[at..], at > 0))
}

/// Splits a command line as a shell does; in quotes of our own it ends at a quote that opens no word.
fn words(line: &str, is_quoted: bool) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = line.chars();
    // After an escaped quote the word goes on in quotes.
    let mut may_open = true;
    let mut has_ended = !is_quoted;
    while let Some(c) = chars.next() {
        match c {
            '\'' if may_open => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
                may_open = false;
            }
            '\'' if is_quoted => {
                has_ended = true;
                break;
            }
            '\\' => {
                word.get_or_insert_default().push(chars.next()?);
                may_open = true;
            }
            ' ' => {
                words.extend(word.take());
                may_open = true;
            }
            other => {
                word.get_or_insert_default().push(other);
                may_open = false;
            }
        }
    }
    words.extend(word);
    let is_placeholder = |word: &String| {
        word.contains(['…', '\n'])
            || (word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()))
            || word.starts_with("SEL:")
    };
    (has_ended && words.len() > 1 && !words.iter().any(is_placeholder)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::argv;

    #[test]
    fn the_command_of_a_hint_is_found_as_words() {
        for (hint, expected) in [
            (
                "checkpoint release wave",
                Some(vec!["checkpoint", "release", "wave"]),
            ),
            (
                "'checkpoint list' shows them all; the newest is 4e3e79d1",
                Some(vec!["checkpoint", "list"]),
            ),
            (
                "'checkpoint -C 'my dir' undo' takes it back",
                Some(vec!["checkpoint", "-C", "my dir", "undo"]),
            ),
            (
                r"checkpoint release 'it'\''s'",
                Some(vec!["checkpoint", "release", "it's"]),
            ),
            (
                r"'checkpoint release 'it'\''s'' ends it",
                Some(vec!["checkpoint", "release", "it's"]),
            ),
            (
                "'checkpoint cat 4e3e79d1:' lists what it holds",
                Some(vec!["checkpoint", "cat", "4e3e79d1:"]),
            ),
            (
                "'checkpoint workflow rewind PHASE --both' takes it back",
                None,
            ),
            ("~/p has one: 'checkpoint -C /p …'", None),
            ("a checkpoint of another directory", None),
            ("give more digits of the id", None),
        ] {
            let words = argv(hint);
            let words: Option<Vec<&str>> = words
                .as_ref()
                .map(|words| words.iter().map(String::as_str).collect());
            assert_eq!(words, expected, "{hint}");
        }
    }
}
