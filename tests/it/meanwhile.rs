//! Concurrent commands: writers take turns, and what a reader misses because another command
//! dropped or replaced it is not damage.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use checkpoint::store::objects::object_hash::ObjectKind;
use checkpoint::store::objects::object_hash::hash_object;
use checkpoint::store::repository::Store;

use crate::bench::damaged::damaged_copies;
use crate::bench::{Run, Sandbox, fixtures, given, sample, strace};

/// Openings of files at which a reader is delayed: before, within and after the first listing.
const MOMENTS: [usize; 8] = [40, 50, 58, 64, 70, 76, 84, 99];

fn with_five() -> Sandbox {
    let sandbox = Sandbox::new();
    for at in 0..5 {
        sandbox
            .write("a", fixtures::noise(at, 2000))
            .write(format!("d/{at}"), at.to_string());
        sandbox.create(&format!("k{at}"));
    }
    sandbox
}

/// Runs the program, delayed at the `nth` opening of a file; meanwhile two checkpoints are deleted.
fn with_a_deletion_meanwhile(sandbox: &Sandbox, nth: usize, args: &[&str]) -> Run {
    let delay = format!("delay_enter=400000:when={nth}");
    let held_up = strace::command(sandbox, "openat", &delay, args);
    let running = thread::spawn(move || Run::of(held_up));
    thread::sleep(Duration::from_millis(150));
    sandbox.ok("delete k1 k2 --yes");
    running.join().expect("the run ends")
}

#[test]
fn a_repair_acts_on_nothing_that_it_saw_before_it_had_the_lock() {
    given!(if strace::available());
    for nth in sample(MOMENTS, 3, |_| [(); 0].into()) {
        let sandbox = with_five();
        let run =
            with_a_deletion_meanwhile(&sandbox, nth, &["verify", "--repair", "--json"]).success();
        let data = run.data();
        assert!(data["repair"]["salvaged"].is_null(), "opening {nth}\n{run}");
        assert_eq!(
            damaged_copies(&sandbox.store()).len(),
            0,
            "opening {nth}\n{run}"
        );
        assert_eq!(
            data["derived"].as_array().map(Vec::len),
            Some(0),
            "opening {nth}\n{run}"
        );
        assert_eq!(sandbox.listed().len(), 3);
    }
}

#[test]
fn a_check_calls_nothing_damaged_that_a_writer_replaced_meanwhile() {
    given!(if strace::available());
    let checks = [&["verify", "--full"][..], &["verify"]];
    let cases = MOMENTS
        .into_iter()
        .flat_map(|nth| checks.map(|args| (nth, args)));
    for (nth, args) in sample(cases, 6, |(_, args)| vec![*args]) {
        with_a_deletion_meanwhile(&with_five(), nth, args).success();
    }
}

#[test]
fn a_checkpoint_that_is_deleted_while_it_is_read_is_never_called_damaged() {
    given!(if strace::available());
    let readers = [
        &["cat", "k1:a"][..],
        &["show", "k1"],
        &["diff", "k1", "k2"],
        &["find", "a"],
    ];
    let cases = [26, 36, 46, 60, 76]
        .into_iter()
        .flat_map(|nth| readers.map(|args| (nth, args)));
    for (nth, args) in sample(cases, 8, |(nth, args)| {
        vec![nth.to_string(), args[0].to_owned()]
    }) {
        let run = with_a_deletion_meanwhile(&with_five(), nth, args);
        assert!(matches!(run.code, 0 | 3), "opening {nth}\n{run}");
        assert!(!run.stderr.contains("damaged"), "opening {nth}\n{run}");
    }
}

/// Runs each row of commands in a thread of its own, in order, writing a file before each.
fn side_by_side(sandbox: &Sandbox, rows: Vec<Vec<Command>>) -> Vec<Vec<Run>> {
    let files: Vec<PathBuf> = (0..rows.len())
        .map(|number| sandbox.path(format!("f{number}")))
        .collect();
    let threads: Vec<_> = files
        .into_iter()
        .zip(rows)
        .map(|(file, row)| thread::spawn(move || run_row(&file, row)))
        .collect();
    threads
        .into_iter()
        .map(|row| row.join().expect("a thread ends"))
        .collect()
}

fn run_row(file: &Path, row: Vec<Command>) -> Vec<Run> {
    let mut runs = Vec::new();
    for (at, command) in row.into_iter().enumerate() {
        std::fs::write(file, at.to_string()).expect("a file can be written");
        runs.push(Run::of(command));
    }
    runs
}

