//! Bad bundles leave nothing; `stories/bundles.md` has the rest of `export` and `import`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::bench::sample::Draw;
use crate::bench::{Run, Sandbox, cases, fixtures, limit};

/// A project with three checkpoints, one pinned, one scoped, and its bundle.
fn exported() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "one")
        .write("d/e/b", fixtures::noise(3, 3000))
        .write("run.sh", "#!/bin/sh\n")
        .chmod("run.sh", 0o755)
        .mkdir("empty/deep")
        .symlink("link", "a");
    sandbox.create("one");
    sandbox.write("a", "two");
    let two = sandbox.create("two");
    sandbox.ok(format!("pin {two}"));
    sandbox.write("d/new", "three");
    sandbox.ok("create three --scope d");
    let file = sandbox.top().join("x.bundle");
    sandbox.run(&["export", "-o", &text(&file)]).success();
    (sandbox, file)
}

fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

fn import(sandbox: &Sandbox, file: &Path) -> Run {
    sandbox.run(&["import", &text(file)])
}

/// Whether anything of a bundle is in a store.
fn assert_nothing_of_it(sandbox: &Sandbox, when: &str) {
    assert_eq!(sandbox.listed_ids(), [""; 0], "{when}");
    // A bad header makes no store.
    if !sandbox.store().exists() {
        return;
    }
    let packs = std::fs::read_dir(sandbox.store().join("objects/pack"));
    let packs = packs.expect("a folder").count();
    assert_eq!(packs, 0, "{when}: a pack is left");
    let own = std::fs::read_dir(sandbox.store().join("checkpoint")).expect("a folder");
    let names: Vec<String> = own
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .filter(|name| name.starts_with("bisect-"))
        .collect();
    assert_eq!(names, [""; 0], "{when}");
}

#[test]
fn every_cut_and_changed_bundle_is_refused_and_leaves_nothing() {
    let (_from, file) = exported();
    let whole = std::fs::read(&file).expect("a bundle");
    let to = Sandbox::new();
    let bad = to.top().join("bad.bundle");
    let mut draw = Draw::new();
    for case in 0..cases(120) {
        let mut bytes = whole.clone();
        if case % 3 == 0 {
            bytes.truncate(draw.below(whole.len()));
        } else {
            let at = draw.below(whole.len());
            bytes[at] ^= 1 << draw.below(8);
        }
        to.write(&bad, &bytes);
        let run = import(&to, &bad);
        // A header may change and still be one: of another machine, or without a pin.
        if run.code != 0 {
            assert!(matches!(run.code, 3 | 6), "case {case}: {run}");
            assert!(run.stderr.contains("nothing of it was added"), "{run}");
            assert_nothing_of_it(&to, &format!("case {case}"));
        } else {
            to.ok("verify --full");
            to.ok("delete --all --yes --force");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_signal_ends_an_import_whose_input_says_nothing() {
    let to = Sandbox::new();
    to.write("a", "1").create("one");
    let mut command = to.command(&[], &["import", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = child.id().to_string();
    let sent = std::process::Command::new("/bin/sh")
        .args(["-c", "kill -INT \"$0\"", &pid])
        .status();
    assert!(sent.expect("a shell").success());
    let held = child.stdin.take();
    let ended = limit::output_of("an import that is stopped", child);
    drop(held);
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(to.listed_ids().len(), 1);
}
