//! Ctrl-C while a checkpoint is made or restored: one line, code 130, nothing half-made is left.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::bench::{Git, Run, Sandbox, given, strace, tree::Tree};

const FILES: usize = 150;
/// Writing the lock holder is the first write of a command.
const BEFORE_THE_WORK: &str = "SIGINT while the lock is taken";
const LARGE: &str = "large";
/// More than a pack keeps in memory, and more than one read takes.
const LARGE_BYTES: usize = 17 << 20;
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
    for number in 0..FILES {
        sandbox.write(format!("d{}/{number}", number % 2), number.to_string());
    }
    sandbox
        .write("gone", "g")
        .mkdir("empty")
        .symlink("link", "gone");
    let first = sandbox.create("first");
    for number in 0..FILES {
        sandbox.write(
            format!("d{}/{number}", number % 2),
            format!("{number} changed"),
        );
    }
    sandbox.remove("gone").remove("empty").write("new/one", "n");
    if large {
        sandbox.write(LARGE, noise());
    }
    let (tree, ids) = (sandbox.tree(), sandbox.listed_ids());
    Story {
        sandbox,
        first,
        tree,
        ids,
    }
}

/// Incompressible bytes, always the same.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let next = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        });
        next.flat_map(u64::to_le_bytes).take(LARGE_BYTES).collect()
    })
}

/// Leftovers of a command below a directory, such as temporary files and stages.
pub fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_path_buf()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir)
            .expect("a directory")
            .map(|entry| entry.expect("an entry"))
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(".tmp-")
                || name.starts_with("tmp_")
                || name.starts_with(".checkpoint-stage-")
            {
                found.push(entry.path());
            } else if entry.file_type().expect("a type").is_dir() {
                pending.push(entry.path());
            }
        }
    }
    found
}

impl Story {
    /// Checks what holds whenever the signal came. A command that waits for the lock, or has just
    /// written its name into it, simply ends: nothing has begun. Returns whether the signal ended
    /// the command.
    fn look(&self, run: &Run, when: &str) -> bool {
        let sandbox = &self.sandbox;
        assert!(run.code == 0 || run.code == 130, "{when}\n{run}");
        let interrupted = run.code == 130;
        if interrupted {
            let has_begun = when != BEFORE_THE_WORK;
            let state = if when.contains("create") {
                "no checkpoint was made"
            } else {
                "nothing was changed"
            };
            let said = if has_begun {
                format!("checkpoint: interrupted: {state}\n")
            } else {
                String::new()
            };
            assert_eq!(run.stderr, said, "{when}\n{run}");
            assert_eq!(run.stdout, "", "{when}\n{run}");
            assert_eq!(sandbox.listed_ids(), self.ids, "{when}: a new row");
            sandbox.tree().assert_is(&self.tree, when);
            assert!(
                sandbox.status()["pending"].is_null(),
                "{when}: a pending restore"
            );
        }
        assert_eq!(
            leftovers(&sandbox.store()),
            [""; 0].map(PathBuf::from),
            "{when}"
        );
        assert_eq!(
            leftovers(sandbox.root()),
            [""; 0].map(PathBuf::from),
            "{when}"
        );
        interrupted
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
    if strace::available() {
        assert!(
            sweep("openat", Some("d1"), create) > 2,
            "no create was interrupted while it read files"
        );
        assert!(
            sweep("read,pread64", Some(LARGE), create) > 2,
            "no create was interrupted in a large file"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_create_writes_leaves_a_whole_checkpoint_or_none() {
    if strace::available() {
        assert!(
            sweep(WRITES, None, create) > 2,
            "no create was interrupted while it wrote"
        );
        for calls in [FLUSHES, RENAMES] {
            println!("{} creates ended at {calls}", sweep(calls, None, create));
        }
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_restore_looks_around_leaves_nothing() {
    if strace::available() {
        assert!(
            sweep("openat", Some("d1"), restore) > 2,
            "no restore was interrupted while it read files"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_restore_writes_leaves_the_directory_as_it_was() {
    if strace::available() {
        let ended: usize = [FLUSHES, RENAMES, WRITES]
            .map(|calls| sweep(calls, None, restore))
            .iter()
            .sum();
        assert!(ended > 2, "no restore was interrupted while it wrote");
    }
}

#[cfg(unix)]
#[test]
fn term_and_hangup_are_heeded_as_ctrl_c_is() {
    given!(if strace::available());
    let commands: [fn(&Story) -> Vec<&str>; 2] = [create, restore];
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
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
            assert_eq!(sandbox.listed_ids(), story.ids, "{when}: a new row");
            sandbox.tree().assert_is(&story.tree, &when);
            assert!(
                sandbox.status()["pending"].is_null(),
                "{when}: a pending restore"
            );
            for place in [sandbox.store().as_path(), sandbox.root()] {
                assert_eq!(leftovers(place), [""; 0].map(PathBuf::from), "{when}");
            }
            story.go_on(&when);
        }
    }
}
