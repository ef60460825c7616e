//! `hook` never stops an agent, whatever it finds; `stories/hook.md` has the rest.

use std::fs::{self, File};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::bench::fixtures::{files_below, write_description};
use crate::bench::screen::screen;
use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox, given, limit, os, skipped};

/// An agent at work in the sandbox.
pub struct Agent<'s> {
    pub sandbox: &'s Sandbox,
    pub name: &'static str,
    pub session: &'static str,
}

impl Agent<'_> {
    /// Runs the hook with an event of Claude Code, whose words all others resemble.
    pub fn event(&self, name: &str, fields: &Value) -> Run {
        let mut document = json!({
            "session_id": self.session,
            "cwd": self.sandbox.root(),
            "hook_event_name": name,
        });
        for (key, value) in fields.as_object().expect("an object") {
            document[key] = value.clone();
        }
        hook(
            self.sandbox,
            &["--agent", self.name],
            document.to_string().as_bytes(),
        )
    }

    pub fn prompt(&self, text: &str) -> Run {
        self.event("UserPromptSubmit", &json!({ "prompt": text }))
    }
}

/// Runs the hook with these words and bytes; it ends with 0, silently, with one document at most.
pub fn hook(sandbox: &Sandbox, words: &[&str], event: &[u8]) -> Run {
    let mut command = sandbox.command(&[], &[&["hook"], words].concat());
    let began = Instant::now();
    let output = limit::output_fed(&mut command, event).expect("it can be started");
    let run = Run::from_output(format!("{command:?}"), &output);
    // Under Wine a program takes long to start; a disk on which others write can hold up a flush.
    let is_quick = sandbox.root().starts_with("/dev/shm");
    let limit = Duration::from_millis(if is_quick { 2200 } else { 9000 });
    assert!(began.elapsed() < limit, "{run}");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    if !run.stdout.is_empty() {
        let answer: Value = serde_json::from_str(&run.stdout).expect("one document");
        assert!(answer.is_object(), "{run}");
    }
    run
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox
}

pub fn claude(sandbox: &Sandbox) -> Agent<'_> {
    Agent {
        sandbox,
        name: "claude",
        session: "session-one",
    }
}

#[test]
fn whatever_comes_in_it_ends_with_0_and_says_nothing() {
    let sandbox = project();
    let deep = [vec![b'['; 5000], vec![b']'; 5000]].concat();
    let huge = format!(
        "{{\"hook_event_name\":\"Stop\",\"x\":\"{}\"}}",
        "y".repeat(9 << 20)
    );
    let inputs: [&[u8]; 10] = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"{\"hook_event_name\":5}",
        b"{\"hook_event_name\":\"Unknown\"}",
        &deep,
        huge.as_bytes(),
    ];
    for words in [
        &[][..],
        &["--agent", "claude"],
        &["--agent", "nobody"],
        &["--bad", "x"],
        &["a", "b"],
    ] {
        for input in inputs {
            hook(&sandbox, words, input).stdout_is("");
        }
    }
    let gone =
        json!({ "session_id": "s", "cwd": sandbox.top().join("gone"), "hook_event_name": "Stop" });
    hook(&sandbox, &[], gone.to_string().as_bytes());
    assert!(!sandbox.store().exists());
}

#[test]
fn on_a_terminal_a_prompt_is_chosen_from_the_list() {
    let sandbox = project();
    let agent = claude(&sandbox);
    for number in 1..=2 {
        agent.prompt(&format!("prompt number {number}"));
        sandbox.write("a", format!("after {number}"));
    }
    let line = "stty rows 12 cols 120; $checkpoint rewind";
    // The plan of the second is shown in a moment.
    let keys = [
        ("which", "\\033[B"),
        ("uld modify", "'; sleep 1; printf '\\r"),
    ];
    let run = given!(dialogue(&sandbox, line, &keys));
    run.success();
    assert_eq!(sandbox.read("a"), "1");
    let left = dialogue(&sandbox, line, &[("which", "\\033")]);
    given!(left).code(4);
}

#[test]
fn settings_of_the_user_and_the_system_get_no_store() {
    let sandbox = project();
    sandbox.write(sandbox.home().join(".config/x"), "1");
    let system = if cfg!(windows) {
        [r"C:\Windows", r"C:\ProgramData"]
    } else {
        ["/etc", "/proc"]
    };
    let settings = sandbox.home().join(".config");
    for dir in [settings, system[0].into(), system[1].into()] {
        let prompt = json!({ "session_id": dir, "prompt": "one", "cwd": dir });
        claude(&sandbox).event("UserPromptSubmit", &prompt);
    }
    assert!(!sandbox.base().join("projects").exists());
}

