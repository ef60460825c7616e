//! All stores under the base, for every root, and the damaged copies kept beside them.
//! `prune --orphaned` removes those whose root is gone, and the damaged copies that repairs kept.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::json::{self, JsonSchema, Serialize, TimeText, published_as};
use crate::model::state::rel_path::hex_of;
use crate::ops::find_root::{projects, subdirectories};
use crate::ops::{Context, Warning};
use crate::store::gc::disk_usage::bytes_below;
use crate::store::layout::{NAME_DIGITS, dir_hash};
use crate::store::lifecycle::description::{newer_format, refuse_newer};
use crate::store::lifecycle::removal;
use crate::store::{Description, Identity, Layout, Store, StoreRemoval};
use crate::worktree::root::identity;

pub use crate::store::damage::replace_store::KEPT_MARK;

/// All stores.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoreList {
    pub stores: Vec<KnownStore>,
}

/// A store, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownStore {
    /// The directory that it is of; null if the store does not say.
    #[serde(serialize_with = "json::optional_path")]
    pub root: Option<PathBuf>,
    /// Bytes of the path as hex digits, if it is not UTF-8.
    pub root_hex: Option<String>,
    /// `present`, `gone`, `unreachable` or `unknown`.
    pub root_state: RootState,
    #[serde(serialize_with = "json::path")]
    pub store: PathBuf,
    pub store_hex: Option<String>,
    /// Whether it is a damaged store that a repair kept.
    pub kept_copy: bool,
    /// Number of checkpoints but for safety checkpoints; null if they cannot be counted.
    pub checkpoint_count: Option<usize>,
    pub safety_count: usize,
    pub damaged_count: usize,
    pub pinned_count: usize,
    pub store_bytes: u64,
    /// When the newest checkpoint was made.
    pub newest_at: Option<TimeText>,
    /// Why the store cannot be read, or only in part.
    pub problem: Option<String>,
}

/// State of a store's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum RootState {
    Present,
    Gone,
    /// Undecidable: the parent is gone too, is not the directory that held the root (a disk may not
    /// be mounted), or may not be read.
    Unreachable,
    #[default]
    Unknown,
}

published_as! { RootState, &'static str, |state| state.into_str(); }

/// Returns every store and kept copy, in order of path. A bad one affects no other.
///
/// # Errors
/// The base itself cannot be listed.
pub fn all(context: &Context) -> Result<Vec<KnownStore>> {
    let is_known = |name: &str| is_store_name(name) || is_copy_name(name);
    Ok(directories(context, is_known)?
        .into_iter()
        .filter_map(read_store)
        .collect())
}

/// Returns the directories of all stores but kept copies, in order of path, without reading them.
///
/// # Errors
/// The base itself cannot be listed.
pub fn places(context: &Context) -> Result<Vec<PathBuf>> {
    directories(context, is_store_name)
}

/// Reads one directory; `None` if it contains nothing of a store.
pub fn read_store(dir: PathBuf) -> Option<KnownStore> {
    let kept_copy = dir
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(is_copy_name);
    let description = Description::read(&Layout::new(dir.clone()));
    let known = description.as_ref().ok().and_then(Option::as_ref);
    let root = known.and_then(Description::root_path);
    let recorded = known.map(|known| known.identity).unwrap_or_default();
    // If the name is not derived from this root, the description may be wrong: nothing is concluded
    // from it.
    let fits = |root: &Path| {
        dir.file_name().is_some_and(|name| {
            name.as_encoded_bytes()
                .starts_with(dir_hash(root).as_bytes())
        })
    };
    let root_state = root
        .as_deref()
        .filter(|root| fits(root))
        .map_or(RootState::Unknown, |root| state_of(root, recorded));
    let mut known = KnownStore {
        root_hex: root.as_deref().and_then(hex_unless_utf8),
        root,
        root_state,
        store_hex: hex_unless_utf8(&dir),
        kept_copy,
        store_bytes: bytes_below(&dir),
        problem: description.err().map(|e| e.to_string()),
        store: dir,
        ..KnownStore::default()
    };
    let inventory =
        match Store::open(known.store.clone()).map(|found| found.map(|store| store.inventory())) {
            Ok(None) if !kept_copy => return None,
            Ok(None) => return Some(known),
            Ok(Some(Ok(inventory))) => inventory,
            Ok(Some(Err(e))) | Err(e) => {
                known.problem = Some(e.to_string());
                return Some(known);
            }
        };
    known.checkpoint_count = Some(inventory.checkpoints.regular_count());
    known.safety_count = inventory.checkpoints.safety_count();
    known.damaged_count = inventory.damaged.len();
    known.pinned_count = inventory.checkpoints.pinned_count();
    let newest = inventory.newest();
    known.newest_at = newest.map(|newest| TimeText::new(newest.record.time_ms));
    let newer = newer_format(&Layout::new(known.store.clone()));
    known.problem = known
        .problem
        .or(newer.map(|found| format!("it has the newer format {found}")));
    Some(known)
}

fn hex_unless_utf8(path: &Path) -> Option<String> {
    let bytes = path.as_os_str().as_encoded_bytes();
    path.to_str().is_none().then(|| hex_of(bytes))
}

fn directories(context: &Context, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for project in projects(&context.base)? {
        // A folder that cannot be listed hides only its own stores.
        let inside = subdirectories(&project.join("checkpoints")).unwrap_or_default();
        let named = |dir: &PathBuf| {
            dir.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(&wanted)
        };
        found.extend(inside.into_iter().filter(named));
    }
    found.sort();
    Ok(found)
}

fn is_store_name(name: &str) -> bool {
    name.len() == NAME_DIGITS && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_copy_name(name: &str) -> bool {
    name.split_once(KEPT_MARK)
        .is_some_and(|(store, _)| is_store_name(store))
}

fn state_of(root: &Path, recorded: Identity) -> RootState {
    match root.symlink_metadata() {
        Ok(_) => return RootState::Present,
        Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return RootState::Unreachable;
        }
        Err(_) => {}
    }
    let parent = root
        .parent()
        .filter(|parent| parent.is_dir())
        .and_then(identity);
    // When a disk is unmounted, its mount point stays behind as a different directory, or vanishes.
    let Identity {
        root: (device, _),
        parent: then,
    } = recorded;
    let is_the_same =
        |now: (u64, u64)| (then.1 == 0 || now == then) && (device == 0 || device == now.0);
    if parent.is_some_and(is_the_same) {
        RootState::Gone
    } else {
        RootState::Unreachable
    }
}

/// What became of the stores of roots that are gone.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct OrphansOutcome {
    /// Stores that were removed, or would be in a dry run.
    pub removed: Vec<KnownStore>,
    /// Orphaned stores that stay.
    pub left: Vec<LeftStore>,
    pub dry_run: bool,
    /// Of those that are left.
    #[serde(skip)]
    pub failures: Vec<Error>,
}

