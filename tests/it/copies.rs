//! `create --type file_backup --copies`: makes plain copies from which `cp` alone restores.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::{Run, Sandbox, Tree};

const BACKUP: [&str; 4] = ["create", "--type", "file_backup", "--copies"];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("conf/app.yaml", "port: 1\n")
        .write("conf/it's a.sh", "run\n")
        .chmod("conf/it's a.sh", 0o750);
    sandbox
        .symlink("conf/link", "app.yaml")
        .mkdir("conf/empty")
        .chmod("conf/app.yaml", 0o640)
        .write("other", "o");
    sandbox
        .write("conf/sealed/x", "s")
        .chmod("conf/sealed", 0o500);
    sandbox
}

fn backed_up(sandbox: &Sandbox, more: &[&str]) -> Value {
    sandbox
        .run(&[&BACKUP[..], &["--scope", "conf", "--json"], more].concat())
        .success()
        .data()
}

fn dir(data: &Value) -> PathBuf {
    data["copies"].as_str().expect("a directory").into()
}

fn manifest(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("manifest.json")).expect("a manifest"))
        .expect("JSON")
}

fn shell(line: &str) -> Run {
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", line]).current_dir("/");
    Run::of(command)
}

fn names_in(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().display().to_string())
        .collect()
}

#[cfg(unix)]
#[test]
fn cp_alone_brings_everything_back() {
    let sandbox = project();
    let before = Tree::capture(&sandbox.path("conf"));
    let data = backed_up(&sandbox, &["-r", "before"]);
    let manifest = manifest(&dir(&data));
    let change = || {
        sandbox
            .write("conf/app.yaml", "port: 2\n")
            .chmod("conf/app.yaml", 0o600)
            .remove("conf/link");
        sandbox
            .write("conf/link", "no link")
            .remove("conf/it's a.sh")
            .symlink("conf/it's a.sh", "../other");
    };
    change();
    let files = manifest["files"].as_array().expect("a list").clone();
    for file in &files {
        drop(shell(file["command"].as_str().expect("a command")).success());
    }
    Tree::capture(&sandbox.path("conf")).assert_is(&before, "each file by its command");
    change();
    sandbox
        .chmod("conf/sealed", 0o700)
        .remove("conf/sealed")
        .remove("conf/empty");
    drop(shell(manifest["command"].as_str().expect("a command")).success());
    Tree::capture(&sandbox.path("conf")).assert_is(&before, "all by one command");
    assert_eq!(
        sandbox.read("other"),
        "o",
        "nothing is written through a link"
    );
}

#[cfg(unix)]
#[test]
fn the_manifest_says_what_each_copy_is() {
    let sandbox = project();
    let data = backed_up(&sandbox, &["-r", "before"]);
    let dir = dir(&data);
    assert_eq!(
        dir,
        sandbox
            .path(".checkpoints")
            .join(data["alias"].as_str().expect("an alias"))
    );
    let manifest = manifest(&dir);
    for key in ["alias", "id", "reason", "time", "scope"] {
        assert_eq!(manifest[key], data[key], "{key}");
    }
    let files = manifest["files"].as_array().expect("a list");
    let told: Vec<(&str, &str, u64)> = files
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap(),
                file["mode"].as_str().unwrap(),
                file["size_bytes"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("conf/app.yaml", "0640", 8),
            ("conf/it's a.sh", "0750", 4),
            ("conf/link", "0777", 8),
            ("conf/sealed/x", "0644", 1)
        ]
    );
    for file in files.iter().filter(|file| file["kind"] == "file") {
        let path = dir.join("files").join(file["path"].as_str().unwrap());
        let mut sum = std::process::Command::new("sha256sum");
        sum.arg(path);
        let sum = Run::of(sum).success();
        assert!(
            sum.stdout
                .trim_start_matches('\\')
                .starts_with(file["sha256"].as_str().unwrap()),
            "{sum}"
        );
    }
    sandbox.run(&["create"]).success();
    assert_eq!(
        sandbox.status()["drift"]["added"],
        0,
        "no checkpoint captures the copies"
    );
}

#[cfg(unix)]
#[test]
fn copies_that_cannot_be_made_cost_no_checkpoint() {
    let sandbox = project();
    let elsewhere = sandbox.home().join("elsewhere");
    sandbox
        .mkdir(&elsewhere)
        .watch(&elsewhere)
        .symlink(".checkpoints", &elsewhere);
    let args = [&BACKUP[..], &["--scope", "conf"]].concat();
    let run = sandbox.run(&[&args[..], &["--json"]].concat()).code(5);
    assert!(
        run.data()["copies"].is_null() && run.warning_codes() == ["copies_not_made"],
        "{run}"
    );
    let quiet = sandbox
        .run(&[&args[..], &["--quiet"]].concat())
        .code(5)
        .stderr_has("the plain copies were not made");
    let id = quiet.stdout.trim_end().to_owned();
    quiet.stderr_has(&format!("'checkpoint restore {id}' restores it"));
    sandbox
        .write("conf/app.yaml", "port: 2\n")
        .restore(&id)
        .success();
    assert_eq!(sandbox.read("conf/app.yaml"), "port: 1\n");
    sandbox
        .remove(".checkpoints")
        .write(".checkpoints", "a file");
    sandbox.run(&args).code(5);
    assert_eq!(sandbox.read(".checkpoints"), "a file");
}

#[cfg(unix)]
#[test]
fn half_made_copies_have_no_final_name() {
    let sandbox = project();
    let unfinished = sandbox.path(".checkpoints/.checkpoint-stage-0123456789abcdef");
    sandbox
        .write(unfinished.join("tree-0/files/conf/app.yaml"), "half")
        .write(".checkpoints/notes", "theirs");
    sandbox.write("conf/large", vec![b'x'; 1 << 20]);
    let wrapper = [
        "sh",
        "-c",
        "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"",
    ];
    let run = sandbox.run_under(&wrapper, &[&BACKUP[..], &["--scope", "conf"]].concat());
    assert!(
        run.code == 5 && run.stderr.contains("the plain copies were not made"),
        "{run}"
    );
    assert_eq!(names_in(&sandbox.path(".checkpoints")), ["notes"]);
}

#[test]
fn a_checkpoint_that_stood_already_gets_its_copies() {
    let sandbox = project();
    let args = [
        "create",
        "--type",
        "file_backup",
        "--scope",
        "conf",
        "--json",
    ];
    let first = sandbox
        .at("2026-03-24T12:00:00Z")
        .run(&args)
        .success()
        .data();
    assert!(first["copies"].is_null());
    let killed = sandbox.path(".checkpoints/.checkpoint-stage-0123456789abcdef");
    for _ in 0..2 {
        sandbox.write(killed.join("tree-0/files/conf/app.yaml"), "half");
        let again = sandbox
            .at("2026-03-24T12:00:00Z")
            .run(&[&args[..], &["--copies"]].concat())
            .success()
            .data();
        assert!(!killed.exists());
        assert_eq!(
            (&again["id"], &again["skipped"]),
            (&first["id"], &"dedup".into())
        );
        assert!(dir(&again).join("files/conf/app.yaml").exists());
    }
}

#[test]
fn copies_are_for_file_backups_of_a_scope() {
    let sandbox = project();
    for args in [
        vec!["create", "--copies"],
        vec!["create", "--copies", "--scope", "conf"],
        vec![
            "create",
            "--copies",
            "--type",
            "git_stash",
            "--scope",
            "conf",
        ],
        vec!["create", "--copies", "--type", "file_backup"],
    ] {
        sandbox.run(&args).code(2);
    }
    assert!(sandbox.listed().is_empty());
}
