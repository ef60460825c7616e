//! `verify`: what it finds, what it reports, and that it repairs without deleting.

use std::fs;
use std::path::PathBuf;

use crate::bench::damaged::{damaged_copies, flip, loose_of, packs_of, put};
use crate::bench::{Git, Recipe, Sandbox, fixtures};

/// Three checkpoints, each with its own pack; the middle of the largest file is in the first.
fn story() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/a.rs", "one")
        .write("big", fixtures::noise(1, 60_000))
        .mkdir("empty");
    let mut ids = vec![sandbox.create("first")];
    sandbox.write("src/a.rs", "two");
    ids.push(sandbox.create("second"));
    sandbox.write("src/b.rs", "new");
    ids.push(sandbox.create("third"));
    (sandbox, ids)
}

/// The pack that holds the large file.
fn largest_pack(sandbox: &Sandbox) -> PathBuf {
    packs_of(&sandbox.store())
        .into_iter()
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap()
}

fn spoil_big(sandbox: &Sandbox) {
    flip(&largest_pack(sandbox), 30_000, 0xff);
}

#[test]
fn nothing_wrong_is_one_line() {
    let (sandbox, _) = story();
    let run = sandbox.ok("verify");
    assert!(
        run.stdout
            .starts_with("verified: 3 checkpoints, 14 objects, 59.")
            && run.stdout.ends_with(" KiB\n"),
        "{run}"
    );
    assert_eq!((run.stdout.lines().count(), run.stderr.as_str()), (1, ""));
    sandbox
        .ok("verify --full")
        .stdout_has("verified: 3 checkpoints, 14 objects, ");
    sandbox
        .ok("verify second")
        .stdout_has("verified: 1 checkpoint, ");
    sandbox
        .ok("verify --repair")
        .stdout_has("nothing to repair\nverified: ");
}

#[test]
fn without_a_store_verify_says_so() {
    let sandbox = Sandbox::new();
    let run = sandbox.ok("verify").stdout_is("");
    assert!(!run.stderr.is_empty(), "{run}");
    sandbox.fails(3, "verify latest");
    sandbox.ok("verify --repair");
    assert!(!sandbox.store().exists());
}

#[test]
fn a_flipped_byte_is_named_with_each_checkpoint_and_path_by_a_full_check_only() {
    let (sandbox, ids) = story();
    spoil_big(&sandbox);
    sandbox.ok("verify");
    let run = sandbox.fails(6, "verify --full");
    for (id, reason) in ids.iter().zip(["first", "second", "third"]) {
        assert!(
            run.stdout.contains(&format!("{id} ({reason}): big: ")),
            "{run}"
        );
    }
    assert!(run.stdout.contains("damaged: objects/pack/pack-"), "{run}");
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    assert!(run.stderr.contains("--repair"), "{run}");
}

#[test]
fn a_check_of_one_checkpoint_is_not_about_the_others() {
    let (sandbox, ids) = story();
    sandbox.write("only-here", fixtures::noise(2, 90_000));
    let fourth = sandbox.create("fourth");
    spoil_big(&sandbox);
    sandbox.ok(format!("verify {} --full", ids[0]));
    sandbox
        .run(&["verify", &fourth, "--full"])
        .code(6)
        .stdout_has("(fourth): only-here: ");
}

#[test]
fn a_missing_pack_is_noticed_by_a_quick_check() {
    let (sandbox, ids) = story();
    let pack = largest_pack(&sandbox);
    fs::remove_file(&pack).unwrap();
    fs::remove_file(pack.with_extension("idx")).unwrap();
    let run = sandbox.fails(6, "verify");
    assert!(
        run.stdout.contains(&ids[0]) && run.stdout.contains("(second): big: object"),
        "{run}"
    );
}

#[test]
fn a_reader_writes_nothing_whatever_it_finds() {
    let (sandbox, _) = story();
    fs::write(sandbox.store().join("HEAD"), "").unwrap();
    fs::remove_file(largest_pack(&sandbox).with_extension("idx")).unwrap();
    sandbox.watch(&sandbox.store()).watch(sandbox.root());
    sandbox.ok("verify").stdout_has(".idx: it is missing");
    spoil_big(&sandbox);
    sandbox.renew_watches();
    sandbox.fails(6, "verify --full --json");
}

