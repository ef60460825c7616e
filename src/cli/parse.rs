//! Parses the command line. Building the grammar of all commands takes longer than most commands
//! run, so for a valid call only that of the named command is built.

use std::env::consts::{ARCH, OS};
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;

use clap::builder::Styles;
use clap::{Args as _, Command as Grammar, FromArgMatches as _, Parser};

use crate::answer::place::PlaceWords;
use crate::cli::command_list::{self, AnyCommand};
use crate::shell::grammar;
use crate::shell::{GlobalArgs, ParseRefusal};

/// Snapshot this directory into a shadow git repository, and bring it back.
#[derive(Debug, Parser)]
#[command(name = "checkpoint", bin_name = "checkpoint", version, max_term_width = grammar::MAX_WIDTH)]
#[command(disable_help_subcommand = true, args_override_self = true, styles = Styles::plain())]
#[command(override_help = include_str!("../commands/first_screen.txt"))]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<AnyCommand>,
}

/// Reads the command line.
///
/// # Errors
/// A message instead: help, the version, or a usage error.
pub fn parse(args: &[OsString]) -> Result<Cli, ParseRefusal> {
    parse_lean(args).map_or_else(|| parse_whole(args), Ok)
}

fn parse_whole(args: &[OsString]) -> Result<Cli, ParseRefusal> {
    let mut whole = grammar::with_help(command());
    let parsed = whole
        .try_get_matches_from_mut(args)
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    parsed.map_err(|error| ParseRefusal::new(&error, args, &whole))
}

/// Parses a valid call with the grammar of one command, which is any one if none is named. No call
/// for help and errors, which need the whole grammar.
fn parse_lean(args: &[OsString]) -> Option<Cli> {
    let mut words = args.iter().skip(1).filter_map(|word| word.to_str());
    let named = words.find_map(command_list::grammar);
    let command = named.or_else(|| command_list::grammar("status").filter(|_| args.len() == 1))?;
    let whole = Grammar::new("checkpoint")
        .disable_help_subcommand(true)
        .args_override_self(true);
    let whole = GlobalArgs::augment_args(whole).subcommand(command);
    let mut matches = whole.try_get_matches_from(args).ok()?;
    Cli::from_arg_matches_mut(&mut matches).ok()
}

/// Returns the whole grammar.
pub fn command() -> Grammar {
    <Cli as clap::CommandFactory>::command()
}

/// Returns the command at hand as far as a wrong line names one, such as `checkpoint workflow init`.
pub fn help_of(args: &[OsString]) -> String {
    let whole = command();
    let named = grammar::named(args, &whole).into_iter();
    named.map(Grammar::get_name).collect::<Vec<_>>().join(" ")
}

/// Whether a command line calls a command, however wrong it is otherwise; a call for help is none.
pub fn calls(args: &[OsString], command: &str) -> bool {
    let asks_for_help = args.iter().any(|word| word == "--help" || word == "-h");
    let named = grammar::command_at(args).and_then(|at| args.get(at));
    named.is_some_and(|word| word == command) && !asks_for_help
}

/// Returns the version, with what it was built from if `-v` stands beside it; `None` if the call asks
/// for anything else.
pub fn version_asked_for(args: &[OsString]) -> Option<String> {
    let is_version = |word: &OsString| word == "--version" || word == "-V";
    let is_verbose = |word: &OsString| word == "--verbose" || word == "-v";
    match args {
        [_, word] if is_version(word) => Some(version()),
        [_, one, other]
            if (is_version(one) && is_verbose(other)) || (is_verbose(one) && is_version(other)) =>
        {
            Some(long_version())
        }
        _ => None,
    }
}

/// Returns what advice in the answer to a call depends on.
pub fn place(
    dir: Option<&Path>,
    base: Option<&Path>,
    left_by_a_signal: Option<&'static str>,
) -> Rc<PlaceWords> {
    let given = [("-C", dir), ("--base", base)].into_iter();
    let given = given.filter_map(|(name, dir)| Some((name, dir?)));
    let words = given.flat_map(|(name, dir)| [name.as_ref(), dir.as_os_str()]);
    Rc::new(PlaceWords {
        options: words.map(|word| word.as_encoded_bytes().to_vec()).collect(),
        commands: command_list::NAMES,
        left_by_a_signal,
        ..PlaceWords::default()
    })
}

/// The commit that `.ci/package` names.
const COMMIT: Option<&str> = option_env!("CHECKPOINT_COMMIT");

fn version() -> String {
    concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}

