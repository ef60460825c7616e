//! `undo` and `redo`: any number of steps back and forth, later edits included.

use crate::bench::Sandbox;
use crate::bench::damaged::packs_of;
use crate::bench::terminal::{dialogue, with_keyboard};

fn step(sandbox: &Sandbox, content: &str) -> String {
    sandbox.write("a", content);
    sandbox.create(content)
}

#[test]
fn a_plan_of_one_step_allows_no_others() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..3)
        .map(|number| {
            sandbox.write("a", number.to_string());
            sandbox.create(&format!("number {number}"))
        })
        .collect();
    sandbox.restore(&ids[1]).success();
    sandbox.restore(&ids[0]).success();
    let planned = sandbox
        .run(&["undo", "--dry-run", "--json"])
        .success()
        .data();
    let digest = planned["plan_digest"].as_str().expect("a digest");
    let run = sandbox
        .run(&["undo", "2", "--plan", digest, "--yes"])
        .code(2);
    run.stderr_has("--plan allows one step");
    assert_eq!(sandbox.read("a"), "0");
    sandbox.run(&["undo", "--plan", digest, "--yes"]).success();
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn undo_gives_back_the_state_before_the_restore() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two").write("new", "n").mkdir("empty");
    let before = sandbox.tree();
    sandbox.restore(&one).success();
    let planned = sandbox.run(&["undo", "--dry-run"]).success();
    planned.stdout_has(&format!("Undoing the restore to {one} (one) would "));
    sandbox.undo().success();
    sandbox.tree().assert_is(&before, "after undo");
    let planned = sandbox.run(&["redo", "--dry-run"]).success();
    planned.stdout_has(&format!("Redoing the restore to {one} (one) would "));
}

#[test]
fn on_a_terminal_an_undo_names_the_restore_and_a_program_gets_the_usual_sentence() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    let usual = "use this to undo the restore.";
    for (verb, did, back) in [("undo", "Undid", "redo"), ("redo", "Redid", "undo")] {
        let Some(run) = dialogue(&sandbox, &format!("$checkpoint {verb} --yes"), &[]) else {
            return;
        };
        let run = run
            .success()
            .stdout_has(&format!("{did} the restore to {one} (one).\n"))
            .stdout_has(&format!("1 file modified; 'checkpoint {back}' "));
        assert!(!run.stdout.contains(usual), "{run}");
    }
    sandbox.undo().success().stdout_has(usual);
    let line = format!("$checkpoint restore {one} --yes");
    let run = dialogue(&sandbox, &line, &[]).expect("a terminal");
    run.success().stdout_has(usual);
}

#[test]
fn undo_and_redo_walk_any_number_of_steps() {
    let sandbox = Sandbox::new();
    let ids = ["one", "two", "three"].map(|content| step(&sandbox, content));
    sandbox.write("a", "four");
    for id in &ids {
        sandbox.restore(id).success();
    }
    let seen = |run: crate::bench::Run| {
        run.success();
        sandbox.read("a")
    };
    assert_eq!(
        [(); 3].map(|()| seen(sandbox.undo())),
        ["two", "one", "four"]
    );
    assert_eq!(
        [(); 3].map(|()| seen(sandbox.redo())),
        ["one", "two", "three"]
    );
    assert_eq!(seen(sandbox.undo()), "two");
}

#[test]
fn with_nothing_to_take_back_both_are_exit_3() {
    let sandbox = Sandbox::new();
    for verb in ["undo", "redo"] {
        assert_eq!(
            sandbox.run(&[verb, "--yes", "--json"]).code(3).error_code(),
            "no_store"
        );
    }
    let one = step(&sandbox, "one");
    for verb in ["undo", "redo"] {
        assert_eq!(
            sandbox.run(&[verb, "--yes", "--json"]).code(3).error_code(),
            "nothing_to_take_back"
        );
    }
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox.redo().code(3);
    sandbox.undo().success();
    sandbox.undo().code(3);
}

#[test]
fn a_new_restore_ends_what_could_be_redone_but_a_create_does_not() {
    let sandbox = Sandbox::new();
    let (one, two) = (step(&sandbox, "one"), step(&sandbox, "two"));
    sandbox.restore(&one).success();
    sandbox.undo().success();
    step(&sandbox, "three");
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "one");
    sandbox.undo().success();
    sandbox.restore(&two).success();
    sandbox.redo().code(3);
}

