//! Regressions: bugs that were fixed, each told as what must happen; `stories/regressions.md` has
//! those that a shell can tell.

use crate::bench::damaged::packs_of;
use crate::bench::fixtures::mode_of;
use crate::bench::{Run, Sandbox, given, strace};
use crate::partial::wrapper;

#[test]
fn undoing_an_interrupted_undo_keeps_the_step_that_can_be_undone() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    for at in 0..20 {
        sandbox.write(format!("f{at}"), at.to_string());
    }
    let id = sandbox.create("before");
    for at in 0..20 {
        sandbox.write(format!("f{at}"), format!("edited {at}"));
    }
    let edited = sandbox.tree();
    sandbox.restore(&id).success();
    let restored = sandbox.tree();
    strace::kill_at(&sandbox, "renameat2", 10, &["undo", "--yes"]).code(137);
    sandbox.undo().success();
    sandbox
        .tree()
        .assert_is(&restored, "after the interrupted undo was taken back");
    sandbox.undo().success();
    sandbox
        .tree()
        .assert_is(&edited, "after the undo was made again");
    sandbox.redo().success();
    sandbox.tree().assert_is(&restored, "after the redo");
}

#[test]
fn a_restore_that_still_runs_is_not_called_interrupted() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    let id = sandbox.create("before");
    sandbox.write("a", "2").write("b", "2");
    let restore = ["restore", &id, "--yes", "--lock-timeout", "0"];
    let mut slow = strace::command(&sandbox, "renameat2", "delay_enter=1500000", &restore);
    let slow = slow.spawn().expect("the tracer can be started");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(sandbox.status()["pending"].is_null());
    sandbox.run(&restore).code(7);
    Run::ended("a slow restore".to_owned(), slow).success();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "2");
}

#[cfg(unix)]
#[test]
fn what_a_restore_could_not_read_is_named() {
    let sandbox = Sandbox::new();
    let wrapper = given!(wrapper(&sandbox));
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .write("a", "2")
        .write("closed", "s")
        .chmod("closed", 0);
    let run = sandbox
        .run_under(wrapper, &["restore", &id, "--yes", "--json"])
        .code(5);
    assert!(
        run.warning_codes().contains(&"not_captured".to_owned()),
        "{run}"
    );
    assert!(sandbox.exists("closed"));
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn modes_and_empty_directories_edited_while_a_restore_is_pending_are_kept() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").write("c", "1");
    let id = sandbox.create("before");
    sandbox.write("a", "2").write("b", "2");
    strace::kill_at(&sandbox, "renameat2", 2, &["restore", &id, "--yes"]).code(137);
    sandbox.mkdir("mine").chmod("c", 0o600);
    let before = sandbox.listed().len();
    sandbox.ok("restore --resume");
    assert_eq!(
        sandbox.listed().len(),
        before + 1,
        "the edits are in a further safety checkpoint"
    );
}

#[cfg(unix)]
#[test]
fn an_ordinary_user_restores_into_a_root_that_may_not_be_written() {
    let sandbox = Sandbox::new();
    let wrapper = given!(wrapper(&sandbox));
    let run = |args: &[&str]| sandbox.run_under(wrapper, args).success();
    let files = || (sandbox.read("a"), sandbox.exists("b"));
    sandbox.write("a", "1").chmod("", 0o555);
    run(&["create", "--reason", "before"]);
    sandbox
        .chmod("", 0o755)
        .write("a", "2")
        .write("b", "2")
        .chmod("", 0o555);
    run(&["restore", "before", "--yes"]);
    assert_eq!(files(), ("1".into(), false));
    assert_eq!(mode_of(sandbox.root()) & 0o777, 0o555);
    run(&["prune"]);
    run(&["undo", "--yes"]);
    assert_eq!(files(), ("2".into(), true));
    let names: Vec<_> = std::fs::read_dir(sandbox.root())
        .expect("the root")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().starts_with(".checkpoint-stage-")),
        "{names:?}"
    );
    sandbox.chmod("", 0o755);
}

