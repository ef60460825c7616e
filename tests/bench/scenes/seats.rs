//! Stores of all contenders over the same tree, each with a first checkpoint.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::checks::Agreement;
use crate::contender::{Contender, Seat, Who};
use crate::report;
use crate::stage::Stage;
use crate::trees::Tree;

pub struct Seats<'a> {
    pub stage: &'a Stage,
    pub tree: &'a Tree,
    by_who: BTreeMap<Who, (Seat, String)>,
}

impl<'a> Seats<'a> {
    /// Makes a store for each of `who`, filled by a first create; with own trees if wanted.
    ///
    /// # Errors
    /// A create fails, or two recorded different trees.
    pub fn fill(
        stage: &'a Stage,
        tree: &'a Tree,
        label: &str,
        own_trees: bool,
        who: &[Who],
    ) -> Result<Self> {
        let mut seats = Self {
            stage,
            tree,
            by_who: BTreeMap::new(),
        };
        let mut agreement = Agreement::default();
        for contender in stage
            .contenders
            .iter()
            .filter(|one| who.contains(&one.who()))
        {
            let name = contender.who().name();
            report::say(&format!(
                "{label} {}: first checkpoint of {name}",
                tree.name
            ));
            match seats.add(contender, label, own_trees, &mut agreement) {
                Err(e) if contender.who().is_peer() => {
                    stage.note(format!("{name} has no store of {}: {e:#}", tree.name));
                }
                other => other?,
            }
        }
        Ok(seats)
    }

    fn add(
        &mut self,
        contender: &dyn Contender,
        label: &str,
        own_trees: bool,
        agreement: &mut Agreement,
    ) -> Result<()> {
        let seat = seat(self.stage, self.tree, contender, label, own_trees)?;
        contender.open(&seat)?;
        settle_and_create(self.stage, contender, &seat)?;
        // The second create sees no file of the very tick in which the first was made.
        let id = settle_and_create(self.stage, contender, &seat)?;
        agreement.hear(0, contender.who(), contender.tree_id(&seat, &id)?)?;
        self.stage.will_be_checked(contender.git_dir(&seat)?);
        self.by_who.insert(contender.who(), (seat, id));
        Ok(())
    }

    pub fn has(&self, who: Who) -> bool {
        self.by_who.contains_key(&who)
    }

    /// The contender, its seat and the id of its first checkpoint.
    ///
    /// # Errors
    /// It does not take part here.
    pub fn get(&self, who: Who) -> Result<(&'a dyn Contender, &Seat, &str)> {
        let contender = self
            .stage
            .contenders
            .get(who)
            .context("no such contender")?;
        let (seat, id) = self
            .by_who
            .get(&who)
            .context("this contender has no store here")?;
        Ok((contender, seat, id))
    }

    /// Each directory that a contender records, once.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = self
            .by_who
            .values()
            .map(|(seat, _)| seat.tree.clone())
            .collect();
        roots.push(self.tree.root.clone());
        roots.sort();
        roots.dedup();
        roots
    }
}

fn settle_and_create(stage: &Stage, contender: &dyn Contender, seat: &Seat) -> Result<String> {
    stage.place.settle();
    let done = contender.create(seat).run()?;
    contender.made(seat, &done)
}

/// A place for a contender over a tree: the tree itself, or a copy where it would disturb others.
///
/// # Errors
/// The copy cannot be made.
pub fn seat(
    stage: &Stage,
    tree: &Tree,
    contender: &dyn Contender,
    label: &str,
    own_tree: bool,
) -> Result<Seat> {
    let name = format!("{label}-{}-{}", tree.name, contender.who().name());
    let root = if own_tree {
        stage.own_copy(tree, &name)?
    } else if contender.needs_own_tree() {
        stage.own_copy(tree, &format!("{}-{}", tree.name, contender.who().name()))?
    } else {
        tree.root.clone()
    };
    let store = stage.place.fresh_store(&name)?;
    Ok(Seat {
        tree: root,
        store,
        home: stage.place.home(contender.who().name()),
        is_huge: tree.is_huge(),
    })
}
