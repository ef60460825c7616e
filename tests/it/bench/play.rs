//! A run of phases played in a sandbox: by commands, and by an agent that edits its file.

use serde_json::{Value, json};

use super::Sandbox;

pub const PHASES: &str = "memory/state/phase.json";
pub const EXECUTION: &str = "memory/state/execution.json";
pub const PIPELINE: &str = ".claude/pipeline-state.json";

pub trait Play {
    fn go(&self, line: impl AsRef<str>) -> Value;
    fn refused(&self, line: &str, code: u8) -> String;
    fn says(&self, line: impl AsRef<str>, code: u8, text: impl AsRef<str>);
    fn step(&self, args: &[&str]) -> Value;
    fn json_of(&self, path: &str) -> Value;
    fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) -> String;
    fn stands(&self) -> Value;
}

impl Play for Sandbox {
    /// The code of the error with which a command ends.
    #[track_caller]
    fn refused(&self, line: &str, code: u8) -> String {
        let run = self.cmd(format!("{line} --json")).code(code.into());
        run.error_code()
    }

    /// Runs a command that prints this text, wherever.
    #[track_caller]
    fn says(&self, line: impl AsRef<str>, code: u8, text: impl AsRef<str>) {
        let run = self.cmd(line).code(code.into());
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(printed.contains(text.as_ref()), "{run}");
    }

    /// As [`Play::step`], of such a command.
    #[track_caller]
    fn go(&self, line: impl AsRef<str>) -> Value {
        self.step(&words(line.as_ref()))
    }

    #[track_caller]
    fn step(&self, args: &[&str]) -> Value {
        let is_step = matches!(args[0], "phase" | "task") && args[1] != "list"
            || matches!(args[..2], ["workflow", "init" | "import" | "note"]);
        let data = self.run(&[args, &["--json"]].concat()).success().data();
        if is_step {
            let id = data["id"].as_str().unwrap();
            let status = ["workflow", "status", id, "--json"];
            return self.run(&status).success().data();
        }
        if args[..2] == ["workflow", "recover"] {
            data["run"].clone()
        } else {
            data
        }
    }

    #[track_caller]
    fn json_of(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// Edits a file as an agent does: the whole text, in its own layout.
    #[track_caller]
    fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) -> String {
        let mut value = self.json_of(path);
        edit(&mut value);
        self.write(path, value.to_string());
        value.to_string()
    }

    #[track_caller]
    fn stands(&self) -> Value {
        self.step(&["workflow", "status"])
    }
}

pub fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_ascii_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}

#[track_caller]
pub fn phase_is(sandbox: &Sandbox, current: &str, status: &str, completed: &[&str]) -> Value {
    let file = sandbox.json_of(PHASES);
    let done: Vec<&str> = file["completed_phases"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["phase"].as_str())
        .collect();
    assert_eq!(
        (
            file["current_phase"].as_str(),
            file["phase_status"].as_str()
        ),
        (Some(current), Some(status)),
        "{file}"
    );
    assert_eq!(done, completed, "{file}");
    assert_eq!(file["interruption_safe"], true);
    file
}

/// Four phases of a pipeline in a project whose HEAD is at `1111111…`.
pub fn pipeline() -> Sandbox {
    let sandbox = Sandbox::new();
    let plan = json!({"phases": [
        {"id": "create-issues", "name": "Create Issues", "dependencies": []},
        {"id": "commit-scaffold", "name": "Commit Scaffold", "dependencies": []},
        {"id": "write-source", "name": "Write Source", "dependencies": ["commit-scaffold"]},
        {"id": "commit-final", "name": "Final Commit", "dependencies": ["write-source"]},
    ]});
    sandbox.write("plan.json", plan.to_string());
    commit(&sandbox, '1');
    sandbox.at("2026-03-24T12:00:00Z").step(&[
        "workflow",
        "init",
        "--profile",
        "pipeline",
        "--plan",
        "plan.json",
    ]);
    sandbox
}

/// Simulates a commit in the project.
pub fn commit(sandbox: &Sandbox, digit: char) {
    sandbox.write(
        ".git/refs/heads/main",
        format!("{}\n", digit.to_string().repeat(40)),
    );
    sandbox.renew_watches();
}

pub fn registry() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let words = [
        "--type",
        "orchestrate",
        "--project",
        "auth_system",
        "--description",
        "Implement authentication system",
    ];
    let plan = [
        "--phase",
        "1:Research",
        "--phase",
        "2:Plan",
        "--profile",
        "registry",
    ];
    sandbox.at("2025-10-03T18:45:30Z");
    let made = sandbox.step(&[&["workflow", "init"], &words[..], &plan].concat());
    assert_eq!(made["id"], "orchestrate_auth_system_20251003_184530");
    (
        sandbox,
        ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json".to_owned(),
    )
}
