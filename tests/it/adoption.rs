//! Stores that were made by hand with plain git, and commits that plain git adds later: adopted,
//! never lost.

use std::path::Path;

use crate::bench::recipe::Made;
use crate::bench::{Recipe, Run, Sandbox, Tree, strace};

/// A sandbox without a `.git` of its own: the recipe would record that as a nested repository.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::bare();
    sandbox
        .write("src/main.rs", "fn main() {}\n")
        .write("a", "0")
        .write("run", "#!/bin/sh\n")
        .chmod("run", 0o755);
    sandbox
}

/// Makes one commit by hand per number, each with different content; returns them with their trees.
fn commits(
    recipe: &Recipe,
    sandbox: &Sandbox,
    numbers: std::ops::RangeInclusive<u32>,
) -> Vec<(Made, Tree)> {
    let one = |number: u32| {
        sandbox
            .write("a", format!("state {number}\n"))
            .write(format!("new/{number}"), "x".repeat(number as usize));
        if number > 1 {
            sandbox.remove(format!("new/{}", number - 1));
        }
        (
            recipe.checkpoint(&format!("pre-wave-{number}")),
            sandbox.tree(),
        )
    };
    numbers.map(one).collect()
}

#[track_caller]
fn assert_restores(sandbox: &Sandbox, made: &Made, tree: &Tree) {
    let run = sandbox.restore(&made.id[..8]);
    assert!(run.code == 0, "{}: {run}", made.reason);
    sandbox.tree().assert_is(tree, &made.reason);
}

