//! `cat`: the bytes of one file of a checkpoint.

use std::io::{ErrorKind, Write};

use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::{Checkpoint, Held, ObjectId, Octal, RelPath};
use crate::ops::browse::list::reader_warnings;
use crate::ops::restore::restore_paths;
use crate::ops::select::checkpoint::{current, find};
use crate::ops::select::words::{no_path, no_such_path};
use crate::ops::{Context, Lookup, Warning};
use crate::store::trees::tree_codec::{MODE_FILE, MODE_GITLINK};
use crate::store::{ObjectError, Store, TreeMemo};
use crate::worktree::Root;

pub const DATABASE_PREFIX: &[u8] = b"@db/";

/// Names the values of a checkpoint in place of a path; a file of that name is `./@state`.
const STATE_WORD: &[u8] = b"@state";

/// A file of a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CatOutcome {
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    #[serde(flatten)]
    pub path: RelPath,
    /// Id of the content.
    pub blob_id: ObjectId,
    pub size_bytes: u64,
    /// Type and mode as git writes them, such as `100644`; of `120000`, a symlink, the content is its
    /// target.
    pub mode: Octal,
}

/// Writes the content to `sink`. A damaged small file writes nothing; of a large one, the start may
/// already be written. A closed pipe is not a failure.
///
/// `what` is `SEL:PATH`, or a path of the checkpoint at which the directory stands; with `path` it is
/// a selector alone.
pub fn cat(
    context: &Context,
    what: &[u8],
    path: Option<&[u8]>,
    sink: &mut dyn Write,
) -> Result<(CatOutcome, Vec<Warning>)> {
    let (store, inventory) = context.read()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let mut found = match path {
        Some(path) => find_entry(&lookup, name(&lookup, what)?, path)?,
        None => locate(&lookup, what)?,
    };
    let id = found.checkpoint.id;
    found.size_bytes = match store.objects().stream_blob(&found.blob_id, sink) {
        Ok(size_bytes) => size_bytes,
        Err(ObjectError::Sink(cause)) if cause.kind() == ErrorKind::BrokenPipe => {
            store.objects().size(&found.blob_id).unwrap_or_default()
        }
        Err(ObjectError::Sink(cause)) => return Err(Error::unanswered(cause)),
        Err(cause) => return Err(store.damage(id, format!("{}: {cause}", found.path))),
    };
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(Warning::partial(&found.checkpoint));
    Ok((found, warnings))
}

/// Resolves `SEL:PATH`. Times, reasons and paths may contain colons, so every colon is tried as the
/// separator, and the longest selector that leads to a file wins. If none does, the longest
/// selector naming a checkpoint explains the wrong path, or else the shortest explains itself.
///
/// What names nothing that way may be a path alone.
fn locate(lookup: &Lookup<'_>, what: &[u8]) -> Result<CatOutcome> {
    let (mut wrong_path, mut wrong_selector) = (None, None);
    for at in (0..what.len()).rev().filter(|at| what[*at] == b':') {
        match name(lookup, &what[..at]) {
            Err(error) => wrong_selector = Some(error),
            Ok(checkpoint) => match find_entry(lookup, checkpoint, &what[at + 1..]) {
                Ok(found) => return Ok(found),
                Err(error) => wrong_path = wrong_path.or(Some(error)),
            },
        }
    }
    let whole = match current(lookup.context, lookup.inventory) {
        Ok(_) if what.is_empty() => Err(Error::usage("the word is empty: name a file, SEL:PATH")),
        current => current.and_then(|current| find_entry(lookup, current, what)),
    };
    match &whole {
        Err(error) if error.code != Code::IS_A_DIRECTORY => {}
        _ => return whole,
    }
    let no_file = |checkpoint: Checkpoint| {
        let short = checkpoint.id.short();
        let what = format!("{short} is a checkpoint: name one of its files, SEL:PATH");
        Error::usage(what).next(Sentence::new("'checkpoint ls {}' lists them", &[&short]))
    };
    let is_checkpoint = name(lookup, what).ok().map(no_file);
    let explained = wrong_path.or(wrong_selector).or(is_checkpoint);
    explained.map_or(whole, Err)
}

fn name(lookup: &Lookup<'_>, selector: &[u8]) -> Result<Checkpoint> {
    let selector = String::from_utf8_lossy(selector);
    find(lookup.context, lookup.inventory, &selector)
}

/// Finds what was typed: `@db/NAME` is a database, `@state` the document of values if there is one,
/// and all else a path.
fn find_entry(lookup: &Lookup<'_>, checkpoint: Checkpoint, typed: &[u8]) -> Result<CatOutcome> {
    let (store, root, id) = (lookup.store, &lookup.context.root, checkpoint.id);
    let (path, mode, blob_id) = if let Some(blob) = find_special(store, &checkpoint, typed)? {
        // A name that cannot be a path, such as one with two dots, is shown as `@db`.
        let path = RelPath::new(typed).or_else(|_| RelPath::new(b"@db"));
        (path.unwrap_or_default(), MODE_FILE, blob)
    } else {
        if typed.is_empty() {
            return Err(no_path());
        }
        let path = restore_paths::parse_one(root, typed)?;
        let found = TreeMemo::new(store.objects()).entry_at(checkpoint.tree, &path);
        match found.map_err(|why| store.damage(id, format!("the way to {why}")))? {
            Some(entry) if entry.is_directory() => return Err(is_directory(root, id, &path)),
            Some(entry) if entry.mode != MODE_GITLINK => (path, entry.mode, entry.id),
            None if path.is_root() || is_empty_dir(store, &checkpoint, &path)? => {
                return Err(is_directory(root, id, &path));
            }
            _ => {
                let missing = no_such_path(id, &path.to_string());
                return Err(lookup.counted_from_root(id, &path, missing));
            }
        }
    };
    Ok(CatOutcome {
        checkpoint,
        path,
        blob_id,
        size_bytes: 0,
        mode: Octal(mode),
    })
}

/// Whether it is a directory without files, which is only in the meta.
fn is_empty_dir(store: &Store, checkpoint: &Checkpoint, path: &RelPath) -> Result<bool> {
    let empty = store.meta(checkpoint)?.empty_dirs;
    Ok(empty.iter().any(|dir| dir.is_at_or_below(path)))
}

fn is_directory(root: &Root, id: ObjectId, path: &RelPath) -> Error {
    let short = id.short();
    let typed = restore_paths::as_typed(root, path);
    let word = [short.as_bytes(), b":", &*typed].concat();
    let what = format!("'{path}' is a directory in checkpoint {short}");
    Error::new(Code::IS_A_DIRECTORY, what).next(Sentence::new(
        "'checkpoint ls {}' lists what it holds",
        &[&word],
    ))
}

/// Returns the blob of the database or of the values that were typed; `None` if they were not.
fn find_special(store: &Store, checkpoint: &Checkpoint, typed: &[u8]) -> Result<Option<ObjectId>> {
    let Some(wanted) = typed.strip_prefix(DATABASE_PREFIX) else {
        let is_state = typed == STATE_WORD;
        let extras = is_state.then(|| store.extras(checkpoint)).transpose()?;
        return Ok(extras.and_then(|extras| extras.state_document));
    };
    let databases = store.databases(checkpoint)?;
    Ok(databases.iter().find_map(|(database, held)| match held {
        Held::Content(id) if database.typed() == wanted => Some(*id),
        _ => None,
    }))
}
