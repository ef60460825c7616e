//! `guard`: passes where a checkpoint covers a change, and otherwise says how to make one.

use std::path::PathBuf;

use crate::bench::damaged::packs_of;
use crate::bench::os::QUOTE;
use crate::bench::{Run, Sandbox};
use crate::partial;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/a.py", "a1\n")
        .write("src/b.py", "b1\n")
        .write("README", "r1\n")
        .mkdir("src/empty");
    sandbox
        .write(".gitignore", "build/\n*.log\n")
        .write("build/app", "b")
        .write("src/x.log", "l")
        .write(".env", "K=1");
    sandbox
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> (String, String) {
    refused_as((4, "unguarded"), sandbox, args)
}

/// Refused because a part of the scope names nothing.
#[track_caller]
fn mistyped(sandbox: &Sandbox, args: &[&str]) -> (String, String) {
    refused_as((3, "nothing_found"), sandbox, args)
}

#[track_caller]
fn refused_as((code, error): (i32, &str), sandbox: &Sandbox, args: &[&str]) -> (String, String) {
    let run = sandbox
        .run(&[&["guard", "--json"], args].concat())
        .code(code);
    assert_eq!(run.error_code(), error, "{run}");
    let error = run.json()["error"].clone();
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    (text("message"), text("hint"))
}

#[track_caller]
fn passed(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox
        .run(&[&["guard"], args].concat())
        .success()
        .stdout
        .trim_end()
        .to_owned()
}

/// Runs a hint in a shell, in another directory than the root.
fn follow(sandbox: &Sandbox, hint: &str) -> Run {
    let script = format!("cd / && checkpoint() {{ \"$0\" \"$@\"; }} && {hint}");
    sandbox.run_under(&["sh", "-c", &script], &[])
}

#[test]
fn an_exact_guard_wants_the_files_as_they_are_now() {
    let sandbox = project();
    let first = sandbox.create("before");
    assert_eq!(passed(&sandbox, &["--exact"]), first);
    sandbox.write("src/a.py", "a2\n");
    assert_eq!(passed(&sandbox, &[]), first);
    assert_eq!(passed(&sandbox, &["--exact", "--scope", "README"]), first);
    for args in [&["--exact"][..], &["--exact", "--scope", "src"]] {
        let (what, hint) = refused(&sandbox, args);
        assert!(
            what.ends_with(&format!("({first}) does not hold 'src/a.py' as it is now")),
            "{what}"
        );
        assert!(hint.contains("create"), "{hint}");
    }
    let scoped = sandbox.run(&["create", "now", "--scope", "src"]).success();
    let run = sandbox.run(&["guard", "--exact", "--scope", "src"]);
    run.success()
        .stdout_is(&scoped.stdout)
        .stderr_has("covered by 'now' (src only, ");
    for (path, what) in [("src/new", "new"), ("src/empty/x", "x")] {
        sandbox.create("again");
        assert_eq!(passed(&sandbox, &["--exact"]).len(), 8);
        sandbox.write(path, what);
        refused(&sandbox, &["--exact", "--scope", "src"]);
    }
}

#[cfg(unix)]
#[test]
fn a_script_edits_nothing_without_a_checkpoint_and_goes_on_with_one() {
    let sandbox = project();
    let edit = ["sh", "-c", "\"$0\" \"$@\" && echo new > README"];
    sandbox
        .run_under(&edit, &["guard"])
        .code(4)
        .stderr_has("there is no checkpoint");
    assert_eq!(sandbox.read("README"), "r1\n");
    assert!(!sandbox.base().exists(), "a guard makes no store");
    let id = sandbox.create("before");
    let run = sandbox.run_under(&edit, &["guard"]).success();
    assert_eq!(
        (run.stdout, sandbox.read("README")),
        (format!("{id}\n"), "new\n".to_owned())
    );
}

#[cfg(unix)]
#[test]
fn the_hint_is_the_command_that_makes_what_is_missing() {
    let sandbox = Sandbox::rooted_at("my work");
    sandbox
        .write("a b's/x", "1")
        .write("[id].tsx", "2")
        .write("@list", "3")
        .write("-dash", "4")
        .write("o.log", "5");
    sandbox.write(".gitignore", "*.log\n");
    let root = sandbox.root().display().to_string();
    for scope in [
        vec![],
        vec!["--scope", "a b's"],
        vec!["--scope", "[id].tsx", "--scope", "*.tsx"],
        vec!["--scope", "./@list", "--scope=-dash", "--scope", "."],
        vec!["--scope", "o.log"],
        vec!["--scope", "a b's", "--scope", "a b's/*"],
    ] {
        let (_, hint) = refused(&sandbox, &scope);
        assert!(
            hint.starts_with(&format!("checkpoint -C {QUOTE}{root}{QUOTE} create")),
            "{hint}"
        );
        let made = follow(&sandbox, &hint).success();
        assert_eq!(passed(&sandbox, &scope), made.stdout.trim_end(), "{hint}");
        sandbox.run(&["delete", "--all", "--yes"]).success();
    }
    let base = sandbox.top().join("other base");
    let elsewhere = ["--base", base.to_str().expect("text")];
    follow(&sandbox, &refused(&sandbox, &elsewhere).1).success();
    passed(&sandbox, &elsewhere);
    assert!(!sandbox.store().exists());
}

