//! The recorded trees, made once, and the edits in them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use walkdir::WalkDir;
use xxhash_rust::xxh3::Xxh3Default;

use crate::contest::Args;
use crate::job::{self, Job, write};

/// The commit of this project's own sources as text for trees.
const SOURCES: [&str; 2] = ["src", "tests"];
const ROOT_RULES: &str = "node_modules/\n*.log\n/coverage/\n.cache/\n*.tsbuildinfo\n!keep.log\n";
const FOLDER_RULES: &str = "# made by tools\n/lib-cov\n*.tgz\n*.tmp\n!important.tmp\n";

/// A tree, and the part of it that is recorded.
#[derive(Debug)]
pub struct Tree {
    pub name: char,
    pub root: PathBuf,
    pub what: String,
    /// Every path that git's own rules and the exclusion list admit, in order.
    pub captured: Vec<PathBuf>,
    /// Files that can be edited, those in directories of their own first, and the number of these.
    editable: Vec<PathBuf>,
    dirs: usize,
}

impl Tree {
    /// Makes a tree, or takes the one of an earlier run with the same --work.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(name: char, args: &Args, top: &Path, exclusions: &Path) -> Result<Self> {
        let root = top.join("trees").join(name.to_string());
        let ready = root.with_extension("ready");
        if !ready.exists() {
            std::fs::create_dir_all(&root).context("cannot make a tree")?;
            let made = match name {
                'a' => project(&root)?,
                'b' => packages(&root, args)?,
                'c' => large(&root, if args.small { 2 } else { 10 }, args)?,
                't' => large(&root, 0, args)?,
                _ => many(&root, args, top, exclusions)?,
            };
            write(&ready, made)?;
        }
        let what = std::fs::read_to_string(&ready).context("cannot read what a tree is")?;
        let captured = captured(&root, exclusions)?;
        ensure!(!captured.is_empty(), "tree {name} is empty");
        let (editable, dirs) = editable(&root, &captured);
        Ok(Self {
            name,
            root,
            what: format!("{what}, {} files recorded", captured.len()),
            captured,
            editable,
            dirs,
        })
    }

    /// Adds a line in the middle of some files, every second one by a new file over the old one, as
    /// editors do it: in as many directories as there are, other files in each round.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn edit(&self, root: &Path, round: usize, count: usize) -> Result<()> {
        let among = [self.editable.len(), self.dirs][usize::from(count <= self.dirs)];
        ensure!(among > 0, "nothing in tree {} can be edited", self.name);
        let step = (among / count).max(1);
        for number in 0..count.min(among) {
            let path = root.join(&self.editable[(number * step + round * 37 % step) % among]);
            let doing = || format!("cannot edit {}", path.display());
            let mut bytes = std::fs::read(&path).with_context(doing)?;
            let middle = bytes.len() / 2;
            let line_end = bytes[middle..].iter().position(|byte| *byte == b'\n');
            let at = line_end.map_or(bytes.len(), |found| middle + found + 1);
            let line = format!("// edit {number} of round {round}\n");
            bytes.splice(at..at, line.bytes());
            if number % 2 == 0 {
                std::fs::write(&path, bytes).with_context(doing)?;
                continue;
            }
            let (new, mode) = (path.with_extension("edit~"), path.metadata()?.permissions());
            std::fs::write(&new, bytes).with_context(doing)?;
            std::fs::set_permissions(&new, mode).with_context(doing)?;
            std::fs::rename(&new, &path).with_context(doing)?;
        }
        Ok(())
    }

    /// A digest of the recorded paths in a copy: kinds, executable bits and contents; and the number
    /// of all files there.
    ///
    /// # Errors
    /// A path cannot be read.
    pub fn digest(&self, root: &Path) -> Result<(u64, usize)> {
        let mut digest = Xxh3Default::new();
        for path in &self.captured {
            let path = root.join(path);
            let doing = || format!("cannot read {}", path.display());
            let found = path.symlink_metadata().with_context(doing)?;
            if found.is_symlink() {
                let target = path.read_link().with_context(doing)?;
                digest.update(target.as_os_str().as_encoded_bytes());
            } else {
                digest.update(&std::fs::read(&path).with_context(doing)?);
            }
            let is_executable = found.permissions().mode() & 0o100 != 0;
            digest.update(&[0, u8::from(found.is_symlink()), u8::from(is_executable)]);
        }
        let all = WalkDir::new(root).into_iter().filter_map(Result::ok);
        let files = all.filter(|entry| !entry.file_type().is_dir()).count();
        Ok((digest.digest(), files))
    }
}

