//! A bare scan-and-record: `cache` is its flat stat cache, `scan` finds what changed, `pack` stores
//! it. What a create with all its promises takes above this one is what can still be saved.

mod cache;
mod pack;
mod scan;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rustix::fs::{CWD, Mode, OFlags};

use super::libgit2;
use cache::{Cache, Row, Stamp};
use pack::{Id, Pack};
use scan::Change;

const FILE_FORMAT: u32 = 0o170_000;

/// Creates a checkpoint of the tree; returns the id of the commit.
pub fn create(store: &Path, tree: &Path) -> Result<String> {
    let place = store.join("bare-cache");
    let Ok(bytes) = std::fs::read(&place) else {
        let id = libgit2::create(store, tree)?;
        write_whole(&place, &cache::of_commit(store, tree, &id)?)?;
        return Ok(id);
    };
    let mut cache = Cache::parse(bytes)?;
    let root = rustix::fs::open(tree, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let changes = scan::changes(&cache, &root)?;
    let mut pack = Pack::begin();
    if !changes.is_empty() {
        take(&mut cache, &root, &changes, &mut pack)?;
    }
    let commit = commit(&mut pack, &cache.row(0).id)?;
    pack.publish(store)?;
    set_main(store, &commit)?;
    if !changes.is_empty() {
        write_whole(&place, cache.bytes())?;
    }
    Ok(pack::hex(&commit))
}

/// Stores the changed files, and every directory above one of them.
fn take(
    cache: &mut Cache,
    root: &impl std::os::fd::AsFd,
    changes: &[Change],
    pack: &mut Pack,
) -> Result<()> {
    let mut dirty: BTreeSet<usize> = BTreeSet::new();
    for change in changes {
        let row = cache.row(change.row);
        if row.is_dir() {
            cache.set(change.row, change.stamp, row.id);
            continue;
        }
        if change.stamp.mode & FILE_FORMAT != row.stamp.mode & FILE_FORMAT {
            bail!("{} changed its kind", cache.path(change.row).display());
        }
        let content = read(root, &cache.path(change.row), row.stamp.mode)?;
        let id = pack.add("blob", &content)?;
        cache.set(change.row, change.stamp, id);
        let mut above = row.parent;
        while dirty.insert(above) && above != 0 {
            above = cache.row(above).parent;
        }
    }
    if dirty.is_empty() {
        return Ok(());
    }
    let children = cache.children();
    // A directory comes after its parent.
    for dir in dirty.iter().rev() {
        let rows: Vec<Row> = children[dir].iter().map(|row| cache.row(*row)).collect();
        let names: Vec<&[u8]> = children[dir].iter().map(|row| cache.name(*row)).collect();
        let id = pack.add("tree", &pack::tree(&rows, &names))?;
        let stamp = cache.row(*dir).stamp;
        cache.set(*dir, stamp, id);
    }
    Ok(())
}

fn read(root: &impl std::os::fd::AsFd, path: &Path, mode: u32) -> Result<Vec<u8>> {
    if mode & FILE_FORMAT == 0o120_000 {
        return Ok(rustix::fs::readlinkat(root, path, Vec::new())?.into_bytes());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, path, flags, Mode::empty())?;
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut content)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(content)
}

fn commit(pack: &mut Pack, tree: &Id) -> Result<Id> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let who = format!("bench <bench@example.org> {} +0000", now.as_secs());
    // The nanoseconds make each commit another one.
    let text = format!(
        "tree {}\nauthor {who}\ncommitter {who}\n\nx {}\n",
        pack::hex(tree),
        now.as_nanos()
    );
    pack.add("commit", text.as_bytes())
}

fn set_main(store: &Path, commit: &Id) -> Result<()> {
    let temporary = store.join("refs/heads/bare.tmp");
    let mut file = std::fs::File::create(&temporary)?;
    std::io::Write::write_all(&mut file, format!("{}\n", pack::hex(commit)).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, store.join("refs/heads/main"))?;
    Ok(rustix::fs::fsync(rustix::fs::openat(
        CWD,
        store.join("refs/heads"),
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)?)
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    std::fs::write(&temporary, bytes)?;
    Ok(std::fs::rename(&temporary, path)?)
}

impl Stamp {
    fn of(stat: &rustix::fs::Stat) -> Self {
        #[expect(clippy::cast_sign_loss, reason = "only compared")]
        let ns = |seconds: i64, ns: u64| (seconds as u64).wrapping_mul(1_000_000_000) + ns;
        Self {
            mtime: ns(stat.st_mtime, stat.st_mtime_nsec),
            ctime: ns(stat.st_ctime, stat.st_ctime_nsec),
            #[expect(clippy::cast_sign_loss, reason = "only compared")]
            size: stat.st_size as u64,
            inode: stat.st_ino,
            mode: stat.st_mode,
        }
    }
}
