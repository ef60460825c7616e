//! Times of runs at a terminal; its dialogues are transcripts.

use crate::bench::terminal::at_a_terminal;
use crate::bench::{Sandbox, given};

#[test]
fn times_are_local_at_a_terminal_and_utc_for_a_pipe() {
    let sandbox = Sandbox::new();
    let document = include_str!("formats/pipeline-dashboard.json");
    sandbox.write(".claude/pipeline-state.json", document);
    sandbox.env("TZ", "Asia/Tokyo").env("NO_COLOR", "1");
    for (command, local, utc) in [
        ("status", "(19:05)", "(10:05)"),
        ("show", "newest first:", "newest first (utc):"),
        ("list", "updated  ", "updated (utc)"),
    ] {
        let piped = sandbox.ok(format!("workflow {command}")).stdout;
        assert!(piped.to_lowercase().contains(utc), "{piped}");
        let line = format!("$checkpoint workflow {command}");
        let run = given!(at_a_terminal(&sandbox, &line));
        let seen = run.success().stdout.to_lowercase();
        assert!(seen.contains(local) && !seen.contains("utc"), "{seen}");
    }
}
