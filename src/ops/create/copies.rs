//! Plain copies of a checkpoint's files within the root, from which `cp` alone can restore.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::base::mutex;
use crate::base::random_name::random_hex;
use crate::base::shell_word::shell_word;
use crate::error::{Error, Result};
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::restore_plan::RestoreScope;
use crate::model::state::entry::Entry;
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

/// Renders a manifest as text.
pub type Render = fn(&Manifest<'_>) -> String;

/// Content of a manifest of copies.
pub struct Manifest<'c> {
    pub checkpoint: &'c Checkpoint,
    /// Shell command that restores everything, directories included.
    pub command: String,
    pub files: Vec<Copied>,
}

pub struct Copied {
    pub path: RelPath,
    pub entry: Entry,
    /// Digest of the bytes, or of the text of a link; in hex.
    pub sha256: String,
    /// Shell command that restores this file.
    pub command: String,
}

/// Result of the request for copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copies {
    Made(PathBuf),
    /// A warning gives the reason.
    Failed,
}

/// Makes the copies of a checkpoint, which no failure affects; `may_be_there` if it was reused.
pub fn add(
    context: &Context,
    store: &Store,
    render: Render,
    checkpoint: &Checkpoint,
    may_be_there: bool,
    warnings: &mut Vec<Warning>,
) -> Copies {
    let _shield = context.interrupt.shield();
    match make(context, store, checkpoint, may_be_there, render) {
        Ok(dir) => Copies::Made(dir),
        Err(error) => {
            warnings.push(Warning::CopiesNotMade {
                id: checkpoint.id,
                why: error.to_string(),
            });
            Copies::Failed
        }
    }
}

fn make(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    may_be_there: bool,
    render: Render,
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
    let made = fill(context, store, checkpoint, &dir, &unfinished.work, render);
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
    render: Render,
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
    let files = plan
        .write
        .iter()
        .map(|(path, write)| (path, write.after))
        .collect();
    let top = Some(write_out::root_perm(&snapshot));
    let wanted = WantedEntry {
        top,
        dirs: &plan.make_dirs,
        files,
        special_bits: false,
    };
    materialize(&files_dir, &wanted, &fetch, &context.interrupt)?;
    let root = context.root.path();
    let copied = mutex::into_inner(sums)
        .into_iter()
        .filter_map(|(path, (sha256, size_bytes))| {
            let entry = Entry {
                size_bytes,
                ..plan.write.get(&path)?.after
            };
            let command = format!(
                "{CP} {} {}",
                place(&dir.join(FILES_DIR), &path),
                place(root, &path)
            );
            Some(Copied {
                path,
                entry,
                sha256,
                command,
            })
        });
    let text = manifest(root, checkpoint, dir, copied.collect(), render);
    let file = own(MANIFEST)?;
    let written = work
        .root()
        .create_file(file.name())
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| work.io("write", &file, error))
}

fn manifest(
    root: &Path,
    checkpoint: &Checkpoint,
    dir: &Path,
    files: Vec<Copied>,
    render: Render,
) -> String {
    let (all, to) = (
        place(&dir.join(FILES_DIR), &RelPath::root()),
        place(root, &RelPath::root()),
    );
    render(&Manifest {
        checkpoint,
        command: format!("{CP_ALL} {all} {to}"),
        files,
    })
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
