//! Options that several commands share: a period, and patterns of paths.

use std::ffi::OsString;

use crate::base::time::{TypedTime, parse_past};
use crate::cli::command_context::CommandContext;
use crate::cli::parse;
use crate::config::agents::AgentConsent;
use crate::error::sentence::CommandWords;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::select::globs::Globs;
use crate::ops::select::period::Period;
use crate::view::answer::Out;
use crate::view::{place, restore};

#[derive(Clone, Debug, Default, clap::Args)]
pub struct PeriodArgs {
    /// Only what was made since then: 2h, yesterday, 15:40, 2026-03-24T12:45
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only what was made until then; a day or a minute is included whole
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

impl PeriodArgs {
    /// # Errors
    /// One of them is not a time.
    pub fn resolve(&self, now_ms: i64) -> Result<Period> {
        let read = |option, typed: &Option<String>| {
            let parse = |text: &String| {
                parse_past(text, now_ms).ok_or_else(|| Error::bad_time(option, text))
            };
            typed.as_ref().map(parse).transpose()
        };
        let (since, until) = (read("--since", &self.since)?, read("--until", &self.until)?);
        Ok(Period {
            since_ms: since.map(|time| time.start_ms),
            until_ms: until.map(TypedTime::last_ms),
        })
    }
}

/// Consent to a plan that was shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PlanArgs {
    /// Digest that a dry run named: go on only if nothing has changed since
    #[arg(long = "plan", value_name = "DIGEST", conflicts_with = "dry_run")]
    pub digest: Option<String>,
}

impl PlanArgs {
    /// Returns the digest.
    ///
    /// # Errors
    /// There is none, although the user wants agents to have one, and this runs in an agent's shell.
    pub fn resolve(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        dry_run: bool,
    ) -> Result<Option<String>> {
        let is_agent = context.environment.agent.is_some();
        let must = context.settings.agents.agent_restore == AgentConsent::Plan;
        if self.digest.is_none() && is_agent && must && !dry_run {
            let command = showing_plan(cmd);
            return Err(Error::plan_needed(command));
        }
        Ok(self.digest.clone())
    }
}

/// Returns the command that shows the plan.
fn showing_plan(cmd: &CommandContext<'_>) -> CommandWords {
    again(cmd.words, &["--dry-run"])
}

/// Returns the command that carries out the plan that was shown.
pub fn with_plan(words: &[OsString], digest: &str) -> CommandWords {
    again(words, &["--plan", digest, "--yes"])
}

/// Names the plan of a dry run, and the command that carries out just this one.
pub fn write_plan(out: &mut Out<'_>, digest: Option<&str>) {
    if let Some(digest) = digest {
        let command = with_plan(out.words, digest);
        out.talk.push_str(&restore::plan_named(digest, command));
    }
}

/// Returns this command again with other options of consent. The directory and the base are added
/// to each command that is named; what is done afterwards does not go with a dry run.
fn again(words: &[OsString], with: &[&str]) -> CommandWords {
    let name = place::command().split('.').next().unwrap_or_default();
    let is_shown = with.contains(&"--dry-run");
    let typed = parse::command_at(words).map_or(words.len(), |at| at + 1);
    let mut rest = words[typed..].iter().map(|word| word.as_encoded_bytes());
    let mut again: Vec<&[u8]> = vec![name.as_bytes()];
    let mut options: Vec<&[u8]> = with.iter().map(|word| word.as_bytes()).collect();
    let is_joined = |word: &[u8]| {
        let joined = [&b"--dir="[..], b"--base=", b"--plan="];
        joined.iter().any(|begin| word.starts_with(begin))
            || (is_shown && word.starts_with(b"--check="))
    };
    while let Some(word) = rest.next() {
        match word {
            b"-C" | b"--dir" | b"--base" | b"--plan" => drop(rest.next()),
            b"--check" if is_shown => drop(rest.next()),
            b"--verify" if is_shown => {}
            b"--yes" | b"-y" | b"--dry-run" => {}
            word if is_joined(word) => {}
            // A dry run shows one step.
            word if is_shown && name == "undo" && word.iter().all(u8::is_ascii_digit) => {}
            b"--" => {
                again.append(&mut options);
                again.push(word);
                again.extend(rest.by_ref());
            }
            word => again.push(word),
        }
    }
    again.append(&mut options);
    CommandWords::new(again)
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct GlobArgs {
    /// Only paths that match this pattern, as in a .gitignore; repeatable
    #[arg(long = "glob", value_name = "PATTERN")]
    pub globs: Vec<OsString>,
    /// No paths that match this pattern; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<OsString>,
}

impl GlobArgs {
    pub fn resolve(self) -> Globs {
        Globs {
            only: bytes_of(self.globs),
            except: bytes_of(self.exclude),
        }
    }
}

pub fn bytes_of(words: Vec<OsString>) -> Vec<Vec<u8>> {
    words
        .into_iter()
        .map(OsString::into_encoded_bytes)
        .collect()
}
