//! The contenders, and what each must be able to do.

mod bare;
mod checkpoint;
mod libgit2;
mod recipe;
mod restic;
mod stepback;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::args::Args;
use crate::job::{Done, Job};

/// The names of the contenders, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Checkpoint,
    Recipe,
    Best,
    Libgit2,
    Stepback,
    Restic,
    /// Not a contender but the limit of one: a bare scan-and-record.
    Bare,
    /// Not a contender: two threads that read all directories and stat all files: the limit.
    Walk,
}

impl Who {
    pub const ALL: [Self; 8] = [
        Self::Checkpoint,
        Self::Recipe,
        Self::Best,
        Self::Libgit2,
        Self::Stepback,
        Self::Restic,
        Self::Bare,
        Self::Walk,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Recipe => "recipe",
            Self::Best => "best",
            Self::Libgit2 => "libgit2",
            Self::Stepback => "stepback",
            Self::Restic => "restic",
            Self::Bare => "bare",
            Self::Walk => "walk",
        }
    }

    /// Whether this is another project's program: its failures are only reported.
    pub fn is_peer(self) -> bool {
        matches!(self, Self::Libgit2 | Self::Stepback | Self::Restic)
    }

    /// Whether it only takes part where another checkpoint is made.
    pub fn is_warm_only(self) -> bool {
        self == Self::Bare
    }

    /// Whether it takes seconds where others take milliseconds: two runs must do.
    pub fn is_slow(self) -> bool {
        self.is_peer()
    }
}

/// One store of one contender over one tree.
#[derive(Clone, Debug)]
pub struct Seat {
    pub tree: PathBuf,
    pub store: PathBuf,
    /// Home directory of this contender alone.
    pub home: PathBuf,
    /// Whether the tree has more files than are recorded by default.
    pub is_huge: bool,
}

/// The use of one program for each path; `None` where it has nothing of the kind.
pub trait Contender {
    fn who(&self) -> Who;

    /// Makes an empty store, outside the clock.
    fn open(&self, seat: &Seat) -> Result<()>;

    /// Records the tree.
    fn create(&self, seat: &Seat) -> Job;

    /// The id of what a create has just made.
    fn made(&self, seat: &Seat, done: &Done) -> Result<String>;

    /// Restores the tree, saving the present state first.
    fn restore(&self, seat: &Seat, id: &str) -> Job;

    /// The id of the recorded tree, as git computes it.
    fn tree_id(&self, _seat: &Seat, _id: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// Drops all but the newest `keep` and gives their space back.
    fn prune(&self, _seat: &Seat, _keep: usize) -> Option<Job> {
        None
    }

    fn list(&self, _seat: &Seat) -> Option<Job> {
        None
    }

    fn version(&self) -> Option<Job> {
        None
    }

    /// The git directory that `git fsck` is to judge.
    fn git_dir(&self, _seat: &Seat) -> Result<Option<PathBuf>> {
        Ok(None)
    }

    /// Whether it puts files into the tree, and so needs a copy of its own.
    fn needs_own_tree(&self) -> bool {
        false
    }
}

/// The contenders present here, and of the others the reason for their absence.
pub struct Contenders {
    pub present: Vec<Box<dyn Contender>>,
    pub absent: Vec<(Who, String)>,
}

impl Contenders {
    /// Finds the contenders. `list` is the exclusion list, `work` the directory of the benchmark.
    ///
    /// # Errors
    /// There is no git.
    pub fn gather(args: &Args, work: &Path, list: &Path) -> Result<Self> {
        let mut all = Self {
            present: Vec::new(),
            absent: Vec::new(),
        };
        recipe::version(work).run()?;
        for who in Who::ALL {
            if who == Who::Walk {
                continue;
            }
            if !args.admits(who) {
                all.absent.push((who, "not in --only".to_owned()));
                continue;
            }
            match enter(who, args, work, list) {
                Ok(contender) => all.present.push(contender),
                Err(why) => all.absent.push((who, why)),
            }
        }
        Ok(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = &dyn Contender> {
        self.present.iter().map(AsRef::as_ref)
    }

    pub fn get(&self, who: Who) -> Option<&dyn Contender> {
        self.iter().find(|contender| contender.who() == who)
    }
}

fn enter(who: Who, args: &Args, work: &Path, list: &Path) -> Result<Box<dyn Contender>, String> {
    Ok(match who {
        Who::Checkpoint => Box::new(checkpoint::Checkpoint),
        Who::Recipe => Box::new(recipe::Recipe::plain(list)),
        Who::Best => Box::new(recipe::Recipe::best(list)),
        Who::Libgit2 => Box::new(libgit2::Libgit2::new(list)),
        Who::Stepback => Box::new(stepback::Stepback::find(
            args.stepback.as_deref(),
            work,
            list,
        )?),
        Who::Restic => Box::new(restic::Restic::find(work, list)?),
        Who::Bare => Box::new(bare::Bare::new(list)),
        Who::Walk => return Err("no contender".to_owned()),
    })
}

pub use checkpoint::probe as probe_exclusion_list;
pub use recipe::git;
