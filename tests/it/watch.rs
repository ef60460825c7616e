//! `watch`: each state in which the directory was left alone for a moment is in a checkpoint.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Run, Sandbox, cases, fixtures, given, os, strace};
use crate::roundtrip::generator::Random;
use crate::roundtrip::oracle::{self, State};

/// How long the directory has to be still, and how much later its checkpoint may come.
const SETTLE: &str = "200ms";
const PATIENCE: Duration = Duration::from_millis(2200);

struct Watcher {
    child: Child,
}

impl Watcher {
    fn start(sandbox: &Sandbox, wrapper: &[&str], options: &[&str]) -> Self {
        let words = [&["watch", "--settle", SETTLE, "--at-most", "1ms"], options].concat();
        let mut command = sandbox.command(wrapper, &words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let watcher = Self {
            child: command.spawn().expect("it starts"),
        };
        assert!(
            os::wait(&|| sandbox.status()["watcher"].is_string()),
            "it does not begin"
        );
        watcher
    }

    /// Asserts that a checkpoint will hold the present state in time.
    fn assert_held(sandbox: &Sandbox, told: &[String]) {
        let (still, target) = (Instant::now(), State::observe(sandbox.root()));
        let copy = sandbox.top().join("copy");
        let differences = || {
            let Some(at) = sandbox.status()["baseline"]["id"]
                .as_str()
                .map(str::to_owned)
            else {
                return vec!["no checkpoint".to_owned()];
            };
            std::fs::create_dir(&copy).expect("a new directory");
            let nothing = State::observe(&copy);
            let to = copy.display().to_string();
            let _ = sandbox.run(&["restore", &at, "--to", &to]);
            let held = State::observe(&copy).tree;
            fixtures::remove(&copy);
            oracle::expected(&nothing, &nothing, &target).differences(&held)
        };
        let mut lines = differences();
        while !lines.is_empty() && still.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
            lines = differences();
        }
        assert!(
            lines.is_empty(),
            "{}\nafter\n{}",
            lines.join("\n"),
            told.join("\n")
        );
    }

    /// Returns its exit code; there is no way to ask a process to end on Windows.
    fn end(self, sandbox: &Sandbox) -> i32 {
        if cfg!(windows) {
            os::kill(self.child.id());
            let _ = Run::ended("watch".to_owned(), self.child);
            return 0;
        }
        let _ = sandbox.run(&["watch", "--stop"]);
        Run::ended("watch".to_owned(), self.child).code
    }
}

/// What people and programs do in a directory, but for the edits of the generator.
fn act(sandbox: &Sandbox, random: &mut Random, number: usize) -> String {
    let root = sandbox.root();
    let text = format!("{number} {}", random.below(1000));
    let rename = |from: &str, to: &str| {
        fixtures::remove(&root.join(to));
        let moved = std::fs::rename(root.join(from), root.join(to));
        format!("{from} becomes {to}: {}", moved.is_ok())
    };
    match random.below(7) {
        0 => {
            // As editors do that write beside and replace.
            sandbox
                .write("src/.main.rs.swp", &text)
                .write("src/new~", &text);
            fixtures::remove(&root.join("src/.main.rs.swp"));
            rename("src/new~", "src/main.rs")
        }
        1 => {
            // As editors do that keep the former one.
            rename("src/main.rs", "src/main.rs~");
            sandbox.write("src/main.rs", &text);
            "src/main.rs is saved".to_owned()
        }
        2 => {
            fixtures::remove(&root.join("src"));
            "src is removed".to_owned()
        }
        3 => {
            fixtures::remove(&root.join("many"));
            let count = 300;
            for file in 0..count {
                sandbox.write(format!("many/{}/{file}", file % 7), &text);
            }
            format!("{count} files are written anew")
        }
        4 => rename("many", "src/many"),
        5 => rename("src", "many"),
        _ => {
            for _ in 0..20 {
                sandbox.write("log.txt", &text);
                std::thread::sleep(Duration::from_millis(15));
            }
            "log.txt is written for a while".to_owned()
        }
    }
}

