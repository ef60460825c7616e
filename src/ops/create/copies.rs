//! Plain copies of a checkpoint's files within the root, from which `cp` alone can restore.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::base::random_name::random_hex;
use crate::base::shell_word::shell_word;
use crate::base::{json, mutex};
use crate::error::{Error, Result};
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::terms::CheckpointTerms;
use crate::model::json::{JsonSchema, Octal, Serialize};
use crate::model::restore_plan::RestoreScope;
use crate::model::state::entry::RWX_BITS;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::restore::write_out;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::store::trees::digest::Passing;
use crate::worktree::apply::materialize::{WantedEntry, materialize};
use crate::worktree::apply::unfinished::Unfinished;
use crate::worktree::files::private_dir::open_or_make;
use crate::worktree::tree_handle::WorkTree;

/// Directory of the copies in the root; no checkpoint captures it.
const HOLDER: &str = ".checkpoints";
const FILES_DIR: &str = "files";
const MANIFEST: &str = "manifest.json";
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
    let name = own(&alias::of(checkpoint))?;
    let dir = holder.shown(&name);
    if holder.stat(&name)?.is_some() {
        let manifest = name.join(MANIFEST.as_bytes());
        if may_be_there && holder.stat(&manifest)?.is_some() {
            return Ok(dir);
        }
        return Err(Error::unexpected(format!(
            "{} exists already",
            dir.display()
        )));
    }
    let unfinished = Unfinished::begin(&holder, &random_hex())?;
    let made = fill(context, store, checkpoint, &dir, &unfinished.work);
    match made.and_then(|()| unfinished.publish(&name)) {
        Ok(()) => {
            root.root()
                .sync()
                .map_err(|error| root.io("flush", &RelPath::root(), error))?;
            Ok(dir)
        }
        Err(error) => Err(match unfinished.give_up() {
            Ok(()) => error,
            Err(left) => Error::unexpected(format!("{error}; then cleaning up failed: {left}")),
        }),
    }
}

/// Converts one of our own names to a path.
fn own(name: &str) -> Result<RelPath> {
    RelPath::new(name.as_bytes()).map_err(|why| Error::unexpected(format!("{name}: {why}")))
}

/// Writes the checkpoint's files from the store, then the manifest. `dir` is the final location.
fn fill(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    dir: &Path,
    work: &WorkTree,
) -> Result<()> {
    let snapshot = store.snapshot(checkpoint)?;
    let plan = write_out::plan(&snapshot, &RestoreScope::default());
    let files_dir = open_or_make(work, &own(FILES_DIR)?)?;
    let sums: Mutex<BTreeMap<RelPath, (String, u64)>> = Mutex::default();
    let fetch = |path: &RelPath, blob: ObjectId, out: &mut dyn Write| {
        let mut passing = Passing::new(out);
        let written =
            write_out::content(store, checkpoint.id, &files_dir, path, blob, &mut passing)?;
        let sum = passing.finish().sha256_hex();
        mutex::lock(&sums).insert(path.clone(), (sum, written));
        Ok(written)
    };
    let written = plan
        .write
        .iter()
        .map(|(path, write)| (path, write.after))
        .collect();
    let top = Some(write_out::root_perm(&snapshot));
    let wanted = WantedEntry {
        top,
        dirs: &plan.make_dirs,
        files: written,
        special_bits: false,
    };
    materialize(&files_dir, &wanted, &fetch, &context.interrupt)?;
    let (root, files) = (context.root.path(), dir.join(FILES_DIR));
    let copied = mutex::into_inner(sums)
        .into_iter()
        .filter_map(|(path, (sha256, size_bytes))| {
            let entry = plan.write.get(&path)?.after;
            let (from, to) = (place(&files, &path), place(root, &path));
            Some(CopiedFile {
                kind: entry.kind.into_str(),
                mode: Octal(entry.perm & RWX_BITS),
                size_bytes,
                sha256,
                command: format!("{CP} {from} {to}"),
                path,
            })
        });
    let (from, to) = (
        place(&files, &RelPath::root()),
        place(root, &RelPath::root()),
    );
    let manifest = CopiesManifest {
        schema: "checkpoint.copies/2",
        checkpoint: checkpoint.clone(),
        alias: alias::of(checkpoint),
        terms: checkpoint.record.terms.clone(),
        command: format!("{CP_ALL} {from} {to}"),
        files: copied.collect(),
    };
    let text = json::document(&manifest, true);
    let file = own(MANIFEST)?;
    let written = work
        .root()
        .create_file(file.name())
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| work.io("write", &file, error))
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
