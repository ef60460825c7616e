//! Help as text, and messages of clap in our format.

use std::error::Error as _;
use std::ffi::OsString;

use clap::Command as Grammar;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::base::text::edit_distance;

/// Maximum width of help in columns.
pub const MAX_WIDTH: usize = 100;

/// Last line of the help of each command.
const OPTIONS: &str =
    "Options of every command, such as -C DIR, --json and --yes: checkpoint help options";

/// For each command the words of other programs that mean it: `command: word word`.
const OTHER_WORDS: &str = include_str!("commands/other_words.txt");

/// Examples of each command, below its name in brackets.
const EXAMPLES: &str = include_str!("commands/examples.txt");

/// Minimum length of the beginning of a word that stands for the word.
const BEGINNING: usize = 4;

/// Removes trailing spaces that clap leaves on empty lines.
fn trimmed(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// A message of clap instead of parsed arguments: help or version for stdout, or a failure.
pub struct ParseRefusal {
    pub text: String,
    pub is_failure: bool,
    /// The command whose help is named, if it is not the one of the call.
    pub meant: Option<String>,
}

impl ParseRefusal {
    /// `whole` is the grammar that refused the words.
    pub fn new(error: &clap::Error, args: &[OsString], whole: &Grammar) -> Self {
        let (said, is_failure) = (error.render().to_string(), error.use_stderr());
        let (text, meant) = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                (missing(args, whole), None)
            }
            ErrorKind::InvalidSubcommand => unknown(error, args, whole),
            _ if is_failure => (sentence(error, deepest(args, whole)), None),
            _ => (trimmed(&said), None),
        };
        Self {
            text,
            is_failure,
            meant,
        }
    }
}

/// Returns the deepest command that the words name, and those above it, as far as they are right.
pub fn named<'c>(args: &[OsString], whole: &'c Grammar) -> Vec<&'c Grammar> {
    let takes_value = |word: &str| {
        whole.get_arguments().any(|option| {
            option.get_action().takes_values()
                && (option
                    .get_long()
                    .is_some_and(|name| word == format!("--{name}"))
                    || option
                        .get_short()
                        .is_some_and(|sign| word == format!("-{sign}")))
        })
    };
    let (mut found, mut at, mut is_value) = (vec![whole], whole, false);
    for word in args.iter().skip(1).map(|word| word.to_string_lossy()) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = takes_value(&word);
        match at.find_subcommand(&*word) {
            Some(below) => {
                at = below;
                found.push(at);
            }
            None if !word.starts_with('-') && !is_value => break,
            None => {}
        }
    }
    found
}

fn deepest<'c>(args: &[OsString], whole: &'c Grammar) -> &'c Grammar {
    named(args, whole).pop().unwrap_or(whole)
}

fn missing(args: &[OsString], whole: &Grammar) -> String {
    let group = deepest(args, whole);
    let shown = group.get_subcommands().filter(|one| !one.is_hide_set());
    let names: Vec<&str> = shown.map(Grammar::get_name).collect();
    let more = group.get_subcommands().count() > names.len();
    format!(
        "{} needs a command: {}{}",
        group.get_name(),
        names.join(", "),
        if more { ", …" } else { "" }
    )
}

/// Returns the message about an unknown command, and the command that is most likely meant.
fn unknown(error: &clap::Error, args: &[OsString], whole: &Grammar) -> (String, Option<String>) {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => "",
    };
    let group = deepest(args, whole);
    let is_top = group.get_name() == whole.get_name();
    let place = if is_top {
        String::new()
    } else {
        format!("{} ", group.get_name())
    };
    let mut candidates = by_other_words(place.trim_end(), word);
    let in_capitals = group.find_subcommand(word.to_lowercase());
    candidates.extend(in_capitals.map(Grammar::get_name));
    let similar = error.get(ContextKind::SuggestedSubcommand);
    if let (true, Some(ContextValue::Strings(similar))) = (candidates.is_empty(), similar) {
        // The most similar one comes last.
        let near = similar.iter().rfind(|one| is_near(word, one));
        candidates.extend(near.map(String::as_str));
    }
    let mut text = format!("there is no {place}command '{word}'");
    if !candidates.is_empty() {
        let quoted: Vec<String> = candidates.iter().map(|one| format!("'{one}'")).collect();
        text.push_str(&format!("; did you mean {}?", quoted.join(" or ")));
    }
    let command = candidates.first().filter(|one| !one.starts_with('-'));
    let meant = command.map(|one| format!("{place}{one}"));
    (text, meant)
}

