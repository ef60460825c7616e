//! The first checkpoint: everything is read, hashed, compressed and stored.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};

use super::seats;
use crate::checks::{self, Agreement};
use crate::contender::{Contender, Seat, Who};
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::place::{self, Size};
use crate::stage::Stage;
use crate::trees::Tree;

pub struct Cold<'a> {
    stage: &'a Stage,
    tree: &'a Tree,
    rounds: usize,
    /// The tree of each contender.
    first: BTreeMap<Who, Seat>,
    /// The stores of this round.
    current: BTreeMap<Who, Seat>,
    /// Contenders whose store of this round is complete.
    sound: BTreeSet<Who>,
    sizes: BTreeMap<Who, Size>,
    agreement: Agreement,
}

impl<'a> Cold<'a> {
    pub fn new(stage: &'a Stage, tree: &'a Tree, rounds: usize) -> Result<Self> {
        let mut first = BTreeMap::new();
        let full = |one: &&dyn Contender| !one.who().is_warm_only();
        for contender in stage.contenders.iter().filter(full) {
            first.insert(
                contender.who(),
                seats::seat(stage, tree, contender, "cold", false)?,
            );
        }
        let (current, sound, sizes) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Ok(Self {
            stage,
            tree,
            rounds,
            first,
            current,
            sound,
            sizes,
            agreement: Agreement::default(),
        })
    }
}

impl Scene for Cold<'_> {
    fn path(&self) -> &'static str {
        "cold create"
    }

    fn tree(&self) -> char {
        self.tree.name
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn takes_part(&self, who: Who) -> bool {
        self.first.contains_key(&who)
    }

    fn before_round(&mut self, _round: usize) -> Result<()> {
        let roots: BTreeSet<_> = self
            .first
            .values()
            .map(|seat| seat.tree.as_path())
            .collect();
        roots.into_iter().try_for_each(place::warm_up)
    }

    fn job(&mut self, who: Who, round: usize) -> Result<Job> {
        let contender = self
            .stage
            .contenders
            .get(who)
            .context("no such contender")?;
        let mut seat = self.first.get(&who).context("no tree")?.clone();
        seat.store = self.stage.place.fresh_store(&format!(
            "cold-{}-{}-{round}",
            self.tree.name,
            who.name()
        ))?;
        contender.open(&seat)?;
        let job = contender.create(&seat);
        self.current.insert(who, seat);
        Ok(job)
    }

    fn check(&mut self, who: Who, round: usize, done: &Done) -> Result<()> {
        let contender = self
            .stage
            .contenders
            .get(who)
            .context("no such contender")?;
        let seat = self.current.get(&who).context("no store")?;
        let id = contender.made(seat, done)?;
        self.agreement
            .hear(round, who, contender.tree_id(seat, &id)?)?;
        self.sound.insert(who);
        Ok(())
    }

    /// Checks and measures each store at once, then frees its blocks, or the disk would be full.
    fn after_round(&mut self, _round: usize) -> Result<()> {
        for (who, seat) in std::mem::take(&mut self.current) {
            let contender = self
                .stage
                .contenders
                .get(who)
                .context("no such contender")?;
            if self.sound.remove(&who)
                && let Some(store) = contender.git_dir(&seat)?
            {
                checks::fsck(&store)?;
                self.stage.count_checked();
            }
            // A contender that stores inside the tree has its store moved to `store` before the
            // next round.
            if seat.store.exists() {
                self.sizes.insert(who, place::size_of(&seat.store)?);
                place::cut_to_nothing(&seat.store)?;
            }
        }
        Ok(())
    }

    fn size(&self, who: Who) -> Result<Option<Size>> {
        Ok(self.sizes.get(&who).copied())
    }
}
