//! Checks of every result.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use crate::contender::{Who, git};

/// The tree ids that the contenders recorded in each round, which must agree.
#[derive(Debug, Default)]
pub struct Agreement {
    first: BTreeMap<usize, (Who, String)>,
}

impl Agreement {
    /// # Errors
    /// Another contender recorded another tree in this round.
    pub fn hear(&mut self, round: usize, who: Who, id: Option<String>) -> Result<()> {
        let Some(id) = id else { return Ok(()) };
        let (first, known) = self.first.entry(round).or_insert_with(|| (who, id.clone()));
        if *known != id {
            bail!(
                "{} recorded the tree {id}, {} the tree {known}",
                who.name(),
                first.name()
            );
        }
        Ok(())
    }
}

/// Asserts that plain git finds nothing wrong with a store.
///
/// # Errors
/// The findings of git.
pub fn fsck(store: &Path) -> Result<()> {
    let done = git(store)
        .env("GIT_DIR", store)
        .args(["fsck", "--full", "--strict", "--no-progress"])
        .run()?;
    let text = done.text();
    let wrong: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("dangling") && !line.is_empty())
        .collect();
    if !wrong.is_empty() {
        bail!("git fsck in {}: {}", store.display(), wrong.join("; "));
    }
    Ok(())
}
