//! Archived runs: what reads them works, what would change them says that they are archived.

use crate::bench::Sandbox;

/// A run that was archived while it was open, and one that was abandoned.
fn with_archive() -> Sandbox {
    let sandbox = Sandbox::new();
    for id in ["run1", "bill"] {
        sandbox
            .cmd(format!("workflow init --id {id} --phase a --phase b"))
            .success();
    }
    sandbox.ok("phase start -w run1");
    sandbox.ok("workflow end run1");
    sandbox.ok("workflow end --abandon bill");
    sandbox
}

#[test]
fn what_would_change_an_archived_run_says_so_and_what_can_be_done() {
    let sandbox = with_archive();
    let listed = || sandbox.ok("workflow list --all");
    let before = listed().stdout_has("in_progress, archived").stdout;
    for id in ["run1", "bill"] {
        for command in [
            &["workflow", "end", "--delete", id][..],
            &["workflow", "end", "--abandon", id],
            &["workflow", "end", id],
            &["workflow", "note", "--interrupted", "-w", id],
            &["workflow", "rewind", "a", "-w", id, "--both"],
            &["workflow", "note", "-w", id, "--decision", "x"],
            &["phase", "start", "-w", id],
            &["phase", "done", "a", "-w", id],
        ] {
            let run = sandbox.run(command).code(4);
            run.stderr_has(&format!("workflow {id} is archived and can only be read"))
                .stderr_has(&format!("'checkpoint workflow end {id} --purge' drops it"));
            let run = sandbox.run(&[command, &["--json"]].concat()).code(4);
            assert_eq!(run.error_code(), "workflow_archived", "{run}");
        }
        sandbox.cmd(format!("workflow show {id}")).success();
    }
    assert_eq!(listed().stdout, before);
    sandbox
        .fails(3, "workflow end --delete nope")
        .stderr_has("no workflow 'nope'");
    sandbox.ok("workflow end bill --purge --yes");
}

#[test]
fn an_open_run_that_was_archived_is_not_offered_to_be_resumed() {
    let sandbox = with_archive();
    for more in [&[][..], &["--choose", "y"], &["--choose", "n"]] {
        let run = sandbox
            .run(&[&["workflow", "resume", "run1", "--json"], more].concat())
            .code(4);
        assert_eq!(run.error_code(), "workflow_archived", "{run}");
    }
    sandbox
        .fails(3, "workflow resume bill")
        .stderr_has("workflow bill is abandoned");
    let next = sandbox.ok("workflow next run1");
    next.stdout_has("workflow run1 is archived")
        .stdout_has("'checkpoint workflow export run1 --format plan'");
    sandbox
        .ok("workflow status run1")
        .stdout_has("Next: none: workflow run1 is archived");
    // What is advised works.
    let plan = sandbox.ok("workflow export run1 --format plan").stdout;
    sandbox
        .write("plan.json", plan)
        .ok("workflow init --plan plan.json");
}
