//! Finds the calls of this program in a command line for which an agent has to ask the user.
//!
//! No shell is imitated: the words are looked at, wherever they stand, in quotes and comments too. So
//! `echo checkpoint restore` and a commit message with these words are taken for a call, and what a
//! variable or an alias hides is not found.

/// Commands that change the directory, or remove checkpoints that were not to go.
const VERBS: [&str; 6] = ["restore", "undo", "redo", "rewind", "delete", "rm"];
/// Options before a command that take the next word.
const OPTIONS_WITH_VALUE: &str = "-C --dir --base --color --lock-timeout -w --workflow";
/// Options of other programs whose value is a directory, which may have our name.
const OPTIONS_WITH_DIRECTORY: [&str; 5] = ["-C", "--directory", "--prefix", "--cwd", "--git-dir"];
/// Upper bound on the words in which an option is looked for that makes a call harmless.
const LONGEST_CALL: usize = 256;
/// Stands for a quote.
const QUOTE: char = '\u{1}';

/// Returns the command, such as `restore`, for which a command line of a POSIX shell or PowerShell
/// needs the user's consent. A dry run changes nothing and needs none.
pub fn asks_consent(command: &str) -> Option<&'static str> {
    let quoted = command.replace(['\'', '"'], "\u{1}");
    let joined = quoted.replace("\\\n", " ").replace("`\n", " ");
    // A redirection is no end of a command. A backtick begins one, or hides a letter from PowerShell.
    let lines = joined.replace("&>", ">");
    ["(", ""].into_iter().find_map(|tick| {
        let lines = lines.replace('`', tick);
        let mut commands = lines.split([';', '|', '&', '\n', '\r']);
        commands.find_map(in_command)
    })
}

fn in_command(command: &str) -> Option<&'static str> {
    let spaced = command.replace('(', " ( ");
    let words: Vec<&str> = spaced
        .split(|c: char| c.is_whitespace() || matches!(c, ')' | '{' | '}' | ',' | '$'))
        .filter(|word| !word.is_empty())
        .collect();
    (0..words.len()).find_map(|at| {
        let is_directory = at > 0 && OPTIONS_WITH_DIRECTORY.contains(&words[at - 1]);
        let is_call = is_this_program(words[at]) && !is_directory;
        is_call.then(|| verb(&words[at + 1..])).flatten()
    })
}

/// Whether a word names this program, by any path.
fn is_this_program(word: &str) -> bool {
    let word = word.replace(QUOTE, "").to_ascii_lowercase();
    let is_name = |word: &str| {
        let name = word.rsplit(['/', '\\', '=']).next();
        matches!(name, Some("checkpoint" | "checkpoint.exe"))
    };
    is_name(&word) || is_name(&word.replace('\\', ""))
}

/// Returns the command of a call that needs consent, given the words behind our name.
fn verb(words: &[&str]) -> Option<&'static str> {
    let mut rest = words.iter();
    let mut next = || loop {
        let word = rest.next()?.replace([QUOTE, '\\'], "");
        if OPTIONS_WITH_VALUE.split(' ').any(|option| option == word) || word.ends_with(['<', '>'])
        {
            rest.next();
        } else if !word.starts_with('-') && !word.contains(['<', '>', '(', '@']) && !word.is_empty()
        {
            return Some(word);
        }
    };
    let mut first = next()?;
    let is_workflow = first == "workflow";
    if is_workflow {
        first = next().filter(|second| second == "rewind")?;
    }
    let verb = VERBS.into_iter().find(|verb| *verb == first)?;
    for word in rest.take(LONGEST_CALL) {
        // What is in quotes, or comes out of another command, may be no option.
        let is_harmless = match word.trim_end_matches(QUOTE) {
            "--dry-run" | "--help" | "-h" => true,
            "-n" => is_workflow,
            "--list" => verb == "undo" || verb == "redo",
            "--" | "(" => break,
            _ => false,
        };
        if is_harmless {
            return None;
        }
        if word.contains(QUOTE) {
            break;
        }
    }
    Some(verb)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    #[test]
    fn calls_that_change_files_or_the_store_ask_and_no_others() {
        for (line, verb) in rows(include_str!("tests/shell_calls.json"), "calls") {
            assert_eq!(asks_consent(line), verb, "{line}");
        }
    }

    #[test]
    fn long_lines_take_little_time() {
        let pieces = "checkpoint #checkpoint undo --dry-run #'#\"#(#\\\"#checkpoint \"#-C ";
        for piece in pieces.split('#') {
            let line = piece.repeat((1 << 18) / piece.len());
            let started = std::time::Instant::now();
            let _ = asks_consent(&line);
            assert!(started.elapsed().as_secs() < 20, "{piece:?}");
        }
    }
}