#[test]
fn only_a_fresh_checkpoint_will_do() {
    let sandbox = project();
    let id = sandbox.at("2026-03-24T12:00:00Z").create("before");
    for (now, args) in [
        ("2026-03-24T12:30:00Z", vec![]),
        ("2026-03-24T11:59:00Z", vec![]),
        ("2026-03-24T14:00:00Z", vec!["--max-age", "2h"]),
        ("2026-03-24T12:00:00Z", vec!["--max-age", "1ms"]),
    ] {
        assert_eq!(passed(sandbox.at(now), &args), id, "{now}");
    }
    let (message, _) = refused(sandbox.at("2026-03-24T12:30:01Z"), &[]);
    assert!(
        message.contains(&id) && message.contains("30 min old"),
        "{message}"
    );
    let (message, _) = refused(sandbox.at("2026-03-24T11:58:59Z"), &[]);
    assert!(message.contains("future"), "{message}");
    refused(sandbox.at("2026-03-24T12:00:11Z"), &["--max-age", "10s"]);
    let short = ["create", "--scope", "src", "--expires", "10m"];
    sandbox.at("2026-03-24T13:00:00Z").run(&short).success();
    passed(sandbox.at("2026-03-24T13:09:59Z"), &["--scope", "src"]);
    let (message, _) = refused(sandbox.at("2026-03-24T13:10:00Z"), &["--scope", "src"]);
    assert!(message.contains("has expired"), "{message}");
    for bad in ["soon", "-1m", "0s", ""] {
        sandbox.run(&["guard", &format!("--max-age={bad}")]).code(2);
    }
}

#[test]
fn without_a_scope_only_a_complete_checkpoint_of_the_whole_directory_will_do() {
    let sandbox = project();
    sandbox.run(&["create", "--scope", "src"]).success();
    sandbox.run(&["create", "--scope", "."]).success();
    let (message, _) = refused(&sandbox, &[]);
    assert!(
        message.contains("no checkpoint covers the whole directory"),
        "{message}"
    );
    let id = sandbox.create("whole");
    sandbox.run(&["create", "--scope", "src"]).success();
    assert_eq!(passed(&sandbox, &[]), id);
}

#[cfg(unix)]
#[test]
fn a_partial_checkpoint_guards_only_what_it_could_read() {
    let sandbox = project();
    let Some(wrapper) = partial::wrapper(&sandbox) else {
        return;
    };
    sandbox.write("closed/inside", "3").chmod("closed", 0);
    let run = sandbox.run_under(wrapper, &["create"]).code(5);
    refused(&sandbox, &[]);
    assert_eq!(
        passed(&sandbox, &["--scope", "src", "--scope", "READ*"]),
        run.stdout.trim_end()
    );
    for args in [&["--scope", "closed"][..], &["--scope", "."], &[]] {
        let (message, _) = refused(&sandbox, args);
        assert!(
            message.contains("does not hold closed (cannot be read): fix that"),
            "{message}"
        );
    }
    sandbox.chmod("closed", 0o755);
    let id = sandbox.create("mended");
    assert_eq!(passed(&sandbox, &[]), id);
}

#[cfg(unix)]
#[test]
fn what_names_nothing_may_be_mistyped_and_is_guarded_by_its_directory() {
    let sandbox = Sandbox::rooted_at("my work");
    sandbox
        .write("src/a.py", "1")
        .write("src/x.log", "l")
        .write(".gitignore", "*.log\n");
    for scope in [
        vec!["src/b.py"],
        vec!["src/new/b.py", "src/a.py"],
        vec!["sr/a.py"],
    ] {
        let args: Vec<&str> = scope.iter().flat_map(|part| ["--scope", part]).collect();
        let mut advised = Vec::new();
        let mut hint = mistyped(&sandbox, &args).1;
        let id = loop {
            assert!(advised.len() < 4, "round for ever: {advised:?}");
            let run = follow(&sandbox, &hint);
            let is_guard = hint.contains(" guard ");
            advised.push(hint);
            if is_guard && run.code == 0 {
                break run.stdout;
            }
            hint = if is_guard {
                assert!([3, 4].contains(&run.code), "{run}");
                let said = run.stderr;
                said.trim_end()
                    .rsplit("; run: ")
                    .next()
                    .expect("a hint")
                    .to_owned()
            } else {
                drop(run.success());
                mistyped(&sandbox, &args).1
            };
        };
        let (message, _) = mistyped(&sandbox, &args);
        assert!(
            message.contains("is guarded by its directory") && message.contains(id.trim_end()),
            "{message}"
        );
        sandbox.run(&["delete", "--all", "--yes"]).success();
    }
    let id = sandbox.create("whole");
    let (message, hint) = mistyped(&sandbox, &["--scope", "src/*.pyy"]);
    assert!(
        message.contains(&format!("'src/*.pyy' matches nothing in checkpoint {id}")),
        "{message}"
    );
    assert_eq!(follow(&sandbox, &hint).success().stdout.trim_end(), id);
    sandbox.remove("src/a.py");
    assert_eq!(
        passed(&sandbox, &["--scope", "src/a.py", "--scope", "*.py"]),
        id,
        "a file that is gone is held"
    );
}