fn all_ids(run: &Run) -> Vec<String> {
    let data = run.data();
    let listed = data["checkpoints"].as_array().expect("a list");
    listed
        .iter()
        .map(|row| row["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn a_store_made_by_hand_is_listed_without_writing_to_it() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    let made = commits(&recipe, &sandbox, 1..=5);
    let before = Tree::capture(&sandbox.store());
    let run = sandbox.ok("list --json");
    let ids: Vec<String> = made.iter().rev().map(|(made, _)| made.id.clone()).collect();
    assert_eq!(all_ids(&run), ids);
    let first = &run.data()["checkpoints"][0];
    assert_eq!(
        (&first["reason"], &first["source"]),
        (&"pre-wave-5".into(), &"build".into())
    );
    sandbox
        .run(&["show", &made[2].0.id[..8]])
        .success()
        .stdout_has("pre-wave-3");
    sandbox
        .ok("status")
        .stderr_has("plain git made 5 commits here");
    Tree::capture(&sandbox.store()).assert_is(&before, "after reading");
}

#[test]
fn rows_decide_what_is_adopted_and_evicted_commits_stay_evicted() {
    for branch in ["master", "main"] {
        let sandbox = sandbox();
        let Some(recipe) = Recipe::find(&sandbox) else {
            return;
        };
        recipe.init(branch);
        let made = commits(&recipe, &sandbox, 1..=60);
        recipe.evict(50);
        let run = sandbox.ok("create -r ours --keep 100 --yes");
        run.stderr_has("adopted 50 commits made with plain git");
        let ids = all_ids(&sandbox.ok("list --json"));
        let kept: Vec<String> = made[10..]
            .iter()
            .rev()
            .map(|(made, _)| made.id.clone())
            .collect();
        assert_eq!(ids[1..], kept, "{branch}");
        assert_eq!(recipe.fsck(), [""; 0], "{branch}");
        for (made, tree) in [&made[10], &made[35], &made[59]] {
            assert_restores(&sandbox, made, tree);
        }
        sandbox.undo().success();
        assert_eq!(
            recipe
                .git()
                .output(&["for-each-ref", "refs/heads", "--format=%(refname)"]),
            "refs/heads/main"
        );
    }
}

#[test]
fn without_a_manifest_every_commit_is_adopted() {
    let sandbox = sandbox();
    let Some(mut recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.with_manifest = false;
    recipe.init("master");
    let made = commits(&recipe, &sandbox, 1..=12);
    let ids: Vec<String> = made.iter().rev().map(|(made, _)| made.id.clone()).collect();
    assert_eq!(
        all_ids(&sandbox.ok("list --json")),
        ids,
        "a reader sees them"
    );
    sandbox.write("a", "ours").create("ours");
    assert_eq!(
        all_ids(&sandbox.ok("list --json"))[1..],
        ids,
        "a writer adopts them"
    );
    for (made, tree) in &made {
        assert_restores(&sandbox, made, tree);
    }
    assert_eq!(recipe.fsck(), [""; 0]);
}

#[test]
fn the_recipes_commands_and_ours_can_be_mixed_and_nothing_is_lost() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    let mut states = commits(&recipe, &sandbox, 1..=20);
    let ours = |name: &str| {
        sandbox.write("a", name);
        let id = sandbox.create_data(&["-r", name])["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        (
            Made {
                id,
                reason: name.to_owned(),
            },
            sandbox.tree(),
        )
    };
    states.push(ours("ours-1"));
    states.extend(commits(&recipe, &sandbox, 21..=25));
    recipe.restore(&states[3].0.id, "a");
    recipe.gc();
    states.push(ours("ours-2"));
    states.push(ours("ours-3"));
    states.extend(commits(&recipe, &sandbox, 26..=27));
    recipe.gc();
    let expected: Vec<String> = states
        .iter()
        .rev()
        .map(|(made, _)| made.id.clone())
        .collect();
    assert_eq!(
        all_ids(&sandbox.ok("list --json")),
        expected,
        "in the order in which they were made"
    );
    sandbox.ok("prune");
    assert_eq!(all_ids(&sandbox.ok("list --json")), expected);
    assert_eq!(recipe.fsck(), [""; 0]);
    sandbox.user_config("keep = 100\n");
    for (made, tree) in &states {
        sandbox.run(&["restore", &made.id, "--yes"]).success();
        sandbox.tree().assert_is(tree, &made.reason);
    }
    let last = recipe.checkpoint("after everything");
    assert_eq!(all_ids(&sandbox.ok("list --json"))[0], last.id);
    assert_eq!(recipe.fsck(), [""; 0]);
}

#[test]
fn the_room_of_an_adopted_line_comes_back_with_its_last_commit() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    for number in 0..20_u32 {
        sandbox.write("noise", noise(number, 300_000));
        recipe.checkpoint(&format!("n{number}"));
    }
    sandbox.remove("noise");
    assert!(sandbox.store_bytes() > 5_000_000);
    for number in 0..6 {
        sandbox
            .write("a", format!("{number}"))
            .ok("create -r ours --keep 5 --yes");
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    let index = std::fs::File::options()
        .write(true)
        .open(sandbox.store().join("index"))
        .expect("git's index");
    index.set_modified(long_ago).expect("its time can be set");
    sandbox
        .real_clock()
        .ok("prune --keep 5 --yes")
        .stdout_has("Pruned");
    assert!(
        sandbox.store_bytes() < 200_000,
        "{} bytes are left",
        sandbox.store_bytes()
    );
    assert_eq!(recipe.fsck(), [""; 0]);
    recipe.checkpoint("by hand again");
    assert_eq!(recipe.fsck(), [""; 0]);
}

fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()[4]
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn what_plain_git_staged_survives_a_prune_between_add_and_commit() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("main");
    recipe.checkpoint("one");
    sandbox.create("ours");
    sandbox.write("a", "staged").ok("status");
    recipe.git().ok("add -A");
    sandbox.real_clock().ok("prune");
    recipe.git().ok("commit -q -m 'two | t | build'");
    assert_eq!(recipe.fsck(), [""; 0]);
    sandbox.write("a", "x").mkdir("deep").write("deep/y", "y");
    recipe.git().ok("add -A");
    let tree = recipe.git().output(&["write-tree"]);
    sandbox.ok("prune --keep 1 --yes");
    assert_eq!(recipe.fsck(), [""; 0]);
    recipe.git().run(&["cat-file", "-e", &tree]).success();
    sandbox.write("a", "later").restore("two").success();
    assert_eq!(sandbox.read("a"), "staged");
}

#[test]
fn a_restore_of_an_adopted_commit_keeps_modes_and_leaves_alone_what_plain_git_could_not_record() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    sandbox
        .mkdir("empty")
        .write("nested/file", "n")
        .write("nested/.git/HEAD", "ref: refs/heads/x\n");
    let mut init = std::process::Command::new("git");
    init.args(["init", "-q", "nested2"])
        .current_dir(sandbox.root())
        .env("HOME", "/nonexistent");
    Run::of(init).success();
    sandbox.write("nested2/kept", "k");
    let mut commit = std::process::Command::new("git");
    commit.args([
        "-C",
        "nested2",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@e",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    Run::of({
        commit
            .current_dir(sandbox.root())
            .env("HOME", "/nonexistent");
        commit
    })
    .success();
    let made = recipe.checkpoint("one");
    assert!(
        recipe.git().output(&["ls-tree", "HEAD"]).contains("160000"),
        "git records a link to the nested one"
    );
    sandbox
        .write("a", "changed")
        .chmod("run", 0o700)
        .chmod("src", 0o750)
        .write("added", "x");
    sandbox
        .write(".env.example", "left alone")
        .write("nested2/kept", "still mine");
    sandbox.restore(&made.id[..8]).success();
    assert_eq!(sandbox.read("a"), "0");
    assert!(
        !sandbox.exists("added"),
        "what the recipe would have captured goes"
    );
    assert!(sandbox.exists("empty") && sandbox.read("nested2/kept") == "still mine");
    assert_eq!(sandbox.read(".env.example"), "left alone");
    assert_eq!(mode(&sandbox.path("run")), 0o700);
    assert_eq!(mode(&sandbox.path("src")), 0o750);
}

