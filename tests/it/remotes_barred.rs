//! One bad line at a remote, one refused checkpoint, one push that was cut short: what is good goes
//! on its way, and what is bad is named with the command that mends it.

use std::path::PathBuf;

use crate::bench::remote::{Remote, text};
use crate::bench::{Git, Recipe, Run, Sandbox, damaged, fixtures, os};

/// A server with a line of `one`, one of `two`, and a machine that fetched neither.
struct Stage {
    one: Sandbox,
    two: Sandbox,
    third: Sandbox,
    remote: Remote,
    /// The line of `two`.
    line: String,
}

impl Stage {
    fn new() -> Option<Self> {
        let [one, two, third] = [(); 3].map(|()| Sandbox::new());
        let remote = Remote::bare_directory(&one)?;
        let mut before = String::new();
        for (sandbox, reason) in [(&one, "one"), (&two, "two")] {
            before = remote.refs();
            let seed = u64::from(reason == "two");
            sandbox.write(reason, fixtures::noise(seed, 4000));
            sandbox.create(reason);
            remote.add_to(sandbox);
            sandbox.ok("push");
        }
        third.write("third", "third").create("third");
        remote.add_to(&third);
        let refs = remote.refs();
        let new = refs.lines().find(|row| !before.contains(*row));
        let line = new?.split_once(' ')?.1.to_owned();
        Some(Self {
            one,
            two,
            third,
            remote,
            line,
        })
    }

    fn git(&self) -> &Git {
        self.remote.git()
    }

    fn clone(&self) -> (Run, Sandbox) {
        let to = Sandbox::bare();
        self.remote.reach_from(&to);
        let run = to.run_in(to.home(), &["clone", self.remote.url(), &text(to.root())]);
        (run, to)
    }

    /// The bad line is named with the command that removes it, and the good one is here.
    #[track_caller]
    fn bars_nothing(&self, what: &str) {
        let drop = format!("remote remove origin --line {}", self.line);
        let named = format!("{} of origin was not taken", self.line);
        let run = self.third.cmd("fetch");
        assert_eq!(run.code, 5, "{what}: {run}");
        run.stderr_has(&named).stderr_has(&drop);
        self.third.ok("show origin/one");
        let (run, to) = self.clone();
        assert_eq!(run.code, 5, "{what}: {run}");
        run.stderr_has(&drop);
        to.ok("show one");
        let dropped = self
            .third
            .run(&["remote", "remove", "origin", "--line", &self.line, "--yes"]);
        if dropped.code != 0 {
            // The git there cannot even remove it.
            dropped
                .code(1)
                .stderr_has(&format!("'git update-ref -d {}'", self.line));
            self.git().run(&["update-ref", "-d", &self.line]).success();
        }
        self.third.ok("fetch");
    }

    fn object(&self, name: &str) -> (String, PathBuf) {
        let id = self.git().output(&["rev-parse", name]).trim().to_owned();
        let (folder, rest) = id.split_at(2);
        let path = self.remote.place().join("objects").join(folder).join(rest);
        (id.clone(), path)
    }
}

#[test]
fn a_line_with_an_object_that_git_cannot_read_bars_no_other() {
    // The checkpoint is the first parent of the first carrier.
    for object in ["", "^1", "^1:two"] {
        for is_other in [true, false] {
            let Some(stage) = Stage::new() else { return };
            let (_, path) = stage.object(&format!("{}{object}", stage.line));
            let bytes = if is_other {
                // `blob 5\0hello`, deflated.
                let other = stage
                    .git()
                    .filter(&["hash-object", "-w", "--stdin"], b"hello");
                let other = String::from_utf8_lossy(&other).trim().to_owned();
                let (folder, rest) = other.split_at(2);
                let other = stage.remote.place().join("objects").join(folder).join(rest);
                std::fs::read(other).expect("it is read")
            } else {
                let whole = std::fs::read(&path).expect("it is read");
                whole[..whole.len() / 2].to_vec()
            };
            damaged::put(&path, &bytes);
            stage.bars_nothing(&format!("'{object}', another object: {is_other}"));
        }
    }
}

