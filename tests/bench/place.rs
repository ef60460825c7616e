//! The directory of one benchmark: what is where, and how space is freed without deleting.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

#[derive(Debug)]
pub struct Place {
    top: PathBuf,
    disk: std::fs::File,
    aside: std::cell::Cell<usize>,
}

/// The size of a directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub apparent: u64,
    pub allocated: u64,
}

impl Place {
    /// # Errors
    /// The directory cannot be made.
    pub fn make(wanted: Option<&Path>) -> Result<Self> {
        let default = || {
            let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
                .parent()
                .unwrap_or(Path::new("target"));
            let seconds = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |passed| passed.as_secs());
            target.join(format!("bench-{seconds}"))
        };
        let top = wanted.map_or_else(default, Path::to_path_buf);
        std::fs::create_dir_all(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let top = top
            .canonicalize()
            .with_context(|| format!("cannot resolve {}", top.display()))?;
        let disk =
            std::fs::File::open(&top).with_context(|| format!("cannot open {}", top.display()))?;
        Ok(Self {
            top,
            disk,
            aside: std::cell::Cell::new(0),
        })
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    pub fn tree(&self, name: &str) -> PathBuf {
        self.top.join("trees").join(name)
    }

    pub fn home(&self, name: &str) -> PathBuf {
        self.top.join("homes").join(name)
    }

    /// A path for a store; one of an earlier run with the same --work moves aside and gives its
    /// blocks back.
    ///
    /// # Errors
    /// The former cannot be moved.
    pub fn fresh_store(&self, name: &str) -> Result<PathBuf> {
        let store = self.top.join("stores").join(name);
        if store.exists() {
            cut_to_nothing(&self.put_aside(&store)?)?;
        }
        make_dir(store.parent().unwrap_or(&self.top))?;
        Ok(store)
    }

    /// Renames it out of the way. Nothing is ever removed: ext4 creates files several times slower
    /// for minutes after many deletions, and every later run would pay for it.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn put_aside(&self, path: &Path) -> Result<PathBuf> {
        let aside = self.top.join("aside");
        make_dir(&aside)?;
        loop {
            let number = self.aside.get();
            self.aside.set(number + 1);
            let to = aside.join(number.to_string());
            if to.symlink_metadata().is_err() {
                std::fs::rename(path, &to)
                    .with_context(|| format!("cannot move {} aside", path.display()))?;
                return Ok(to);
            }
        }
    }

    /// Waits until everything written is on disk and the clock of the file system has moved on, so
    /// that no run pays for the one before it and no file counts as changed in this very tick.
    pub fn settle(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::syncfs(&self.disk);
        #[cfg(not(target_os = "linux"))]
        let _ = self.disk.sync_all();
        std::thread::sleep(Duration::from_millis(25));
    }
}

/// # Errors
/// It cannot be made.
pub fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = path.parent() {
        make_dir(parent)?;
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Frees the blocks of all files below, but no inode.
///
/// # Errors
/// A file cannot be truncated.
pub fn cut_to_nothing(top: &Path) -> Result<()> {
    for entry in WalkDir::new(top).follow_root_links(false) {
        let entry = entry.context("cannot walk what was put aside")?;
        let path = entry.path();
        let doing = || format!("cannot cut {}", path.display());
        if !entry.file_type().is_file() || entry.metadata().with_context(doing)?.len() == 0 {
            continue;
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .with_context(doing)?;
        std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)
            .with_context(doing)?;
    }
    Ok(())
}

/// # Errors
/// A path below cannot be read.
pub fn size_of(top: &Path) -> Result<Size> {
    let mut size = Size::default();
    for entry in WalkDir::new(top) {
        let found = entry
            .context("cannot walk a store")?
            .metadata()
            .context("cannot look at a file of a store")?;
        if !found.is_dir() {
            size.apparent += found.len();
        }
        size.allocated += found.blocks() * 512;
    }
    Ok(size)
}

/// Reads everything below, so that the caches of the kernel are warm for the first contender too.
///
/// # Errors
/// A path below cannot be read.
pub fn warm_up(top: &Path) -> Result<()> {
    for entry in WalkDir::new(top) {
        let entry = entry.context("cannot walk a tree")?;
        if entry.file_type().is_file() {
            let doing = || format!("cannot read {}", entry.path().display());
            let mut file = std::fs::File::open(entry.path()).with_context(doing)?;
            std::io::copy(&mut file, &mut std::io::sink()).with_context(doing)?;
        }
    }
    Ok(())
}

/// Copies directories with everything that `cp -a` keeps.
///
/// # Errors
/// `cp` fails.
pub fn copy(from: &[PathBuf], into: &Path) -> Result<()> {
    make_dir(into)?;
    crate::job::Job::new("cp", into)
        .arg("-a")
        .arg("--")
        .args(from)
        .arg(into)
        .run()?;
    Ok(())
}
