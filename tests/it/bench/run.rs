//! The result of one run of the program, and assertions about it.

use std::process::{Child, Command, Output};

use serde_json::Value;

use super::{answer, limit, os};

#[derive(Debug, Clone)]
pub struct Run {
    pub shown_command: String,
    pub stdout: String,
    pub stderr: String,
    /// The exit code, or 128 plus the signal that ended the program.
    pub code: i32,
}

impl Run {
    /// Runs a command to its end with nothing on its standard input.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn of(mut command: Command) -> Self {
        let shown_command = format!("{command:?}");
        let output = limit::output(&mut command);
        let output = output.unwrap_or_else(|error| panic!("cannot start {shown_command}: {error}"));
        Self::from_output(shown_command, &output)
    }

    /// The result of a program that was started with pipes, once it ends.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn ended(shown_command: String, child: Child) -> Self {
        let output = limit::output_of(&shown_command, child);
        Self::from_output(shown_command, &output)
    }

    pub fn from_output(shown_command: String, output: &Output) -> Self {
        let run = Self {
            shown_command,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: os::exit_code(output.status),
        };
        answer::judge(&run.stdout).unwrap_or_else(|flaw| panic!("{flaw}\n{run}"));
        run
    }

    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, expected, "wrong exit code\n{self}");
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn stdout_is(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "wrong stdout\n{self}");
        self
    }

    /// The one JSON object on stdout; anything beside it fails the test.
    #[track_caller]
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no single JSON object: {error}\n{self}"));
        assert!(value.is_object(), "the document is no object\n{self}");
        assert_eq!(
            value["exit"], self.code,
            "the document names another exit code\n{self}"
        );
        assert_eq!(
            value["ok"],
            value["error"].is_null(),
            "`ok` disagrees with `error`\n{self}"
        );
        assert!(
            value["ok"] == true || !matches!(self.code, 0 | 5),
            "`ok` disagrees with the exit code\n{self}"
        );
        value
    }

    /// The `data` of the JSON object.
    #[track_caller]
    pub fn data(&self) -> Value {
        let value = self.json();
        assert!(value["data"].is_object(), "no data\n{self}");
        value["data"].clone()
    }

    /// The codes of all warnings in the JSON object.
    #[track_caller]
    pub fn warning_codes(&self) -> Vec<String> {
        let value = self.json();
        let warnings = value["warnings"].as_array().cloned().unwrap_or_default();
        warnings
            .iter()
            .map(|warning| warning["code"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The code of the failure in the JSON object.
    #[track_caller]
    pub fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}\n{}\n------- stderr -------\n{}\n[exit status: {}]",
            self.shown_command, self.stdout, self.stderr, self.code
        )
    }
}
