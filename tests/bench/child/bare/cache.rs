//! A flat stat cache: rows of one size, directories before what is in them, then all names.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use git2::{ObjectType, Oid, Repository};

use super::pack::Id;

/// Four numbers of 8 bytes, mode, parent, start and length of the name, id.
const ROW_BYTES: usize = 4 * 8 + 4 * 4 + 20;
const HEAD_BYTES: usize = 8;

/// What a stat says of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub mtime: u64,
    pub ctime: u64,
    pub size: u64,
    pub inode: u64,
    pub mode: u32,
}

#[derive(Clone, Copy)]
pub struct Row {
    pub stamp: Stamp,
    pub parent: usize,
    pub id: Id,
}

impl Row {
    pub fn is_dir(&self) -> bool {
        self.stamp.mode & super::FILE_FORMAT == 0o040_000
    }
}

pub struct Cache {
    bytes: Vec<u8>,
    rows: usize,
}

impl Cache {
    pub fn parse(bytes: Vec<u8>) -> Result<Self> {
        let rows = usize::try_from(number(&bytes, 0))?;
        ensure!(bytes.len() > HEAD_BYTES + rows * ROW_BYTES, "a torn cache");
        Ok(Self { bytes, rows })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn row(&self, at: usize) -> Row {
        let row = &self.bytes[HEAD_BYTES + at * ROW_BYTES..][..ROW_BYTES];
        let mut id = [0; 20];
        id.copy_from_slice(&row[48..]);
        Row {
            stamp: Stamp {
                mtime: number(row, 0),
                ctime: number(row, 8),
                size: number(row, 16),
                inode: number(row, 24),
                mode: short(row, 32),
            },
            parent: short(row, 36) as usize,
            id,
        }
    }

    pub fn set(&mut self, at: usize, stamp: Stamp, id: Id) {
        let row = &mut self.bytes[HEAD_BYTES + at * ROW_BYTES..][..ROW_BYTES];
        put_stamp(&mut row[..36], stamp);
        row[48..].copy_from_slice(&id);
    }

    pub fn name(&self, at: usize) -> &[u8] {
        let row = &self.bytes[HEAD_BYTES + at * ROW_BYTES..][..ROW_BYTES];
        let names = &self.bytes[HEAD_BYTES + self.rows * ROW_BYTES..];
        &names[short(row, 40) as usize..][..short(row, 44) as usize]
    }

    /// The path below the root; empty for the root itself.
    pub fn path(&self, mut at: usize) -> PathBuf {
        let mut names = Vec::new();
        while at != 0 {
            names.push(self.name(at));
            at = self.row(at).parent;
        }
        names
            .iter()
            .rev()
            .map(|name| OsStr::from_bytes(name))
            .collect()
    }

    /// The rows in each directory.
    pub fn children(&self) -> HashMap<usize, Vec<usize>> {
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in 1..self.rows {
            children.entry(self.row(at).parent).or_default().push(at);
        }
        children
    }
}

/// A new cache of all that a commit holds, as it is in the tree now.
pub fn of_commit(store: &Path, tree: &Path, commit: &str) -> Result<Vec<u8>> {
    let repository = Repository::open(store)?;
    let top = repository.find_commit(Oid::from_str(commit)?)?.tree_id();
    let (mut rows, mut names): (Vec<u8>, Vec<u8>) = (Vec::new(), b"/".to_vec());
    let mut count = 1;
    put(&mut rows, stamp_of(tree)?, 0, (0, 0), top)?;
    let mut waiting = std::collections::VecDeque::from([(tree.to_path_buf(), 0, top)]);
    // Directory by directory, the files of each one after the other.
    while let Some((dir, parent, id)) = waiting.pop_front() {
        for entry in &repository.find_tree(id)? {
            let (name, path) = (
                entry.name_bytes(),
                dir.join(OsStr::from_bytes(entry.name_bytes())),
            );
            put(
                &mut rows,
                stamp_of(&path)?,
                parent,
                (names.len(), name.len()),
                entry.id(),
            )?;
            names.extend(name);
            if entry.kind() == Some(ObjectType::Tree) {
                waiting.push_back((path, count, entry.id()));
            }
            count += 1;
        }
    }
    let mut bytes = (count as u64).to_le_bytes().to_vec();
    bytes.extend(rows);
    bytes.extend(names);
    Ok(bytes)
}

fn stamp_of(path: &Path) -> Result<Stamp> {
    let stat =
        rustix::fs::lstat(path).with_context(|| format!("cannot stat {}", path.display()))?;
    Ok(Stamp::of(&stat))
}

fn put(
    rows: &mut Vec<u8>,
    stamp: Stamp,
    parent: usize,
    name: (usize, usize),
    id: Oid,
) -> Result<()> {
    let start = rows.len();
    rows.resize(start + 36, 0);
    put_stamp(&mut rows[start..], stamp);
    for number in [parent, name.0, name.1] {
        rows.extend(u32::try_from(number)?.to_le_bytes());
    }
    rows.extend(id.as_bytes());
    Ok(())
}

fn put_stamp(row: &mut [u8], stamp: Stamp) {
    let numbers = [stamp.mtime, stamp.ctime, stamp.size, stamp.inode];
    for (at, number) in numbers.into_iter().enumerate() {
        row[at * 8..][..8].copy_from_slice(&number.to_le_bytes());
    }
    row[32..36].copy_from_slice(&stamp.mode.to_le_bytes());
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn short(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}