/// Returns the commands or options for which other programs have this word, or one that begins so.
/// `group` is that of the command, empty at the top and for options.
fn by_other_words(group: &str, word: &str) -> Vec<&'static str> {
    let find = |is_it: &dyn Fn(&str) -> bool| {
        let lines = OTHER_WORDS.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines
            .filter(|(_, words)| words.split(' ').any(is_it))
            .map(|(names, _)| names.rsplit_once('/').unwrap_or(("", names)))
            .filter(|(of, _)| *of == group)
            .map(|(_, names)| names.split(' ').collect::<Vec<_>>());
        found.next().unwrap_or_default()
    };
    let exact = find(&|other| other == word);
    if exact.is_empty() && word.len() >= BEGINNING {
        find(&|other| other.starts_with(word))
    } else {
        exact
    }
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
    let line = ["checkpoint"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .chain(["--help"]);
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

/// Formats a refusal of arguments in one line.
fn sentence(error: &clap::Error, command: &Grammar) -> String {
    let option = name_of(&text(error, ContextKind::InvalidArg));
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let what = if option.starts_with('-') {
                format!("there is no option '{option}' here")
            } else {
                format!("unexpected argument '{option}'")
            };
            let similar = all(error, ContextKind::SuggestedArg);
            let has = |long: &&str| {
                let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
                options.any(|one| long.strip_prefix("--") == Some(one))
            };
            let other = by_other_words("", &option).into_iter().find(has);
            what + &match other {
                Some(other) => did_you_mean(other, &[other.to_owned()]),
                None => did_you_mean(&option, &similar),
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} needs a value{}", one_of(": ", error))
        }
        ErrorKind::InvalidValue => {
            let similar = did_you_mean(&value, &all(error, ContextKind::SuggestedValue));
            format!(
                "{option} does not take '{value}'{}{similar}",
                one_of(", but ", error)
            )
        }
        ErrorKind::ValueValidation => format!("{option} {}", expected(error, &value)),
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> = all(error, ContextKind::InvalidArg);
            let missing: Vec<String> = missing.iter().map(|one| name_of(one)).collect();
            format!("{} needs {}", command.get_name(), listed(&missing, "and"))
        }
        ErrorKind::ArgumentConflict => {
            let others: Vec<String> = all(error, ContextKind::PriorArg);
            let others: Vec<String> = others.iter().map(|one| name_of(one)).collect();
            format!(
                "{option} cannot be used together with {}",
                others.join(", ")
            )
        }
        ErrorKind::TooManyValues => format!("unexpected argument '{value}'"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{option} needs more values")
        }
        ErrorKind::NoEquals => format!("{option} takes its value as {option}=VALUE"),
        ErrorKind::InvalidUtf8 => "an argument is not valid UTF-8".to_owned(),
        _ => first_paragraph(error),
    }
}

/// Says what a value must be that could not be parsed.
fn expected(error: &clap::Error, value: &str) -> String {
    let why = error.source().map(ToString::to_string).unwrap_or_default();
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let takes = if is_number && value.bytes().any(|byte| byte != b'0') {
        "takes a smaller number"
    } else if why.contains("non-zero") || why.contains(" 1..") {
        "takes a whole number from 1"
    } else if why.contains("digit") || why.contains("not in ") {
        "takes a whole number"
    } else {
        return format!("does not take '{value}': {why}");
    };
    format!("{takes}, not '{value}'")
}

/// Lists the possible values.
fn one_of(lead: &str, error: &clap::Error) -> String {
    let values = all(error, ContextKind::ValidValue);
    match values.split_last() {
        None => String::new(),
        Some(_) => lead.to_owned() + &listed(&values, "or"),
    }
}

/// Formats `a, b or c`.
fn listed(words: &[String], link: &str) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} {link} {last}", others.join(", "))
        }
        _ => words.concat(),
    }
}

/// Whether a word may be a slip of the other. Of a short word, every letter counts.
fn is_near(word: &str, meant: &str) -> bool {
    let word = word.trim_start_matches('-');
    let meant = meant.trim_start_matches('-');
    // Two letters that changed places are a distance of two.
    let most = (word.len() / 3).max(1 + usize::from(word.len() == meant.len()));
    meant.starts_with(word) || edit_distance(word, meant) <= most
}

fn did_you_mean(word: &str, similar: &[String]) -> String {
    similar
        .iter()
        .find(|one| is_near(word, one))
        .map_or_else(String::new, |one| format!("; did you mean '{one}'?"))
}

/// Strips the placeholders: `--limit <N>` becomes `--limit`, `<SEL>` becomes SEL.
fn name_of(shown: &str) -> String {
    let word = if shown.starts_with('-') {
        shown.split([' ', '=', '[']).next().unwrap_or_default()
    } else {
        shown
    };
    word.replace(['<', '>', '[', ']'], "")
        .trim_end_matches("...")
        .to_owned()
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    all(error, kind).into_iter().next().unwrap_or_default()
}

fn all(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    }
}

/// Returns what clap says of an error that has no sentence here.
fn first_paragraph(error: &clap::Error) -> String {
    let said = error.render().to_string();
    let first = said.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first
        .trim_start_matches("error: ")
        .split_whitespace()
        .collect();
    words.join(" ")
}
