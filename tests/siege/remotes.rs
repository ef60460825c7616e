//! Scenarios between this directory and a remote, which is a directory beside it.

use super::field::Field;
use super::scenario::edited;
use crate::bench::{Git, Run, Tree};

const URL: &str = "../home/remote";
const OTHER: &str = "../home/other";
pub const CLONE: &str = "clone ../home/remote ../home/cloned";

fn git(field: &Field, words: &str) -> Run {
    let git = Git::find(&field.home()).expect("these scenarios need git");
    git.with("GIT_DIR", field.remote()).cmd(words)
}

/// Pushes what there is to a new remote.
fn with_remote(field: &Field) {
    edited(field);
    std::fs::create_dir(field.remote()).expect("a directory");
    git(field, "init -q --bare").success();
    // The commands name it as they name all that is beside the directory.
    std::os::unix::fs::symlink(field.remote(), field.home().join("remote")).expect("a link");
    field.ok(&format!("remote add origin {URL}"));
    field.ok("push");
}

pub fn to_push(field: &Field) {
    with_remote(field);
    field.ok("create -r pushed");
}

/// The checkpoints that the remote has, and whether git finds nothing wrong in it.
pub fn pushed(field: &Field) -> String {
    let checked = git(field, "fsck --full --strict").code;
    let subjects = git(field, "log --all --format=%s").stdout;
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.retain(|subject| !subject.starts_with("afterwards") && subject.contains(" | "));
    format!("{checked} {subjects:?}")
}

/// Lets another directory push something.
pub fn to_fetch(field: &Field) {
    with_remote(field);
    field.ok(&format!("clone {URL} {OTHER}"));
    std::fs::write(field.home().join("other/d0/text"), "elsewhere").expect("a file");
    field.ok(&format!("-C {OTHER} create -r elsewhere"));
    field.ok(&format!("-C {OTHER} push"));
}

/// What is known of the remote.
pub fn fetched(field: &Field) -> String {
    let run = field.cmd("list --remote origin --json");
    if run.code != 0 {
        return run.to_string();
    }
    let data = run.data();
    let listed = data["checkpoints"].as_array().into_iter().flatten();
    listed.map(|one| one["reason"].to_string()).collect()
}

pub fn to_clone(field: &Field) {
    with_remote(field);
}

/// What was cloned, once all of it is there and nothing is said of an interrupted restore.
pub fn cloned(field: &Field) -> String {
    let run = field.cmd("-C ../home/cloned diff latest");
    if run.code != 0 || !run.stdout.is_empty() || !run.stderr.is_empty() {
        return "not yet".into();
    }
    let tree = Tree::capture(&field.home().join("cloned"));
    let tree = tree.without(|path| path.starts_with(b".checkpoint-stage-"));
    format!("{:?}", tree.diff(&Tree::default()))
}
