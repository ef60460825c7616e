//! Checkpoints of a run: left out while files are half done, made every third phase, committed in
//! the project.

use serde_json::{Value, json};

use crate::bench::{Git, Run, Sandbox};

const PIPELINE: &str = ".claude/pipeline-state.json";

fn begin(sandbox: &Sandbox, args: &[&str]) {
    sandbox
        .run(&[&["workflow", "init"], args].concat())
        .success();
}

fn reasons(sandbox: &Sandbox) -> Vec<String> {
    sandbox
        .listed()
        .iter()
        .map(|one| one["reason"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn left_out(run: &Run, why: &str) {
    let document = run.json();
    let found = document["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["code"] == "snapshot_left_out");
    let said = found.unwrap_or_else(|| panic!("{document}"))["message"]
        .as_str()
        .unwrap();
    assert!(said.contains(why), "{said}");
}

#[test]
fn under_a_hold_a_phase_is_recorded_and_its_checkpoint_left_out() {
    let sandbox = Sandbox::new();
    begin(
        &sandbox,
        &[
            "--profile",
            "pipeline",
            "--phase",
            "a",
            "--phase",
            "b",
            "--phase",
            "c",
        ],
    );
    sandbox.write("file", "1").ok("hold wave-1");
    for id in ["a", "b", "c"] {
        let run = sandbox.run(&["phase", "start", id, "--json"]).success();
        left_out(&run, "hold 'wave-1'");
        sandbox.write("file", id);
        let run = sandbox.ok("phase done --json");
        left_out(&run, "hold 'wave-1'");
        let file = sandbox.json_of(PIPELINE);
        let last = file["completed_phases"]
            .as_array()
            .unwrap()
            .last()
            .cloned()
            .unwrap();
        assert_eq!(last["id"], id, "it is written before the next one begins");
    }
    assert_eq!(
        (
            sandbox.json("workflow status")["status"].clone(),
            reasons(&sandbox)
        ),
        ("complete".into(), Vec::new())
    );
}

#[test]
fn a_phase_that_starts_beside_another_makes_no_checkpoint_of_half_its_work() {
    let sandbox = Sandbox::new();
    let plan = json!({"phases": [{"id": "a", "writes": ["a/**"]}, {"id": "b", "writes": ["b/**"]}, {"id": "c"}]});
    sandbox.write("../plan.json", plan.to_string());
    begin(&sandbox, &["--plan", "../plan.json"]);
    sandbox.write("a/half", "1").ok("phase start a");
    let run = sandbox.write("a/half", "2").ok("phase start b --json");
    left_out(&run, "phase a is under way beside it");
    assert_eq!(run.data()["event"]["checkpoint_ids"], json!([]));
    assert_eq!(reasons(&sandbox), ["pre-a"]);
    let refused = sandbox.fails(3, "workflow rewind b --files --yes --json");
    assert_eq!(refused.error_code(), "no_checkpoint");
    for id in ["a", "b"] {
        sandbox.run(&["phase", "done", id]).success();
    }
    sandbox.write("a/half", "3").ok("phase start c");
    assert_eq!(reasons(&sandbox), ["pre-c", "post-a", "pre-a"]);
}

#[test]
fn the_third_phase_has_its_checkpoint_although_the_run_ends_with_it() {
    let sandbox = Sandbox::new();
    begin(
        &sandbox,
        &[
            "--profile",
            "pipeline",
            "--phase",
            "a",
            "--phase",
            "b",
            "--phase",
            "c",
        ],
    );
    for id in ["a", "b", "c"] {
        sandbox
            .write("file", id)
            .run(&["phase", "start", id])
            .success();
        let run = sandbox.ok("phase done --json");
        assert_eq!(run.warning_codes(), [""; 0]);
    }
    let shown = sandbox.ok("workflow export --format state").stdout;
    let state: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(state["mini_commits"][0]["completed_count"], 3);
    assert_eq!(state["outcome"], "complete");
}

/// A project with its own repository, in which a pipeline is about to finish its third phase.
fn committed() -> Option<(Sandbox, Git)> {
    let sandbox = Sandbox::bare();
    let git = Git::find(sandbox.root())?;
    git.run(&["init", "-q", "-b", "main"]).success();
    for (name, value) in [
        ("AUTHOR_NAME", "t"),
        ("AUTHOR_EMAIL", "t@e"),
        ("COMMITTER_NAME", "t"),
        ("COMMITTER_EMAIL", "t@e"),
    ] {
        sandbox.env(format!("GIT_{name}"), value);
    }
    sandbox.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let phases = (1..=7)
        .flat_map(|at| ["--phase".to_owned(), format!("p{at}:Part {at}")])
        .collect::<Vec<_>>();
    let phases: Vec<&str> = phases.iter().map(String::as_str).collect();
    begin(
        &sandbox,
        &[&["--profile", "pipeline"], &phases[..]].concat(),
    );
    through(&sandbox, 1..=2);
    sandbox.ok("phase start p3");
    sandbox.write("src/3", "x");
    Some((sandbox, git))
}

/// The commits of the run in the project.
fn recorded(sandbox: &Sandbox) -> Vec<Value> {
    let shown = sandbox.ok("workflow export --format state");
    let state: Value = serde_json::from_str(&shown.stdout).unwrap();
    let made = state["mini_commits"].as_array().unwrap().iter();
    made.map(|one| one["commit_sha"].clone()).collect()
}

fn through(sandbox: &Sandbox, phases: std::ops::RangeInclusive<usize>) {
    for at in phases {
        sandbox
            .run(&["phase", "start", &format!("p{at}")])
            .success();
        sandbox.write(format!("src/{at}"), "x").ok("phase done");
    }
}

const COMMIT: [&str; 5] = ["phase", "done", "--project-git", "--yes", "--json"];

#[test]
fn the_third_phase_with_project_git_is_committed_after_consent() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    let before = reasons(&sandbox);
    // Without consent the phase goes on.
    sandbox.fails(4, "phase done --project-git");
    assert_eq!(reasons(&sandbox), before);
    git.run(&["log"]).code(128);
    let made = sandbox.run(&COMMIT).success().data();
    assert_eq!(made["phase"]["status"], "complete");
    assert_eq!(recorded(&sandbox), [git.output(&["rev-parse", "HEAD"])]);
    let named = "checkpoint: phases 1-3 complete";
    let count = reasons(&sandbox)
        .iter()
        .filter(|reason| *reason == named)
        .count();
    assert_eq!(count, 1);
    let message = git.output(&["log", "--format=%B"]);
    let expected = "checkpoint: phases 1-3 complete\n\nCompleted:\n- Phase 1: Part 1\n- Phase 2: Part 2\n- Phase 3: Part 3\n\n\
        Remaining: 4 phases\n\nCo-Authored-By: Claude <noreply@anthropic.com>";
    assert_eq!(message.trim(), expected);
    for id in ["p4", "p5", "p6"] {
        sandbox.run(&["phase", "start", id]).success();
        sandbox.run(&COMMIT).success();
    }
    let subjects = git.output(&["log", "--format=%s"]);
    assert_eq!(
        subjects.trim(),
        "checkpoint: phases 4-6 complete\ncheckpoint: phases 1-3 complete"
    );
}

#[test]
fn a_commit_that_the_project_refuses_stays_due_and_the_phase_is_done() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    sandbox
        .write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
        .chmod(".git/hooks/pre-commit", 0o755);
    sandbox
        .run(&COMMIT[..4])
        .code(1)
        .stderr_has("git commit failed in ")
        .stderr_has("the phase is done, and changes may be staged")
        .stderr_has("the next 'checkpoint phase done --project-git' commits them");
    sandbox.remove(".git/hooks/pre-commit");
    sandbox.ok("phase start p4");
    sandbox.run(&COMMIT).success();
    let subjects = git.output(&["log", "--format=%s"]);
    assert_eq!(subjects.trim(), "checkpoint: phases 1-3 complete");
}

#[test]
fn a_commit_that_the_last_phase_left_due_is_made_for_the_complete_run() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    sandbox.ok("phase done");
    for id in ["p4", "p5", "p6", "p7"] {
        sandbox.ok(format!("phase skip {id}"));
    }
    sandbox.fails(4, "phase done");
    sandbox
        .write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
        .chmod(".git/hooks/pre-commit", 0o755);
    sandbox.run(&COMMIT[..4]).code(1);
    sandbox.remove(".git/hooks/pre-commit");
    sandbox.run(&COMMIT).success();
    assert_eq!(recorded(&sandbox), [git.output(&["rev-parse", "HEAD"])]);
    let run = sandbox.run(&COMMIT).code(4);
    assert_eq!(run.error_code(), "workflow_ended");
}

#[test]
fn the_environment_sends_the_commit_into_no_other_repository() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    sandbox.mkdir("../victim");
    let Some(victim) = Git::find(&sandbox.path("../victim")) else {
        return;
    };
    victim.run(&["init", "-q"]).success();
    let other = sandbox.path("../victim/.git");
    sandbox
        .env("GIT_DIR", &other)
        .env("GIT_INDEX_FILE", other.join("index"))
        .env("GIT_WORK_TREE", sandbox.path(".."));
    sandbox.run(&COMMIT).success();
    assert_eq!(recorded(&sandbox), [git.output(&["rev-parse", "HEAD"])]);
    victim.run(&["log"]).code(128);
}

