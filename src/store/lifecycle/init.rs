//! What every store has whether or not a checkpoint was made: directories and constant files, made and healed alike.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::store::files::{atomic_file, directories};
use crate::store::layout::Layout;
use crate::store::lifecycle::description::Description;

const HEAD: &str = "ref: refs/heads/main\n";
/// Plain git may be used with a work tree on this store: it must not change a byte on the way.
const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding -eol\n";
const KEEPER: &str = "This file keeps a directory that git needs from being empty.\n";

/// What git's fsck calls errors in the user's own files; in a store they are none.
const FSCK_IGNORED: [&str; 13] = [
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "gitattributesSymlink",
    "gitignoreSymlink",
    "mailmapSymlink",
    "zeroPaddedFilemode",
];

/// Makes what is missing, mends what differs, and takes from others any right to the store.
pub fn heal(layout: &Layout) -> Result<()> {
    for dir in layout.directories() {
        directories::create_private(&dir)?;
    }
    directories::make_private(layout.dir())?;
    constants(layout).iter().try_for_each(|(path, expected)| keep(&layout.own(), path, expected))
}

/// Files that are the same in every store, but for the path of the store.
pub fn constants(layout: &Layout) -> [(PathBuf, Vec<u8>); 4] {
    [
        (layout.head(), HEAD.into()),
        (layout.config(), config(layout).into_bytes()),
        (layout.attributes(), ATTRIBUTES.into()),
        (layout.objects_keeper(), KEEPER.into()),
    ]
}

/// Writes the exclusion list of a new store. It is the user's from then on: an emptied one stays empty.
pub fn write_exclusion_list(layout: &Layout) -> Result<()> {
    let path = layout.exclusion_list();
    if path.exists() {
        Ok(())
    } else {
        atomic_file::replace_through(&layout.own(), &path, DEFAULT_STORE_LIST.as_bytes())
    }
}

/// Writes the two files that nobody could make again, the exclusion list and the description, and flushes them at once.
/// The description comes last: with it, there is a store.
pub fn write_founding_files(layout: &Layout, description: &Description) -> Result<()> {
    let own = layout.own();
    let list = match layout.exclusion_list() {
        path if path.exists() => None,
        path => Some((atomic_file::written_aside(&own, DEFAULT_STORE_LIST.as_bytes())?, path)),
    };
    let described = atomic_file::written_aside(&own, description.render().as_bytes())?;
    let files = list.iter().map(|(file, _)| file).chain([&described]);
    atomic_file::sync_together(&files.collect::<Vec<_>>())?;
    if let Some((file, path)) = list {
        atomic_file::put_in_place(file, &own, &path)?;
        atomic_file::sync_directory(layout.dir())?;
    }
    atomic_file::put_in_place(described, &own, &layout.description())?;
    atomic_file::sync_directory(&own)
}

/// Constant files are not flushed: every writer makes those anew that a power cut took.
fn keep(aside: &Path, path: &Path, expected: &[u8]) -> Result<()> {
    match std::fs::read(path) {
        Ok(found) if found == expected => Ok(()),
        Ok(_) => atomic_file::replace_derived(aside, path, expected),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => atomic_file::replace_derived(aside, path, expected),
        Err(e) => Err(Error::io("read", path)(e)),
    }
}

fn config(layout: &Layout) -> String {
    let list = quote(&layout.exclusion_list());
    let fsck = FSCK_IGNORED.map(|id| format!("\t{id} = ignore\n")).concat();
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tlogAllRefUpdates = false\n\
         \tautocrlf = false\n\tsafecrlf = false\n\texcludesFile = \"{list}\"\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[commit]\n\tgpgSign = false\n\
         [fsck]\n{fsck}"
    )
}

/// A path inside double quotes of a git config.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}
