//! Full disks: from no free page or inode upwards to as many as suffice, with the store, the
//! working directory or both on them.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::choice::Choice;
use super::field::{Field, Moved};
use super::judge::{judge, leftovers};
use super::mounts;
use super::options::Options;
use super::parallel::over_scenarios;
use super::scenario::{Picture, Scenario, Stage, checkpoints};
use super::small_disk::{Scarce, SmallDisk};
use super::tally::Tally;
use crate::bench::Run;

/// Number of free pages or inodes with which no command here fails.
const MOST: u64 = 512;
/// Commands that free space, and need neither a page nor an inode for it.
const FREEING: [&str; 2] = ["prune", "delete"];

pub fn besiege(options: &Options, tally: &Tally) {
    if let Some(why) = mounts::refusal(&["mount"]) {
        tally.skipped(&format!("full disks: {why}"));
        return;
    }
    over_scenarios(options, 26, &|scenario, until| {
        besiege_scenario(scenario, options, until, tally);
    });
}

fn besiege_scenario(scenario: &Scenario, options: &Options, until: Instant, tally: &Tally) {
    let places: &[Moved] = if scenario.in_full && !options.is_sample {
        &Moved::ALL
    } else {
        &[Moved::Both]
    };
    let (mut tried, mut left) = (0, 2 * u32::try_from(places.len()).expect("few"));
    for what in places.iter().copied() {
        let disk = SmallDisk::new().expect("a file system in memory can be mounted");
        let stage = scenario.set_up_in(Field::moved(what, disk.top()));
        stage.field.put_back();
        let known = checkpoints(&stage.field);
        for scarce in [Scarce::Pages, Scarce::Inodes] {
            let until = Instant::now() + until.saturating_duration_since(Instant::now()) / left;
            left -= 1;
            let site = Site {
                disk: &disk,
                stage: &stage,
                known: &known,
                what,
                scarce,
                tally,
            };
            tried += site.sweep(Choice(options.seed), until);
        }
    }
    println!("  {}: {tried} sizes", scenario.name);
}

struct Site<'s> {
    disk: &'s SmallDisk,
    stage: &'s Stage<'s>,
    known: &'s [(String, String)],
    what: Moved,
    scarce: Scarce,
    tally: &'s Tally,
}

impl Site<'_> {
    /// Doubles the free space until it suffices, then tries sizes between in the seed's order.
    fn sweep(&self, mut choice: Choice, until: Instant) -> usize {
        let (mut tried, mut enough) = (1, 0);
        while !self.suffices(enough, tried) {
            if enough >= MOST {
                self.tally.lost(format!(
                    "{}: {enough} are too few",
                    self.stage.scenario.name
                ));
                break;
            }
            tried += 1;
            enough = (enough * 2).max(1);
        }
        let mut between: Vec<u64> = (0..enough)
            .filter(|free| !free.is_power_of_two() && *free > 0)
            .collect();
        choice.shuffle(&mut between);
        for free in between {
            if Instant::now() > until {
                break;
            }
            tried += 1;
            self.suffices(free, tried);
        }
        tried
    }

    /// Tries a command with this much free; returns whether it succeeded.
    fn suffices(&self, free: u64, trial: usize) -> bool {
        let (name, field) = (self.stage.scenario.name, &self.stage.field);
        self.disk.make_room();
        field.put_back();
        self.disk.leave(free, self.scarce);
        let run = field.cmd(self.stage.scenario.line);
        let is_done = self.stage.scenario.is_done(&run);
        if !is_done {
            self.tally.injected_errors.fetch_add(1, Ordering::Relaxed);
        }
        let fair = if is_done { Ok(()) } else { self.refused(&run) };
        self.disk.make_room();
        if let Err(why) = fair.and_then(|()| judge(self.stage, &run, false, trial, self.tally)) {
            let (what, scarce) = (self.what, self.scarce);
            self.tally.lost(format!(
                "{name}, {free} free {scarce:?} for {what:?}: {why}"
            ));
        }
        is_done
    }

    /// Checks a refusal while the disk is still full: it names the shortage and changed nothing.
    fn refused(&self, run: &Run) -> Result<(), String> {
        let (scenario, field) = (self.stage.scenario, &self.stage.field);
        // What accompanies the checkpoint may be partly done: that is reported, and judged later.
        if scenario.facet.is_some() && matches!(run.code, 1 | 4 | 5) {
            return Ok(());
        }
        if run.code != 1 || FREEING.iter().any(|command| scenario.is(command)) {
            return Err(format!("not to be refused so: {run}"));
        }
        let places = [field.home(), field.work()].map(|place| place.display().to_string());
        let is_full = ["No space left", "no storage space"]
            .iter()
            .any(|words| run.stderr.contains(words));
        let names_it = is_full && places.iter().any(|place| run.stderr.contains(place));
        if !names_it || !run.stdout.is_empty() {
            return Err(format!("it does not say what is full: {run}"));
        }
        if scenario.way_out.is_some() {
            return Ok(());
        }
        let now = Picture::of(scenario, field);
        if now != self.stage.before {
            return Err(format!(
                "it changed something: {}: {run}",
                now.against(&self.stage.before)
            ));
        }
        // What was cut off before has its stage, and may keep edits of its time.
        if scenario.other.is_some() {
            return Ok(());
        }
        if checkpoints(field) != self.known {
            return Err(format!("other checkpoints are listed than before: {run}"));
        }
        leftovers(field)
    }
}
