//! The commands that the page may run, each with the options that it may give.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command as Grammar};

use crate::cli::command_list;
use crate::shell::GlobalArgs;

/// Each form of a command: its effect, the command, and after a colon the arguments that it may have,
/// as the grammar calls them.
const FORMS: &str = include_str!("allowed.txt");

/// Whether the page may run a command; `may_change` says whether it may change anything, and
/// `is_content` whether the answer is a content.
pub fn is_allowed(words: &[OsString], may_change: bool, is_content: bool) -> bool {
    let is_text = |word: &OsString| word.to_str().is_some_and(|word| !word.contains('\0'));
    let given = arguments(words).filter(|given| !given.names_file);
    let Some(given) = given.filter(|_| words.iter().all(is_text)) else {
        return false;
    };
    let has = |name: &str| given.arguments.iter().any(|one| one == name);
    let mut forms = FORMS.lines().filter_map(|line| {
        let (head, arguments) = line.split_once(": ")?;
        let (effect, command) = head.split_once(' ')?;
        (command == given.command).then_some((effect, arguments))
    });
    forms.any(|(effect, arguments)| {
        let is_known = |one: &String| arguments.split(' ').any(|known| known == one);
        let fits = match effect {
            "content" | "reads" => true,
            // A dry run, or a list of what could be done.
            "shows" => has("dry_run") || has("list"),
            "restores" => may_change && has("digest") && has("yes"),
            _ => may_change,
        };
        fits && is_content == (effect == "content") && given.arguments.iter().all(is_known)
    })
}

/// What the words of a command give.
#[derive(Debug)]
struct GivenArguments {
    command: String,
    /// The arguments, as the grammar calls them.
    arguments: Vec<String>,
    /// Whether a word names a file to be read: a list or a patch.
    names_file: bool,
}

/// Reads the words by the grammar of their command; `None` if they do not fit it.
fn arguments(words: &[OsString]) -> Option<GivenArguments> {
    let name = words.first()?.to_str()?;
    let grammar = command_list::grammar(name)?;
    let mut grammar = GlobalArgs::augment_args(grammar).disable_help_flag(true);
    grammar = grammar.disable_help_subcommand(true);
    let matches = grammar.try_get_matches_from_mut(words).ok()?;
    let (mut command, mut given) = (name.to_owned(), Vec::new());
    let (mut at, mut inner) = (&grammar, &matches);
    collect(at, inner, &mut given);
    while let Some((below, matches)) = inner.subcommand() {
        command = format!("{command} {below}");
        (at, inner) = (at.find_subcommand(below)?, matches);
        collect(at, inner, &mut given);
    }
    let is_file = |name: &OsStr| name != "-";
    let patch = matches.try_get_raw("patch").ok().flatten();
    let names_patch = patch.is_some_and(|mut named| named.any(is_file));
    let names_file = name == "restore" && (names_patch || words[1..].iter().any(is_list));
    Some(GivenArguments {
        command,
        arguments: given,
        names_file,
    })
}

fn is_list(word: &OsString) -> bool {
    matches!(word.as_encoded_bytes(), [b'@', first, ..] if !b"~:".contains(first))
}

/// Adds the arguments that were typed.
fn collect(grammar: &Grammar, matches: &ArgMatches, given: &mut Vec<String>) {
    for arg in grammar.get_arguments() {
        let id = arg.get_id().as_str();
        let is_known = matches.ids().any(|known| known.as_str() == id);
        if is_known && matches.value_source(id) == Some(ValueSource::CommandLine) {
            given.push(id.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    fn allowed(line: &str, may_change: bool) -> bool {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        is_allowed(&words, may_change, words[0] == "cat")
    }

    #[test]
    fn what_reads_is_allowed_and_what_changes_needs_a_plan_and_nothing_else_is() {
        for (line, what) in rows::<(&str, Option<&str>)>(include_str!("tests/allow.json"), "words")
        {
            let answers = [false, true].map(|may_change| allowed(line, may_change));
            assert_eq!(answers, [what == Some("reads"), what.is_some()], "{line}");
        }
    }
}