#[test]
fn derived_things_alone_are_no_failure() {
    let (sandbox, _) = story();
    for name in [
        "HEAD",
        "config",
        "checkpoint-manifest.md",
        "refs/heads/main",
        "checkpoint/description",
    ] {
        put(&sandbox.store().join(name), b"\0\0");
    }
    fs::remove_dir_all(sandbox.store().join("refs/meta")).unwrap();
    let run = sandbox.ok("verify");
    for name in [
        "HEAD",
        "config",
        "checkpoint-manifest.md",
        "refs/heads/main",
        "checkpoint/description",
        "refs/meta/",
    ] {
        assert!(
            run.stdout.contains(&format!("will be rebuilt: {name}")),
            "{name}\n{run}"
        );
    }
    sandbox.ok("verify --repair").stdout_has("rebuilt: HEAD");
    let run = sandbox.ok("verify");
    assert!(!run.stdout.contains("rebuilt"), "{run}");
    assert!(
        damaged_copies(&sandbox.store()).is_empty(),
        "nothing was damaged"
    );
}

#[test]
fn a_lost_index_costs_nothing_and_the_next_writer_makes_it_anew() {
    for harm in [None, Some(0), Some(500), Some(1100)] {
        let (sandbox, ids) = story();
        let before = sandbox.tree();
        for pack in packs_of(&sandbox.store()) {
            let index = pack.with_extension("idx");
            match harm {
                None => fs::remove_file(&index).unwrap(),
                Some(len) => put(&index, &fs::read(&index).unwrap()[..len]),
            }
        }
        assert_eq!(sandbox.listed_ids().len(), 3, "{harm:?}");
        sandbox.ok(format!("show {}", ids[0]));
        sandbox
            .restore(&ids[0])
            .success()
            .stderr_has("the index of 3 packs");
        sandbox.undo().success();
        sandbox.tree().assert_is(&before, "after the undo");
        sandbox.ok("verify --full");
        assert!(
            packs_of(&sandbox.store()).iter().all(
                |pack| cfg!(windows) || fixtures::mode_of(&pack.with_extension("idx")) == 0o600
            )
        );
    }
}

#[test]
fn the_index_of_a_pack_with_deltas_is_made_anew_and_git_agrees() {
    let (sandbox, ids) = story();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    git.ok("gc -q --prune=now");
    let pack = packs_of(&sandbox.store()).remove(0);
    let index = pack.with_extension("idx");
    let expected = fs::read(&index).unwrap();
    fs::remove_file(&index).unwrap();
    sandbox.restore(&ids[0]).success();
    assert_eq!(
        fs::read(&index).unwrap(),
        expected,
        "not what git itself writes"
    );
    git.ok("fsck --full --strict");
}

#[test]
fn what_still_stands_in_the_directory_makes_a_checkpoint_whole_again() {
    let (sandbox, ids) = story();
    let store = sandbox.store();
    let pack = largest_pack(&sandbox);
    spoil_big(&sandbox);
    let harmed = fs::read(&pack).unwrap();
    let run = sandbox
        .ok("verify --repair")
        .stdout_has("repaired: 3 checkpoints");
    let kept = damaged_copies(&store);
    assert_eq!(kept.len(), 1, "{run}");
    assert!(run.stdout.contains(kept[0].to_str().unwrap()), "{run}");
    assert_eq!(
        fs::read(kept[0].join(pack.strip_prefix(&store).unwrap())).unwrap(),
        harmed
    );
    sandbox.ok("verify --full");
    sandbox.remove("big");
    sandbox.restore(&ids[0]).success();
    assert_eq!(
        fs::read(sandbox.path("big")).unwrap(),
        fixtures::noise(1, 60_000)
    );
    sandbox.ok("prune");
}

#[test]
fn a_file_that_was_renamed_since_is_found_by_its_bytes() {
    let (sandbox, ids) = story();
    fs::rename(sandbox.path("big"), sandbox.path("elsewhere")).unwrap();
    spoil_big(&sandbox);
    sandbox.ok("verify --repair");
    sandbox.restore(&ids[2]).success();
    assert_eq!(
        fs::read(sandbox.path("big")).unwrap(),
        fixtures::noise(1, 60_000)
    );
}

