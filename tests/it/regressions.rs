//! Regressions: bugs that were fixed, each told as what must happen.

use crate::bench::os::MetadataExt;

use crate::bench::damaged::{packs_of, put};
use crate::bench::fixtures::mode_of;
use crate::bench::{Run, Sandbox, strace};
use crate::partial::wrapper;

#[cfg(unix)]
#[test]
fn two_names_of_one_file_are_replaced_and_removed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    let id = sandbox.create("before");
    for name in ["a", "b"] {
        sandbox.remove(name);
    }
    sandbox.write("x", "linked");
    for name in ["a", "b", "y"] {
        std::fs::hard_link(sandbox.path("x"), sandbox.path(name)).expect("a link can be made");
    }
    let linked = sandbox.tree();
    sandbox.restore(&id).success();
    assert_eq!(
        (sandbox.read("a"), sandbox.exists("x"), sandbox.exists("y")),
        ("1".into(), false, false)
    );
    sandbox.undo().success();
    sandbox.tree().assert_is(&linked, "after the undo");
    assert_ne!(
        ino(&sandbox, "x"),
        ino(&sandbox, "y"),
        "links inside become files of their own"
    );
}

fn ino(sandbox: &Sandbox, name: &str) -> u64 {
    std::fs::metadata(sandbox.path(name)).expect("a file").ino()
}

#[test]
fn undoing_an_interrupted_undo_keeps_the_step_that_can_be_undone() {
    if !strace::available() {
        return;
    }
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
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    let id = sandbox.create("before");
    sandbox.write("a", "2").write("b", "2");
    let delay = "inject=renameat2:delay_enter=1500000";
    let tracer = [
        "/usr/bin/strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=renameat2",
        "-e",
        delay,
    ];
    let restore = ["restore", &id, "--yes", "--lock-timeout", "0"];
    let slow = sandbox
        .command(&tracer, &restore)
        .spawn()
        .expect("the tracer can be started");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(sandbox.status()["pending"].is_null());
    sandbox.run(&restore).code(7);
    Run::ended("a slow restore".to_owned(), slow).success();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "2");
}

#[test]
fn a_restore_gives_lost_refs_back_before_it_looks_for_its_target() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2");
    std::fs::remove_dir_all(sandbox.store().join("refs")).expect("the refs can be removed");
    sandbox
        .restore("one")
        .success()
        .stderr_has("lost refs were restored: checkpoint ");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn a_damaged_checkpoint_whose_ref_is_lost_too_is_not_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let first = sandbox.create("one");
    let packs = packs_of(&sandbox.store());
    sandbox.write("a", "2").create("two");
    for pack in packs {
        let bytes = std::fs::read(&pack).expect("a pack");
        put(&pack, &vec![0; bytes.len()]);
    }
    std::fs::remove_dir_all(sandbox.store().join("refs/checkpoints"))
        .expect("the refs can be removed");
    sandbox.write("a", "3").create("three");
    let run = sandbox.fails(6, "verify");
    assert!(
        run.stdout.contains(&first) || run.stderr.contains(&first),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn what_a_restore_could_not_read_is_named() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
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
    if !strace::available() {
        return;
    }
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

#[test]
fn a_time_copied_from_the_list_finds_its_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox
        .at("2026-03-24T12:00:00.700Z")
        .write("a", "1")
        .create("one");
    sandbox
        .at("2026-03-24T12:00:09.700Z")
        .write("a", "2")
        .create("two");
    sandbox
        .ok("show '2026-03-24 12:00:09'")
        .stdout_has("reason     two");
    sandbox
        .ok("show '2026-03-24 12:00:08'")
        .stdout_has("reason     one");
}

#[cfg(unix)]
#[test]
fn a_fifo_in_place_of_the_configuration_is_told_and_nobody_waits() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").fifo(".checkpoint.toml");
    sandbox.fails(1, "create").stderr_has(".checkpoint.toml");
    sandbox.user_config("").remove(".checkpoint.toml");
    let config = sandbox.home().join(".config/checkpoint/config.toml");
    std::fs::remove_file(&config).unwrap();
    crate::bench::fixtures::fifo(&config);
    sandbox.fails(1, "create").stderr_has("config.toml");
}

#[test]
fn a_dot_beside_another_path_does_not_hide_that_it_is_not_held() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .fails(3, format!("restore {id} . missing --yes"))
        .stderr_has("missing");
}

#[test]
fn quiet_is_not_silent_about_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    sandbox
        .ok("create -q --max-files 1")
        .stderr_has("Directory has >1 files");
    sandbox.env("CHECKPOINT_DISABLE", "1");
    sandbox.ok("create -q").stderr_has("CHECKPOINT_DISABLE");
}

#[cfg(unix)]
#[test]
fn specials_and_large_files_are_named_by_the_first_create() {
    let sandbox = Sandbox::new();
    sandbox.user_config("max_file_size = 10\n");
    sandbox
        .write("a", "1")
        .write("big", [b'x'; 100])
        .fifo("pipe");
    sandbox
        .ok("create")
        .stderr_has("not captured: big (over max_file_size), pipe (a FIFO)");
}

#[test]
fn prune_says_so_when_there_is_nothing_to_do() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.ok("prune").stdout_is("Nothing to prune.\n");
}

#[cfg(unix)]
#[test]
fn an_ordinary_user_restores_into_a_root_that_may_not_be_written() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
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
    if !strace::available() {
        return;
    }
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

#[cfg(unix)]
#[test]
fn an_answer_that_could_not_be_written_is_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    for args in [
        "list",
        "status",
        "show latest",
        "cat latest:a",
        "ls",
        "config",
        "help",
    ] {
        let script = format!("exec \"$0\" {args} > /dev/full");
        let run = sandbox
            .run_under(&["/bin/sh", "-c", &script], &[])
            .code(1)
            .stderr_has("o space left");
        assert!(!run.stderr.contains("disk of the store"), "{run}");
    }
    let closed = sandbox.run_under(&["/bin/sh", "-c", "exec \"$0\" create -r two >&-"], &[]);
    closed.success();
    assert_eq!(sandbox.listed().len(), 2);
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
    if !strace::available() {
        return;
    }
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
                    break;
                }
            }
        }
    }
}

#[test]
fn a_lost_ref_is_not_forgotten_because_its_commit_could_be_read_only_once() {
    if !strace::available() {
        return;
    }
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
            break;
        }
    }
}