#[test]
fn eight_times_eight_creates_at_once_give_sixty_four_true_answers() {
    let sandbox = Sandbox::new();
    sandbox
        .real_clock()
        .user_config("keep = 100\n")
        .write("a", "1");
    let create = |row: usize, at: usize| {
        sandbox.command(&[], &["create", "--json", "-r", &format!("{row}-{at}")])
    };
    let rows = (0..8)
        .map(|row| (0..8).map(|at| create(row, at)).collect::<Vec<Command>>())
        .collect();
    let answers = side_by_side(&sandbox, rows);
    let mut made = 0;
    for (row, runs) in answers.iter().enumerate() {
        for (at, run) in runs.iter().enumerate() {
            let data = run.clone().success().data();
            made += usize::from(data["created"] == true);
            let file = format!("{}:f{row}", data["short"].as_str().expect("an id"));
            sandbox
                .run(&["cat", &file])
                .success()
                .stdout_is(&at.to_string());
        }
    }
    let manifest = std::fs::read_to_string(sandbox.store().join("checkpoint-manifest.md"))
        .expect("a manifest");
    assert_eq!(
        manifest
            .lines()
            .filter(|line| line.ends_with("| cli |"))
            .count(),
        made
    );
    assert_eq!(sandbox.listed().len(), made);
    sandbox.ok("verify --full");
}

#[test]
fn creators_a_pruner_and_readers_do_not_get_in_each_others_way() {
    const ROUNDS: usize = 12;
    let sandbox = with_five();
    sandbox.real_clock();
    let rows: [&[&str]; 6] = [
        &["create", "--keep", "4", "--yes"],
        &["create", "--keep", "4", "--yes"],
        &["prune", "--keep", "3", "--yes"],
        &["list"],
        &["verify", "--full"],
        &["status"],
    ];
    let commands = |args: &&[&str]| {
        (0..ROUNDS)
            .map(|_| sandbox.command(&[], args))
            .collect::<Vec<Command>>()
    };
    for run in side_by_side(&sandbox, rows.iter().map(commands).collect())
        .into_iter()
        .flatten()
    {
        let run = run.success();
        assert!(!run.stderr.contains("damaged"), "{run}");
    }
    sandbox.ok("verify --full");
    sandbox.ok("prune --keep 3 --yes");
    assert_eq!(sandbox.listed().len(), 3);
}

#[test]
fn what_went_before_the_lock_was_taken_is_written_again() {
    let sandbox = Sandbox::new();
    let doomed = sandbox
        .write("a", "content of one checkpoint alone")
        .create("one");
    sandbox.write("a", "2").create("two");
    let store = Store::open(sandbox.store())
        .expect("it opens")
        .expect("a store");
    let blob =
        hash_object(ObjectKind::Blob, b"content of one checkpoint alone").expect("no collision");
    store.objects().read(&blob).expect("it is there");
    sandbox.run(&["delete", &doomed, "--yes"]).success();
    sandbox.ok("prune");
    let locked = store
        .lock(Duration::from_secs(5), "a test")
        .expect("the lock");
    let mut pack = locked.begin_pack().expect("a pack");
    pack.add(ObjectKind::Blob, b"content of one checkpoint alone")
        .expect("it can be written");
    assert_eq!(
        pack.first().new_object_count(),
        1,
        "it relies on a pack that is gone"
    );
}

#[test]
fn two_undos_at_once_undo_two_steps() {
    let sandbox = Sandbox::new();
    for at in 0..4 {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("v{at}"));
    }
    for to in ["v0", "v1", "v2"] {
        sandbox.restore(to).success();
    }
    let store = Store::open(sandbox.store());
    let store = store.expect("it opens").expect("a store");
    let both_at_once = |verb: &str| {
        let locked = store.lock(Duration::from_secs(5), "a test");
        let runs = [(); 2].map(|()| {
            let command = sandbox.command(&[], &[verb, "--yes"]);
            thread::spawn(move || Run::of(command))
        });
        // Long enough for both to choose their step, and to wait for the lock.
        thread::sleep(Duration::from_millis(800));
        drop(locked.expect("the lock"));
        for run in runs {
            run.join().expect("it ends").success();
        }
        sandbox.read("a")
    };
    assert_eq!(both_at_once("undo"), "0");
    assert_eq!(both_at_once("redo"), "2");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "1");
}
