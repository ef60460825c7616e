//! What is said where a remote, or a checkpoint of one, is not as it was meant.

use crate::bench::remote::{Remote, text};
use crate::bench::{Sandbox, damaged, os};

/// A machine that pushed a checkpoint, and another that knows the remote and has one of its own.
fn two_machines() -> Option<(Sandbox, Remote, Sandbox)> {
    let (from, to) = (Sandbox::new(), Sandbox::new());
    let remote = Remote::bare_directory(&from)?;
    from.write("a", "there");
    from.create("there");
    remote.add_to(&from);
    from.run(&["push"]).success();
    to.write("a", "here");
    to.create("here");
    remote.add_to(&to);
    Some((from, remote, to))
}

#[test]
fn a_selector_that_names_nothing_of_a_remote_says_what_does() {
    let Some((from, _remote, to)) = two_machines() else {
        return;
    };
    to.run(&["show", "origin/latest"])
        .code(3)
        .stderr_has("'checkpoint fetch origin' brings what other stores pushed")
        .stderr_has("'checkpoint list' shows what this one did");
    to.run(&["fetch"]).success();
    to.run(&["show", "origin/nothing"])
        .code(3)
        .stderr_has("'checkpoint list --remote origin' shows what is here of it");
    to.run(&["show", "origin/latest~7"]).code(3);
    let id = from.shown("latest")["id"].as_str().map(str::to_owned);
    let short = id.expect("an id")[..8].to_owned();
    to.run(&["show", &short])
        .code(3)
        .stderr_has(&format!("did you mean origin/{short}?"));
    to.run(&["show", &format!("origin/{short}")]).success();
}

#[test]
fn no_reason_stands_for_another_checkpoint() {
    let Some((from, remote, to)) = two_machines() else {
        return;
    };
    to.run(&["fetch"]).success();
    for reason in ["latest", "@", "@~1", "origin/latest", "origin/there"] {
        for args in [&["create", reason][..], &["reword", "here", reason]] {
            to.run(args)
                .code(2)
                .stderr_has(&format!("'{reason}' names a checkpoint"));
        }
    }
    for reason in ["fix/foo", "origins/latest", "latest news", "@home again"] {
        let id = to.create(reason);
        to.run(&["cat", reason, "a"]).success().stdout_is("here");
        assert_eq!(to.shown(reason)["short"], id.as_str());
    }
    // A remote may come later, or such a reason from another machine.
    let other = Sandbox::new();
    other.write("a", "other");
    let id = other.create("origin/latest");
    remote.add_to(&other);
    other.run(&["fetch"]).success();
    let there = from.shown("latest")["id"].clone();
    assert_eq!(other.shown("origin/latest")["id"], there);
    assert_eq!(other.shown(&id)["reason"], "origin/latest");
}