#[test]
fn undo_and_redo_ask_only_if_work_done_since_would_go_with_them() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox.run(&["undo", "--no-input"]).success();
    assert_eq!(sandbox.read("a"), "two");
    sandbox.run(&["redo", "--no-input"]).success();
    assert_eq!(sandbox.read("a"), "one");
    sandbox.write("other", "of another file");
    sandbox.write("a", "edited since");
    sandbox.watch(sandbox.root());
    assert_eq!(
        sandbox.run(&["undo", "--json"]).code(4).error_code(),
        "consent_needed"
    );
    sandbox
        .run(&["undo"])
        .code(4)
        .stderr_has("take back work done since: a, other");
    let data = sandbox
        .run(&["undo", "--dry-run", "--json"])
        .success()
        .data();
    assert_eq!(data["dry_run"], true);
}

#[test]
fn the_stack_survives_the_loss_of_our_own_folder() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    std::fs::remove_dir_all(sandbox.store().join("checkpoint")).expect("our folder can be removed");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "two");
    std::fs::remove_dir_all(sandbox.store().join("checkpoint")).expect("our folder can be removed");
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "one");
}

#[test]
fn undo_and_redo_record_what_they_belong_to() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox.undo().success();
    sandbox.redo().success();
    let verbs: Vec<String> = sandbox
        .listed_ids()
        .iter()
        .take(3)
        .map(|id| {
            sandbox.shown(id)["operation"]["verb"]
                .as_str()
                .unwrap_or("none")
                .to_owned()
        })
        .collect();
    assert_eq!(verbs, ["redo", "undo", "restore"]);
}

#[test]
fn an_undo_names_what_was_made_since_and_keeps_it_in_its_safety_checkpoint() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two").write("b", "b");
    sandbox.restore(&one).success();
    sandbox.write("new", "made since").write("d/deep", "too");
    let dry = sandbox.run(&["undo", "--dry-run"]).success();
    dry.stdout_has("changed since: d/deep, new; undo deletes them, redo brings them back\n");
    let data = sandbox.run(&["undo", "--yes", "--json"]).success().data();
    assert_eq!(
        data["since"],
        serde_json::json!([{"path": "d/deep", "path_hex": null}, {"path": "new", "path_hex": null}])
    );
    assert!(!sandbox.exists("new"));
    let safety = data["safety"]["short"]
        .as_str()
        .expect("a safety checkpoint")
        .to_owned();
    sandbox
        .run(&["cat", &format!("{safety}:new")])
        .success()
        .stdout_is("made since");
    let redone = sandbox.run(&["redo", "--yes", "--json"]).success().data();
    assert_eq!(
        redone["since"],
        serde_json::json!([]),
        "nothing was made since the undo"
    );
    assert_eq!(sandbox.read("new"), "made since");
}

#[test]
fn an_undo_right_after_its_restore_takes_nothing_else_along() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two").write("b", "b").mkdir("empty");
    sandbox.restore(&one).success();
    let run = sandbox.run(&["undo", "--yes"]).success();
    assert!(!run.stderr.contains("changed since"), "{run:?}");
}

#[test]
fn an_undo_names_the_safety_checkpoint_that_holds_what_was_made_since() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox.write("a", "edited since");
    let dry = sandbox.run(&["undo", "--dry-run"]).success();
    dry.stdout_has("a changed since; undo overwrites it, redo brings it back\n");
    let run = sandbox.run(&["undo", "--yes"]).success();
    let safety = sandbox.listed()[0]["short"]
        .as_str()
        .expect("an id")
        .to_owned();
    let held =
        format!("a changed since; safety checkpoint {safety} holds it, redo brings it back\n");
    run.stderr_has(&held);
}

#[test]
fn the_question_of_an_undo_names_what_was_made_since() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox
        .write("new", "made since")
        .write("a", "edited since");
    let Some(run) = with_keyboard(&sandbox, "echo n", "$checkpoint undo") else {
        return;
    };
    run.code(4).stdout_has(
        "changed since: a, new; undo overwrites or deletes them, redo brings them back",
    );
    assert_eq!(sandbox.read("new"), "made since");
}

