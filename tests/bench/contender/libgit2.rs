//! libgit2's own index, as used by a program that simply calls `add_all` and `checkout_tree`; a
//! process per run.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Contender, Seat, Who, recipe};
use crate::child;
use crate::job::{Done, Job};

pub struct Libgit2 {
    list: PathBuf,
}

impl Libgit2 {
    pub fn new(list: &Path) -> Self {
        Self {
            list: list.to_path_buf(),
        }
    }
}

impl Contender for Libgit2 {
    fn who(&self) -> Who {
        Who::Libgit2
    }

    fn open(&self, seat: &Seat) -> Result<()> {
        recipe::init(&seat.store, &self.list, "")
    }

    fn create(&self, seat: &Seat) -> Job {
        child::job("libgit2-create", &seat.tree)
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
