//! `list --all` beside damage and other disks; `stories/list_all.md` has the rest.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::{Sandbox, fixtures, place};

/// Makes another project beside the root, with one checkpoint.
pub fn project(sandbox: &Sandbox, name: &str) -> PathBuf {
    let dir = crate::bench::os::native(sandbox.top().join(name));
    std::fs::create_dir_all(&dir).expect("a directory can be made");
    std::fs::write(dir.join("file"), name).expect("a file can be written");
    sandbox
        .run(&["-C", &dir.display().to_string(), "create"])
        .success();
    dir
}

pub fn store_of(sandbox: &Sandbox, root: &Path) -> PathBuf {
    place::store(&sandbox.base(), root)
}

fn stores(sandbox: &Sandbox) -> Vec<Value> {
    let data = sandbox.run(&["list", "--all", "--json"]).success().data();
    data["stores"].as_array().expect("a list").clone()
}

fn state(sandbox: &Sandbox, root: &Path) -> String {
    let found = stores(sandbox);
    let one = found
        .iter()
        .find(|one| one["root"] == root.display().to_string());
    one.expect("it is listed")["root_state"]
        .as_str()
        .expect("a word")
        .to_owned()
}

#[test]
fn an_empty_place_where_a_disk_was_mounted_is_no_deletion() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, "disk/project");
    let description = store_of(&sandbox, &root).join("checkpoint/description");
    let text = std::fs::read_to_string(&description).expect("a description");
    let other_device: String = text
        .lines()
        .map(|line| {
            if line.starts_with("identity") {
                "identity 4242 7\n".into()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fixtures::write_description(&store_of(&sandbox, &root), &other_device);
    assert_eq!(state(&sandbox, &root), "present");
    fixtures::remove(&root);
    assert_eq!(state(&sandbox, &root), "unreachable");
}

#[test]
fn one_bad_store_hides_no_other() {
    let sandbox = Sandbox::new();
    sandbox.create("first");
    let planted = store_of(&sandbox, &project(&sandbox, "planted"));
    std::fs::write(planted.join("commondir"), "/").expect("a file can be written");
    let nameless = store_of(&sandbox, &project(&sandbox, "nameless"));
    std::fs::write(nameless.join("checkpoint/description"), "\0").expect("a file can be written");
    let odd = store_of(&sandbox, &project(&sandbox, "odd"));
    std::fs::remove_file(odd.join("checkpoint/description")).expect("a file can go");
    std::fs::create_dir(odd.join("checkpoint/description")).expect("a directory can be made");
    let linked = store_of(&sandbox, &project(&sandbox, "linked"));
    let aside = sandbox.top().join("aside");
    std::fs::rename(&linked, &aside).expect("it can be moved");
    crate::bench::os::symlink(&aside, &linked).expect("a link can be made");
    let copy = sandbox.store().with_extension("corrupt-20260324");
    fixtures::copy_tree(&sandbox.store(), &copy);
    let listed = stores(&sandbox);
    let of = |dir: &Path| {
        listed
            .iter()
            .find(|one| one["store"] == dir.display().to_string())
            .expect("it is listed")
    };
    assert_eq!(listed.len(), 6, "{listed:?}");
    assert!(
        of(&planted)["problem"]
            .as_str()
            .is_some_and(|problem| problem.contains("commondir"))
    );
    assert_eq!(
        (
            &of(&nameless)["root_state"],
            &of(&nameless)["checkpoint_count"]
        ),
        (&"unknown".into(), &1.into())
    );
    assert!(!of(&odd)["problem"].is_null() && !of(&linked)["problem"].is_null());
    assert_eq!(
        (&of(&copy)["kept_copy"], &of(&sandbox.store())["kept_copy"]),
        (&true.into(), &false.into())
    );
    assert_eq!(of(&sandbox.store())["checkpoint_count"], 1);
    sandbox
        .run(&["list", "--all"])
        .success()
        .stdout_has("damaged copy")
        .stdout_has("root is not known");
    assert_eq!(
        sandbox.status()["kept_copies"][0],
        copy.display().to_string()
    );
    sandbox
        .run(&["status"])
        .success()
        .stdout_has("corrupt-20260324");
}
