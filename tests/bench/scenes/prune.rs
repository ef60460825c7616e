//! A store of one large pack and many small checkpoints, half of which go.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use super::seats::Seats;
use crate::contender::{Seat, Who, git};
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::place::{self, Size};
use crate::report;
use crate::stage::Stage;
use crate::trees::{Edits, Tree};

/// Files that are edited before each checkpoint.
const EDITED: usize = 10;

pub struct Prune<'a> {
    seats: Seats<'a>,
    keep: usize,
    rounds: usize,
    /// The copy of the store that is pruned in this round.
    current: BTreeMap<Who, Seat>,
}

impl<'a> Prune<'a> {
    /// Makes the stores: `2 * keep` checkpoints over one base, for us and for the recipe.
    ///
    /// # Errors
    /// A create fails.
    pub fn new(stage: &'a Stage, tree: &'a Tree, keep: usize, rounds: usize) -> Result<Self> {
        let seats = Seats::fill(stage, tree, "prune", false, &[Who::Checkpoint, Who::Recipe])?;
        // What the user did before: the base is in one pack on git's side too.
        let (_, seat, _) = seats.get(Who::Recipe)?;
        git(&seat.tree).env("GIT_DIR", &seat.store).args(["gc", "--quiet", "--prune=now"]).run()?;
        let edits = Edits::of(&tree.root, &tree.captured)?;
        report::say(&format!("prune {}: {} checkpoints of {EDITED} edits", tree.name, 2 * keep));
        for number in 0..2 * keep {
            edits.make(&tree.root, number, EDITED)?;
            stage.place.settle();
            for who in [Who::Checkpoint, Who::Recipe] {
                let (contender, seat, _) = seats.get(who)?;
                let job = contender.create(seat);
                let job = if who == Who::Checkpoint { job.args(["--keep", "1000"]) } else { job };
                job.run()?;
            }
        }
        Ok(Self { seats, keep, rounds, current: BTreeMap::new() })
    }
}

impl Scene for Prune<'_> {
    fn path(&self) -> &'static str {
        "prune"
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
        let (contender, seat, _) = self.seats.get(who)?;
        let place = &self.seats.stage.place;
        let store = place.fresh_store(&format!("pruned-{}-{}-{round}", self.tree(), who.name()))?;
        place::copy(&[seat.store.join(".")], &store)?;
        let seat = Seat { store, ..seat.clone() };
        let job = contender.prune(&seat, self.keep).context("it has no prune")?;
        self.seats.stage.will_be_checked(contender.git_dir(&seat)?);
        self.current.insert(who, seat);
        Ok(job)
    }

    fn check(&mut self, who: Who, _round: usize, _done: &Done) -> Result<()> {
        let (contender, _, _) = self.seats.get(who)?;
        let seat = self.current.get(&who).context("no store")?;
        if let (Who::Checkpoint, Some(list)) = (who, contender.list(seat)) {
            let text = list.run()?.text();
            // Two lines are the head of the table.
            let rows = text.lines().count().saturating_sub(2);
            ensure!(rows == self.keep, "{rows} checkpoints are left, not {}", self.keep);
        }
        Ok(())
    }

    fn size(&self, who: Who) -> Result<Option<Size>> {
        self.current.get(&who).map(|seat| place::size_of(&seat.store)).transpose()
    }
}
