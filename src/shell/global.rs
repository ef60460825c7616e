//! The options that every command takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Default time in seconds to wait for another process.
pub const LOCK_TIMEOUT_SECONDS: u64 = 30;

/// Options that every command takes, before or after its name.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options for every command")]
pub struct GlobalArgs {
    /// Directory to act on [default: the nearest one upwards that has a store, or else this one]
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Folder that contains all stores [default: `CHECKPOINT_HOME`, or ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Act on the current directory, although one above has a store
    #[arg(long, global = true)]
    pub here: bool,
    /// Print one JSON object, and never ask
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print details
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Answer every question with yes
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Never ask; exit with 4 where an answer is needed
    #[arg(long, global = true)]
    pub no_input: bool,
    /// Time to wait for another checkpoint command, in seconds
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = LOCK_TIMEOUT_SECONDS)]
    pub lock_timeout: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Set by completion scripts to the name of the shell; the words after `--` are to be completed.
pub const COMPLETE_VARIABLE: &str = "CHECKPOINT_COMPLETE";
