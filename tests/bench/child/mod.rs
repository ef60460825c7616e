//! Work of this binary when it is started as a contender itself.

mod bare;
mod libgit2;
mod walk;

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::job::Job;

/// First argument that makes this binary a contender.
pub const FLAG: &str = "--child";

pub fn job(what: &str, dir: &Path) -> Job {
    let program = std::env::current_exe().unwrap_or_default();
    Job::new(program, dir).args([FLAG, what])
}

pub fn run(words: &[OsString]) -> Result<()> {
    let path = |at: usize| words.get(at).map(Path::new).context("a word is missing");
    let what = words
        .first()
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    let said = match what {
        "libgit2-create" => libgit2::create(path(1)?, path(2)?)?,
        "libgit2-restore" => libgit2::restore(path(1)?, path(2)?, &path(3)?.to_string_lossy())?,
        "bare-create" => bare::create(path(1)?, path(2)?)?,
        "walk" => walk::count(path(1)?)?,
        other => bail!("no such child: {other}"),
    };
    crate::report::answer(&said);
    Ok(())
}
