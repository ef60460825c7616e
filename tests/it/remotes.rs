//! `remote`, `push`, `fetch` and `clone`: checkpoints on a git repository elsewhere.

use std::path::PathBuf;

use crate::bench::remote::{Remote, text};
use crate::bench::{Sandbox, damaged, fixtures, os};

/// A project with three checkpoints, one pinned, one scoped, and a workflow; pushed.
fn pushed() -> Option<(Sandbox, Remote)> {
    let sandbox = Sandbox::new();
    let remote = Remote::bare_directory(&sandbox)?;
    fill(&sandbox);
    remote.add_to(&sandbox);
    sandbox.ok("push");
    Some((sandbox, remote))
}

fn fill(sandbox: &Sandbox) {
    sandbox
        .write("a", "one")
        .write("d/e/b", fixtures::noise(3, 3000))
        .write("run.sh", "#!/bin/sh\n")
        .chmod("run.sh", 0o755)
        .mkdir("empty/deep")
        .symlink("link", "a");
    sandbox.create("one");
    sandbox.write("a", "two");
    let two = sandbox.create("two");
    sandbox.ok(format!("pin {two}"));
    sandbox.ok("workflow init --phase plan --phase build");
    sandbox.write("d/new", "three");
    sandbox.ok("create three --scope d");
}

/// What `list` says of each checkpoint.
fn rows(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let keys = [
        "id", "reason", "source", "time_ms", "pinned", "coverage", "scope",
    ];
    let row = |row: &serde_json::Value| keys.map(|key| row[key].to_string()).join(" ");
    let list = [&["list", "--json"], more].concat();
    let data = sandbox.run(&list).success().data();
    let rows = data["checkpoints"].as_array().expect("rows");
    rows.iter().map(row).collect()
}

/// A second machine that cloned a remote.
fn cloned(remote: &Remote) -> Sandbox {
    let to = Sandbox::bare();
    to.at("2026-05-01T00:00:00Z");
    remote.reach_from(&to);
    to.run_in(to.home(), &["clone", remote.url(), &text(to.root())])
        .success();
    to
}

#[test]
fn a_clone_has_files_modes_links_metas_pins_scopes_and_workflows() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.tree().assert_is(&from.tree(), "the clone");
    let own = rows(&to, &["--kind", "checkpoint"]);
    assert_eq!(own, rows(&from, &[]));
    assert_eq!(rows(&to, &["--remote", "origin"]), rows(&from, &[]));
    let runs = |sandbox: &Sandbox| sandbox.json("workflow list");
    assert_eq!(
        runs(&to)["workflows"][0]["id"],
        runs(&from)["workflows"][0]["id"]
    );
    to.ok("verify --full");
    let shown = to.json("show two");
    assert_eq!(shown["origin"]["root"], text(from.root()), "{shown}");
    remote.assert_sound();
}

#[test]
fn what_one_machine_pushes_stands_beside_what_the_other_has() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.write("a", "elsewhere").remove("run.sh");
    let made = to.create("elsewhere");
    to.ok("push");
    let before = (rows(&from, &[]), from.tree());
    let fetched = from.json("fetch");
    assert_eq!(
        fetched["checkpoints"].as_array().expect("rows").len(),
        4,
        "{fetched}"
    );
    assert_eq!(rows(&from, &[]), before.0, "what is here");
    from.tree().assert_is(&before.1, "a fetch changes no file");
    assert_eq!(rows(&from, &["--remote", "origin"]).len(), 4);
    for selector in [
        "origin/latest",
        &format!("origin/{made}"),
        "origin/elsewhere",
    ] {
        let shown = from.run(&["show", selector, "--json"]).success().data();
        assert_eq!(shown["checkpoint"]["reason"], "elsewhere", "{selector}");
    }
    assert_eq!(from.ok("cat origin/latest:a").stdout, "elsewhere");
    from.ok("diff origin/latest~1 origin/latest")
        .stdout_has("+elsewhere");
    from.restore("origin/latest").success();
    from.tree()
        .assert_is(&to.tree(), "restored from the remote");
    from.undo().success();
    from.tree().assert_is(&before.1, "undone");
    let latest = from.json("show latest");
    assert_eq!(
        latest["checkpoint"]["reason"], "two",
        "a remote's is never latest"
    );
}

