//! Lines that are bad, gone or gone back at a remote, and stores that lost what a remote has.

use std::path::PathBuf;

use crate::bench::remote::{Remote, text};
use crate::bench::{Recipe, Sandbox, damaged};

struct Stage {
    from: Sandbox,
    remote: Remote,
    to: Sandbox,
}

impl Stage {
    /// A machine that pushed `one` and `two`, and another with the same project that pushed `three`.
    fn new() -> Option<(Self, Vec<PathBuf>)> {
        let from = Sandbox::new();
        let remote = Remote::bare_directory(&from)?;
        from.write("a", "one");
        from.create("one");
        let packs = damaged::packs_of(&from.store());
        from.write("b", "two");
        from.create("two");
        remote.add_to(&from);
        from.ok("push");
        let to = Sandbox::bare();
        to.at("2026-05-01T00:00:00Z");
        remote.reach_from(&to);
        to.run_in(to.home(), &["clone", remote.url(), &text(to.root())])
            .success();
        to.write("c", "three");
        to.create("three");
        to.ok("push");
        Some((Self { from, remote, to }, packs))
    }

    /// The lines at the remote: ids and refs.
    fn lines(&self) -> Vec<(String, String)> {
        let refs = self.remote.refs();
        let line = |row: &str| {
            row.split_once(' ')
                .map(|(id, name)| (id.to_owned(), name.to_owned()))
        };
        refs.lines().filter_map(line).collect()
    }

    /// The line whose newest carrier has a checkpoint of this reason.
    fn line_of(&self, sandbox: &Sandbox) -> String {
        let id = sandbox.shown("latest")["id"].as_str().map(str::to_owned);
        let id = id.expect("an id");
        let git = self.remote.git();
        let says = |name: &str| git.output(&["log", "--format=%B", name]).contains(&id);
        let lines = self.lines().into_iter().map(|(_, name)| name);
        lines.into_iter().find(|name| says(name)).expect("a line")
    }
}

#[test]
fn a_damaged_checkpoint_of_a_remote_is_named_and_fetched_again() {
    let (from, to) = (Sandbox::new(), Sandbox::new());
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "there").create("there");
    remote.add_to(&from);
    from.ok("push");
    to.write("a", "here").create("here");
    remote.add_to(&to);
    let own = damaged::packs_of(&to.store());
    to.ok("fetch");
    to.restore("origin/latest").success();
    for pack in damaged::packs_of(&to.store()) {
        if !own.contains(&pack) {
            let len = pack.metadata().expect("a pack").len();
            damaged::flip(&pack, usize::try_from(len).expect("a small pack") / 2, 1);
        }
    }
    to.fails(6, "verify origin/latest --full");
    to.ok("fetch --refetch");
    to.ok("verify origin/latest --full");
}

#[test]
fn what_this_store_lost_comes_from_a_remote_again() {
    let Some((stage, packs)) = Stage::new() else {
        return;
    };
    let Stage { from, to, .. } = &stage;
    for pack in &packs {
        std::fs::remove_file(pack).expect("it is removed");
    }
    from.ok("fetch");
    from.ok("verify origin/latest");
    // The index of the pack is left.
    from.ok("verify --repair");
    from.ok("verify --full");
    assert_eq!(from.listed().len(), 2);
    from.restore("origin/latest").success();
    from.tree().assert_is(&to.tree(), "restored");
}

#[test]
fn a_push_that_would_drop_what_is_damaged_here_is_refused() {
    let Some((stage, packs)) = Stage::new() else {
        return;
    };
    let (from, before) = (&stage.from, stage.lines());
    for pack in &packs {
        std::fs::remove_file(pack).expect("it is removed");
    }
    from.fails(6, "push --prune")
        .stderr_has("'checkpoint fetch origin --refetch' brings what is there");
    assert_eq!(stage.lines(), before);
    from.ok("fetch --refetch")
        .stdout_has("and what was pushed from here");
    from.ok("verify --repair");
    assert_eq!(from.listed().len(), 2);
    from.ok("push --prune");
}

#[test]
fn a_checkpoint_that_is_damaged_here_and_never_was_there_bars_no_prune() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "one");
    from.create("one");
    remote.add_to(&from);
    from.write("a", "kept");
    from.create("kept");
    from.ok("push");
    from.ok("delete one --yes");
    let before = damaged::packs_of(&from.store());
    from.write("a", "two");
    from.create("two");
    let id = from.shown("two")["short"].as_str().map(str::to_owned);
    let packs = damaged::packs_of(&from.store());
    from.write("a", "three");
    from.create("three");
    for pack in packs.iter().filter(|pack| !before.contains(pack)) {
        std::fs::remove_file(pack).expect("it is removed");
    }
    from.fails(5, "push --prune")
        .stderr_has(&id.expect("an id"));
    let to = Sandbox::bare();
    remote.reach_from(&to);
    to.run_in(to.home(), &["clone", remote.url(), &text(to.root())])
        .success();
    let reasons = to.ok("list");
    assert!(!reasons.stdout.contains("one"), "{reasons}");
    reasons.stdout_has("three");
}

