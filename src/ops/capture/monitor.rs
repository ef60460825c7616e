//! A monitor of the directory, which tells a scan where to look; only a hint, checked again and again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::base::{Interrupt, Malformed};
use crate::config::ScanMonitor;
use crate::model::default_rules::IGNORE_FILE;
use crate::model::{ListedDir, Listing, RelPath};
use crate::ops::{Context, Warning};
use crate::store::{CacheHead, Store};
use crate::worktree::{Touched, WorkTree, sys};

pub use crate::store::WatchNote;

/// Number of checkpoints, and time in milliseconds, after which the monitor is checked.
const UNCHECKED_CREATES: u64 = 20;
const UNCHECKED_MS: i64 = 10 * 60 * 1000;
/// Number of names from which it is simpler to look everywhere.
const MOST_NAMES: usize = 50_000;

/// Asks the monitor what changed below a directory.
pub type AskMonitor = fn(&Interrupt, &ChangesQuestion<'_>) -> Result<Changes, Malformed>;

#[derive(Clone, Copy, Debug)]
pub struct ChangesQuestion<'q> {
    pub root: &'q Path,
    /// The answer to an earlier question.
    pub since: Option<&'q WatchNote>,
    /// Whether it shall look at all of it again, instead of an answer.
    pub is_doubted: bool,
}

/// What changed, as far as is known.
#[derive(Debug)]
pub struct Changes {
    /// Where the monitor was reached, and its clock.
    pub socket: Vec<u8>,
    pub clock: Vec<u8>,
    /// From the root on; `None` if everything may have changed.
    pub names: Option<Vec<Vec<u8>>>,
}

/// How far a scan may rely on the monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliance {
    #[default]
    None,
    /// All is listed.
    Listed,
    /// What is unchanged may be folded. A new checkpoint counts towards the next check.
    Folded,
}

/// What the monitor said before a scan.
#[derive(Debug, Default)]
pub struct Watched {
    /// Belongs to the stat cache of the scan.
    pub note: Option<WatchNote>,
    /// What the scan has to look at; `None` for everything.
    pub touched: Option<Touched>,
    /// When the scan of the stat cache began, see [`WatchNote::scan_ns`].
    pub since_ns: i64,
    /// The note of the stat cache with which this scan is to be compared.
    checks: Option<WatchNote>,
    /// What changed and was not named.
    pub missed: Option<RelPath>,
    pub warning: Option<Warning>,
}

impl Watched {
    /// Asks the monitor, if the user wants that. `head` is that of the stat cache, if it is valid for
    /// the rules in force.
    pub fn ask(
        context: &Context,
        store: Option<&Store>,
        head: Option<&CacheHead>,
        reliance: Reliance,
    ) -> Self {
        let is_on = context.settings.fsmonitor == ScanMonitor::Watchman;
        let is_off = |store: &&Store| store.layout().monitor_off().exists();
        if reliance == Reliance::None || !is_on || store.is_none_or(|store| is_off(&store)) {
            return Self::default();
        }
        let Some(conditions) = conditions(context) else {
            return Self::unusable(&"it can be relied on only on Linux");
        };
        let before = head.and_then(|head| head.watch.as_ref());
        let before = before.filter(|note| note.conditions == conditions);
        let changes = match ask(context, before) {
            Ok(changes) => changes,
            Err(why) => return Self::unusable(&why),
        };
        let note = |creates, checked_ms| {
            let (socket, clock) = (changes.socket.clone(), changes.clock.clone());
            Some(WatchNote {
                socket,
                clock,
                conditions,
                creates,
                checked_ms,
                scan_ns: 0,
            })
        };
        let known = before.zip(changes.names.as_deref().and_then(touched));
        match known {
            Some((before, touched))
                if reliance == Reliance::Listed || !is_due(before, context.now_ms) =>
            {
                Self {
                    note: note(before.creates + 1, before.checked_ms),
                    touched: Some(touched),
                    since_ns: before.scan_ns,
                    ..Self::default()
                }
            }
            known => Self {
                note: note(0, context.now_ms),
                checks: known.map(|(before, _)| before.clone()),
                ..Self::default()
            },
        }
    }

