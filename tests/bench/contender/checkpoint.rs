//! The program under test, with its default settings: everything durable.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{Contender, Seat, Who};
use crate::job::{Done, Job};
use crate::place;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_checkpoint");

/// Records an unchanged tree anew however soon, so that each run adds a row. Nothing else is set.
const SETTINGS: &str = "dedup_window = \"0s\"\n";

pub struct Checkpoint;

fn start(seat: &Seat) -> Job {
    Job::new(PROGRAM, &seat.tree)
        .env("HOME", &seat.home)
        .env("CHECKPOINT_HOME", &seat.store)
}

/// The store, in the only project folder below the base of a seat.
fn store_in(base: &Path) -> Result<PathBuf> {
    let pattern = |dir: &Path| -> Result<PathBuf> {
        let doing = || format!("no store below {}", dir.display());
        let first = std::fs::read_dir(dir)
            .with_context(doing)?
            .next()
            .with_context(doing)?;
        Ok(first.with_context(doing)?.path())
    };
    pattern(&pattern(&base.join("projects"))?.join("checkpoints"))
}

/// The exclusion list of a new store: all contenders leave out what it names.
///
/// # Errors
/// Not even a directory with one file can be recorded.
pub fn probe(top: &Path) -> Result<String> {
    let seat = Seat {
        tree: top.join("probe/tree"),
        store: top.join("probe/base"),
        home: top.join("probe/home"),
        is_huge: false,
    };
    place::write(&seat.tree.join("file"), "text")?;
    Checkpoint.open(&seat)?;
    Checkpoint.create(&seat).run()?;
    let list = store_in(&seat.store)?.join(".gitignore");
    std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))
}

impl Contender for Checkpoint {
    fn who(&self) -> Who {
        Who::Checkpoint
    }

    /// Sets up the home only: the first create makes the store, inside the clock.
    fn open(&self, seat: &Seat) -> Result<()> {
        place::write(&seat.home.join(".config/checkpoint/config.toml"), SETTINGS)
    }

    fn create(&self, seat: &Seat) -> Job {
        let job = start(seat).args(["create", "--reason", "x", "--source", "bench"]);
        if seat.is_huge {
            job.args(["--max-files", "0"])
        } else {
            job
        }
    }

    fn made(&self, _seat: &Seat, done: &Done) -> Result<String> {
        let id = done.text();
        ensure!(id.len() == 8, "create printed no id but '{id}'");
        Ok(id)
    }

    fn restore(&self, seat: &Seat, id: &str) -> Job {
        start(seat).args(["restore", id, "--yes"])
    }

    fn tree_id(&self, seat: &Seat, id: &str) -> Result<Option<String>> {
        let name = format!("{id}^{{tree}}");
        let done = super::git(&seat.tree)
            .env("GIT_DIR", store_in(&seat.store)?)
            .args(["rev-parse", &name])
            .run()?;
        Ok(Some(done.text()))
    }

    fn prune(&self, seat: &Seat, keep: usize) -> Option<Job> {
        Some(
            start(seat)
                .args(["prune", "--yes", "--keep"])
                .arg(keep.to_string()),
        )
    }

    fn list(&self, seat: &Seat) -> Option<Job> {
        Some(start(seat).arg("list"))
    }

    fn version(&self) -> Option<Job> {
        Some(Job::new(PROGRAM, Path::new("/")).arg("--version"))
    }

    fn git_dir(&self, seat: &Seat) -> Result<Option<PathBuf>> {
        store_in(&seat.store).map(Some)
    }
}
