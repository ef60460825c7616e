//! Commands in a directory whose parts are swapped for links that lead out: nothing is written
//! there, nothing read.

use std::fs::{File, OpenOptions};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::calls;
use super::choice::Choice;
use super::field::Field;
use super::guard::{Guard, MARKER, check_copies, copies};
use super::race_judge::{fair, nothing_was_read, settled, whole};
use super::swapper::{self, Meanwhile, Pair};
use super::tally::Tally;
use crate::bench::{Run, fixtures};

const COMMANDS: [&[&str]; 8] = [
    &["restore", "one", "--yes", "--json"],
    &["restore", "two", "--yes", "--json"],
    &["restore", "one", "d0", "d1/f", "--yes", "--json"],
    &["restore", "one", "--to", "OUT", "--json"],
    &["undo", "--yes", "--json"],
    &["create", "-r", "raced", "--json"],
    &["create", "-r", "raced too", "--json"],
    &["diff", "one", "--stat"],
];
/// System calls at which a run is delayed, so that a swap falls in between.
const HELD_UP: [&str; 14] = [
    "openat",
    "openat2",
    "renameat2",
    "mkdirat",
    "unlinkat",
    "symlinkat",
    "fchmodat",
    "newfstatat",
    "statx",
    "getdents64",
    "read",
    "fstat",
    "write",
    "readlinkat",
];
const HELD_UP_US: [usize; 4] = [100, 300, 1000, 3000];
/// One run in this many is delayed.
const HELD_UP_EVERY: usize = 4;
/// Sizes in bytes of the files that are rewritten while they are read.
pub const TORN_LENS: [usize; 3] = [100, 40_000, 400_000];

pub fn besiege(seed: u64, until: Instant, tally: &Tally) {
    let field = field();
    let mut choice = Choice(seed);
    while Instant::now() < until {
        let is_held_up = choice.below(HELD_UP_EVERY) == 0;
        let wrapper = if is_held_up {
            held_up(&mut choice)
        } else {
            Vec::new()
        };
        let command = COMMANDS[choice.below(COMMANDS.len())];
        trial(&field, command, &wrapper, &mut choice, tally);
    }
}

fn held_up(choice: &mut Choice) -> Vec<String> {
    let call = HELD_UP[choice.below(HELD_UP.len())];
    let delay = HELD_UP_US[choice.below(HELD_UP_US.len())];
    calls::delaying(call, delay)
}

/// Sets up two checkpoints, a restore that can be undone, and later edits; each directory has a
/// link beside it that leads to the decoy, to the project's `.git`, or home; all have equal names.
fn field() -> Field {
    let field = Field::new();
    let decoy = field.top().join("decoy");
    for place in [
        decoy.clone(),
        field.work().join(".git"),
        field.home().join("theirs"),
    ] {
        for name in ["f", "g", "in/h", "d0/in/h", "d0/in/i", "0", "1", "2"] {
            std::fs::create_dir_all(place.join(name).parent().expect("above"))
                .expect("a directory");
            std::fs::write(place.join(name), MARKER).expect("a file");
        }
    }
    fixtures::decoy_git(&field.work().join(".git"));
    std::fs::create_dir(copies(&field)).expect("a directory");
    edit(&field, "none");
    let links = [
        ("l0", "../../decoy"),
        ("l1", ".git"),
        ("l2", "../home/theirs"),
        ("ls", "../../decoy"),
    ];
    for (name, to) in links.into_iter().chain([
        ("d0/lin", "../../../decoy/d0/in"),
        ("d1/lf", "../../../decoy/f"),
    ]) {
        std::os::unix::fs::symlink(to, field.work().join(name)).expect("a link");
    }
    for (at, len) in TORN_LENS.iter().enumerate() {
        field.write(&format!("torn/{at}"), "a".repeat(*len));
    }
    for (state, line) in [
        ("one", "create -r one -q"),
        ("two", "create -r two -q"),
        ("to be kept", "restore one --yes -q"),
    ] {
        edit(&field, state);
        field.ok(line);
    }
    edit(&field, "three");
    field.keep();
    field
}

fn edit(field: &Field, state: &str) {
    for dir in ["d0", "d1", "d2"] {
        for name in ["f", "g", "in/h", "in/i"] {
            field.write(&format!("{dir}/{name}"), format!("{state} {dir}/{name}"));
        }
    }
}

fn trial(field: &Field, command: &[&str], wrapper: &[String], choice: &mut Choice, tally: &Tally) {
    field.put_back();
    let guard = Guard::over(field);
    let out = field.beside("copies/out").display().to_string();
    let args: Vec<&str> = command
        .iter()
        .map(|word| if *word == "OUT" { &out } else { *word })
        .collect();
    let meanwhile = Meanwhile::default();
    let run = std::thread::scope(|scope| {
        let (pairs, torn) = (
            pairs(field),
            if command[0] == "create" {
                torn(field)
            } else {
                Vec::new()
            },
        );
        let (meanwhile, own) = (&meanwhile, Choice(choice.next()));
        scope.spawn(move || swapper::swap(&pairs, &torn, meanwhile, own));
        let run = watched(field, wrapper, &args, meanwhile);
        meanwhile.is_over.store(true, Ordering::Release);
        run
    });
    let swaps = meanwhile.swaps.load(Ordering::Relaxed);
    tally.escape_attempts.fetch_add(swaps, Ordering::Relaxed);
    tally.swaps.fetch_add(swaps, Ordering::Relaxed);
    tally.races.fetch_add(1, Ordering::Relaxed);
    let says = |why: String| format!("race, {args:?} under {wrapper:?}: {why}\n{run}");
    let escaped = guard
        .check()
        .and_then(|()| check_copies(field))
        .and_then(|()| nothing_was_read(field));
    if let Err(why) = escaped {
        tally.escaped(says(why));
    } else if let Err(why) = fair(&run)
        .and_then(|()| whole(field, &run, tally))
        .and_then(|()| settled(field, &guard))
    {
        tally.lost(says(why));
    }
}

fn pairs(field: &Field) -> Vec<Pair> {
    let work = field.work();
    let mut pairs = vec![
        Pair::held(&work, "d0", "l0"),
        Pair::held(&work, "d1", "l1"),
        Pair::held(&work, "d2", "l2"),
        Pair::held(&work.join("d0"), "in", "lin"),
        Pair::held(&work.join("d1"), "f", "lf"),
        swapper::staging(&work, "ls"),
    ];
    let out = copies(field).join("out");
    pairs.push(Pair::late(out.clone(), "d0", &field.top().join("decoy")));
    pairs.push(Pair::late(out, "d1", &work.join(".git")));
    pairs
}

fn torn(field: &Field) -> Vec<(File, usize)> {
    let open = |at: usize| {
        OpenOptions::new()
            .write(true)
            .open(field.work().join(format!("torn/{at}")))
    };
    TORN_LENS
        .iter()
        .enumerate()
        .map(|(at, len)| (open(at).expect("it is there"), *len))
        .collect()
}

/// Runs a command, with the time at which it is continued.
fn watched(field: &Field, wrapper: &[String], args: &[&str], meanwhile: &Meanwhile) -> Run {
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let mut command = field.command(&wrapper, args);
    let shown = format!("{command:?}");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("the program can be started");
    meanwhile.is_running.store(true, Ordering::Release);
    let run = Run::ended(shown, child);
    meanwhile.is_running.store(false, Ordering::Release);
    run
}
