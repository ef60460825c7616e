//! Ctrl-C while a checkpoint is made or restored: one line, code 130, nothing half-made is left.

use std::path::{Path, PathBuf};

use crate::bench::{Git, Run, Sandbox, fixtures, given, os, strace, tree::Tree};

const FILES: usize = 150;
/// Writing the lock holder is the first write of a command.
const BEFORE_THE_WORK: &str = "SIGINT while the lock is taken";
const LARGE: &str = "large";
const RENAMES: &str = "renameat2,renameat,rename";
const FLUSHES: &str = "fsync,fdatasync";
const WRITES: &str = "write,pwrite64,writev";
/// Calls at which a signal is sent: the first, the second, and some further apart.
const MOMENTS: [usize; 6] = [1, 2, 4, 9, 30, 80];

struct Story {
    sandbox: Sandbox,
    first: String,
    /// State of the directory before the signal.
    tree: Tree,
    ids: Vec<String>,
}

/// A directory with one checkpoint and many changes since.
fn story(large: bool) -> Story {
    let sandbox = Sandbox::new();
    let fill = |more: &str| {
        for number in 0..FILES {
            sandbox.write(
                format!("d{}/{number}", number % 2),
                format!("{number}{more}"),
            );
        }
    };
    fill("");
    sandbox
        .write("gone", "g")
        .mkdir("empty")
        .symlink("link", "gone");
    let first = sandbox.create("first");
    fill(" changed");
    sandbox.remove("gone").remove("empty").write("new/one", "n");
    if large {
        // More than a pack keeps in memory, and more than one read takes.
        sandbox.write(LARGE, fixtures::noise(1, 1 << 20).repeat(17));
    }
    let (tree, ids) = (sandbox.tree(), sandbox.listed_ids());
    Story {
        sandbox,
        first,
        tree,
        ids,
    }
}

/// Leftovers of a command below a directory, such as temporary files and stages.
pub fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begins = [".tmp-", "tmp_", ".checkpoint-stage-"];
        begins.iter().any(|begin| name.starts_with(begin))
    };
    let all = walkdir::WalkDir::new(dir).min_depth(1).into_iter();
    let paths = all.map(|entry| entry.expect("an entry").into_path());
    paths.filter(is_left).collect()
}

impl Story {
    /// Checks what holds whenever the signal came. A command that waits for the lock, or has just
    /// written its name into it, simply ends: nothing has begun. Returns whether the signal ended
    /// the command.
    fn look(&self, run: &Run, when: &str) -> bool {
        assert!(run.code == 0 || run.code == 130, "{when}\n{run}");
        let interrupted = run.code == 130;
        if interrupted {
            let said = match when {
                BEFORE_THE_WORK => "",
                _ if when.contains("create") => "checkpoint: interrupted: no checkpoint was made\n",
                _ => "checkpoint: interrupted: nothing was changed\n",
            };
            assert_eq!(run.stderr, said, "{when}\n{run}");
            assert_eq!(run.stdout, "", "{when}\n{run}");
            self.is_as_before(when);
        }
        self.is_tidy(when);
        interrupted
    }

    fn is_as_before(&self, when: &str) {
        let sandbox = &self.sandbox;
        assert_eq!(sandbox.listed_ids(), self.ids, "{when}: a new row");
        sandbox.tree().assert_is(&self.tree, when);
        let pending = &sandbox.status()["pending"];
        assert!(pending.is_null(), "{when}: a pending restore");
    }

    fn is_tidy(&self, when: &str) {
        for place in [&*self.sandbox.store(), self.sandbox.root()] {
            let left = leftovers(place);
            assert!(left.is_empty(), "{when}: {left:?}");
        }
    }

    /// Checks that the next commands work and that git accepts the store.
    fn go_on(&self, when: &str) {
        let sandbox = &self.sandbox;
        sandbox.create("next");
        sandbox.ok("verify --full");
        sandbox.restore(&self.first).success();
        assert_eq!(sandbox.read("d0/0"), "0", "{when}");
        if let Some(git) = Git::find(sandbox.home()) {
            git.with("GIT_DIR", sandbox.store())
                .ok("fsck --full --strict");
        }
    }
}

/// Sends the signal at growing numbers of a kind of call until the command ends before it; returns
/// how many runs it ended.
fn sweep(calls: &str, below: Option<&str>, command: fn(&Story) -> Vec<&str>) -> usize {
    let mut ended = 0;
    for nth in MOMENTS {
        // The content of many small files is written in one piece.
        let story = story(calls == WRITES || below == Some(LARGE));
        let args = command(&story);
        let when = match (calls, nth) {
            (WRITES, 1) => BEFORE_THE_WORK.to_owned(),
            _ => format!("SIGINT at {calls} number {nth} of {}", args.join(" ")),
        };
        let run = match below {
            Some(dir) => strace::signal_at_path(
                &story.sandbox,
                &story.sandbox.path(dir),
                calls,
                "INT",
                nth,
                &args,
            ),
            None => strace::signal_at(&story.sandbox, calls, "INT", nth, &args),
        };
        if !story.look(&run, &when) {
            break;
        }
        ended += 1;
        story.go_on(&when);
    }
    ended
}

fn create(_: &Story) -> Vec<&str> {
    vec!["create", "--reason", "second"]
}

fn restore(story: &Story) -> Vec<&str> {
    vec!["restore", &story.first, "--yes"]
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_create_reads_leaves_nothing() {
    given!(if strace::available());
    for (calls, below) in [("openat", "d1"), ("read,pread64", LARGE)] {
        let count = sweep(calls, Some(below), create);
        assert!(count > 2, "{count} creates were interrupted at {calls}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_create_writes_leaves_a_whole_checkpoint_or_none() {
    given!(if strace::available());
    let counts = [WRITES, FLUSHES, RENAMES].map(|calls| sweep(calls, None, create));
    assert!(counts[0] > 2, "{counts:?} creates were interrupted");
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_restore_looks_around_leaves_nothing() {
    given!(if strace::available());
    let count = sweep("openat", Some("d1"), restore);
    assert!(count > 2, "{count} restores were interrupted");
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_restore_writes_leaves_the_directory_as_it_was() {
    given!(if strace::available());
    let counts = [FLUSHES, RENAMES, WRITES].map(|calls| sweep(calls, None, restore));
    assert!(counts.iter().sum::<usize>() > 2, "{counts:?} restores");
}

#[cfg(unix)]
#[test]
fn term_and_hangup_are_heeded_as_ctrl_c_is() {
    given!(if strace::available());
    let commands: [fn(&Story) -> Vec<&str>; 2] = [create, restore];
    // Under nohup, a hangup is for none.
    let signals = [("TERM", 143), ("HUP", 129)].into_iter();
    for (signal, code) in signals.filter(|(_, code)| *code == 143 || !os::ignores(1)) {
        for command in commands {
            let story = story(false);
            let (sandbox, args) = (&story.sandbox, command(&story));
            let when = format!("SIG{signal} in {}", args.join(" "));
            let run =
                strace::signal_at_path(sandbox, &sandbox.path("d1"), "openat", signal, 2, &args)
                    .code(code);
            assert_eq!(
                (run.stdout.as_str(), run.stderr.lines().count()),
                ("", 1),
                "{when}\n{run}"
            );
            story.is_as_before(&when);
            story.is_tidy(&when);
            story.go_on(&when);
        }
    }
}
