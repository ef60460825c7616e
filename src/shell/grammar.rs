//! Help as text, and messages of clap in our format.

use std::ffi::OsString;

use clap::Command as Grammar;
use clap::error::ContextKind::{
    self, InvalidArg, InvalidSubcommand, InvalidValue, PriorArg, SuggestedArg, SuggestedSubcommand,
    SuggestedValue, ValidValue,
};
use clap::error::{ContextValue, ErrorKind};

use crate::base::text::is_similar;

/// Maximum width of help in columns.
pub const MAX_WIDTH: usize = 100;

/// Last line of the help of each command.
const OPTIONS: &str =
    "Options of every command, such as -C DIR, --json and --yes: checkpoint help options";

/// Examples of each command, below its name in brackets.
const EXAMPLES: &str = include_str!("../commands/examples.txt");

/// Other words for commands, options and topics of help, as git and similar programs have them; an
/// option may have a sentence in place of the word that is meant.
const SYNONYMS: &str = include_str!("../commands/synonyms.txt");

/// Removes trailing spaces that clap leaves on empty lines.
fn trimmed(text: &str) -> String {
    let lines = text.lines();
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A message of clap instead of parsed arguments: help or version for stdout, or a failure.
pub struct ParseRefusal {
    pub text: String,
    pub is_failure: bool,
    /// The command that is meant, below the one that is named.
    pub meant: Option<String>,
}

impl ParseRefusal {
    /// `whole` is the grammar that refused the words.
    pub fn new(error: &clap::Error, args: &[OsString], whole: &Grammar) -> Self {
        // What was typed comes as it is: escape sequences are not taken out.
        let text = error.render().ansi().to_string();
        if !error.use_stderr() {
            return Self {
                text: trimmed(&text),
                is_failure: false,
                meant: None,
            };
        }
        let named = named(args, whole);
        let at = named.last().copied().unwrap_or(whole);
        let values = |kind| values(error, kind);
        let mut said = complaint(error, &text, &named, at);
        // The most similar one comes last; clap also offers what is hardly similar.
        let similar = |suggested, given| {
            let given = values(given).pop()?;
            let is_alike = |known: &String| is_similar(plain(&given), plain(known));
            values(suggested).pop().filter(is_alike)
        };
        let typed = values(InvalidSubcommand).pop();
        let is_setting = typed.is_some() && at.get_name() == "config";
        let synonym = typed.and_then(|typed| synonym(&typed, at.get_name()));
        let command = synonym.or_else(|| similar(SuggestedSubcommand, InvalidSubcommand));
        let command = command.filter(|_| !is_setting);
        let other =
            || similar(SuggestedArg, InvalidArg).or_else(|| similar(SuggestedValue, InvalidValue));
        let typed = [InvalidSubcommand, InvalidArg, PriorArg].map(values);
        let mut typed = typed.iter().flatten();
        let option = || typed.find_map(|typed| option_synonym(typed, at));
        let is_sentence = |meant: &String| command.is_none() && meant.contains(' ');
        match command.clone().or_else(option).or_else(other) {
            Some(sentence) if is_sentence(&sentence) => said.push_str(&format!("; {sentence}")),
            Some(meant) => {
                let meant = meant.split(',').map(|one| format!("'{one}'"));
                let meant = joined(&meant.collect::<Vec<_>>(), "or");
                said.push_str(&format!("; did you mean {meant}?"));
            }
            // Of a letter alone, or a long word, it is no name.
            None if text.contains(" as a value, use '-- -")
                && !text.contains("use '-- --")
                && values(InvalidArg)
                    .iter()
                    .all(|arg| !args.contains(&arg.into())) =>
            {
                said.push_str("; a name that begins with '-' goes behind '--'");
            }
            None if is_setting => said.push_str("; 'checkpoint config' shows all settings"),
            None => {}
        }
        Self {
            text: said,
            is_failure: true,
            meant: command.and_then(|meant| Some(meant.split([',', ' ']).next()?.to_owned())),
        }
    }
}

/// Returns an option without its dashes and value.
fn plain(word: &str) -> &str {
    let word = word.trim_start_matches('-');
    word.split(['=', ' ']).next().unwrap_or(word)
}

fn values(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    }
}

