//! Real servers: what is pushed through each comes back exactly, and is sound there.

use crate::bench::remote::Remote;
use crate::bench::{Sandbox, fixtures};

fn every_byte_comes_back(start: fn(&Sandbox) -> Option<Remote>) {
    let from = Sandbox::new();
    let Some(remote) = start(&from) else { return };
    from.write("a", "one")
        .write("d/e/b", fixtures::noise(3, 300_000))
        .write("run.sh", "#!/bin/sh\n")
        .chmod("run.sh", 0o755)
        .write("secret", "x")
        .chmod("secret", 0o600)
        .mkdir("empty/deep")
        .symlink("link", "../outside");
    from.create("one");
    from.ok("pin one");
    from.write("d/new", "two");
    from.ok("create two --scope d");
    from.ok("workflow init --phase plan --phase build");
    from.write("a", "three");
    from.create("three");
    remote.add_to(&from);
    from.ok("push")
        .stdout_is("Pushed 3 checkpoints to origin\n");

    let to = remote.cloned();
    to.tree().assert_is(&from.tree(), "the clone");
    let own = |sandbox: &Sandbox| {
        let list = ["list", "--json", "--kind", "checkpoint"];
        let rows = sandbox.run(&list).success().data()["checkpoints"].clone();
        rows.as_array().expect("rows").clone()
    };
    for (there, here) in own(&to).iter().zip(own(&from)) {
        for key in ["id", "reason", "time_ms", "pinned", "scope", "coverage"] {
            assert_eq!(there[key], here[key], "{key}");
        }
    }
    to.ok("workflow note --decision decided");
    to.write("a", "edited elsewhere").remove("run.sh");
    to.create("edited");
    to.ok("push");
    from.ok("fetch");
    from.restore("origin/latest").success();
    from.tree()
        .assert_is(&to.tree(), "edited elsewhere, restored here");
    from.undo().success();
    from.at("2026-06-01T00:00:00Z");
    from.write("b", "back again");
    from.create("back");
    from.ok("push");
    to.ok("fetch");
    assert_eq!(to.ok("cat origin/back:b").stdout, "back again");
    for sandbox in [&from, &to] {
        sandbox.ok("verify --full");
    }
    remote.assert_sound();
}

#[test]
fn a_bare_directory() {
    every_byte_comes_back(Remote::bare_directory);
}

#[cfg(unix)]
#[test]
fn git_daemon() {
    every_byte_comes_back(Remote::daemon);
}

#[cfg(unix)]
#[test]
fn sshd_with_keys() {
    every_byte_comes_back(Remote::ssh);
}

#[cfg(unix)]
#[test]
fn nginx_with_a_password() {
    every_byte_comes_back(Remote::http);
}

#[cfg(unix)]
#[test]
fn a_wrong_password_and_an_unknown_host_key_are_errors_and_ask_nothing() {
    let sandbox = Sandbox::new();
    let Some(remote) = Remote::http(&sandbox) else {
        return;
    };
    sandbox.write("a", "one");
    sandbox.create("one");
    remote.reach_from(&sandbox);
    let wrong = remote.url().replace("secret", "wrong-secret");
    for (name, url) in [
        ("wrong", wrong),
        ("none", remote.url().replace(":secret", "")),
    ] {
        sandbox.run(&["remote", "add", name, &url]).success();
        let failed = sandbox.run(&["push", name]).code(1);
        failed.stderr_has(&format!("the remote {name}"));
        let said = sandbox.run(&["push", name]).code(1);
        assert!(!said.stderr.contains("wrong-secret"), "{said}");
    }
    assert_eq!(remote.refs(), "");
    let other = Sandbox::new();
    let Some(ssh) = Remote::ssh(&other) else {
        return;
    };
    sandbox.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    sandbox.env(
        "GIT_SSH_COMMAND",
        "ssh -F none -o UserKnownHostsFile=/dev/null",
    );
    sandbox.run(&["remote", "add", "ssh", ssh.url()]).success();
    let failed = sandbox.fails(1, "push ssh");
    failed.stderr_has("Host key verification failed");
}

#[cfg(unix)]
#[test]
fn a_redirect_to_a_file_is_refused() {
    let sandbox = Sandbox::new();
    let Some(remote) = Remote::http(&sandbox) else {
        return;
    };
    sandbox.write("a", "one");
    sandbox.create("one");
    remote.reach_from(&sandbox);
    let moved = remote.url().replace("/project.git", "/moved/project.git");
    sandbox.run(&["remote", "add", "origin", &moved]).success();
    for command in ["push", "fetch"] {
        sandbox
            .run(&[command])
            .code(1)
            .stderr_has("the remote origin");
    }
    assert_eq!(remote.refs(), "");
}
