//! The shell recipe that the program replaces, word for word: with git's settings, and its fastest.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Contender, Seat, Who};
use crate::job::{Done, Job};
use crate::place;

const CREATE: &str = "git add -A && git commit -q --allow-empty -m x && git log -1";

/// Settings for both: no background repack during another's run, a name to commit under, and bytes
/// as they are.
const BASIC: &str = "[gc]\n\tauto = 0\n[user]\n\tname = bench\n\temail = bench@example.org\n[core]\n\tautocrlf = false\n";

/// The settings with which git is fastest here.
const FASTEST: &str = "\
[core]
\tuntrackedCache = true
\tpreloadIndex = true
\tfsync = none
\tlooseCompression = 0
[index]
\tversion = 4
\tthreads = 2
\tskipHash = true
[checkout]
\tworkers = 2
";

pub struct Recipe {
    list: PathBuf,
    is_best: bool,
}

impl Recipe {
    pub fn plain(list: &Path) -> Self {
        Self {
            list: list.to_path_buf(),
            is_best: false,
        }
    }

    pub fn best(list: &Path) -> Self {
        Self {
            list: list.to_path_buf(),
            is_best: true,
        }
    }
}

/// A shell command line over a store of the recipe.
fn line(line: &str, seat: &Seat) -> Job {
    with_git_env(Job::shell(line, &seat.tree))
        .env("GIT_DIR", &seat.store)
        .env("GIT_WORK_TREE", &seat.tree)
}

/// Git without any user's configuration.
pub fn git(dir: &Path) -> Job {
    with_git_env(Job::new("git", dir))
}

fn with_git_env(job: Job) -> Job {
    job.env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
}

pub fn version(dir: &Path) -> Job {
    git(dir).arg("--version")
}

/// Makes a git directory with the basic settings and `more`.
pub fn init(store: &Path, list: &Path, more: &str) -> Result<()> {
    place::make_dir(store)?;
    git(store)
        .env("GIT_DIR", store)
        .args(["-c", "init.defaultBranch=main", "init", "-q", "--bare"])
        .run()?;
    let excludes = format!(
        "[core]\n\tbare = false\n\texcludesFile = {}\n",
        list.display()
    );
    let config = store.join("config");
    let own = std::fs::read_to_string(&config)?;
    place::write(&config, format!("{own}{BASIC}{excludes}{more}"))?;
    // Attributes in a tree would change bytes, and so the id of the recorded tree.
    place::write(
        &store.join("info/attributes"),
        "* -text -filter -ident -working-tree-encoding\n",
    )
}

impl Contender for Recipe {
    fn who(&self) -> Who {
        if self.is_best { Who::Best } else { Who::Recipe }
    }

    fn open(&self, seat: &Seat) -> Result<()> {
        init(
            &seat.store,
            &self.list,
            if self.is_best { FASTEST } else { "" },
        )
    }

    fn create(&self, seat: &Seat) -> Job {
        line(CREATE, seat)
    }

    fn made(&self, seat: &Seat, _done: &Done) -> Result<String> {
        Ok(git(&seat.tree)
            .env("GIT_DIR", &seat.store)
            .args(["rev-parse", "HEAD"])
            .run()?
            .text())
    }

    fn restore(&self, seat: &Seat, id: &str) -> Job {
        let command = format!(
            "git add -A && git commit -q --allow-empty -m pre-restore-safety && git checkout {id} -- ."
        );
        line(&command, seat)
    }

    fn tree_id(&self, seat: &Seat, id: &str) -> Result<Option<String>> {
        tree_id(&seat.store, id).map(Some)
    }

    /// The recipe never drops commits: all that git can do is pack.
    fn prune(&self, seat: &Seat, _keep: usize) -> Option<Job> {
        (!self.is_best).then(|| line("git gc --quiet --prune=now", seat))
    }

    fn list(&self, seat: &Seat) -> Option<Job> {
        (!self.is_best).then(|| {
            git(&seat.tree)
                .env("GIT_DIR", &seat.store)
                .args(["log", "-n", "50"])
        })
    }

    fn version(&self) -> Option<Job> {
        (!self.is_best).then(|| version(Path::new("/")))
    }

    fn git_dir(&self, seat: &Seat) -> Result<Option<PathBuf>> {
        Ok(Some(seat.store.clone()))
    }
}

pub fn tree_id(store: &Path, id: &str) -> Result<String> {
    let name = format!("{id}^{{tree}}");
    Ok(git(store)
        .env("GIT_DIR", store)
        .args(["rev-parse", &name])
        .run()?
        .text())
}
