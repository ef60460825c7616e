//! Options that several commands share: a period, and patterns of paths.

use std::ffi::OsString;

use crate::answer::place::placed_command;
use crate::answer::{Out, talkln};
use crate::base::time::{TypedTime, parse_past};
use crate::config::keys::AgentConsent;
use crate::error::sentence::CommandWords;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::select::globs::Globs;
use crate::ops::select::period::Period;

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
    /// Returns the digest; `again` is this command without it.
    ///
    /// # Errors
    /// There is none, although the user wants agents to have one, and this runs in an agent's shell.
    pub fn resolve(
        &self,
        context: &Context,
        dry_run: bool,
        again: &CommandWords,
    ) -> Result<Option<String>> {
        let is_agent = context.environment.agent.is_some();
        let must = context.settings.agents.agent_restore == AgentConsent::Plan;
        if self.digest.is_none() && is_agent && must && !dry_run {
            let command = again.clone().with(["--dry-run"]);
            return Err(Error::plan_needed(command));
        }
        Ok(self.digest.clone())
    }
}

/// Names the plan of a dry run, and the command that carries out just this one.
pub fn write_plan(out: &mut Out<'_>, digest: Option<&str>, again: &CommandWords) {
    if let Some(digest) = digest {
        let command = placed_command(again.clone().with(["--plan", digest, "--yes"]));
        talkln!(
            out,
            "plan {digest}, refused if anything changes meanwhile; to do exactly this: {command}"
        );
    }
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
