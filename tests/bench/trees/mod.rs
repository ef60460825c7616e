//! The recorded trees, made once and then only edited.

mod edits;
mod large;
mod many;
mod packages;
mod picture;
mod project;

use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use walkdir::WalkDir;

use crate::args::Args;
use crate::contender::git;
use crate::place::{self, Place};

pub use edits::{Edits, edit_large};
pub use picture::Picture;

/// A tree, and the part of it that is recorded.
#[derive(Debug)]
pub struct Tree {
    pub name: char,
    pub root: PathBuf,
    pub what: String,
    /// Every path that git's own rules and the exclusion list admit, in order.
    pub captured: Vec<PathBuf>,
    pub bytes: u64,
    pub dirs: usize,
    /// Number of files below that are not recorded.
    pub left_out: usize,
}

impl Tree {
    /// Whether it has more files than are recorded by default.
    pub fn is_huge(&self) -> bool {
        self.captured.len() > 50_000
    }
}

/// Makes a tree, or reuses the one of an earlier run with the same --work.
///
/// # Errors
/// It cannot be made; the message says what it needs.
pub fn make(name: char, args: &Args, place: &Place, list: &Path) -> Result<Tree> {
    let root = place.tree(&name.to_string());
    let ready = place.top().join(format!("trees/{name}.ready"));
    if !ready.exists() {
        if root.exists() {
            place.put_aside(&root)?;
        }
        place::make_dir(&root)?;
        crate::report::say(&format!("making tree {name} in {}", root.display()));
        let what = match name {
            'a' => project::make(&root)?,
            'b' => packages::make(&root, args, place)?,
            'c' => large::make(&root, args, place, list)?,
            _ => many::make(&root, args, place, list)?,
        };
        place::write(&ready, what)?;
        place.settle();
    }
    let what = std::fs::read_to_string(&ready).context("cannot read what a tree is")?;
    look_at(name, &root, what, list)
}

/// Makes a tree of one large text file, which is edited again and again.
///
/// # Errors
/// It cannot be made.
pub fn make_text(args: &Args, place: &Place, list: &Path) -> Result<Tree> {
    let root = place.tree("t");
    let bytes = if args.small { 1_000_000 } else { 20_000_000 };
    if !root.exists() {
        large::make_text(&root, bytes, args, place, list)?;
    }
    look_at('t', &root, "one text file".to_owned(), list)
}

fn look_at(name: char, root: &Path, what: String, list: &Path) -> Result<Tree> {
    let captured = captured(root, list)?;
    ensure!(
        !captured.is_empty(),
        "tree {name} in {} is empty",
        root.display()
    );
    let mut bytes = 0;
    let mut dirs = std::collections::BTreeSet::new();
    for path in &captured {
        let found = root
            .join(path)
            .symlink_metadata()
            .with_context(|| format!("cannot look at {}", path.display()))?;
        bytes += found.len();
        dirs.extend(path.ancestors().skip(1));
    }
    let dirs = dirs.len();
    let all = WalkDir::new(root)
        .into_iter()
        .filter(|entry| entry.as_ref().is_ok_and(|e| !e.file_type().is_dir()));
    let left_out = all.count().saturating_sub(captured.len());
    Ok(Tree {
        name,
        root: root.to_path_buf(),
        what,
        captured,
        bytes,
        dirs,
        left_out,
    })
}

/// The captured paths by git itself: with an empty index everything not ignored is untracked.
fn captured(root: &Path, list: &Path) -> Result<Vec<PathBuf>> {
    let scratch = root.with_extension("git");
    if !scratch.exists() {
        git(root)
            .env("GIT_DIR", &scratch)
            .args(["init", "-q", "--bare"])
            .run()?;
    }
    let job = git(root)
        .env("GIT_DIR", &scratch)
        .env("GIT_WORK_TREE", root);
    let job = job.args([
        "-c",
        "core.bare=false",
        "ls-files",
        "-z",
        "--others",
        "--exclude-per-directory=.gitignore",
    ]);
    let done = job
        .arg(format!("--exclude-from={}", list.display()))
        .run()?;
    let names = done
        .stdout
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    let mut paths: Vec<PathBuf> = names
        .map(|name| std::ffi::OsString::from_vec(name.to_vec()).into())
        .collect();
    paths.sort();
    Ok(paths)
}
