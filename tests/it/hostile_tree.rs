//! A file that changes under a restore, and a path that is too long; `stories/hostile.md` has the rest.

use crate::bench::{Sandbox, given, strace};

#[test]
fn a_file_that_changes_between_plan_and_write_is_not_lost() {
    let sandbox = Sandbox::new();
    given!(if strace::available());
    for at in 0..20 {
        sandbox.write(format!("f{at:02}"), "old");
    }
    let id = sandbox.create("before");
    for at in 0..20 {
        sandbox.write(format!("f{at:02}"), "new");
    }
    let writer = {
        let path = sandbox.path("f19");
        let staged = sandbox.root().to_path_buf();
        std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            let is_staging = |entry: std::io::Result<std::fs::DirEntry>| {
                entry.is_ok_and(|entry| {
                    entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(".checkpoint-stage-")
                })
            };
            while begun.elapsed() < std::time::Duration::from_secs(20) {
                if std::fs::read_dir(&staged).is_ok_and(|mut entries| entries.any(is_staging)) {
                    std::fs::write(&path, "typed meanwhile").expect("it can be written");
                    return true;
                }
            }
            false
        })
    };
    let run = strace::slowed(
        &sandbox,
        "renameat2,renameat",
        20_000,
        &["restore", &id, "--yes"],
    );
    let typed = writer.join().expect("the writer does not panic");
    let somewhere = sandbox.read("f19") == "typed meanwhile" || {
        let safeties = sandbox.listed_ids();
        safeties.iter().any(|safety| {
            sandbox.cmd(format!("restore {safety} f19 --yes")).code == 0
                && sandbox.read("f19") == "typed meanwhile"
        })
    };
    assert!(
        typed && somewhere,
        "what was typed is in neither the tree nor a checkpoint\n{run}"
    );
}

#[test]
fn a_path_longer_than_the_system_takes_at_once_comes_back() {
    let sandbox = Sandbox::new();
    // No single call takes the whole path, so the lower half is made elsewhere and moved here.
    let half: std::path::PathBuf = std::iter::repeat_n("d".repeat(200), 13).collect();
    let elsewhere = sandbox.top().join("lower");
    sandbox
        .mkdir(&half)
        .write(elsewhere.join(&half).join("file"), "deep");
    std::fs::rename(&elsewhere, sandbox.path(&half).join("lower"))
        .expect("the lower half can be moved");
    let data = sandbox.create_data(&[]);
    assert_eq!(data["counts"]["file_count"], 1, "{data}");
    assert_eq!(
        data["counts"]["directory_count"]
            .as_u64()
            .map(|count| count >= 27),
        Some(true)
    );
    sandbox
        .write("beside", "1")
        .restore(data["short"].as_str().expect("an id"))
        .success();
    assert!(!sandbox.exists("beside"));
}
