//! Scenarios: a command, and the state of store and working directory before it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::calls::Call;
use super::companions;
use super::field::Field;
use super::owners;
use super::remotes;
use crate::bench::{Git, Run, Tree, damaged, fixtures, tree::at_or_below};

#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    prepare: fn(&Field),
    /// The command.
    pub line: &'static str,
    /// Reasons of the checkpoints that the command may drop.
    pub may_go: &'static [&'static str],
    /// What leads on wherever it was cut off; the former checkpoints may be listed only then.
    pub way_out: Option<&'static str>,
    /// Another command whose end is as good.
    pub other: Option<&'static str>,
    /// Reason of the checkpoint that a restore targets.
    pub target: Option<&'static str>,
    /// Prefixes of paths that contain times or counters; `facet` checks their content.
    pub apart: &'static [&'static str],
    /// Other changes of the command, in words that are always the same.
    pub facet: Option<fn(&Field) -> String>,
    /// Whether the command, given again, ends as if nothing had happened.
    pub is_repeatable: bool,
    /// Whether it does so only where it was cut off, and else does the same once more.
    begins_anew: bool,
    /// The command after which all is as before.
    pub taken_back_by: Option<&'static str>,
    /// The command that sweeps what is left in another place than the store of the directory.
    pub sweeper: Option<&'static str>,
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
    /// The state after the command is given once more.
    pub again: Picture,
    /// Both, and the state after the other command.
    pub ends: Vec<Picture>,
    /// Size of the store after an undisturbed run.
    pub bytes: u64,
}

/// The visible state of a field.
#[derive(Clone, PartialEq, Eq)]
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

    /// Whether the tree and each part of the rest is as in one of these.
    pub fn is_between(&self, ends: &[Self]) -> bool {
        let facets: Vec<_> = ends.iter().map(|end| parts(&end.facet)).collect();
        let now = parts(&self.facet);
        let is_known = |key: &str| facets.iter().any(|end| end.get(key) == now.get(key));
        ends.iter().any(|end| end.tree == self.tree)
            && facets
                .iter()
                .chain([&now])
                .flat_map(BTreeMap::keys)
                .all(|key| is_known(key))
    }

    /// The differences, in words.
    pub fn against(&self, other: &Self) -> String {
        let (now, then) = (parts(&self.facet), parts(&other.facet));
        let differs = |key: &&&str| now.get(**key) != then.get(**key);
        let keys = now.keys().chain(then.keys()).filter(differs);
        let pairs: Vec<_> = keys.map(|key| (now.get(key), then.get(key))).collect();
        format!("{:?}, {pairs:?}", self.tree.diff(&other.tree))
    }
}

/// The lines of a facet by what stands before a tab; those without one belong together.
fn parts(facet: &str) -> BTreeMap<&str, String> {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    for line in facet.lines() {
        let key = line.split_once('\t').map_or("", |(key, _)| key);
        *parts.entry(key).or_default() += line;
    }
    parts
}

const CREATE: &str = "create -r new";
const RESTORE: &str = "restore one --yes";
const RESUME: &str = "restore --resume";
const UNDO: &str = "undo --yes";
const RELINK: &str = "relink ../before --yes";
const IMPORT: &str = "import ../home/x.bundle";
const EXPORT: &str = "export one two -o ../home/x.bundle";
const ABANDON: &str = "workflow resume --choose abandon";