#[test]
fn trees_come_back_from_the_directory_too() {
    let sandbox = Sandbox::new();
    sandbox.write("d/e/f", "1").write("g", "2");
    let id = sandbox.create("only");
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    let gone = [
        format!("{id}:d/e"),
        format!("{id}:d"),
        format!("{id}:d/e/f"),
    ]
    .map(|name| git.output(&["rev-parse", &name]));
    let pack = largest_pack(&sandbox);
    let aside = sandbox.top().join("aside");
    fs::rename(&pack, &aside).unwrap();
    fs::remove_file(pack.with_extension("idx")).unwrap();
    git.filter(&["unpack-objects", "-q"], &fs::read(&aside).unwrap());
    for path in loose_of(&sandbox.store()) {
        let name = format!(
            "{}{}",
            path.parent().unwrap().file_name().unwrap().display(),
            path.file_name().unwrap().display()
        );
        if gone.contains(&name) {
            fs::remove_file(&path).unwrap();
        }
    }
    sandbox.fails(6, "verify").stdout_has("(only): d: ");
    sandbox.ok("verify --repair");
    git.ok("fsck --full --strict");
}

#[test]
fn what_cannot_be_made_whole_is_named_and_what_is_left_of_it_can_be_restored() {
    let (sandbox, ids) = story();
    sandbox.write("text", "last").remove("big");
    let last = sandbox.create("without big");
    spoil_big(&sandbox);
    let run = sandbox.fails(6, "verify --repair");
    let kept = damaged_copies(&sandbox.store());
    assert!(
        run.stdout
            .contains("salvaged: 1 of 4 checkpoints, 3 more in part"),
        "{run}"
    );
    assert!(
        run.stdout.contains(&format!("{} (first): big: ", ids[0])),
        "{run}"
    );
    assert!(run.stdout.contains(kept[0].to_str().unwrap()), "{run}");
    assert_eq!(
        sandbox.listed_ids().len(),
        4,
        "nothing is taken from the list"
    );
    sandbox.fails(6, "verify --repair");
    assert_eq!(
        damaged_copies(&sandbox.store()).len(),
        1,
        "a second repair has nothing to salvage"
    );
    sandbox.ok("prune");
    sandbox.restore(&ids[0]).code(6);
    sandbox.ok(format!("restore {} src/a.rs --yes", ids[0]));
    assert_eq!(sandbox.read("src/a.rs"), "one");
    sandbox.restore(&last).success();
    sandbox.ok(format!("delete {} {} {} --yes", ids[0], ids[1], ids[2]));
    sandbox.ok("prune");
    // The bytes are found again: the kept copy has all the rest.
    let name = kept[0].join("refs/checkpoints");
    assert_eq!(fs::read_dir(name).unwrap().count(), 4);
}

#[test]
fn an_unreadable_journal_is_set_aside_and_undo_still_leads_back() {
    let (sandbox, ids) = story();
    let before = sandbox.tree();
    sandbox.restore(&ids[0]).success();
    fs::write(sandbox.store().join("checkpoint/journal"), "\0\0\0").unwrap();
    sandbox.fails(6, "verify").stdout_has("checkpoint/journal");
    sandbox.fails(6, "prune");
    let refused = sandbox.fails(4, format!("restore {} --yes", ids[1]));
    let refused = refused.stderr_has("'checkpoint undo' takes it back");
    assert!(!refused.stderr.contains("--resume"), "{refused}");
    sandbox.ok("verify --repair").stdout_has("set aside: ");
    sandbox.ok("prune");
    sandbox.undo().success();
    sandbox.tree().assert_is(&before, "after the undo");
}

#[test]
fn a_repair_leaves_no_cache_that_does_not_add_up() {
    let (sandbox, _) = story();
    for name in ["stat-cache", "left-out", "size-gate"] {
        fs::write(sandbox.store().join("checkpoint").join(name), "\0\0").unwrap();
    }
    sandbox
        .ok("verify")
        .stdout_has("will be rebuilt: checkpoint/stat-cache");
    sandbox.ok("verify --repair");
    let run = sandbox.ok("verify");
    assert!(!run.stdout.contains("rebuilt"), "{run}");
}