fn mode(path: &Path) -> u32 {
    crate::bench::fixtures::mode_of(path)
}

#[test]
fn an_adoption_that_was_killed_half_way_is_finished_by_the_next_writer() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    let made = commits(&recipe, &sandbox, 1..=6);
    recipe.evict(4);
    // As if the writer had died after the second ref: newest first, so the tip is already known.
    let folder = sandbox.store().join("refs/checkpoints");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (made, _) in &made[4..] {
        std::fs::write(folder.join(&made.id), format!("{}\n", made.id)).expect("a ref");
    }
    sandbox.create("ours");
    let ids = all_ids(&sandbox.ok("list --json"));
    let kept: Vec<String> = made[2..]
        .iter()
        .rev()
        .map(|(made, _)| made.id.clone())
        .collect();
    assert_eq!(ids[1..], kept);
    assert_eq!(recipe.fsck(), [""; 0]);
}

#[test]
fn a_detached_head_and_other_branches_are_adopted_too() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    let one = recipe.checkpoint("one");
    recipe.git().ok("checkout -q -b feature/x");
    sandbox.write("a", "2");
    let two = recipe.checkpoint("two");
    recipe.git().ok("checkout -q --detach");
    sandbox.write("a", "3");
    let three = recipe.checkpoint("three");
    std::fs::remove_file(recipe.manifest()).expect("the manifest can go");
    sandbox.create("ours");
    let ids = all_ids(&sandbox.ok("list --json"));
    assert_eq!(ids[1..], [three.id, two.id, one.id]);
    assert_eq!(recipe.fsck(), [""; 0]);
    assert_eq!(
        recipe.git().output(&["symbolic-ref", "HEAD"]),
        "refs/heads/main"
    );
}

#[test]
fn a_store_by_hand_under_another_project_folder_is_used_where_it_lies() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    commits(&recipe, &sandbox, 1..=3);
    let projects = sandbox.base().join("projects");
    let key = crate::bench::place::key(sandbox.root());
    std::fs::rename(projects.join(key), projects.join("some-hash-of-their-own")).expect("a rename");
    assert_eq!(sandbox.listed().len(), 3);
    sandbox.create("ours");
    assert_eq!(sandbox.listed().len(), 4);
    assert!(!sandbox.store().exists());
}

#[test]
fn a_time_that_no_calendar_has_is_named_and_the_commit_is_taken() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    sandbox.write("a", "1").create("one");
    for seconds in ["253402300800", "100000000000000000000"] {
        let git = recipe.git();
        let parent = git.output(&["rev-parse", "HEAD"]);
        let commit = format!(
            "tree {}\nparent {}\nauthor t <t> {seconds} +0000\ncommitter t <t> {seconds} +0000\n\nfar\n",
            git.output(&["rev-parse", "HEAD^{tree}"]).trim(),
            parent.trim()
        );
        let id = git.put("commit", commit.as_bytes());
        git.cmd(format!("update-ref refs/heads/main {id}"));
        let named = format!("commit {} of plain git has an absurd time", &id[..8]);
        sandbox.ok("list").stderr_has(&named);
        sandbox.write("a", seconds);
        sandbox.ok("create").stderr_has(&named);
        let again = sandbox.ok("list");
        assert!(!again.stderr.contains("absurd"), "{again}");
        sandbox.run(&["delete", &id[..8], "--yes"]).success();
    }
}

#[test]
fn a_time_before_1970_is_named_and_is_no_damage() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    sandbox.write("a", "1").create("one");
    let git = recipe.git();
    let tree = git.output(&["rev-parse", "HEAD^{tree}"]);
    let by = "t <t> -3600 +0000";
    let commit = format!("tree {}\nauthor {by}\ncommitter {by}\n\nold\n", tree.trim());
    let id = git.put("commit", commit.as_bytes());
    git.cmd(format!("update-ref refs/heads/main {id}"));
    let named = format!("commit {} of plain git has a time before 1970", &id[..8]);
    sandbox.write("a", "2");
    sandbox.ok("create").stderr_has(&named);
    sandbox.ok("verify --full");
    let bundle = sandbox.top().join("x.bundle").display().to_string();
    sandbox
        .run(&["export", "-o", &bundle])
        .code(5)
        .stderr_has("has a time before 1970, which git refuses");
}

#[test]
fn show_counts_what_an_adopted_commit_holds() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("master");
    let made = recipe.checkpoint("one");
    let shown = sandbox.shown(&made.id[..8]);
    assert_eq!(
        (&shown["file_count"], &shown["content_bytes"]),
        (&3.into(), &(13 + 1 + 10).into())
    );
}

