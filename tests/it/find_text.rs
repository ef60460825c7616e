//! `find --text`: lists which files of which checkpoints contain a text.

use serde_json::Value;

use crate::bench::{Sandbox, fixtures};

fn story() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/a.rs", "one\nfn lost_function() {}\n")
        .write("b", "nothing")
        .symlink("link", "lost_function");
    let mut ids = vec![sandbox.create("1")];
    sandbox.write("b", "other");
    ids.push(sandbox.create("2"));
    sandbox.write("src/a.rs", "one\n");
    ids.push(sandbox.create("3"));
    sandbox
        .write("copy", "one\nfn lost_function() {}\n")
        .write("bin", "\0\0lost_function\0");
    ids.push(sandbox.create("4"));
    (sandbox, ids)
}

#[track_caller]
fn matches(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let run = sandbox
        .run(&[&["find", "--json", "--text"], args].concat())
        .success();
    run.data()["matches"].as_array().expect("a list").clone()
}

#[test]
fn a_text_is_found_in_every_checkpoint_that_holds_it_newest_first() {
    let (sandbox, ids) = story();
    let found = matches(&sandbox, &["lost_function"]);
    let told: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|one| {
            let text = |value: &'_ Value| value.as_str().unwrap().to_owned().leak() as &str;
            (
                text(&one["path"]),
                text(&one["first_in"]["short"]),
                text(&one["last_in"]["short"]),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("bin", &*ids[3], &*ids[3]),
            ("copy", &ids[3], &ids[3]),
            ("src/a.rs", &ids[0], &ids[1])
        ]
    );
    assert_eq!(
        (&found[0]["binary"], &found[1]["binary"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        found[1]["lines"],
        serde_json::json!([{"number": 2, "text": "fn lost_function() {}", "cut": false}])
    );
    let run = sandbox.run(&["find", "--text", "lost_function"]).success();
    let span = format!("src/a.rs: in {}..{}", ids[0], ids[1]);
    run.stdout_has(&span)
        .stdout_has("  2: fn lost_function() {}")
        .stdout_has("a binary file");
}

#[test]
fn a_pattern_limits_the_search_and_a_number_what_is_told() {
    let (sandbox, _) = story();
    let found = matches(&sandbox, &["lost_function", "src"]);
    assert_eq!((found.len(), &found[0]["path"]), (1, &"src/a.rs".into()));
    let run = sandbox
        .run(&["find", "--text", "lost_function", "-n", "1", "--json"])
        .success();
    assert_eq!(
        (
            run.data()["matches"].as_array().unwrap().len(),
            &run.data()["more"]
        ),
        (1, &2.into())
    );
}

#[test]
fn nothing_found_is_3_and_an_empty_text_2() {
    let (sandbox, _) = story();
    let run = sandbox
        .run(&["find", "--text", "Lost_Function", "--json"])
        .code(3);
    assert_eq!(run.error_code(), "nothing_found");
    sandbox.run(&["find", "--text", ""]).code(2);
}

#[test]
fn nothing_in_a_line_acts_on_a_terminal() {
    let (sandbox, _) = story();
    sandbox.write("evil", "\x1b]0;x\x07 needle \x1b[2J\n\tneedle C:\\dir\n");
    sandbox.create("evil");
    let run = sandbox
        .run(&["find", "--text", "needle"])
        .success()
        .stdout_has("\tneedle C:\\dir");
    assert!(
        !run.stdout.contains('\x1b') && !run.stdout.contains('\x07'),
        "{run}"
    );
}

#[test]
fn a_large_file_is_searched_in_pieces() {
    let (sandbox, _) = story();
    let mut large = vec![b'\n'; 17 << 20];
    large.splice(9_000_000..9_000_000, *b"needle in the haystack");
    large.extend_from_slice(b"needle at the end");
    sandbox.write("large", &large);
    sandbox.create("large");
    let found = matches(&sandbox, &["needle"]);
    let lines: Vec<u64> = found[0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["number"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [9_000_001, (17 << 20) + 1]);
}

#[test]
fn a_damaged_file_is_passed_over_with_a_warning() {
    let (sandbox, _) = story();
    sandbox.write("noise", fixtures::noise(3, 300_000));
    sandbox.create("damaged");
    let packs = fixtures::files_below(&sandbox.store().join("objects/pack"));
    let pack = packs
        .iter()
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let mut bytes = std::fs::read(pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    crate::bench::os::set_mode(pack, 0o600).unwrap();
    std::fs::write(pack, bytes).unwrap();
    let run = sandbox
        .run(&["find", "--text", "lost_function", "--json"])
        .success();
    assert_eq!(run.warning_codes(), ["passed_over"]);
    sandbox
        .run(&["find", "--text", "not anywhere"])
        .code(6)
        .stderr_has("cannot be read");
}