/// The recorded paths by git itself: with an empty index everything not ignored is untracked.
fn captured(root: &Path, exclusions: &Path) -> Result<Vec<PathBuf>> {
    let scratch = root.with_extension("git");
    if !scratch.exists() {
        Job::git("git init -q", root, &scratch).run()?;
    }
    let line = format!(
        "git ls-files -z --others --exclude-per-directory=.gitignore --exclude-from={}",
        exclusions.display()
    );
    let done = Job::git(&line, root, &scratch).run()?;
    let names = done.stdout.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    let mut paths: Vec<PathBuf> = names
        .map(|name| std::ffi::OsString::from_vec(name.to_vec()).into())
        .collect();
    paths.sort();
    Ok(paths)
}

fn editable(root: &Path, captured: &[PathBuf]) -> (Vec<PathBuf>, usize) {
    let mut by_dir: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    for path in captured {
        let is_rule = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
        let found = root.join(path).symlink_metadata();
        let is_fit =
            found.is_ok_and(|found| found.is_file() && (64..200_000).contains(&found.len()));
        if is_fit && !path.file_name().is_some_and(is_rule) {
            let dir = path.parent().unwrap_or(Path::new(""));
            by_dir.entry(dir).or_default().push(path);
        }
    }
    let deepest = by_dir.values().map(Vec::len).max().unwrap_or_default();
    let ranked = (0..deepest).flat_map(|rank| by_dir.values().filter_map(move |of| of.get(rank)));
    (ranked.map(|path| (*path).clone()).collect(), by_dir.len())
}

/// Tree a: the source of this project, some hundred files.
fn project(root: &Path) -> Result<String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in SOURCES {
        job::copy(&package.join(folder), &root.join(folder))?;
    }
    Ok("the source of this project".to_owned())
}

/// Tree b: about 50,000 files, and what real projects have besides: rules, ignored files and links.
fn packages(root: &Path, args: &Args) -> Result<String> {
    let packages = root.join("packages");
    let what = match &args.tree_b {
        Some(dir) => {
            job::copy(dir, &packages)?;
            let all = WalkDir::new(&packages).into_iter().filter_map(Result::ok);
            // Git would record a nested repository as a link.
            let nested: Vec<_> = all.filter(|entry| entry.file_name() == ".git").collect();
            for entry in nested {
                std::fs::rename(entry.path(), entry.path().with_file_name("git~"))?;
            }
            dir.display().to_string()
        }
        None => made_packages(&packages, if args.small { 60 } else { 5_500 })?,
    };
    write(&root.join(".gitignore"), ROOT_RULES)?;
    write(&root.join("keep.log"), "kept\n")?;
    write(&root.join("coverage/report.txt"), "not kept\n")?;
    let dirs = WalkDir::new(&packages).min_depth(1).max_depth(1);
    let mut dirs: Vec<_> = dirs.into_iter().filter_map(Result::ok).collect();
    dirs.retain(|entry| entry.file_type().is_dir());
    dirs.sort_by_key(|entry| entry.file_name().to_owned());
    let step = (dirs.len() / 20).max(1);
    for (number, dir) in dirs.iter().step_by(step).enumerate() {
        write(&dir.path().join(".gitignore"), FOLDER_RULES)?;
        write(&dir.path().join("made.tmp"), "not kept\n")?;
        symlink(dir.path(), root.join(format!("link-{number}"))).context("cannot make a link")?;
    }
    made_packages(
        &root.join("node_modules"),
        if args.small { 10 } else { 1_300 },
    )?;
    Ok(what)
}