#[test]
fn what_is_written_to_a_replaced_file_while_a_restore_is_pending_is_kept() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("f1", "1").write("f2", "1").write("f3", "1");
    let id = sandbox.create("before");
    sandbox
        .write("f1", "new 1")
        .write("f2", "new 2")
        .write("f3", "new 3");
    let mut open = std::fs::File::options()
        .append(true)
        .open(sandbox.path("f1"))
        .expect("a file");
    strace::kill_at(&sandbox, "renameat2", 3, &["restore", &id, "--yes"]).code(137);
    std::io::Write::write_all(&mut open, b"LATE").expect("it can be written");
    sandbox
        .undo()
        .success()
        .stderr_has("these bytes are in no checkpoint");
    let kept = crate::bench::fixtures::files_below(sandbox.root());
    let holds =
        |file: &std::path::PathBuf| std::fs::read(file).is_ok_and(|bytes| bytes.ends_with(b"LATE"));
    assert!(kept.iter().any(holds), "{kept:?}");
}

#[test]
fn many_first_creates_at_once_all_succeed() {
    for _ in 0..4 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let spawn = |number: usize| {
            let reason = format!("r{number}");
            let mut command = sandbox.command(&[], &["create", "-q", "-r", &reason]);
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .expect("a child")
        };
        let children: Vec<_> = (0..8).map(spawn).collect();
        for child in children {
            Run::ended("one of eight creates".to_owned(), child).success();
        }
    }
}

#[test]
fn a_lost_ref_is_not_forgotten_because_an_index_could_not_be_read_just_then() {
    given!(if strace::available());
    for has_manifest in [true, false] {
        for command in [&["verify", "--repair"][..], &["create", "-r", "next"]] {
            for nth in 1..30 {
                let sandbox = Sandbox::new();
                sandbox.write("a", "1");
                let one = sandbox.create_data(&["-r", "one"])["id"]
                    .as_str()
                    .expect("an id")
                    .to_owned();
                let index_of_one = packs_of(&sandbox.store())[0].with_extension("idx");
                sandbox.write("a", "2").create("two");
                let other = packs_of(&sandbox.store())
                    .into_iter()
                    .map(|pack| pack.with_extension("idx"));
                other
                    .filter(|index| *index != index_of_one)
                    .for_each(|index| std::fs::remove_file(index).unwrap());
                std::fs::remove_file(sandbox.store().join("refs/checkpoints").join(&one)).unwrap();
                if !has_manifest {
                    std::fs::remove_file(sandbox.store().join("checkpoint-manifest.md")).unwrap();
                }
                strace::failing_at_path(
                    &sandbox,
                    &index_of_one,
                    "openat",
                    "EIO",
                    &nth.to_string(),
                    command,
                );
                let struck = strace::has_struck(&sandbox);
                sandbox.ok("create -r last");
                assert!(
                    sandbox.listed_ids().contains(&one[..8].to_owned()),
                    "{command:?} {nth} {has_manifest}"
                );
                if !struck {
                    assert!(nth > 1, "{command:?} opens it nowhere");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_lost_ref_is_not_forgotten_because_its_commit_could_be_read_only_once() {
    given!(if strace::available());
    for nth in 1..60 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let one = sandbox.create_data(&["-r", "one"])["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        sandbox.write("a", "2").create("two");
        std::fs::remove_file(sandbox.store().join("refs/checkpoints").join(&one)).unwrap();
        strace::failing_from(&sandbox, "pread64", "EIO", nth, &["create", "-r", "next"]);
        let struck = strace::has_struck(&sandbox);
        sandbox.ok("create -r last");
        assert!(
            sandbox.listed_ids().contains(&one[..8].to_owned()),
            "reads failed from number {nth} on"
        );
        if !struck {
            assert!(nth > 1, "nothing is read");
            break;
        }
    }
}
