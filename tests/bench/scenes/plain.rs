//! Commands that change nothing: the list of checkpoints, and the start of the program.

use anyhow::{Context as _, Result, ensure};

use super::seats::Seats;
use crate::contender::Who;
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::stage::Stage;
use crate::trees::{Edits, Tree};

pub struct List<'a> {
    seats: Seats<'a>,
    rows: usize,
    rounds: usize,
}

impl<'a> List<'a> {
    /// Makes `rows` checkpoints of ten edits each.
    ///
    /// # Errors
    /// A create fails.
    pub fn new(stage: &'a Stage, tree: &'a Tree, rows: usize, rounds: usize) -> Result<Self> {
        let seats = Seats::fill(stage, tree, "list", false, &[Who::Checkpoint, Who::Recipe])?;
        let edits = Edits::of(&tree.root, &tree.captured)?;
        for number in 0..rows {
            edits.make(&tree.root, number, 10)?;
            stage.place.settle();
            for who in [Who::Checkpoint, Who::Recipe] {
                let (contender, seat, _) = seats.get(who)?;
                contender.create(seat).run()?;
            }
        }
        Ok(Self {
            seats,
            rows,
            rounds,
        })
    }
}

impl Scene for List<'_> {
    fn path(&self) -> &'static str {
        "list of 50"
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

    fn job(&mut self, who: Who, _round: usize) -> Result<Job> {
        let (contender, seat, _) = self.seats.get(who)?;
        contender.list(seat).context("it has no list")
    }

    fn check(&mut self, who: Who, _round: usize, done: &Done) -> Result<()> {
        let mark = if who == Who::Checkpoint {
            "| x | bench |"
        } else {
            "commit "
        };
        let text = done.text();
        let found = text.lines().filter(|line| line.contains(mark)).count();
        ensure!(
            found >= self.rows.min(50),
            "{} listed {found} of {}",
            who.name(),
            self.rows
        );
        Ok(())
    }
}

/// The start of a process: `--version`.
pub struct Start<'a> {
    pub stage: &'a Stage,
    pub rounds: usize,
}

impl Scene for Start<'_> {
    fn path(&self) -> &'static str {
        "start-up"
    }

    fn tree(&self) -> char {
        '-'
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn takes_part(&self, who: Who) -> bool {
        self.stage
            .contenders
            .get(who)
            .is_some_and(|one| one.version().is_some())
    }

    fn job(&mut self, who: Who, _round: usize) -> Result<Job> {
        let contender = self
            .stage
            .contenders
            .get(who)
            .context("no such contender")?;
        contender.version().context("it has no version")
    }

    fn check(&mut self, who: Who, _round: usize, done: &Done) -> Result<()> {
        ensure!(
            done.text().contains('.'),
            "{} printed no version",
            who.name()
        );
        Ok(())
    }
}
