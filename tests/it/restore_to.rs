//! `restore --to`: writes a checkpoint into another directory, whole or not at all, and changes
//! nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Run, Sandbox, Tree, fixtures, strace};

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

#[test]
fn nothing_is_asked_and_nothing_recorded_and_the_store_stays_byte_for_byte() {
    let (sandbox, id) = with_one();
    sandbox.write("a", "edited");
    sandbox.watch(&sandbox.store());
    let before = sandbox.tree();
    let run = to(&sandbox, &id, &other(&sandbox), &[]).success();
    run.stdout_has("Wrote checkpoint").stdout_has(&id);
    assert_eq!(
        std::fs::read_to_string(other(&sandbox).join("a")).unwrap(),
        "1"
    );
    sandbox.tree().assert_is(&before, "the working directory");
}

#[cfg(unix)]
#[test]
fn an_empty_directory_is_filled_and_keeps_its_own_mode() {
    let (sandbox, id) = with_one();
    let expected = sandbox.tree();
    std::fs::create_dir(other(&sandbox)).unwrap();
    crate::bench::os::set_mode(&other(&sandbox), 0o711).unwrap();
    let link = sandbox.top().join("link");
    crate::bench::os::symlink(other(&sandbox), &link).unwrap();
    to(&sandbox, &id, &link, &[]).success();
    assert_eq!(fixtures::mode_of(&other(&sandbox)), 0o711);
    assert!(link.is_symlink());
    let mut written = Tree::capture(&other(&sandbox));
    written
        .nodes
        .insert(Vec::new(), expected.nodes[&b""[..]].clone());
    written.assert_is(&expected, "what was written");
}

#[test]
fn a_place_that_is_not_free_is_refused_with_4_and_stays_as_it_is() {
    let (sandbox, id) = with_one();
    sandbox.mkdir("standing");
    let top = sandbox.top();
    std::fs::create_dir_all(top.join("full/x")).unwrap();
    std::fs::write(top.join("file"), "x").unwrap();
    crate::bench::os::symlink("nowhere", top.join("dangling")).unwrap();
    crate::bench::os::symlink(sandbox.root(), top.join("to-root")).unwrap();
    let before = Tree::capture(&top);
    let places = [
        top.join("full"),
        top.join("file"),
        top.join("file/below"),
        top.join("dangling"),
        top.join("to-root"),
        top.join("no/parent"),
        sandbox.root().to_path_buf(),
        sandbox.path("standing"),
        sandbox.path(".git/new"),
        sandbox.path("sub/.GIT/new"),
        sandbox.base().join("new"),
        sandbox.store().join("new"),
    ];
    for place in places {
        let run = to(&sandbox, &id, &place, &["--json"]).code(4);
        assert_eq!(run.error_code(), "bad_destination", "{run}");
    }
    Tree::capture(&top).assert_is(&before, "everything");
}

#[test]
fn a_new_directory_inside_the_root_is_written_with_a_warning() {
    let (sandbox, id) = with_one();
    let run = to(&sandbox, &id, &sandbox.path("old"), &["--json"]).success();
    assert_eq!(run.warning_codes(), ["copy_inside_root"]);
    assert_eq!(sandbox.read("old/a"), "1");
}

#[test]
fn a_relative_directory_is_taken_from_the_current_one() {
    let (sandbox, id) = with_one();
    let root = sandbox.root().display().to_string();
    sandbox
        .run_in(
            &sandbox.top(),
            &["-C", &root, "restore", &id, "--to", "other"],
        )
        .success();
    assert!(other(&sandbox).join("d/e/c").exists());
}

#[cfg(unix)]
#[test]
fn paths_limit_what_is_written_and_one_that_is_not_held_is_3() {
    let (sandbox, id) = with_one();
    to(&sandbox, &id, &other(&sandbox), &["no/such"])
        .code(3)
        .stderr_has("no/such");
    assert!(!other(&sandbox).exists());
    to(&sandbox, &id, &other(&sandbox), &["d/e", "empty"])
        .success()
        .stdout_has("`d/e`");
    let written = Tree::capture(&other(&sandbox));
    let names: Vec<&str> = written
        .nodes
        .keys()
        .map(|path| std::str::from_utf8(path).unwrap())
        .collect();
    assert_eq!(names, ["", "d", "d/e", "d/e/c", "empty"]);
    assert_eq!(fixtures::mode_of(&other(&sandbox).join("d/e")), 0o500);
}

#[test]
fn a_dry_run_writes_nothing_and_names_every_path() {
    let (sandbox, id) = with_one();
    let run = to(&sandbox, &id, &other(&sandbox), &["--dry-run"]).success();
    run.stdout_has("d/e/c").stdout_has("empty");
    assert!(!other(&sandbox).exists());
    to(&sandbox, &id, &sandbox.top(), &["--dry-run"]).code(4);
}

#[cfg(unix)]
#[test]
fn special_bits_come_only_when_asked_for() {
    let (sandbox, _) = with_one();
    sandbox.chmod("run", 0o4755);
    let id = sandbox.create("special");
    for (name, more, mode) in [
        ("one", &[][..], 0o755),
        ("two", &["--restore-suid"], 0o4755),
    ] {
        let dir = sandbox.top().join(name);
        to(&sandbox, &id, &dir, more).success();
        assert_eq!(fixtures::mode_of(&dir.join("run")), mode);
    }
}

