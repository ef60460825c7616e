//! `diff` of what cannot be read and of damage; `stories/diff.md` has the rest.

use crate::bench::Sandbox;
use crate::bench::fixtures::{files_below, noise};
use crate::partial::wrapper;

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named_and_the_rest_shown() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    let run = |args: &[&str]| sandbox.run_under(wrapper, args);
    sandbox
        .write("closed", "1\n")
        .write("dir/inside", "1\n")
        .write("open", "1\n");
    run(&["create"]).success();
    sandbox
        .write("closed", "22\n")
        .write("open", "2\n")
        .chmod("closed", 0)
        .chmod("dir", 0);
    let told = run(&["diff", "--name-status"])
        .code(5)
        .stdout_is("M\topen\n");
    told.stderr_has("not compared: closed (")
        .stderr_has("not compared: dir/inside (");
    run(&["diff", "-q"])
        .code(5)
        .stderr_has("not compared: closed (")
        .stdout_has("+2\n");
    run(&["diff", "--exit-code"]).code(1);
    let data = run(&["diff", "--json"]).code(5).data();
    assert_eq!(data["not_compared"][0]["path"], "closed", "{data}");
    sandbox.chmod("dir", 0o755);
}

/// Damages the content of one file, which is incompressible and so stored verbatim in its pack.
fn break_content(sandbox: &Sandbox, content: &[u8]) {
    let needle = &content[1000..1064];
    let mut broken = 0;
    for file in files_below(&sandbox.store().join("objects/pack")) {
        let mut bytes = std::fs::read(&file).expect("a pack can be read");
        if let Some(at) = bytes
            .windows(needle.len())
            .position(|window| window == needle)
        {
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).expect("a pack can be written");
            broken += 1;
        }
    }
    assert_eq!(broken, 1, "the content stands in one pack");
}

#[test]
fn a_damaged_file_is_named_and_the_rest_shown() {
    let sandbox = Sandbox::new();
    let content = noise(1, 100_000);
    sandbox
        .write("a", "1\n")
        .write("bad", &content)
        .write("z", "1\n");
    let first = sandbox.create("first");
    break_content(&sandbox, &content);
    sandbox
        .write("a", "2\n")
        .write("bad", "new")
        .write("z", "2\n");
    let run = sandbox
        .fails(6, format!("diff {first}"))
        .stdout_has("b/a\n")
        .stdout_has("b/z\n")
        .stderr_has("bad");
    assert!(!run.stdout.contains("bad"), "{run}");
    sandbox
        .fails(6, "diff -q --stat --exit-code")
        .stderr_has("bad is damaged");
    let run = sandbox.fails(6, "diff --json");
    assert_eq!(run.error_code(), "damaged", "{run}");
    assert_eq!(
        run.json()["data"]["changes"].as_array().map(Vec::len),
        Some(2),
        "{run}"
    );
    assert!(
        run.warning_codes().contains(&"damaged_file".to_owned()),
        "{run}"
    );
    sandbox.ok("diff --name-only").stdout_is("a\nbad\nz\n");
}