/// Says what is wrong with a line that names a command; `text` is what clap says.
fn complaint(error: &clap::Error, text: &str, path: &[&Grammar], at: &Grammar) -> String {
    let first = |kind| values(error, kind).into_iter().next().unwrap_or_default();
    let words: Vec<&str> = path.iter().skip(1).map(|one| one.get_name()).collect();
    let words = words.join(" ");
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = first(InvalidSubcommand);
            format!("there is no {words} command '{typed}'").replace("  ", " ")
        }
        ErrorKind::UnknownArgument if first(InvalidArg).starts_with('-') => {
            format!("there is no option '{}' here", first(InvalidArg))
        }
        ErrorKind::InvalidValue if first(InvalidValue).is_empty() => {
            let arg = first(InvalidArg);
            let choices = joined(&values(error, ValidValue), "or");
            let said = format!("{} needs a value: ", arg.split(' ').next().unwrap_or(&arg));
            (said + &choices).trim_end_matches(": ").to_owned()
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let shown = at.get_subcommands().filter(|one| !one.is_hide_set());
            let names: Vec<&str> = shown.map(Grammar::get_name).collect();
            let has_more = names.len() < at.get_subcommands().count();
            let more = if has_more { ", …" } else { "" };
            format!("{words} needs a command: {}{more}", names.join(", "))
        }
        ErrorKind::MissingRequiredArgument => {
            let mut names = values(error, InvalidArg);
            names.sort_by_key(|name| name.contains("--"));
            let said = |name: String| match name.strip_prefix("<--") {
                Some(first) => format!("one of --{}", first.replace('|', ", ")),
                None => name.replace('|', " or "),
            };
            let names: Vec<String> = names.into_iter().map(said).collect();
            let names = joined(&names, "and").replace(['<', '>'], "");
            format!("{words} needs {}", names.replace("...", ""))
        }
        _ => in_one_line(text),
    }
}

/// Formats `a, b and c`.
fn joined(words: &[String], link: &str) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} {link} {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Returns the command or topic below `above` that another word means, with the options it needs.
pub fn synonym(typed: &str, above: &str) -> Option<String> {
    let above = above.trim_start_matches("checkpoint");
    synonyms(typed).find_map(|meant| {
        let (words, options) = meant.split_at(meant.find(" -").unwrap_or(meant.len()));
        let (group, name) = words.rsplit_once(' ').unwrap_or(("", words));
        (group == above).then(|| format!("{name}{options}"))
    })
}

/// Returns what an option of other programs means at a command: what begins with the command, or with
/// an argument that it takes.
fn option_synonym(typed: &str, at: &Grammar) -> Option<String> {
    let is_taken = |word: &str| {
        let is_arg = |arg: &clap::Arg| {
            let mut names = arg.get_value_names().into_iter().flatten();
            let long = word.strip_prefix("--");
            (long.is_some() && arg.get_long() == long)
                || arg.is_positional() && names.any(|name| name.split('|').any(|name| name == word))
        };
        word == at.get_name() || at.get_arguments().any(is_arg)
    };
    let mut found = synonyms(typed).filter(|meant| meant.split(' ').next().is_some_and(is_taken));
    found.next().map(str::to_owned)
}

/// Returns all that a word means.
fn synonyms(typed: &str) -> impl Iterator<Item = &'static str> {
    let lines = SYNONYMS.lines().filter_map(|line| line.split_once(": "));
    let is_it = move |words: &str| words.split(' ').any(|word| word == typed);
    lines.filter_map(move |(meant, words)| is_it(words).then_some(meant))
}

