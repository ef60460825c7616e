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

    fn allowed(line: &str, may_change: bool) -> bool {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        is_allowed(&words, may_change, words[0] == "cat")
    }

    #[test]
    fn what_reads_is_allowed_and_what_changes_needs_a_plan() {
        for line in [
            "status",
            "status -v",
            "list --stat -n 5 --kind=safety",
            "show @ --files",
            "diff a b -U 3 -- src/main.rs",
            "diff -U5 @~1",
            "ls @ -lR",
            "find --text x *.rs",
            "undo --list",
            "undo --dry-run",
            "redo --dry-run",
            "restore x --dry-run -- a b",
            "restore --patch - --dry-run",
            "restore --resume --dry-run",
            "prune --dry-run --keep 5",
            "workflow list --all",
            "workflow show",
            "workflow status run",
            "cat @:a",
        ] {
            assert!(allowed(line, false), "{line}");
        }
        for line in [
            "restore x --plan 0123 --yes",
            "restore --patch - --plan 0123 --yes",
            "restore --resume --plan 0123 --yes",
            "undo --plan 0123 -y",
            "redo --plan 0123 --yes",
            "create reason",
            "pin @",
            "unpin @",
            "reword @ other",
        ] {
            assert!(allowed(line, true), "{line}");
            assert!(!allowed(line, false), "{line}");
        }
    }

    #[test]
    fn nothing_else_is() {
        for line in [
            "",
            "help",
            "nothing",
            "--json list",
            "-C / list",
            "list -C /",
            "list --dir=/",
            "list --base /tmp",
            "list --here",
            "list --all",
            "list --remote origin",
            "list --help",
            "list --lock-timeout 99999",
            "restore x",
            "restore x --yes",
            "restore x --plan 0123",
            "restore x --dry-run --to /tmp/d",
            "restore x --plan 0123 --yes --to /tmp/d",
            "restore x --plan 0123 --yes --check id",
            "restore @/etc/passwd --dry-run",
            "restore x @- --dry-run",
            "restore x --contract --dry-run",
            "restore --patch /etc/passwd --dry-run",
            "restore --patch - --yes",
            "restore --patch=x --dry-run",
            "undo",
            "undo --yes",
            "prune",
            "prune --orphaned --dry-run",
            "prune --keep 1 --yes",
            "create --scope @/etc/passwd",
            "create --state-file /etc/passwd",
            "create --db /etc/x",
            "create --include-sensitive",
            "delete @ --yes",
            "workflow status --file /etc/passwd",
            "workflow init",
            "bisect",
            "hook",
            "ui",
            "mcp",
            "setup",
            "clone x y",
            "push",
            "export /tmp/x",
        ] {
            assert!(!allowed(line, true), "{line}");
        }
    }
}
