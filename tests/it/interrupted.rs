//! A restore or a create killed at any moment: the next command reports it, and each way out ends
//! where it says.

use crate::bench::{Run, Sandbox, fixtures, sample, strace, tree::Tree};
use crate::ctrl_c::leftovers;

/// System calls at which a restore is killed.
const RENAMES: &str = "renameat2,renameat,rename";
const REMOVALS: &str = "unlinkat,unlink,rmdir";
const OTHERS: &str = "mkdirat,fchmodat,fchmod,symlinkat,linkat";
/// Upper bound on calls of one kind; more mean that the loop does not end by itself.
const MOST_CALLS: usize = 200;

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

/// What a killed restore left behind.
#[derive(PartialEq, Eq, Debug)]
enum Left {
    /// Nothing had begun, or everything was done.
    Nothing,
    Pending,
}

impl Story {
    fn kill(&self, calls: &str, nth: usize) -> Run {
        strace::kill_at(
            &self.sandbox,
            calls,
            nth,
            &["restore", &self.target_id, "--yes"],
        )
    }

    /// Checks what every command reports after the kill.
    fn look(&self, when: &str) -> Left {
        let status = self.sandbox.ok("status --json");
        if status.data()["pending"].is_null() {
            // The stage may still be there; the next command that writes clears it.
            let now = self
                .sandbox
                .tree()
                .without(|path| path.starts_with(b".checkpoint-stage-"));
            let whole = now == self.former || now == self.target;
            assert!(
                whole,
                "{when}: nothing is pending, but the directory is neither\n{}",
                self.former.diff(&now).join("\n")
            );
            return Left::Nothing;
        }
        let pending = status.data()["pending"].clone();
        assert!(
            pending["target"].to_string().contains(&self.target_id),
            "{when}: {pending}"
        );
        assert!(
            !status.warning_codes().is_empty(),
            "{when}: status does not warn"
        );
        let list = self.sandbox.ok("list --json");
        assert!(
            !list.warning_codes().is_empty(),
            "{when}: list does not warn"
        );
        let before = self.sandbox.tree();
        for args in [
            &["restore", &self.target_id, "--yes", "--json"][..],
            &["redo", "--yes", "--json"],
        ] {
            let refused = self.sandbox.run(args).code(4);
            assert_eq!(refused.error_code(), "restore_pending", "{when}");
        }
        self.sandbox.tree().assert_is(&before, when);
        Left::Pending
    }
}

/// Kills at the first, second, … call of a kind, and takes the same way out each time.
fn sweep(calls: &str, way_out: &[&str], end: fn(&Story) -> &Tree) {
    let mut pending = 0;
    for nth in sample::calls(MOST_CALLS) {
        let story = story();
        let when = format!("killed at {calls} number {nth}");
        let run = story.kill(calls, nth);
        if run.code == 0 {
            story
                .sandbox
                .tree()
                .assert_is(&story.target, "the restore that nobody killed");
            println!(
                "{calls}: {} kills, {pending} left a pending restore",
                nth - 1
            );
            return;
        }
        assert_eq!(run.code, 137, "{when}\n{run}");
        if story.look(&when) == Left::Pending {
            pending += 1;
            story.sandbox.ok("prune --keep 1 --yes");
            let run = story.sandbox.run(way_out).success();
            // An interrupted restore that was called off is no step that could be redone.
            assert!(!run.stderr.contains("checkpoint redo"), "{when}\n{run}");
            story.sandbox.tree().assert_is(end(&story), &when);
            assert!(
                story.sandbox.status()["pending"].is_null(),
                "{when}: still pending"
            );
        }
        story.sandbox.restore(&story.target_id).success();
        story.sandbox.tree().assert_is(&story.target, &when);
    }
    panic!("more than {MOST_CALLS} calls of {calls}");
}

fn resume(calls: &str) {
    if strace::available() {
        sweep(calls, &["restore", "--resume"], |story| &story.target);
    }
}

fn undo(calls: &str) {
    if strace::available() {
        sweep(calls, &["undo", "--yes"], |story| &story.former);
    }
}

#[test]
fn killed_between_two_renames_resume_ends_at_the_target() {
    resume(RENAMES);
}