#[test]
fn a_flipped_byte_in_a_pack_of_a_server_bars_no_other_line() {
    let Some(stage) = Stage::new() else { return };
    let blob = stage
        .git()
        .output(&["rev-parse", &format!("{}^1:two", stage.line)]);
    stage.git().ok("gc -q");
    let packs = damaged::packs_of(stage.remote.place());
    let pack = packs.first().expect("a pack");
    let index = text(&pack.with_extension("idx"));
    let rows = stage.git().output(&["verify-pack", "-v", &index]);
    let row = rows.lines().find(|row| row.starts_with(blob.trim()));
    let at = row.and_then(|row| row.split_whitespace().nth(4)?.parse::<usize>().ok());
    damaged::flip(pack, at.expect("an offset") + 1000, 0xff);
    stage.bars_nothing("a flipped byte");
}

#[test]
fn a_broken_ref_that_is_no_line_bars_no_line() {
    let Some(stage) = Stage::new() else { return };
    for name in ["x", "x/y/z", "zz/yy", "EEEEEEEEEEEEEEEE/EEEEEEEEEEEEEEEE"] {
        let odd = format!("refs/lines/{name}");
        let place = stage.remote.place().join(&odd);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("it is made");
        std::fs::write(&place, "1".repeat(40) + "\n").expect("it is written");
        let run = stage.third.fails(5, "fetch");
        run.stderr_has(&format!("checkpoint remote remove origin --line {odd}"));
        stage.third.ok("show origin/two");
        let (run, to) = stage.clone();
        run.code(5).stderr_has(&odd);
        to.ok("show two");
        let drop = ["remote", "remove", "origin", "--line", &odd, "--yes"];
        stage.third.run(&drop).success();
        stage.third.ok("fetch");
    }
}

#[test]
fn the_only_line_with_a_lost_object_is_named() {
    let Some(stage) = Stage::new() else { return };
    let (_, path) = stage.object(&format!("{}^1:two", stage.line));
    for (_, name) in stage
        .remote
        .refs()
        .lines()
        .filter_map(|row| row.split_once(' '))
    {
        if name != stage.line {
            stage.git().run(&["update-ref", "-d", name]).success();
        }
    }
    std::fs::remove_file(&path).expect("it is removed");
    stage.third.fails(6, "fetch").stderr_has(&format!(
        "checkpoint remote remove origin --line {}",
        stage.line
    ));
    let (run, _) = stage.clone();
    run.code(6).stderr_has(&stage.line);
}

#[test]
fn a_line_that_the_server_has_in_part_is_named() {
    let Some(stage) = Stage::new() else { return };
    for text in ["more", "most"] {
        stage.two.write("two", text).create(text);
        stage.two.ok("push");
    }
    let (before, _) = stage.object(&format!("{}^1", stage.line));
    let shallow = stage.remote.place().join("shallow");
    std::fs::write(&shallow, before + "\n").expect("it is written");
    for more in [&["fetch"][..], &["fetch"], &["fetch", "--refetch"]] {
        let run = stage.third.run(more).code(5);
        run.stderr_has(&format!("{} of origin was not taken", stage.line))
            .stderr_has("shallow");
        stage.third.ok("show origin/one");
    }
}

#[test]
fn a_line_of_a_newer_program_is_not_to_be_removed() {
    let Some(stage) = Stage::new() else { return };
    let tree = stage
        .git()
        .output(&["rev-parse", &format!("{}^{{tree}}", stage.line)]);
    let message = "x\n\nCarrier-Format: 2\n";
    let who = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
        "commit-tree",
        "-m",
        message,
    ];
    let newer = stage.git().output(&[&who[..], &[tree.trim()]].concat());
    stage
        .git()
        .run(&["update-ref", &stage.line, newer.trim()])
        .success();
    let run = stage.third.fails(5, "fetch");
    assert!(!run.stderr.contains("--line"), "{run}");
    run.stderr_has("was made by a newer program; update this one")
        .stderr_has("'checkpoint fetch origin' brings it then");
}

#[test]
fn a_checkpoint_of_a_newer_program_is_left_out_of_a_push() {
    let Some(stage) = Stage::new() else { return };
    let Some(recipe) = Recipe::find(&stage.one) else {
        return;
    };
    let git = |words: &[&str]| recipe.git().output(words);
    let id = stage.one.shown("one")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let commit = git(&["cat-file", "commit", &id]);
    let newer = commit.replace("Checkpoint-Format: 1", "Checkpoint-Format: 2");
    let newer = recipe.git().put("commit", newer.as_bytes());
    git(&["update-ref", &format!("refs/checkpoints/{newer}"), &newer]);
    let run = stage.one.fails(5, "push");
    run.stderr_has(&newer[..8])
        .stderr_has("was left out, it was made by a newer program");
    stage.third.ok("fetch");
    stage.third.ok("show origin/one");
}

