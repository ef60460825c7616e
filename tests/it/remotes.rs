//! Pushes at once, and the lines of the README; `stories/push_fetch.md`, `stories/remote_lines.md` and
//! `stories/remote_damage.md` have the rest of `remote`, `push`, `fetch` and `clone`.

use crate::bench::Sandbox;
use crate::bench::remote::Remote;

#[test]
fn two_machines_and_four_processes_push_at_once() {
    let from = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&from) else {
        return;
    };
    from.write("a", "one").create("one");
    remote.add_to(&from);
    from.ok("push");
    let to = remote.cloned();
    std::thread::scope(|scope| {
        for sandbox in [&from, &to] {
            for nth in 0..4 {
                let state = format!("at_once={nth}");
                let commands = [
                    sandbox.command(&[], &["create", "at once", "--state", &state]),
                    sandbox.command(&[], &["push"]),
                ];
                scope.spawn(move || {
                    for mut command in commands {
                        let done = crate::bench::limit::output(&mut command).expect("it starts");
                        assert!(done.status.success(), "{done:?}");
                    }
                });
            }
        }
    });
    for sandbox in [&from, &to] {
        sandbox.ok("push");
    }
    assert_eq!(remote.refs().lines().count(), 2);
    let third = remote.cloned();
    assert_eq!(third.listed().len(), 1 + 8 + 1);
    remote.assert_sound();
}

#[test]
fn the_five_lines_of_the_readme() {
    let sandbox = Sandbox::new();
    let Some(remote) = Remote::bare_directory(&sandbox) else {
        return;
    };
    let readme = std::fs::read_to_string(crate::source::package().join("README.md"));
    let readme = readme.expect("the README");
    let section = readme
        .split("## Other machines")
        .nth(1)
        .expect("the section");
    let block = section.split("```").nth(1).expect("its lines").trim();
    assert_eq!(block.lines().count(), 5);
    let other = Sandbox::bare();
    remote.reach_from(&other);
    remote.reach_from(&sandbox);
    sandbox.write("a", "one");
    sandbox.create("one");
    for line in block.lines() {
        let line = line.split('#').next().expect("a line");
        let line = line.replace("git@example.org:me/checkpoints.git", remote.url());
        let at = if line.contains(" clone ") {
            &other
        } else {
            &sandbox
        };
        for command in line.split("&&") {
            let words: Vec<&str> = command.split_whitespace().collect();
            if words[0] == "cd" {
                continue;
            }
            assert_eq!(words[0], "checkpoint");
            if words[1] == "fetch" {
                let project = other.home().join("project");
                std::fs::write(project.join("a"), "two").expect("it is written");
                other.run_in(&project, &["create", "two"]).success();
                other.run_in(&project, &["push"]).success();
            }
            let words = [&words[1..], &["--yes"]].concat();
            let dir = if words[0] == "clone" {
                at.home()
            } else {
                at.root()
            };
            at.run_in(dir, &words).success();
        }
    }
    assert_eq!(sandbox.read("a"), "two");
}
