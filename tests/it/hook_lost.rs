//! Prompts that `hook` could not note: each is told, remembered, and noted as soon as that can be.

use crate::bench::os::{MetadataExt as _, symlink};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::bench::{Run, Sandbox, limit, skipped};
use crate::hook::Agent;

/// A project with a checkpoint, and a folder of its own for temporary files.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let temporary = temporary(&sandbox);
    fs::create_dir(&temporary).expect("it can be made");
    sandbox.env("TMPDIR", &temporary);
    sandbox.write("a", "1").create("by hand");
    sandbox
}

fn temporary(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("tmp")
}

fn claude(sandbox: &Sandbox) -> Agent<'_> {
    Agent {
        sandbox,
        name: "claude",
        session: "session-one",
    }
}

/// Takes the lock of the store as another process would.
fn locked(sandbox: &Sandbox) -> File {
    let lock = File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    lock.lock().expect("it is free");
    lock
}

fn prompts(sandbox: &Sandbox) -> Vec<Value> {
    let data = sandbox.json("rewind");
    let mut prompts = data["prompts"].as_array().expect("a list").clone();
    prompts.reverse();
    prompts
}

/// Names of the files in the folder for temporary files that begin so.
fn marks(sandbox: &Sandbox, begin: &str) -> Vec<String> {
    let entries = fs::read_dir(temporary(sandbox)).expect("it can be listed");
    let names = entries.map(|entry| entry.expect("it").file_name().display().to_string());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(begin)).collect();
    names.sort();
    names
}