fn story(seed: usize, wrapper: &[&str], options: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("src/main.rs", "0");
    let watcher = Watcher::start(&sandbox, wrapper, options);
    let mut random = Random::new(seed as u64);
    let mut told = vec![format!("seed {seed}")];
    for number in 0..8 {
        told.push(match random.below(2) {
            0 => act(&sandbox, &mut random, number),
            _ => random.edit(sandbox.root()),
        });
        if random.below(2) == 0 {
            Watcher::assert_held(&sandbox, &told);
        }
    }
    Watcher::assert_held(&sandbox, &told);
    assert_eq!(watcher.end(&sandbox), 0);
}

#[test]
fn each_quiet_moment_is_in_a_checkpoint() {
    let count = cases(4);
    let stories = |worker| {
        (worker..count)
            .step_by(4)
            .for_each(|seed| story(seed, &[], &[]));
    };
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || stories(worker));
        }
    });
}

#[test]
fn where_the_watches_run_out_it_looks_from_time_to_time() {
    given!(if strace::available());
    let wrapper = "strace -f -qq -o /dev/null -e trace=inotify_add_watch \
                   -e inject=inotify_add_watch:error=ENOSPC:when=3+";
    let wrapper: Vec<&str> = wrapper.split_whitespace().collect();
    (0..cases(2)).for_each(|seed| story(seed, &wrapper, &["--every", "500ms"]));
}

#[cfg(unix)]
#[test]
fn a_kill_leaves_nothing_half_and_the_next_watcher_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "0");
    for number in 0..cases(4) {
        let watcher = Watcher::start(&sandbox, &[], &[]);
        sandbox.write("a", number.to_string());
        std::thread::sleep(Duration::from_millis(150 + 25 * (number as u64 % 8)));
        os::kill(watcher.child.id());
        assert_eq!(watcher.end(&sandbox), 137);
        sandbox.ok("verify");
    }
    let watcher = Watcher::start(&sandbox, &[], &[]);
    Watcher::assert_held(&sandbox, &[]);
    sandbox.fails(4, "watch").stderr_has("is watched already");
    sandbox.ok("watch --stop").stdout_has("Ended process");
    sandbox
        .fails(3, "watch --stop")
        .stderr_has("no process watches this directory");
    assert_eq!(watcher.end(&sandbox), 0);
}

#[test]
fn what_is_recorded_or_restored_already_gets_no_second_checkpoint_and_a_hold_holds() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1");
    let first = sandbox.create("first");
    sandbox.write("a", "2").create("second");
    let watcher = Watcher::start(&sandbox, &[], &[]);
    let count = || sandbox.status()["checkpoint_count"].as_u64();
    let settled = || std::thread::sleep(Duration::from_millis(700));
    let _ = sandbox.restore(&first).success();
    settled();
    let _ = sandbox.undo().success();
    settled();
    sandbox.write("a", "3").create("third");
    settled();
    assert_eq!(count(), Some(3));
    sandbox.ok("hold mine");
    sandbox.write("a", "4");
    settled();
    assert_eq!(count(), Some(3));
    sandbox.ok("release");
    Watcher::assert_held(&sandbox, &[]);
    assert_eq!((count(), watcher.end(&sandbox)), (Some(4), 0));
}

#[cfg(unix)]
#[test]
fn another_directory_at_its_path_and_a_new_store_are_watched_too() {
    let sandbox = Sandbox::bare();
    sandbox.real_clock().write("a", "1");
    let watcher = Watcher::start(&sandbox, &[], &[]);
    let aside = sandbox.top().join("aside");
    std::fs::rename(sandbox.root(), &aside).expect("it is moved");
    std::fs::create_dir(sandbox.root()).expect("a new one");
    sandbox.write("b", "2");
    std::thread::sleep(Duration::from_secs(3));
    sandbox.write("c", "3");
    Watcher::assert_held(&sandbox, &[]);
    sandbox.ok("delete --all --yes");
    sandbox.write("c", "4");
    assert!(
        os::wait(&|| sandbox.status()["watcher"].is_string()),
        "the new store has no watcher"
    );
    sandbox.fails(4, "watch").stderr_has("is watched already");
    // A store that goes elsewhere has no watcher there.
    let moved = sandbox.top().join("moved");
    std::fs::rename(sandbox.root(), &moved).expect("it is moved");
    let old = sandbox.root().display().to_string();
    sandbox.run_in(&moved, &["relink", &old, "--yes"]).success();
    let is_free = || sandbox.run_in(&moved, &["status", "--json"]).data()["watcher"].is_null();
    assert!(os::wait(&is_free), "it counts as watched");
    std::fs::rename(&moved, sandbox.root()).expect("it is moved back");
    os::kill(watcher.child.id());
    assert_eq!(watcher.end(&sandbox), 137);
}

