//! The only file that reads the clock, the environment and the current directory; and the options
//! that every command takes.

#![expect(clippy::disallowed_methods, reason = "this is the door to all of them")]

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use crate::base::time;
use crate::config::environment::{AGENT_VARIABLES, FOLDERS, platform_config_dir, platform_home};
use crate::config::{AgentEnvironment, ColorChoice, Environment};
use crate::error::{Error, Result};
use crate::ops::browse::config::VariableValue;

/// Upper bound on the size of a time zone file in bytes; real ones have a few thousand.
const MOST_ZONE_BYTES: u64 = 1 << 20;

/// Reads all variables of this program.
pub fn read() -> Environment {
    if text("TZ").is_some_and(|zone| !can_be_read(&zone)) {
        time::ignore_zone();
    }
    let named_home = path("HOME").or_else(|| path("USERPROFILE"));
    let (home, relative_home) = match named_home {
        Some(home) if home.is_absolute() => (Some(home), None),
        other => (None, other),
    };
    Environment {
        // Without a home directory, the configuration of another user must not be read.
        config_dir: home.as_ref().and_then(|_| match path("APPDATA") {
            Some(folder) if cfg!(windows) => Some(folder.join("checkpoint")),
            _ => platform_config_dir(),
        }),
        account_home: home.clone().or_else(platform_home),
        home,
        relative_home,
        folders: (FOLDERS.split(' '))
            .filter_map(|name| Some((name, path(name)?)))
            .collect(),
        source: text("CHECKPOINT_SOURCE"),
        disabled: text("CHECKPOINT_DISABLE").is_some_and(|value| !is_no(&value)),
        session: text("CLAUDE_CODE_SESSION_ID"),
        agent: agent(),
        logical_dir: path("PWD"),
        color: color(),
        is_dumb: text("TERM").is_none_or(|term| term == "dumb"),
        pager: env::var_os("CHECKPOINT_PAGER").or_else(|| env::var_os("PAGER")),
    }
}

/// Whether the value of a switch says no; whatever else it is set to says yes.
fn is_no(value: &str) -> bool {
    matches!(
        &*value.to_ascii_lowercase(),
        "" | "0" | "false" | "no" | "off"
    )
}

/// Returns a variable that is set and not empty.
fn path(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// As [`path`], of text.
fn text(name: &str) -> Option<String> {
    path(name)?.into_os_string().into_string().ok()
}

/// Recognizes the agent in whose shell this process runs.
fn agent() -> Option<AgentEnvironment> {
    let is_set = |name: &str| text(name).is_some_and(|value| !is_no(&value));
    let mut agents = AGENT_VARIABLES.into_iter();
    let (_, name, session) = agents.find(|(variable, ..)| is_set(variable))?;
    let session = session.and_then(text);
    Some(AgentEnvironment { name, session })
}

fn color() -> ColorChoice {
    if path("NO_COLOR").is_some() {
        return ColorChoice::Never;
    }
    let forces = |name: &&str| path(name).is_some_and(|value| value != Path::new("0"));
    let mut variables = ["CLICOLOR_FORCE", "FORCE_COLOR"].into_iter();
    let found = variables.find(forces);
    found.map_or(ColorChoice::Auto, ColorChoice::Always)
}

/// Whether a time zone is a name, a rule or a plain file; reading a device or pipe might never end.
fn can_be_read(zone: &str) -> bool {
    let path = Path::new(zone.strip_prefix(':').unwrap_or(zone));
    if path.is_absolute() {
        return path.metadata().map_or(true, |found| {
            found.is_file() && found.len() <= MOST_ZONE_BYTES
        });
    }
    // The system's time zone directory has only plain files.
    !path.components().any(|part| part == Component::ParentDir)
}

/// Returns every variable that this program or a library reads, with its value; a private one, which
/// has a star in the list, only as set.
pub fn variables() -> Vec<VariableValue> {
    let look = |line: &'static str| {
        let (name, purpose) = line.get(2..)?.split_once(' ')?;
        let value = env::var_os(name).map(|value| match line.strip_prefix('*') {
            Some(_) => "set".to_owned(),
            None => value.to_string_lossy().into_owned(),
        });
        Some(VariableValue {
            name,
            purpose: purpose.trim_start(),
            value,
        })
    };
    let lines = include_str!("variables.txt").lines();
    lines.filter_map(look).collect()
}

