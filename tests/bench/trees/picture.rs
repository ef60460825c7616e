//! A picture of a tree: every path with its kind, its executable bit and a digest of its bytes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use walkdir::WalkDir;
use xxhash_rust::xxh3::xxh3_128;

#[derive(Debug, PartialEq, Eq)]
enum Node {
    File { is_executable: bool, digest: u128 },
    Link(PathBuf),
}

#[derive(Debug)]
pub struct Picture {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Picture {
    /// Reads everything below, except what a contender keeps in the tree itself.
    ///
    /// # Errors
    /// A path cannot be read.
    pub fn of(root: &Path) -> Result<Self> {
        let entries = WalkDir::new(root)
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".stepback");
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot walk {}", root.display()))?;
            if !entry.file_type().is_dir() {
                paths.push(entry.into_path());
            }
        }
        let half = paths.len().div_ceil(2).max(1);
        let read = |part: &[PathBuf]| -> Result<Vec<(PathBuf, Node)>> {
            let one = |path: &PathBuf| Ok((path.strip_prefix(root)?.to_path_buf(), look(path)?));
            part.iter().map(one).collect()
        };
        let parts: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = paths
                .chunks(half)
                .map(|part| scope.spawn(move || read(part)))
                .collect();
            let panicked = |_| Err(anyhow::anyhow!("a reading thread panicked"));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(panicked))
                .collect()
        });
        let mut nodes = BTreeMap::new();
        for part in parts {
            nodes.extend(part?);
        }
        Ok(Self { nodes })
    }

    /// # Errors
    /// A captured path differs in `now`, or `now` has a path that was not there.
    pub fn must_equal(&self, now: &Self, captured: &[PathBuf]) -> Result<()> {
        for path in captured {
            let (was, is) = (self.nodes.get(path), now.nodes.get(path));
            if was != is {
                bail!(
                    "{} is not what it was: {was:?}, restored {is:?}",
                    path.display()
                );
            }
        }
        match now
            .nodes
            .keys()
            .find(|path| !self.nodes.contains_key(*path))
        {
            Some(more) => bail!("{} was not there before", more.display()),
            None => Ok(()),
        }
    }
}

fn look(path: &Path) -> Result<Node> {
    let doing = || format!("cannot read {}", path.display());
    let found = path.symlink_metadata().with_context(doing)?;
    if found.is_symlink() {
        return Ok(Node::Link(path.read_link().with_context(doing)?));
    }
    let digest = xxh3_128(&std::fs::read(path).with_context(doing)?);
    Ok(Node::File {
        is_executable: found.permissions().mode() & 0o100 != 0,
        digest,
    })
}
