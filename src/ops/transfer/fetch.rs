//! `fetch`: brings the checkpoints that others pushed to a remote, beside those of this store.

use std::fs::File;

use crate::error::{Error, Result};
use crate::model::checkpoint::line::{Line, LineEntry};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::session;
use crate::ops::transfer::remote;
use crate::ops::transfer::remote_git::{GitLimits, RemoteGit, Tips};
use crate::ops::warning::Warning;
use crate::store::damage::check::CheckOptions;
use crate::store::repository::Store;
use crate::store::transfer::carrier;
use crate::store::transfer::receive::Quarantine;
use crate::store::transfer::remotes::{self, LineName, Remote};
use crate::store::transfer::take_over::TakeOverOptions;

/// Newest checkpoints of this store that the server is told of: it sends nothing that they have.
const TOLD: usize = 16;

#[derive(Clone, Debug)]
pub struct FetchOptions {
    pub name: Option<String>,
    /// Forgets lines that are no longer there.
    pub prune: bool,
    pub limits: GitLimits,
}

#[derive(Debug)]
pub struct FetchOutcome {
    pub remote: String,
    /// Whether a line is another than before.
    pub is_changed: bool,
    /// New from there, oldest first.
    pub added: Vec<Checkpoint>,
    /// Number of all checkpoints of the remote that are here.
    pub total: usize,
    /// Lines that are here, and are no longer there.
    pub gone: usize,
    pub warnings: Vec<Warning>,
}

/// Fetches all lines of a remote but those of this store. Everything is checked before any of it is
/// in the store.
///
/// # Errors
/// There is no such remote, git is missing or fails, or what came is damaged or forbidden: then
/// nothing of it is here.
pub fn fetch(context: &Context, options: &FetchOptions) -> Result<FetchOutcome> {
    let store = context.require_store()?;
    let remote = remote::named(&store, options.name.as_deref())?;
    let git = RemoteGit::open(context, &store, &remote, options.limits)?;
    let noted = remotes::fetched(store.layout(), &remote.name)?;
    let mut known = noted.clone();
    // What cannot be read any more is fetched again.
    known.retain(|_, tip| carrier::read_line(store.objects(), *tip).is_ok());
    // If one of these cannot be read, all are checked again.
    let before = store.fetched(&remote.name).unwrap_or_default().checkpoints;
    let own = store.inventory()?.checkpoints;
    git.transport.clear()?;
    git.transport
        .set_known(&known, &own.rev().take(TOLD).map(|c| c.id).collect())?;
    let took = git.fetch(&own_lines(&store, &remote)).and_then(|there| {
        let lines = (&remote, &known, &there);
        let warnings = take_over(context, &store, &git, lines, [&before, &own])?;
        Ok((there, warnings))
    });
    let cleared = git.transport.clear();
    let (there, mut warnings) = took?;
    cleared?;
    let is_changed = there.iter().any(|(line, tip)| known.get(line) != Some(tip));
    let gone: Vec<&LineName> = noted
        .keys()
        .filter(|line| !there.contains_key(*line))
        .collect();
    if options.prune && !gone.is_empty() {
        let session = session::begin(context, &store)?;
        for line in &gone {
            session.locked.remove_fetched(&remote.name, line)?;
        }
    }
    warnings.extend(context.pending_warnings.take());
    let all = store.fetched(&remote.name)?.checkpoints;
    let mut added: Vec<Checkpoint> = all
        .iter()
        .filter(|c| !before.holds(c.id))
        .cloned()
        .collect();
    added.sort_by_key(LineEntry::of);
    Ok(FetchOutcome {
        remote: remote.name,
        is_changed,
        added,
        total: all.len(),
        gone: if options.prune { 0 } else { gone.len() },
        warnings,
    })
}

fn own_lines(store: &Store, remote: &Remote) -> Vec<LineName> {
    let devices = remote.devices.iter();
    devices
        .map(|device| RemoteGit::line(store, device))
        .collect()
}

fn take_over(
    context: &Context,
    store: &Store,
    git: &RemoteGit<'_>,
    (remote, known, there): (&Remote, &Tips, &Tips),
    [checked, own]: [&Line; 2],
) -> Result<Vec<Warning>> {
    let changed: Tips = there
        .iter()
        .filter(|(line, tip)| known.get(*line) != Some(*tip))
        .map(|(line, tip)| (line.clone(), *tip))
        .collect();
    let name = format!("what the remote {} has", remote.name);
    let check = || context.check_interrupt();
    let progress = &context.progress;
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let scratch = session::begin(context, store)?.locked.begin_scratch()?;
    let mut quarantine = Quarantine::begin(scratch)?;
    for path in git.transport.packs()? {
        let mut pack = File::open(&path).map_err(Error::io("open", &path))?;
        quarantine.take_pack(&mut pack, &name, &check, progress)?;
    }
    let _shield = context.interrupt.shield();
    let mut session = session::begin(context, store)?;
    let with = TakeOverOptions {
        name: &name,
        safety: true,
        checked: checked.iter().map(|c| c.id).collect(),
        clean_trees: [checked, own].into_iter().filter_map(newest_tree).collect(),
        check_run: context.workflows.check_run,
    };
    let options = CheckOptions {
        full: false,
        check_interrupt: &check,
        progress,
    };
    let locked = &session.locked;
    locked.take_over_lines(&quarantine, &remote.name, &changed, &with, &options)?;
    Ok(std::mem::take(&mut session.warnings))
}

fn newest_tree(line: &Line) -> Option<ObjectId> {
    line.rev().next().map(|newest| newest.tree)
}
