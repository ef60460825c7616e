//! Work that grows with the number of names in one directory, and not with its square.
//!
//! It is counted in time that a processor spent on it, and compared with the first create of the same tree, or with a restore
//! that writes it: that holds on a slow disk and on a busy machine.

use std::time::Duration;

use crate::bench::Sandbox;

const NAMES: usize = 50_000;
/// Each of these costs a few calls of the file system, so fewer of them do.
const NAMES_THAT_GO: usize = 20_000;

/// One directory of so many files.
fn full(names: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("other", "1").create("empty");
    for number in 0..names {
        sandbox.write(format!("d/{number:06}"), number.to_string());
    }
    sandbox
}

/// The time that a processor spent on the program; the shell tells that of its children, for them and for the system.
fn spent(sandbox: &Sandbox, args: &[&str]) -> Duration {
    let run = sandbox.run_under(&["/bin/sh", "-c", r#""$@" && times >&2"#, "sh"], args).success();
    let times = run.stderr.lines().last().unwrap_or_default().split_whitespace().map(|time| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(Duration::from_secs_f64(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?))
    });
    times.sum::<Option<Duration>>().unwrap_or_else(|| panic!("the shell tells no times\n{run}"))
}

#[test]
fn one_directory_of_many_names_costs_no_command_more_than_its_first_create() {
    let sandbox = full(NAMES);
    let first = spent(&sandbox, &["create", "--max-files", "0", "-r", "full"]);
    sandbox.write("d/000777", "edited");
    let second = spent(&sandbox, &["create", "--max-files", "0", "-r", "edited"]);
    let show = spent(&sandbox, &["show", "edited"]);
    sandbox.restore("full").success().stderr_has("rites 1 file");
    let undo = spent(&sandbox, &["undo", "--yes"]);
    assert_eq!(sandbox.read("d/000777"), "edited");
    for (what, time) in [("second create", second), ("show", show), ("undo", undo)] {
        assert!(time <= first, "{what}: {time:?}, first create: {first:?}");
    }
}

#[test]
fn an_undo_that_deletes_many_names_grows_with_their_number() {
    let sandbox = full(NAMES_THAT_GO);
    sandbox.create("full");
    sandbox.run(&["restore", "empty", "--yes"]).success();
    let restore = spent(&sandbox, &["restore", "full", "--yes"]);
    let undo = spent(&sandbox, &["undo", "--yes"]);
    assert!(!sandbox.exists("d"));
    assert!(undo <= restore, "undo, which deletes: {undo:?}; restore, which writes the same: {restore:?}");
}