/// Bounded ones come first, so that they get their share of the time.
pub const SCENARIOS: &[Scenario] = &[
    new("restore that leaves something", with_specials, RESTORE).to("one"),
    of_phases(
        "workflow init",
        edited,
        "workflow init --profile phases --phase one",
    ),
    of_phases("phase start", companions::planned, "phase start one"),
    of_phases("phase done", companions::at_work, "phase done one --force"),
    of_phases("task done", companions::at_work, "task done second"),
    of_phases(
        "rewind",
        companions::at_work,
        "workflow rewind one --both --yes",
    ),
    in_pipeline("pipeline", edited, companions::PIPELINE),
    in_pipeline("next phase", companions::between_phases, "phase start p2"),
    in_pipeline("end of a phase", companions::under_way, "phase done p2"),
    in_pipeline("progress", companions::under_way, "phase progress further"),
    in_pipeline(
        "end of a run",
        companions::under_way,
        "workflow end --abandon",
    ),
    in_pipeline(
        "resume of a run",
        companions::under_way,
        "workflow resume --choose y",
    ),
    // The old run is archived before the new one begins.
    in_pipeline(
        "restart",
        companions::under_way,
        "workflow resume --choose restart",
    )
    .or(ABANDON)
    .anew(),
    in_pipeline("abandon", companions::under_way, ABANDON),
    in_pipeline(
        "rewind of the state",
        companions::under_way,
        "workflow rewind p2 --state --yes",
    ),
    in_pipeline(
        "rewind of both",
        companions::under_way,
        "workflow rewind p2 --both --yes",
    ),
    in_pipeline(
        "recovery of a file",
        companions::malformed,
        "workflow recover .claude/pipeline-state.json --take state --yes",
    ),
    in_pipeline(
        "end of a named run",
        companions::named_run,
        "workflow end r1",
    ),
    in_pipeline(
        "purge of a named run",
        companions::named_run,
        "workflow end r1 --purge --yes",
    )
    .or("workflow end r1 --delete"),
    setup(
        "setup",
        companions::with_settings,
        "setup codex claude --yes",
    )
    .taken_back_by("setup --remove --yes"),
    setup(
        "removal of a setup",
        companions::set_up,
        "setup --remove --yes",
    ),
    setup(
        "removal from an edited file",
        companions::edited_setup,
        "setup codex --remove --yes",
    ),
    new("run", edited, "run -m new -- true"),
    new("watch", edited, "watch -- true"),
    new("hold", edited, "hold tests").tells(companions::holds),
    new("copies", companions::copied, companions::COPIES)
        .apart(&[".checkpoints"])
        .tells(companions::copies)
        .swept_by(companions::COPIES),
    with_database(
        "savepoint",
        companions::database,
        "create -r new --db data/shop.db",
    ),
    with_database(
        "restore of a database",
        companions::saved_database,
        "restore saved --yes",
    ),
    with_database(
        "restore of a database in use",
        companions::database_in_use,
        "restore saved --yes",
    ),
    new("import", companions::travelling, IMPORT).tells(companions::imported),
    new("export", companions::travelling, EXPORT).tells(companions::exported),
    beside_a_worktree("create beside a worktree", CREATE),
    beside_a_worktree("restore beside a worktree", RESTORE).to("one"),
    new(
        "restore around a nested root",
        owners::around_a_nested_root,
        "restore four --yes",
    )
    .tells(owners::nested)
    .to("four"),
    new(
        "create in a nested root",
        owners::around_a_nested_root,
        "-C packages/inner create -r inside",
    )
    .tells(owners::nested)
    .swept_by("-C packages/inner create -r later"),
    with_database(
        "restore of a database with its log",
        owners::with_a_log,
        "restore logged --yes",
    ),
    new("create that unpacks refs", packed, CREATE),
    new("restore of a packed ref", packed, RESTORE).to("one"),
    new("delete of a packed ref", packed, "delete two --yes").may_drop(&["two"]),
    new("prune of packed refs", packed, "prune --keep 2 --yes").may_drop(&["one"]),
    new("prune of large versions", large_versions, "prune"),
    new("delete of two", edited, "delete two three --yes").may_drop(&["two", "three"]),
    new("delete of all", edited, "delete --all --yes")
        .may_drop(&["one", "two", "three"])
        .tells(reasons)
        .again(),
    new("reword", edited, "reword one other")
        .tells(reasons)
        .again(),
    new("relink", moved_away, RELINK)
        .led_on_by(RELINK)
        .swept_by("prune --orphaned --yes"),
    new("push", remotes::to_push, "push")
        .tells(remotes::pushed)
        .again(),
    new("fetch", remotes::to_fetch, "fetch")
        .tells(remotes::fetched)
        .again(),
    new("clone", remotes::to_clone, remotes::CLONE)
        .tells(remotes::cloned)
        .again()
        .swept_by("-C ../home/cloned create -r later"),
    new("repair of a torn pack", torn, "verify --repair")
        .may_drop(&["three"])
        .led_on_by("verify --repair"),
    new("resume", cut_off, RESUME).or(UNDO),
    new("undo of a cut restore", cut_off, UNDO).or(RESUME),
    new("first create", files, CREATE).in_full(),
    new("later create", edited, CREATE).in_full(),
    new("create that evicts", edited, "create -r new --keep 2 --yes")
        .may_drop(&["one", "two"])
        .in_full(),
    new("restore", edited, RESTORE).to("one").in_full(),
    new("undo", restored, UNDO).in_full(),
    new("prune", edited, "prune --keep 2 --yes")
        .may_drop(&["one"])
        .in_full(),
    new("delete", edited, "delete two --yes")
        .may_drop(&["two"])
        .in_full(),
    new("repair", damaged_a_little, "verify --repair").in_full(),
    new("adopt", continued_by_git, CREATE).in_full(),
    new("salvage", unusable, CREATE)
        .led_on_by("create -r way-out -q")
        .in_full(),
];

