//! A long series of checkpoints of ten edits: none may take much longer than the others.

use anyhow::Result;

use super::seats::Seats;
use crate::contender::Who;
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::stage::Stage;
use crate::trees::{Edits, Tree};

pub struct Series<'a> {
    seats: Seats<'a>,
    edits: Edits,
    rounds: usize,
}

impl<'a> Series<'a> {
    /// # Errors
    /// The first checkpoint fails.
    pub fn new(stage: &'a Stage, tree: &'a Tree, rounds: usize) -> Result<Self> {
        let seats = Seats::fill(stage, tree, "series", false, &[Who::Checkpoint])?;
        Ok(Self {
            seats,
            edits: Edits::of(&tree.root, &tree.captured)?,
            rounds,
        })
    }
}

impl Scene for Series<'_> {
    fn path(&self) -> &'static str {
        "series, 10 changed"
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

    fn before_round(&mut self, round: usize) -> Result<()> {
        self.edits.make(&self.seats.tree.root, round, 10)
    }

    fn job(&mut self, who: Who, _round: usize) -> Result<Job> {
        let (contender, seat, _) = self.seats.get(who)?;
        Ok(contender.create(seat))
    }

    fn check(&mut self, who: Who, _round: usize, done: &Done) -> Result<()> {
        let (contender, seat, _) = self.seats.get(who)?;
        contender.made(seat, done).map(|_| ())
    }
}
