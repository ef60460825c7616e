//! The program under test with its default settings, and the shell recipe, word for word: with git's
//! settings, and with its fastest.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::job::{Done, Job, write};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_checkpoint");

/// Records an unchanged tree anew however soon, so that each run adds a row. Nothing else is set.
const SETTINGS: &str = "dedup_window = \"0s\"\n";

/// Settings for both recipes: no background repack during another's run, a name to commit under, and
/// bytes as they are.
const BASIC: &str = "[gc]\n\tauto = 0\n[user]\n\tname = bench\n\temail = bench@example.org\n\
    [core]\n\tautocrlf = false\n\tbare = false\n";

/// The settings with which git is fastest here.
const FASTEST: &str = "[core]\n\tuntrackedCache = true\n\tpreloadIndex = true\n\tfsync = none\n\
    \tlooseCompression = 0\n[index]\n\tversion = 4\n\tthreads = 2\n\tskipHash = true\n\
    [checkout]\n\tworkers = 2\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Checkpoint,
    Recipe,
    Best,
}

/// A contender, with its store for a tree.
#[derive(Clone, Debug)]
pub struct Seat {
    pub who: Who,
    pub tree: PathBuf,
    /// The git directory of the recipe, the base of ours.
    pub store: PathBuf,
    pub home: PathBuf,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Recipe => "recipe",
            Self::Best => "git best",
        }
    }
}

impl Seat {
    pub fn new(who: Who, tree: &Path, top: &Path) -> Self {
        let name = who.name().replace(' ', "-");
        Self {
            who,
            tree: tree.to_path_buf(),
            store: top.join(format!("store-{name}")),
            home: top.join(format!("home-{name}")),
        }
    }

    /// Sets up what comes before the first create: our own makes the store, inside the clock.
    ///
    /// # Errors
    /// Something cannot be written, or git fails.
    pub fn open(&self, exclusions: &Path) -> Result<()> {
        let settings = self.home.join(".config/checkpoint/config.toml");
        if self.who == Who::Checkpoint {
            return write(&settings, SETTINGS);
        }
        std::fs::create_dir_all(&self.store).context("cannot make a store")?;
        self.git("git -c init.defaultBranch=main init -q")?;
        let config = self.store.join("config");
        let own = std::fs::read_to_string(&config).context("git made no configuration")?;
        let list = format!("\texcludesFile = {}\n", exclusions.display());
        let more = if self.who == Who::Best { FASTEST } else { "" };
        write(&config, format!("{own}{BASIC}{list}{more}"))?;
        // Attributes in a tree would change bytes, and so the id of the recorded tree.
        let attributes = "* -text -filter -ident -working-tree-encoding\n";
        write(&self.store.join("info/attributes"), attributes)
    }

    /// The command for a line: ours is given without the program.
    pub fn job(&self, ours: &str, recipe: &str) -> Job {
        if self.who != Who::Checkpoint {
            return Job::git(recipe, &self.tree, &self.store);
        }
        let home = self.home.clone().into();
        Job {
            line: format!("{PROGRAM} {ours}"),
            env: vec![
                ("HOME", home),
                ("CHECKPOINT_HOME", self.store.clone().into()),
            ],
            dir: self.tree.clone(),
        }
    }

    /// The id that a create printed, or that the recipe committed.
    ///
    /// # Errors
    /// There is none.
    pub fn made(&self, done: &Done) -> Result<String> {
        if self.who != Who::Checkpoint {
            return self.git("git rev-parse HEAD");
        }
        let id = done.text();
        ensure!(id.len() == 8, "create printed no id but '{id}'");
        Ok(id)
    }

    /// What plain git says of the store.
    ///
    /// # Errors
    /// It fails.
    pub fn git(&self, line: &str) -> Result<String> {
        Ok(Job::git(line, &self.tree, &self.git_dir()?).run()?.text())
    }

    /// Checks the store with plain git.
    ///
    /// # Errors
    /// What git finds wrong.
    pub fn fsck(&self) -> Result<()> {
        let said = self.git("git fsck --full --strict --no-progress")?;
        let mut wrong = said.lines();
        let wrong = wrong.find(|line| !line.starts_with("dangling"));
        ensure!(wrong.is_none(), "git fsck of {}: {said}", self.who.name());
        Ok(())
    }

    /// The git directory; ours is the only one below the base.
    pub fn git_dir(&self) -> Result<PathBuf> {
        if self.who != Who::Checkpoint {
            return Ok(self.store.clone());
        }
        let first = |dir: PathBuf| -> Result<PathBuf> {
            let missing = || format!("no store below {}", dir.display());
            let mut entries = std::fs::read_dir(&dir).with_context(missing)?;
            Ok(entries.next().with_context(missing)??.path())
        };
        first(first(self.store.join("projects"))?.join("checkpoints"))
    }
}