#[test]
fn a_checkpoint_of_a_remote_is_only_read() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.write("a", "elsewhere");
    to.create("elsewhere");
    to.ok("push");
    from.ok("fetch");
    for command in [
        &["pin", "origin/latest"][..],
        &["unpin", "origin/latest"],
        &["reword", "origin/latest", "x"],
        &["delete", "origin/latest", "--yes"],
    ] {
        let refused = from.run(command).code(4);
        refused.stderr_has("is a checkpoint of a remote");
    }
    let prune = ["prune", "--keep", "1", "--yes"];
    from.run(&prune).success();
    from.ok("prune --yes");
    assert_eq!(
        rows(&from, &["--remote", "origin"]).len(),
        4,
        "no policy evicts them"
    );
    assert_eq!(from.ok("cat origin/latest:a").stdout, "elsewhere");
    from.ok("verify --full");
}

#[test]
fn a_push_sends_what_changed_and_at_most_six_objects_more() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    for nth in 0..400 {
        from.write(format!("many/{nth}"), fixtures::noise(nth, 2000));
    }
    from.create("many");
    from.ok("push");
    for round in 0..3 {
        let before = remote.object_count();
        from.write("many/7", format!("{round}"));
        from.create("changed");
        from.ok("push").stdout_is("Pushed 1 checkpoint to origin\n");
        // A file, its directory and the root; then commit, meta, and the carrier with tree and refs.
        let sent = remote.object_count() - before;
        assert!(sent <= 3 + 6, "{sent} objects");
    }
    remote.assert_sound();
}

#[test]
fn nothing_new_is_not_sent() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let (refs, objects) = (remote.refs(), remote.object_count());
    let again = from.json("push");
    assert_eq!(again["nothing_to_do"], true, "{again}");
    assert_eq!((remote.refs(), remote.object_count()), (refs, objects));
}

#[test]
fn pins_reasons_and_workflows_that_change_are_pushed_without_a_checkpoint() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    from.ok("unpin two");
    from.ok("reword one 'first of all'");
    from.ok("workflow note --decision decided");
    let pushed = from.json("push");
    assert_eq!(pushed["nothing_to_do"], false, "{pushed}");
    let to = cloned(&remote);
    assert_eq!(rows(&to, &["--kind", "checkpoint"]), rows(&from, &[]));
    let shown = to.ok("workflow show --json");
    assert!(shown.stdout.contains("decided"), "{shown}");
}

#[test]
fn what_is_evicted_here_stays_there_until_push_prune() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let lines = remote.refs();
    from.ok("unpin two");
    from.ok("delete one two --yes");
    from.ok("prune --yes");
    from.write("a", "four");
    from.create("four");
    from.ok("push");
    assert_eq!(
        cloned(&remote).listed().len(),
        4 + 1,
        "all, and a safety checkpoint"
    );
    from.ok("push --prune").stdout_has("Removed 1 former line");
    assert_ne!(remote.refs(), lines, "a line of its own");
    assert_eq!(remote.refs().lines().count(), 1);
    assert_eq!(cloned(&remote).listed().len(), 2 + 1);
    remote.assert_sound();
}

#[test]
fn a_copied_home_begins_a_line_of_its_own() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let saved = from.top().join("saved");
    fixtures::copy_tree(&from.store(), &saved);
    from.write("a", "first");
    from.create("first");
    from.ok("push");
    std::fs::remove_dir_all(from.store()).expect("the store goes");
    fixtures::copy_tree(&saved, &from.store());
    from.write("a", "second");
    from.create("second");
    from.ok("push");
    assert_eq!(remote.refs().lines().count(), 2, "{}", remote.refs());
    from.ok("fetch");
    let there = rows(&from, &["--remote", "origin"]).join("\n");
    assert!(
        there.contains("\"first\""),
        "what the other one pushed comes back: {there}"
    );
}

