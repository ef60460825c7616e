//! A restore that was killed, and what other commands do meanwhile. `tests/siege` kills at every call,
//! and takes each way out.

use crate::bench::{Run, Sandbox, fixtures, given, strace, tree::Tree};
use crate::ctrl_c::leftovers;

/// System calls at which a restore is killed.
const RENAMES: &str = "renameat2,renameat,rename";

struct Story {
    sandbox: Sandbox,
    target_id: String,
    target: Tree,
    former: Tree,
}

/// A directory in which a restore has to write, replace, delete, chmod and change kinds.
fn story() -> Story {
    let sandbox = Sandbox::new();
    sandbox
        .write("changed", "1")
        .write("d/changed", "1")
        .write("gone", "g")
        .write("kind", "file")
        .mkdir("empty");
    sandbox
        .write("run", "x")
        .chmod("run", 0o755)
        .symlink("link", "gone")
        .write("deep/a/b/c", "1")
        .chmod("deep", 0o750);
    let target_id = sandbox.create("target");
    let target = sandbox.tree();
    sandbox
        .write("changed", "2")
        .write("d/changed", "22")
        .remove("gone")
        .remove("kind")
        .write("kind/now/a-directory", "k");
    sandbox
        .chmod("run", 0o600)
        .remove("link")
        .write("link", "now a file")
        .remove("deep")
        .remove("empty");
    sandbox
        .write("new/one", "n")
        .write("new/two", "n")
        .mkdir("new/empty")
        .chmod("d", 0o700);
    let former = sandbox.tree();
    Story {
        sandbox,
        target_id,
        target,
        former,
    }
}

impl Story {
    fn kill(&self, nth: usize) -> Run {
        let restore = ["restore", &self.target_id, "--yes"];
        strace::kill_at(&self.sandbox, RENAMES, nth, &restore)
    }
}

/// A story whose restore was killed half-way.
fn pending_story() -> Story {
    for nth in (1..).step_by(2) {
        let story = story();
        assert_ne!(story.kill(nth).code, 0, "no kill left a pending restore");
        if !story.sandbox.status()["pending"].is_null() {
            return story;
        }
    }
    unreachable!("it ends without a kill")
}

#[test]
fn a_resume_keeps_to_the_plan_that_was_shown() {
    given!(if strace::available());
    let story = pending_story();
    let plan = || {
        let shown = ["restore", "--resume", "--dry-run", "--json"];
        let run = story.sandbox.run(&shown).success();
        run.json()["data"]["plan_digest"]
            .as_str()
            .expect("a digest")
            .to_owned()
    };
    let resume = |digest: &str| {
        let args = ["restore", "--resume", "--plan", digest, "--yes", "--json"];
        story.sandbox.run(&args)
    };
    let between = story.sandbox.tree();
    let old = plan();
    resume("0000000000000000").code(4);
    story.sandbox.tree().assert_is(&between, "another plan");
    story.sandbox.write("made since", "x");
    resume(&old).code(4);
    resume(&plan()).success();
    story
        .sandbox
        .tree()
        .assert_is(&story.target, "it is finished");
}

#[test]
fn an_undo_after_a_restore_that_never_began_says_so_and_stops() {
    given!(if strace::available());
    for nth in (1..).step_by(2) {
        let story = story();
        story.sandbox.restore(&story.target_id).success();
        story.sandbox.write("changed", "3").write("made since", "x");
        let edited = story.sandbox.tree();
        let steps = || {
            let run = story.sandbox.ok("undo --list --json");
            run.json()["data"].clone()
        };
        let before = steps();
        let run = story.kill(nth);
        assert_ne!(run.code, 0, "no kill left one that had not begun");
        let stage = std::fs::read_to_string(story.sandbox.store().join("checkpoint/journal"))
            .unwrap_or_default();
        if !stage.contains("preparing") {
            continue;
        }
        // A command that only reads sees what the next change will make of it.
        assert_eq!(steps(), before, "a restore that never began is a step");
        let doctor = story.sandbox.cmd("doctor --json");
        assert!(!doctor.stdout.contains("stray files"), "{doctor}");
        let refused = story.sandbox.fails(4, "undo --yes --json");
        assert_eq!(refused.error_code(), "restore_never_began");
        story
            .sandbox
            .tree()
            .without(|path| path.starts_with(b".checkpoint-stage-"))
            .assert_is(&edited, "nothing was undone");
        story.sandbox.undo().success();
        story.sandbox.tree().assert_is(&story.former, "asked again");
        return;
    }
}

#[test]
fn while_a_restore_is_pending_create_works_and_is_flagged() {
    given!(if strace::available());
    let story = pending_story();
    let restore = format!("restore {} --yes --json", story.target_id);
    let refused = story.sandbox.fails(4, restore);
    assert_eq!(refused.error_code(), "restore_pending");
    story.sandbox.write("typed-meanwhile", "t");
    let run = story.sandbox.ok("create --json --reason meanwhile");
    assert!(
        run.warning_codes().contains(&"restore_pending".to_owned()),
        "{run}"
    );
    story.sandbox.ok("show meanwhile");
    let prune = ["prune", "--dry-run", "--json"];
    let pruned = story.sandbox.run(&prune).success();
    assert_eq!(pruned.warning_codes(), ["restore_pending"], "{pruned}");
    story.sandbox.ok("prune --keep 1 --yes");
    story.sandbox.ok("restore --resume");
    let without = story
        .sandbox
        .tree()
        .without(|path| path == b"typed-meanwhile");
    without.assert_is(&story.target, "after the resume");
}

