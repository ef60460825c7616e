//! Reads and writes that do less than requested, which must not be noticeable.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::judge::judge;
use super::options::Options;
use super::parallel::over_scenarios;
use super::scenario::Scenario;
use super::shorten;
use super::tally::Tally;

/// Upper bound on one call in bytes; 0 is half of what was requested.
const LIMITS: [u64; 8] = [0, 1, 7, 64, 100, 511, 4096, 65_537];

pub fn besiege(options: &Options, tally: &Tally) {
    if !shorten::IS_POSSIBLE {
        tally.skipped("short reads and writes: they need Linux on x86-64");
        return;
    }
    over_scenarios(options, 26, &|scenario, until| {
        sweep(scenario, until, tally);
    });
}

fn sweep(scenario: &Scenario, until: Instant, tally: &Tally) {
    let stage = scenario.set_up();
    let own = std::env::current_exe()
        .expect("the siege has a path")
        .display()
        .to_string();
    for (at, limit) in LIMITS.iter().enumerate() {
        if at > 1 && Instant::now() > until {
            break;
        }
        stage.field.put_back();
        let wrapper = [own.clone(), shorten::ARGUMENT.into(), limit.to_string()];
        let run = stage.field.disturbed(&wrapper, scenario.line);
        tally.injected_errors.fetch_add(1, Ordering::Relaxed);
        let place = format!("{}, calls that do at most {limit} bytes", scenario.name);
        if run.code != 5 && !scenario.is_done(&run) {
            tally.lost(format!("{place}: {run}"));
        } else if let Err(why) = judge(&stage, &run, false, at, tally) {
            tally.lost(format!("{place}: {why}"));
        }
    }
}