#[test]
fn an_undo_of_a_restore_whose_target_is_gone_claims_no_changes() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    step(&sandbox, "two");
    sandbox.restore(&one).success();
    sandbox.run(&["delete", &one, "--yes"]).success();
    let run = sandbox.run(&["undo", "--yes"]).success();
    let safety = sandbox.listed()[0]["short"].to_string();
    let safety = safety.trim_matches('"');
    run.stderr_has(
        "changes since that step are unknown, because its checkpoint no longer exists; ",
    )
    .stderr_has(&format!(
        "safety checkpoint {safety} holds them, redo brings them back\n"
    ));
    assert_eq!(sandbox.read("a"), "two");
}

#[test]
fn a_question_names_what_was_chosen() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    step(&sandbox, "two");
    sandbox.restore(&one).success();
    let safety = sandbox.listed()[0]["short"]
        .as_str()
        .expect("an id")
        .to_owned();
    let asks = |line: &str, question: &str| {
        let keys = [("[y/N]", "n\\n")];
        let Some(run) = dialogue(&sandbox, line, &keys) else {
            return;
        };
        assert!(run.stdout.contains(question), "{line}\n{run}");
    };
    sandbox.write("a", "edited");
    let undo = format!("Undo the restore to {one}");
    asks("$checkpoint undo", &format!("{undo} (one), "));
    let restore = format!("$checkpoint restore {safety}");
    asks(
        &restore,
        &format!("Go back to the state before the restore to {one} (one)?"),
    );
    // Also where that checkpoint is gone.
    sandbox.run(&["delete", &one, "--yes"]).success();
    asks("$checkpoint undo", &format!("{undo}, "));
}

#[test]
fn the_steps_are_listed_with_what_each_restored() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["undo", "--list"])
        .success()
        .stdout_is("undo   -\nredo   -\n");
    let one = step(&sandbox, "one");
    let two = step(&sandbox, "two");
    sandbox.restore(&one).success();
    sandbox.write("a", "three");
    sandbox.run(&["restore", &two, "a", "--yes"]).success();
    sandbox.write("a", "four");
    sandbox.restore(&one).success();
    sandbox.undo().success();
    let listed = sandbox.run(&["undo", "--list"]).success().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].starts_with(&format!("undo   1  restore of a from {two} (two)  "))
            && lines[1].starts_with(&format!("       2  restore to {one} (one)"))
            && lines[2].starts_with(&format!("redo   1  restore to {one} (one)")),
        "{listed}"
    );
    assert!(
        lines.len() == 3 && lines.iter().all(|line| line.ends_with(" s ago")),
        "{listed}"
    );
    let data = sandbox.run(&["undo", "--list", "--json"]).success().data();
    assert_eq!(data["undo"][0]["restored_from"]["short"], two.as_str());
    assert_eq!(data["undo"][0]["paths"][0]["path"], "a");
    assert_eq!(data["redo"][0]["restored_from"]["reason"], "one");
    sandbox.redo().success();
    let data = sandbox.run(&["undo", "--list", "--json"]).success().data();
    assert_eq!(data["undo"][0]["restored_from"]["short"], one.as_str());
    assert_eq!(data["redo"], serde_json::json!([]));
}

#[test]
fn the_steps_and_show_name_the_patterns_of_a_restore() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "1");
    let one = step(&sandbox, "one");
    step(&sandbox, "two");
    let args = [
        "restore",
        &one,
        "--glob",
        "a*",
        "--exclude",
        "*.log",
        "--yes",
    ];
    sandbox.run(&args).success();
    let limits = "a* except *.log";
    sandbox
        .run(&["undo", "--list"])
        .success()
        .stdout_has(&format!("undo   1  restore of {limits} from {one} (one)  "));
    let step = sandbox.run(&["undo", "--list", "--json"]).success().data()["undo"][0].clone();
    assert_eq!(
        (&step["glob"][0], &step["exclude"][0]),
        (&"a*".into(), &"*.log".into())
    );
    let safety = step["safety"]["short"].as_str().expect("an id");
    sandbox
        .run(&["show", safety])
        .success()
        .stdout_has(&format!("({limits})"));
}

