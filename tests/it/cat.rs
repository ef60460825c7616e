//! `cat`: prints the bytes of one file of a checkpoint, for any file name and any selector.

use crate::bench::os::OsStrExt as _;
use std::ffi::OsStr;

use crate::bench::fixtures::{files_below, noise};
use crate::bench::{Run, Sandbox};
use crate::diff_oracle::raw;

#[test]
fn the_bytes_come_out_as_they_went_in() {
    let sandbox = Sandbox::new();
    let content = noise(7, 20 << 20);
    sandbox
        .write("d/large", &content)
        .write("small", b"\xff\0\r\n\x1b[31m")
        .write("empty", "")
        .symlink("link", "no/where");
    sandbox.create("one");
    sandbox.remove("d").remove("small").remove("link");
    assert!(
        raw(&sandbox, &["cat", "one:d/large"], 0) == content,
        "another content"
    );
    assert_eq!(
        raw(&sandbox, &["cat", "one:./small"], 0),
        b"\xff\0\r\n\x1b[31m"
    );
    assert_eq!(raw(&sandbox, &["cat", "one:empty"], 0), b"");
    assert_eq!(raw(&sandbox, &["cat", "one:link"], 0), b"no/where");
    let inside = format!("latest:{}", sandbox.path("small").display());
    assert_eq!(raw(&sandbox, &["cat", &inside], 0), b"\xff\0\r\n\x1b[31m");
}

#[cfg(unix)]
#[test]
fn colons_in_times_reasons_and_names_are_told_apart() {
    let sandbox = Sandbox::new();
    sandbox
        .at("2026-03-24T12:45:30Z")
        .write("src/a.rs", "one")
        .write("b:c", "colon")
        .write("30:src/a.rs", "odd");
    sandbox.create("fix: that");
    sandbox
        .at("2026-03-24T12:46:00Z")
        .write("src/a.rs", "two")
        .remove("30:src");
    sandbox.create("fix");
    for (what, content) in [
        ("2026-03-24 12:45:30:src/a.rs", "one"),
        ("2026-03-24T12:45:59Z:src/a.rs", "one"),
        ("2026-03-24 12:46:src/a.rs", "two"),
        ("fix: that:src/a.rs", "one"),
        ("fix:src/a.rs", "two"),
        ("fix:b:c", "colon"),
        ("fix: that:b:c", "colon"),
        ("latest~1:30:src/a.rs", "odd"),
        ("@:src/a.rs", "two"),
    ] {
        sandbox.run(&["cat", what]).success().stdout_is(content);
    }
}

#[cfg(unix)]
#[test]
fn what_is_not_there_is_3_and_says_what_is() {
    let sandbox = Sandbox::new();
    sandbox
        .write("d/a", "1")
        .write("d/sub/b", "1")
        .mkdir("hollow/in")
        .write("f", "1");
    let id = sandbox.create("one");
    let code = |what: &str| {
        let run = sandbox.run(&["cat", what, "--json"]).code(3);
        (
            run.error_code(),
            run.json()["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            run.json()["error"]["hint"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    for what in ["one:missing", "one:d/missing", "one:f/below", "one:x:y"] {
        assert_eq!(code(what).0, "no_such_path", "{what}");
    }
    for (what, path) in [
        ("one:d", "d"),
        ("one:d/", "d"),
        ("one:hollow", "hollow"),
        ("one:.", "."),
    ] {
        let (code, message, hint) = code(what);
        assert_eq!(code, "is_a_directory", "{what}");
        assert!(message.contains("is a directory"), "{what}: {message}");
        let ls = format!("'checkpoint ls {}:{path}' lists what it holds", &id[..8]);
        assert_eq!(hint, ls, "{what}");
        sandbox
            .run(&["ls", &format!("{}:{path}", &id[..8])])
            .success();
    }
    assert_eq!(code("two:f").0, "no_such_checkpoint");
    assert_eq!(code("two:f:g").1, "no checkpoint 'two'");
    sandbox.run(&["cat", &id]).code(2).stderr_has("SEL:PATH");
    sandbox.run(&["cat", ":f"]).code(2);
    sandbox.run(&["cat", "one:../f"]).code(2);
    sandbox.run(&["cat", "one:.git/config"]).code(4);
    sandbox.run(&["cat"]).code(2);
    let other = Sandbox::new();
    other.run(&["cat", "latest:f"]).code(3);
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf_8_can_be_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write(OsStr::from_bytes(b"caf\xe9"), "raw");
    sandbox.create("one");
    let mut command = sandbox.command(&[], &["cat"]);
    command.arg(OsStr::from_bytes(b"one:caf\xe9"));
    Run::of(command).success().stdout_is("raw");
}

#[test]
fn a_damaged_file_is_6_and_nothing_of_it_comes_out() {
    let sandbox = Sandbox::new();
    let content = noise(3, 100_000);
    sandbox.write("bad", &content).write("good", "1");
    sandbox.create("one");
    let needle = &content[1000..1064];
    for file in files_below(&sandbox.store().join("objects/pack")) {
        let mut bytes = std::fs::read(&file).expect("a pack can be read");
        if let Some(at) = bytes
            .windows(needle.len())
            .position(|window| window == needle)
        {
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).expect("a pack can be written");
        }
    }
    sandbox
        .run(&["cat", "one:bad"])
        .code(6)
        .stdout_is("")
        .stderr_has("bad");
    sandbox.run(&["cat", "one:good"]).success().stdout_is("1");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox
        .write("large", noise(1, 20 << 20))
        .write("text", "a line\n".repeat(300_000));
    sandbox.create("one");
    for name in ["large", "text"] {
        let script =
            format!("\"$0\" cat one:{name} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}");
        let run = Run::of(sandbox.command(&["/bin/bash", "-c", &script], &[])).success();
        assert_eq!(run.stderr, "", "{run}");
    }
}

#[test]
fn a_root_that_is_gone_still_gives_its_files() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("one");
    sandbox.remove("");
    sandbox
        .run(&["-C", &sandbox.root().display().to_string(), "cat", "one:a"])
        .success()
        .stdout_is("1");
}

#[test]
fn a_slash_behind_a_name_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "2");
    sandbox.create("one");
    sandbox.run(&["cat", "one:a/"]).success().stdout_is("1");
    let run = sandbox.run(&["cat", "one:d/", "--json"]).code(3);
    assert_eq!(run.error_code(), "is_a_directory");
}