    fn unusable(why: &impl ToString) -> Self {
        let why = why.to_string();
        Self {
            warning: Some(Warning::MonitorUnusable { why }),
            ..Self::default()
        }
    }

    /// Compares a full scan, of which the trees are known, with what the monitor says by now: what it
    /// does not name must be as it was.
    pub fn check(&mut self, context: &Context, listing: &Listing) {
        let named = self
            .checks
            .take()
            .and_then(|before| ask(context, Some(&before)).ok()?.names);
        // Another rule changes what is captured anywhere below it.
        let is_rule = |name: &Vec<u8>| name.ends_with(IGNORE_FILE);
        let named = named.filter(|names| !names.iter().any(is_rule));
        let touched = named.as_deref().and_then(touched);
        self.missed = touched.and_then(|touched| missed(listing, &touched));
    }
}

fn ask(context: &Context, since: Option<&WatchNote>) -> Result<Changes, Malformed> {
    let question = ChangesQuestion {
        root: context.root.path(),
        since,
        is_doubted: false,
    };
    (context.ask_monitor)(&context.interrupt, &question)
}

/// Lets the monitor look at all of the directory again.
pub fn doubt(context: &Context, known: Option<&WatchNote>) {
    let question = ChangesQuestion {
        root: context.root.path(),
        since: known,
        is_doubted: true,
    };
    // One that cannot be reached now answers no later question either.
    let _ = (context.ask_monitor)(&context.interrupt, &question);
}

/// Whether a directory that is new at its place is older than the scan before. It was moved, and the
/// monitor may name what changes in it by a path that it had: watchman 4.9 does so for ever.
pub fn has_moved(worktree: &WorkTree, listing: &Listing, before_ns: i64) -> bool {
    let is_old = |index| {
        let found = worktree.shown(&listing.path_of(index)).symlink_metadata();
        let born = found.and_then(|found| found.created()).ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|born| i64::try_from(born.as_nanos()).ok());
        born.is_none_or(|born| born < before_ns)
    };
    let mut dirs = listing.dirs.iter().enumerate();
    dirs.any(|(index, dir)| {
        let before = dir.cached.as_deref();
        before.is_none_or(|before| before.stat.ino != dir.stat.ino) && is_old(index)
    })
}

fn is_due(note: &WatchNote, now_ms: i64) -> bool {
    let is_recent = (0..UNCHECKED_MS).contains(&now_ms.saturating_sub(note.checked_ms));
    note.creates + 1 >= UNCHECKED_CREATES || !is_recent
}

fn touched(names: &[Vec<u8>]) -> Option<Touched> {
    let few = names.len() <= MOST_NAMES;
    few.then(|| Touched::of(names.iter().map(Vec::as_slice)))?
}

/// What else decides what a scan finds, and no monitor tells of: who looks, what is mounted below the
/// root, and which directories are stores.
fn conditions(context: &Context) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let user = sys::owner(Path::new("/proc/self"))?;
    let mounts = sys::mounts_below(context.root.path())?;
    (user, mounts, context.stores_to_skip().ok()?).hash(&mut hasher);
    Some(hasher.finish())
}

/// Returns a directory that a scan would have passed over, and that differs from the stat cache.
fn missed(listing: &Listing, touched: &Touched) -> Option<RelPath> {
    let is_other = |(index, dir): (usize, &ListedDir)| {
        let before = dir
            .cached
            .as_deref()
            .filter(|before| before.summary.is_settled)?;
        let is_other = index != 0 && dir.tree != before.tree;
        let path = is_other.then(|| listing.path_of(index))?;
        (!touched.has(&path)).then_some(path)
    };
    listing.dirs.iter().enumerate().find_map(is_other)
}