#[test]
fn a_pin_and_the_exclusion_list_survive_a_salvage() {
    let (sandbox, ids) = story();
    let pinned = sandbox.shown(&ids[1])["id"].as_str().unwrap().to_owned();
    fs::write(
        sandbox.store().join("refs/pins").join(&pinned),
        format!("{pinned}\n"),
    )
    .unwrap();
    let list = sandbox.store().join(".gitignore");
    fs::write(&list, "*.mine\n").unwrap();
    spoil_big(&sandbox);
    sandbox.ok("verify --repair").stdout_has("salvaged: 3 of 3");
    assert_eq!(sandbox.shown(&ids[1])["pinned"], true);
    assert_eq!(fs::read_to_string(&list).unwrap(), "*.mine\n");
}

#[test]
fn damage_of_content_is_named_with_the_check_that_finds_it() {
    let (sandbox, _) = story();
    spoil_big(&sandbox);
    sandbox.ok("verify");
    let failed = sandbox.fails(6, "cat first:big --json");
    let command = failed.json()["error"]["command"].clone();
    assert_eq!(
        command,
        serde_json::json!(["checkpoint", "verify", "--full"])
    );
    let failed = sandbox.fails(6, "verify --full --json");
    let error = failed.json()["error"].clone();
    assert_eq!(
        error["command"],
        serde_json::json!(["checkpoint", "verify", "--repair"])
    );
    assert_eq!(error["code"], "damaged");
}

#[test]
fn a_repair_that_loses_a_workflow_says_so_and_not_that_it_lost_nothing() {
    let (sandbox, _) = story();
    let objects = sandbox.store().join("objects");
    let before = fixtures::files_below(&objects);
    sandbox.ok("workflow init --id w --phase a");
    for file in fixtures::files_below(&objects) {
        if !before.contains(&file) {
            fs::remove_file(file).expect("a file is removed");
        }
    }
    let run = sandbox.fails(6, "verify --repair --json");
    let error = run.json()["error"].clone();
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("1 ref could not be repaired"), "{run}");
    assert!(error["command"].is_null(), "{run}");
    sandbox.ok("verify --full");
}

#[test]
fn a_dry_run_names_damage_as_the_run_would() {
    let (sandbox, ids) = story();
    let before = packs_of(&sandbox.store());
    sandbox.write("src/c.rs", "newest");
    sandbox.create("fourth");
    for pack in packs_of(&sandbox.store()) {
        if !before.contains(&pack) {
            fs::remove_file(pack.with_extension("idx")).expect("an index is removed");
            fs::remove_file(pack).expect("a pack is removed");
        }
    }
    for args in [
        &["restore", "@", "--dry-run", "--json"][..],
        &["delete", &ids[0], "--dry-run", "--json"],
    ] {
        let run = sandbox.run(args).success();
        assert_eq!(run.warning_codes(), ["damaged_checkpoint"], "{run}");
    }
}

#[test]
fn an_absurd_sequence_number_spoils_nothing_that_follows() {
    for number in [1 << 53, (1 << 53) + 1, u64::from(u32::MAX) << 31, u64::MAX] {
        let sandbox = Sandbox::new();
        let Some(recipe) = Recipe::find(&sandbox) else {
            return;
        };
        sandbox.write("a", "1").create("one");
        let git = |words: &[&str]| recipe.git().output(words).trim().to_owned();
        let newest = git(&["rev-parse", "refs/heads/main"]);
        let commit = git(&["cat-file", "commit", &newest]);
        let forged = commit.replace("Sequence: 1\n", &format!("Sequence: {number}\n"));
        assert_ne!(forged, commit);
        let words = ["hash-object", "-w", "-t", "commit", "--stdin"];
        let forged = recipe
            .git()
            .filter(&words, format!("{forged}\n").as_bytes());
        let forged = String::from_utf8_lossy(forged.trim_ascii_end()).into_owned();
        git(&["update-ref", &format!("refs/checkpoints/{forged}"), &forged]);
        for reason in ["two", "three", "four"] {
            sandbox.write("a", reason);
            let run = sandbox.run(&["create", "--require", "-q", "-r", reason, "--keep", "3"]);
            let id = run.success().stdout.trim().to_owned();
            sandbox.ok(format!("show {id}")).stdout_has(reason);
            sandbox.ok("show latest").stdout_has(reason);
            sandbox.ok(format!("verify {id}"));
        }
    }
}

#[test]
fn a_lock_that_a_killed_git_left_is_no_damaged_ref() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write(sandbox.store().join("refs/heads/main.lock"), "");
    sandbox.ok("verify");
    sandbox.ok("prune");
    sandbox.write("a", "2").create("two");
}