/// A store that could not be removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftStore {
    #[serde(flatten)]
    pub known: KnownStore,
    pub why: String,
}

/// Removes orphaned stores with the consent of the user.
pub fn prune_orphaned(
    context: &Context,
    dry_run: bool,
    consent: impl FnOnce(&[KnownStore]) -> Result<()>,
) -> Result<(OrphansOutcome, Vec<Warning>)> {
    let mut orphans = all(context)?;
    orphans.retain(is_orphan);
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    let mut outcome = OrphansOutcome {
        dry_run,
        ..OrphansOutcome::default()
    };
    if dry_run {
        outcome.removed = orphans;
        return Ok((outcome, warnings));
    }
    if !orphans.is_empty() {
        consent(&orphans)?;
    }
    for orphan in orphans {
        match remove(context, &orphan) {
            Ok(()) => outcome.removed.push(orphan),
            Err(failure) => {
                let why = failure.to_string();
                outcome.left.push(LeftStore { known: orphan, why });
                outcome.failures.push(failure);
            }
        }
    }
    warnings.extend(clear_leftovers(context)?);
    Ok((outcome, warnings))
}

fn is_orphan(store: &KnownStore) -> bool {
    store.kept_copy || store.root_state == RootState::Gone
}

/// Removes one store. Under the lock, checks again that the root is gone: it may have come back.
fn remove(context: &Context, orphan: &KnownStore) -> Result<()> {
    let removal = if orphan.kept_copy {
        StoreRemoval::of_copy(&orphan.store)?
    } else {
        StoreRemoval::of_store(&orphan.store, context.lock_wait, &context.holder)?
    };
    let Some(removal) = removal else {
        return Ok(());
    };
    refuse_newer(&Layout::new(orphan.store.clone()))?;
    if !read_store(orphan.store.clone()).is_some_and(|now| is_orphan(&now)) {
        let root = orphan.root.as_deref().unwrap_or(Path::new("")).display();
        return Err(Error::unexpected(format!("{root} is there again")));
    }
    removal.detach()?.remove()
}

/// Removes what killed deletions of any store left behind.
fn clear_leftovers(context: &Context) -> Result<Vec<Warning>> {
    let projects = projects(&context.base)?.into_iter();
    let failures = projects
        .filter_map(|project| removal::clear_leftovers(&project.join("checkpoints"), None).err());
    let warning = |e| Warning::bookkeeping("removing what an earlier deletion left")(e);
    Ok(failures.map(warning).collect())
}