#[test]
fn a_store_of_a_newer_format_is_told_once_for_each_session() {
    let sandbox = project();
    let temporary = sandbox.home().join("tmp");
    fs::create_dir(&temporary).expect("it can be made");
    sandbox.env("TMPDIR", &temporary).create("first");
    write_description(&sandbox.store(), "format 2\nroot /elsewhere\n");
    sandbox.write("a", "2");
    let agent = claude(&sandbox);
    agent.prompt("one").stdout_has("systemMessage");
    agent.prompt("two").stdout_is("");
    let other = Agent {
        session: "other",
        ..claude(&sandbox)
    };
    other.prompt("three").stdout_has("systemMessage");
}

#[test]
fn the_question_of_a_rewind_says_once_whose_prompts_it_takes_back_too() {
    let sandbox = project();
    claude(&sandbox).prompt("mine");
    sandbox.write("a", "2");
    let other = Agent {
        name: "codex",
        session: "thread",
        ..claude(&sandbox)
    };
    other.prompt("theirs");
    let line = "$checkpoint rewind 1 --session session-one";
    let run = given!(dialogue(&sandbox, line, &[("[y/N]", "n\\n")]));
    let shown = screen(&run.clone().code(4).stdout).join("\n");
    let sentence = "this also takes back work of 1 prompt of codex, session thread";
    assert!(
        shown.contains("Go back to before prompt 1 (mine)?"),
        "{run}"
    );
    assert_eq!(shown.matches(sentence).count(), 1, "{run}");
}

/// Feeds two prompts to a hook that runs behind another program; each is to print this.
fn two_prompts_behind(sandbox: &Sandbox, wrapper: &[&str], printed: [&str; 2]) {
    for (text, expected) in ["one", "two"].into_iter().zip(printed) {
        sandbox.write("a", text);
        let event = json!({ "session_id": "session-one", "cwd": sandbox.root(), "prompt": text,
            "hook_event_name": "UserPromptSubmit" });
        let mut command = sandbox.command(wrapper, &["hook", "--agent", "claude"]);
        let output = limit::output_fed(&mut command, event.to_string().as_bytes());
        let run = Run::from_output(text.to_owned(), &output.expect("it can be started"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
        assert!(run.stdout.contains(expected), "{run}");
        assert!(!expected.is_empty() || run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn a_partial_checkpoint_is_told_once_for_each_session() {
    let sandbox = project();
    let wrapper = given!(crate::partial::wrapper(&sandbox));
    sandbox.write("closed", "x").chmod("closed", 0);
    two_prompts_behind(&sandbox, wrapper, ["is partial", ""]);
    assert_eq!(sandbox.listed().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_prompt_that_found_the_store_read_only_is_noted_later() {
    let sandbox = project();
    sandbox.env("TMPDIR", sandbox.home()).create("by hand");
    let base = sandbox.base().display().to_string();
    let script = format!(
        "mount --bind '{base}' '{base}' && mount -o remount,ro,bind '{base}' && exec \"$@\""
    );
    let wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script, "sh"];
    if Run::of(sandbox.command(&wrapper, &["--version"])).code != 0 {
        return skipped("needs unshare and the right to mount");
    }
    two_prompts_behind(&sandbox, &wrapper, ["systemMessage"; 2]);
    sandbox.write("a", "3");
    claude(&sandbox).prompt("three").stdout_is("");
    let prompts = sandbox.json("rewind")["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(3), "{prompts}");
}

#[cfg(unix)]
#[test]
fn notes_of_another_user_are_neither_trusted_nor_removed() {
    let sandbox = project();
    sandbox.env("TMPDIR", sandbox.home()).create("by hand");
    let lock = File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    lock.lock().expect("it is free");
    claude(&sandbox).prompt("one").stdout_has("systemMessage");
    drop(lock);
    let lost = || {
        let mut files = files_below(sandbox.home()).into_iter();
        files.find(|path| path.display().to_string().contains(".checkpoint-lost-"))
    };
    let path = lost().expect("the note");
    if os::chown(&path, Some(65534), None).is_err() {
        return skipped("needs the right to give files away");
    }
    let old = SystemTime::now() - Duration::from_hours(8 * 24);
    let file = File::options().write(true).open(&path).expect("the note");
    sandbox.real_clock();
    for event in ["PreCompact", "SessionStart"] {
        claude(&sandbox).event(event, &json!({}));
        let listed = sandbox.cmd("rewind");
        assert_eq!(listed.stdout, "", "{event}: {listed}");
        assert!(path.exists(), "{event}");
        file.set_modified(old).expect("a time");
    }
}
