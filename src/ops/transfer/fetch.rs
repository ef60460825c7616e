//! `fetch`: brings the checkpoints that others pushed to a remote, beside those of this store.

use crate::base::read_regular;
use crate::error::{Code, Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::{Checkpoint, Line, LineEntry, ObjectId};
use crate::ops::transfer::remote;
use crate::ops::transfer::remote_git::Tips;
use crate::ops::warning::after_bad_line;
use crate::ops::{Context, GitLimits, RemoteGit, Warning, session};
use crate::store::transfer::fetched::IncomingLines;
use crate::store::transfer::remotes;
use crate::store::{
    BadLine, CheckOptions, FetchedCheckpoints, LineName, Quarantine, Remote, Store,
};

/// Newest checkpoints of this store that are named to the server: it sends nothing that they have.
const NAMED: usize = 8;

/// What was fetched.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FetchOutcome {
    pub remote: String,
    /// Whether the lines say something else than before.
    #[serde(skip)]
    pub is_changed: bool,
    /// Whether everything was brought again.
    #[serde(skip)]
    pub is_refetched: bool,
    /// Those that are new from there, oldest first; all of them, if everything was brought again.
    pub checkpoints: Vec<Checkpoint>,
    /// Number of all checkpoints of the remote that are here.
    pub checkpoint_count: usize,
    /// Whether what this store pushed was brought too.
    #[serde(skip)]
    pub has_own_lines: bool,
    /// Number of lines that are here and no longer there.
    pub gone_lines: usize,
    /// Number of such lines that were forgotten.
    pub forgotten_lines: usize,
}

/// Fetches all lines of a remote but those of this store. Everything is checked before any of it is
/// in the store; a bad line is left there, and named. `prune` forgets lines that are no longer there,
/// `refetch` brings also what is here.
///
/// # Errors
/// There is no such remote, git is missing or fails, or all lines are damaged or forbidden: then
/// nothing of them is here.
pub fn fetch(
    context: &Context,
    name: Option<&str>,
    prune: bool,
    refetch: bool,
    limits: GitLimits,
) -> Result<(FetchOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    let remote = remote::named(&store, name)?;
    let git = RemoteGit::open(context, &store, &remote, limits)?;
    let noted = remotes::fetched(store.layout(), &remote.name)?;
    let mut bad = Vec::new();
    let took = good_lines(&mut bad, refetch, |is_again, bad| {
        let brought = bring(context, &store, &git, (&remote, &noted), (is_again, bad))?;
        let took = take_over(context, &store, &git, (&remote, &noted), &brought)?;
        Ok(took.map(|warnings| (brought, warnings)))
    });
    let cleared = git.transport.clear();
    let (brought, mut warnings) = took?;
    cleared?;
    let own = own_lines(&store, &remote);
    let is_bad = |line: &LineName| bad.iter().any(|(bad, _)| bad == line);
    let is_good = |line: &LineName| !own.contains(line) && !is_bad(line);
    if !brought.there.keys().any(is_good)
        && let Some((line, why)) = bad.first()
    {
        return Err(nothing_good(&remote.name, &line.on_server(), why));
    }
    warnings.extend(bad.iter().map(|(line, why)| Warning::LineNotTaken {
        remote: remote.name.clone(),
        line: line.on_server(),
        why: why.clone(),
    }));
    let (there, before) = (&brought.there, &brought.here);
    let now = remotes::fetched(store.layout(), &remote.name)?;
    let mut gone: Vec<&LineName> = now
        .keys()
        .filter(|line| !there.contains_key(*line) && !is_bad(line))
        .collect();
    let mut forgotten = 0;
    if prune && !gone.is_empty() {
        let session = session::begin(context, &store)?;
        forgotten = gone.len();
        for line in gone.drain(..) {
            session.locked.remove_fetched(&remote.name, line)?;
        }
    }
    warnings.extend(context.pending_warnings.take());
    let all = store.fetched(&remote.name)?;
    let is_changed = all.values() != before.values();
    let is_new = |c: &&Checkpoint| refetch || !before.checkpoints.holds(c.id);
    let all = all.checkpoints;
    let mut checkpoints: Vec<Checkpoint> = all.iter().filter(is_new).cloned().collect();
    checkpoints.sort_by_key(LineEntry::of);
    let outcome = FetchOutcome {
        is_changed,
        is_refetched: refetch,
        checkpoints,
        checkpoint_count: all.len(),
        has_own_lines: own.iter().any(|line| there.contains_key(line)),
        gone_lines: gone.len(),
        forgotten_lines: forgotten,
        remote: remote.name,
    };
    Ok((outcome, warnings))
}

