//! Shortage: room, descriptors, memory, write permission, calls that a system lacks. Nothing is
//! half-made, and the next command works. `tests/siege` lets single calls fail.

use std::path::PathBuf;

use crate::bench::trace::{Call, trace};
use crate::bench::{Run, Sandbox, Tree, fixtures, given, skipped, strace};
use crate::ctrl_c::leftovers;

struct Story {
    sandbox: Sandbox,
    first: String,
    target: Tree,
    former: Tree,
}

/// One checkpoint, and later changes of every kind that a restore has to revert.
fn story() -> Story {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("d/b", fixtures::noise(1, 3000))
        .mkdir("empty")
        .symlink("link", "a");
    sandbox
        .write("run", "x")
        .chmod("run", 0o755)
        .write("gone/deep/file", "g");
    // More than are flushed one by one.
    for number in 0..20 {
        sandbox.write(format!("gone/{number}"), "g");
    }
    let first = sandbox.create("first");
    let target = sandbox.tree();
    sandbox
        .write("a", "2")
        .write("d/b", fixtures::noise(2, 3000))
        .remove("empty")
        .remove("link")
        .remove("gone");
    sandbox
        .write("new/one", "n")
        .write("new/two", "n")
        .chmod("run", 0o700)
        .chmod("d", 0o700);
    let former = sandbox.tree();
    Story {
        sandbox,
        first,
        target,
        former,
    }
}

impl Story {
    /// Asserts that everything listed is whole, nothing is left over, and the next commands work.
    fn goes_on(&self, when: &str) {
        let sandbox = &self.sandbox;
        assert_eq!(
            leftovers(&sandbox.store()),
            [""; 0].map(PathBuf::from),
            "{when}"
        );
        assert!(!sandbox.has_damage(), "{when}");
        sandbox.ok("verify --full");
        sandbox.write("a", "3");
        sandbox.create("next");
        sandbox.restore(&self.first).success();
        sandbox.tree().assert_is(&self.target, when);
    }
}

const CREATE: [&str; 3] = ["create", "--reason", "second"];

/// Asserts that a create made a whole checkpoint and printed its id, or failed and printed none.
fn tells_the_truth(story: &Story, run: &Run, when: &str) {
    assert!(matches!(run.code, 0 | 1), "{when}\n{run}");
    assert!(
        run.code == 0 || run.stdout.is_empty(),
        "{when}: an id of a failure\n{run}"
    );
    if run.code == 0 {
        assert_eq!(
            story.sandbox.listed()[0]["short"],
            run.stdout.trim_end(),
            "{when}\n{run}"
        );
    }
}

/// Runs a script, in which `$b` is the base, on a file system of its own with these options.
fn on_a_small_disk(sandbox: &Sandbox, options: &str, script: &str) -> Option<Run> {
    std::fs::create_dir_all(sandbox.base()).expect("a directory can be made");
    let base = sandbox.base().display().to_string();
    with_mounts(
        sandbox,
        &format!("b='{base}'; mount -t tmpfs -o {options} none \"$b\" || exit 99\n{script}"),
    )
}

/// Runs a script that may mount; `None`, with a printed line, where mounting is not permitted.
fn with_mounts(sandbox: &Sandbox, script: &str) -> Option<Run> {
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        skipped("needs the right to mount");
        return None;
    }
    Some(run.success())
}

#[test]
fn on_a_disk_full_to_the_last_byte_a_prune_gives_room() {
    let sandbox = Sandbox::new();
    let script = r#"
        new() { head -c 2000000 /dev/urandom > data; }
        for reason in one two three; do new; "$0" create -q -r $reason > /dev/null; done
        cat /dev/zero > "$b/fill" 2> /dev/null || true
        new; cp data "$HOME/before"
        code=0; "$0" create -q -r four || code=$?; echo "create $code"
        code=0; "$0" restore one --yes || code=$?; echo "restore $code"
        cmp data "$HOME/before"
        echo "listed $("$0" list | grep -c '| cli |')"
        "$0" verify --full > /dev/null
        "$0" prune --keep 1 --yes > /dev/null
        "$0" create -q -r five > /dev/null
        "$0" verify --full > /dev/null
        rm data; "$0" restore five --yes > /dev/null
        cmp data "$HOME/before""#;
    let run = given!(on_a_small_disk(&sandbox, "size=12m", script));
    assert_eq!(run.stdout, "create 1\nrestore 1\nlisted 3\n", "{run}");
    assert!(run.stderr.contains("No space left"), "{run}");
}