/// Returns milliseconds since 1970. `CHECKPOINT_NOW` fixes the clock, for tests.
///
/// # Errors
/// `CHECKPOINT_NOW` is not a time.
pub fn now_ms() -> Result<i64> {
    let Ok(fixed) = env::var("CHECKPOINT_NOW") else {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_millis();
        return Ok(i64::try_from(since).unwrap_or(i64::MAX));
    };
    let typed = || Some(time::parse_time(&fixed, 0)?.start_ms);
    let number = fixed.parse().ok().or_else(typed);
    number.ok_or_else(|| Error::usage(format!("CHECKPOINT_NOW '{fixed}' is not a valid time")))
}

/// Makes a path absolute, by the current directory.
pub fn absolute(given: &Path) -> Result<PathBuf> {
    if given.is_absolute() {
        return Ok(given.to_path_buf());
    }
    let here = env::current_dir().map_err(|why| match why.kind() {
        ErrorKind::NotFound => Error::current_dir_gone(),
        _ => Error::io("find the current directory from", Path::new("."))(why),
    })?;
    Ok(if given == Path::new(".") {
        here
    } else {
        here.join(given)
    })
}

/// Returns the folder for temporary files: what agents are told by a variable may be none.
pub fn temporary_dir() -> PathBuf {
    let is_usable = |dir: &PathBuf| cfg!(windows) || (dir.is_absolute() && dir.is_dir());
    let named = Some(env::temp_dir()).filter(is_usable);
    named.unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// Returns the directory to act on, as `PWD` names it if none is given: that holds even if the
/// current directory was removed.
pub fn directory(given: Option<&Path>, environment: &Environment) -> Result<PathBuf> {
    let here = absolute(given.unwrap_or(Path::new(".")));
    let is_here = |logical: &Path| match &here {
        Ok(here) => here == logical || logical.canonicalize().is_ok_and(|real| *here == real),
        Err(_) => true,
    };
    let logical = environment.logical_dir.as_ref();
    let logical = logical.filter(|dir| given.is_none() && dir.is_absolute() && is_here(dir));
    logical.cloned().map_or(here, Ok)
}

/// Describes this process to others while it holds a lock.
pub fn holder(command: &str) -> String {
    format!("process {} (checkpoint {command})", std::process::id())
}

/// Returns the name of this machine.
#[cfg(unix)]
pub fn host_name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub fn host_name() -> String {
    env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns the shell that asks for completions, with `--` and the words of a line as arguments.
pub fn completing_shell(args: &[OsString]) -> Option<String> {
    let asks = args.len() > 2 && args[1] == "--";
    let shell = env::var(COMPLETE_VARIABLE).ok();
    shell.filter(|shell| asks && !shell.is_empty())
}

/// Returns the index of the word to be completed, if the script names it.
pub fn completing_index() -> Option<usize> {
    env::var("_CLAP_COMPLETE_INDEX").ok()?.parse().ok()
}

/// Returns how a script calls this program: by name if it was called so, else by absolute path.
pub fn program(args: &[OsString]) -> String {
    let called = Path::new(args.first().map_or(OsStr::new("checkpoint"), |name| name));
    let called = if called.components().count() > 1 {
        absolute(called).ok()
    } else {
        Some(called.to_path_buf())
    };
    called.unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the absolute path by which this program was found: as it was called, or by `PATH`. Links
/// are not resolved, so that it still holds after an upgrade.
pub fn found_program(args: &[OsString]) -> Option<PathBuf> {
    let called = Path::new(args.first()?);
    if called.components().count() > 1 {
        return Some(absolute(called).ok()?.components().collect());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let name = format!("{}{}", called.display(), env::consts::EXE_SUFFIX);
    let names = [called, Path::new(&name)];
    let mut found = env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .flat_map(|dir| names.map(|name| dir.join(name)));
    let file = found.find(|file| file.is_file());
    file.or_else(|| env::current_exe().ok())
}

/// Default time in seconds to wait for another process.
pub const LOCK_TIMEOUT_SECONDS: u64 = 30;

/// Options that every command takes, before or after its name.
#[expect(clippy::struct_excessive_bools, reason = "flags of one line")]
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