#[test]
fn a_push_from_a_damaged_store_says_so() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "one");
    from.create("one");
    let packs = damaged::packs_of(&from.store());
    from.write("b", "two");
    from.create("two");
    remote.add_to(&from);
    for pack in &packs {
        std::fs::remove_file(pack).expect("it is removed");
    }
    from.fails(6, "push")
        .stderr_has("is damaged here")
        .stderr_has("checkpoint verify");
    assert_eq!(remote.refs(), "");
}

#[test]
fn a_line_that_went_back_stays_here_until_it_is_forgotten() {
    let Some((stage, _)) = Stage::new() else {
        return;
    };
    let Stage { from, remote, to } = &stage;
    to.write("c", "four");
    to.create("four");
    to.ok("push");
    from.ok("fetch");
    let line = stage.line_of(to);
    let git = remote.git();
    git.run(&["update-ref", &line, &format!("{line}^1")]);
    let said = from.ok("fetch");
    said.stdout_has("1 line is here and no longer there");
    from.ok("show origin/four");
    from.ok("fetch --refetch");
    from.ok("show origin/four");
    from.ok("fetch --prune")
        .stdout_has("Forgot 1 line that is no longer there");
    from.fails(3, "show origin/four");
    from.ok("show origin/three");
}

#[test]
fn a_bad_line_is_dropped_from_another_machine() {
    let Some((stage, _)) = Stage::new() else {
        return;
    };
    let Stage { from, remote, to } = &stage;
    let line = stage.line_of(to);
    let git = remote.git();
    let tree = String::from_utf8(git.filter(&["mktree"], b"")).expect("an id");
    let other = git.output(&[
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
        "commit-tree",
        "-m",
        "x",
        tree.trim(),
    ]);
    git.run(&["update-ref", &line, other.trim()]);
    let refused = from.fails(6, "fetch");
    refused.stderr_has(&format!("checkpoint remote remove origin --line {line}"));
    from.run(&["remote", "remove", "origin", "--line", &line])
        .code(4);
    from.fails(2, "remote remove origin --line refs/heads/main --yes");
    from.run(&["remote", "remove", "origin", "--line", &line, "--yes"])
        .success()
        .stdout_is(&format!("Removed {line} at origin\n"));
    from.run(&["remote", "remove", "origin", "--line", &line, "--yes"])
        .code(3);
    from.ok("fetch");
    to.ok("push");
    from.ok("fetch");
    from.ok("show origin/three");
}

#[test]
fn the_last_checkpoint_can_be_taken_off_a_remote() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "secret");
    from.create("secret");
    remote.add_to(&from);
    from.ok("push");
    from.ok("delete secret --yes");
    from.ok("push --prune")
        .stdout_has("Removed 1 former line there");
    assert_eq!(remote.refs(), "");
}

#[test]
fn a_bad_line_does_not_bar_the_others() {
    let Some((stage, _)) = Stage::new() else {
        return;
    };
    let Stage { remote, to, .. } = &stage;
    let line = stage.line_of(to);
    let names = stage.lines().into_iter().map(|(_, name)| name);
    let good = names.into_iter().find(|name| *name != line);
    let good = good.expect("another line");
    let git = remote.git();
    let missing = git.filter(&["hash-object", "-w", "--stdin"], b"soon gone");
    let missing = String::from_utf8(missing).expect("an id");
    let entry = format!("100644 blob {}\trefs\n", missing.trim());
    let tree = String::from_utf8(git.filter(&["mktree"], entry.as_bytes())).expect("an id");
    let who = ["-c", "user.name=x", "-c", "user.email=x", "commit-tree"];
    let other = git.output(&[&who[..], &["-m", "x", tree.trim()]].concat());
    git.run(&["update-ref", &line, other.trim()]);
    let (folder, name) = missing.trim().split_at(2);
    let object = remote.place().join("objects").join(folder).join(name);
    // Git sends the first, and fails at the second.
    for is_gone in [false, true] {
        if is_gone {
            std::fs::remove_file(&object).expect("it is removed");
        }
        let third = Sandbox::new();
        third.write("x", "x");
        third.create("x");
        remote.add_to(&third);
        for _ in 0..2 {
            let run = third.fails(5, "fetch");
            run.stderr_has(&format!("{line} of origin was not taken"))
                .stderr_has(&format!("checkpoint remote remove origin --line {line}"));
            third.ok("show origin/two");
        }
        let cloned = Sandbox::bare();
        remote.reach_from(&cloned);
        let clone = ["clone", remote.url(), &text(cloned.root())];
        let run = cloned.run_in(cloned.home(), &clone).code(5);
        let there = text(cloned.root());
        run.stderr_has(&format!(
            "'checkpoint -C {there} remote remove origin --line {line}'"
        ));
        assert_eq!(cloned.read("b"), "two");
        cloned.ok("verify --full");
    }
    let odd = "refs/lines/no/line-of-ours";
    git.run(&["update-ref", odd, &format!("{line}^{{commit}}")]);
    git.run(&["update-ref", "-d", &line]);
    let run = to.fails(5, "fetch");
    run.stderr_has(&format!("{odd} of origin was not taken"))
        .stderr_has(&format!("checkpoint remote remove origin --line {odd}"));
    to.run(&["remote", "remove", "origin", "--line", odd, "--yes"])
        .success();
    to.ok("fetch");
    git.run(&["update-ref", &line, other.trim()]);
    git.run(&["update-ref", "-d", &good]);
    let alone = Sandbox::bare();
    remote.reach_from(&alone);
    let run = alone.run_in(alone.home(), &["clone", remote.url(), &text(alone.root())]);
    assert!(!run.stderr.contains("--line"), "{run}");
    assert!(matches!(run.code, 1 | 6), "{run}");
}

