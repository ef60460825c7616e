//! Creates and corrects the directories and constant files that every store has.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::{Description, Layout};

const HEAD: &str = "ref: refs/heads/main\n";
/// Attributes for plain git with a work tree on this store: it must not change a byte.
const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding -eol\n";
const KEEPER: &str = "This file keeps a directory that git needs from being empty.\n";

/// Errors of git's fsck about the user's own files, which are valid in a store.
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

/// Creates missing parts, replaces differing ones and makes the store private.
pub fn ensure_layout(layout: &Layout) -> Result<()> {
    for dir in layout.directories() {
        directories::create_private(&dir)?;
    }
    directories::make_private(layout.dir())?;
    constants(layout)
        .iter()
        .try_for_each(|(path, expected)| ensure_file(&layout.own(), path, expected))
}

/// Files that are the same in every store, except for its path.
pub fn constants(layout: &Layout) -> [(PathBuf, Vec<u8>); 4] {
    [
        (layout.head(), HEAD.into()),
        (layout.config(), config(layout).into_bytes()),
        (layout.attributes(), ATTRIBUTES.into()),
        (layout.objects_keeper(), KEEPER.into()),
    ]
}

/// Writes the exclusion list of a new store. Then it is the user's: an emptied one stays empty.
pub fn write_exclusion_list(layout: &Layout) -> Result<()> {
    let path = layout.exclusion_list();
    if path.exists() {
        Ok(())
    } else {
        atomic_file::replace_through(&layout.own(), &path, DEFAULT_STORE_LIST.as_bytes())
    }
}

/// Writes the two files that cannot be derived, the exclusion list and the description, and flushes
/// them. The description comes last: it makes the store exist.
pub fn write_founding_files(layout: &Layout, description: &Description) -> Result<()> {
    let own = layout.own();
    let list = match layout.exclusion_list() {
        path if path.exists() => None,
        path => Some((
            atomic_file::write_temporary(&own, DEFAULT_STORE_LIST.as_bytes())?,
            path,
        )),
    };
    let described = atomic_file::write_temporary(&own, description.render().as_bytes())?;
    let files = list.iter().map(|(file, _)| file).chain([&described]);
    atomic_file::sync_together(&files.collect::<Vec<_>>())?;
    if let Some((file, path)) = list {
        atomic_file::put_in_place(file, &own, &path)?;
        atomic_file::sync_directory(layout.dir())?;
    }
    atomic_file::put_in_place(described, &own, &layout.description())?;
    atomic_file::sync_directory(&own)
}

/// Writes a constant file without a flush: every writer restores one lost in a power cut.
fn ensure_file(aside: &Path, path: &Path, expected: &[u8]) -> Result<()> {
    match read_regular::read(path) {
        Ok(found) if found == expected => Ok(()),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("read", path)(e)),
        _ => atomic_file::replace_derived(aside, path, expected),
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

/// Quotes a path for a value of git's config.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}
