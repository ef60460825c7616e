//! Another checkpoint, of an unchanged tree or one with a few edits.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::seats::Seats;
use crate::checks::Agreement;
use crate::child;
use crate::contender::Who;
use crate::contest::Scene;
use crate::job::{Done, Job};
use crate::trees::Edits;

pub struct Warm<'a> {
    seats: &'a Seats<'a>,
    edits: &'a Edits,
    path: String,
    /// Number of files edited before each round.
    changed: usize,
    rounds: usize,
    last: BTreeMap<Who, String>,
    agreement: Agreement,
}

impl<'a> Warm<'a> {
    pub fn new(seats: &'a Seats<'a>, edits: &'a Edits, changed: usize, rounds: usize) -> Self {
        let path = if changed == 0 {
            "nothing changed".to_owned()
        } else {
            format!("{changed} changed")
        };
        Self {
            seats,
            edits,
            path,
            changed,
            rounds,
            last: BTreeMap::new(),
            agreement: Agreement::default(),
        }
    }
}

impl Scene for Warm<'_> {
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
        self.seats.has(who) || (who == Who::Walk && self.changed == 0)
    }

    fn before_round(&mut self, round: usize) -> Result<()> {
        if self.changed > 0 {
            for root in self.seats.roots() {
                self.edits.make(&root, round, self.changed)?;
            }
        }
        Ok(())
    }

    fn job(&mut self, who: Who, _round: usize) -> Result<Job> {
        if who == Who::Walk {
            return Ok(child::job("walk", &self.seats.tree.root).arg(&self.seats.tree.root));
        }
        let (contender, seat, _) = self.seats.get(who)?;
        Ok(contender.create(seat))
    }

    fn check(&mut self, who: Who, round: usize, done: &Done) -> Result<()> {
        if who == Who::Walk {
            return Ok(());
        }
        let (contender, seat, _) = self.seats.get(who)?;
        let id = contender.made(seat, done)?;
        let tree = contender.tree_id(seat, &id)?;
        // stepback documents that it records nothing when nothing has changed.
        let before = self.last.insert(who, id.clone());
        ensure!(
            before.as_ref() != Some(&id) || who == Who::Stepback,
            "{} recorded nothing",
            who.name()
        );
        self.agreement.hear(round, who, tree)
    }
}
