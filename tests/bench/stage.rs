//! The whole run: what is set up once, and the scenes in order.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::args::Args;
use crate::contender::{self, Contenders, Who};
use crate::contest;
use crate::figures::Row;
use crate::place::{self, Place};
use crate::scenes::cold::Cold;
use crate::scenes::plain::{List, Start};
use crate::scenes::prune::Prune;
use crate::scenes::restore::{Damage, Restore};
use crate::scenes::seats::Seats;
use crate::scenes::series::Series;
use crate::scenes::warm::Warm;
use crate::trees::{self, Edits, Picture, Tree};
use crate::{checks, machine, report};

pub struct Stage {
    pub place: Place,
    pub contenders: Contenders,
    /// The exclusion list of all contenders.
    list: PathBuf,
    /// Git directories that `git fsck` checks in the end.
    unchecked: RefCell<Vec<PathBuf>>,
    checked: Cell<usize>,
    /// Copies of trees made in this run.
    copies: RefCell<BTreeSet<PathBuf>>,
    notes: RefCell<Vec<String>>,
}

impl Stage {
    /// Adds a note that the reader of the tables must know.
    pub fn note(&self, text: String) {
        report::say(&text);
        self.notes.borrow_mut().push(text);
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    /// A copy of a tree under its own name, made once.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn own_copy(&self, tree: &Tree, name: &str) -> Result<PathBuf> {
        let root = self.place.tree(name);
        if self.copies.borrow_mut().insert(root.clone()) {
            if root.exists() {
                place::cut_to_nothing(&self.place.put_aside(&root)?)?;
            }
            place::copy(&[tree.root.join(".")], &root)?;
        }
        Ok(root)
    }

    pub fn will_be_checked(&self, store: Option<PathBuf>) {
        self.unchecked.borrow_mut().extend(store);
    }

    pub fn count_checked(&self) {
        self.checked.set(self.checked.get() + 1);
    }

    /// Runs `git fsck` on all stores; returns how many are sound.
    fn check_all(&self) -> Result<usize> {
        let stores = self.unchecked.take();
        report::say(&format!(
            "git fsck --full --strict of {} stores",
            stores.len()
        ));
        for store in stores {
            checks::fsck(&store)?;
            self.count_checked();
        }
        Ok(self.checked.get())
    }
}

/// # Errors
/// A command fails or a result is wrong.
pub fn run(args: &Args) -> Result<()> {
    let place = Place::make(args.work.as_deref())?;
    report::say(&format!("working in {}", place.top().display()));
    let list = place.top().join("exclusions");
    place::write(
        &list,
        contender::probe_exclusion_list(&place.fresh_store("probe")?)?,
    )?;
    let contenders = Contenders::gather(args, place.top(), &list)?;
    let (unchecked, copies, notes) = (RefCell::default(), RefCell::default(), RefCell::default());
    let stage = Stage {
        place,
        contenders,
        list,
        unchecked,
        checked: Cell::new(0),
        copies,
        notes,
    };
    let mut trees = Vec::new();
    for &name in &args.trees {
        match trees::make(name, args, &stage.place, &stage.list) {
            Ok(tree) => trees.push(tree),
            Err(e) if name == 'a' || args.small => return Err(e),
            Err(e) => stage.note(format!("tree {name} is left out: {e:#}")),
        }
    }
    if trees.is_empty() {
        bail!("there is no tree to measure");
    }
    let rows = play(args, &stage, &trees)?;
    let checked = stage.check_all()?;
    report::all(
        args,
        &machine::line(stage.place.top(), &stage.contenders),
        &stage,
        &trees,
        &rows,
        checked,
    )
}