#[test]
fn several_steps_are_undone_at_once_or_none_if_there_are_fewer() {
    let sandbox = Sandbox::new();
    let ids = ["one", "two", "three"].map(|content| step(&sandbox, content));
    for id in &ids[..2] {
        sandbox.restore(id).success();
    }
    sandbox
        .run(&["undo", "3", "--yes"])
        .code(3)
        .stderr_has("3 restores cannot be undone, only 2; nothing was changed");
    sandbox
        .run(&["undo", "2", "--dry-run"])
        .code(2)
        .stdout_is("");
    assert_eq!(sandbox.read("a"), "two");
    let run = sandbox.run(&["undo", "2", "--yes"]).success();
    run.stderr_has(&format!(
        "undid 2 restores, to before the restore to {} (one); each 'checkpoint redo' repeats one",
        ids[0]
    ));
    assert_eq!(sandbox.read("a"), "three");
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "one");
    sandbox.redo().success();
    // One answer for both steps.
    let _ = sandbox
        .run(&["undo", "2", "--yes", "--json"])
        .success()
        .data();
    assert_eq!(sandbox.read("a"), "three");
    sandbox.run(&["undo", "0"]).code(2).stdout_is("");
}

#[test]
fn a_step_with_nothing_to_do_counts_as_one_of_several() {
    let sandbox = Sandbox::new();
    let ids = ["one", "two", "three"].map(|content| step(&sandbox, content));
    for id in &ids[..2] {
        sandbox.restore(id).success();
    }
    sandbox.write("a", "one");
    let run = sandbox.run(&["undo", "2", "--yes"]).success();
    assert!(!run.stderr.contains("a step further"), "{run}");
    assert_eq!(sandbox.read("a"), "three");
    sandbox.undo().code(3);
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "one", "as right before the undo");
    sandbox.write("a", "three");
    sandbox.undo().success().stdout_has("Already at ");
}

#[test]
fn what_stops_several_steps_says_what_is_done() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("one");
    sandbox.write("a", "2").write("b", "2").create("two");
    for path in ["a", "b"] {
        sandbox.run(&["restore", "one", path, "--yes"]).success();
    }
    sandbox.write("a", "mine");
    let run = sandbox.run(&["undo", "2", "--json"]).code(4);
    assert_eq!(run.error_code(), "consent_needed");
    assert_eq!(
        (sandbox.read("a"), sandbox.read("b")),
        ("mine".into(), "2".into())
    );
    sandbox.redo().success();
    sandbox.run(&["undo", "2"]).code(4).stderr_has(
        "1 of 2 steps undone, and then not confirmed: this would modify 1 file, and take back \
         work done since: a; 'checkpoint undo 1 --yes' goes on",
    );
    sandbox
        .run(&["undo", "1"])
        .code(4)
        .stderr_has("nothing was changed");
    sandbox.run(&["undo", "1", "--yes"]).success();
    assert_eq!(
        (sandbox.read("a"), sandbox.read("b")),
        ("2".into(), "2".into())
    );
}

#[cfg(unix)]
#[test]
fn modes_and_directories_made_since_are_work_that_an_undo_asks_for() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .chmod("a", 0o644)
        .mkdir("d")
        .create("one");
    sandbox.write("a", "2").chmod("a", 0o600).remove("d");
    sandbox.restore("one").success();
    sandbox.run(&["undo"]).success();
    sandbox.run(&["redo"]).success();
    sandbox.chmod("a", 0o640);
    sandbox
        .run(&["undo"])
        .code(4)
        .stderr_has("take back work done since: a;");
    sandbox.chmod("a", 0o644).mkdir("d/sub");
    sandbox
        .run(&["undo"])
        .code(4)
        .stderr_has("take back work done since: d/sub;");
    sandbox.remove("d").mkdir("d").chmod("d", 0o700);
    sandbox.run(&["undo", "--yes"]).success();
}

