//! Manifest rows without a commit: every command names them, and only the user drops them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::damaged::{damaged_copies, packs_of};
use crate::bench::watch::Watch;
use crate::bench::{Run, Sandbox, fixtures};

const SENTENCE: &str = "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost.";
const TYPED: &str = "| deadbeef | 2026-03-24 12:45:30 | ../../typed | hand |";

fn manifest(store: &Path) -> String {
    fs::read_to_string(store.join("checkpoint-manifest.md")).expect("a manifest")
}

fn type_a_row(sandbox: &Sandbox) {
    let text = format!("{}{TYPED}\n", manifest(&sandbox.store()));
    fs::write(sandbox.store().join("checkpoint-manifest.md"), text)
        .expect("a manifest can be edited");
}

fn damage_warnings(run: &Run) -> Vec<String> {
    let document = run.json();
    let warnings = document["warnings"].as_array().expect("warnings");
    let of_damage = warnings
        .iter()
        .filter(|warning| warning["code"] == "damaged_checkpoint");
    of_damage
        .map(|warning| warning["message"].as_str().expect("a sentence").to_owned())
        .collect()
}

fn lose(sandbox: &Sandbox, names: &[&str]) {
    for name in names {
        fixtures::remove(&sandbox.store().join(name));
    }
}

#[test]
fn a_store_that_lost_refs_and_objects_is_named_by_every_command_and_kept_by_create() {
    for lost in [
        &["objects", "refs"][..],
        &["refs", "objects/pack"],
        &["objects/pack"],
        &["HEAD", "refs", "objects"],
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.write("f", "1").create("precious");
        lose(&sandbox, lost);
        let watch = Watch::over(&sandbox.store());
        sandbox.ok("list").stderr_has(&id);
        let listed = sandbox.json("list");
        assert_eq!(
            (
                &listed["damaged"][0]["short"],
                listed["checkpoints"].as_array().map(Vec::len)
            ),
            (&id.clone().into(), Some(0))
        );
        sandbox.fails(6, "verify").stdout_has(&id);
        sandbox.fails(6, format!("verify {id}"));
        sandbox.ok("status").stderr_has(&id).stdout_has("1 damaged");
        for args in [
            &["show", "precious"][..],
            &["cat", "precious:f"],
            &["diff", &id],
        ] {
            sandbox.run(args).code(6).stderr_has(&id);
        }
        watch.assert_untouched();
        sandbox.restore(&id).code(6).stderr_has(&id);
        let row = manifest(&sandbox.store());
        sandbox.fails(6, "prune").stderr_has(&id);
        assert_eq!(manifest(&sandbox.store()), row, "prune tidied the row away");
        let run = sandbox.ok("create -r next").stderr_has(SENTENCE);
        let kept = damaged_copies(&sandbox.store());
        assert_eq!(kept.len(), 1, "{run}");
        assert!(manifest(&kept[0]).contains("| precious | test |"), "{run}");
        assert_eq!(sandbox.listed_ids(), [run.stdout.trim()]);
        sandbox.ok("verify --full");
        sandbox.ok("prune");
    }
}

#[test]
fn programs_are_told_that_the_store_was_made_anew() {
    let sandbox = Sandbox::new();
    sandbox.create("precious");
    lose(&sandbox, &["objects", "refs"]);
    let run = sandbox.ok("create --json");
    assert_eq!(run.warning_codes(), ["store_reinitialized"], "{run}");
}

#[test]
fn whatever_becomes_of_the_command_it_says_that_the_store_was_made_anew() {
    let refused: [(&[&str], u8); 4] = [
        (&["create", "-r", "x", "--scope", "nothing"], 3),
        (&["create", "-r", "x", "--scope", "nothing", "--json"], 3),
        (&["create", "-q", "-r", "x"], 0),
        (&["workflow", "init", "--phase", "a"], 0),
    ];
    for (args, code) in refused {
        let sandbox = Sandbox::new();
        sandbox.write("f", "1").create("precious");
        lose(
            &sandbox,
            &[
                "objects",
                "refs",
                "info",
                "checkpoint",
                "checkpoint-manifest.md",
                "config",
            ],
        );
        sandbox.run(args).code(code.into()).stderr_has(SENTENCE);
        assert_eq!(damaged_copies(&sandbox.store()).len(), 1, "{args:?}");
    }
    let sandbox = Sandbox::new();
    sandbox.write("f", "1").create("precious");
    lose(&sandbox, &["objects", "refs"]);
    sandbox
        .fails(3, "create -r x --scope nothing")
        .stderr_has(SENTENCE);
}

