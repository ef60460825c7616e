//! What is besieged: a command, and the state of store and working directory before it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::bench::{Tree, damaged};
use crate::field::Field;

pub struct Scenario {
    pub name: &'static str,
    prepare: fn(&Field),
    pub args: &'static [&'static str],
    /// Reasons of checkpoints that the command may take away.
    pub may_go: &'static [&'static str],
    /// Nobody can read the store before the command.
    pub is_unusable_before: bool,
}

/// A scenario set up in a field.
pub struct Stage<'s> {
    pub scenario: &'s Scenario,
    pub field: Field,
    /// What each checkpoint holds, by its full id, but for those that the command may take away.
    pub states: BTreeMap<String, Tree>,
    /// The working directory before the command, and after it if nothing disturbs it.
    pub before: Tree,
    pub after: Tree,
}

pub const SCENARIOS: [Scenario; 10] = [
    Scenario {
        name: "first create",
        prepare: files,
        args: &["create", "-r", "new"],
        may_go: &[],
        is_unusable_before: false,
    },
    Scenario {
        name: "later create",
        prepare: edited,
        args: &["create", "-r", "new"],
        may_go: &[],
        is_unusable_before: false,
    },
    Scenario {
        name: "create that evicts",
        prepare: edited,
        args: &["create", "-r", "new", "--keep", "2"],
        may_go: &["one", "two"],
        is_unusable_before: false,
    },
    Scenario {
        name: "restore",
        prepare: edited,
        args: &["restore", "one", "--yes"],
        may_go: &[],
        is_unusable_before: false,
    },
    Scenario { name: "undo", prepare: restored, args: &["undo", "--yes"], may_go: &[], is_unusable_before: false },
    Scenario {
        name: "prune",
        prepare: edited,
        args: &["prune", "--keep", "2"],
        may_go: &["one"],
        is_unusable_before: false,
    },
    Scenario {
        name: "delete",
        prepare: edited,
        args: &["delete", "two", "--yes"],
        may_go: &["two"],
        is_unusable_before: false,
    },
    Scenario {
        name: "repair",
        prepare: damaged_a_little,
        args: &["verify", "--repair"],
        may_go: &[],
        is_unusable_before: false,
    },
    Scenario {
        name: "adopt",
        prepare: continued_by_git,
        args: &["create", "-r", "new"],
        may_go: &[],
        is_unusable_before: false,
    },
    Scenario {
        name: "salvage",
        prepare: unusable,
        args: &["create", "-r", "new"],
        may_go: &[],
        is_unusable_before: true,
    },
];

impl Scenario {
    pub fn set_up(&self) -> Stage<'_> {
        self.set_up_in(Field::new())
    }

    /// In a field that nothing was done in yet.
    pub fn set_up_in(&self, field: Field) -> Stage<'_> {
        let mut states = BTreeMap::new();
        if self.is_unusable_before {
            three_states(&field);
            states = known(&field, self);
        }
        (self.prepare)(&field);
        field.keep();
        let before = Tree::capture(&field.work());
        states.extend(known(&field, self));
        field.put_back();
        let run = field.run(&[], self.args);
        assert!(run.code == 0 || run.code == 5, "{}: {run}", self.name);
        let after = Tree::capture(&field.work());
        Stage { scenario: self, field, states, before, after }
    }
}

fn known(field: &Field, scenario: &Scenario) -> BTreeMap<String, Tree> {
    let stays = |(_, reason): &(String, String)| !scenario.may_go.contains(&reason.as_str());
    let held = |id: String| {
        let tree = held(field, &id).unwrap_or_else(|why| panic!("{}: {why}", scenario.name));
        (id, tree)
    };
    checkpoints(field).into_iter().filter(stays).map(|(id, _)| held(id)).collect()
}

/// Full ids and reasons of all checkpoints, newest first. A store that cannot be listed has none.
pub fn checkpoints(field: &Field) -> Vec<(String, String)> {
    let run = field.run(&[], &["list", "--json"]);
    if run.code != 0 && run.code != 5 {
        return Vec::new();
    }
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let listed = run.data()["checkpoints"].as_array().cloned().unwrap_or_default();
    listed.iter().map(|one| (text(one, "id"), text(one, "reason"))).collect()
}

/// What a checkpoint gives back into a new directory.
pub fn held(field: &Field, id: &str) -> Result<Tree, String> {
    let to = field.beside("out");
    let run = field.run(&[], &["restore", id, "--to", &to.display().to_string()]);
    if run.code == 0 { Ok(Tree::capture(&to)) } else { Err(format!("{id} does not come back: {run}")) }
}

fn made(field: &Field, reason: &str) {
    let run = field.run(&[], &["create", "-r", reason, "-q"]);
    assert_eq!(run.code, 0, "{run}");
}

fn files(field: &Field) {
    for at in 0..4 {
        field.write(&format!("d{at}/text"), format!("text {at}\n").repeat(40));
        field.write(&format!("d{at}/deep/er/{at}"), format!("{at}"));
    }
    field.write("run", "#!/bin/sh\n");
    field.write(".gitignore", "*.log\n");
    field.write("d1/left.log", "out");
    std::os::unix::fs::symlink("d1/text", field.work().join("link")).expect("a link");
    std::fs::create_dir(field.work().join("empty")).expect("a directory");
}

fn three_states(field: &Field) {
    files(field);
    made(field, "one");
    field.write("d0/text", "changed");
    std::fs::remove_dir_all(field.work().join("d2")).expect("it goes");
    field.write("new/file", "new");
    made(field, "two");
    field.write("d1/text", "changed too");
    made(field, "three");
}

fn edited(field: &Field) {
    three_states(field);
    field.write("d3/text", "edited");
    field.write("later", "later");
}

fn restored(field: &Field) {
    edited(field);
    assert_eq!(field.run(&[], &["restore", "one", "--yes"]).code, 0);
}

/// An index is missing, a ref is gone, the newest pack has a flipped byte that the working directory can heal.
fn damaged_a_little(field: &Field) {
    three_states(field);
    let packs = damaged::packs_of(&field.store());
    std::fs::remove_file(packs[0].with_extension("idx")).expect("an index");
    let refs: Vec<PathBuf> = crate::bench::fixtures::files_below(&field.store().join("refs/checkpoints"));
    std::fs::remove_file(&refs[0]).expect("a ref");
}

fn continued_by_git(field: &Field) {
    three_states(field);
    let git = crate::bench::Git::find(&field.home()).expect("these scenarios need git");
    let (store, work) = (field.store().display().to_string(), field.work().display().to_string());
    field.write("by-git", "by git");
    for words in [vec!["add", "-A"], vec!["commit", "-q", "-m", "by hand"]] {
        let words = [vec!["--git-dir", &store, "--work-tree", &work], words].concat();
        assert_eq!(git.run(&words).code, 0, "{}", git.run(&words));
    }
}

/// A directory stands where the lock should be: the store is replaced by what can be read of it.
fn unusable(field: &Field) {
    let lock = field.store().join("checkpoint/lock");
    std::fs::remove_file(&lock).expect("the lock goes");
    std::fs::create_dir_all(lock.join("in the way")).expect("a directory");
}