#[cfg(unix)]
#[test]
fn where_a_link_at_its_path_leads_is_not_watched() {
    let sandbox = Sandbox::bare();
    sandbox.real_clock().write("a", "1");
    let watcher = Watcher::start(&sandbox, &[], &["--every", "500ms"]);
    let [aside, other] = ["aside", "other"].map(|name| sandbox.top().join(name));
    std::fs::rename(sandbox.root(), &aside).expect("it is moved");
    std::fs::create_dir(&other).expect("a new one");
    os::symlink(&other, sandbox.root()).expect("a link");
    std::thread::sleep(Duration::from_secs(3));
    let listed = sandbox.run_in(&other, &["list"]);
    listed.stderr_has("no checkpoints for ");
    std::fs::remove_file(sandbox.root()).expect("it is removed");
    std::fs::rename(&aside, sandbox.root()).expect("it is moved back");
    sandbox.write("a", "2");
    Watcher::assert_held(&sandbox, &[]);
    assert_eq!(watcher.end(&sandbox), 0);
}

#[test]
fn a_log_that_is_ignored_and_never_still_keeps_no_change_from_its_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write(".gitignore", "*.log\n");
    sandbox.write("a", "1");
    let watcher = Watcher::start(&sandbox, &[], &[]);
    let log = sandbox.path("x.log");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                std::fs::write(&log, "more").expect("it is written");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        sandbox.write("a", "2");
        let baseline = || sandbox.status()["drift"]["modified"] == 0;
        let is_held = os::wait(&baseline);
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(is_held, "the log holds it up");
    });
    assert_eq!(watcher.end(&sandbox), 0);
}

/// A look at the lock holds it for a moment.
#[cfg(unix)]
#[test]
fn who_looks_at_a_directory_keeps_no_watcher_from_it() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1");
    sandbox.ok("watch -- true");
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/watcher")).expect("a lock");
    lock.lock_shared().expect("it is free");
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(lock);
    });
    sandbox.ok("watch -- true");
}

#[cfg(unix)]
#[test]
fn who_ends_a_watcher_is_told_what_it_could_not_save() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1");
    let watcher = Watcher::start(&sandbox, &[], &[]);
    sandbox.ok("hold deploy");
    sandbox.write("a", "2");
    let run = sandbox.fails(4, "watch --stop");
    assert!(run.stderr.contains("deploy"), "{run}");
    assert_eq!(watcher.end(&sandbox), 4);
}

#[cfg(unix)]
#[test]
fn one_that_was_stopped_can_be_ended_and_one_with_a_command_ends_with_that() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1");
    let watcher = Watcher::start(&sandbox, &[], &[]);
    os::signal(watcher.child.id(), os::Signal::Stop);
    assert_eq!(watcher.end(&sandbox), 0);
    let line = "while [ ! -e done ]; do sleep 0.1; done; exit 5";
    let watcher = Watcher::start(&sandbox, &[], &["--", "sh", "-c", line]);
    let run = sandbox.fails(4, "watch --stop");
    run.stderr_has("goes on for as long as its command runs");
    let run = sandbox.fails(4, "watch");
    run.stderr_has("(checkpoint watch -- sh); that ends with its command");
    sandbox.write("done", "");
    assert_eq!(Run::ended("watch".to_owned(), watcher.child).code, 5);
}