#[test]
fn a_row_typed_by_hand_stays_until_the_user_drops_it() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("f", "1").create("first");
    type_a_row(&sandbox);
    let watch = Watch::over(&sandbox.store());
    sandbox
        .ok("list")
        .stderr_has("deadbeef")
        .stderr_has("typed | hand");
    watch.assert_untouched();
    let run = sandbox.write("f", "2").ok("create --json -r second");
    assert_eq!(run.warning_codes(), ["damaged_checkpoint"], "{run}");
    sandbox.ok("prune").stderr_has("deadbeef");
    sandbox.fails(6, "verify").stdout_has("deadbeef");
    sandbox.restore(&first).success();
    assert!(
        manifest(&sandbox.store()).contains(&format!("{TYPED}\n")),
        "a command tidied the row away"
    );
    assert!(
        damaged_copies(&sandbox.store()).is_empty(),
        "others can be read: nothing is made anew unasked"
    );
    sandbox.fails(4, "delete deadbeef");
    let data = sandbox.json("delete DEADBEEF --yes");
    assert_eq!(
        (
            &data["dropped"][0]["checkpoint"]["id"],
            &data["dropped"][0]["checkpoint"]["time"]
        ),
        (&"deadbeef".into(), &serde_json::Value::Null)
    );
    assert!(!manifest(&sandbox.store()).contains("deadbeef"));
    sandbox.ok("verify");
    sandbox.ok("prune");
}

#[test]
fn a_repair_leaves_such_rows_in_the_kept_copy() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "1").create("first");
    type_a_row(&sandbox);
    let data = sandbox.fails(6, "verify --repair --json").json();
    let salvaged = &data["data"]["repair"]["salvaged"];
    assert_eq!(
        (&salvaged["whole"], &salvaged["lost"][0]["short"]),
        (&1.into(), &"deadbeef".into()),
        "{data}"
    );
    assert!(manifest(&damaged_copies(&sandbox.store())[0]).contains(TYPED));
    sandbox.ok("verify --full");
    assert_eq!(sandbox.listed().len(), 1);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Packs that hold one checkpoint each, oldest first.
fn packs_in_order(sandbox: &Sandbox, reasons: &[&str]) -> Vec<PathBuf> {
    let mut packs = Vec::new();
    for reason in reasons {
        let before: BTreeSet<PathBuf> = packs_of(&sandbox.store()).into_iter().collect();
        sandbox
            .write("f", fixtures::noise(packs.len() as u64, 300))
            .create(reason);
        packs.extend(
            packs_of(&sandbox.store())
                .into_iter()
                .filter(|pack| !before.contains(pack)),
        );
    }
    packs
}

#[test]
fn what_is_left_of_a_store_goes_on_beside_the_rows_of_what_is_lost() {
    let sandbox = Sandbox::new();
    let packs = packs_in_order(&sandbox, &["one", "two", "three", "four"]);
    for pack in &packs[1..3] {
        fixtures::remove(pack);
        fixtures::remove(&pack.with_extension("idx"));
    }
    lose(&sandbox, &["refs"]);
    for _ in 0..2 {
        let listed = sandbox.ok("list --json");
        let lost = listed.data()["damaged"].as_array().expect("a list").len();
        assert!(
            lost == 2 && listed.stdout.contains("\"one\"") && listed.stdout.contains("\"four\""),
            "{listed}"
        );
        assert_eq!(damage_warnings(&listed).len(), 1, "{listed}");
        sandbox.restore("one").success();
        sandbox.undo().success();
        lose(&sandbox, &["refs/checkpoints"]);
    }
    sandbox.write("f", "new").create("five");
    let text = manifest(&sandbox.store());
    assert!(
        ["two", "three"]
            .iter()
            .all(|reason| text.contains(&format!("| {reason} | test |"))),
        "{text}"
    );
    assert_eq!(
        text,
        manifest(&sandbox.store()),
        "the rows stay where they are"
    );
}

