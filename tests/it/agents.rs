//! What agents leave in the store: who made a checkpoint, and in which session.

use crate::bench::{Run, Sandbox};

/// Variables, the name of the agent, its session.
type Shell = (
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static str>,
);

#[test]
fn a_checkpoint_made_in_an_agents_shell_names_agent_and_session() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("by hand");
    let shells: [Shell; 4] = [
        (
            &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s 1%\n")],
            "claude",
            Some("s 1%\n"),
        ),
        (&[("CODEX_THREAD_ID", "thread")], "codex", Some("thread")),
        (&[("GEMINI_CLI", "1")], "gemini", None),
        (&[("CLAUDECODE", "0"), ("OPENCODE", "1")], "opencode", None),
    ];
    for (at, (variables, name, session)) in shells.into_iter().enumerate() {
        sandbox.write("a", at.to_string());
        let mut command = sandbox.command(&[], &["create", name]);
        command.envs(variables.iter().copied());
        Run::of(command).success();
        let shown = sandbox.run(&["show", name, "--json"]).success().json();
        let agent = &shown["data"]["checkpoint"]["provenance"];
        assert_eq!(agent["agent_name"], name);
        assert_eq!(agent["session"].as_str(), session, "{name}");
        sandbox
            .run(&["show", name])
            .success()
            .stdout_has(&format!("agent      {name}"));
    }
    let by_hand = sandbox.ok("show 'by hand' --json").json();
    assert!(
        by_hand["data"]["checkpoint"]["provenance"].is_null(),
        "{by_hand}"
    );
    sandbox.ok("verify --full");
}
