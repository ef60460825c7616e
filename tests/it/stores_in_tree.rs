//! Stores in the tree, of any base: recognized by name, never captured, changed by no restore.

use std::path::PathBuf;

use crate::bench::{Sandbox, place};

/// Makes another project's store under a base in the tree.
fn inner_store(sandbox: &Sandbox) -> PathBuf {
    let (other, base) = (sandbox.top().join("other"), sandbox.path("backup/claude"));
    sandbox.mkdir("backup");
    std::fs::create_dir_all(&other).expect("a directory can be made");
    std::fs::write(other.join("x"), "1").expect("a file can be written");
    let base_word = base.display().to_string();
    sandbox
        .run_in(&other, &["create", "-r", "theirs", "--base", &base_word])
        .success();
    place::store(&base, &other)
}

fn left_out(sandbox: &Sandbox) -> String {
    sandbox.ok("status -v").stdout
}

#[test]
fn a_store_of_another_base_is_neither_captured_nor_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("before");
    let store = inner_store(&sandbox);
    sandbox.watch(&store);
    let run = sandbox
        .write("a", "2")
        .ok("create -r with")
        .stderr_has("left out: backup/claude/projects/");
    let held = sandbox.ok("show with --json").stdout;
    assert!(!held.contains("checkpoint-manifest.md"), "{run}\n{held}");
    assert!(
        left_out(&sandbox).contains(
            store
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name")
        )
    );
    for selector in ["before", "with", "before"] {
        sandbox.restore(selector).success();
        sandbox.undo().success();
        sandbox.redo().success();
    }
    sandbox.ok("verify --full");
}

#[test]
fn an_older_checkpoint_that_holds_such_files_does_not_write_over_them() {
    let sandbox = Sandbox::new();
    for name in ["HEAD", "objects/one", "refs/two"] {
        sandbox.write(format!("d/s/{name}"), "as it was");
    }
    let before = sandbox.write("d/file", "1").create("before it was a store");
    sandbox
        .write("d/s/checkpoint/description", "format 1")
        .write("d/s/HEAD", "newer")
        .remove("d/s/refs/two");
    sandbox
        .write("d/s/refs/three", "3")
        .write("d/file", "2")
        .create("since");
    sandbox.watch(&sandbox.path("d/s"));
    assert_eq!(
        sandbox.restore_data(&[&before, "d/s/HEAD"])["left_alone"][0]["path"],
        "d/s"
    );
    assert_eq!(
        sandbox.restore_data(&[&before])["left_alone"][0]["path"],
        "d/s"
    );
    assert_eq!(sandbox.read("d/file"), "1");
    sandbox.undo().success();
    assert_eq!(sandbox.read("d/file"), "2");
}

#[test]
fn what_looks_like_a_store_is_named_and_what_does_not_is_captured() {
    let sandbox = Sandbox::new();
    for name in ["HEAD", "objects/x", "refs/x"] {
        sandbox
            .write(format!("bare.git/{name}"), "1")
            .write(format!("looks/{name}"), "1");
    }
    sandbox
        .write("looks/checkpoint/mine", "1")
        .write("model/weights", "1")
        .write("notes/checkpoint-manifest.md", "1")
        .write("docs/checkpoint-manifest.md", "1")
        .write("docs/checkpoint/notes", "1")
        .write("file/checkpoint-manifest.md", "1")
        .write("file/checkpoint", "1")
        .write("file/HEAD", "1")
        .write("left/checkpoint-manifest.md", "1")
        .write("left/checkpoint/description", "1")
        .write("left/objects/x", "1");
    sandbox.create("all");
    let text = left_out(&sandbox);
    assert!(
        text.contains("left out") && text.contains("looks"),
        "{text}"
    );
    let captured = [
        "bare.git/HEAD",
        "model/weights",
        "notes/checkpoint-manifest.md",
    ];
    for path in
        captured
            .into_iter()
            .chain(["docs/checkpoint/notes", "file/checkpoint", "file/HEAD"])
    {
        sandbox
            .run(&["cat", &format!("all:{path}")])
            .success()
            .stdout_is("1");
    }
    for path in ["looks/HEAD", "left/objects/x"] {
        sandbox.run(&["cat", &format!("all:{path}")]).code(3);
    }
}

#[test]
fn a_directory_that_becomes_a_store_is_left_out_from_then_on() {
    let sandbox = Sandbox::new();
    for name in ["HEAD", "objects/x", "refs/x"] {
        sandbox.write(format!("s/{name}"), "1");
    }
    for reason in ["first", "second"] {
        std::thread::sleep(std::time::Duration::from_millis(50));
        sandbox.create(reason);
    }
    sandbox
        .write("s/checkpoint-manifest.md", "| Hash |\n")
        .create("third");
    sandbox.ok("cat second:s/HEAD");
    sandbox.fails(3, "cat third:s/HEAD");
    sandbox.remove("s/checkpoint-manifest.md").create("fourth");
    sandbox.ok("cat fourth:s/HEAD");
}
