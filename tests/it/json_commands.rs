//! `command` in JSON: the words of a suggested command, whatever names are in them; and messages,
//! in which no name acts on a terminal.

use crate::bench::os::OsStrExt as _;
use std::ffi::OsStr;

use serde_json::{Value, json};

use crate::bench::{Run, Sandbox};

const EVIL: &str = "checkpoint delete --all --yes";

/// All values of the field `command`, wherever they are.
fn commands(run: &Run) -> Vec<Value> {
    fn look(value: &Value, found: &mut Vec<Value>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("command").cloned());
                fields.values().for_each(|inner| look(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| look(inner, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    look(&run.json(), &mut found);
    found
}

#[test]
fn no_text_of_a_user_or_a_file_becomes_a_command() {
    for evil in [
        EVIL.to_owned(),
        format!("'{EVIL}'"),
        format!("x '{EVIL}' y"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("one");
        sandbox.write(".checkpoint.toml", format!("\"{evil}\" = 1\n"));
        let phase = format!("one:{}", evil.replace(':', ""));
        let init = ["workflow", "init", "--id", "w", "--phase", &phase];
        sandbox.run(&init).success();
        for args in [
            &["list"][..],
            &["find", &evil],
            &["find", "--text", &evil],
            &["show", &evil],
            &["hold", &evil],
            &["hold", &evil],
            &["workflow", "next"],
            &["workflow", "resume"],
            &["workflow", "show", &evil],
            &["phase", "start", &evil],
            &["schema", &evil],
        ] {
            let run = sandbox.run(&[args, &["--json"]].concat());
            for command in commands(&run) {
                assert_ne!(command[1], "delete", "{run}");
            }
            let warned = run.json()["warnings"].clone();
            for warning in warned.as_array().into_iter().flatten() {
                assert!(warning["command"].is_null(), "{run}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_command_has_names_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.write("README", "1").write("it's a\nname", "1");
    sandbox.create("one");
    for name in ["README", "it's a\nname"] {
        let typed = format!("@:{name}");
        let refused = sandbox.run(&["find", &typed, "--json"]).code(3);
        assert_eq!(
            refused.json()["error"]["command"],
            json!(["checkpoint", "find", name])
        );
    }
    sandbox.run(&["hold", "WAVE"]).success();
    let held = sandbox.run(&["create", "--json"]).code(4);
    assert_eq!(
        held.json()["error"]["command"],
        json!(["checkpoint", "release", "WAVE"])
    );
    let command: Vec<String> =
        serde_json::from_value(held.json()["error"]["command"].clone()).expect("words");
    let words: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
    sandbox.run(&words).success();
}

#[cfg(unix)]
#[test]
fn the_directory_of_the_call_is_a_word_of_the_command_or_there_is_none() {
    let sandbox = Sandbox::new();
    let name = "a\n\u{1b}b 'c";
    sandbox.mkdir(name);
    let shown = sandbox
        .run(&["-C", name, "show", "nope", "--here", "--json"])
        .code(3);
    let error = shown.json()["error"].clone();
    assert_eq!(
        error["command"],
        json!(["checkpoint", "-C", name, "create"]),
        "{shown}"
    );
    for field in ["message", "hint"] {
        let text = error[field].as_str().unwrap_or_default();
        assert!(!text.contains(char::is_control), "{shown}");
    }
    let odd = OsStr::from_bytes(b"caf\xe9");
    sandbox.mkdir(odd);
    let mut command = sandbox.command(&[], &["show", "nope", "--json", "-C"]);
    command.arg(odd);
    let error = Run::of(command).code(3).json()["error"].clone();
    assert_eq!(error["command"], Value::Null, "{error}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains(r"$(printf 'caf\351')"), "{hint}");
}

/// Data has names exactly; only what is made to be read has them escaped.
#[cfg(unix)]
#[test]
fn messages_have_names_escaped_once() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    for (args, code, shown) in [
        (&["hold", "h\n1"][..], 2, "h\\x0a1"),
        (&["create", "--type", "x\u{1b}[31m"], 2, "x\\x1b[31m"),
        (&["show", "n\u{1b}[31m"], 3, "n\\x1b[31m"),
        (&["-C", "no\u{1b}[31m", "list"], 3, "no\\x1b[31m"),
    ] {
        let run = sandbox.run(&[args, &["--json"]].concat()).code(code);
        let message = run.json()["error"]["message"].clone();
        let message = message.as_str().unwrap_or_default();
        assert!(!message.contains(char::is_control), "{run}");
        assert!(message.contains(shown), "{message}");
        assert!(!message.contains("\\\\"), "{message}");
    }
}
