//! `export` and `import`: checkpoints travel in git bundles, whole or not at all.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::bench::sample::Draw;
use crate::bench::{Git, Run, Sandbox, cases, fixtures, limit};

/// A project with three checkpoints, one pinned, one scoped, and its bundle.
fn exported() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
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
    sandbox.run(&["pin", &two]).success();
    sandbox.write("d/new", "three");
    sandbox.run(&["create", "three", "--scope", "d"]).success();
    let file = sandbox.top().join("x.bundle");
    sandbox.run(&["export", "-o", &text(&file)]).success();
    (sandbox, file)
}

/// As [`exported`], after a restore, with its safety checkpoint in the bundle.
fn exported_with_safety() -> (Sandbox, PathBuf) {
    let (sandbox, file) = exported();
    sandbox.restore("one").success();
    sandbox
        .run(&["export", "--safety", "-o", &text(&file)])
        .success();
    (sandbox, file)
}

fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

fn import(sandbox: &Sandbox, file: &Path) -> Run {
    sandbox.run(&["import", &text(file)])
}

/// What `list` says of each checkpoint.
fn rows(sandbox: &Sandbox) -> Vec<String> {
    let keys = [
        "id", "reason", "source", "time_ms", "pinned", "coverage", "scope",
    ];
    let row = |row: &serde_json::Value| keys.map(|key| row[key].to_string()).join(" ");
    sandbox.listed().iter().map(row).collect()
}

/// Whether anything of a bundle is in a store.
fn assert_nothing_of_it(sandbox: &Sandbox, when: &str) {
    assert_eq!(sandbox.listed_ids(), [""; 0], "{when}");
    // A bad header makes no store.
    if !sandbox.store().exists() {
        return;
    }
    let packs = std::fs::read_dir(sandbox.store().join("objects/pack"));
    let packs = packs.expect("a folder").count();
    assert_eq!(packs, 0, "{when}: a pack is left");
    let own = std::fs::read_dir(sandbox.store().join("checkpoint")).expect("a folder");
    let names: Vec<String> = own
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .filter(|name| name.starts_with("bisect-"))
        .collect();
    assert_eq!(names, [""; 0], "{when}");
}

#[test]
fn what_was_exported_comes_back_elsewhere_with_ids_metas_pins_and_scopes() {
    let (from, file) = exported();
    let to = Sandbox::new();
    let said = import(&to, &file).success();
    assert!(
        said.stdout.starts_with("Imported 3 checkpoints of "),
        "{said}"
    );
    assert_eq!(rows(&to), rows(&from));
    to.restore("two").success();
    from.restore("two").success();
    to.tree().assert_is(&from.tree(), "the restored state");
    to.run(&["verify", "--full"]).success();
    let shown = to.run(&["show", "two", "--json"]).success().data();
    assert_eq!(shown["origin"]["root"], text(from.root()), "{shown}");
    if let Some(git) = Git::find(to.home()) {
        git.with("GIT_DIR", to.store())
            .run(&["fsck", "--full", "--strict"])
            .success();
    }
}

#[test]
fn importing_twice_is_importing_once() {
    let (_from, file) = exported();
    let to = Sandbox::new();
    import(&to, &file).success();
    let (before, rows_before) = (to.listed_ids(), rows(&to));
    let said = import(&to, &file).success();
    assert!(
        said.stdout.contains("3 checkpoints were here already"),
        "{said}"
    );
    assert_eq!((to.listed_ids(), rows(&to)), (before, rows_before));
}

#[test]
fn plain_git_reads_a_bundle() {
    let (from, file) = exported();
    let Some(git) = Git::find(from.home()) else {
        return;
    };
    let copy = from.top().join("clone");
    git.run(&["clone", "--quiet", &text(&file), &text(&copy)])
        .success();
    assert_eq!(
        std::fs::read_to_string(copy.join("d/new")).expect("it is there"),
        "three"
    );
    let verify = ["bundle", "verify", &text(&file)];
    git.with("GIT_DIR", from.store()).run(&verify).success();
}