#[test]
fn a_repository_above_is_not_the_projects() {
    let Some((sandbox, _)) = committed() else {
        return;
    };
    std::fs::rename(sandbox.path(".git"), sandbox.path("../.git")).unwrap();
    let run = sandbox.run(&COMMIT).code(4);
    assert_eq!(run.error_code(), "no_commit");
    let Some(above) = Git::find(&sandbox.path("..")) else {
        return;
    };
    above.run(&["log"]).code(128);
    assert_eq!(above.output(&["ls-files"]), "", "nothing was staged");
    sandbox.ok("phase done");
}

#[test]
fn a_merge_that_is_under_way_is_not_ended_by_a_mini_commit() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    git.run(&["add", "-A"]).success();
    git.run(&["commit", "-q", "-m", "base"]).success();
    for (branch, text) in [("x", "a"), ("y", "b")] {
        git.run(&["checkout", "-q", "-b", branch, "main"]).success();
        sandbox.write("m", text);
        git.run(&["add", "m"]).success();
        git.run(&["commit", "-q", "-m", branch]).success();
    }
    git.run(&["merge", "x"]).code(1);
    let before = git.output(&["rev-parse", "HEAD"]);
    assert_eq!(sandbox.run(&COMMIT).code(4).error_code(), "no_commit");
    sandbox
        .run(&COMMIT[..4])
        .code(4)
        .stderr_has("a merge is in progress in the project's repository; nothing was changed");
    assert_eq!(
        (
            git.output(&["rev-parse", "HEAD"]),
            git.output(&["ls-files", "-u"]).lines().count()
        ),
        (before, 2)
    );
    git.run(&["merge", "--abort"]).success();
    sandbox.run(&COMMIT).success();
}