/// Folders of nine files each, of one to sixty lines of this project's text.
fn made_packages(top: &Path, folders: usize) -> Result<String> {
    let text = own_text()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = 0;
    for number in 0..folders {
        let dir = top.join(format!("group-{}/package-{number}", number % 97));
        for file in 0..9 {
            let length = 1 + (number * 31 + file * 17) % 60 * 2;
            let from = at % (lines.len() - length);
            at += length;
            let body = lines[from..from + length].concat();
            write(
                &dir.join(format!("file-{file}.js")),
                format!("// {number}.{file}\n{body}"),
            )?;
        }
    }
    Ok(format!("{folders} folders of made files"))
}

fn own_text() -> Result<String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = SOURCES.iter().flat_map(|dir| {
        WalkDir::new(package.join(dir))
            .sort_by_file_name()
            .into_iter()
    });
    let mut text = String::new();
    for entry in sources.filter_map(Result::ok) {
        if entry.path().extension().is_some_and(|it| it == "rs") {
            text += &std::fs::read_to_string(entry.path()).context("cannot read the source")?;
        }
    }
    Ok(text)
}

/// Large files: `pairs` of an incompressible one (xorshift from a fixed seed) and one of text; for
/// none, one of text that is edited again and again.
fn large(root: &Path, pairs: usize, args: &Args) -> Result<String> {
    let bytes = if args.small { 2_000_000 } else { 50_000_000 };
    let text = own_text()?;
    if pairs == 0 {
        let length = bytes * 2 / 5;
        let repeated = text.bytes().cycle().take(length).collect::<Vec<_>>();
        write(&root.join("text.txt"), repeated)?;
        return Ok("one text file".to_owned());
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..pairs {
        let path = root.join(format!("noise-{number}.bin"));
        let file = std::fs::File::create(path).context("cannot make a file")?;
        let mut file = std::io::BufWriter::with_capacity(1 << 20, file);
        for _ in 0..bytes / 8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            file.write_all(&state.to_le_bytes())?;
        }
        file.flush()?;
        let shifted = text.bytes().cycle().skip(number * 7919).take(bytes);
        write(
            &root.join(format!("text-{number}.txt")),
            shifted.collect::<Vec<_>>(),
        )?;
    }
    Ok(format!(
        "{pairs} incompressible files and {pairs} of text, {bytes} bytes each"
    ))
}

/// Changes five places spread over a large file, other ones in each round.
///
/// # Errors
/// The file cannot be read or written.
pub fn edit_large(path: &Path, round: usize) -> Result<()> {
    let mut bytes = std::fs::read(path).context("cannot read the large file")?;
    let step = bytes.len() / 5;
    for number in 0..5 {
        let at = number * step + (round * 104_729) % step;
        let line = format!("\nedit {number} of round {round}\n");
        bytes.splice(at..at, line.bytes());
    }
    std::fs::write(path, bytes).context("cannot write the large file")
}

/// Tree d: 300,000 files, several copies of the packages of tree b.
fn many(root: &Path, args: &Args, top: &Path, exclusions: &Path) -> Result<String> {
    let b = Tree::make('b', args, top, exclusions)?;
    let wanted = if args.small {
        2 * b.captured.len()
    } else {
        300_000
    };
    let copies = wanted.div_ceil(b.captured.len());
    for number in 0..copies {
        job::copy(
            &b.root.join("packages"),
            &root.join(format!("copy-{number}")),
        )?;
    }
    Ok(format!("{copies} copies of tree b"))
}
