//! The words of the command line, exactly as typed. The door to clap.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::base::shell_word::shell_word;
use crate::config::settings::OwnFile;
use crate::view::{place, topics};

pub mod bisect;
pub mod cat;
pub mod config;
pub mod contract;
pub mod create;
pub mod delete;
pub mod diff;
pub mod find;
pub mod guard;
pub mod help;
pub mod hold;
mod lean;
pub mod list;
pub mod phase;
pub mod pin;
pub mod prune;
pub mod relink;
pub mod restore;
pub mod schema;
pub mod shell;
pub mod status;
pub mod verify;
pub mod workflow;

/// Seconds for which another process is waited for, unless the user says otherwise.
pub const LOCK_TIMEOUT_SECONDS: u64 = 30;

/// Snapshot this directory into a shadow git repository, and bring it back.
#[derive(Debug, Parser)]
#[command(name = "checkpoint", version, max_term_width = 80)]
#[command(disable_help_subcommand = true, args_override_self = true, after_help = topics_named())]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that every command takes, before or after its name.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options for every command")]
pub struct GlobalArgs {
    /// The directory to act on, exactly; no search upwards
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The folder under which all stores lie
    #[arg(long, global = true, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Answer with one JSON object, and never ask
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but results and failures
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Take every question as answered with yes
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Never ask; a question is a refusal
    #[arg(long, global = true)]
    pub no_input: bool,
    /// Seconds to wait for another process to finish
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = LOCK_TIMEOUT_SECONDS)]
    pub lock_timeout: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(list::ShowArgs),
    Diff(diff::DiffArgs),
    Cat(cat::CatArgs),
    Find(find::FindArgs),
    Restore(restore::RestoreArgs),
    Undo(restore::UndoArgs),
    Redo(restore::RedoArgs),
    Bisect(bisect::BisectArgs),
    Guard(guard::GuardArgs),
    Hold(hold::HoldArgs),
    Release(hold::ReleaseArgs),
    Delete(delete::DeleteArgs),
    Pin(pin::PinArgs),
    Unpin(pin::UnpinArgs),
    Prune(prune::PruneArgs),
    Verify(verify::VerifyArgs),
    Relink(relink::RelinkArgs),
    Status(status::StatusArgs),
    Workflow(workflow::WorkflowArgs),
    Phase(phase::PhaseArgs),
    Task(phase::TaskArgs),
    Config(config::ConfigArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
    Schema(schema::SchemaArgs),
    Help(help::HelpArgs),
}

impl Command {
    /// Whether the work grows with the directory or the store.
    pub fn may_take_long(&self) -> bool {
        match self {
            Self::Status(args) => !args.brief,
            Self::Create(_)
            | Self::Diff(_)
            | Self::Restore(_)
            | Self::Undo(_)
            | Self::Redo(_)
            | Self::Bisect(_)
            | Self::Prune(_)
            | Self::Verify(_) => true,
            _ => false,
        }
    }

    /// Whether it takes `--dry-run`.
    pub fn has_dry_run(&self) -> bool {
        use workflow::WorkflowCommand as Of;
        match self {
            Self::Workflow(args) => matches!(args.command, Of::Rewind(_) | Of::Recover(_) | Of::Cleanup(_)),
            Self::Restore(_) | Self::Undo(_) | Self::Redo(_) | Self::Prune(_) | Self::Delete(_) | Self::Relink(_) => {
                true
            }
            _ => false,
        }
    }

    /// No way back depends on the user's own configuration.
    pub fn own_file(&self) -> OwnFile {
        match self {
            Self::List(_) | Self::Cat(_) | Self::Restore(_) | Self::Undo(_) | Self::Redo(_) => OwnFile::MayBeBad,
            _ => OwnFile::MustBeGood,
        }
    }

