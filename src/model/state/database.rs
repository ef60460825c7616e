//! A database that a checkpoint holds beside its files: an SQLite file, or a configured one.

use std::collections::BTreeMap;
use std::fmt;

use crate::base::text::{escape, percent_decode, percent_encode};
use crate::model::state::rel_path::is_dot_git;
use crate::model::{ObjectId, RelPath, RestoreScope};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Database {
    File(RelPath),
    Named(String),
}

/// State of a database in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Content, as one blob.
    Content(ObjectId),
    /// The file did not exist.
    Absent,
}

pub type Databases = BTreeMap<Database, Held>;

const FILE: &str = "file:";
const NAMED: &str = "named:";
const ABSENT: &str = "absent:";

/// Suffixes of SQLite's logs, and of its index of one.
const LOGS: [&[u8]; 2] = [b"-wal", b"-journal"];
const INDEX: &[u8] = b"-shm";

impl Database {
    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::File(path) => Some(path),
            Self::Named(_) => None,
        }
    }

    /// Returns the path or name as the user types it.
    pub fn typed(&self) -> Vec<u8> {
        match self {
            Self::File(path) => path.as_bytes().to_vec(),
            Self::Named(name) => name.as_bytes().to_vec(),
        }
    }

    /// Whether a restore with these limits includes the database. Paths select database files only,
    /// and a scope limits captured files only.
    pub fn is_within(&self, scope: &RestoreScope) -> bool {
        match self {
            Self::File(path) => scope.filter.passes(path) && path.is_within(&scope.paths),
            Self::Named(_) => scope.paths.is_empty() && scope.filter.only.is_none(),
        }
    }

    /// Returns the database file and its companion files.
    pub fn files(&self) -> Vec<RelPath> {
        let Self::File(path) = self else {
            return Vec::new();
        };
        let parent = path.parent().unwrap_or_default();
        let index = parent.join(&[path.name(), INDEX].concat());
        [vec![path.clone(), index], logs_of(path)].concat()
    }
}

/// Returns the logs of a database that is this file, without which it is not whole.
pub fn logs_of(base: &RelPath) -> Vec<RelPath> {
    let parent = base.parent().unwrap_or_default();
    let log = |suffix: &&[u8]| parent.join(&[base.name(), suffix].concat());
    LOGS.iter().map(log).collect()
}

/// Returns the database to which a file belongs as a log, going by its name.
pub fn base_of_log(path: &RelPath) -> Option<RelPath> {
    let name = LOGS.iter().find_map(|log| path.name().strip_suffix(*log));
    let name = name.filter(|name| !name.is_empty())?;
    Some(path.parent()?.join(name))
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(f),
            Self::Named(name) => f.write_str(&escape(name)),
        }
    }
}

/// Returns the name of its entry in the tree of databases.
pub fn entry_name(database: &Database, held: Held) -> String {
    let (kind, bytes) = match (database, held) {
        (Database::File(path), Held::Content(_)) => (FILE, path.as_bytes()),
        (Database::File(path), Held::Absent) => (ABSENT, path.as_bytes()),
        (Database::Named(name), _) => (NAMED, name.as_bytes()),
    };
    format!("{kind}{}", percent_encode(bytes).replace('/', "%2F"))
}

/// Parses the name of a tree entry, with `content` as its blob; `None` if it is invalid.
pub fn from_entry(name: &[u8], content: ObjectId) -> Option<(Database, Held)> {
    let name = std::str::from_utf8(name).ok()?;
    let path = |encoded| {
        let path = RelPath::new(&percent_decode(encoded)?)
            .ok()
            .filter(|path| !path.is_root() && !path.components().any(is_dot_git))?;
        Some(Database::File(path))
    };
    if let Some(encoded) = name.strip_prefix(FILE) {
        return Some((path(encoded)?, Held::Content(content)));
    }
    if let Some(encoded) = name.strip_prefix(ABSENT) {
        return Some((path(encoded)?, Held::Absent));
    }
    let named = String::from_utf8(percent_decode(name.strip_prefix(NAMED)?)?).ok()?;
    Some((Database::Named(named), Held::Content(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: &[u8]) -> RelPath {
        RelPath::new(bytes).unwrap()
    }

    #[test]
    fn every_database_comes_back_from_its_name_in_the_tree() {
        let id = ObjectId::from_bytes([7; 20]);
        for (database, held) in [
            (Database::File(path(b"data/a b\xff.db")), Held::Content(id)),
            (Database::File(path(b"file:x")), Held::Absent),
            (Database::Named("shop/eu:1".to_owned()), Held::Content(id)),
        ] {
            let name = entry_name(&database, held);
            assert!(name.is_ascii() && !name.contains('/'), "{name}");
            assert_eq!(from_entry(name.as_bytes(), id), Some((database, held)));
        }
        for bad in
            "file: file:../x file:%2Fx file:.git%2Fhooks%2Fpost-commit file:sub%2F.GIT%2Fx.db \
            absent:.git absent:%zz named:%ff other:x x"
                .split(' ')
        {
            assert_eq!(from_entry(bad.as_bytes(), id), None, "{bad}");
        }
    }

    #[test]
    fn paths_choose_files_at_or_below_them_and_nothing_that_is_named() {
        let (file, named) = (
            Database::File(path(b"data/shop.db")),
            Database::Named("shop".to_owned()),
        );
        let scope = |paths: &[&str]| RestoreScope {
            paths: paths.iter().map(|text| path(text.as_bytes())).collect(),
            ..RestoreScope::default()
        };
        assert!(file.is_within(&scope(&[])) && named.is_within(&scope(&[])));
        assert!(
            file.is_within(&scope(&["x", "data/shop.db"])) && file.is_within(&scope(&["data"]))
        );
        assert!(!file.is_within(&scope(&["data/shop"])) && !named.is_within(&scope(&["shop"])));
        assert_eq!(file.files()[3], path(b"data/shop.db-journal"));
    }
}