#[test]
fn it_works_when_the_root_is_gone() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    fixtures::remove(sandbox.root());
    let root = sandbox.root().display().to_string();
    let dir = other(&sandbox).display().to_string();
    sandbox
        .run(&["-C", &root, "restore", &id, "--to", &dir])
        .success();
    assert_eq!(
        std::fs::read_to_string(other(&sandbox).join("a")).unwrap(),
        "1"
    );
    assert!(!sandbox.root().exists());
    sandbox
        .run(&["-C", &root, "restore", &id, "--to", &root])
        .code(4);
}

#[test]
fn it_does_not_wait_for_the_lock() {
    let (sandbox, id) = with_one();
    let lock = std::fs::File::options()
        .write(true)
        .open(sandbox.store().join("checkpoint/lock"))
        .unwrap();
    lock.lock().unwrap();
    to(&sandbox, &id, &other(&sandbox), &["--lock-timeout", "0"]).success();
}

#[test]
fn a_damaged_file_leaves_nothing_behind_and_is_named() {
    let (sandbox, _) = with_one();
    sandbox.write("d/big", fixtures::noise(1, 200_000));
    let id = sandbox.create("to be damaged");
    let packs = fixtures::files_below(&sandbox.store().join("objects/pack"));
    let pack = packs
        .iter()
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let mut bytes = std::fs::read(pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    crate::bench::os::set_mode(pack, 0o600).unwrap();
    std::fs::write(pack, bytes).unwrap();
    let run = to(&sandbox, &id, &other(&sandbox), &["--json"])
        .code(6)
        .stderr_has("d/big");
    assert_eq!(run.error_code(), "damaged");
    assert!(!other(&sandbox).exists());
    std::fs::create_dir(other(&sandbox)).unwrap();
    to(&sandbox, &id, &other(&sandbox), &[]).code(6);
    assert_eq!(std::fs::read_dir(other(&sandbox)).unwrap().count(), 0);
    to(&sandbox, &id, &other(&sandbox), &["a"]).success();
}

#[test]
fn a_full_disk_or_a_refusal_in_the_middle_leaves_nothing_behind() {
    if !strace::available() {
        return;
    }
    let (sandbox, id) = with_one();
    let dir = other(&sandbox).display().to_string();
    let mut failed = 0;
    for calls in [
        "mkdirat,mkdir",
        "symlinkat,symlink",
        "fchmod,fchmodat",
        "write",
    ] {
        for nth in 1..=4 {
            let run = strace::failing_nth(
                &sandbox,
                calls,
                "ENOSPC",
                nth,
                &["restore", &id, "--to", &dir],
            );
            if run.code != 0 {
                failed += 1;
                assert!(!other(&sandbox).exists(), "{calls} {nth}\n{run}");
                assert!(
                    run.code == 1 && run.stderr.contains("other"),
                    "{calls} {nth}\n{run}"
                );
            }
            fixtures::remove(&other(&sandbox));
        }
    }
    assert!(failed >= 8, "only {failed} runs failed");
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    if !strace::available() {
        return;
    }
    let (sandbox, id) = with_one();
    let dir = other(&sandbox).display().to_string();
    let run = strace::signal_at(
        &sandbox,
        "symlinkat,symlink",
        "TERM",
        1,
        &["restore", &id, "--to", &dir],
    );
    assert_eq!(run.code, 143, "{run}");
    assert!(!other(&sandbox).exists());
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

#[test]
fn a_failure_of_one_thread_or_a_signal_leaves_nothing_of_the_others() {
    if !strace::available() {
        return;
    }
    let (sandbox, id) = with_many();
    let dir = other(&sandbox).display().to_string();
    let args = ["restore", &id, "--to", &dir];
    for calls in ["mkdirat,mkdir", "write", "symlinkat,symlink"] {
        for nth in [1, 3, 20] {
            let run = strace::failing_nth(&sandbox, calls, "ENOSPC", nth, &args);
            if strace::has_struck(&sandbox) {
                assert_eq!(run.code, 1, "{calls} {nth}\n{run}");
                assert!(!other(&sandbox).exists(), "{calls} {nth}\n{run}");
            }
            fixtures::remove(&other(&sandbox));
        }
        let run = strace::signal_at(&sandbox, calls, "TERM", 1, &args);
        assert_eq!(run.code, 143, "{calls}\n{run}");
        assert!(!other(&sandbox).exists(), "{calls}\n{run}");
    }
}

#[test]
fn what_makes_no_sense_together_is_2() {
    let (sandbox, id) = with_one();
    for more in [&["--overlay"][..], &["--resume"], &["--verify"]] {
        to(&sandbox, &id, &other(&sandbox), more).code(2);
    }
    assert!(!other(&sandbox).exists());
}

#[test]
fn patterns_that_match_nothing_make_no_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let args = ["restore", "@", "--glob", "*.rs", "--to", "../out"];
    sandbox.run(&args).code(3).stderr_has("matches --glob");
    assert!(!sandbox.path("../out").exists());
}

#[cfg(unix)]
#[test]
fn a_destination_that_cannot_be_written_is_refused_by_the_plan_too() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = crate::partial::wrapper(&sandbox) else {
        return;
    };
    sandbox.write("a", "1").create("good");
    let dir = sandbox.top().join("closed");
    std::fs::create_dir(&dir).expect("a directory");
    sandbox.chmod(&dir, 0o555);
    let named = dir.display().to_string();
    for to in [named.clone(), format!("{named}/new")] {
        for more in [&["--dry-run"][..], &[]] {
            let run =
                sandbox.run_under(wrapper, &[&["restore", "good", "--to", &to], more].concat());
            run.code(4).stderr_has("ermission denied");
        }
    }
    sandbox.chmod(&dir, 0o755);
}