#[test]
fn a_remote_that_was_emptied_gets_all_again() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    remote.make_anew();
    from.write("a", "four");
    from.create("four");
    from.ok("push");
    assert_eq!(cloned(&remote).listed().len(), 4 + 1);
    remote.make_anew();
    from.ok("push").stdout_has("Pushed 4 checkpoints");
    remote.assert_sound();
}

#[test]
fn a_line_that_is_gone_there_stays_here_until_fetch_prune() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    remote.make_anew();
    to.ok("fetch")
        .stdout_has("1 line is here and no longer there");
    assert_eq!(rows(&to, &["--remote", "origin"]).len(), 3);
    to.ok("fetch --prune");
    assert_eq!(rows(&to, &["--remote", "origin"]).len(), 0);
    drop(from);
}

#[test]
fn remotes_are_added_listed_and_removed() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.create("elsewhere");
    to.ok("push");
    from.ok("fetch");
    from.run(&["remote", "add", "origin", remote.url()])
        .success();
    from.fails(4, "remote add origin https://me:secret@host/x");
    from.ok("remote add other https://me:secret@host/x");
    let listed = from.ok("remote").stdout;
    assert_eq!(
        listed,
        format!(
            "origin  {}  (1 line fetched)\nother  https://me:***@host/x\n",
            remote.url()
        )
    );
    from.ok("remote remove origin");
    from.fails(3, "list --remote origin");
    from.fails(3, "show origin/latest");
    from.fails(3, "push origin").stderr_has("known here: other");
    assert_eq!(rows(&from, &[]).len(), 3, "what is here stays");
    from.ok("prune --yes");
    from.ok("verify --full");
}

#[test]
fn urls_that_run_commands_and_names_that_lead_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.create("one");
    for url in [
        "ext::sh -c 'touch x'",
        "fd::7",
        "--upload-pack=touch x",
        "",
        "gcrypt::ext::sh",
    ] {
        sandbox.run(&["remote", "add", "origin", url]).code(2);
    }
    for name in ["", ".", "..", "a/b", "-x", "a b", "a.lock", "ä"] {
        sandbox.run(&["remote", "add", "--", name, "/x"]).code(2);
    }
    assert_eq!(sandbox.ok("remote").stdout, "");
}

#[test]
fn prompts_travel_only_when_asked_for() {
    let sandbox = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&sandbox) else {
        return;
    };
    sandbox.write("a", "one");
    sandbox.create("one");
    sandbox.write("a", "two");
    sandbox.user_config("prompts = \"full\"\n");
    let event = serde_json::json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s-1", "prompt": "my secret plan\nin two lines",
        "cwd": text(sandbox.root()),
    });
    let mut hook = sandbox.command(&[], &["hook"]);
    let output = crate::bench::limit::output_fed(&mut hook, event.to_string().as_bytes());
    assert!(output.expect("it starts").status.success());
    assert_eq!(sandbox.listed().len(), 2);
    remote.add_to(&sandbox);
    let pushed = sandbox.json("push");
    assert_eq!(
        pushed["left_out_for_prompts"].as_array().map(Vec::len),
        Some(1),
        "{pushed}"
    );
    assert_eq!(cloned(&remote).listed().len(), 1 + 1);
    sandbox.ok("push --with-prompts");
    assert_eq!(cloned(&remote).listed().len(), 2 + 1);
    let pushed = sandbox.json("push");
    assert_eq!(
        pushed["left_out_for_prompts"],
        serde_json::json!([]),
        "they are there"
    );
}

#[test]
fn without_git_push_says_so_and_names_export() {
    let Some((from, _remote)) = pushed() else {
        return;
    };
    from.env("PATH", "/nonexistent");
    for command in [&["push"][..], &["fetch"]] {
        let failed = from.run(command).code(1);
        failed
            .stderr_has("there is no git on PATH")
            .stderr_has("checkpoint export");
    }
    from.write("a", "more");
    from.create("all else goes on");
}

