//! `setup` killed at any system call: each file is whole, old or new, and the next run ends as if
//! nothing had happened.

use std::path::Path;

use crate::bench::{Sandbox, fixtures, sample, strace};

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