#[test]
fn what_the_phases_committed_themselves_is_noted_as_their_commit() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    sandbox.write(".gitignore", ".claude/");
    git.run(&["add", "-A"]).success();
    git.run(&["commit", "-q", "-m", "own"]).success();
    sandbox.run(&COMMIT).success();
    assert_eq!(recorded(&sandbox), [git.output(&["rev-parse", "HEAD"])]);
    assert_eq!(git.output(&["log", "--format=%s"]), "own");
}

#[test]
fn neither_conflicts_nor_what_git_has_begun_are_committed() {
    let Some((sandbox, git)) = committed() else {
        return;
    };
    let commit = |text: &str| {
        sandbox.write("m", text);
        git.run(&["add", "-A"]).success();
        git.run(&["commit", "-q", "-m", text]).success();
    };
    commit("base");
    git.run(&["checkout", "-q", "-b", "side"]).success();
    commit("a");
    git.run(&["checkout", "-q", "main"]).success();
    commit("b");
    sandbox.write("m", "c");
    git.run(&["stash", "-q"]).success();
    commit("d");
    let tip = git.output(&["rev-parse", "main"]);
    for (begin, what, end) in [
        (
            &["stash", "pop"][..],
            "the settling of conflicts",
            ["reset", "--hard"],
        ),
        (&["rebase", "side"], "a rebase", ["rebase", "--abort"]),
        (
            &["cherry-pick", "side"],
            "a cherry-pick",
            ["cherry-pick", "--abort"],
        ),
        (&["revert", "HEAD~1"], "a revert", ["revert", "--abort"]),
    ] {
        git.run(begin).code(1);
        let unmerged = git.output(&["ls-files", "-u"]);
        sandbox
            .run(&COMMIT[..4])
            .code(4)
            .stderr_has(&format!("{what} is in progress"))
            .stderr_has("nothing was changed");
        assert_eq!(git.output(&["ls-files", "-u"]), unmerged, "{what}");
        assert_ne!(unmerged, "", "{what}");
        git.run(&end).success();
        assert_eq!(git.output(&["rev-parse", "HEAD"]), tip, "{what}");
    }
    sandbox.run(&COMMIT).success();
}