#[test]
fn a_remote_that_cannot_be_reached_is_an_error_with_the_words_of_git() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let before = rows(&from, &[]);
    std::fs::remove_dir_all(remote.place()).expect("it goes");
    for command in [&["push"][..], &["fetch"]] {
        let failed = from.run(command).code(1);
        failed
            .stderr_has("the remote origin (")
            .stderr_has("does not appear to be a git repository");
        let failed = from.run(&[command, &["--json"]].concat()).code(1).json();
        let message = failed["error"]["message"].to_string();
        assert!(
            message.contains("): fatal: ") && !message.contains("x0a"),
            "{message}"
        );
    }
    assert_eq!(rows(&from, &[]), before);
}

#[test]
fn a_clone_that_fails_leaves_nothing_and_goes_on_when_called_again() {
    let Some((_from, remote)) = pushed() else {
        return;
    };
    let to = Sandbox::bare();
    to.at("2026-05-01T00:00:00Z");
    remote.reach_from(&to);
    let place: PathBuf = to.top().join("new/project");
    let clone = ["clone", remote.url(), &text(&place)];
    let away = remote.place().with_extension("away");
    std::fs::rename(remote.place(), &away).expect("it is renamed");
    to.run_in(to.home(), &clone).code(1);
    assert!(!place.exists());
    std::fs::rename(&away, remote.place()).expect("it is back");
    to.run_in(to.home(), &clone).success();
    to.run_in(to.home(), &clone)
        .code(4)
        .stderr_has("is not empty");
    let empty = Sandbox::bare();
    let nothing = Remote::bare_directory(&empty).expect("git is here");
    let refused = empty
        .run_in(empty.home(), &["clone", nothing.url(), "x"])
        .code(3);
    refused.stderr_has("there are no checkpoints at that remote");
}

#[test]
fn git_in_the_environment_and_in_the_project_has_no_say() {
    let from = Sandbox::bare();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    remote.add_to(&from);
    let marker = from.top().join("marker");
    let touch = format!("#!/bin/sh\ntouch '{}'\n", text(&marker));
    let hooks = from.top().join("hooks");
    std::fs::create_dir_all(&hooks).expect("a folder");
    let hook = |name: &str| {
        std::fs::write(hooks.join(name), &touch).expect("it is written");
        os::set_mode(&hooks.join(name), 0o755).expect("its mode can be set");
    };
    hook("pre-push");
    from.write(
        ".git/config",
        format!(
            "[core]\n\thooksPath = {0}\n[url \"ext::sh -c\"]\n\tinsteadOf = /\n",
            text(&hooks)
        ),
    );
    let global = format!(
        "[core]\n\thooksPath = {}\n\tfsmonitor = true\n",
        text(&hooks)
    );
    std::fs::write(from.home().join(".gitconfig"), global).expect("it is written");
    from.env("GIT_DIR", text(&from.path(".git")))
        .env("GIT_INDEX_FILE", "/nonexistent")
        .env("GIT_OBJECT_DIRECTORY", "/nonexistent");
    from.write("a", "more");
    from.create("more");
    from.ok("push");
    // A directory is its own server, with hooks of its own: this one is of a push there too.
    hook("reference-transaction");
    from.ok("fetch");
    assert!(!marker.exists(), "a hook was run");
    remote.assert_sound();
}

#[test]
fn fetched_checkpoints_survive_what_happens_to_a_store() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.write("a", "elsewhere");
    to.create("elsewhere");
    to.ok("push");
    from.ok("fetch");
    let there = rows(&from, &["--remote", "origin"]);
    let own = rows(&from, &[]);
    std::fs::remove_file(from.store().join("checkpoint-manifest.md")).expect("it goes");
    let listed = rows(&from, &[]).join("\n");
    assert!(
        !listed.contains("checkpoints of"),
        "a carrier is none: {listed}"
    );
    assert_eq!(rows(&from, &[]), own, "without the manifest");
    from.ok("unpin two");
    from.ok("pin two");
    assert_eq!(rows(&from, &[]), own, "after a command that writes");
    from.ok("verify --repair");
    assert_eq!(rows(&from, &[]), own, "repaired");
    assert_eq!(rows(&from, &["--remote", "origin"]), there);
    std::fs::write(from.store().join("checkpoint/remotes"), "torn").expect("it is written");
    from.fails(6, "remote");
    from.fails(6, "push");
    assert_eq!(rows(&from, &[]), own, "all else goes on");
    from.create("goes on");
}

