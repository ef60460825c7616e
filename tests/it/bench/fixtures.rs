//! Fixtures: things to put into a directory, and plain ways to copy, sweep and measure one.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::os;

#[cfg(all(unix, not(target_vendor = "apple")))]
pub fn fifo(path: &Path) {
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        path,
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .expect("a FIFO can be made");
}

#[cfg(target_vendor = "apple")]
pub fn fifo(path: &Path) {
    let made = super::limit::output(std::process::Command::new("mkfifo").arg(path))
        .expect("mkfifo can be started");
    assert!(
        made.status.success(),
        "cannot make the FIFO {}",
        path.display()
    );
}

/// Makes a socket that stays on disk after its listener is gone.
///
/// An address of a socket is short, so it is bound through a short link to its directory.
#[cfg(unix)]
pub fn socket(path: &Path) {
    let link = tempfile::tempdir().expect("a temporary directory can be made");
    let near = link.path().join("d");
    std::os::unix::fs::symlink(path.parent().expect("a socket lies in a directory"), &near)
        .expect("a link can be made");
    // No fixture uses this name.
    let bound = near.join(".socket-being-bound");
    drop(std::os::unix::net::UnixListener::bind(&bound).expect("a socket can be bound"));
    fs::rename(&bound, path).expect("a socket can be renamed");
}

#[cfg(not(unix))]
pub fn fifo(path: &Path) {
    panic!("no FIFO can be made here: {}", path.display());
}

#[cfg(not(unix))]
pub fn socket(path: &Path) {
    panic!("no socket can be made here: {}", path.display());
}

/// Makes the `.git` directory of a repository without commits, as far as its readers can tell.
pub fn decoy_git(dot_git: &Path) {
    for dir in [
        "objects/info",
        "objects/pack",
        "refs/heads",
        "refs/tags",
        "hooks",
    ] {
        fs::create_dir_all(dot_git.join(dir)).expect("a directory can be made");
    }
    fs::write(dot_git.join("HEAD"), "ref: refs/heads/main\n").expect("a file can be written");
    fs::write(
        dot_git.join("config"),
        "[core]\n\tbare = false\n\tautocrlf = true\n",
    )
    .expect("a file can be written");
    fs::write(
        dot_git.join("hooks/post-checkout"),
        "#!/bin/sh\ntouch hook-ran\n",
    )
    .expect("a file can be written");
}

/// Removes a file, a link or a whole directory, if it exists.
pub fn remove(path: &Path) {
    let removed = match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_dir() => {
            loosen(path);
            fs::remove_dir_all(path)
        }
        Ok(_) => fs::remove_file(path),
    };
    removed.unwrap_or_else(|error| panic!("cannot remove {}: {error}", path.display()));
}

/// Makes every directory writable again, so that an ordinary user can remove it.
pub fn loosen(top: &Path) {
    if os::is_root() {
        return;
    }
    let mut open: Vec<PathBuf> = vec![top.to_path_buf()];
    while let Some(dir) = open.pop() {
        let _ = os::set_mode(&dir, 0o700);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            } else if cfg!(windows) {
                let _ = os::set_mode(&entry.path(), 0o600);
            }
        }
    }
}

/// Removes every directory from `top` down that is empty or becomes so, as `find -type d -empty
/// -delete` does.
pub fn delete_empty_directories(top: &Path) {
    for entry in WalkDir::new(top).contents_first(true).into_iter().flatten() {
        if entry.file_type().is_dir() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Copies a tree with modes and modification times of files, to put a store back.
pub fn copy_tree(from: &Path, to: &Path) {
    for entry in WalkDir::new(from) {
        let entry = entry.expect("the source can be walked");
        let there = to.join(entry.path().strip_prefix(from).expect("below the source"));
        let meta = entry.metadata().expect("the source can be looked at");
        if meta.is_dir() {
            fs::create_dir_all(&there).expect("a directory can be made");
            fs::set_permissions(&there, meta.permissions()).expect("a mode can be set");
        } else if meta.is_file() {
            fs::copy(entry.path(), &there).expect("a file can be copied");
            let copy = fs::File::open(&there).expect("a copy can be opened");
            copy.set_modified(meta.modified().expect("a time is known"))
                .expect("a time can be set");
        }
    }
}

pub fn files_below(top: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(top).sort_by_file_name().into_iter().flatten();
    entries
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

pub fn bytes_below(top: &Path) -> u64 {
    files_below(top)
        .iter()
        .map(|path| path.metadata().expect("a file can be looked at").len())
        .sum()
}

pub fn packs_below(store: &Path) -> usize {
    files_below(&store.join("objects/pack"))
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .count()
}

pub fn mode_of(path: &Path) -> u32 {
    let found = path.symlink_metadata();
    os::mode(&found.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Incompressible bytes, different for each seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(len)
    .collect()
}

/// Makes a store one of a newer format, by its description.
pub fn make_newer(store: &Path, format: u32) {
    let description = store.join("checkpoint/description");
    let text = fs::read_to_string(&description).expect("a description");
    let (_, rest) = text.split_once('\n').expect("lines");
    assert!(text.starts_with("format 1\n"), "the format comes first");
    write_description(store, &format!("format {format}\n{rest}"));
}

/// Writes lines as the description of a store, with the right sum below them.
pub fn write_description(store: &Path, lines: &str) {
    let body: String = lines
        .lines()
        .filter(|line| !line.starts_with("sum "))
        .map(|line| format!("{line}\n"))
        .collect();
    let sum = xxhash_rust::xxh3::xxh3_64(body.as_bytes());
    fs::write(
        store.join("checkpoint/description"),
        format!("{body}sum {sum:016x}\n"),
    )
    .expect("it can be written");
}
