//! The rule of the contest: every contender has its turn in each round, and each round begins with
//! another one.

use anyhow::{Context as _, Result};

use crate::contender::Who;
use crate::figures::Row;
use crate::job::{Done, Job};
use crate::place::{Place, Size};
use crate::report;

/// One path on one tree.
pub trait Scene {
    fn path(&self) -> &str;
    fn tree(&self) -> char;
    fn rounds(&self) -> usize;
    fn takes_part(&self, who: Who) -> bool;

    /// Prepares a round, before all turns and outside the clock.
    fn before_round(&mut self, _round: usize) -> Result<()> {
        Ok(())
    }

    /// The command that is timed; its preconditions are set up here, outside the clock.
    fn job(&mut self, who: Who, round: usize) -> Result<Job>;

    /// Checks the result, outside the clock.
    fn check(&mut self, who: Who, round: usize, done: &Done) -> Result<()>;

    /// Finishes a round, after all turns and outside the clock.
    fn after_round(&mut self, _round: usize) -> Result<()> {
        Ok(())
    }

    /// The size of the store in the end.
    fn size(&self, _who: Who) -> Result<Option<Size>> {
        Ok(None)
    }
}

/// Runs several scenes side by side: a round of the first, a round of the second, and again.
///
/// # Errors
/// A command fails, or a result is wrong.
pub fn hold(scenes: &mut [&mut dyn Scene], place: &Place) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = scenes
        .iter()
        .map(|scene| Row::new(scene.path(), scene.tree()))
        .collect();
    let most = scenes
        .iter()
        .map(|scene| scene.rounds())
        .max()
        .unwrap_or_default();
    for round in 0..most {
        for (scene, row) in scenes.iter_mut().zip(&mut rows) {
            if round < scene.rounds() {
                hold_round(*scene, row, round, place)?;
            }
        }
    }
    for (scene, row) in scenes.iter_mut().zip(&mut rows) {
        weigh(*scene, row, place)?;
        for who in Who::ALL.into_iter().filter(|who| scene.takes_part(*who)) {
            row.size.extend(scene.size(who)?.map(|size| (who, size)));
        }
        report::row(row);
    }
    Ok(rows)
}

fn hold_round(scene: &mut dyn Scene, row: &mut Row, round: usize, place: &Place) -> Result<()> {
    let mut turns: Vec<Who> = Who::ALL
        .into_iter()
        .filter(|who| scene.takes_part(*who))
        .collect();
    turns
        .retain(|who| !row.out.contains_key(who) && (!who.is_slow() || round < slow_rounds(scene)));
    let first = round % turns.len().max(1);
    turns.rotate_left(first);
    let named = format!("{} {}, round {}", row.path, row.tree, round + 1);
    let mut took = Vec::new();
    scene
        .before_round(round)
        .with_context(|| format!("before {named}"))?;
    for who in turns {
        match turn(scene, who, round, place) {
            Ok(done) => took.push((who, done.elapsed)),
            // A peer that fails is out of this row, and the table says why.
            Err(e) if who.is_peer() => row.drop_out(who, &e),
            Err(e) => return Err(e.context(format!("{named}, {}", who.name()))),
        }
    }
    scene
        .after_round(round)
        .with_context(|| format!("after {named}"))?;
    report::round(row, round, scene.rounds(), &took);
    for (who, elapsed) in took {
        row.push(who, elapsed);
    }
    Ok(())
}

/// Rounds of a scene with slow contenders: two, or more on the small tree.
fn slow_rounds(scene: &dyn Scene) -> usize {
    if scene.tree() == 'a' { 5 } else { 2 }
}

fn turn(scene: &mut dyn Scene, who: Who, round: usize, place: &Place) -> Result<Done> {
    let job = scene.job(who, round)?;
    place.settle();
    let done = job.run()?;
    scene.check(who, round, &done)?;
    Ok(done)
}

/// Adds an untimed round for the memory of the two that are compared.
fn weigh(scene: &mut dyn Scene, row: &mut Row, place: &Place) -> Result<()> {
    let round = scene.rounds();
    scene.before_round(round)?;
    for who in [Who::Checkpoint, Who::Recipe] {
        if !scene.takes_part(who) {
            continue;
        }
        let job = scene.job(who, round)?;
        place.settle();
        let (done, peak) = job.run_weighed(&place.top().join("peak"))?;
        scene
            .check(who, round, &done)
            .with_context(|| format!("{} {}, weighing", row.path, row.tree))?;
        row.peak.extend(peak.map(|kib| (who, kib)));
    }
    scene.after_round(round)
}