#[test]
fn damage_to_many_is_one_warning() {
    let sandbox = Sandbox::new();
    for at in 0..12 {
        sandbox
            .write("f", at.to_string())
            .create(&format!("state {at}"));
    }
    let whole = sandbox.top().join("whole");
    fixtures::copy_tree(&sandbox.store(), &whole);
    lose(&sandbox, &["refs/checkpoints"]);
    let run = sandbox.ok("list --json");
    assert_eq!(run.warning_codes(), ["ref_lost"], "{run}");
    let run = sandbox.ok("prune --json");
    assert_eq!(run.warning_codes(), ["ref_restored"], "{run}");
    fixtures::remove(&sandbox.store());
    fixtures::copy_tree(&whole, &sandbox.store());
    lose(&sandbox, &["objects/pack"]);
    let run = sandbox.ok("list --json");
    let told = damage_warnings(&run);
    assert!(
        told.len() == 1 && told[0].starts_with("12 checkpoints ("),
        "{told:?}"
    );
    assert_eq!(
        run.data()["damaged"].as_array().map(Vec::len),
        Some(12),
        "{run}"
    );
}

#[test]
fn where_nothing_tells_what_there_was_no_command_takes_the_store_for_an_empty_one() {
    for kept in ["HEAD", "checkpoint/description", "checkpoint/lock"] {
        let sandbox = Sandbox::new();
        sandbox.write("f", "1").create("precious");
        let bytes = fs::read(sandbox.store().join(kept)).expect("a file");
        fixtures::remove(&sandbox.store());
        let path = sandbox.store().join(kept);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory can be made");
        fs::write(&path, bytes).expect("a file can be written");
        let watch = Watch::over(&sandbox.store());
        for args in [&["list"][..], &["status"], &["verify"], &["prune"]] {
            sandbox.run(args).code(6).stderr_has("create");
        }
        watch.assert_untouched();
        sandbox.ok("create -r next").stderr_has(SENTENCE);
        assert!(damaged_copies(&sandbox.store())[0].join(kept).exists());
        sandbox.ok("verify --full");
    }
}

#[test]
fn a_million_packed_refs_that_lead_nowhere_do_not_become_files() {
    let sandbox = Sandbox::new();
    let whole = sandbox.write("f", "1").create("whole");
    let refs = sandbox.store().join("refs/checkpoints");
    let living = fixtures::files_below(&refs).len();
    let dead = |at: usize| hex(&fixtures::noise(at as u64, 20));
    let lines: String = (0..20_000)
        .map(|at| format!("{0} refs/checkpoints/{0}\n", dead(at)))
        .collect();
    fs::write(sandbox.store().join("packed-refs"), lines).expect("a file can be written");
    sandbox.write("f", "2").create("more");
    assert_eq!(fixtures::files_below(&refs).len(), living + 1);
    let listed = sandbox.ok("list --json");
    assert_eq!(
        listed.data()["damaged"].as_array().map(Vec::len),
        Some(20_000)
    );
    assert_eq!(damage_warnings(&listed).len(), 1);
    sandbox.restore(&whole).success();
    sandbox.run(&["delete", &dead(7), "--yes"]).success();
    let packed = fs::read_to_string(sandbox.store().join("packed-refs")).expect("packed refs");
    assert!(!packed.contains(&dead(7)) && packed.contains(&dead(8)));
}

#[cfg(unix)]
#[test]
fn packs_that_may_not_be_read_are_not_lost() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = crate::partial::wrapper(&sandbox) else {
        return;
    };
    let first = sandbox.write("f", "1").create("first");
    let packs: Vec<_> = fs::read_dir(sandbox.store().join("objects/pack"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    for path in &packs {
        sandbox.chmod(path, 0);
    }
    sandbox
        .write("f", "2")
        .run_under(wrapper, &["create", "-r", "second"])
        .success();
    for path in &packs {
        sandbox.chmod(path, 0o600);
    }
    assert!(damaged_copies(&sandbox.store()).is_empty());
    sandbox.restore(&first).success();
    assert_eq!(sandbox.read("f"), "1");
}

#[test]
fn a_word_that_is_mistyped_beside_damage_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let packs = || crate::bench::damaged::packs_of(&sandbox.store());
    let first = packs();
    sandbox.write("a", "2").create("two");
    for pack in packs().iter().filter(|pack| !first.contains(pack)) {
        crate::bench::fixtures::remove(pack);
    }
    sandbox
        .fails(6, "show threee")
        .stderr_has("no readable checkpoint is 'threee', and checkpoint ");
}
