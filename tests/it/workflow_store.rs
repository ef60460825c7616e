//! Workflows in the store: lines of commits beside the checkpoints, which share its damage, prunes
//! and moves; and the files written for them, which no checkpoint holds or restore changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkpoint::model::state::object_id::ObjectId;
use checkpoint::store::locked::LockedStore;
use checkpoint::store::repository::Store;
use checkpoint::workflow::rules::workflow::{Phase, PhaseStatus, Profile, RunStatus, Workflow};

use crate::bench::damaged::packs_of;
use crate::bench::fixtures::noise;
use crate::bench::{Git, Sandbox, os, place};

fn open(dir: &Path) -> Store {
    Store::open(dir.to_path_buf()).unwrap().expect("a store")
}

/// Does some work under the lock of a store, as a command would.
fn locked<T>(dir: &Path, work: impl FnOnce(&mut LockedStore<'_>) -> T) -> T {
    let store = open(dir);
    let mut locked = store.lock(Duration::from_secs(5), "test").unwrap();
    work(&mut locked)
}

fn workflow(id: &str, progress: &str) -> Workflow {
    let mut workflow = Workflow::new(id.into(), "orchestrate".into(), "p".into(), 5);
    workflow.phases.push(Phase::new("one", progress));
    workflow
}

/// Records a transition on top of the newest one.
fn record(dir: &Path, state: &Workflow) -> ObjectId {
    let tip = tip(dir, &state.id);
    let text = state.to_json();
    let recorded = locked(dir, |locked| {
        locked.record_workflow(&state.id, tip, text.as_bytes(), "phase start", 1_000, None)
    });
    recorded.unwrap().expect("nobody else was first")
}

fn tip(dir: &Path, id: &str) -> Option<ObjectId> {
    open(dir)
        .workflows()
        .unwrap()
        .into_iter()
        .find(|(found, _)| found == id)
        .map(|(_, tip)| tip)
}

fn line(dir: &Path, id: &str) -> Vec<ObjectId> {
    let tip = tip(dir, id).expect("a workflow");
    let line = open(dir).workflow_line(tip, usize::MAX);
    assert_eq!(line.broken, None);
    line.transitions
        .iter()
        .map(|transition| transition.commit)
        .collect()
}

fn fsck(sandbox: &Sandbox) {
    if let Some(git) = Git::find(sandbox.home()) {
        git.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
}

/// Two checkpoints and a workflow of three transitions.
fn story() -> (Sandbox, [ObjectId; 3]) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let transitions =
        ["x", "y", "z"].map(|progress| record(&sandbox.store(), &workflow("w", progress)));
    sandbox.write("a", "2").create("second");
    (sandbox, transitions)
}

#[test]
fn a_transition_is_never_taken_for_a_checkpoint() {
    let (sandbox, [one, two, three]) = story();
    let ids = sandbox.listed_ids();
    let manifest = sandbox.store().join("checkpoint-manifest.md");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    assert_eq!(sandbox.listed_ids(), ids, "for a reader");
    sandbox.ok("verify");
    sandbox.ok("prune");
    assert_eq!(sandbox.listed_ids(), ids, "for a writer");
    // Torn refs too, and a row that names a transition.
    for entry in fs::read_dir(sandbox.store().join("refs/checkpoints")).unwrap() {
        fs::write(entry.unwrap().path(), "").unwrap();
    }
    fs::write(
        &manifest,
        format!("{text}| {} | 2026-03-24 12:00:00 | x | y |\n", one.short()),
    )
    .unwrap();
    assert_eq!(sandbox.listed_ids(), ids);
    sandbox.ok("prune");
    fs::remove_file(&manifest).unwrap();
    sandbox.write("a", "3").create("third");
    assert_eq!(sandbox.listed_ids().len(), 3);
    assert_eq!(line(&sandbox.store(), "w"), [three, two, one]);
    fsck(&sandbox);
}

#[test]
fn a_torn_ref_stops_nothing_and_comes_back() {
    let (sandbox, [.., three]) = story();
    let path = sandbox.store().join("refs/workflows/w");
    fs::write(&path, "").unwrap();
    sandbox.cmd("list").success();
    sandbox.cmd("status").success();
    sandbox.says("verify", 0, "workflow w: its ref is torn");
    assert_eq!(
        fs::read(&path).unwrap(),
        b"",
        "who only reads writes nothing"
    );
    let run = sandbox.write("a", "3").ok("create --json");
    assert_eq!(run.warning_codes(), ["workflow_restored"]);
    assert_eq!(tip(&sandbox.store(), "w"), Some(three));
    fs::write(sandbox.store().join("refs/workflows/unknown"), "?").unwrap();
    sandbox.write("a", "4").create("still");
    sandbox.says("verify", 6, "workflow unknown");
    sandbox.cmd("prune").code(6).stderr_has(
        &os::native("refs/workflows/unknown".into())
            .display()
            .to_string(),
    );
    sandbox.says("verify --repair", 6, "lost: refs/workflows/unknown");
    sandbox.cmd("verify").success();
    assert_eq!(tip(&sandbox.store(), "w"), Some(three));
}

#[test]
fn a_prune_keeps_whole_lines_and_takes_those_that_were_deleted() {
    let (sandbox, [one, two, three]) = story();
    let store = sandbox.store();
    let other = record(&store, &workflow("v", "x"));
    sandbox.ok("prune --keep 1 --yes");
    assert_eq!(line(&store, "w"), [three, two, one]);
    assert_eq!(line(&store, "v"), [other]);
    assert!(open(&store).workflow_state(one).unwrap().starts_with(b"{"));
    fsck(&sandbox);
    for id in ["w", "v"] {
        assert!(locked(&store, |locked| locked.delete_workflow(id)).unwrap());
    }
    sandbox.ok("prune");
    for gone in [one, two, three, other] {
        assert!(!open(&store).objects().contains(&gone));
    }
    fsck(&sandbox);
}

#[test]
fn refs_that_plain_git_packed_are_read_and_written() {
    let (sandbox, [.., three]) = story();
    let Some(git) = Git::find(sandbox.home()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    for command in [&["pack-refs", "--all"][..], &["gc", "-q", "--prune=now"]] {
        git.run(command).success();
        assert!(!sandbox.store().join("refs/workflows/w").exists());
        assert_eq!(tip(&sandbox.store(), "w"), Some(three));
    }
    let four = record(&sandbox.store(), &workflow("w", "4"));
    assert_eq!(tip(&sandbox.store(), "w"), Some(four));
    git.ok("pack-refs --all");
    assert!(locked(&sandbox.store(), |locked| locked.delete_workflow("w")).unwrap());
    assert_eq!(tip(&sandbox.store(), "w"), None);
}

#[test]
fn damage_in_a_line_is_named_and_a_repair_keeps_what_is_newer() {
    let sandbox = Sandbox::new();
    // Each is large enough to keep a pack of its own.
    sandbox.write("a", noise(1, 400_000));
    let id = sandbox.create("first");
    let before: BTreeSet<PathBuf> = packs_of(&sandbox.store()).into_iter().collect();
    let large: String = noise(2, 100_000)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    record(&sandbox.store(), &workflow("w", &large));
    let lost: Vec<PathBuf> = packs_of(&sandbox.store())
        .into_iter()
        .filter(|pack| !before.contains(pack))
        .collect();
    let tip_before = record(&sandbox.store(), &workflow("w", "y"));
    for pack in &lost {
        fs::remove_file(pack).unwrap();
        fs::remove_file(pack.with_extension("idx")).unwrap();
    }
    sandbox.says("verify", 6, "workflow w");
    assert_eq!(sandbox.listed().len(), 1);
    sandbox.restore(&id).success();
    let state = open(&sandbox.store()).workflow_state(tip_before).unwrap();
    let repaired = sandbox.fails(6, "verify --repair");
    assert!(
        repaired
            .stdout
            .contains("refs/workflows/w (transitions before"),
        "{repaired}"
    );
    sandbox.ok("verify --full");
    let kept = line(&sandbox.store(), "w");
    assert_eq!(kept.len(), 1);
    let store = open(&sandbox.store());
    assert_eq!(store.workflow_state(kept[0]).unwrap(), state);
    let kept = store.workflow_line(kept[0], 1).transitions.remove(0);
    assert_eq!(kept.parent, None);
    assert!(
        kept.message.contains(&format!("Cut-From: {tip_before}")),
        "{}",
        kept.message
    );
    fsck(&sandbox);
    let next = record(&sandbox.store(), &workflow("w", "z"));
    sandbox.ok("verify --repair");
    assert_eq!(
        tip(&sandbox.store(), "w"),
        Some(next),
        "the kept copy takes nothing back"
    );
}

#[test]
fn a_salvage_of_an_unusable_store_brings_workflows_along() {
    let (sandbox, [one, two, three]) = story();
    let torn = record(&sandbox.store(), &workflow("torn", "x"));
    fs::write(sandbox.store().join("refs/workflows/torn"), "").unwrap();
    fs::remove_file(sandbox.store().join("HEAD")).unwrap();
    fs::create_dir(sandbox.store().join("HEAD")).unwrap();
    sandbox.write("a", "3").ok("create");
    assert_eq!(sandbox.listed().len(), 3);
    assert_eq!(line(&sandbox.store(), "w"), [three, two, one]);
    assert_eq!(tip(&sandbox.store(), "torn"), Some(torn));
}

#[test]
fn a_relink_brings_workflows_along_under_names_of_their_own() {
    let sandbox = Sandbox::bare();
    sandbox
        .real_clock()
        .write("src/main.rs", "one")
        .create("one");
    let there = record(&sandbox.store(), &workflow("w", "there"));
    let old = sandbox.root().to_path_buf();
    let moved = sandbox.top().join("moved");
    fs::rename(&old, &moved).unwrap();
    sandbox.run_in(&moved, &["create", "-r", "two"]).success();
    let store = place::store(&sandbox.base(), &moved);
    let here = record(&store, &workflow("w", "here"));
    sandbox
        .run_in(&moved, &["relink", old.to_str().unwrap(), "--yes"])
        .success();
    assert_eq!(
        open(&store).workflows().unwrap(),
        [("w".to_owned(), here), ("w-2".to_owned(), there)]
    );
    sandbox.run_in(&moved, &["verify", "--full"]).success();
}

#[test]
fn what_is_written_for_a_workflow_is_in_no_checkpoint_and_no_restore_changes_it() {
    let sandbox = Sandbox::new();
    let state = ".claude/pipeline-state.json";
    sandbox
        .write("a", "1")
        .write(state, "old")
        .write(".claude/checkpoints/failed/x", "1")
        .write("memory/state/n", "1");
    let first = sandbox.create("first");
    let held = |sandbox: &Sandbox, id: &str, path: &str| {
        sandbox.run(&["cat", &format!("{id}:{path}")]).code == 0
    };
    assert!(
        held(&sandbox, &first, state) && held(&sandbox, &first, ".claude/checkpoints/failed/x")
    );
    for (id, profile, path) in [
        ("w", Profile::Pipeline, state),
        (
            "r",
            Profile::Registry,
            ".claude/checkpoints/t_p_20261122_100000.json",
        ),
        ("p", Profile::Phases, "memory/state/phase.json"),
    ] {
        let mut run = workflow(id, "x");
        run.profile = Some(profile);
        run.documents.insert(path.into(), serde_json::json!({}));
        record(&sandbox.store(), &run);
    }
    sandbox
        .write("a", "2")
        .write(state, "new")
        .write("memory/state/.archive/w/phase.json", "1");
    sandbox
        .write("memory/state/.checkpoint-state-0123456789abcdef", "left")
        .write(".claude/settings", "1");
    let second = sandbox.create("second");
    for path in [
        state,
        ".claude/checkpoints/failed/x",
        "memory/state/.archive/w/phase.json",
    ] {
        assert!(!held(&sandbox, &second, path), "{path}");
    }
    assert!(!held(
        &sandbox,
        &second,
        "memory/state/.checkpoint-state-0123456789abcdef"
    ));
    assert!(
        held(&sandbox, &second, ".claude/settings") && held(&sandbox, &second, "memory/state/n")
    );
    assert_eq!(
        sandbox
            .cmd(format!("diff {second} --name-only"))
            .success()
            .stdout,
        ""
    );
    assert_eq!(
        sandbox
            .cmd(format!("diff {first} --name-only"))
            .success()
            .stdout,
        ".claude/settings\na\n"
    );
    for path in [
        state,
        ".claude/checkpoints/failed",
        ".claude/checkpoints/failed/x",
    ] {
        let run = sandbox
            .cmd(format!("restore {first} {path} --yes --json"))
            .code(4);
        assert_eq!(run.error_code(), "workflow_file");
    }
    let untouched = |sandbox: &Sandbox| {
        assert_eq!(sandbox.read(state), "new");
        assert_eq!(sandbox.read(".claude/checkpoints/failed/x"), "1");
        assert!(sandbox.exists("memory/state/.archive/w/phase.json"));
    };
    sandbox.restore(&first).success();
    assert!(sandbox.read("a") == "1" && !sandbox.exists(".claude/settings"));
    untouched(&sandbox);
    sandbox.undo().success();
    assert!(sandbox.read("a") == "2" && sandbox.exists(".claude/settings"));
    untouched(&sandbox);
    sandbox.redo().success();
    untouched(&sandbox);
    sandbox
        .cmd(format!("restore {first} .claude --yes"))
        .success();
    untouched(&sandbox);
    let mut archived = workflow("w", "x");
    archived.is_archived = true;
    record(&sandbox.store(), &archived);
    let third = sandbox.create("third");
    assert!(
        held(&sandbox, &third, state),
        "only while it is written for a workflow"
    );
}

#[test]
fn what_an_open_workflow_names_is_not_evicted() {
    let sandbox = Sandbox::new();
    let make = |text: &str| {
        sandbox.write("a", text);
        let id = sandbox.create(text);
        (sandbox.shown(&id)["id"].as_str().unwrap().to_owned(), id)
    };
    let (needed, short) = make("1");
    for text in ["2", "3", "4"] {
        make(text);
    }
    let mut run = workflow("w", "x");
    (run.phases[0].status, run.phases[0].before_id) = (PhaseStatus::InProgress, Some(needed));
    record(&sandbox.store(), &run);
    sandbox.ok("prune --keep 1 --yes --dry-run");
    sandbox.ok("prune --keep 1 --yes");
    assert_eq!(sandbox.listed_ids().len(), 2);
    assert!(sandbox.listed_ids().contains(&short));
    run.status = RunStatus::Complete;
    record(&sandbox.store(), &run);
    sandbox.ok("prune --keep 1 --yes");
    assert!(!sandbox.listed_ids().contains(&short));
}
