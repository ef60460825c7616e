//! Tree b: about 50,000 real files, from pinned npm packages or any directory, and what real
//! projects have besides: `.gitignore` files, ignored folders, symlinks.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use walkdir::WalkDir;

use super::project;
use crate::args::Args;
use crate::job::Job;
use crate::place::{self, Place};

/// Packages left out, so that fewer than 50,000 files are recorded: folders of icons, and lists
/// that change weekly.
const SKIPPED: [&str; 4] = [
    "@mui/icons-material",
    "@ant-design/icons",
    "@ant-design/icons-svg",
    "caniuse-lite",
];

/// Packages in the ignored `node_modules`: some 12,000 files.
const IGNORED: [&str; 2] = ["@mui/icons-material/esm", "caniuse-lite"];

/// Folder names that are left out by default.
const TOOLS_OUTPUT: [&str; 4] = ["dist", "build", "node_modules", ".next"];

const ROOT_RULES: &str = "node_modules/\n*.log\n/coverage/\n.cache/\n*.tsbuildinfo\n!keep.log\n";
const FOLDER_RULES: &str = "# made by tools\n/lib-cov\n*.tgz\n*.tmp\n!important.tmp\n";

pub fn make(root: &Path, args: &Args, place: &Place) -> Result<String> {
    let what = match &args.tree_b {
        Some(dir) => take(dir, root, place)?,
        None if args.small => small(root)?,
        None => from_npm(root, &modules(args, place)?, place)?,
    };
    Ok(what)
}

/// Copies any directory without its repositories: git would record a nested one as a link.
fn take(dir: &Path, root: &Path, place: &Place) -> Result<String> {
    let dir = dir
        .canonicalize()
        .with_context(|| format!("cannot find {}", dir.display()))?;
    place::copy(&[dir.join(".")], root)?;
    let all = WalkDir::new(root).into_iter().filter_map(Result::ok);
    let repositories: Vec<PathBuf> = all
        .filter(|e| e.file_name() == ".git")
        .map(walkdir::DirEntry::into_path)
        .collect();
    for path in repositories {
        if path.symlink_metadata().is_ok() {
            place.put_aside(&path)?;
        }
    }
    Ok(format!("a copy of {}", dir.display()))
}

fn small(root: &Path) -> Result<String> {
    for name in ["packages/one", "packages/two"] {
        project::copy_to(&root.join(name))?;
    }
    for number in 0..50 {
        place::write(
            &root.join(format!("node_modules/some/{number}.js")),
            format!("export default {number}\n"),
        )?;
    }
    place::write(&root.join("packages/one/rules/data.txt"), "text\n")?;
    symlink("one/src", root.join("packages/src"))?;
    dress(root, &["one", "two"])?;
    Ok("two copies of the source of this project".to_owned())
}

/// An installed `node_modules`: the given one, or one that npm makes.
fn modules(args: &Args, place: &Place) -> Result<PathBuf> {
    if let Some(dir) = &args.npm_modules {
        return dir
            .canonicalize()
            .with_context(|| format!("cannot find {}", dir.display()));
    }
    let dir = place.top().join("npm");
    place::write(
        &dir.join("package.json"),
        include_str!("../tree-b/package.json"),
    )?;
    let words = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--legacy-peer-deps",
    ];
    let home = std::env::var_os("HOME").unwrap_or_default();
    if let Err(e) = Job::new("npm", &dir).args(words).env("HOME", home).run() {
        bail!("tree b needs npm and a network, or --npm-modules DIR, or --tree-b DIR ({e:#})");
    }
    Ok(dir.join("node_modules"))
}

/// Puts the packages under a name that no rule leaves out, and some under the name that every rule
/// leaves out.
fn from_npm(root: &Path, modules: &Path, place: &Place) -> Result<String> {
    let packages = root.join("packages");
    let mut whole = Vec::new();
    for name in names_in(modules)? {
        let inside: Vec<&str> = SKIPPED
            .iter()
            .filter_map(|path| path.strip_prefix(&format!("{name}/")))
            .collect();
        if inside.is_empty() {
            whole.push(name);
            continue;
        }
        let kept = names_in(&modules.join(&name))?
            .into_iter()
            .filter(|sub| !inside.contains(&sub.as_str()));
        let from: Vec<PathBuf> = kept.map(|sub| modules.join(&name).join(sub)).collect();
        place::copy(&from, &packages.join(&name))?;
    }
    whole.retain(|name| !SKIPPED.contains(&name.as_str()));
    let from: Vec<PathBuf> = whole.iter().map(|name| modules.join(name)).collect();
    place::copy(&from, &packages)?;
    put_tools_output_aside(&packages, place)?;
    let ignored: Vec<PathBuf> = IGNORED
        .iter()
        .map(|name| modules.join(name))
        .filter(|path| path.exists())
        .collect();
    place::copy(&ignored, &root.join("node_modules"))?;
    let plain: Vec<&str> = whole
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with(['.', '@']))
        .collect();
    dress(root, &plain)?;
    Ok("npm packages of tests/bench/tree-b/package.json".to_owned())
}

/// Moves built output out of the packages, which would only be left out and copied.
fn put_tools_output_aside(packages: &Path, place: &Place) -> Result<()> {
    let mut walk = WalkDir::new(packages).into_iter();
    while let Some(entry) = walk.next() {
        let entry = entry.context("cannot walk the packages")?;
        if entry.file_type().is_dir()
            && entry
                .file_name()
                .to_str()
                .is_some_and(|name| TOOLS_OUTPUT.contains(&name))
        {
            walk.skip_current_dir();
            place::cut_to_nothing(&place.put_aside(entry.path())?)?;
        }
    }
    Ok(())
}

fn names_in(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Adds rules, ignored files and links, as real projects have them.
fn dress(root: &Path, packages: &[&str]) -> Result<()> {
    place::write(&root.join(".gitignore"), ROOT_RULES)?;
    place::write(&root.join("keep.log"), "kept\n")?;
    place::write(&root.join("coverage/report.txt"), "not kept\n")?;
    let step = (packages.len() / 20).max(1);
    for (number, name) in packages.iter().step_by(step).enumerate() {
        let dir = root.join("packages").join(name);
        if !dir.join(".gitignore").exists() {
            place::write(&dir.join(".gitignore"), FOLDER_RULES)?;
        }
        place::write(&dir.join("made.tmp"), "not kept\n")?;
        symlink(
            format!("packages/{name}"),
            root.join(format!("link-{number}")),
        )?;
    }
    Ok(())
}