const fn new(name: &'static str, prepare: fn(&Field), line: &'static str) -> Scenario {
    Scenario {
        name,
        prepare,
        line,
        may_go: &[],
        way_out: None,
        other: None,
        target: None,
        apart: &[],
        facet: None,
        is_repeatable: false,
        begins_anew: false,
        taken_back_by: None,
        sweeper: None,
        in_full: false,
    }
}

const fn of_phases(name: &'static str, prepare: fn(&Field), line: &'static str) -> Scenario {
    new(name, prepare, line)
        .apart(&["memory"])
        .tells(companions::run_of_phases)
}

const fn in_pipeline(name: &'static str, prepare: fn(&Field), line: &'static str) -> Scenario {
    new(name, prepare, line)
        .apart(&[".claude"])
        .tells(companions::pipeline)
        .again()
}

const fn setup(name: &'static str, prepare: fn(&Field), line: &'static str) -> Scenario {
    new(name, prepare, line).tells(companions::settings).again()
}

const fn with_database(name: &'static str, prepare: fn(&Field), line: &'static str) -> Scenario {
    new(name, prepare, line)
        .apart(&["data"])
        .tells(companions::rows)
}

const fn beside_a_worktree(name: &'static str, line: &'static str) -> Scenario {
    new(name, owners::beside_a_worktree, line)
        .apart(&[owners::WORKTREES])
        .tells(owners::worktree)
}