#[test]
fn two_machines_and_four_processes_push_at_once() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    std::thread::scope(|scope| {
        for sandbox in [&from, &to] {
            for nth in 0..4 {
                let state = format!("at_once={nth}");
                let commands = [
                    sandbox.command(&[], &["create", "at once", "--state", &state]),
                    sandbox.command(&[], &["push"]),
                ];
                scope.spawn(move || {
                    for mut command in commands {
                        let done = crate::bench::limit::output(&mut command).expect("it starts");
                        assert!(done.status.success(), "{done:?}");
                    }
                });
            }
        }
    });
    for sandbox in [&from, &to] {
        sandbox.ok("push");
    }
    assert_eq!(remote.refs().lines().count(), 2);
    let third = cloned(&remote);
    assert_eq!(third.listed().len(), 3 + 8 + 2);
    remote.assert_sound();
}

#[test]
fn the_five_lines_of_the_readme() {
    let sandbox = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&sandbox) else {
        return;
    };
    let readme = std::fs::read_to_string(crate::source::package().join("README.md"));
    let readme = readme.expect("the README");
    let section = readme
        .split("## Other machines")
        .nth(1)
        .expect("the section");
    let block = section.split("```").nth(1).expect("its lines").trim();
    assert_eq!(block.lines().count(), 5);
    let other = Sandbox::bare();
    remote.reach_from(&other);
    remote.reach_from(&sandbox);
    sandbox.write("a", "one");
    sandbox.create("one");
    for line in block.lines() {
        let line = line.split('#').next().expect("a line");
        let line = line.replace("git@example.org:me/checkpoints.git", remote.url());
        let at = if line.contains(" clone ") {
            &other
        } else {
            &sandbox
        };
        for command in line.split("&&") {
            let words: Vec<&str> = command.split_whitespace().collect();
            if words[0] == "cd" {
                continue;
            }
            assert_eq!(words[0], "checkpoint");
            if words[1] == "fetch" {
                let project = other.home().join("project");
                std::fs::write(project.join("a"), "two").expect("it is written");
                other.run_in(&project, &["create", "two"]).success();
                other.run_in(&project, &["push"]).success();
            }
            let words = [&words[1..], &["--yes"]].concat();
            let dir = if words[0] == "clone" {
                at.home()
            } else {
                at.root()
            };
            at.run_in(dir, &words).success();
        }
    }
    assert_eq!(sandbox.read("a"), "two");
}

#[test]
fn a_moved_project_keeps_its_remotes_and_what_was_fetched() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = Sandbox::bare();
    remote.reach_from(&to);
    let (old, new) = (to.top().join("old"), to.top().join("new"));
    to.run_in(to.home(), &["clone", remote.url(), &text(&old)])
        .success();
    std::fs::rename(&old, &new).expect("it is moved");
    to.run_in(&new, &["relink", &text(&old), "--yes"]).success();
    let there = to.run_in(&new, &["list", "--remote", "origin", "--json"]);
    let there = there.success().data();
    assert_eq!(there["checkpoints"].as_array().map(Vec::len), Some(3));
    to.run_in(&new, &["push"]).success();
    to.run_in(&new, &["fetch"]).success();
    drop(from);
}

#[test]
fn push_prune_leaves_a_line_that_another_process_wrote() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let saved = from.top().join("saved");
    fixtures::copy_tree(&from.store(), &saved);
    from.write("a", "only there");
    from.create("only there");
    from.ok("push");
    std::fs::remove_dir_all(from.store()).expect("the store goes");
    fixtures::copy_tree(&saved, &from.store());
    from.ok("push --prune");
    assert_eq!(remote.refs().lines().count(), 2, "{}", remote.refs());
    from.ok("fetch");
    from.ok("show 'origin/only there'");
}