#[test]
fn a_push_that_git_refuses_for_a_broken_ref_names_it_and_what_mends_it() {
    let Some(stage) = Stage::new() else { return };
    stage.third.ok("push");
    let refs = stage.remote.refs();
    let names = refs.lines().filter_map(|row| row.split_once(' '));
    let mut own = names.map(|(_, name)| name.to_owned());
    // The line of another, and its own.
    let id = stage.third.shown("latest")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let own = own
        .find(|name| {
            stage
                .git()
                .output(&["log", "--format=%B", name])
                .contains(&id)
        })
        .expect("a line");
    for line in [&own, &stage.line] {
        let (_, path) = stage.object(line);
        std::fs::remove_file(&path).expect("it is removed");
        stage.third.write("third", line).create("more");
        let drop = format!("checkpoint remote remove origin --line {line}");
        stage.third.fails(1, "push").stderr_has(&drop);
        stage
            .third
            .run(&["remote", "remove", "origin", "--line", line, "--yes"])
            .success();
        stage.third.ok("push");
    }
    let main = stage.remote.place().join("refs/heads/main");
    std::fs::write(&main, "1".repeat(40) + "\n").expect("it is written");
    stage.third.write("third", "again").create("again");
    let run = stage.third.fails(1, "push");
    assert!(!run.stderr.contains("fetch origin"), "{run}");
    run.stderr_has("refs/heads/main is broken there");
    std::fs::remove_file(&main).expect("it is removed");
    stage.third.ok("push");
}

#[test]
fn a_checkpoint_that_the_server_refuses_is_named_and_the_others_go() {
    let Some(stage) = Stage::new() else { return };
    stage.git().ok("config receive.fsckObjects true");
    let third = &stage.third;
    third.write("before", "before").create("before");
    let evil = "[submodule \"x\"]\n path = x\n url = -evil\n";
    let bad = third.write(".gitmodules", evil).create("bad");
    let worse = third.write("d/x", "x").create("worse");
    third.remove(".gitmodules").create("after");
    for _ in 0..2 {
        let mut run = third.fails(5, "push");
        for id in [&bad, &worse] {
            run = run.stderr_has(&format!(
                "checkpoint {id} was left out, it is refused by origin: "
            ));
        }
    }
    stage.one.ok("fetch");
    for reason in ["before", "after"] {
        stage
            .one
            .run(&["show", &format!("origin/{reason}")])
            .success();
    }
    third.fails(5, "push --prune");
    for id in [&bad, &worse] {
        third.ok(format!("delete {id} --yes"));
    }
    third.ok("push");
    stage.remote.assert_sound();
}

#[test]
fn a_refused_checkpoint_without_another_is_an_error_that_names_it() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    remote.git().ok("config receive.fsckObjects true");
    let evil = "[submodule \"x\"]\n path = x\n url = -evil\n";
    let bad = from.write(".gitmodules", evil).create("bad");
    remote.add_to(&from);
    from.fails(1, "push")
        .stderr_has(&format!("checkpoint {bad} is refused by origin: "))
        .stderr_has("nothing was pushed");
}

#[cfg(unix)]
#[test]
fn a_prune_that_was_cut_short_is_completed_by_the_next() {
    let Some(stage) = Stage::new() else { return };
    let third = &stage.third;
    third.ok("push");
    let others = stage.remote.refs().lines().count() - 1;
    third.write("third", "new").create("new");
    third.ok("delete third --yes");
    let hook = stage.remote.place().join("hooks/post-receive");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("it is made");
    std::fs::write(&hook, "#!/bin/sh\nsleep 4\n").expect("it is written");
    os::set_mode(&hook, 0o755).expect("a mode");
    third.fails(1, "push --prune --timeout 2");
    std::fs::remove_file(&hook).expect("it is removed");
    // A push in between does not forget what is to go.
    third.write("third", "newer").create("newer");
    third.ok("push");
    assert_eq!(stage.remote.refs().lines().count(), others + 2);
    third
        .ok("push --prune")
        .stdout_has("Removed 2 former lines there");
    assert_eq!(stage.remote.refs().lines().count(), others + 1);
    stage.one.ok("fetch");
    stage.one.ok("show origin/newer");
    stage.one.fails(3, "show origin/third");
}

