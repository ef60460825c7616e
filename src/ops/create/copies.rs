//! Plain copies of a checkpoint's files within the root, from which `cp` alone can restore.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::json;
use crate::base::random_name::random_hex;
use crate::base::shell_word::shell_word;
use crate::error::{Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::state::entry::{OWNER_RWX, RWX_BITS};
use crate::model::{
    Checkpoint, CheckpointTerms, Entry, Kind, Name, Octal, PlannedWrite, RelPath, RestorePlan,
    RestoreScope, Stat,
};
use crate::ops::restore::write_out;
use crate::ops::{Context, Warning};
use crate::store::Store;
use crate::store::trees::digest;
use crate::worktree::apply::stage::{self, tree_name};
use crate::worktree::apply::transaction::apply;
use crate::worktree::files::private_dir::open_or_make;
use crate::worktree::{ApplyPlan, Graft, GraftedDir, Stage, WantedTree, WorkTree};

/// Directory of the copies in the root; no checkpoint captures it.
const HOLDER: &str = ".checkpoints";
const FILES_DIR: &str = "files";
const MANIFEST: &str = "manifest.json";
const MANIFEST_PERM: u32 = 0o600;
/// Copies links as links, and never writes through a link in a file's place.
const CP: &str = if cfg!(target_os = "linux") {
    "cp -pPT --remove-destination"
} else {
    "cp -pPf"
};
const CP_ALL: &str = if cfg!(target_os = "linux") {
    "cp -RpP --remove-destination"
} else {
    "cp -RpPf"
};

/// The manifest of plain copies.
#[derive(Serialize, JsonSchema)]
pub struct CopiesManifest {
    /// `checkpoint.copies/2`.
    schema: &'static str,
    #[serde(flatten)]
    checkpoint: Checkpoint,
    alias: String,
    #[serde(flatten)]
    terms: CheckpointTerms,
    /// The command that restores all of them, directories included.
    command: String,
    files: Vec<CopiedFile>,
}

/// One copy.
#[derive(Serialize, JsonSchema)]
struct CopiedFile {
    kind: &'static str,
    mode: Octal,
    size_bytes: u64,
    /// Digest of the bytes, or of the text of a link; in hex.
    sha256: String,
    /// The command that restores this file.
    command: String,
    #[serde(flatten)]
    path: RelPath,
}

/// Makes the copies of a checkpoint, which no failure affects; `may_be_there` if it was reused.
/// Returns their directory.
pub fn add(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    may_be_there: bool,
    warnings: &mut Vec<Warning>,
) -> Option<PathBuf> {
    let _shield = context.interrupt.shield();
    let made = make(context, store, checkpoint, may_be_there);
    let failed = |error: Error| Warning::CopiesNotMade {
        id: checkpoint.id,
        why: error.to_string(),
    };
    made.map_err(|error| warnings.push(failed(error))).ok()
}

fn make(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    may_be_there: bool,
) -> Result<PathBuf> {
    let root = WorkTree::open_root(&context.root)?;
    let holder = open_or_make(&root, &own(HOLDER)?)?;
    let failed = |error| holder.io("read", &RelPath::root(), error);
    for item in holder.root().list().map_err(failed)? {
        if let Some(killed) = stage::random_part(&item.name) {
            // One that cannot be removed does no harm.
            let _ = stage::remove_leftover(&holder, killed);
        }
    }
    let name = own(&checkpoint.alias())?;
    let dir = holder.shown(&name);
    if holder.stat(&name)?.is_some() {
        let manifest = name.join(MANIFEST.as_bytes());
        let is_whole = may_be_there && holder.stat(&manifest)?.is_some();
        let what = || Error::unexpected(format!("{} exists already", dir.display()));
        return if is_whole { Ok(dir) } else { Err(what()) };
    }
    let staging = random_hex();
    let stage = Stage::create(&holder, &staging)?;
    let holds = fill(context, store, checkpoint, &dir, &stage);
    let holds = holds.map_err(|error| match stage::remove_leftover(&holder, &staging) {
        Ok(()) => error,
        Err(left) => Error::unexpected(format!("{error}; then cleaning up failed: {left}")),
    })?;
    // The name appears once all is on the disk.
    let flush = |error| root.io("flush", &RelPath::root(), error);
    holder.root().sync_file_system().map_err(flush)?;
    let plan = ApplyPlan {
        grafts: vec![Graft {
            path: name,
            staged: 0,
            holds,
        }],
        ..ApplyPlan::default()
    };
    let applied = apply(&holder, stage, &plan, &context.interrupt).map_err(|why| why.error)?;
    applied.sync()?;
    applied.discard()?;
    root.root().sync().map_err(flush)?;
    Ok(dir)
}

/// Converts one of our own names to a path.
fn own(name: &str) -> Result<RelPath> {
    RelPath::new(name.as_bytes()).map_err(|why| Error::unexpected(format!("{name}: {why}")))
}

/// Stages the files and the manifest of a checkpoint as a tree; returns the directories in it. `dir`
/// is the final location.
fn fill(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    dir: &Path,
    stage: &Stage,
) -> Result<Arc<[GraftedDir]>> {
    let snapshot = store.snapshot(checkpoint)?;
    let plan = write_out::plan(&snapshot, &RestoreScope::default());
    let manifest = manifest(context, store, checkpoint, &dir.join(FILES_DIR), &plan)?;
    let top = own(&tree_name(0))?;
    let inner = own(FILES_DIR)?;
    let mut dirs = BTreeMap::from([
        (RelPath::root(), OWNER_RWX),
        (inner.clone(), write_out::root_perm(&snapshot)),
    ]);
    let made = plan.make_dirs.iter();
    dirs.extend(made.map(|(path, perm)| (inner.join_all(path), *perm)));
    let copied: Vec<_> = plan.write.iter().collect();
    let copy = |(path, write): &(&RelPath, &PlannedWrite)| (inner.join_all(path), write.after);
    let mut files: Vec<(RelPath, Entry)> = copied.iter().map(copy).collect();
    let entry = Entry {
        kind: Kind::File,
        perm: MANIFEST_PERM,
        id: checkpoint.id,
        size_bytes: manifest.len() as u64,
    };
    files.push((own(MANIFEST)?, entry));
    let write_file = |number: usize, out: &mut dyn Write| {
        if let Some((path, write)) = copied.get(number) {
            let (id, blob) = (checkpoint.id, write.after.id);
            return write_out::content(store, id, stage.inside(), path, blob, out);
        }
        let written = out.write_all(manifest.as_bytes());
        let failed = |error| stage.inside().io("write", &files[number].0, error);
        written.map_err(failed).map(|()| manifest.len() as u64)
    };
    let staged = files
        .iter()
        .map(|(path, entry)| (top.join_all(path), *entry));
    let wanted = WantedTree {
        top: None,
        dirs: &dirs
            .iter()
            .map(|(path, perm)| (top.join_all(path), *perm))
            .collect(),
        files: &staged.collect::<Vec<_>>(),
        special_bits: false,
    };
    let stats = stage.fill(&wanted, &write_file, &context.interrupt)?;
    let mut held: BTreeMap<RelPath, Vec<(Name, Stat)>> = BTreeMap::new();
    for ((path, _), stat) in files.iter().zip(stats) {
        let dir = held.entry(path.parent().unwrap_or_default());
        dir.or_default().push((path.name().into(), stat));
    }
    let grafted = |below: RelPath| GraftedDir {
        files: held.remove(&below).unwrap_or_default(),
        below,
    };
    Ok(dirs.into_keys().map(grafted).collect())
}

/// Returns the text of the manifest; the copies will be in `files`.
fn manifest(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    files: &Path,
    plan: &RestorePlan,
) -> Result<String> {
    let root = context.root.path();
    let copied = |(path, write): (&RelPath, &PlannedWrite)| {
        let entry = write.after;
        let facts = digest::facts(store.objects(), entry.id);
        let facts = facts.map_err(|why| store.damage(checkpoint.id, format!("{path}: {why}")))?;
        let (from, to) = (place(files, path), place(root, path));
        Ok(CopiedFile {
            kind: entry.kind.into_str(),
            mode: Octal(entry.perm & RWX_BITS),
            size_bytes: facts.size_bytes,
            sha256: facts.sha256_hex(),
            command: format!("{CP} {from} {to}"),
            path: path.clone(),
        })
    };
    let (from, to) = (
        place(files, &RelPath::root()),
        place(root, &RelPath::root()),
    );
    let manifest = CopiesManifest {
        schema: "checkpoint.copies/2",
        checkpoint: checkpoint.clone(),
        alias: checkpoint.alias(),
        terms: checkpoint.record.terms.clone(),
        command: format!("{CP_ALL} {from} {to}"),
        files: plan.write.iter().map(copied).collect::<Result<_>>()?,
    };
    Ok(json::document(&manifest, true))
}

/// Quotes a path below a directory as one shell word; for the top, its whole content.
fn place(top: &Path, path: &RelPath) -> String {
    let below = if path.is_root() {
        b".".as_slice()
    } else {
        path.as_bytes()
    };
    shell_word(&[top.as_os_str().as_encoded_bytes(), b"/", below].concat())
}