/// Returns the version with what the program was built from.
fn long_version() -> String {
    let features = [
        cfg!(feature = "mcp").then_some("mcp"),
        cfg!(feature = "sqlite").then_some("sqlite"),
        cfg!(feature = "ui").then_some("ui"),
    ];
    let features = match features.into_iter().flatten().collect::<Vec<_>>() {
        none if none.is_empty() => "none".to_owned(),
        features => features.join(" "),
    };
    let platform = [
        Some(OS),
        Some(ARCH),
        cfg!(target_env = "gnu").then_some("gnu"),
        cfg!(target_env = "musl").then_some("musl"),
        cfg!(target_env = "msvc").then_some("msvc"),
        cfg!(target_feature = "crt-static").then_some("static"),
    ];
    let platform = platform.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let version = version();
    let commit = COMMIT.unwrap_or("not recorded");
    format!("{version}commit    {commit}\nfeatures  {features}\nplatform  {platform}\n")
}

#[cfg(test)]
mod tests {
    use std::env::consts::{ARCH, OS};

    use super::*;

    #[test]
    fn the_version_is_told_without_and_with_the_whole_command_line_alike() {
        let asked = |line| version_asked_for(&words(line));
        assert_eq!(asked("checkpoint -V"), Some(command().render_version()));
        assert_eq!(asked("checkpoint --version list"), None);
    }

    #[test]
    fn a_verbose_version_names_commit_features_and_platform() {
        let told = version_asked_for(&words("checkpoint --version -v")).expect("an answer");
        for part in [
            "checkpoint 0",
            "commit    ",
            "features  ",
            "platform  ",
            OS,
            ARCH,
        ] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(version_asked_for(&words("checkpoint -v -V")), Some(told));
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn every_command_is_known_here_with_the_same_options() {
        for whole in super::command().get_subcommands() {
            let name = whole.get_name();
            let lean = command_list::grammar(name).expect(name);
            let names = |command: &Grammar| -> Vec<String> {
                command
                    .get_arguments()
                    .map(|argument| format!("{argument:?}"))
                    .collect()
            };
            assert_eq!(names(&lean), names(whole), "{name}");
            assert_eq!(
                lean.get_groups().count(),
                whole.get_groups().count(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_call_means_the_same_either_way() {
        for line in "checkpoint|checkpoint list -n 3 --json|checkpoint -C list create -r list|\
            checkpoint -q create --reason create -s build --keep 7|\
            checkpoint --json status --brief|\
            checkpoint restore latest~2 a b --yes --color never|\
            checkpoint diff latest -- list|\
            checkpoint --lock-timeout 3 prune --dry-run --lock-timeout 4|checkpoint config|\
            checkpoint phase done one --file list --json|checkpoint workflow list --all|\
            checkpoint save -m list|checkpoint log -n 3"
            .split('|')
        {
            let whole = Cli::try_parse_from(words(line)).expect(line);
            let either = super::parse(&words(line)).ok().expect(line);
            assert_eq!(format!("{either:?}"), format!("{whole:?}"));
            let is_lean = parse_lean(&words(line)).is_some();
            // If a value is the name of a command, the whole grammar is used.
            assert_eq!(is_lean, !line.contains("-C list"), "{line}");
        }
        for line in [
            "checkpoint list --help",
            "checkpoint create two words --stray",
            "checkpoint lsit",
            "checkpoint -h",
        ] {
            assert!(parse_lean(&words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn every_refusal_of_arguments_is_said_in_plain_words() {
        for (line, expected) in [
            ("create --bogus", "there is no option '--bogus' here"),
            (
                "create --resaon x",
                "there is no option '--resaon' here; did you mean '--reason'?",
            ),
            (
                "list -n abc",
                "invalid value 'abc' for '--limit <N>': it is no whole number",
            ),
            ("list -n", "--limit needs a value"),
            ("list --kind", "--kind needs a value: checkpoint or safety"),
            (
                "list --color",
                "--color needs a value: auto, always or never",
            ),
            (
                "workflow rewind",
                "workflow rewind needs PHASE and one of --files, --state, --both",
            ),
            (
                "list --color sometimes",
                "invalid value 'sometimes' for '--color <WHEN>' [possible values: auto, always, never]",
            ),
            (
                "find --text x -n 0",
                "invalid value '0' for '--limit <N>': it must be 1 or more",
            ),
            (
                "prune --keep 0",
                "invalid value '0' for '--keep <N>': it must be 1 or more",
            ),
            (
                "prune --keep 99999999999",
                "invalid value '99999999999' for '--keep <N>': 99999999999 is not in 1..=4294967295",
            ),
            ("pin", "pin needs SEL"),
            ("create --format json", "create needs --contract"),
            (
                "restore x --to d --overlay",
                "the argument '--to <DIR>' cannot be used with '--overlay'",
            ),
            ("pin a b", "unexpected argument 'b' found"),
        ] {
            let line = format!("checkpoint {line}");
            let refused = super::parse(&words(&line)).expect_err(&line);
            assert_eq!(refused.text, expected, "{line}");
        }
    }
}