#[test]
fn a_push_that_git_refuses_for_another_line_says_who_names_it() {
    let Some((stage, _)) = Stage::new() else {
        return;
    };
    let line = stage.line_of(&stage.to);
    // As after a loss of power at the server.
    std::fs::write(stage.remote.place().join(&line), "").expect("it is written");
    stage.from.write("a", "more").create("more");
    let run = stage.from.fails(1, "push");
    run.stderr_has(&format!("'checkpoint remote remove origin --line {line}'"));
    let run = stage.from.fails(6, "fetch").stderr_has(&line);
    assert!(!run.stderr.contains("\\x0a"), "{run}");
    let drop = ["remote", "remove", "origin", "--line", &line, "--yes"];
    let how = format!("in that repository, removing the file {line} does it");
    stage.from.run(&drop).code(1).stderr_has(&how);
    std::fs::remove_file(stage.remote.place().join(&line)).expect("it is removed");
    stage.from.ok("push");
}

#[test]
fn one_damaged_checkpoint_is_left_out_of_a_push_and_an_export() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "one");
    let one = from.create("one");
    let packs = damaged::packs_of(&from.store());
    from.write("a", "two");
    from.create("two");
    for pack in &packs {
        std::fs::remove_file(pack).expect("it is removed");
    }
    remote.add_to(&from);
    let left = format!("checkpoint {one} was left out");
    from.fails(5, "push").stderr_has(&left);
    from.fails(5, "push").stderr_has(&left);
    let bundle = text(&from.top().join("x.bundle"));
    let run = from.run(&["export", "-o", &bundle]).code(5);
    run.stderr_has(&left);
    let to = Sandbox::new();
    to.run(&["import", &bundle]).success();
    remote.add_to(&to);
    to.ok("fetch");
    to.ok("show origin/two");
    to.fails(3, "show origin/one");
}

#[test]
fn what_plain_git_made_and_others_refuse_is_left_out_by_name_on_every_way_out() {
    let from = Sandbox::new();
    let (Some(remote), Some(recipe)) = (Remote::bare_directory(&from), Recipe::find(&from)) else {
        return;
    };
    from.write("a", "good").create("good");
    let git = |words: &[&str]| recipe.git().output(words).trim().to_owned();
    from.write("a", "far away");
    git(&["add", "-A"]);
    let tree = git(&["write-tree"]);
    let past = recipe.git().filter(
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        format!(
            "tree {tree}\nparent {}\nauthor t <t> 253402300800 +0000\ncommitter t <t> 253402300800 +0000\n\nfar away\n",
            git(&["rev-parse", "HEAD"])
        )
        .as_bytes(),
    );
    let blob = git(&["rev-parse", ":a"]);
    let named = recipe.git().filter(
        &["mktree"],
        format!("100644 blob {blob}\t.GIT\n").as_bytes(),
    );
    let (past, named) = (past.trim_ascii_end(), named.trim_ascii_end());
    let (past, named) = (
        String::from_utf8_lossy(past),
        String::from_utf8_lossy(named),
    );
    let newest = git(&["commit-tree", "-p", &past, "-m", "named", &named]);
    git(&["update-ref", "refs/heads/main", &newest]);
    from.write("a", "after").create("after");
    from.fails(6, "verify")
        .stdout_has("(named): .: the tree has the forbidden name '.GIT'");
    remote.add_to(&from);
    for out in [&["push"][..], &["export", "-o", "../x.bundle"]] {
        let run = from.run(out).code(5);
        run.stderr_has("was left out, it is damaged: .: the tree has the forbidden name '.GIT'");
    }
    let to = Sandbox::bare();
    remote.reach_from(&to);
    to.run_in(to.home(), &["clone", remote.url(), &text(to.root())])
        .success();
    for reason in ["good", "far away", "after"] {
        to.restore(reason).success();
        assert_eq!(to.read("a"), reason);
    }
    let bundle = from.root().with_file_name("x.bundle");
    let third = Sandbox::bare();
    third.run(&["import", &text(&bundle)]).success();
    third.restore("far away").success();
}
