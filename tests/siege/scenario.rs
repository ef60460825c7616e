//! Scenarios: a command, and the state of store and working directory before it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::bench::{Tree, damaged, tree::at_or_below};
use crate::companions;
use crate::field::Field;
use crate::owners;
use crate::packing;

pub struct Scenario {
    pub name: &'static str,
    prepare: fn(&Field),
    pub args: &'static [&'static str],
    /// Reasons of the checkpoints that the command may drop.
    pub may_go: &'static [&'static str],
    /// Whether the store is unreadable before the command.
    pub is_unusable_before: bool,
    /// Reason of the checkpoint that a restore targets.
    pub target: Option<&'static str>,
    /// Prefixes of paths that contain times or counters; `facet` checks their content.
    pub apart: &'static [&'static str],
    /// Other changes of the command, in words that are always the same.
    pub facet: Option<fn(&Field) -> String>,
    /// Whether it is killed at every place that changes something, and with every amount of free
    /// space, however long that takes.
    pub in_full: bool,
}

/// A scenario set up in a field.
pub struct Stage<'s> {
    pub scenario: &'s Scenario,
    pub field: Field,
    /// Content of each checkpoint by its full id, except those that the command may drop.
    pub states: BTreeMap<String, Tree>,
    /// Content of the checkpoint that a restore targets.
    pub target: Option<Tree>,
    /// State before the command, and after an undisturbed run.
    pub before: Picture,
    pub after: Picture,
}

/// The visible state of a field.
#[derive(PartialEq, Eq)]
pub struct Picture {
    pub tree: Tree,
    pub facet: String,
}

impl Picture {
    pub fn of(scenario: &Scenario, field: &Field) -> Self {
        // The stage of a killed restore is swept by the next writer, and looked for then.
        let tree =
            Tree::capture(&field.work()).without(|path| path.starts_with(b".checkpoint-stage-"));
        Self {
            tree: scenario.lasting(&tree),
            facet: scenario.facet(field),
        }
    }

    /// The differences, in words.
    pub fn against(&self, other: &Self) -> String {
        format!(
            "{:?}, {:?} and not {:?}",
            self.tree.diff(&other.tree),
            self.facet,
            other.facet
        )
    }
}

const CREATE: &[&str] = &["create", "-r", "new"];
const RESTORE: &[&str] = &["restore", "one", "--yes"];