/// Runs all scenes that were asked for.
fn play(args: &Args, stage: &Stage, trees: &[Tree]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let tree = |name: char| trees.iter().find(|tree| tree.name == name);
    for tree in trees {
        // The largest tree is for the warm paths alone.
        if args.wants("cold") && tree.name != 'd' {
            let rounds = if tree.name == 'a' {
                args.runs * if args.small { 1 } else { 4 }
            } else {
                args.runs
            };
            rows.extend(contest::hold(
                &mut [&mut Cold::new(stage, tree, rounds)?],
                &stage.place,
            )?);
        }
        if (args.wants("warm") || args.wants("ten")) && tree.name != 'c' {
            rows.extend(warm(args, stage, tree)?);
        }
    }
    if let (true, Some(tree)) = (args.wants("restore"), tree('b')) {
        rows.extend(restore(args, stage, tree)?);
    }
    if let (true, Some(tree)) = (args.wants("prune"), tree('b')) {
        let keep = if args.small { 3 } else { 50 };
        rows.extend(contest::hold(
            &mut [&mut Prune::halves(stage, tree, keep, args.runs)?],
            &stage.place,
        )?);
    }
    if args.wants("text") {
        let text = trees::make_text(args, &stage.place, &stage.list)?;
        let count = if args.small { 5 } else { 20 };
        let mut prune = Prune::large_file(stage, &text, count, args.runs)?;
        rows.extend(contest::hold(&mut [&mut prune], &stage.place)?);
    }
    if let (true, Some(tree)) = (args.wants("list"), tree('a')) {
        let count = if args.small { 5 } else { 50 };
        let mut list = List::new(stage, tree, count, args.quick_rounds())?;
        rows.extend(contest::hold(&mut [&mut list], &stage.place)?);
    }
    if let (true, Some(tree)) = (args.wants("series"), tree('a')) {
        let count = if args.small { 20 } else { 1000 };
        rows.extend(contest::hold(
            &mut [&mut Series::new(stage, tree, count)?],
            &stage.place,
        )?);
    }
    if args.wants("start") {
        let mut start = Start {
            stage,
            rounds: args.quick_rounds(),
        };
        rows.extend(contest::hold(&mut [&mut start], &stage.place)?);
    }
    Ok(rows)
}

/// The contenders of a tree: all, or on the largest only the quick ones.
fn players(stage: &Stage, tree: &Tree) -> Vec<Who> {
    let all = stage.contenders.iter().map(contender::Contender::who);
    all.filter(|who| tree.name != 'd' || !who.is_slow())
        .collect()
}

fn warm(args: &Args, stage: &Stage, tree: &Tree) -> Result<Vec<Row>> {
    let rounds = if tree.name == 'a' {
        args.quick_rounds()
    } else {
        args.runs
    };
    let seats = Seats::fill(stage, tree, "warm", false, &players(stage, tree))?;
    let edits = Edits::of(&tree.root, &tree.captured)?;
    let mut nothing = Warm::new(&seats, &edits, 0, rounds);
    let mut ten = Warm::new(&seats, &edits, 10, rounds);
    let mut scenes: Vec<&mut dyn contest::Scene> = Vec::new();
    if args.wants("warm") {
        scenes.push(&mut nothing);
    }
    if args.wants("ten") {
        scenes.push(&mut ten);
    }
    contest::hold(&mut scenes, &stage.place)
}

fn restore(args: &Args, stage: &Stage, tree: &Tree) -> Result<Vec<Row>> {
    let picture = Picture::of(&tree.root).context("cannot look at tree b")?;
    let mut players = players(stage, tree);
    players.retain(|who| !who.is_warm_only());
    let seats = Seats::fill(stage, tree, "restore", true, &players)?;
    let edits = Edits::of(&tree.root, &tree.captured)?;
    let some = if args.small { 40 } else { 1000 };
    let scene = |damage| Restore::new(&seats, &edits, &picture, damage, args.runs);
    let mut few = scene(Damage::Changed(10));
    let mut many = scene(Damage::Changed(some));
    let mut gone = scene(Damage::Gone);
    contest::hold(&mut [&mut few, &mut many, &mut gone], &stage.place)
}
