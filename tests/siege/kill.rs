//! A kill at every system call that changes something, at others as time allows, and in recovery.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::calls::{self, Call};
use crate::choice::Choice;
use crate::judge::{Said, judge};
use crate::options::Options;
use crate::parallel::over_scenarios;
use crate::scenario::{Scenario, Stage};
use crate::tally::Tally;

/// One trial in this many is killed a second time, while the next command recovers.
const TWICE_EVERY: usize = 4;

pub fn besiege(options: &Options, tally: &Tally) {
    if !calls::can_trace() {
        tally.skipped("kill points: no strace");
        return;
    }
    over_scenarios(options.seconds, &|scenario, until| {
        sweep(scenario, options.seed, until, tally);
    });
}

fn sweep(scenario: &Scenario, seed: u64, until: Instant, tally: &Tally) {
    let stage = scenario.set_up();
    let mut choice = Choice(seed);
    let (mut points, mut others): (Vec<Call>, Vec<Call>) = calls::of(&stage.field, scenario.args)
        .into_iter()
        .partition(Call::changes_something);
    choice.shuffle(&mut others);
    let sure = if scenario.in_full { points.len() } else { 0 };
    if sure == 0 {
        choice.shuffle(&mut points);
    }
    points.append(&mut others);
    let mut tried = 0;
    for (at, call) in points.iter().enumerate() {
        if at >= sure && Instant::now() > until {
            break;
        }
        tried += 1;
        tally.kill_points.fetch_add(1, Ordering::Relaxed);
        if let Err(why) = trial(&stage, call, at, &mut choice, tally) {
            tally.lost(format!(
                "{}, killed at {} {}: {why}",
                scenario.name, call.name, call.nth
            ));
        }
    }
    println!(
        "  {}: {tried} of {} places, {sure} of them for certain",
        scenario.name,
        points.len()
    );
}

fn trial(
    stage: &Stage<'_>,
    call: &Call,
    at: usize,
    choice: &mut Choice,
    tally: &Tally,
) -> Result<(), String> {
    stage.field.put_back();
    let wrapper = calls::disturbing(call, "signal=KILL", false);
    let run = stage.field.run(&words(&wrapper), stage.scenario.args);
    let said = if run.code == 137 {
        Said::Nothing
    } else {
        Said::Done(run)
    };
    if at.is_multiple_of(TWICE_EVERY) {
        let name = ["write", "rename", "fsync", "unlink", "openat", "exit_group"][choice.below(6)];
        let again = Call {
            name: name.into(),
            nth: 1 + choice.below(6),
        };
        let wrapper = calls::disturbing(&again, "signal=KILL", false);
        let _ = stage
            .field
            .run(&words(&wrapper), &["create", "-r", "afterwards", "-q"]);
        tally.kill_points.fetch_add(1, Ordering::Relaxed);
    }
    judge(stage, &said, at, tally)
}

/// The same words, borrowed.
pub fn words(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}
