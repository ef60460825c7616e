//! Options that several commands share: a period, and patterns of paths.

use std::ffi::OsString;

use crate::base::time::{TypedTime, parse_past};
use crate::error::{Error, Result};
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