#[test]
fn a_bundle_that_plain_git_made_of_a_store_is_imported() {
    let (from, _) = exported();
    let Some(git) = Git::find(from.home()) else {
        return;
    };
    let file = from.top().join("git.bundle");
    git.with("GIT_DIR", from.store())
        .run(&["bundle", "create", &text(&file), "--all"])
        .success();
    let to = Sandbox::new();
    import(&to, &file).success();
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn a_later_bundle_needs_the_one_before_it_and_is_small() {
    let (from, first) = exported();
    from.write("a", "four");
    from.create("four");
    let later = from.top().join("later.bundle");
    from.run(&["export", "--since", "two", "-o", &text(&later)])
        .success();
    let to = Sandbox::new();
    let refused = import(&to, &later).code(3);
    assert!(refused.stderr.contains("which is not here"), "{refused}");
    assert_nothing_of_it(&to, "without its prerequisite");
    import(&to, &first).success();
    import(&to, &later).success();
    assert_eq!(rows(&to), rows(&from));
    to.run(&["verify", "--full"]).success();
    let len = |path: &Path| std::fs::metadata(path).expect("a file").len();
    assert!(len(&later) * 2 < len(&first));
}

#[test]
fn it_streams_through_a_pipe() {
    let (from, _) = exported();
    let to = Sandbox::new();
    let mut source = from.command(&[], &["export", "-o", "-"]);
    let mut source = source
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut sink = to.command(&[], &["import", "-"]);
    sink.stdin(source.stdout.take().expect("a pipe"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Run::ended("import -".to_owned(), sink.spawn().expect("it starts")).success();
    Run::ended("export -o -".to_owned(), source).success();
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn checkpoints_of_two_machines_are_in_the_order_of_their_times() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    for (at, sandbox) in [(10, &one), (11, &two), (12, &two), (13, &one), (14, &two)] {
        sandbox.at(&format!("2026-03-24T{at}:00:00Z"));
        sandbox.write("a", at.to_string());
        sandbox.create(&at.to_string());
    }
    let file = two.top().join("two.bundle");
    two.run(&["export", "-o", &text(&file)]).success();
    import(&one, &file).success();
    let reasons = |sandbox: &Sandbox| -> Vec<String> {
        let rows = sandbox.listed();
        rows.iter()
            .map(|row| row["reason"].as_str().expect("a reason").to_owned())
            .collect()
    };
    assert_eq!(reasons(&one), ["14", "13", "12", "11", "10"]);
    one.at("2026-03-24T09:00:00Z").write("a", "last");
    one.create("last");
    assert_eq!(reasons(&one)[0], "last");
    one.run(&["verify", "--full"]).success();
    one.run(&["prune"]).success();
    assert_eq!(reasons(&one).len(), 6);
}

#[test]
fn many_imported_ones_keep_their_order() {
    let from = Sandbox::new();
    from.user_config("keep = 500\n");
    for at in 0..60 {
        from.write("a", at.to_string());
        from.create(&at.to_string());
    }
    let file = from.top().join("x.bundle");
    from.run(&["export", "-o", &text(&file)]).success();
    let to = Sandbox::new();
    to.user_config("keep = 500\n");
    to.at("2026-03-23T12:00:00Z")
        .write("a", "before")
        .create("before");
    import(&to, &file).success();
    let mut expected = rows(&from);
    expected.extend(rows(&to).pop());
    assert_eq!(rows(&to), expected);
    for at in 0..20 {
        to.write("a", format!("later {at}"));
        to.create(&format!("later {at}"));
    }
    assert_eq!(rows(&to)[20..], expected);
    to.run(&["verify", "--full"]).success();
}

#[test]
fn safety_checkpoints_travel_only_if_asked_for_on_both_sides() {
    let (from, file) = exported_with_safety();
    let to = Sandbox::new();
    let said = import(&to, &file).success();
    assert!(said.stdout.contains("only --safety imports"), "{said}");
    assert_eq!(to.listed_ids().len(), 3);
    to.run(&["import", "--safety", &text(&file)]).success();
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn every_cut_and_changed_bundle_is_refused_and_leaves_nothing() {
    let (_from, file) = exported();
    let whole = std::fs::read(&file).expect("a bundle");
    let to = Sandbox::new();
    let bad = to.top().join("bad.bundle");
    let mut draw = Draw::new();
    for case in 0..cases(120) {
        let mut bytes = whole.clone();
        if case % 3 == 0 {
            bytes.truncate(draw.below(whole.len()));
        } else {
            let at = draw.below(whole.len());
            bytes[at] ^= 1 << draw.below(8);
        }
        to.write(&bad, &bytes);
        let run = import(&to, &bad);
        // A header may change and still be one: of another machine, or without a pin.
        if run.code != 0 {
            assert!(matches!(run.code, 3 | 6), "case {case}: {run}");
            assert!(run.stderr.contains("nothing of it was added"), "{run}");
            assert_nothing_of_it(&to, &format!("case {case}"));
        } else {
            to.run(&["verify", "--full"]).success();
            to.run(&["delete", "--all", "--yes", "--force"]).success();
        }
    }
}

#[test]
fn an_export_that_fails_leaves_the_former_file() {
    let (from, file) = exported();
    let before = std::fs::read(&file).expect("a bundle");
    from.run(&["export", "--since", "three", "-o", &text(&file)])
        .code(3);
    from.run(&["export", "nothing", "-o", &text(&file)]).code(3);
    assert_eq!(std::fs::read(&file).expect("a bundle"), before);
    from.run(&["export", "-o", "nowhere/x.bundle"]).code(1);
}

#[test]
fn workflows_travel_with_all_checkpoints() {
    let from = Sandbox::new();
    from.write("a", "1");
    from.run(&["workflow", "init", "--phase", "one", "--phase", "two"])
        .success();
    from.run(&["phase", "start", "one"]).success();
    let file = from.top().join("x.bundle");
    from.run(&["create", "now"]).success();
    from.run(&["export", "-o", &text(&file)]).success();
    let to = Sandbox::new();
    import(&to, &file).success();
    let listed = |sandbox: &Sandbox| {
        let data = sandbox
            .run(&["workflow", "list", "--json"])
            .success()
            .data();
        data["workflows"].as_array().expect("a list").len()
    };
    assert_eq!(listed(&to), listed(&from));
    to.run(&["verify", "--full"]).success();
}

#[test]
fn a_reason_that_was_given_later_travels() {
    let (from, file) = exported();
    from.run(&["reword", "two", "clean words"]).success();
    from.run(&["export", "-o", &text(&file)]).success();
    let to = Sandbox::new();
    import(&to, &file).success();
    assert_eq!(rows(&to), rows(&from));
    to.restore("clean words").success();
}

#[test]
fn a_bundle_heals_what_is_damaged_here() {
    let (from, file) = exported();
    for pack in crate::bench::damaged::packs_of(&from.store()) {
        from.remove(pack);
    }
    from.run(&["verify", "--full"]).code(6);
    let said = import(&from, &file).success();
    assert!(said.stdout.contains("damaged here"), "{said}");
    from.run(&["verify", "--repair"]).success();
    from.run(&["verify", "--full"]).success();
    from.restore("one").success();
    assert_eq!(from.read("a"), "one");
}

#[test]
fn an_imported_safety_checkpoint_is_no_step_that_could_be_undone_here() {
    let (_from, file) = exported_with_safety();
    let to = Sandbox::new();
    to.write("own", "1").create("own");
    to.run(&["import", "--safety", &text(&file)]).success();
    to.run(&["undo", "--yes"]).code(3);
    assert_eq!(to.read("own"), "1");
    to.run(&["verify", "--full"]).success();
}

#[test]
#[cfg(unix)]
fn export_replaces_no_device_and_no_link_and_writes_among_no_stores() {
    let (sandbox, file) = exported();
    sandbox.symlink("to-it", "real.bundle");
    sandbox.write("real.bundle", "old");
    sandbox.run(&["export", "-o", "to-it"]).success();
    assert!(sandbox.path("to-it").is_symlink());
    let len = |path: &Path| std::fs::metadata(path).expect("a file").len();
    assert_eq!(len(&sandbox.path("real.bundle")), len(&file));
    sandbox.symlink("null", "/dev/null");
    sandbox.run(&["export", "-o", "null"]).success();
    assert!(sandbox.path("null").is_symlink());
    sandbox.run(&["export", "-o", "d"]).code(2);
    let lock = sandbox.store().join("checkpoint/lock");
    let refused = sandbox.run(&["export", "-o", &text(&lock)]).code(4);
    assert!(refused.stderr.contains("among the stores"), "{refused}");
    sandbox.run(&["verify", "--full"]).success();
}

#[test]
#[cfg(unix)]
fn a_signal_ends_an_import_whose_input_says_nothing() {
    let to = Sandbox::new();
    to.write("a", "1").create("one");
    let mut command = to.command(&[], &["import", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = child.id().to_string();
    let sent = std::process::Command::new("/bin/sh")
        .args(["-c", "kill -INT \"$0\"", &pid])
        .status();
    assert!(sent.expect("a shell").success());
    let held = child.stdin.take();
    let ended = limit::output_of("an import that is stopped", child);
    drop(held);
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(to.listed_ids().len(), 1);
}

#[test]
fn who_passes_checkpoints_on_names_where_they_were_made() {
    let (first, file) = exported();
    let second = Sandbox::new();
    import(&second, &file).success();
    second.at("2026-03-25T12:00:00Z").write("own", "1");
    second.create("own");
    second.run(&["export", "-o", &text(&file)]).success();
    let third = Sandbox::new();
    import(&third, &file).success();
    assert_eq!(rows(&third), rows(&second));
    let root = |reason: &str| {
        third.run(&["show", reason, "--json"]).success().data()["origin"]["root"].clone()
    };
    assert_eq!(root("two"), text(first.root()));
    assert_eq!(root("own"), text(second.root()));
}

#[test]
fn what_is_noted_of_checkpoints_here_is_overwritten_by_no_import_that_cannot_read_it() {
    let (_from, file) = exported();
    for notes in ["rewords", "origins"] {
        let to = Sandbox::new();
        to.write("own", "1").create("own");
        to.run(&["reword", "own", "my own words"]).success();
        let path = to.store().join("checkpoint").join(notes);
        to.write(&path, "torn");
        let refused = import(&to, &file).code(6);
        assert!(refused.stderr.contains("verify --repair"), "{refused}");
        assert_eq!(to.listed_ids().len(), 1, "{notes}");
        assert_eq!(std::fs::read(&path).expect("a file"), b"torn", "{notes}");
        to.run(&["verify", "--repair"]).success();
        import(&to, &file).success();
        assert_eq!(to.listed_ids().len(), 4, "{notes}");
    }
}

#[test]
fn a_file_in_a_directory_that_is_not_there_is_named_as_it_was_typed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox
        .run(&["export", "-o", "nowhere/x.bundle"])
        .code(1)
        .stderr_has("nowhere/x.bundle: ")
        .stderr_has("the directory of the file must be there");
}
