//! A kill at every system call that changes something, at others as time allows, and in recovery.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::calls::{self, Call};
use super::choice::Choice;
use super::judge::judge;
use super::options::Options;
use super::parallel::over_scenarios;
use super::scenario::{Scenario, Stage};
use super::tally::Tally;

/// One trial in this many is killed a second time, while the next command recovers.
const TWICE_EVERY: usize = 4;

pub fn besiege(options: &Options, tally: &Tally) {
    over_scenarios(options, 5, &|scenario, until| {
        sweep(scenario, options, until, tally);
    });
}

fn sweep(scenario: &Scenario, options: &Options, until: Instant, tally: &Tally) {
    let stage = scenario.set_up();
    let mut choice = Choice(options.seed);
    let (mut points, mut others): (Vec<Call>, Vec<Call>) = calls::of(&stage.field, scenario.line)
        .into_iter()
        .partition(Call::changes_something);
    choice.shuffle(&mut others);
    let is_whole = scenario.in_full && !options.is_sample;
    let sure = if is_whole {
        points.len()
    } else {
        options.least
    };
    if !is_whole {
        choice.shuffle(&mut points);
    }
    points.append(&mut others);
    let place = |call: &Call| format!("{}, killed at {} {}", scenario.name, call.name, call.nth);
    points.retain(|call| options.wants_place(&place(call)));
    let (mut tried, mut struck) = (0, 0);
    for (at, call) in points.iter().enumerate() {
        if at >= sure && Instant::now() > until {
            break;
        }
        tried += 1;
        match trial(&stage, call, at, &mut choice, tally) {
            Ok(is_killed) => struck += usize::from(is_killed),
            Err(why) => tally.lost(format!("{}: {why}", place(call))),
        }
    }
    if tried > 0 && struck == 0 {
        tally.lost(format!("{}: no kill struck", scenario.name));
    }
    println!(
        "  {}: {tried} of {} places, {sure} of them for certain",
        scenario.name,
        points.len()
    );
}

/// Returns whether the command was killed.
fn trial(
    stage: &Stage<'_>,
    call: &Call,
    at: usize,
    choice: &mut Choice,
    tally: &Tally,
) -> Result<bool, String> {
    let (field, line) = (&stage.field, stage.scenario.line);
    let killed = |call: &Call, line| {
        let run = field.killed(call, line);
        let count = u64::from(run.code == 137);
        tally.kill_points.fetch_add(count, Ordering::Relaxed);
        run
    };
    field.put_back();
    let run = killed(call, line);
    if at.is_multiple_of(TWICE_EVERY) {
        let name = ["write", "rename", "fsync", "unlink", "openat", "exit_group"][choice.below(6)];
        let again = Call {
            name: name.into(),
            nth: 1 + choice.below(6),
        };
        let _ = killed(&again, "create -r afterwards -q");
    }
    let is_killed = run.code == 137;
    judge(stage, &run, is_killed, at, tally).map(|()| is_killed)
}