#[test]
fn a_scoped_checkpoint_guards_what_its_scope_holds() {
    let sandbox = project();
    sandbox.write("docs/x.md", "m");
    let run = sandbox
        .run(&["create", "--scope", "src", "--scope", "*.md"])
        .success();
    let id = run.stdout.trim_end();
    for held in [
        vec!["src"],
        vec!["src/a.py", "*.md"],
        vec!["src/*.py"],
        vec!["src/**/*.py", "src/empty"],
    ] {
        let args: Vec<&str> = held.iter().flat_map(|part| ["--scope", part]).collect();
        assert_eq!(passed(&sandbox, &args), id, "{held:?}");
    }
    for other in [
        vec!["README"],
        vec!["src", "README"],
        vec!["*.py"],
        vec!["."],
    ] {
        let args: Vec<&str> = other.iter().flat_map(|part| ["--scope", part]).collect();
        let (message, _) = refused(&sandbox, &args);
        assert!(message.contains("no checkpoint covers"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn what_a_rule_leaves_out_is_not_guarded_by_a_checkpoint_of_the_whole() {
    let sandbox = project();
    let id = sandbox.create("whole");
    for held in ["src", "src/a.py", "src/empty", "src/*.py", "."] {
        assert_eq!(passed(&sandbox, &["--scope", held]), id, "{held}");
    }
    for lacking in ["build", "build/app", "src/x.log", ".env"] {
        let (message, _) = refused(&sandbox, &["--scope", "src", "--scope", lacking]);
        assert!(
            message.contains(&format!("does not hold '{lacking}'")),
            "{message}"
        );
    }
    let (_, hint) = refused(&sandbox, &["--scope", "build/app"]);
    follow(&sandbox, &hint).success();
    passed(&sandbox, &["--scope", "build/app"]);
}

#[cfg(unix)]
#[test]
fn what_lies_behind_a_symlink_is_not_guarded_and_what_has_no_bytes_is() {
    let sandbox = project();
    sandbox
        .symlink("link", "src")
        .fifo("pipe")
        .symlink("dangling", "nowhere");
    let id = sandbox.create("whole");
    for (scope, behind) in [
        ("link/a.py", " src/a.py"),
        ("link", " src"),
        ("link/*", " src"),
    ] {
        let (message, _) = refused_as((4, "linked_path"), &sandbox, &["--scope", scope]);
        assert!(message.contains("symlink link"), "{message}");
        assert!(message.ends_with(behind), "{message}");
    }
    for held in ["pipe", "dangling"] {
        assert_eq!(passed(&sandbox, &["--scope", held]), id, "{held}");
    }
    sandbox
        .run(&["guard", "--scope", ".git/config"])
        .code(4)
        .stderr_has(".git");
    sandbox.run(&["guard", "--scope", "../elsewhere"]).code(2);
}

#[test]
fn a_damaged_checkpoint_guards_nothing_and_an_older_whole_one_does() {
    let sandbox = project();
    let first = sandbox.create("first");
    let before = packs_of(&sandbox.store());
    sandbox.write("README", "r2\n");
    let second = sandbox.create("second");
    let others: Vec<PathBuf> = packs_of(&sandbox.store())
        .into_iter()
        .filter(|pack| !before.contains(pack))
        .collect();
    let aside = |packs: &[PathBuf]| {
        for pack in packs {
            std::fs::rename(pack, pack.with_extension("x")).unwrap();
        }
    };
    let back = |packs: &[PathBuf]| {
        for pack in packs {
            std::fs::rename(pack.with_extension("x"), pack).unwrap();
        }
    };
    aside(&before);
    let (message, _) = refused(&sandbox, &[]);
    assert!(
        message.contains(&second) && message.contains("damaged"),
        "{message}"
    );
    back(&before);
    aside(&others);
    assert_eq!(passed(&sandbox, &[]), first);
    back(&others);
    assert_eq!(passed(&sandbox, &[]), second);
}

#[test]
fn a_safety_checkpoint_guards_nothing() {
    let sandbox = project();
    let id = sandbox.at("2026-03-24T12:00:00Z").create("before");
    sandbox.write("README", "r2\n").at("2026-03-24T13:00:00Z");
    sandbox.restore(&id).success();
    let (message, _) = refused(&sandbox, &[]);
    assert!(
        message.contains(&id) && message.contains("1 h old"),
        "{message}"
    );
}

#[test]
fn a_guard_writes_nothing() {
    let sandbox = project();
    sandbox.create("before");
    sandbox.watch(sandbox.home()).watch(sandbox.root());
    passed(&sandbox, &["--scope", "src"]);
    refused(&sandbox, &["--scope", "build/app"]);
    refused(&sandbox, &["--max-age", "1s"]);
}

#[test]
fn scopes_may_stand_in_a_list_and_an_empty_one_is_wrong_usage() {
    let sandbox = project();
    let id = sandbox.create("before");
    sandbox.write("list", "src\nREADME\n").write("none", "\n");
    assert_eq!(passed(&sandbox, &["--scope", "@list"]), id);
    sandbox.run(&["guard", "--scope", "@none"]).code(2);
    sandbox.run(&["guard", "--scope", "-"]).code(2);
}

/// Follows a hint, and the hint after it; whether it leads to a guard, or to a reason.
#[track_caller]
fn lead(sandbox: &Sandbox, args: &[&str]) -> bool {
    let run = sandbox.run(&[&["guard", "--json"], args].concat());
    assert!([3, 4].contains(&run.code), "{run}");
    let mut error = run.json()["error"].clone();
    for _ in 0..4 {
        let Some(hint) = error["hint"].as_str().map(str::to_owned) else {
            return false;
        };
        let create = hint.contains(" create ");
        let run = follow(sandbox, &format!("{hint} --json"));
        assert!(run.code == 0 || !create, "{hint}\n{run}");
        if run.code == 0 && !create {
            return true;
        }
        let asked = if create {
            hint.split(" create ").nth(1).expect("options").to_owned()
        } else {
            String::new()
        };
        let again = asked.split(" --include-sensitive").next().expect("a scope");
        let root = sandbox.root().display();
        let run = if create {
            follow(
                sandbox,
                &format!("checkpoint -C '{root}' guard --json {again}"),
            )
        } else {
            run
        };
        if run.code == 0 {
            return true;
        }
        assert!([3, 4].contains(&run.code), "{run}");
        error = run.json()["error"].clone();
    }
    panic!("round for ever: {error}");
}

#[cfg(unix)]
#[test]
fn what_is_advised_works_or_there_is_a_reason() {
    for whole in [false, true] {
        let sandbox = Sandbox::new();
        sandbox
            .write("f", "1")
            .write(".env", "K=1")
            .write("[x].env", "K=1")
            .write("x.log", "l")
            .fifo("pipe");
        sandbox
            .write(".gitignore", "*.log\n")
            .write(".checkpoints/x", "1")
            .mkdir("empty");
        sandbox
            .write("src/a", "1")
            .symlink("link", "src")
            .write("deep/.env", "K=1");
        for (scope, ends_well) in [
            (vec![".env"], true),
            (vec!["[x].env", "f"], true),
            (vec!["*.env"], true),
            (vec!["*.log"], true),
            (vec!["f", "*.log", "deep/.env"], true),
            (vec![".checkpoints"], false),
            (vec![".checkpoints/*"], false),
            (vec!["link/a"], false),
            (vec!["deep"], whole),
            (vec!["pipe"], whole),
            (vec!["empty/*"], whole),
        ] {
            if whole {
                sandbox.create("whole");
            }
            let args: Vec<&str> = scope.iter().flat_map(|part| ["--scope", part]).collect();
            let is_led =
                sandbox.run(&[&["guard"], &args[..]].concat()).code == 0 || lead(&sandbox, &args);
            assert_eq!(is_led, ends_well, "{scope:?}, whole: {whole}");
            let _ = sandbox.run(&["delete", "--all", "--yes"]);
        }
    }
}

#[test]
fn a_pattern_that_matches_an_ignored_file_is_not_yet_to_be_made() {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/a.py", "a")
        .write("src/b.js", "b")
        .write("src/.gitignore", "a.py\n");
    sandbox.run(&["create", "--scope", "src"]).success();
    let (message, hint) = refused(&sandbox, &["--scope", "src/*.py"]);
    assert!(
        message.contains("what a rule leaves out, such as src/a.py"),
        "{message}"
    );
    assert!(hint.ends_with(" guard --scope src/a.py"), "{hint}");
}
