//! `cat`: the bytes of one file of a checkpoint.

use std::io::{ErrorKind, Write};

use crate::base::text::escape_bytes;
use crate::error::sentence::Sentence;
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::mismatch::Mismatch;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::json::{JsonSchema, Octal, Serialize};
use crate::model::state::database::Held;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::list::reader_warnings;
use crate::ops::capture::scope_checks::no_such_path;
use crate::ops::context::Context;
use crate::ops::restore::restore_paths;
use crate::ops::select::checkpoint::{current, find};
use crate::ops::select::words::{Lookup, no_path};
use crate::ops::warning::Warning;
use crate::store::objects::object_error::ObjectError;
use crate::store::refs::inventory::Inventory;
use crate::store::repository::Store;
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{MODE_FILE, MODE_GITLINK, TreeEntry};

pub const DATABASE_PREFIX: &[u8] = b"@db/";

/// Maximum number of directory entries that an error lists.
const ENTRIES_SHOWN: usize = 12;

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

/// Result of one way to split `SEL:PATH`.
struct Hit {
    checkpoint: Checkpoint,
    path: RelPath,
    entry: TreeEntry,
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
    let store = context.require_store()?;
    let inventory = store.inventory()?;
    let Hit {
        checkpoint,
        path,
        entry,
    } = match path {
        Some(path) => {
            let checkpoint = name(context, &inventory, what)?;
            let lookup = Lookup::new(context, &store, &inventory);
            find_entry(&lookup, context, checkpoint, path)?
        }
        None => locate(context, &store, &inventory, what)?,
    };
    let size_bytes = match store.objects().stream_blob(&entry.id, sink) {
        Ok(size_bytes) => size_bytes,
        Err(ObjectError::Sink(cause)) if cause.kind() == ErrorKind::BrokenPipe => {
            store.objects().size(&entry.id).unwrap_or_default()
        }
        Err(ObjectError::Sink(cause)) => {
            return Err(Error::unanswered(cause));
        }
        Err(cause) => return Err(store.damage(checkpoint.id, format!("{path}: {cause}"))),
    };
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    if checkpoint.is_partial() {
        warnings.push(Warning::IsPartial { id: checkpoint.id });
    }
    let outcome = CatOutcome {
        checkpoint,
        path,
        mode: Octal(entry.mode),
        blob_id: entry.id,
        size_bytes,
    };
    Ok((outcome, warnings))
}

/// Resolves `SEL:PATH`. Times, reasons and paths may contain colons, so every colon is tried as the
/// separator, and the longest selector that leads to a file wins. If none does, the longest
/// selector naming a checkpoint explains the wrong path, or else the shortest explains itself.
///
/// What names nothing that way may be a path alone.
fn locate(context: &Context, store: &Store, inventory: &Inventory, what: &[u8]) -> Result<Hit> {
    let colons: Vec<usize> = (0..what.len())
        .rev()
        .filter(|at| what[*at] == b':')
        .collect();
    let lookup = Lookup::new(context, store, inventory);
    let (mut wrong_path, mut wrong_selector) = (None, None);
    for at in colons {
        let (selector, path) = (&what[..at], &what[at + 1..]);
        match name(context, inventory, selector) {
            Err(error) => wrong_selector = Some(error),
            Ok(checkpoint) => match find_entry(&lookup, context, checkpoint, path) {
                Ok(hit) => return Ok(hit),
                Err(error) => wrong_path = wrong_path.or(Some(error)),
            },
        }
    }
    let whole = match current(context, inventory) {
        Ok(current) if !what.is_empty() => find_entry(&lookup, context, current, what),
        Ok(_) => Err(Error::usage("the word is empty: name a file, SEL:PATH")),
        Err(error) => Err(error),
    };
    if whole
        .as_ref()
        .err()
        .is_none_or(|error| error.code == Code::IS_A_DIRECTORY)
    {
        return whole;
    }
    let no_file = |checkpoint: Checkpoint| {
        Error::usage(format!(
            "{} is a checkpoint: name one of its files, SEL:PATH",
            checkpoint.id.short()
        ))
        .next(Sentence::new(
            "'checkpoint ls {}' lists them",
            &[&checkpoint.id.short()],
        ))
    };
    let is_checkpoint = name(context, inventory, what).ok().map(no_file);
    let explained = wrong_path.or(wrong_selector).or(is_checkpoint);
    explained.map_or(whole, Err)
}

fn name(context: &Context, inventory: &Inventory, selector: &[u8]) -> Result<Checkpoint> {
    match std::str::from_utf8(selector) {
        Ok(selector) => find(context, inventory, selector),
        Err(_) => Err(Error::no_such_checkpoint(
            &escape_bytes(selector),
            &Mismatch::of(&escape_bytes(selector), &inventory.checkpoints),
        )),
    }
}