impl Scenario {
    const fn may_drop(self, may_go: &'static [&'static str]) -> Self {
        Self { may_go, ..self }
    }

    const fn led_on_by(self, line: &'static str) -> Self {
        Self {
            way_out: Some(line),
            ..self
        }
    }

    const fn or(self, line: &'static str) -> Self {
        Self {
            other: Some(line),
            ..self
        }
    }

    const fn to(self, reason: &'static str) -> Self {
        Self {
            target: Some(reason),
            ..self
        }
    }

    const fn apart(self, apart: &'static [&'static str]) -> Self {
        Self { apart, ..self }
    }

    const fn tells(self, facet: fn(&Field) -> String) -> Self {
        Self {
            facet: Some(facet),
            ..self
        }
    }

    const fn again(self) -> Self {
        Self {
            is_repeatable: true,
            ..self
        }
    }

    const fn anew(self) -> Self {
        Self {
            begins_anew: true,
            ..self
        }
    }

    const fn taken_back_by(self, line: &'static str) -> Self {
        Self {
            taken_back_by: Some(line),
            ..self
        }
    }

    const fn swept_by(self, line: &'static str) -> Self {
        Self {
            sweeper: Some(line),
            ..self
        }
    }

    const fn in_full(self) -> Self {
        Self {
            in_full: true,
            ..self
        }
    }

    /// The words of the command.
    pub fn args(&self) -> Vec<&'static str> {
        self.line.split(' ').collect()
    }

    pub fn is(&self, command: &str) -> bool {
        self.args()[0] == command
    }

    /// Whether the command did all that it can: a repair says so if something is lost.
    pub fn is_done(&self, run: &Run) -> bool {
        run.code == 0 || (run.code == 6 && self.is("verify"))
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
        self.args()
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
        if self.way_out.is_some() {
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
        let after = |line: &str| {
            field.put_back();
            let run = field.cmd(line);
            assert!(run.code == 5 || self.is_done(&run), "{}: {run}", self.name);
            Picture::of(self, &field)
        };
        let other = self.other.map(after);
        let after = after(self.line);
        let again = if self.begins_anew {
            field.ok(self.line);
            Picture::of(self, &field)
        } else {
            after.clone()
        };
        let ends = [before.clone(), after.clone()]
            .into_iter()
            .chain(other)
            .collect();
        let bytes = bytes_of(&field);
        Stage {
            scenario: self,
            field,
            states,
            target,
            before,
            after,
            again,
            ends,
            bytes,
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

/// Size of the packs.
pub fn bytes_of(field: &Field) -> u64 {
    let packs = damaged::packs_of(&field.store());
    packs
        .iter()
        .filter_map(|pack| pack.metadata().ok())
        .map(|meta| meta.len())
        .sum()
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
    field.ok(&format!("create -r {reason} -q"));
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
    mode(field, "d3/deep", 0o750);
}

fn mode(field: &Field, path: &str, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(field.work().join(path), mode).expect("a mode can be set");
}

pub fn three_states(field: &Field) {
    files(field);
    made(field, "one");
    field.write("d0/text", "changed");
    std::fs::remove_dir_all(field.work().join("d2")).expect("it goes");
    field.write("new/file", "new");
    std::fs::remove_file(field.work().join("link")).expect("it goes");
    field.write("link/now/a-directory", "no link any more");
    mode(field, "run", 0o700);
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
    fixtures::fifo(&field.work().join("new/fifo"));
    field.write("new/left/by.log", "a rule leaves it out");
}

fn restored(field: &Field) {
    edited(field);
    field.ok(RESTORE);
}

/// Removes an index and a ref, which a repair makes anew.
fn damaged_a_little(field: &Field) {
    three_states(field);
    let packs = damaged::packs_of(&field.store());
    std::fs::remove_file(packs[0].with_extension("idx")).expect("an index");
    let refs: Vec<PathBuf> = fixtures::files_below(&field.store().join("refs/checkpoints"));
    std::fs::remove_file(&refs[0]).expect("a ref");
}

fn continued_by_git(field: &Field) {
    three_states(field);
    let git = Git::find(&field.home()).expect("these scenarios need git");
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

pub fn packed(field: &Field) {
    edited(field);
    let git = Git::find(&field.home()).expect("these scenarios need git");
    let store = field.store().display().to_string();
    git.output(&["--git-dir", &store, "pack-refs", "--all"]);
    assert!(
        field.store().join("packed-refs").exists(),
        "git packed nothing"
    );
}

/// Makes versions of a file that a prune stores as deltas.
fn large_versions(field: &Field) {
    let mut lines: Vec<String> = fixtures::noise(1, 60_000)
        .chunks(30)
        .map(hex::encode)
        .collect();
    for version in ["one", "two", "three"] {
        lines[700] = format!("changed in {version}");
        field.write("large", lines.join("\n"));
        made(field, version);
    }
}

/// Tears the pack of the newest checkpoint, the smallest.
fn torn(field: &Field) {
    let packs = damaged::packs_of(&field.store());
    let length = |pack: &PathBuf| pack.metadata().expect("a pack").len();
    let pack = packs
        .iter()
        .min_by_key(|pack| length(pack))
        .expect("a pack");
    let bytes = std::fs::read(pack).expect("a pack");
    damaged::put(pack, &bytes[..60]);
}

/// Kills a restore in its middle.
fn cut_off(field: &Field) {
    edited(field);
    let call = Call {
        name: "renameat2".into(),
        nth: 4,
    };
    let run = field.killed(&call, RESTORE);
    assert_eq!(run.code, 137, "{run}");
    let status = field.ok("status --json");
    assert!(!status.data()["pending"].is_null(), "{status}");
}

/// Makes the store that of a directory in whose place this one is now.
fn moved_away(field: &Field) {
    let (work, before) = (field.work(), field.work().with_file_name("before"));
    let moved = |from: &Path, to: &Path| std::fs::rename(from, to).expect("it can be moved");
    moved(&work, &before);
    field.ok(&format!(
        "-C {} relink {} --yes",
        before.display(),
        work.display()
    ));
    moved(&before, &work);
    made(field, "here");
}

fn reasons(field: &Field) -> String {
    let mut reasons: Vec<String> = checkpoints(field)
        .into_iter()
        .map(|(_, reason)| reason)
        .collect();
    reasons.retain(|reason| reason != "afterwards");
    reasons.join(" ")
}
