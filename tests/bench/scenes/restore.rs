//! The tree restored after some damage. Each contender has its own copy, with the same damage.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use anyhow::{Result, bail};

use super::seats::Seats;
use crate::contender::Who;
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::place;
use crate::trees::{Edits, Picture};

/// The damage to a tree before it is restored.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    Changed(usize),
    Gone,
}

pub struct Restore<'a> {
    seats: &'a Seats<'a>,
    edits: &'a Edits,
    /// Picture of each tree when its checkpoint was made.
    picture: &'a Picture,
    damage: Damage,
    path: String,
    rounds: usize,
}

impl<'a> Restore<'a> {
    pub fn new(
        seats: &'a Seats<'a>,
        edits: &'a Edits,
        picture: &'a Picture,
        damage: Damage,
        rounds: usize,
    ) -> Self {
        let path = match damage {
            Damage::Changed(count) => format!("restore, {count} changed"),
            Damage::Gone => "restore, all gone".to_owned(),
        };
        Self {
            seats,
            edits,
            picture,
            damage,
            path,
            rounds,
        }
    }

    /// Moves everything that was recorded out of the tree; its blocks are freed, its inodes stay.
    fn take_all(&self, root: &Path) -> Result<()> {
        let top = |path: &Path| match path.components().next() {
            Some(Component::Normal(name)) => Some(root.join(name)),
            _ => None,
        };
        let names: BTreeSet<_> = self
            .seats
            .tree
            .captured
            .iter()
            .filter_map(|path| top(path))
            .collect();
        for path in names {
            place::cut_to_nothing(&self.seats.stage.place.put_aside(&path)?)?;
        }
        Ok(())
    }
}

impl Scene for Restore<'_> {
    fn path(&self) -> &str {
        &self.path
    }

    fn tree(&self) -> char {
        self.seats.tree.name
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn takes_part(&self, who: Who) -> bool {
        self.seats.has(who)
    }

    fn job(&mut self, who: Who, round: usize) -> Result<Job> {
        let (contender, seat, id) = self.seats.get(who)?;
        place::warm_up(&seat.tree)?;
        match self.damage {
            Damage::Changed(count) => self.edits.make(&seat.tree, round, count)?,
            Damage::Gone => self.take_all(&seat.tree)?,
        }
        // The store too: a restore of everything reads all of it.
        if seat.store.exists() {
            place::warm_up(&seat.store)?;
        }
        Ok(contender.restore(seat, id))
    }

    fn check(&mut self, who: Who, _round: usize, _done: &Done) -> Result<()> {
        let (_, seat, _) = self.seats.get(who)?;
        let now = Picture::of(&seat.tree)?;
        if let Err(e) = self.picture.must_equal(&now, &self.seats.tree.captured) {
            bail!("{} restored something else: {e:#}", who.name());
        }
        Ok(())
    }
}
