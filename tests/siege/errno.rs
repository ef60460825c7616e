//! Errors from the system at every call that can fail so, once and from then on.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::calls::{self, Call};
use crate::choice::Choice;
use crate::judge::{Said, judge};
use crate::kill::words;
use crate::options::Options;
use crate::parallel::over_scenarios;
use crate::scenario::Scenario;
use crate::tally::Tally;

const ERRORS: &[(&str, &[&str])] = &[
    (
        "ENOSPC",
        &[
            "write",
            "pwrite64",
            "openat",
            "mkdir",
            "mkdirat",
            "rename",
            "renameat2",
            "fsync",
            "ftruncate",
            "linkat",
            "symlinkat",
        ],
    ),
    (
        "EDQUOT",
        &["write", "pwrite64", "openat", "mkdir", "mkdirat", "rename"],
    ),
    (
        "EIO",
        &[
            "read",
            "pread64",
            "write",
            "pwrite64",
            "fsync",
            "openat",
            "getdents64",
            "newfstatat",
            "statx",
            "rename",
            "unlink",
            "unlinkat",
            "renameat2",
        ],
    ),
    ("EMFILE", &["openat", "openat2"]),
    (
        "EACCES",
        &[
            "openat",
            "openat2",
            "mkdir",
            "mkdirat",
            "rename",
            "renameat2",
            "unlink",
            "unlinkat",
            "fchmod",
            "newfstatat",
            "statx",
        ],
    ),
    (
        "EINTR",
        &["read", "pread64", "write", "pwrite64", "openat", "fsync"],
    ),
    (
        "EROFS",
        &[
            "openat",
            "mkdir",
            "mkdirat",
            "rename",
            "renameat2",
            "unlink",
            "unlinkat",
            "write",
            "fchmod",
        ],
    ),
    (
        "ENOSYS",
        &[
            "openat2",
            "statx",
            "renameat2",
            "getrandom",
            "utimensat",
            "copy_file_range",
            "clone3",
        ],
    ),
];

pub fn besiege(options: &Options, tally: &Tally) {
    if !calls::can_trace() {
        tally.skipped("injected errors: no strace");
        return;
    }
    over_scenarios(options.seconds, &|scenario, until| {
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
}

fn sweep(scenario: &Scenario, options: &Options, until: Instant, tally: &Tally) {
    let stage = scenario.set_up();
    let mut choice = Choice(options.seed);
    let mut trials: Vec<Trial> = Vec::new();
    for call in calls::of(&stage.field, scenario.args) {
        for (error, _) in ERRORS
            .iter()
            .filter(|(_, names)| names.contains(&call.name.as_str()))
        {
            trials.extend(
                [false, true].map(|from_then_on| Trial::new(scenario, &call, error, from_then_on)),
            );
        }
    }
    if let Some(wanted) = &options.place {
        trials.retain(|trial| trial.place == *wanted);
    }
    choice.shuffle(&mut trials);
    let mut tried = 0;
    for trial in &trials {
        if Instant::now() > until {
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
        let run = stage.field.run(&words(&wrapper), scenario.args);
        if options.place.is_some() {
            println!("{run}");
        }
        if let Err(why) = judge(&stage, &Said::Done(run), tried, tally) {
            tally.lost(format!("{}: {why}", trial.place));
        }
    }
    println!("  {}: {tried} of {} errors", scenario.name, trials.len());
}
