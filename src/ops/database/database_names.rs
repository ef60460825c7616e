//! Resolves typed databases: a name of the user's configuration, or an SQLite file in the root.

use crate::base::read_regular;
use crate::base::text::escape_bytes;
use crate::error::{Code, Error, Result, Sentence};
use crate::model::{Database, RelPath};
use crate::ops::Context;
use crate::ops::database::backup::live;
use crate::ops::restore::restore_paths;
use crate::worktree::WorkTree;
use crate::worktree::sqlite::{self, Refusal};
use crate::worktree::sys::{self, ItemKind};

/// # Errors
/// An argument is neither a name nor such a file.
pub fn parse(context: &Context, typed: &[Vec<u8>]) -> Result<Vec<Database>> {
    let mut found = typed
        .iter()
        .map(|one| parse_one(context, one))
        .collect::<Result<Vec<_>>>()?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn parse_one(context: &Context, typed: &[u8]) -> Result<Database> {
    if let Ok(name) = std::str::from_utf8(typed)
        && context.settings.databases.contains_key(name)
    {
        return Ok(Database::Named(name.to_owned()));
    }
    let shown = escape_bytes(typed);
    let wrong = |why: &str| Error::usage(format!("database '{shown}' {why}"));
    let path = match restore_paths::parse_one(&context.root, typed) {
        Ok(path) if path.is_root() => return Err(wrong("is a directory")),
        Ok(path) => path,
        Err(error) if error.code == Code::DOT_GIT_PATH => {
            return Err(wrong("is at or below a .git"));
        }
        Err(error) if error.code == Code::USAGE => {
            return Err(Error::usage(error.what.replacen("PATH", "database", 1)));
        }
        Err(other) => return Err(other),
    };
    check_is_file(context, &path, &wrong)?;
    if !sqlite::IS_BUILT_IN {
        return Err(wrong(
            "is a file, and this program was built without SQLite",
        ));
    }
    let place = live(context, &path);
    read_regular::open(&place).map_err(Error::io("read", &place))?;
    match sqlite::check_kind(&place) {
        Ok(()) => Ok(Database::File(path)),
        Err(Refusal::Failed(_)) => Err(wrong("is not a SQLite database")),
        Err(Refusal::Interrupted(signal)) => Err(signal.into()),
    }
}

/// Checks a database file; `wrong` makes an error of what is wrong with it.
fn check_is_file(context: &Context, path: &RelPath, wrong: &dyn Fn(&str) -> Error) -> Result<()> {
    let work = WorkTree::open_root(&context.root)?;
    let Some(stat) = work.stat(path)? else {
        let what = format!(
            "there is no database '{path}': neither a file nor a name in your configuration"
        );
        let hint = "--db takes a SQLite file in the directory, or a NAME of [database.NAME]; links are not followed";
        return Err(Error::new(Code::NOTHING_FOUND, what).next(Sentence::text(hint)));
    };
    match sys::kind_of(&stat) {
        ItemKind::File => Ok(()),
        ItemKind::Symlink => Err(wrong("is a symlink, which is not followed")),
        _ => Err(wrong("is not a regular file")),
    }
}
