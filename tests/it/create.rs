//! `create` of what changes meanwhile; `stories/create.md` has the rest.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::bench::trace::trace;
use crate::bench::{Sandbox, given, strace};

#[test]
fn edits_that_hide_from_the_clock_are_seen() {
    let sandbox = Sandbox::new();
    sandbox
        .real_clock()
        .write("racy", "1")
        .write("back", "1")
        .write("future", "1");
    let far = std::time::SystemTime::now() + std::time::Duration::from_hours(73 * 365 * 24);
    let touch = |name: &str, time| {
        let file = std::fs::File::options()
            .append(true)
            .open(sandbox.path(name))
            .expect("the file opens");
        file.set_modified(time).expect("a time can be set");
    };
    touch("future", far);
    let old = sandbox
        .path("back")
        .metadata()
        .and_then(|meta| meta.modified())
        .expect("a time");
    sandbox.create("before");
    sandbox
        .write("racy", "2")
        .write("back", "2")
        .write("future", "2");
    touch("back", old);
    touch("future", far);
    let after = sandbox.create("after");
    sandbox
        .write("racy", "3")
        .write("back", "3")
        .write("future", "3");
    sandbox.restore(&after).success();
    for name in ["racy", "back", "future"] {
        assert_eq!(sandbox.read(name), "2", "{name}");
    }
}

#[test]
fn a_file_that_a_long_write_may_still_have_been_at_is_read_again() {
    let sandbox = Sandbox::new();
    // A write stamps the file when it begins, and may take seconds for this size.
    sandbox
        .write("large", vec![0; 32 << 20])
        .write("small", "1");
    std::thread::sleep(Duration::from_millis(50));
    sandbox.create("first");
    let traced = given!(trace(&sandbox, &["create", "-r", "second"]));
    let opened = traced.opened(sandbox.root(), "");
    assert!(opened.contains(&sandbox.path("large")), "{opened:?}");
    assert!(!opened.contains(&sandbox.path("small")), "{opened:?}");
}

#[test]
fn a_file_that_is_gone_before_it_is_read_is_no_failure() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox
        .write("d/a", "1")
        .write("d/b", "2")
        .write("d/c", "3");
    let run = strace::failing_at_path(
        &sandbox,
        &sandbox.path("d"),
        "openat",
        "ENOENT",
        "1",
        &["create", "--json"],
    );
    let data = run.success().data();
    assert!(strace::has_struck(&sandbox), "no file was opened");
    assert_eq!(
        (&data["coverage"], &data["counts"]["file_count"]),
        (&"complete".into(), &2.into())
    );
    assert_eq!(
        sandbox.create_data(&["-r", "again"])["counts"]["file_count"],
        3
    );
}

#[test]
fn a_file_that_never_stands_still_is_captured_and_flagged() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("busy", vec![b'x'; 17 << 20]);
    let (path, is_over) = (sandbox.path("busy"), Arc::new(AtomicBool::new(false)));
    let writer = {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let mut file = std::fs::File::options()
                .append(true)
                .open(path)
                .expect("it opens");
            while !is_over.load(Ordering::SeqCst) {
                file.write_all(b"y").expect("it can be written");
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let run = strace::slowed(&sandbox, "read,pread64", 20_000, &["create", "--json"]);
    is_over.store(true, Ordering::SeqCst);
    writer.join().expect("the writer ends");
    let run = run.success();
    assert!(
        run.warning_codes()
            .contains(&"changed_while_read".to_owned()),
        "{run}"
    );
    // What was read then is not trusted as unchanged.
    sandbox.create("at rest");
    let len = sandbox.ok("cat 'at rest:busy'").stdout.len();
    assert_eq!(
        Some(len as u64),
        sandbox
            .path("busy")
            .metadata()
            .map(|found| found.len())
            .ok()
    );
}

#[test]
fn a_root_that_is_moved_away_meanwhile_is_not_recorded() {
    given!(if strace::available());
    let sandbox = Sandbox::bare();
    let fill = |text: &str| {
        for at in 0..20 {
            sandbox.write(format!("d{at}/{text}"), text);
        }
    };
    fill("old");
    let first = sandbox.create("first");
    fill("new");
    let (root, aside) = (sandbox.root().to_path_buf(), sandbox.top().join("aside"));
    let mover = {
        let (root, aside) = (root.clone(), aside.clone());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            std::fs::rename(root, aside).expect("it can be moved");
        })
    };
    let run = strace::slowed(
        &sandbox,
        "getdents64",
        60_000,
        &["create", "--reason", "second"],
    );
    mover.join().expect("it was moved");
    assert!(!sandbox.root().exists(), "something was made in its place");
    run.code(3).stdout_is("");
    std::fs::rename(&aside, &root).expect("it can be moved back");
    assert_eq!(sandbox.listed_ids(), [first]);
}