#[test]
fn a_commit_without_parents_stands_where_its_time_says_and_is_not_evicted_for_it() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    sandbox.real_clock();
    for number in 1..=3 {
        sandbox
            .write("a", format!("v{number}"))
            .create(&format!("r{number}"));
    }
    sandbox.write("a", "by hand");
    recipe.git().ok("add -A");
    recipe
        .git()
        .ok("commit -q --amend -m 'hand | 2026-11-21 07:00:00 | me'");
    let hand = recipe.git().output(&["rev-parse", "HEAD"]);
    assert_eq!(sandbox.listed()[0]["id"], hand.as_str(), "it is the newest");
    sandbox.write("a", "v5").ok("create -r r5 --keep 3 --yes");
    let mut kept: Vec<String> = sandbox
        .listed()
        .iter()
        .map(|c| c["reason"].as_str().expect("text").into())
        .collect();
    // A commit records its time in seconds only, so the order of the two newest is undefined here.
    kept.sort();
    assert_eq!(kept, ["hand", "r3", "r5"]);
    sandbox.ok("prune --keep 2 --yes");
    sandbox.restore("hand").success();
    assert_eq!(sandbox.read("a"), "by hand");
}

#[test]
fn an_annotated_tag_that_plain_git_made_lives_on_and_keeps_nobody_from_pruning() {
    for packed in [false, true] {
        let sandbox = sandbox();
        let Some(recipe) = Recipe::find(&sandbox) else {
            return;
        };
        recipe.init("main");
        let made = commits(&recipe, &sandbox, 1..=4);
        recipe
            .git()
            .run(&["tag", "-a", "-m", "a release", "v1", &made[1].0.id])
            .success();
        recipe.git().ok("tag -a -m 'of a tag' v2 v1");
        if packed {
            recipe.git().ok("repack -a -d -f -q");
            recipe.git().ok("pack-refs --all");
        }
        let tags = recipe.git().output(&["rev-parse", "v1", "v2"]);
        // Git's own index names trees of the commits that are dropped.
        std::fs::remove_file(sandbox.store().join("index")).unwrap();
        sandbox.write("a", "ours").create("ours");
        sandbox.write("a", "again").create("again");
        sandbox.ok("prune --dry-run");
        sandbox.ok("prune --keep 1 --yes");
        sandbox.write("b", "more").create("more");
        sandbox.ok("prune --keep 1 --yes");
        assert_eq!(recipe.fsck(), [""; 0], "packed {packed}");
        assert_eq!(recipe.git().output(&["rev-parse", "v1", "v2"]), tags);
        assert_eq!(recipe.git().output(&["cat-file", "-t", "v2"]), "tag");
        assert_eq!(
            recipe.git().output(&["rev-parse", "v2^{commit}"]),
            made[1].0.id
        );
        sandbox.ok("verify --full");
    }
}

#[test]
fn a_commit_by_hand_and_creates_in_one_second_keep_their_order() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    recipe.init("main");
    let by_hand = recipe.checkpoint("pre-wave-1");
    let mut expected = vec![by_hand.id[..8].to_owned()];
    for (number, millis) in [(2, 100), (3, 500), (4, 900)] {
        sandbox
            .at(&format!("2026-03-20T09:46:40.{millis}Z"))
            .write("a", number.to_string());
        expected.insert(0, sandbox.create(&format!("pre-wave-{number}")));
        assert_eq!(sandbox.listed_ids(), expected);
    }
    sandbox.write("a", "an edit");
    sandbox.restore("latest").success();
    assert_eq!(sandbox.read("a"), "4");
    assert_eq!(sandbox.listed().last().expect("it is there")["sequence"], 1);
}

#[test]
fn a_full_disk_keeps_no_command_from_a_store_whose_adopted_commits_have_no_noted_place() {
    let sandbox = sandbox();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    if !strace::available() {
        return;
    }
    recipe.init("main");
    let made = commits(&recipe, &sandbox, 1..=3);
    sandbox.create("ours");
    let noted = sandbox.store().join("checkpoint/adopted");
    let text = std::fs::read_to_string(&noted).expect("the places were noted");
    std::fs::write(&noted, "torn").unwrap();
    // The first rename of the command is that of this file.
    let args = ["delete", &made[0].0.id[..8], "--yes"];
    let run = strace::failing_nth(&sandbox, "rename,renameat,renameat2", "ENOSPC", 1, &args);
    assert!(strace::has_struck(&sandbox), "{run}");
    run.success();
    sandbox.create("room again");
    let again = std::fs::read_to_string(&noted).unwrap();
    assert!(
        text.contains(&made[2].0.id) && again.contains(&made[2].0.id),
        "{again}"
    );
}