/// Returns what clap says of an error, without its advice.
fn in_one_line(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    let words: Vec<&str> = first.split_whitespace().collect();
    let plain = [
        ("invalid digit found in string", "it is no whole number"),
        (
            "number would be zero for non-zero type",
            "it must be 1 or more",
        ),
        ("number too large to fit in target type", "it is too large"),
        ("0 is not in 1..=4294967295", "it must be 1 or more"),
        (
            "0 is not in 1..18446744073709551615",
            "it must be 1 or more",
        ),
    ];
    plain
        .into_iter()
        .fold(words.join(" "), |said, (jargon, plain)| {
            said.replace(jargon, plain)
        })
}

/// Returns the program and the commands that the words name, as far as they are right.
pub fn named<'c>(args: &[OsString], whole: &'c Grammar) -> Vec<&'c Grammar> {
    let mut found = vec![whole];
    for word in args.iter().skip(command_at(args).unwrap_or(args.len())) {
        let Some(below) = found.last().and_then(|at| at.find_subcommand(word)) else {
            break;
        };
        found.push(below);
    }
    found
}

/// Returns the position of the word that names the command: the first that is no option.
pub fn command_at(args: &[OsString]) -> Option<usize> {
    let takes_value = |word: &OsString| {
        let word = word.to_str().unwrap_or_default();
        ["-C", "--dir", "--base", "--color", "--lock-timeout"].contains(&word)
    };
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let is_value = |at: usize| at > 1 && takes_value(&args[at - 1]);
    (1..args.len()).find(|at| !(is_option(&args[*at]) || is_value(*at)))
}

/// Prepares the grammar for help: examples and a pointer to the options of every command, which
/// are hidden, below each command.
pub fn with_help(whole: Grammar) -> Grammar {
    whole
        .mut_args(|arg| {
            let is_global = arg.is_global_set();
            arg.hide(is_global)
        })
        .mut_subcommands(|command| described(command, ""))
        .after_long_help("Topics: checkpoint help topics")
}

fn described(command: Grammar, above: &str) -> Grammar {
    let words = format!("{above}{}", command.get_name());
    let mut below = String::new();
    let hidden = command.get_subcommands().filter(|one| one.is_hide_set());
    for one in hidden {
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        below.push_str(&format!("  {:<11}  {about}\n", one.get_name()));
    }
    let short = if below.is_empty() {
        OPTIONS.to_owned()
    } else {
        below = format!("More commands:\n{below}\n");
        format!("More commands: checkpoint {words} --help\n{OPTIONS}")
    };
    below.push_str("Examples:\n");
    for example in examples(&words) {
        below.push_str(&format!("  {example}\n"));
    }
    command
        .mut_subcommands(|one| described(one, &format!("{words} ")))
        .after_help(short)
        .after_long_help(format!("{below}\n{OPTIONS}"))
}

/// Returns the examples of a command such as `workflow init`, each a line of a shell and, after
/// three blanks, a remark.
pub fn examples(words: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let blocks = EXAMPLES.split("\n\n");
    let named = blocks.filter_map(|block| block.strip_prefix('[')?.split_once("]\n"));
    let block = named
        .filter(move |(name, _)| *name == words)
        .map(|(_, lines)| lines);
    block.flat_map(str::lines)
}

/// Returns the help of a command such as `workflow init`, or of the program; `None` if there is no
/// such command.
pub fn help_of(whole: &Grammar, words: &[String]) -> Option<String> {
    let mut at = whole;
    for word in words {
        at = at.find_subcommand(word)?;
    }
    let words = words.iter().map(String::as_str);
    let line = ["checkpoint"].into_iter().chain(words).chain(["--help"]);
    let error = with_help(whole.clone()).try_get_matches_from(line).err()?;
    (!error.use_stderr()).then(|| trimmed(&error.render().to_string()))
}

/// Returns the help of the options that every command takes.
pub fn help_of_options(whole: &Grammar) -> String {
    let global = whole.get_arguments().filter(|arg| arg.is_global_set());
    let mut page = Grammar::new("checkpoint")
        .disable_help_flag(true)
        .max_term_width(MAX_WIDTH)
        .args(global.cloned())
        .help_template("{all-args}");
    trimmed(&page.render_long_help().to_string())
}