#[test]
fn the_answer_to_several_steps_has_what_each_did() {
    let sandbox = Sandbox::new();
    for at in 1..=6 {
        sandbox.write(at.to_string(), "");
        step(&sandbox, &format!("v{at}"));
    }
    for to in ["v1", "v2", "v3"] {
        sandbox.restore(to).success();
    }
    sandbox.write("new", "");
    let last = sandbox.listed_ids()[0].clone();
    sandbox.user_config("keep = 2\n");
    let data = sandbox
        .run(&["undo", "3", "--yes", "--json"])
        .success()
        .data();
    let dropped = data["dropped"].as_array().expect("a list").iter();
    let mut reasons: Vec<_> = dropped
        .map(|gone| gone["checkpoint"]["reason"].clone())
        .collect();
    reasons.sort_by_key(ToString::to_string);
    assert_eq!(reasons, ["v1", "v4"]);
    let changes = data["changes"].as_array().expect("a list").iter();
    let changes: Vec<_> = changes
        .map(|change| {
            format!(
                "{} {}",
                change["change"].as_str().expect("a word"),
                change["path"].as_str().expect("a path")
            )
        })
        .collect();
    assert_eq!(
        changes,
        ["added 4", "added 5", "added 6", "modified a", "deleted new"]
    );
    assert_eq!(data["counts"]["deleted"], 1);
    assert_eq!(data["since"][0]["path"], "new");
    let safety = data["safety"]["short"].as_str().expect("an id");
    assert_ne!(safety, last);
    assert_eq!(
        sandbox
            .run(&["cat", &format!("{safety}:a")])
            .success()
            .stdout,
        "v3"
    );
    assert_eq!(sandbox.read("a"), "v6");
}

#[test]
fn an_undo_of_a_path_removes_the_directories_that_were_made_for_it() {
    let sandbox = Sandbox::new();
    sandbox
        .write("new/deep/a", "1")
        .write("new/b", "1")
        .mkdir("new/bare/some")
        .create("one");
    sandbox.remove("new").write("other", "1");
    let before = sandbox.tree();
    for (limit, made) in [
        (&["new/deep/a"][..], "new/deep/a"),
        (&["--glob", "a"], "new/deep/a"),
        (&["--glob", "some"], "new/bare/some"),
    ] {
        sandbox
            .run(&[&["restore", "one", "--yes"], limit].concat())
            .success();
        assert!(sandbox.exists(made));
        sandbox.undo().success();
        sandbox.tree().assert_is(&before, "after the undo");
    }
    sandbox
        .run(&["restore", "one", "new/deep/a", "--yes"])
        .success();
    sandbox.write("new/mine", "1");
    sandbox.undo().success();
    assert!(sandbox.exists("new/mine") && !sandbox.exists("new/deep"));
}

#[test]
fn a_question_in_the_middle_of_several_steps_is_answered_truly() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("one");
    sandbox.write("a", "2").write("b", "2");
    for (answer, code, told) in [
        (
            "n\\n",
            4,
            "1 of 2 steps undone, and then cancelled; nothing more was changed",
        ),
        ("\\003", 130, "1 of 2 steps undone, and then interrupted"),
    ] {
        for path in ["a", "b"] {
            sandbox.run(&["restore", "one", path, "--yes"]).success();
        }
        sandbox.write("a", "mine");
        let Some(run) = dialogue(
            &sandbox,
            "trap : INT; $checkpoint undo 2",
            &[("[y/N]", answer)],
        ) else {
            return;
        };
        let run = run.code(code).stdout_has(told);
        assert!(!run.stdout.contains("Undid 2"), "{run}");
        sandbox.run(&["undo", "--yes"]).success();
    }
}

