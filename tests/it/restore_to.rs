//! `restore --to` writes a checkpoint whole or not at all; `stories/restore_to.md` has the rest.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Run, Sandbox, Tree, fixtures, given, strace};

fn with_one() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("d/b", "2")
        .write("d/e/c", "3")
        .symlink("link", "../outside")
        .mkdir("empty");
    sandbox
        .write("run", "x")
        .chmod("run", 0o755)
        .chmod("d/e", 0o500)
        .write("d/.gitignore", "*.log\n");
    let id = sandbox.create("first");
    (sandbox, id)
}

fn to(sandbox: &Sandbox, id: &str, dir: &Path, more: &[&str]) -> Run {
    sandbox.run(&[&["restore", id, "--to", &dir.display().to_string()], more].concat())
}

fn other(sandbox: &Sandbox) -> PathBuf {
    sandbox.top().join("other")
}

#[cfg(unix)]
#[test]
fn twenty_states_come_out_as_a_plain_copy_of_each_would() {
    let sandbox = Sandbox::new();
    let mut states = Vec::new();
    for at in 0..20_u32 {
        let names = [
            &b"plain"[..],
            b"with blank",
            "gr\u{fc}n".as_bytes(),
            b"caf\xe9\n",
            b"-dash",
        ];
        let name = crate::bench::os::path_of(names[at as usize % names.len()]);
        let dir = Path::new("d").join((at % 4).to_string()).join(name);
        sandbox.write(
            dir.join("file"),
            fixtures::noise(at.into(), at as usize * 1000),
        );
        sandbox
            .chmod(dir.join("file"), 0o600 | (at * 0o11) & 0o177)
            .chmod(&dir, 0o700 | (at & 0o55));
        sandbox
            .mkdir(format!("empty/{at}"))
            .remove(format!("empty/{}", at.wrapping_sub(3)));
        sandbox
            .remove(format!("link{}", at % 3))
            .symlink(format!("link{}", at % 3), format!("to/{at}\u{e9}"));
        sandbox
            .write(format!("x{}", at % 7), "x".repeat(at as usize))
            .remove(format!("x{}", (at + 3) % 7));
        let copy = sandbox.top().join(format!("copy{at}"));
        let mut command = Command::new("cp");
        command.arg("-a").arg(sandbox.root()).arg(&copy);
        Run::of(command).success();
        states.push((sandbox.create(&format!("state {at}")), copy));
    }
    sandbox.remove("d").remove("empty").write("x1", "later");
    let before = sandbox.tree();
    for (at, (id, copy)) in states.iter().enumerate() {
        let dir = sandbox.top().join(format!("out{at}"));
        to(&sandbox, id, &dir, &[]).success();
        Tree::capture(&dir).assert_is(
            &Tree::capture(copy).without_dot_git(),
            &format!("state {at}"),
        );
    }
    sandbox.tree().assert_is(&before, "the working directory");
    assert_eq!(sandbox.listed().len(), 20);
}

/// Enough files for several threads, in directories and in one that several of them fill.
fn with_many() -> (Sandbox, String) {
    let (sandbox, _) = with_one();
    for at in 0..400_u32 {
        let dir = if at % 2 == 0 {
            "flat".into()
        } else {
            format!("n/{}/x", at % 7)
        };
        sandbox.write(
            format!("{dir}/{at}"),
            fixtures::noise(at.into(), at as usize),
        );
    }
    sandbox.symlink("n/3/link", "x").chmod("n/5/x", 0o500);
    let id = sandbox.create("many");
    (sandbox, id)
}

#[test]
fn several_threads_write_what_one_would() {
    let (sandbox, id) = with_many();
    to(&sandbox, &id, &other(&sandbox), &[]).success();
    Tree::capture(&other(&sandbox)).assert_is(&sandbox.tree(), "what was written");
}

/// Of one thread and of several.
#[test]
fn a_full_disk_a_refusal_or_a_signal_in_the_middle_leaves_nothing_behind() {
    given!(if strace::available());
    let mut failed = 0;
    for ((sandbox, id), places) in [(with_one(), [1, 2, 3, 4]), (with_many(), [1, 3, 9, 20])] {
        let dir = other(&sandbox).display().to_string();
        let args = ["restore", &id, "--to", &dir];
        let is_clean = |run: &Run| {
            assert!(!other(&sandbox).exists(), "{run}");
            // Each thread counts its own calls: the message may be the write that fails.
            let is_said = run.stderr.contains("other") || run.stderr.is_empty();
            assert!(run.code == 143 || is_said, "{run}");
        };
        for calls in [
            "mkdirat,mkdir",
            "symlinkat,symlink",
            "write",
            "fchmod,fchmodat",
        ] {
            let may_be_refused = calls.starts_with("fchmod");
            for nth in places {
                let run = strace::failing_nth(&sandbox, calls, "ENOSPC", nth, &args);
                if strace::has_struck(&sandbox) && !(may_be_refused && run.code == 0) {
                    failed += 1;
                    is_clean(&run.code(1));
                }
                fixtures::remove(&other(&sandbox));
            }
            if !may_be_refused {
                let run = strace::signal_at(&sandbox, calls, "TERM", 1, &args);
                is_clean(&run.code(143));
            }
        }
    }
    assert!(failed >= 16, "only {failed} runs failed");
}