#[test]
fn an_edit_while_a_restore_is_pending_is_kept_in_a_checkpoint() {
    given!(if strace::available());
    let story = pending_story();
    let sandbox = &story.sandbox;
    sandbox.write("changed", "typed meanwhile");
    let is_stage = |path: &[u8]| path.starts_with(b".checkpoint-stage");
    let before = sandbox.tree().without(is_stage);
    let run = sandbox.ok("restore --resume");
    sandbox.tree().assert_is(&story.target, "after the resume");
    let kept = run.stderr.split("safety checkpoint ").nth(1);
    let kept = kept
        .and_then(|rest| rest.split(' ').next())
        .expect("a safety checkpoint");
    let held = sandbox.run(&["cat", &format!("{kept}:changed")]).success();
    assert_eq!(held.stdout, "typed meanwhile", "{run}");
    assert!(
        run.stderr.contains("'checkpoint undo' brings it back"),
        "{run}"
    );
    sandbox.undo().success();
    sandbox.tree().assert_is(&before, "after one undo");
    sandbox.undo().success();
    sandbox.tree().assert_is(&story.former, "after another one");
    sandbox.ok("redo --yes");
    sandbox.ok("redo --yes");
    sandbox
        .tree()
        .assert_is(&story.target, "after as many redos");
}

#[test]
fn a_pending_restore_that_was_called_off_is_no_step_that_could_be_redone() {
    given!(if strace::available());
    let story = pending_story();
    story.sandbox.ok("prune --keep 1 --yes");
    let run = story.sandbox.undo().success();
    assert!(!run.stderr.contains("checkpoint redo"), "{run}");
    story.sandbox.tree().assert_is(&story.former, "called off");
}

#[test]
fn a_restore_that_is_killed_when_its_work_is_done_can_be_undone() {
    given!(if strace::available());
    let mut done = 0;
    for nth in 1.. {
        let story = story();
        let restore = ["restore", &story.target_id, "--yes"];
        let run = strace::kill_at(&story.sandbox, "unlink,unlinkat,rmdir", nth, &restore);
        if run.code == 0 {
            break;
        }
        let is_over = story.sandbox.status()["pending"].is_null();
        if !is_over || story.sandbox.read("changed") != "1" {
            continue;
        }
        done += 1;
        story.sandbox.ok("undo --yes");
        let tree = story.sandbox.tree();
        tree.assert_is(&story.former, &format!("undone, killed at {nth}"));
    }
    assert!(done > 0, "no kill came when the work was done");
}

#[test]
fn a_command_that_could_not_be_taken_back_meanwhile_is_not_run() {
    given!(if strace::available());
    let story = pending_story();
    let run = |options: &[&str]| {
        let command = ["--", "sh", "-c", "echo x > ran; exit 3"];
        story.sandbox.run(&[&["run"], options, &command].concat())
    };
    let refused = run(&["--restore-on-failure", "--yes"]).code(4);
    assert!(refused.stderr.contains("restore --resume"), "{refused}");
    assert!(!story.sandbox.exists("ran"));
    let ran = run(&[]).code(3);
    assert!(ran.stderr.contains("restore --resume"), "{ran}");
    assert!(!ran.stderr.contains("to go back"), "{ran}");
}

#[test]
fn resume_without_a_pending_restore_finds_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox.fails(3, "restore --resume");
}

#[test]
fn a_journal_of_another_store_is_not_believed() {
    given!(if strace::available());
    let story = pending_story();
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").create("two");
    let journal = |sandbox: &Sandbox| sandbox.store().join("checkpoint/journal");
    std::fs::copy(journal(&story.sandbox), journal(&sandbox)).expect("a journal can be copied");
    let before = sandbox.tree();
    assert!(
        sandbox.status()["pending"].is_null(),
        "the other store's restore counts as one of this one"
    );
    sandbox.fails(3, "restore --resume");
    sandbox.fails(3, "undo --yes");
    sandbox
        .tree()
        .assert_is(&before, "what was pending elsewhere");
    sandbox.ok("verify --repair");
    assert!(!journal(&sandbox).exists(), "the repair left it");
    sandbox.ok("prune --keep 1 --yes");
    sandbox.create("three");
    // A store that was moved still recognizes its own journal.
    let place = story.sandbox.top().join("moved");
    std::fs::rename(story.sandbox.root(), &place).expect("it can be moved");
    let moved = |args: &[&str]| {
        let dir = place.display().to_string();
        story
            .sandbox
            .run_under(&["/usr/bin/env", "-C", &dir], args)
            .success()
    };
    moved(&[
        "relink",
        &story.sandbox.root().display().to_string(),
        "--yes",
    ]);
    moved(&["restore", "--resume"]);
    std::fs::rename(&place, story.sandbox.root()).expect("it can be moved back");
    story
        .sandbox
        .tree()
        .assert_is(&story.target, "resumed in another place");
}

const FLUSHES: &str = "fsync,fdatasync";

#[test]
fn what_kills_in_a_row_leave_goes_with_the_next_create_and_prune() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let mut killed = 0;
    for at in 0..16 {
        sandbox.write("large", fixtures::noise(at as u64, 1 << 20));
        let calls = [FLUSHES, RENAMES][at % 2];
        let run = strace::kill_at(
            &sandbox,
            calls,
            1 + at / 3,
            &["create", "--reason", &at.to_string()],
        );
        killed += usize::from(run.code == 137);
    }
    assert!(killed > 4, "only {killed} were killed");
    sandbox.write("a", "2").create("last");
    assert!(
        leftovers(&sandbox.store()).is_empty(),
        "{:?}",
        leftovers(&sandbox.store())
    );
    sandbox.ok("prune");
    let (listed, bytes) = (sandbox.listed().len() as u64, sandbox.store_bytes());
    assert!(
        bytes < (listed + 1) << 20,
        "{bytes} bytes for {listed} checkpoints"
    );
    sandbox.ok("verify --full");
}