    /// The word that stands in the schema of its JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::List(_) => "list",
            Self::Show(_) => "show",
            Self::Diff(_) => "diff",
            Self::Cat(_) => "cat",
            Self::Find(_) => "find",
            Self::Restore(_) => "restore",
            Self::Undo(_) => "undo",
            Self::Redo(_) => "redo",
            Self::Bisect(_) => "bisect",
            Self::Guard(_) => "guard",
            Self::Hold(_) => "hold",
            Self::Release(_) => "release",
            Self::Delete(_) => "delete",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::Prune(_) => "prune",
            Self::Verify(_) => "verify",
            Self::Relink(_) => "relink",
            Self::Status(_) => "status",
            Self::Workflow(args) => args.command.name(),
            Self::Phase(args) => args.command.name(),
            Self::Task(args) => args.command.name(),
            Self::Config(_) => "config",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Schema(_) => "schema",
            Self::Help(_) => "help",
        }
    }
}

/// The name of a command, if this word is one.
pub fn command_name(word: &str) -> Option<String> {
    command().find_subcommand(word).map(|found| found.get_name().to_owned())
}

/// Set by completion scripts alone, with the name of the shell: the words after `--` are to be completed.
pub const COMPLETE_VARIABLE: &str = "CHECKPOINT_COMPLETE";

/// Has each command that is advised act where this call does.
pub fn place(global: &GlobalArgs) {
    let given = [("-C", &global.dir), ("--base", &global.base)].into_iter();
    let given = given.filter_map(|(name, dir)| Some((name, dir.as_ref()?)));
    let options: String =
        given.map(|(name, dir)| format!("{name} {} ", shell_word(dir.as_os_str().as_encoded_bytes()))).collect();
    if !options.is_empty() {
        place::tell(options, command().get_subcommands().map(|found| found.get_name().to_owned()).collect());
    }
}

/// The whole command line as clap sees it.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Reads the command line.
///
/// # Errors
/// What is to be said instead: help, the version, or what was wrong.
pub fn parse(args: &[std::ffi::OsString]) -> Result<Cli, ParseRefusal> {
    if let Some(cli) = lean::parse(args) {
        return Ok(cli);
    }
    Cli::try_parse_from(args).map_err(|error| {
        let said = error.render().to_string();
        let is_failure = error.use_stderr();
        ParseRefusal { text: if is_failure { in_one_line(&said) } else { trimmed(&said) }, is_failure }
    })
}

/// What was wrong, and the tip if clap has one: `what; a similar subcommand exists: 'list'`.
fn in_one_line(said: &str) -> String {
    let mut paragraphs = said.split("\n\n");
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = joined(paragraphs.next().unwrap_or_default().trim_start_matches("error: "));
    let tips = paragraphs.flat_map(str::lines).filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let parts: Vec<String> = std::iter::once(what).chain(tips.map(joined)).collect();
    parts.join("; ")
}

/// Without the blanks that clap leaves on lines that say nothing.
fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What clap says instead of a command line: help and version go to stdout as they are; a failure is one line.
pub struct ParseRefusal {
    pub text: String,
    pub is_failure: bool,
}

/// The answer to a call that asks for the version and nothing else.
pub fn version_asked_for(args: &[std::ffi::OsString]) -> Option<String> {
    let asked = args.len() == 2 && (args[1] == "--version" || args[1] == "-V");
    asked.then(|| concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n").to_owned())
}

/// The help of a command such as `workflow init`, or of the program where no word is given; `None` if there is no such
/// command.
pub fn help_of(words: &[String]) -> Option<String> {
    let whole = command();
    let mut at = &whole;
    for word in words {
        at = at.find_subcommand(word)?;
    }
    let line = ["checkpoint"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    let line: Vec<std::ffi::OsString> = line.map(Into::into).collect();
    parse(&line).err().filter(|refusal| !refusal.is_failure).map(|refusal| refusal.text)
}

/// The last lines of the help: the pages that `checkpoint help` shows.
fn topics_named() -> String {
    format!("Topics of 'checkpoint help TOPIC': {}", topics::names().join(", "))
}

/// The short help, for a call without a command.
pub fn short_help() -> String {
    trimmed(&command().render_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_told_without_and_with_the_whole_command_line_alike() {
        let short = version_asked_for(&["checkpoint".into(), "-V".into()]);
        assert_eq!(short, Some(command().render_version()));
        assert_eq!(version_asked_for(&["checkpoint".into(), "--version".into(), "list".into()]), None);
    }
}
