//! A store of one large pack and many small checkpoints, half of which are dropped.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use super::seats::Seats;
use crate::contender::{Seat, Who, git};
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::place::{self, Size};
use crate::report;
use crate::stage::Stage;
use crate::trees::{Edits, Tree, edit_large};

/// Number of files edited before each checkpoint.
const EDITED: usize = 10;

/// The change between two checkpoints of the history that is pruned.
enum Between {
    /// Edits of ten files of the tree.
    Edits(Edits),
    /// An edit of this one large file.
    Large(PathBuf),
}

pub struct Prune<'a> {
    seats: Seats<'a>,
    path: &'static str,
    keep: usize,
    left: usize,
    rounds: usize,
    /// The copy of the store that is pruned in this round.
    current: BTreeMap<Who, Seat>,
}

impl<'a> Prune<'a> {
    /// Makes stores of `2 * keep` checkpoints over one base, for us and for the recipe; half of
    /// them will be dropped.
    ///
    /// # Errors
    /// A create fails.
    pub fn halves(stage: &'a Stage, tree: &'a Tree, keep: usize, rounds: usize) -> Result<Self> {
        let seats = Seats::fill(stage, tree, "prune", false, &[Who::Checkpoint, Who::Recipe])?;
        // As a user would have done: the base is in one pack on git's side too.
        let (_, seat, _) = seats.get(Who::Recipe)?;
        git(&seat.tree)
            .env("GIT_DIR", &seat.store)
            .args(["gc", "--quiet", "--prune=now"])
            .run()?;
        let between = Between::Edits(Edits::of(&tree.root, &tree.captured)?);
        add_checkpoints(&seats, &between, 2 * keep)?;
        Ok(Self {
            seats,
            path: "prune",
            keep,
            left: keep,
            rounds,
            current: BTreeMap::new(),
        })
    }

    /// Makes stores of `count` checkpoints of one large file that is edited again and again; all of
    /// them stay.
    ///
    /// # Errors
    /// A create fails.
    pub fn large_file(
        stage: &'a Stage,
        tree: &'a Tree,
        count: usize,
        rounds: usize,
    ) -> Result<Self> {
        let seats = Seats::fill(stage, tree, "prune", false, &[Who::Checkpoint, Who::Recipe])?;
        let file = tree.captured.first().context("there is no file")?;
        add_checkpoints(&seats, &Between::Large(tree.root.join(file)), count)?;
        // Filling the store made two checkpoints of the first state.
        let (left, current) = (count + 2, BTreeMap::new());
        Ok(Self {
            seats,
            path: "prune, large text",
            keep: 1000,
            left,
            rounds,
            current,
        })
    }
}

fn add_checkpoints(seats: &Seats<'_>, between: &Between, count: usize) -> Result<()> {
    let tree = seats.tree;
    report::say(&format!("prune {}: {count} checkpoints", tree.name));
    for number in 0..count {
        match between {
            Between::Edits(edits) => edits.make(&tree.root, number, EDITED)?,
            Between::Large(file) => edit_large(file, number)?,
        }
        seats.stage.place.settle();
        for who in [Who::Checkpoint, Who::Recipe] {
            let (contender, seat, _) = seats.get(who)?;
            let job = contender.create(seat);
            let job = if who == Who::Checkpoint {
                job.args(["--keep", "1000", "--yes"])
            } else {
                job
            };
            job.run()?;
        }
    }
    Ok(())
}

impl Scene for Prune<'_> {
    fn path(&self) -> &str {
        self.path
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
        let seat = Seat {
            store,
            ..seat.clone()
        };
        let job = contender
            .prune(&seat, self.keep)
            .context("it has no prune")?;
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
            ensure!(
                rows == self.left,
                "{rows} checkpoints are left, not {}",
                self.left
            );
        }
        Ok(())
    }

    fn size(&self, who: Who) -> Result<Option<Size>> {
        self.current
            .get(&who)
            .map(|seat| place::size_of(&seat.store))
            .transpose()
    }
}