/// Tries until what comes is good: with everything, as objects that git counts on may be lost here
/// that they are here; without the lines that are bad then too.
fn good_lines<T>(
    bad: &mut Vec<BadLine>,
    refetch: bool,
    attempt: impl Fn(bool, &mut Vec<BadLine>) -> Result<Result<T, Vec<BadLine>>>,
) -> Result<T> {
    let mut is_again = refetch;
    loop {
        match attempt(is_again, bad) {
            Ok(Ok(took)) => return Ok(took),
            Ok(Err(found)) if is_again => bad.extend(found),
            Err(why) if is_again || !may_be_of_lines(&why) => return Err(why),
            _ => is_again = true,
        }
    }
}

fn nothing_good(remote: &str, line: &str, why: &str) -> Error {
    let what = format!(
        "what the remote {remote} has in {line} was not taken: {why}; nothing of it was added"
    );
    Error::new(Code::DAMAGED, what).next(after_bad_line(remote, line, why))
}

/// Whether what failed may be due to objects that are lost here, or to one of the lines.
fn may_be_of_lines(why: &Error) -> bool {
    [Code::BAD_BUNDLE, Code::REMOTE_FAILED].contains(&why.code)
        || why.code == Code::DAMAGED && why.why().is_none()
}

/// What git brought into the transport.
struct Brought {
    there: Tips,
    /// What can be read of what was here.
    here: FetchedCheckpoints,
    /// Whether git brought everything, so that all of it is checked.
    is_all: bool,
}

/// Lets git fetch, and reads meanwhile what is here. If that cannot be read, all is fetched again.
fn bring(
    context: &Context,
    store: &Store,
    git: &RemoteGit<'_>,
    (remote, noted): (&Remote, &Tips),
    (is_again, bad): (bool, &mut Vec<BadLine>),
) -> Result<Brought> {
    let mut here = FetchedCheckpoints::default();
    git.transport.clear()?;
    git.transport.hide_store(false)?;
    if is_again {
        here = store.fetched(&remote.name).unwrap_or_default();
    } else {
        // What is here of the remote is most like what comes.
        let own = if noted.is_empty() {
            store.inventory()?.checkpoints
        } else {
            Line::default()
        };
        let own = own.rev().take(NAMED).map(|c| c.id).collect();
        git.transport.set_known(noted, &own)?;
        let (there, here) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| store.fetched(&remote.name));
            (git.fetch(&own_lines(store, remote)), reader.join())
        });
        if let Ok(Ok(here)) = here {
            return Ok(Brought {
                there: there?,
                here,
                is_all: false,
            });
        }
    }
    context.check_interrupt()?;
    git.transport.clear()?;
    git.transport.hide_store(true)?;
    Ok(Brought {
        // Also what this store pushed, which may have lost it since.
        there: git.fetch_each(bad)?,
        here,
        is_all: true,
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
    (remote, noted): (&Remote, &Tips),
    brought: &Brought,
) -> Result<Result<Vec<Warning>, Vec<BadLine>>> {
    let is_new = |line: &LineName, tip: &ObjectId| brought.is_all || noted.get(line) != Some(tip);
    let mut tips = brought.there.clone();
    tips.retain(|line, tip| is_new(line, tip));
    if tips.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let name = format!("what the remote {} has", remote.name);
    let check = || context.check_interrupt();
    let progress = &context.progress;
    let mut quarantine = Quarantine::begin(&git.transport.quarantine())?;
    for path in git.transport.packs()? {
        let mut pack = read_regular::open(&path).map_err(Error::io("open", &path))?;
        quarantine.take_pack(&mut pack, &name, &check, progress)?;
    }
    let _shield = context.interrupt.shield();
    let mut session = session::begin(context, store)?;
    let incoming = IncomingLines {
        remote: &remote.name,
        tips: &tips,
        own: &own_lines(store, remote),
        here: &brought.here,
        is_all: brought.is_all,
        check_run: context.workflows.check_run,
    };
    let options = CheckOptions {
        full: false,
        check_interrupt: &check,
        progress,
    };
    let locked = &session.locked;
    let bad = locked.take_over_lines(&mut quarantine, &incoming, &options)?;
    Ok(if bad.is_empty() {
        Ok(std::mem::take(&mut session.warnings))
    } else {
        Err(bad)
    })
}
