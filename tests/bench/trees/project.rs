//! Tree a: the source of this project, some hundred files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

use crate::contender::git;
use crate::place;

pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn make(root: &Path) -> Result<String> {
    copy_to(root)?;
    Ok("the source of this project".to_owned())
}

pub fn copy_to(root: &Path) -> Result<()> {
    for path in sources()? {
        let from = package().join(&path);
        let to = root.join(&path);
        place::make_dir(to.parent().unwrap_or(root))?;
        std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

/// The files that git tracks, or without git those in the folders of the source.
fn sources() -> Result<Vec<PathBuf>> {
    let is_file = |path: &PathBuf| package().join(path).is_file();
    if let Ok(done) = git(package()).args(["ls-files", "-z"]).run() {
        let names = done
            .stdout
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        return Ok(names
            .map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
            .filter(is_file)
            .collect());
    }
    let mut found = vec![
        PathBuf::from("Cargo.toml"),
        PathBuf::from("Cargo.lock"),
        PathBuf::from("README.md"),
    ];
    for folder in ["src", "tests"] {
        for entry in WalkDir::new(package().join(folder)) {
            let entry = entry.context("cannot walk the source")?;
            found.extend(entry.path().strip_prefix(package()).map(Path::to_path_buf));
        }
    }
    found.retain(is_file);
    Ok(found)
}