#[test]
fn a_checkpoint_of_a_remote_is_verified_and_named_by_undo() {
    let Some((from, _remote, to)) = two_machines() else {
        return;
    };
    let own = damaged::packs_of(&to.store());
    to.run(&["fetch"]).success();
    to.run(&["verify", "origin/latest"])
        .success()
        .stdout_has("1 checkpoint");
    to.restore("origin/latest").success();
    to.run(&["undo", "--list"]).success().stdout_has("(there)");
    from.tree().assert_is(&to.tree(), "restored");
    for pack in damaged::packs_of(&to.store()) {
        if !own.contains(&pack) {
            let mut bytes = std::fs::read(&pack).expect("it is read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            os::set_mode(&pack, 0o600).expect("its mode can be set");
            std::fs::write(&pack, bytes).expect("it is written");
        }
    }
    let run = to.run(&["verify", "origin/latest", "--full"]);
    assert_eq!(run.code, 6, "{run}");
    to.run(&["fetch", "--refetch"]).success();
    to.run(&["verify", "origin/latest", "--full"]).success();
}

#[test]
fn a_checkpoint_made_before_1970_travels() {
    let Some((from, _remote, to)) = two_machines() else {
        return;
    };
    from.at("1969-12-31T23:00:00Z").write("a", "old");
    from.create("old");
    from.run(&["push"]).success();
    to.run(&["fetch"]).success();
    let listed = to.run(&["list", "--remote", "origin", "--json"]).success();
    let rows = listed.data()["checkpoints"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "{rows}");
}

#[test]
fn a_clone_that_brings_nothing_leaves_no_store() {
    let (to, nowhere) = (Sandbox::bare(), Sandbox::bare());
    let Some(empty) = Remote::bare_directory(&nowhere) else {
        return;
    };
    to.run_in(to.home(), &["clone", "/nonexistent/x.git", "x"])
        .code(1);
    to.run_in(to.home(), &["clone", empty.url(), "x"]).code(3);
    to.run_in(to.home(), &["list", "--all"])
        .success()
        .stderr_has("no stores");
    assert!(!to.home().join("x").exists());
}

#[test]
fn a_directory_with_a_clone_begun_in_it_says_how_to_go_on() {
    let Some((_from, remote, to)) = two_machines() else {
        return;
    };
    let place = to.top().join("it's new");
    let clone = ["clone", remote.url(), &text(&place)];
    to.run_in(to.home(), &clone).success();
    std::fs::write(place.join("a"), "half").expect("it is written");
    let refused = to.run_in(to.home(), &clone).code(4);
    let said = refused.stderr_has("is not empty").stderr;
    let command = said.split("checkpoint -C ").nth(1).expect("a command");
    let command = command.split(" goes on").next().expect("a command");
    assert!(command.contains("restore latest --yes"), "{said}");
    to.run_in(
        to.home(),
        &["-C", &text(&place), "restore", "latest", "--yes"],
    )
    .success();
    assert_eq!(std::fs::read(place.join("a")).expect("a file"), b"there");
    let other = ["clone", "/nonexistent/x.git", &text(&place)];
    let refused = to.run_in(to.home(), &other).code(4);
    assert!(!refused.stderr.contains("restore latest"), "{refused}");
}

#[test]
fn a_limit_of_no_time_and_a_name_in_other_letters_are_refused() {
    let Some((_from, remote, to)) = two_machines() else {
        return;
    };
    to.run(&["fetch", "--timeout", "0"]).code(2);
    to.run(&["remote", "add", "Origin", remote.url()])
        .code(4)
        .stderr_has("origin");
}

#[test]
fn a_url_that_is_a_path_begins_where_it_is_typed() {
    let Some((_from, remote, to)) = two_machines() else {
        return;
    };
    let (above, place) = (to.top().join("above"), remote.place());
    std::fs::create_dir(&above).expect("it is made");
    let (server, name) = (place.parent().expect("a folder"), place.file_name());
    let name = name.and_then(|name| name.to_str()).expect("a name");
    to.run_in(server, &["-C", &text(&above), "clone", name, "copy"])
        .success();
    assert!(above.join("copy").join("a").exists());
    let root = text(&above.join("copy"));
    to.run_in(server, &["-C", &root, "remote", "add", "again", name])
        .success();
    to.run_in(server, &["-C", &root, "fetch", "again"])
        .success();
}

#[test]
fn a_restored_checkpoint_of_a_remote_is_where_the_directory_stands() {
    let Some((_from, _remote, to)) = two_machines() else {
        return;
    };
    to.run(&["fetch"]).success();
    to.run(&["restore", "origin/there", "--yes"]).success();
    to.run(&["status"]).success().stdout_has("there");
    to.run(&["diff", "--exit-code"]).success();
    assert_eq!(to.shown("@")["reason"], "there");
    to.run(&["show", "@~1"]).success().stdout_has("here");
    to.write("a", "changed");
    to.run(&["restore", "a", "--yes"]).success();
    assert_eq!(to.read("a"), "there");
    to.write("b", "new").create("after");
    let run = to.run(&["show", "after"]).success();
    run.stdout_has("there");
    to.run(&["create", "again"])
        .success()
        .stderr_has("+0 ~0 -0");
}
