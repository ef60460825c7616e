//! The limit of a create: a stat of every recorded file, one pack, one ref, and nothing else. It is
//! no program that one could use: it knows no rules, so names that it does not know are left out.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Contender, Seat, Who, recipe};
use crate::child;
use crate::job::{Done, Job};

pub struct Bare {
    list: PathBuf,
}

impl Bare {
    pub fn new(list: &Path) -> Self {
        Self {
            list: list.to_path_buf(),
        }
    }
}

impl Contender for Bare {
    fn who(&self) -> Who {
        Who::Bare
    }

    fn open(&self, seat: &Seat) -> Result<()> {
        recipe::init(&seat.store, &self.list, "")
    }

    /// The first create is libgit2's, from which the flat cache is made.
    fn create(&self, seat: &Seat) -> Job {
        child::job("bare-create", &seat.tree)
            .arg(&seat.store)
            .arg(&seat.tree)
    }

    fn made(&self, _seat: &Seat, done: &Done) -> Result<String> {
        Ok(done.text())
    }

    fn restore(&self, seat: &Seat, id: &str) -> Job {
        child::job("libgit2-restore", &seat.tree)
            .arg(&seat.store)
            .arg(&seat.tree)
            .arg(id)
    }

    fn tree_id(&self, seat: &Seat, id: &str) -> Result<Option<String>> {
        recipe::tree_id(&seat.store, id).map(Some)
    }

    fn git_dir(&self, seat: &Seat) -> Result<Option<PathBuf>> {
        Ok(Some(seat.store.clone()))
    }
}