#[test]
fn a_line_that_is_back_with_nothing_new_changes_nothing() {
    let Some(stage) = Stage::new() else { return };
    stage.third.ok("fetch");
    stage
        .third
        .run(&["remote", "remove", "origin", "--line", &stage.line, "--yes"])
        .success();
    stage.two.ok("push");
    stage
        .third
        .ok("fetch")
        .stdout_has("Nothing new at origin: 2 checkpoints");
    stage.two.ok("pin two");
    stage.two.ok("push");
    stage
        .third
        .ok("fetch")
        .stdout_has("Fetched pins, reasons or workflows from origin");
}

#[test]
fn a_clone_into_a_store_and_a_drop_without_consent_say_what_they_are() {
    let Some(stage) = Stage::new() else { return };
    let inside = stage.one.store().join("x");
    let clone = ["clone", stage.remote.url(), &text(&inside)];
    let run = stage.one.run_in(stage.one.home(), &clone).code(4);
    assert!(!run.stderr.contains("create --force"), "{run}");
    run.stderr_has("give another directory");
    let drop = ["remote", "remove", "origin", "--line", &stage.line];
    let words = format!("this would remove {} at origin", stage.line);
    stage.one.run(&drop).code(4).stderr_has(&words);
}

#[test]
fn a_checkpoint_of_a_clock_that_is_ahead_is_in_the_future() {
    let Some(stage) = Stage::new() else { return };
    stage
        .two
        .at("2286-11-20T17:46:39Z")
        .write("two", "ahead")
        .create("ahead");
    stage.two.ok("push");
    stage.third.ok("fetch");
    let run = stage.third.ok("show origin/ahead");
    assert!(!run.stdout.contains("future ago"), "{run}");
    run.stdout_has("(in the future)");
}

#[test]
fn a_checkpoint_before_1970_is_sound_for_git() {
    let from = Sandbox::new();
    let Some(recipe) = Recipe::find(&from) else {
        return;
    };
    from.at("1969-12-31T23:00:00Z")
        .write("a", "old")
        .create("old");
    recipe.git().ok("fsck --full --strict");
    from.ok("show old").stdout_has("1969-12-31");
    let commit = recipe.git().output(&[
        "cat-file",
        "commit",
        from.shown("old")["id"].as_str().expect("an id"),
    ]);
    let before = commit.replace("> 0 +0000", "> -1 +0000");
    assert_ne!(before, commit);
    let bad = recipe.git().put("commit", before.as_bytes());
    recipe
        .git()
        .run(&["update-ref", &format!("refs/checkpoints/{bad}"), &bad])
        .success();
    from.fails(6, "verify").stdout_has("has a time before 1970");
}

#[test]
fn a_remote_with_nothing_but_safety_checkpoints_has_nothing_to_clone() {
    let Some(stage) = Stage::new() else { return };
    let refs = stage.remote.refs();
    for (_, name) in refs.lines().filter_map(|row| row.split_once(' ')) {
        if name != stage.line {
            stage.git().run(&["update-ref", "-d", name]).success();
        }
    }
    let id = stage
        .git()
        .output(&["rev-parse", &format!("{}^1", stage.line)]);
    let commit = stage.git().output(&["cat-file", "commit", id.trim()]);
    let safety = commit.replace("Kind: checkpoint", "Kind: safety");
    assert_ne!(commit, safety);
    let put = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let safety = stage.git().filter(&put, safety.as_bytes());
    let safety = String::from_utf8(safety).expect("an id").trim().to_owned();
    let refs = format!("{safety} refs/checkpoints/{safety}\n");
    let refs = stage
        .git()
        .filter(&["hash-object", "-w", "--stdin"], refs.as_bytes());
    let entry = format!(
        "100644 blob {}\trefs\n",
        String::from_utf8_lossy(&refs).trim()
    );
    let tree = stage.git().filter(&["mktree"], entry.as_bytes());
    let tree = String::from_utf8_lossy(&tree).trim().to_owned();
    let who = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
        "commit-tree",
        "-p",
        &safety,
    ];
    let message = ["-m", "x\n\nCarrier-Format: 1", &tree];
    let carrier = stage.git().output(&[&who[..], &message].concat());
    stage
        .git()
        .run(&["update-ref", &stage.line, carrier.trim()])
        .success();
    let (run, _) = stage.clone();
    run.code(3)
        .stderr_has("there are no checkpoints at that remote");
}