#[test]
fn what_this_store_pushed_by_another_name_is_fetched_too() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    from.run(&["remote", "add", "second", remote.url()])
        .success();
    from.ok("push second");
    from.ok("fetch origin");
    from.ok("fetch second");
    from.ok("remote remove origin");
    from.run(&["remote", "add", "origin", remote.url()])
        .success();
    from.ok("push origin");
    from.ok("fetch origin");
    assert_eq!(rows(&from, &["--remote", "origin"]).len(), 3);
}

#[test]
fn a_clone_takes_nothing_of_a_directory_that_was_here_before() {
    let Some((_from, remote)) = pushed() else {
        return;
    };
    let to = Sandbox::bare();
    remote.reach_from(&to);
    to.write("old", "unrelated");
    to.create("old");
    to.remove("old");
    let clone = ["clone", remote.url(), &text(to.root())];
    to.run_in(to.home(), &clone)
        .code(4)
        .stderr_has("a directory that was here before");
    assert!(!to.exists("a"));
    let other = to.top().join("other");
    let wrong = ["clone", "/nonexistent", &text(&other)];
    to.run_in(to.home(), &wrong).code(1);
    let right = ["clone", remote.url(), &text(&other)];
    to.run_in(to.home(), &right).success();
}

#[test]
fn a_workflow_that_went_on_differently_is_cloned_from_each_line() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    for (sandbox, word) in [(&from, "one machine"), (&to, "the other")] {
        sandbox
            .run(&["workflow", "note", "--decision", word])
            .success();
        sandbox.ok("push");
    }
    let third = cloned(&remote);
    let listed = third.json("workflow list");
    assert_eq!(
        listed["workflows"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
}

#[test]
fn what_is_damaged_of_a_remote_is_said_and_fetched_again() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    to.write("a", "elsewhere");
    to.create("elsewhere");
    to.ok("push");
    from.ok("fetch");
    let lines = fixtures::files_below(&from.store().join("refs/remotes"));
    for line in lines {
        std::fs::write(line, format!("{}\n", "1".repeat(40))).expect("it is written");
    }
    from.fails(6, "list --remote origin")
        .stderr_has("checkpoint fetch origin");
    from.ok("fetch");
    assert!(rows(&from, &["--remote", "origin"])[0].contains("elsewhere"));
    from.ok("prune --yes");
}

#[test]
fn pins_that_changed_there_are_no_news_of_nothing() {
    let Some((from, remote)) = pushed() else {
        return;
    };
    let to = cloned(&remote);
    from.ok("unpin two");
    from.ok("push");
    to.ok("fetch")
        .stdout_is("Fetched pins, reasons or workflows from origin\n");
}

#[test]
fn refetch_brings_again_what_is_damaged_here() {
    let (Some((from, remote)), to) = (pushed(), Sandbox::new()) else {
        return;
    };
    to.write("own", "own");
    to.create("own");
    remote.add_to(&to);
    to.ok("fetch");
    let packs = || damaged::packs_of(&to.store());
    let before = packs();
    let noise = fixtures::noise(9, 50_000);
    let large: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
    from.write("large", &large);
    from.create("four");
    from.ok("push");
    to.ok("fetch");
    let mut added = packs();
    added.retain(|pack| !before.contains(pack));
    assert_eq!(added.len(), 1, "{added:?}");
    let mut bytes = std::fs::read(&added[0]).expect("it is read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::remove_file(&added[0]).expect("it is removed");
    std::fs::write(&added[0], bytes).expect("it is written");
    to.fails(6, "cat origin/latest large")
        .stderr_has("'checkpoint fetch origin --refetch' brings it again");
    to.ok("fetch")
        .stdout_is("Nothing new at origin: 4 checkpoints\n");
    to.ok("fetch --refetch")
        .stdout_is("Fetched all of origin again: 4 checkpoints\n");
    to.ok("cat origin/latest large").stdout_is(&large);
    assert_eq!(to.listed_ids().len(), 1);
    to.ok("fetch")
        .stdout_is("Nothing new at origin: 4 checkpoints\n");
}
