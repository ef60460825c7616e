//! `setup` killed at any system call: each file is whole, old or new, and the next run ends as if
//! nothing had happened.

use std::path::Path;

use crate::bench::{Sandbox, Tree, fixtures, sample, strace};

const CALLS: &str = "openat,write,fsync,fchmod,fchown,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat";
/// Upper bound on the calls of one run.
const MOST_CALLS: usize = 400;
const HOOKS: &str = ".codex/hooks.json";
const OTHERS: &str = "{\r\n\t\"hooks\": {\r\n\t\t\"Mine\": [ /* mine */ ],\r\n\t},\r\n}\r\n";

fn home_with_settings() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(sandbox.top().join("dotfiles/hooks.json"), OTHERS);
    sandbox.symlink(sandbox.home().join(HOOKS), "../../dotfiles/hooks.json");
    sandbox.write(sandbox.home().join(".claude/mine"), "");
    sandbox
}

/// Each file below a folder with its text, but for temporary ones.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let files = fixtures::files_below(folder);
    let text = |path: &std::path::PathBuf| {
        let name = path
            .strip_prefix(folder)
            .expect("below")
            .display()
            .to_string();
        (name, std::fs::read_to_string(path).expect("text"))
    };
    let mut texts: Vec<_> = files.iter().map(text).collect();
    texts.retain(|(name, _)| !name.contains(".checkpoint-tmp-"));
    texts
}

/// Whether a file is as in one of these folders.
#[track_caller]
fn is_whole(found: &[(String, String)], states: &[&[(String, String)]], when: &str) {
    for file in found {
        let is_known = states.iter().any(|state| state.contains(file));
        assert!(is_known, "{when}: {file:?}");
    }
}

#[test]
fn killed_anywhere_each_file_is_old_or_new_and_the_next_run_completes_it() {
    if !strace::available() {
        return;
    }
    let install = ["setup", "codex", "claude", "--yes"];
    let remove = ["setup", "--remove", "--yes"];
    let sandbox = home_with_settings();
    let old = texts(sandbox.home());
    let tree = Tree::capture(sandbox.home());
    sandbox.run(&install).success();
    let new = texts(sandbox.home());
    let with_entries = sandbox.read(sandbox.home().join(HOOKS));
    sandbox.run(&remove).success();
    assert_eq!(Tree::capture(sandbox.home()), tree);
    for (args, other) in [(&install[..], &remove[..]), (&remove[..], &install[..])] {
        let mut ended = false;
        for nth in sample::calls(MOST_CALLS) {
            let sandbox = home_with_settings();
            if args == remove {
                sandbox.run(&install).success();
            }
            let run = strace::kill_at(&sandbox, CALLS, nth, args);
            let when = format!("{args:?} killed at {nth}");
            let texts_now = texts(sandbox.home());
            is_whole(&texts_now, &[&old, &new], &when);
            let hooks = sandbox.read(sandbox.home().join(HOOKS));
            assert!(
                [OTHERS, &with_entries].contains(&&*hooks),
                "{when}: {hooks}"
            );
            sandbox.run(args).success();
            let expected = if args == install { &new } else { &old };
            let now = texts(sandbox.home());
            assert_eq!(&now, expected, "{when}");
            sandbox.run(other).success();
            sandbox.run(&remove).success();
            assert_eq!(
                texts(sandbox.home()),
                old,
                "{when}, then put right and removed"
            );
            if run.code == 0 {
                ended = true;
                break;
            }
        }
        assert!(ended, "{args:?} makes more calls than {MOST_CALLS}");
    }
}

#[test]
fn what_a_killed_setup_left_goes_with_the_next_setup_removal_or_fix() {
    if !strace::available() {
        return;
    }
    let install = ["setup", "codex", "claude", "--yes"];
    let old = texts(home_with_settings().home());
    let mut ended = false;
    for nth in sample::calls(MOST_CALLS) {
        let sandbox = home_with_settings();
        let run = strace::kill_at(&sandbox, CALLS, nth, &install);
        let when = format!("killed at {nth}");
        let no_temporary = |after: &str| {
            let files = fixtures::files_below(sandbox.home());
            let left = files
                .iter()
                .find(|path| path.display().to_string().contains(".checkpoint-tmp-"));
            assert_eq!(left, None, "{when}, then {after}");
        };
        if nth % 2 == 0 {
            let _ = sandbox.cmd("doctor --fix");
            no_temporary("doctor --fix");
        }
        sandbox.ok("setup --remove --yes");
        no_temporary("setup --remove");
        assert_eq!(texts(sandbox.home()), old, "{when}, then removed");
        if run.code == 0 {
            ended = true;
            break;
        }
    }
    assert!(ended, "more calls than {MOST_CALLS}");
}

#[test]
fn a_removal_from_an_edited_file_that_is_killed_leaves_no_copy_after_the_next_one() {
    if !strace::available() {
        return;
    }
    let remove = ["setup", "codex", "--remove", "--yes"];
    let edited = || {
        let sandbox = home_with_settings();
        sandbox.ok("setup codex --yes");
        let hooks = sandbox.home().join(HOOKS);
        let text = sandbox
            .read(&hooks)
            .replacen("/* mine */", "/* edited */", 1);
        // The link stays.
        std::fs::write(&hooks, text).expect("a file");
        sandbox
    };
    let sandbox = edited();
    sandbox.run(&remove).success();
    let whole = texts(sandbox.home());
    let mut ended = false;
    for nth in sample::calls(MOST_CALLS) {
        let sandbox = edited();
        let run = strace::kill_at(&sandbox, CALLS, nth, &remove);
        sandbox.run(&remove).success();
        assert_eq!(texts(sandbox.home()), whole, "killed at {nth}");
        if run.code == 0 {
            ended = true;
            break;
        }
    }
    assert!(ended, "more calls than {MOST_CALLS}");
}