pub const SCENARIOS: [Scenario; 31] = [
    // Bounded ones come first, so that they get their share of the time.
    Scenario {
        target: Some("one"),
        in_full: false,
        ..Scenario::new("restore that leaves something", with_specials, RESTORE)
    },
    run_of_phases(
        "workflow init",
        edited,
        &["workflow", "init", "--profile", "phases", "--phase", "one"],
    ),
    run_of_phases(
        "phase start",
        companions::planned,
        &["phase", "start", "one"],
    ),
    run_of_phases(
        "phase done",
        companions::at_work,
        &["phase", "done", "one", "--force"],
    ),
    run_of_phases(
        "task done",
        companions::at_work,
        &["task", "done", "second"],
    ),
    run_of_phases(
        "rewind",
        companions::at_work,
        &["workflow", "rewind", "one", "--both", "--yes"],
    ),
    Scenario {
        facet: Some(companions::holds),
        in_full: false,
        ..Scenario::new("hold", edited, &["hold", "tests"])
    },
    Scenario {
        apart: &[".checkpoints"],
        facet: Some(companions::copies),
        in_full: false,
        ..Scenario::new("copies", companions::copied, companions::COPIES)
    },
    with_database(
        "savepoint",
        companions::database,
        &["create", "-r", "new", "--db", "data/shop.db"],
    ),
    with_database(
        "restore of a database",
        companions::saved_database,
        &["restore", "saved", "--yes"],
    ),
    Scenario {
        facet: Some(companions::imported),
        in_full: false,
        ..Scenario::new("import", companions::travelling, companions::IMPORT)
    },
    Scenario {
        facet: Some(companions::exported),
        in_full: false,
        ..Scenario::new("export", companions::travelling, companions::EXPORT)
    },
    beside_a_worktree("create beside a worktree", CREATE, None),
    beside_a_worktree("restore beside a worktree", RESTORE, Some("one")),
    Scenario {
        facet: Some(owners::nested),
        target: Some("four"),
        in_full: false,
        ..Scenario::new(
            "restore around a nested root",
            owners::around_a_nested_root,
            &["restore", "four", "--yes"],
        )
    },
    Scenario {
        facet: Some(owners::nested),
        in_full: false,
        ..Scenario::new(
            "create in a nested root",
            owners::around_a_nested_root,
            &["-C", owners::NESTED, "create", "-r", "inner new"],
        )
    },
    with_database(
        "restore of a database with its log",
        owners::with_a_log,
        &["restore", "logged", "--yes"],
    ),
    Scenario {
        in_full: false,
        ..Scenario::new("create that unpacks refs", packing::packed, CREATE)
    },
    Scenario {
        target: Some("one"),
        in_full: false,
        ..Scenario::new("restore of a packed ref", packing::packed, RESTORE)
    },
    Scenario {
        may_go: &["two"],
        in_full: false,
        ..Scenario::new(
            "delete of a packed ref",
            packing::packed,
            &["delete", "two", "--yes"],
        )
    },
    Scenario {
        may_go: &["one"],
        in_full: false,
        ..Scenario::new(
            "prune of packed refs",
            packing::packed,
            &["prune", "--keep", "2", "--yes"],
        )
    },
    Scenario::new("first create", files, CREATE),
    Scenario::new("later create", edited, CREATE),
    Scenario {
        may_go: &["one", "two"],
        ..Scenario::new(
            "create that evicts",
            edited,
            &["create", "-r", "new", "--keep", "2", "--yes"],
        )
    },
    Scenario {
        target: Some("one"),
        ..Scenario::new("restore", edited, RESTORE)
    },
    Scenario::new("undo", restored, &["undo", "--yes"]),
    Scenario {
        may_go: &["one"],
        ..Scenario::new("prune", edited, &["prune", "--keep", "2", "--yes"])
    },
    Scenario {
        may_go: &["two"],
        ..Scenario::new("delete", edited, &["delete", "two", "--yes"])
    },
    Scenario::new("repair", damaged_a_little, &["verify", "--repair"]),
    Scenario::new("adopt", continued_by_git, CREATE),
    Scenario {
        is_unusable_before: true,
        ..Scenario::new("salvage", unusable, CREATE)
    },
];

const fn run_of_phases(
    name: &'static str,
    prepare: fn(&Field),
    args: &'static [&'static str],
) -> Scenario {
    Scenario {
        apart: &["memory"],
        facet: Some(companions::run_of_phases),
        in_full: false,
        ..Scenario::new(name, prepare, args)
    }
}

const fn with_database(
    name: &'static str,
    prepare: fn(&Field),
    args: &'static [&'static str],
) -> Scenario {
    Scenario {
        apart: &["data"],
        facet: Some(companions::rows),
        in_full: false,
        ..Scenario::new(name, prepare, args)
    }
}

const fn beside_a_worktree(
    name: &'static str,
    args: &'static [&'static str],
    target: Option<&'static str>,
) -> Scenario {
    Scenario {
        apart: &[owners::WORKTREES],
        facet: Some(owners::worktree),
        target,
        in_full: false,
        ..Scenario::new(name, owners::beside_a_worktree, args)
    }
}

impl Scenario {
    const fn new(name: &'static str, prepare: fn(&Field), args: &'static [&'static str]) -> Self {
        Self {
            name,
            prepare,
            args,
            may_go: &[],
            is_unusable_before: false,
            target: None,
            apart: &[],
            facet: None,
            in_full: true,
        }
    }

    /// The part of a directory that is the same in every run of the command.
    pub fn lasting(&self, tree: &Tree) -> Tree {
        tree.without(|path| {
            self.apart
                .iter()
                .any(|top| at_or_below(path, top.as_bytes()))
        })
    }

    pub fn restores(&self) -> bool {
        self.args
            .iter()
            .any(|word| ["restore", "undo", "rewind"].contains(word))
    }

    /// The other visible changes, if any.
    pub fn facet(&self, field: &Field) -> String {
        self.facet.map(|look| look(field)).unwrap_or_default()
    }

    pub fn set_up(&self) -> Stage<'_> {
        self.set_up_in(Field::new())
    }

