//! Real edits: a line added in the middle of some files, in place or by a new file over the old
//! one, as editors do it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// The files of a tree that can be edited, those in directories of their own first.
#[derive(Debug)]
pub struct Edits {
    files: Vec<PathBuf>,
    dirs: usize,
}

impl Edits {
    /// # Errors
    /// No file can be edited.
    pub fn of(root: &Path, captured: &[PathBuf]) -> Result<Self> {
        let mut by_dir: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
        for path in captured {
            let found = root
                .join(path)
                .symlink_metadata()
                .with_context(|| format!("no {}", path.display()))?;
            let is_rule = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if found.is_file() && !is_rule && (64..200_000).contains(&found.len()) {
                by_dir
                    .entry(path.parent().unwrap_or(Path::new("")))
                    .or_default()
                    .push(path);
            }
        }
        let dirs = by_dir.len();
        let deepest = by_dir.values().map(Vec::len).max().unwrap_or_default();
        let rank = |rank: usize| by_dir.values().filter_map(move |files| files.get(rank));
        let files: Vec<PathBuf> = (0..deepest)
            .flat_map(rank)
            .map(|path| (*path).clone())
            .collect();
        ensure!(
            !files.is_empty(),
            "nothing in {} can be edited",
            root.display()
        );
        Ok(Self { files, dirs })
    }

    /// The files that a round edits: spread over as many directories as there are, other ones in
    /// each round.
    pub fn pick(&self, round: usize, count: usize) -> Vec<&Path> {
        let among = if count <= self.dirs {
            self.dirs
        } else {
            self.files.len()
        };
        let count = count.min(among);
        let step = among / count;
        (0..count)
            .map(|number| self.files[(number * step + round * 37 % step) % among].as_path())
            .collect()
    }

    /// Edits `count` files of the tree at `root`, the same in every copy of it.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn make(&self, root: &Path, round: usize, count: usize) -> Result<()> {
        for (number, path) in self.pick(round, count).into_iter().enumerate() {
            edit(
                &root.join(path),
                &format!("// edit {number} of round {round}\n"),
                number % 2 == 1,
            )?;
        }
        Ok(())
    }
}

/// Changes five places spread over a large file, other ones in each round.
///
/// # Errors
/// The file cannot be read or written.
pub fn edit_large(path: &Path, round: usize) -> Result<()> {
    const PLACES: usize = 5;
    let doing = || format!("cannot edit {}", path.display());
    let mut bytes = std::fs::read(path).with_context(doing)?;
    let step = bytes.len() / PLACES;
    for number in 0..PLACES {
        let at = number * step + (round * 104_729) % step;
        bytes.splice(
            at..at,
            format!("\nedit {number} of round {round}\n").bytes(),
        );
    }
    std::fs::write(path, bytes).with_context(doing)
}

fn edit(path: &Path, line: &str, by_rename: bool) -> Result<()> {
    let doing = || format!("cannot edit {}", path.display());
    let mut bytes = std::fs::read(path).with_context(doing)?;
    let middle = bytes.len() / 2;
    let at = bytes[middle..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |found| middle + found + 1);
    bytes.splice(at..at, line.bytes());
    if !by_rename {
        return std::fs::write(path, bytes).with_context(doing);
    }
    let mode = path.metadata().with_context(doing)?.permissions();
    let new = path.with_extension("edit~");
    std::fs::write(&new, bytes).with_context(doing)?;
    std::fs::set_permissions(&new, mode).with_context(doing)?;
    std::fs::rename(&new, path).with_context(doing)
}