#[test]
fn killed_between_two_renames_undo_ends_at_the_former_state() {
    undo(RENAMES);
}

#[test]
fn killed_between_two_removals_resume_ends_at_the_target() {
    resume(REMOVALS);
}

#[test]
fn killed_between_two_removals_undo_ends_at_the_former_state() {
    undo(REMOVALS);
}

#[test]
fn killed_while_making_directories_and_modes_resume_ends_at_the_target() {
    resume(OTHERS);
}

#[test]
fn killed_while_making_directories_and_modes_undo_ends_at_the_former_state() {
    undo(OTHERS);
}

#[test]
fn a_resume_keeps_to_the_plan_that_was_shown() {
    if !strace::available() {
        return;
    }
    let story = (1..MOST_CALLS)
        .map(|nth| {
            let story = story();
            assert_ne!(story.kill(RENAMES, nth).code, 0, "no kill left a restore");
            story
        })
        .find(|story| !story.sandbox.status()["pending"].is_null())
        .expect("one is left in the middle");
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
    if !strace::available() {
        return;
    }
    for nth in sample::calls(MOST_CALLS) {
        let story = story();
        story.sandbox.restore(&story.target_id).success();
        story.sandbox.write("changed", "3").write("made since", "x");
        let edited = story.sandbox.tree();
        let steps = || {
            let run = story.sandbox.ok("undo --list --json");
            run.json()["data"].clone()
        };
        let before = steps();
        assert_ne!(
            story.kill(RENAMES, nth).code,
            0,
            "no kill left a restore that had not begun"
        );
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

/// A story killed as late as possible while still pending.
fn pending_story() -> Option<Story> {
    let mut latest = None;
    for nth in sample::calls(MOST_CALLS) {
        let story = story();
        if story.kill(RENAMES, nth).code == 0 {
            return latest;
        }
        if story.look("looking for a pending restore") == Left::Pending {
            latest = Some(story);
        }
    }
    latest
}

#[test]
fn while_a_restore_is_pending_create_works_and_is_flagged() {
    if !strace::available() {
        return;
    }
    let story = pending_story().expect("some kill leaves a pending restore");
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
    story.sandbox.ok("restore --resume");
    let without = story
        .sandbox
        .tree()
        .without(|path| path == b"typed-meanwhile");
    without.assert_is(&story.target, "after the resume");
}

#[test]
fn an_edit_while_a_restore_is_pending_is_kept_in_a_checkpoint() {
    if !strace::available() {
        return;
    }
    let story = pending_story().expect("some kill leaves a pending restore");
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
fn resume_without_a_pending_restore_finds_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox.fails(3, "restore --resume");
}

#[test]
fn a_create_killed_anywhere_leaves_a_whole_checkpoint_or_none() {
    if !strace::available() {
        return;
    }
    for nth in sample::calls(MOST_CALLS) {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let first = sandbox.create("first");
        sandbox.write("a", "2");
        let run = strace::kill_at(&sandbox, RENAMES, nth, &["create", "--reason", "second"]);
        let listed = sandbox.listed();
        assert!(!sandbox.has_damage() && !listed.is_empty(), "{run}");
        let printed = run.stdout.trim_end();
        assert!(
            printed.is_empty() || listed[0]["short"] == printed,
            "a printed id is not listed\n{run}"
        );
        sandbox.write("a", "3");
        sandbox.create("third");
        sandbox.restore(&first).success();
        assert_eq!(sandbox.read("a"), "1");
        if run.code == 0 {
            return;
        }
    }
}

/// Kills the way out of an interrupted restore at each of its calls; taken once more, it ends where
/// it says.
fn sweep_again(calls: &str, way_out: &[&str], end: fn(&Story) -> &Tree) {
    for nth in sample::calls(MOST_CALLS) {
        let story = story();
        assert_eq!(story.kill("renameat2", 4).code, 137);
        assert_eq!(story.look("cut off in the middle"), Left::Pending);
        let when = format!("{way_out:?} killed at {calls} number {nth}");
        let run = strace::kill_at(&story.sandbox, calls, nth, way_out);
        assert!(matches!(run.code, 0 | 137), "{when}\n{run}");
        if !story.sandbox.status()["pending"].is_null() {
            story.sandbox.run(way_out).success();
        }
        let now = story
            .sandbox
            .tree()
            .without(|path| path.starts_with(b".checkpoint-stage-"));
        now.assert_is(end(&story), &when);
        assert!(
            story.sandbox.status()["pending"].is_null(),
            "{when}: still pending"
        );
        story.sandbox.restore(&story.target_id).success();
        story.sandbox.tree().assert_is(&story.target, &when);
        if run.code == 0 {
            return;
        }
    }
    panic!("more than {MOST_CALLS} calls of {calls}");
}

#[test]
fn a_resume_that_is_killed_too_is_finished_by_the_next_one() {
    if strace::available() {
        for calls in [RENAMES, REMOVALS] {
            sweep_again(calls, &["restore", "--resume"], |story| &story.target);
        }
    }
}

#[test]
fn an_undo_that_is_killed_too_is_finished_by_the_next_one() {
    if strace::available() {
        for calls in [RENAMES, REMOVALS] {
            sweep_again(calls, &["undo", "--yes"], |story| &story.former);
        }
    }
}

#[test]
fn a_journal_of_another_store_is_not_believed() {
    if !strace::available() {
        return;
    }
    let story = pending_story().expect("some kill leaves a pending restore");
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
const WRITES: &str = "write,pwrite64,writev";

#[test]
fn the_very_first_create_killed_anywhere_leaves_a_store_that_the_next_one_completes() {
    if !strace::available() {
        return;
    }
    for calls in ["mkdir,mkdirat", RENAMES, FLUSHES] {
        for nth in sample::calls(MOST_CALLS) {
            let sandbox = Sandbox::new();
            sandbox.write("a", "1").write("d/b", "2");
            let run = strace::kill_at(&sandbox, calls, nth, &["create", "--reason", "first"]);
            let listed = sandbox.listed();
            assert!(
                listed.len() <= 1 && !sandbox.has_damage(),
                "{calls} {nth}\n{run}"
            );
            let printed = run.stdout.trim_end();
            assert!(
                printed.is_empty() || listed[0]["short"] == printed,
                "a printed id is not listed\n{run}"
            );
            sandbox.write("a", "2");
            let second = sandbox.create("second");
            sandbox.ok("verify --full");
            sandbox.write("a", "3");
            sandbox.restore(&second).success();
            assert_eq!(sandbox.read("a"), "2", "{calls} {nth}");
            if run.code == 0 {
                break;
            }
        }
    }
}

#[test]
fn a_create_killed_while_it_writes_flushes_or_evicts_leaves_whole_checkpoints() {
    if !strace::available() {
        return;
    }
    for calls in [WRITES, FLUSHES, REMOVALS] {
        for nth in sample::calls(MOST_CALLS) {
            let sandbox = Sandbox::new();
            for at in ["1", "2", "3"] {
                sandbox.write("a", at).create(at);
            }
            sandbox.write("a", "4");
            let run = strace::kill_at(
                &sandbox,
                calls,
                nth,
                &["create", "--reason", "4", "--keep", "2", "--yes"],
            );
            let listed = sandbox.listed();
            assert!((2..=4).contains(&listed.len()), "{calls} {nth}\n{run}");
            let printed = run.stdout.trim_end();
            assert!(
                printed.is_empty() || listed[0]["short"] == printed,
                "a printed id is not listed\n{run}"
            );
            sandbox.ok("verify --full");
            sandbox.write("a", "5").create("5");
            for one in &listed {
                sandbox
                    .restore(one["id"].as_str().expect("an id"))
                    .success();
                assert_eq!(one["reason"], sandbox.read("a"), "{calls} {nth}");
            }
            if run.code == 0 {
                break;
            }
        }
    }
}

#[test]
fn what_kills_in_a_row_leave_goes_with_the_next_create_and_prune() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    for at in 0..16 {
        sandbox.write("large", fixtures::noise(at as u64, 1 << 20));
        let calls = [FLUSHES, RENAMES][at % 2];
        let _ = strace::kill_at(
            &sandbox,
            calls,
            1 + at / 3,
            &["create", "--reason", &at.to_string()],
        );
    }
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