/// Finds what was typed: `@db/NAME` is a database, `@state` the document of values if there is one,
/// and all else a path.
fn find_entry(
    lookup: &Lookup<'_>,
    context: &Context,
    checkpoint: Checkpoint,
    typed: &[u8],
) -> Result<Hit> {
    let (store, id) = (lookup.store(), checkpoint.id);
    if let Some((path, entry)) = find_database_entry(store, &checkpoint, typed)? {
        return Ok(Hit {
            checkpoint,
            path,
            entry,
        });
    }
    if typed == STATE_WORD
        && let Some(id) = store.extras(&checkpoint)?.state_document
    {
        let entry = TreeEntry {
            mode: MODE_FILE,
            name: STATE_WORD.into(),
            id,
        };
        return Ok(Hit {
            checkpoint,
            path: RelPath::root().join(STATE_WORD),
            entry,
        });
    }
    let path = match typed {
        [] => return Err(no_path()),
        typed => restore_paths::parse(&context.root, &[typed.to_vec()])?
            .pop()
            .unwrap_or_default(),
    };
    let found = find_in_trees(store, checkpoint, &path);
    found.map_err(|error| {
        if error.code == Code::NO_SUCH_PATH {
            lookup.counted_from_root(id, &path, error)
        } else {
            error
        }
    })
}

/// Walks down to a path, reading only the trees on the way.
fn find_in_trees(store: &Store, checkpoint: Checkpoint, path: &RelPath) -> Result<Hit> {
    let read = |id| {
        let tree = read_tree(store.objects(), id);
        tree.map_err(|why| store.damage(checkpoint.id, format!("the way to {path}: {why}")))
    };
    let missing = || no_such_path(checkpoint.id, &path.to_string());
    let mut names = path.components().peekable();
    let mut tree = read(checkpoint.tree)?;
    while let Some(name) = names.next() {
        let Some(entry) = tree.into_iter().find(|entry| *entry.name == *name) else {
            return Err(empty_directory(store, &checkpoint, path)?.unwrap_or_else(missing));
        };
        if entry.is_directory() {
            tree = read(entry.id)?;
        } else if names.peek().is_none() && entry.mode != MODE_GITLINK {
            return Ok(Hit {
                path: path.clone(),
                checkpoint,
                entry,
            });
        } else {
            return Err(missing());
        }
    }
    let shown = |entry: &TreeEntry| shown(&entry.name, entry.is_directory());
    Err(is_directory(
        &checkpoint,
        path,
        tree.iter().map(shown).collect(),
    ))
}

/// Returns the error for a directory without files, which is only in the meta.
fn empty_directory(
    store: &Store,
    checkpoint: &Checkpoint,
    path: &RelPath,
) -> Result<Option<Error>> {
    let meta = store.meta(checkpoint)?;
    let mut inner: Vec<String> = Vec::new();
    let mut is_there = false;
    for dir in meta
        .empty_dirs
        .iter()
        .filter(|dir| dir.is_at_or_below(path))
    {
        is_there = true;
        let below = dir.components().nth(path.components().count());
        inner.extend(below.map(|name| shown(name, true)));
    }
    inner.dedup();
    Ok(is_there.then(|| is_directory(checkpoint, path, inner)))
}

fn shown(name: &[u8], is_dir: bool) -> String {
    format!("{}{}", escape_bytes(name), if is_dir { "/" } else { "" })
}

fn is_directory(checkpoint: &Checkpoint, path: &RelPath, mut entries: Vec<String>) -> Error {
    let more = entries.len().saturating_sub(ENTRIES_SHOWN);
    if more > 0 {
        entries.truncate(ENTRIES_SHOWN);
        entries.push(format!("and {more} more"));
    }
    let content = if entries.is_empty() {
        "nothing".to_owned()
    } else {
        entries.join(", ")
    };
    let short = checkpoint.id.short();
    let what = format!("'{path}' is a directory in checkpoint {short}; it holds {content}");
    Error::new(Code::IS_A_DIRECTORY, what).advise("name one of its files")
}

/// Returns the blob of the typed database under the path that was typed; `None` if the path names
/// no database.
fn find_database_entry(
    store: &Store,
    checkpoint: &Checkpoint,
    typed: &[u8],
) -> Result<Option<(RelPath, TreeEntry)>> {
    let Some(wanted) = typed.strip_prefix(DATABASE_PREFIX) else {
        return Ok(None);
    };
    let databases = store.databases(checkpoint)?;
    let found = databases.iter().find_map(|(database, held)| match held {
        Held::Content(id) if database.typed() == wanted => Some(*id),
        _ => None,
    });
    let entry = found.map(|id| TreeEntry {
        mode: MODE_FILE,
        name: wanted.into(),
        id,
    });
    // A name that cannot be a path, such as one with two dots, is shown as `@db`.
    let path = RelPath::new(typed)
        .or_else(|_| RelPath::new(b"@db"))
        .unwrap_or_default();
    Ok(entry.map(|entry| (path, entry)))
}