#[test]
fn what_is_said_to_give_room_gives_it() {
    let sandbox = Sandbox::new();
    // Prints the quoted command of a failure, and types it.
    let script = r#"
        new() { head -c 2000000 /dev/urandom > data; }
        fill() { cat /dev/zero > "$b/fill" 2> /dev/null || true; }
        typed() { line=$(sed -n "s/.*\('checkpoint [^']*'\).*/\1/p" "$HOME/err" | tr -d "'")
                  echo "$line"; "$0" ${line#checkpoint } --yes > /dev/null 2>&1; }
        new; "$0" create -q -r one > /dev/null; fill
        new; "$0" create -q -r two > /dev/null 2> "$HOME/err" || sed 's/.*device; //' "$HOME/err"
        rm "$b/fill"; "$0" create -q -r two > /dev/null; new; "$0" create -q -r three > /dev/null
        fill; new; "$0" create -q -r four > /dev/null 2> "$HOME/err" || typed
        "$0" create -q -r four > /dev/null; "$0" delete three --yes > /dev/null"#;
    let run = given!(on_a_small_disk(&sandbox, "size=12m", script));
    let said =
        "free some space on that disk first: a prune would free none\ncheckpoint prune --keep 1\n";
    assert_eq!(run.stdout, said, "{run}");
}

#[test]
fn what_a_full_disk_does_not_let_go_is_named_and_no_prune_is_promised() {
    let sandbox = Sandbox::new();
    let script = r#"
        new() { head -c 200000 /dev/urandom > data; }
        for reason in 1 2 3 4 5 6 7 8; do new; "$0" create -q -r $reason > /dev/null; done
        "$0" prune --yes > /dev/null; cat /dev/zero > "$b/fill" 2> /dev/null || true
        "$0" delete 7 6 5 4 --yes 2>&1 | grep -c 'nothing needs any more failed'
        "$0" prune --yes 2>&1 | grep -c 'nothing needs any more failed'
        new; "$0" create -q -r 9 > /dev/null 2> "$HOME/err" || sed 's/.*device; //' "$HOME/err"
        rm "$b/fill"; "$0" prune --yes | grep -c Pruned; "$0" verify --full > /dev/null"#;
    let run = given!(on_a_small_disk(&sandbox, "size=12m", script));
    let said = "1\n1\nfree some space on that disk first: a prune would free none\n1\n";
    assert_eq!(run.stdout, said, "{run}");
}

#[test]
fn a_restore_without_room_names_the_largest_file_that_it_would_delete() {
    let sandbox = Sandbox::new();
    let script = r#"
        d=small; mkdir $d sub; mount -t tmpfs -o size=9m none $d || exit 99; cd $d
        head -c 4000000 /dev/urandom > data; "$0" --here create -q -r one > /dev/null
        rm data; mkdir sub; echo 1 > sub/note; head -c 7000000 /dev/zero > 'sub/junk file'; cd sub
        code=0; "$0" -C .. restore one --yes 2> "$HOME/err" || code=$?; echo "$code"
        line=$(sed -n "s/.*; run: //p; s/.*nothing was changed; '\(.*\)' first.*/\1/p" "$HOME/err")
        echo "$line"; line=$(echo "$line" | sed 's/restore/restore --yes/')
        eval "\"\$0\" ${line#checkpoint }" > /dev/null 2>&1; ls
        cd ..; "$0" restore one --yes > /dev/null 2>&1; ls"#;
    let run = given!(with_mounts(&sandbox, script));
    let said = "1\ncheckpoint -C .. restore one 'sub/junk file'\nnote\ndata\n";
    assert_eq!(run.stdout, said, "{run}");
}

#[test]
fn in_a_directory_that_was_made_anew_a_prune_and_a_delete_need_neither_a_byte_nor_an_inode() {
    let sandbox = Sandbox::bare();
    let script = r#"
        for reason in one two three four; do echo $reason > a; "$0" create -q -r $reason > /dev/null; done
        work=$PWD; cd "$HOME"; mv "$work" "$work-before"; cp -a "$work-before" "$work"; cd "$work"
        fill() {
            i=0; while touch "$b/fill$i" 2> /dev/null; do i=$((i+1)); done
            cat /dev/zero > "$b/fill0" 2> /dev/null || true
        }
        fill; code=0; "$0" prune --keep 3 --yes > /dev/null || code=$?; echo "prune $code"
        fill; code=0; "$0" delete two --yes > /dev/null || code=$?; echo "delete $code"
        "$0" list | grep -c '| cli |'
        rm "$b"/fill*
        "$0" create -q -r five > /dev/null
        "$0" verify --full > /dev/null"#;
    let run = given!(on_a_small_disk(&sandbox, "size=4m,nr_inodes=150", script));
    assert_eq!(run.stdout, "prune 0\ndelete 0\n2\n", "{run}");
}

#[test]
fn where_nothing_can_be_written_all_is_read() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").watch(sandbox.root());
    let script = r#"
        mount --bind "$b" "$b" && mount -o remount,bind,ro "$b" || exit 99
        for words in list status "show latest" "diff latest" "cat latest:a" "find a" verify "verify --full"; do
            "$0" $words > /dev/null || echo "failed: $words"
        done
        for words in "restore latest" "delete latest" "delete --all" "prune"; do
            "$0" $words --dry-run 2>&1 | grep -c 'this would fail now: .*Read-only'
        done
        code=0; "$0" create || code=$?; echo "create $code"
        code=0; "$0" restore latest --yes || code=$?; echo "restore $code"
        code=0; "$0" prune || code=$?; echo "prune $code""#;
    let base = sandbox.base().display().to_string();
    let run = given!(with_mounts(&sandbox, &format!("b='{base}'\n{script}")));
    assert_eq!(
        run.stdout, "1\n1\n1\n1\ncreate 1\nrestore 1\nprune 1\n",
        "{run}"
    );
    assert!(
        run.stderr.contains("CHECKPOINT_HOME"),
        "the way out is not named\n{run}"
    );
    sandbox.ok("verify --full");
}

#[cfg(unix)]
#[test]
fn a_part_of_the_store_that_cannot_be_written_is_named_by_a_dry_run() {
    let sandbox = Sandbox::new();
    let wrapper = given!(crate::partial::wrapper(&sandbox));
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2");
    let named = |dir: &std::path::Path, words: &[&str]| {
        sandbox.chmod(dir, 0o555);
        let run = sandbox.run_under(wrapper, &[words, &["--dry-run"]].concat());
        sandbox.chmod(dir, 0o755);
        run.success().stderr_has(&format!(
            "would fail now: cannot write to {}",
            dir.display()
        ));
    };
    let store = sandbox.store();
    for part in [
        "checkpoint",
        "objects/pack",
        "refs/heads",
        "refs/checkpoints",
    ] {
        named(&store.join(part), &["restore", "one"]);
    }
    named(store.parent().expect("a parent"), &["delete", "--all"]);
}

#[test]
fn too_few_descriptors_make_no_checkpoint_that_lacks_anything() {
    let mut made = 0;
    for most in [9, 11, 13, 16, 20, 26, 40, 64] {
        let story = story();
        let sandbox = &story.sandbox;
        sandbox.write(
            "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/deep",
            "d",
        );
        let before = sandbox.tree();
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        let run = sandbox.run_under(&["/bin/sh", "-c", &script], &CREATE);
        tells_the_truth(&story, &run, &format!("with {most} descriptors"));
        if run.code == 0 {
            made += 1;
            sandbox.remove("1").remove("d");
            sandbox.restore("second").success();
            sandbox
                .tree()
                .assert_is(&before, &format!("with {most} descriptors"));
        }
        sandbox.remove("1");
        story.goes_on(&format!("with {most} descriptors"));
    }
    assert!(
        made > 1,
        "{made} creates managed with 64 descriptors or less"
    );
}

#[test]
fn a_file_larger_than_the_memory_that_may_be_used_comes_back() {
    const LEN: u64 = 32 << 20;
    let sandbox = Sandbox::new();
    let path = sandbox.path("large");
    std::fs::File::create(&path)
        .and_then(|file| file.set_len(LEN))
        .expect("a long file can be made");
    // In KiB, of the memory that the program requests from the system.
    let script = "ulimit -d 28000; exec \"$0\" \"$@\"";
    let limited = |args: &[&str]| {
        sandbox
            .run_under(&["/bin/sh", "-c", script], args)
            .success()
    };
    limited(&["create", "-r", "one"]);
    std::fs::write(&path, "small").expect("a file can be written");
    limited(&["restore", "one", "--yes"]);
    limited(&["verify", "--full"]);
    let (found, zeros) = (
        std::fs::read(&path).expect("a file can be read"),
        vec![0; 1 << 20],
    );
    assert_eq!(found.len() as u64, LEN);
    assert!(
        found
            .chunks(zeros.len())
            .all(|chunk| *chunk == zeros[..chunk.len()]),
        "another file came back"
    );
}

#[test]
fn a_call_that_the_system_lacks_is_done_without() {
    given!(if strace::available());
    for (call, error) in [
        ("openat2", "ENOSYS"),
        ("openat2", "EPERM"),
        ("renameat2", "ENOSYS"),
        ("renameat2", "EINVAL"),
        ("renameat2", "EPERM"),
        ("syncfs", "ENOSYS"),
        ("statx", "ENOSYS"),
    ] {
        let story = story();
        let run = |args: &[&str]| {
            strace::failing_from(&story.sandbox, call, error, 1, args).success();
            strace::has_struck(&story.sandbox)
        };
        let struck = [run(&CREATE), run(&["restore", &story.first, "--yes"])];
        assert!(struck.contains(&true), "{call} was not called");
        story
            .sandbox
            .tree()
            .assert_is(&story.target, &format!("restored without {call}, {error}"));
        run(&["undo", "--yes"]);
        story.sandbox.tree().assert_is(
            &story.former,
            &format!("taken back without {call}, {error}"),
        );
        story.goes_on(&format!("without {call}, {error}"));
    }
}

#[test]
fn without_a_lock_nothing_is_written() {
    given!(if strace::available());
    let story = story();
    for error in ["ENOLCK", "ENOSYS", "EINVAL"] {
        for args in [
            &CREATE[..],
            &["restore", &story.first, "--yes"],
            &["prune", "--keep", "1", "--yes"],
        ] {
            let run = strace::failing_from(&story.sandbox, "flock", error, 1, args);
            assert!(
                strace::has_struck(&story.sandbox) && run.code == 1,
                "{error}\n{run}"
            );
        }
    }
    assert_eq!(
        story.sandbox.listed_ids(),
        std::slice::from_ref(&story.first)
    );
    story
        .sandbox
        .tree()
        .assert_is(&story.former, "after all refusals");
    story.goes_on("without a lock");
}

/// An expected step: its name, and how its call is recognized.
type Step<'s> = (&'s str, &'s dyn Fn(&Call) -> bool);

#[test]
fn what_a_printed_id_stands_for_was_flushed_before() {
    let Story { sandbox, .. } = story();
    let trace = given!(trace(&sandbox, &CREATE));
    let id = trace.run.clone().success().stdout.trim_end().to_owned();
    for place in ["objects", "refs/checkpoints"] {
        let place = sandbox.store().join(place);
        assert_eq!(
            trace.named_unflushed(&place),
            [""; 0].map(PathBuf::from),
            "{}",
            place.display()
        );
    }
    let (packs, refs) = (
        sandbox.store().join("objects/pack"),
        sandbox.store().join("refs/checkpoints"),
    );
    let named = |call: &Call, part: &str| {
        call.name.starts_with("rename") && call.has_flag(part) && call.succeeded()
    };
    let flushed =
        |call: &Call, dir: &PathBuf| call.name == "fsync" && call.path().as_ref() == Some(dir);
    let is_print = |call: &Call| call.name == "write" && call.has_flag(&format!("\"{id}\\n\""));
    let steps: [Step<'_>; 5] = [
        ("the pack gets its name", &|call| {
            named(call, "/objects/pack/pack-")
        }),
        ("which is flushed", &|call| flushed(call, &packs)),
        ("the ref gets its name", &|call| {
            named(call, "/refs/checkpoints/")
        }),
        ("which is flushed", &|call| flushed(call, &refs)),
        ("the id is printed", &is_print),
    ];
    let mut calls = trace.calls.iter();
    for (step, is_it) in steps {
        assert!(calls.any(is_it), "not in this order: {step}");
    }
}

#[test]
fn no_cut_of_the_power_brings_a_cleared_stage_back_once_the_journal_is_gone() {
    let Story { sandbox, first, .. } = story();
    let trace = given!(trace(&sandbox, &["restore", &first, "--yes"]));
    assert_eq!(trace.run.code, 0, "{}", trace.run);
    let (root, journal) = (sandbox.root(), sandbox.store().join("checkpoint/journal"));
    let goes = |call: &Call| call.name.starts_with("unlink") || call.name == "rmdir";
    let steps: [Step<'_>; 3] = [
        ("the stage goes", &|call| {
            goes(call) && call.has_flag("AT_REMOVEDIR") && call.has_flag(".checkpoint-stage-")
        }),
        ("which is flushed", &|call| {
            call.name == "fsync" && call.path().as_deref() == Some(root)
        }),
        ("the journal goes", &|call| {
            goes(call) && call.path().as_ref() == Some(&journal)
        }),
    ];
    let mut calls = trace.calls.iter();
    for (step, is_it) in steps {
        assert!(calls.any(is_it), "not in this order: {step}");
    }
}

#[test]
fn without_another_thread_the_work_is_done_in_one() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    for number in 0..200 {
        sandbox.write(format!("d{}/f{number}", number % 7), number.to_string());
    }
    let run = |args: &[&str]| {
        let tracer = "/usr/bin/strace -f -qq -o /dev/null -e trace=clone,clone3 \
                      -e inject=clone,clone3:error=EAGAIN";
        let tracer: Vec<&str> = tracer.split_whitespace().collect();
        sandbox.run_under(&tracer, args).success()
    };
    run(&["create", "-r", "one"]);
    let one = sandbox.tree();
    for number in 0..200 {
        sandbox.write(
            format!("d{}/f{number}", number % 7),
            format!("edited {number}"),
        );
    }
    sandbox.write("new", "1");
    run(&["create", "-r", "two"]);
    run(&["status"]);
    run(&["diff", "one", "--stat"]);
    run(&["find", "--text", "edited 7"]);
    run(&["restore", "one", "--yes"]);
    sandbox.tree().assert_is(&one, "after the restore");
    run(&["undo", "--yes"]);
    run(&["prune", "--keep", "1", "--yes"]);
    run(&["verify", "--full"]);
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_a_failure_with_its_reason() {
    let sandbox = Sandbox::new();
    let noise = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let bytes: Vec<u8> = (1..40_000).flat_map(noise).collect();
    sandbox.write("big", bytes);
    let script = "ulimit -f 64; exec \"$0\" \"$@\"";
    let run = sandbox.run_under(&["/bin/sh", "-c", script], &["create"]);
    run.code(1).stderr_has("File too large");
    sandbox.create("after");
    sandbox.remove("big");
    let run = sandbox.run_under(&["/bin/sh", "-c", script], &["restore", "after", "--yes"]);
    run.code(1).stderr_has("File too large");
    assert!(!sandbox.exists("big"));
}