#[test]
fn a_prompt_that_found_the_store_locked_is_told_and_listed_as_lost() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("one");
    sandbox.write("a", "2");
    let lock = locked(&sandbox);
    let secret = format!("two, password: {}", "hunter2");
    agent.prompt(&secret).stdout_has("systemMessage");
    agent.event("Stop", &json!({})).stdout_is("");
    agent.prompt("three").stdout_has("systemMessage");
    agent.prompt("three").stdout_is("");
    assert_eq!(marks(&sandbox, ".checkpoint-lost-").len(), 2);
    for name in marks(&sandbox, ".checkpoint-") {
        let path = temporary(&sandbox).join(name);
        let mode = fs::metadata(&path).expect("a file").mode();
        assert!(mode & 0o777 == 0o600 || cfg!(windows));
        let text = fs::read_to_string(&path).expect("text");
        assert!(!text.contains("hunter2"), "{text}");
    }
    // Each is listed at once, and again once it is noted.
    assert_eq!(prompts(&sandbox).len(), 3);
    sandbox
        .fails(3, "rewind 2 --dry-run")
        .stderr_has("nothing was recorded before prompt 2");
    drop(lock);
    agent.prompt("four").stdout_is("");
    let listed = prompts(&sandbox);
    let numbers: Vec<u64> = listed
        .iter()
        .map(|prompt| prompt["number"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let has_checkpoint: Vec<bool> = listed
        .iter()
        .map(|prompt| !prompt["before"].is_null())
        .collect();
    assert_eq!(has_checkpoint, [true, false, false, true]);
    assert_eq!(listed[2]["line"], "three");
    assert!(marks(&sandbox, ".checkpoint-lost-").is_empty());
    let shown = sandbox.ok("rewind");
    assert!(shown.stdout.contains("   3  -  "), "{shown}");
    sandbox
        .fails(3, "rewind 3 --yes")
        .stderr_has("nothing was recorded before prompt 3")
        .stderr_has("'checkpoint rewind 1'");
    sandbox
        .fails(3, "rewind 3 --session session-one --yes")
        .stderr_has("'checkpoint rewind 1 --session session-one'");
    sandbox.ok("rewind 4 --yes");
}

#[test]
fn any_event_of_the_session_notes_what_was_lost_and_other_sessions_do_not() {
    let sandbox = project();
    let lock = locked(&sandbox);
    claude(&sandbox).prompt("lost");
    drop(lock);
    let other = Agent {
        session: "other",
        ..claude(&sandbox)
    };
    other.prompt("of another");
    assert_eq!(prompts(&sandbox).len(), 1);
    claude(&sandbox).event("SessionStart", &json!({}));
    let of_session = sandbox
        .ok("rewind --session session-one")
        .stdout_has("lost");
    assert_eq!(of_session.stdout.lines().count(), 1, "{of_session}");
    assert!(!of_session.stderr.contains("restores"), "{of_session}");
    sandbox
        .fails(3, "rewind 1 --session session-one --yes")
        .stderr_has("'checkpoint rewind' lists");
}

#[test]
fn no_words_of_a_lost_prompt_are_kept_where_none_may_be() {
    let sandbox = project();
    sandbox.user_config("prompts = \"off\"\n");
    let lock = locked(&sandbox);
    claude(&sandbox).prompt("private words");
    let names = marks(&sandbox, ".checkpoint-lost-");
    let text = fs::read_to_string(temporary(&sandbox).join(&names[0])).expect("text");
    assert!(!text.contains("private"), "{text}");
    drop(lock);
    claude(&sandbox).event("Stop", &json!({}));
    assert_eq!(prompts(&sandbox)[0]["line"], Value::Null);
    sandbox.user_config("auto = \"off\"\n");
    let _lock = locked(&sandbox);
    claude(&sandbox).prompt("not to be recorded");
    assert!(marks(&sandbox, ".checkpoint-lost-").is_empty());
}

#[test]
fn links_and_others_files_in_place_of_a_lost_prompt_are_neither_followed_nor_trusted() {
    let sandbox = project();
    let lock = locked(&sandbox);
    claude(&sandbox).prompt("one");
    let name = marks(&sandbox, ".checkpoint-lost-").remove(0);
    let path = temporary(&sandbox).join(&name);
    let aim = sandbox.home().join("aim");
    fs::rename(&path, &aim).expect("it can be moved");
    symlink(&aim, &path).expect("a link");
    let before = fs::read(&aim).expect("it can be read");
    claude(&sandbox).prompt("two").stdout_has("systemMessage");
    assert_eq!(fs::read(&aim).expect("it can be read"), before);
    drop(lock);
    claude(&sandbox).event("Stop", &json!({}));
    let lines: Vec<Value> = prompts(&sandbox)
        .iter()
        .map(|prompt| prompt["line"].clone())
        .collect();
    assert_eq!(lines, ["two"]);
    assert!(aim.exists());
    fs::remove_file(&path).expect("the link");
    fs::copy(&aim, &path).expect("a file");
    let is_root = crate::bench::os::is_root();
    if is_root && crate::bench::os::chown(&path, Some(65534), None).is_ok() {
        claude(&sandbox).event("PreCompact", &json!({}));
        assert_eq!(prompts(&sandbox).len(), 1);
        assert!(path.exists());
    }
}

#[cfg(unix)]
#[test]
fn a_prompt_that_found_the_store_read_only_is_noted_later() {
    let sandbox = project();
    let base = sandbox.home().join(".claude");
    let script = format!(
        "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}' && exec \"$@\"",
        base.display()
    );
    let wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script, "sh"];
    if Run::of(sandbox.command(&wrapper, &["--version"])).code != 0 {
        return skipped("needs unshare and the right to mount");
    }
    for text in ["one", "two"] {
        let mut command = sandbox.command(&wrapper, &["hook", "--agent", "claude"]);
        let event = json!({
            "session_id": "session-one", "cwd": sandbox.root(),
            "hook_event_name": "UserPromptSubmit", "prompt": text,
        });
        let output = limit::output_fed(&mut command, event.to_string().as_bytes());
        let run = Run::from_output(text.to_owned(), &output.expect("it can be started"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
        run.stdout_has("systemMessage");
    }
    sandbox.write("a", "2");
    claude(&sandbox).prompt("three").stdout_is("");
    assert_eq!(prompts(&sandbox).len(), 3);
}

#[test]
fn a_session_keeps_a_limited_number_of_lost_prompts() {
    let sandbox = project();
    let lock = locked(&sandbox);
    claude(&sandbox).prompt("one");
    let name = marks(&sandbox, ".checkpoint-lost-").remove(0);
    let text = fs::read_to_string(temporary(&sandbox).join(&name)).expect("text");
    let stem = name.strip_suffix('0').expect("the first");
    for at in 1..200 {
        let other = text.replace("one", &format!("prompt{at}"));
        let path = temporary(&sandbox).join(format!("{stem}{at}"));
        fs::write(path, other).expect("it can be written");
    }
    let names = marks(&sandbox, ".checkpoint-lost-").len();
    claude(&sandbox).prompt("more").stdout_has("systemMessage");
    assert_eq!(marks(&sandbox, ".checkpoint-lost-").len(), names);
    drop(lock);
    claude(&sandbox).event("Stop", &json!({}));
    assert_eq!(prompts(&sandbox).len(), 32);
}

#[test]
fn marks_of_a_week_ago_are_removed_when_a_session_begins() {
    let sandbox = project();
    sandbox.real_clock();
    let old = SystemTime::now() - Duration::from_hours(8 * 24);
    let put = |name: &str, is_old: bool| {
        let path = temporary(&sandbox).join(name);
        let file = File::create(path).expect("it can be made");
        if is_old {
            file.set_modified(old).expect("a time");
        }
    };
    put(".checkpoint-told-0123456789abcdef", true);
    put(".checkpoint-lost-0123456789abcdef-0", true);
    put(".checkpoint-began-0123456789abcdef", true);
    put(".checkpoint-told-fedcba9876543210", false);
    put("told-0123456789abcdef", true);
    let kept = temporary(&sandbox).join(".checkpoint-told-folder");
    fs::create_dir(&kept).expect("a folder");
    let of_other = ".checkpoint-told-00000000000000ff";
    put(of_other, true);
    let of_other = temporary(&sandbox).join(of_other);
    let is_others = crate::bench::os::chown(&of_other, Some(65534), None).is_ok();
    claude(&sandbox).event("SessionStart", &json!({}));
    assert_eq!(of_other.exists(), is_others);
    let left = marks(&sandbox, "");
    let expected = [
        ".checkpoint-told-fedcba9876543210",
        ".checkpoint-told-folder",
        "told-0123456789abcdef",
    ];
    // That of the session itself is there now.
    let (began, left): (Vec<&String>, Vec<&String>) = left
        .iter()
        .filter(|name| !name.ends_with("00ff"))
        .partition(|name| name.starts_with(".checkpoint-began-"));
    assert_eq!(began.len(), 1);
    assert_eq!(left, expected);
}