    /// Sets it up in a fresh field.
    pub fn set_up_in(&self, field: Field) -> Stage<'_> {
        let mut states = BTreeMap::new();
        if self.is_unusable_before {
            three_states(&field);
            states = known(&field, self);
        }
        (self.prepare)(&field);
        field.keep();
        let before = Picture::of(self, &field);
        states.extend(known(&field, self));
        let target = self.target.map(|reason| {
            let id = checkpoints(&field)
                .into_iter()
                .find(|(_, found)| found == reason)
                .expect("it is listed")
                .0;
            states[&id].clone()
        });
        field.put_back();
        let run = field.run(&[], self.args);
        assert!(run.code == 0 || run.code == 5, "{}: {run}", self.name);
        let after = Picture::of(self, &field);
        Stage {
            scenario: self,
            field,
            states,
            target,
            before,
            after,
        }
    }
}

fn known(field: &Field, scenario: &Scenario) -> BTreeMap<String, Tree> {
    let stays = |(_, reason): &(String, String)| !scenario.may_go.contains(&reason.as_str());
    let held = |id: String| {
        let tree = held(field, &id).unwrap_or_else(|why| panic!("{}: {why}", scenario.name));
        (id, tree)
    };
    checkpoints(field)
        .into_iter()
        .filter(stays)
        .map(|(id, _)| held(id))
        .collect()
}

/// Full ids and reasons of all checkpoints, newest first; none where the store cannot be listed.
pub fn checkpoints(field: &Field) -> Vec<(String, String)> {
    checkpoints_in(field, ".")
}

/// Those of a directory below, with a store of its own.
pub fn checkpoints_in(field: &Field, dir: &str) -> Vec<(String, String)> {
    let run = field.run(&[], &["-C", dir, "list", "--json"]);
    if run.code != 0 && run.code != 5 {
        return Vec::new();
    }
    let text =
        |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let listed = run.data()["checkpoints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    listed
        .iter()
        .map(|one| (text(one, "id"), text(one, "reason")))
        .collect()
}

/// The content of a checkpoint, restored into a new directory.
pub fn held(field: &Field, id: &str) -> Result<Tree, String> {
    let to = field.beside("out");
    let run = field.run(&[], &["restore", id, "--to", &to.display().to_string()]);
    if run.code == 0 {
        Ok(Tree::capture(&to))
    } else {
        Err(format!("{id} does not come back: {run}"))
    }
}

pub fn made(field: &Field, reason: &str) {
    let run = field.run(&[], &["create", "-r", reason, "-q"]);
    assert_eq!(run.code, 0, "{run}");
}

pub fn files(field: &Field) {
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

pub fn three_states(field: &Field) {
    files(field);
    made(field, "one");
    field.write("d0/text", "changed");
    std::fs::remove_dir_all(field.work().join("d2")).expect("it goes");
    field.write("new/file", "new");
    made(field, "two");
    field.write("d1/text", "changed too");
    made(field, "three");
}

pub fn edited(field: &Field) {
    three_states(field);
    field.write("d3/text", "edited");
    field.write("later", "later");
}

/// Puts special files, which no checkpoint holds, into a directory that the first state lacks.
fn with_specials(field: &Field) {
    edited(field);
    crate::bench::fixtures::fifo(&field.work().join("new/fifo"));
    field.write("new/left/by.log", "a rule leaves it out");
}

fn restored(field: &Field) {
    edited(field);
    assert_eq!(field.run(&[], &["restore", "one", "--yes"]).code, 0);
}

/// Removes an index and a ref, which a repair makes anew.
fn damaged_a_little(field: &Field) {
    three_states(field);
    let packs = damaged::packs_of(&field.store());
    std::fs::remove_file(packs[0].with_extension("idx")).expect("an index");
    let refs: Vec<PathBuf> =
        crate::bench::fixtures::files_below(&field.store().join("refs/checkpoints"));
    std::fs::remove_file(&refs[0]).expect("a ref");
}

fn continued_by_git(field: &Field) {
    three_states(field);
    let git = crate::bench::Git::find(&field.home()).expect("these scenarios need git");
    let (store, work) = (
        field.store().display().to_string(),
        field.work().display().to_string(),
    );
    field.write("by-git", "by git");
    for words in [vec!["add", "-A"], vec!["commit", "-q", "-m", "by hand"]] {
        let words = [vec!["--git-dir", &store, "--work-tree", &work], words].concat();
        assert_eq!(git.run(&words).code, 0, "{}", git.run(&words));
    }
}

/// Puts a directory in the place of the lock: the store is replaced by what can be read of it.
fn unusable(field: &Field) {
    let lock = field.store().join("checkpoint/lock");
    std::fs::remove_file(&lock).expect("the lock goes");
    std::fs::create_dir_all(lock.join("in the way")).expect("a directory");
}
