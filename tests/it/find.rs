//! `find` against `show` and plain git; `stories/find.md` has the rest.

use serde_json::Value;

use crate::bench::{Git, Sandbox};

#[track_caller]
fn found(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let run = sandbox.run(&[&["find", "--json"], args].concat()).success();
    run.data()["paths"].as_array().expect("a list").clone()
}

fn events(path: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = path["events"].as_array().unwrap().iter();
    events
        .map(|event| (text(&event["change"]), text(&event["checkpoint"]["short"])))
        .collect()
}

/// A history in which every file changes its content, its mode and its kind now and then.
fn busy_history(restores: bool) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut state = 7_u64;
    let mut random = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let paths = ["a", "a.b", "d/a", "d/e/f", "d/e/g", "d.x", "z/deep/er/file"];
    let mut ids = Vec::new();
    for at in 0..25 {
        for _ in 0..3 {
            let path = paths[usize::try_from(random(7)).unwrap()];
            sandbox.remove(path);
            match random(5) {
                0 => {}
                1 => drop(sandbox.symlink(path, format!("needle{}", random(3)))),
                2 => drop(sandbox.write(path, "needle\n").chmod(path, 0o755)),
                3 => drop(sandbox.write(path, format!("needle {}\n", random(4)))),
                _ => drop(sandbox.write(path, "other\n")),
            }
        }
        ids.push(sandbox.create(&format!("step {at}")));
        if restores && at % 9 == 8 {
            sandbox
                .restore(&ids[usize::try_from(random(5)).unwrap()])
                .success();
        }
    }
    sandbox
}

#[test]
fn find_tells_what_show_tells_of_each_checkpoint() {
    // Without restores: `show` compares with the baseline, `find` with the checkpoint before.
    let sandbox = busy_history(false);
    let mut told: Vec<(String, String, String)> = Vec::new();
    for path in found(&sandbox, &["*"]) {
        let name = path["path"].as_str().unwrap().to_owned();
        told.extend(
            events(&path)
                .into_iter()
                .map(|(change, short)| (short, name.clone(), change)),
        );
    }
    let mut expected = Vec::new();
    for short in sandbox.listed_ids() {
        let shown = sandbox.json(format!("show {short}"));
        for change in shown["changes"].as_array().unwrap() {
            let text = |field: &str| change[field].as_str().unwrap().to_owned();
            expected.push((short.clone(), text("path"), text("change")));
        }
    }
    told.sort();
    expected.sort();
    assert!(told.len() > 40, "too little happened: {told:?}");
    assert_eq!(told, expected);
}

#[test]
fn find_text_tells_what_git_grep_tells_of_each_checkpoint() {
    let sandbox = busy_history(true);
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    let listed: Vec<String> = sandbox
        .listed()
        .iter()
        .rev()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = Vec::new();
    for id in &listed {
        let grep = git.cmd(format!("grep -F -n needle {id}"));
        expected.extend(grep.stdout.lines().map(str::to_owned));
    }
    let at = |value: &Value| {
        listed
            .iter()
            .position(|id| value["id"] == id.as_str())
            .unwrap()
    };
    let mut told = Vec::new();
    let run = sandbox.ok("find --json --text needle -n 1000");
    for one in run.data()["matches"].as_array().unwrap() {
        for id in &listed[at(&one["first_in"])..=at(&one["last_in"])] {
            let line = &one["lines"][0];
            let (path, text) = (
                one["path"].as_str().unwrap(),
                line["text"].as_str().unwrap(),
            );
            told.push(format!("{id}:{path}:{}:{text}", line["number"]));
        }
    }
    told.sort();
    expected.sort();
    assert!(told.len() > 40, "too little was found: {told:?}");
    assert_eq!(told, expected);
}
