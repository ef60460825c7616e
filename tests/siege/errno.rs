//! Errors from the system at every call that can fail so, once and from then on.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::calls::{self, Call};
use super::choice::Choice;
use super::judge::judge;
use super::options::Options;
use super::parallel::over_scenarios;
use super::scenario::Scenario;
use super::tally::Tally;
use crate::bench::Run;

/// An error, and the calls that can fail so.
const ERRORS: &[(&str, &str)] = &[
    (
        "ENOSPC",
        "write pwrite64 openat mkdir mkdirat rename renameat2 fsync ftruncate linkat symlinkat",
    ),
    ("EDQUOT", "write pwrite64 openat mkdir mkdirat rename"),
    ("EFBIG", "write pwrite64"),
    (
        "EIO",
        "read pread64 write pwrite64 fsync openat getdents64 newfstatat statx rename unlink unlinkat renameat2",
    ),
    ("EMFILE", "openat openat2"),
    (
        "EACCES",
        "openat openat2 mkdir mkdirat rename renameat2 unlink unlinkat fchmod newfstatat statx",
    ),
    (
        "EPERM",
        "openat2 renameat2 symlinkat mkdirat fchmod fchmodat unlinkat",
    ),
    ("EINTR", "read pread64 write pwrite64 openat fsync"),
    ("EINVAL", "renameat2 flock"),
    ("ENOLCK", "flock"),
    (
        "EROFS",
        "openat mkdir mkdirat rename renameat2 unlink unlinkat write fchmod",
    ),
    (
        "ENOSYS",
        "openat2 statx renameat2 getrandom utimensat copy_file_range clone3 syncfs flock",
    ),
];

/// How many more errors the chief scenarios get: about one of each kind.
const MANY: usize = 12;

pub fn besiege(options: &Options, tally: &Tally) {
    over_scenarios(options, 8, &|scenario, until| {
        sweep(scenario, options, until, tally);
    });
}

struct Trial {
    call: Call,
    error: &'static str,
    from_then_on: bool,
    /// The place as it is reported, and requested with `--place`.
    place: String,
}

impl Trial {
    fn new(scenario: &Scenario, call: &Call, error: &'static str, from_then_on: bool) -> Self {
        // An interrupted call is retried: from then on would mean for ever.
        let from_then_on = from_then_on && error != "EINTR";
        let when = if from_then_on { "from then on" } else { "once" };
        let place = format!(
            "{}, {error} at {} {}, {when}",
            scenario.name, call.name, call.nth
        );
        Self {
            call: call.clone(),
            error,
            from_then_on,
            place,
        }
    }

    /// Checks that an interrupted call is made again, and nothing is done without a lock.
    fn fair(&self, run: &Run) -> Result<(), String> {
        let name = &*self.call.name;
        let is_fair = if name == "flock" && self.from_then_on && self.call.nth == 1 {
            run.code == 1
        } else if self.error == "EINTR" && (name.contains("read") || name.contains("write")) {
            matches!(run.code, 0 | 5 | 6)
        } else {
            true
        };
        let why = || format!("not to be answered so: {run}");
        is_fair.then_some(()).ok_or_else(why)
    }
}

/// Puts one of each kind first.
fn each_kind_first(trials: Vec<Trial>) -> Vec<Trial> {
    let mut counts: BTreeMap<(String, &str, bool), usize> = BTreeMap::new();
    let mut numbered: Vec<(usize, Trial)> = Vec::new();
    for trial in trials {
        let kind = (trial.call.name.clone(), trial.error, trial.from_then_on);
        let count = counts.entry(kind).or_default();
        *count += 1;
        numbered.push((*count, trial));
    }
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, trial)| trial).collect()
}

fn sweep(scenario: &Scenario, options: &Options, until: Instant, tally: &Tally) {
    let stage = scenario.set_up();
    let mut choice = Choice(options.seed);
    let mut trials: Vec<Trial> = Vec::new();
    for call in calls::of(&stage.field, scenario.line) {
        for (error, _) in ERRORS
            .iter()
            .filter(|(_, names)| names.split(' ').any(|name| name == call.name))
        {
            trials.extend(
                [false, true].map(|from_then_on| Trial::new(scenario, &call, error, from_then_on)),
            );
        }
    }
    trials.retain(|trial| options.wants_place(&trial.place));
    // The crate that reports changes wakes its thread by a write that cannot fail.
    trials.retain(|trial| !scenario.is("watch") || trial.call.name != "write");
    choice.shuffle(&mut trials);
    let trials = each_kind_first(trials);
    let least = options.least * if scenario.in_full { MANY } else { 1 };
    let mut tried = 0;
    for trial in &trials {
        if tried >= least && Instant::now() > until {
            break;
        }
        tried += 1;
        tally.injected_errors.fetch_add(1, Ordering::Relaxed);
        stage.field.put_back();
        let wrapper = calls::disturbing(
            &trial.call,
            &format!("error={}", trial.error),
            trial.from_then_on,
        );
        let run = stage.field.disturbed(&wrapper, scenario.line);
        if trials.len() == 1 {
            println!("{run}");
        }
        // Of the calls of git, and of what a user's command makes, nothing is known.
        let is_of_others = ["push", "fetch", "clone", "run", "watch"]
            .iter()
            .any(|name| scenario.is(name));
        let fair = if is_of_others {
            Ok(())
        } else {
            trial.fair(&run)
        };
        if let Err(why) = fair.and_then(|()| judge(&stage, &run, false, tried, tally)) {
            tally.lost(format!("{}: {why}", trial.place));
        }
    }
    println!("  {}: {tried} of {} errors", scenario.name, trials.len());
}