#[test]
fn a_damaged_step_is_named_and_not_passed_over() {
    for count in [1, 2] {
        let sandbox = Sandbox::new();
        let one = step(&sandbox, "one");
        let two = step(&sandbox, "two");
        sandbox.write("a", "unsaved");
        if count == 2 {
            sandbox.restore(&one).success();
            sandbox.write("a", "unsaved too");
        }
        let before = packs_of(&sandbox.store());
        sandbox.restore(&two).success();
        for pack in packs_of(&sandbox.store()) {
            if !before.contains(&pack) {
                std::fs::remove_file(&pack).expect("a pack is removed");
                std::fs::remove_file(pack.with_extension("idx")).expect("an index is removed");
            }
        }
        for args in [
            &["undo", "--yes"][..],
            &["undo", "--dry-run"],
            &["redo", "--yes"],
        ] {
            let failed = sandbox.run(&[args, &["--json"]].concat()).code(6);
            assert_eq!(failed.error_code(), "damaged", "{failed}");
            let message = failed.json()["error"]["message"].clone();
            assert!(
                message
                    .as_str()
                    .is_some_and(|it| it.contains("nothing was changed")),
                "{failed}"
            );
            assert_eq!(sandbox.read("a"), "two");
        }
        let id = sandbox.run(&["list", "--json"]).success().json()["data"]["damaged"][0]["short"]
            .as_str()
            .map(str::to_owned)
            .expect("it is listed");
        sandbox.run(&["delete", &id, "--yes"]).success();
        let undone = sandbox.undo();
        assert_eq!(undone.code, if count == 1 { 3 } else { 0 }, "{undone}");
    }
}

#[cfg(unix)]
#[test]
fn an_undo_removes_a_link_that_the_rules_of_today_leave_out() {
    for (link, made) in [("x.log", "x.log"), ("d.log/l", "d.log")] {
        let sandbox = Sandbox::new();
        sandbox
            .write("a", "1")
            .symlink(link, "target")
            .create("good");
        crate::bench::fixtures::remove(&sandbox.root().join(made));
        sandbox.write(".gitignore", "*.log\n");
        for restore in [&["restore", "good"][..], &["restore", "good", link]] {
            sandbox.run(&[restore, &["--yes"]].concat()).success();
            assert!(sandbox.root().join(link).is_symlink(), "{restore:?}");
            sandbox.run(&["undo", "--yes"]).success();
            assert!(!sandbox.root().join(made).is_symlink(), "{restore:?}");
            assert!(!sandbox.root().join(made).exists(), "{restore:?}");
            sandbox.run(&["redo", "--yes"]).success();
            assert!(sandbox.root().join(link).is_symlink(), "{restore:?}");
            sandbox.run(&["undo", "--yes"]).success();
        }
    }
}

#[cfg(unix)]
#[test]
fn an_undo_gives_special_bits_back_as_they_were() {
    let sandbox = Sandbox::new();
    sandbox
        .write("f", "1")
        .write("t/x", "1")
        .chmod("f", 0o4755)
        .chmod("t", 0o1777);
    sandbox.create("good");
    sandbox.chmod("f", 0o755).chmod("t", 0o755);
    let restore = ["restore", "good", "--restore-suid", "--yes"];
    sandbox.run(&restore).success();
    let modes =
        || ["f", "t"].map(|path| crate::bench::fixtures::mode_of(&sandbox.path(path)) & 0o7777);
    assert_eq!(modes(), [0o4755, 0o1777]);
    sandbox.run(&["undo", "--yes"]).success();
    assert_eq!(modes(), [0o755, 0o755]);
    sandbox.run(&["redo", "--yes"]).success();
    assert_eq!(modes(), [0o4755, 0o1777]);
}

#[cfg(unix)]
#[test]
fn what_stops_a_later_step_is_found_before_the_first_one() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("one");
    for path in ["a", "b"] {
        sandbox.write(path, "2");
        sandbox.run(&["restore", "one", path, "--yes"]).success();
    }
    sandbox.remove("a").fifo("a");
    sandbox
        .run(&["undo", "2", "--yes"])
        .code(4)
        .stderr_has("not restored because of a (a FIFO");
    assert_eq!(sandbox.read("b"), "1", "nothing was changed");
}

#[test]
fn an_empty_directory_with_the_name_of_a_secret_is_taken_back_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write(".ssh/id", "S").mkdir(".env");
    sandbox
        .run(&["create", "-r", "one", "--include-sensitive"])
        .success();
    sandbox.remove(".env").remove(".ssh");
    sandbox.restore("one").success();
    assert!(sandbox.exists(".env"));
    sandbox.undo().success();
    assert!(!sandbox.exists(".env") && !sandbox.exists(".ssh"));
    sandbox.redo().success();
    assert!(sandbox.exists(".env"));
    sandbox.write(".env/mine", "1");
    sandbox.undo().success();
    assert_eq!(sandbox.read(".env/mine"), "1");
}
