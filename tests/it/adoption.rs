//! Places of adopted commits on a full disk; `stories/adoption.md` has the rest of what plain git made.

use crate::bench::{Recipe, Sandbox, strace};

#[test]
fn a_full_disk_keeps_no_command_from_a_store_whose_adopted_commits_have_no_noted_place() {
    let sandbox = Sandbox::bare();
    let Some(recipe) = Recipe::find(&sandbox) else {
        return;
    };
    if !strace::available() {
        return;
    }
    let git = recipe.git();
    std::fs::create_dir_all(sandbox.store()).expect("the store's folder can be made");
    git.ok("-c init.defaultBranch=main init -q");
    let made = [1, 2, 3].map(|number| {
        sandbox.write("a", number.to_string());
        git.ok("add -A");
        git.ok(format!(
            "commit -q -m 'pre-wave-{number} | 2026-03-20 10:00:00 | build'"
        ));
        git.output(&["rev-parse", "HEAD"])
    });
    sandbox.create("ours");
    let noted = sandbox.store().join("checkpoint/adopted");
    let text = std::fs::read_to_string(&noted).expect("the places were noted");
    std::fs::write(&noted, "torn").unwrap();
    // The first rename of the command is that of this file.
    let args = ["delete", &made[0][..8], "--yes"];
    let run = strace::failing_nth(&sandbox, "rename,renameat,renameat2", "ENOSPC", 1, &args);
    assert!(strace::has_struck(&sandbox), "{run}");
    run.success();
    sandbox.create("room again");
    let again = std::fs::read_to_string(&noted).unwrap();
    assert!(
        text.contains(&made[2]) && again.contains(&made[2]),
        "{again}"
    );
}
