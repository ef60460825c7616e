//! Every kind of file in a store, damaged in every way, and sets of them lost at once, against the
//! commands: none panics, hangs or restores anything wrong, what is whole restores, and `verify
//! --repair` recovers everything that still exists.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::bench::damaged::{self, Copy, Specimen};
use crate::bench::sample::Draw;
use crate::bench::watch::Watch;
use crate::bench::{Git, Run, Sandbox, fixtures, sample};

/// How much depends on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// A hint: nothing depends on it, and its content cannot be verified.
    Hint,
    /// Derived from others: wrong content loses nothing.
    Derived,
    /// Possibly the only copy of its bytes.
    Only,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Emptied,
    Nul,
    Cut,
    Flipped {
        at: usize,
        mask: u8,
    },
    /// Same length, random content.
    Garbage,
    Missing,
}

#[derive(Clone, Debug)]
struct Case {
    file: PathBuf,
    weight: Weight,
    harm: Harm,
    writer: usize,
}

const WRITERS: [&str; 3] = ["create", "restore", "prune"];

/// With FIRST for the oldest checkpoint.
const OTHER_READERS: [&str; 9] = [
    "list",
    "list --all",
    "status",
    "status --brief",
    "diff FIRST",
    "diff FIRST latest --stat",
    "find text",
    "find --text 'line 7'",
    "restore FIRST --dry-run",
];

/// Paths of each kind of file, one example each, relative to the store.
fn files(specimen: &Specimen) -> Vec<(PathBuf, Weight)> {
    use Weight::{Derived, Hint, Only};
    let store = &specimen.store;
    let derived = "HEAD config info/attributes objects/info/keep checkpoint-manifest.md \
        refs/heads/main checkpoint/description checkpoint/index";
    let hints = ".gitignore checkpoint/lock checkpoint/stat-cache checkpoint/stat-cache-head \
        checkpoint/left-out checkpoint/size-gate";
    let known = [(derived, Derived), (hints, Hint)];
    let known = known.iter().flat_map(|(names, weight)| {
        let names = names.split(' ').map(PathBuf::from);
        names.map(|name| (name, *weight))
    });
    let mut files: Vec<(PathBuf, Weight)> = known.collect();
    let missing: Vec<_> = files
        .iter()
        .filter(|(file, _)| !store.join(file).is_file())
        .collect();
    assert!(missing.is_empty(), "the specimen lacks {missing:?}");
    let mut add = |found: Vec<PathBuf>, weight, most: usize| {
        for path in found.iter().take(most) {
            let inside = path.strip_prefix(store).expect("in the store");
            files.push((inside.to_path_buf(), weight));
        }
    };
    for family in ["checkpoints", "meta", "pins"] {
        let refs = fixtures::files_below(&store.join("refs").join(family));
        add(refs, Derived, 1);
    }
    let packs = damaged::packs_of(store);
    let indexes = packs.iter().map(|pack| pack.with_extension("idx"));
    add(indexes.collect(), Derived, 9);
    add(packs, Only, 9);
    add(damaged::loose_of(store), Only, 2);
    files
}

fn harms(len: usize, more: usize, draw: &mut Draw) -> Vec<Harm> {
    use Harm::{Cut, Emptied, Garbage, Missing, Nul};
    let mut harms = vec![Emptied, Nul, Cut, Garbage, Missing];
    let places = [0, len / 2, len.saturating_sub(1)]
        .into_iter()
        .chain((0..more).map(|_| draw.below(len.max(1))));
    let places: BTreeSet<usize> = places.filter(|at| *at < len).collect();
    // Not 32: a capital letter in an id means the same.
    let masks = [1, 2, 4, 8, 16, 64, 128];
    harms.extend(places.into_iter().map(|at| Harm::Flipped {
        at,
        mask: masks[draw.below(masks.len())],
    }));
    harms
}

fn inflict(copy: &Copy, case: &Case) {
    let path = copy.sandbox.store().join(&case.file);
    let bytes = fs::read(&path).expect("the file is there");
    match case.harm {
        Harm::Emptied => damaged::put(&path, b""),
        Harm::Nul => damaged::put(&path, &vec![0; bytes.len()]),
        Harm::Cut => damaged::put(&path, &bytes[..bytes.len() / 2]),
        Harm::Flipped { at, mask } => damaged::flip(&path, at, mask),
        Harm::Garbage => damaged::put(&path, &fixtures::noise(case.writer as u64, bytes.len())),
        Harm::Missing => fs::remove_file(&path).expect("the file can be removed"),
    }
}

/// Asserts that a run ended without panic, abort or signal.
#[track_caller]
fn calm(run: Run, codes: &[i32]) -> Run {
    assert!(
        codes.contains(&run.code) && !run.stderr.contains("panicked"),
        "wrong end\n{run}"
    );
    run
}

/// The ids of checkpoints that a full check names, and whether it found anything.
fn damaged_ids(copy: &Copy) -> (BTreeSet<String>, bool) {
    let run = calm(copy.sandbox.cmd("verify --full --json"), &[0, 6]);
    let document = run.json();
    let found = &document["data"];
    let [ids, files, derived] = ["damaged", "files", "derived"]
        .map(|name| found[name].as_array().is_some_and(|list| !list.is_empty()));
    assert_eq!(run.code == 0, !ids && !files, "{run}");
    (shorts(&found["damaged"]), ids || files || derived)
}

/// The ids of the checkpoints in a list.
fn shorts(list: &Value) -> BTreeSet<String> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(|one| Some(one["short"].as_str()?.to_owned()))
        .collect()
}

fn is_silent(case: &Case) -> bool {
    let may_be_missing =
        case.file.starts_with("refs/pins") || case.file.ends_with("checkpoint/index");
    case.weight == Weight::Hint || (may_be_missing && case.harm == Harm::Missing)
}

/// Runs the commands that only read: they write nothing, name the damage and still serve the rest.
fn readers(copy: &Copy, case: &Case, specimen: &Specimen) -> BTreeSet<String> {
    copy.sandbox.watch(&copy.sandbox.store());
    let (lost, noticed) = damaged_ids(copy);
    assert!(noticed || is_silent(case), "nothing was noticed");
    assert!(
        lost.is_empty() || case.weight == Weight::Only,
        "lost: {lost:?}"
    );
    let listed = calm(copy.sandbox.cmd("list --json"), &[0]).data();
    let named = listed["checkpoints"].as_array().map_or(0, Vec::len)
        + listed["damaged"].as_array().map_or(0, Vec::len);
    assert_eq!(named, specimen.ids.len(), "the list is short: {listed}");
    calm(copy.sandbox.cmd("verify"), &[0, 6]);
    let first = specimen.ids.last().expect("a checkpoint");
    let shown = calm(copy.sandbox.cmd(format!("show {first}")), &[0, 6]);
    assert!(shown.code == 0 || case.weight == Weight::Only, "{shown}");
    // Each file meets enough kinds of damage to meet every command anyway.
    let readers = OTHER_READERS
        .iter()
        .cycle()
        .skip(case.writer % OTHER_READERS.len());
    for line in readers.take(2) {
        let run = calm(copy.sandbox.cmd(line.replace("FIRST", first)), &[0, 6]);
        assert!(run.code == 0 || case.weight == Weight::Only, "{run}");
    }
    lost
}

fn writer(copy: &Copy, case: &Case, specimen: &Specimen, lost: &BTreeSet<String>) {
    match WRITERS[case.writer % WRITERS.len()] {
        "create" => {
            copy.sandbox.write("text", "something else");
            let run = calm(copy.sandbox.cmd("create -r 'after the damage'"), &[0]);
            restores(copy, run.stdout.trim(), None);
        }
        "prune" => {
            let run = calm(copy.sandbox.cmd("prune"), &[0, 6]);
            assert!(run.code == 0 || case.weight != Weight::Derived, "{run}");
            let (now, _) = damaged_ids(copy);
            assert!(
                now.is_subset(lost),
                "pruning lost {now:?}, before it was {lost:?}"
            );
        }
        _ => {
            let (id, state) = specimen
                .states
                .iter()
                .nth(case.writer % specimen.states.len())
                .expect("a state");
            copy.sandbox.write("text", "present");
            let before = copy.sandbox.tree();
            let run = calm(copy.sandbox.restore(id), &[0, 6]);
            if run.code == 0 {
                copy.sandbox.tree().assert_is(state, "after the restore");
            } else {
                copy.sandbox
                    .tree()
                    .assert_is(&before, "after a restore that was refused");
                assert!(lost.contains(id), "{id} is whole\n{run}");
            }
        }
    }
}

#[track_caller]
fn restores(copy: &Copy, id: &str, state: Option<&crate::bench::Tree>) {
    copy.sandbox.write("text", "to be replaced");
    calm(copy.sandbox.restore(id), &[0]);
    if let Some(state) = state {
        copy.sandbox.tree().assert_is(state, "after the repair");
    }
}

fn repair(copy: &Copy, case: &Case, specimen: &Specimen) {
    let harmed = fs::read(copy.sandbox.store().join(&case.file)).ok();
    let run = calm(copy.sandbox.cmd("verify --repair --json"), &[0, 6]);
    let document = run.json();
    let details = &document["data"];
    let salvaged = &details["repair"]["salvaged"];
    let lost = shorts(&salvaged["lost"]);
    let (in_part, _) = damaged_ids(copy);
    let is_whole = lost.is_empty() && in_part.is_empty();
    assert_eq!(run.code == 0, is_whole, "{run}");
    assert!(is_whole || case.weight == Weight::Only, "{run}");
    let is_named_once = in_part.is_disjoint(&lost);
    assert!(
        is_named_once,
        "damaged after the repair: {in_part:?}\n{run}"
    );
    let mut expected = specimen.ids.clone();
    expected.retain(|id| !lost.contains(id));
    assert_eq!(copy.sandbox.listed_ids(), expected, "{run}");
    if case.weight == Weight::Only && !salvaged.is_null() && harmed.is_some() {
        let kept = copy.kept();
        let mut copies = kept.iter();
        let bytes = copies.find_map(|kept| fs::read(kept.join(&case.file)).ok());
        assert_eq!(bytes, harmed, "the damaged file is not in {kept:?}\n{run}");
    }
    let gone = |id: &String| lost.contains(id) || in_part.contains(id);
    let whole: Vec<_> = specimen.states.iter().filter(|(id, _)| !gone(id)).collect();
    calm(copy.sandbox.cmd("prune"), &[0]);
    assert_eq!(
        damaged_ids(copy).0,
        in_part,
        "pruning changed what is whole"
    );
    if let Some((id, state)) = whole.get(case.writer % whole.len().max(1)) {
        restores(copy, id, Some(state));
    }
    calm(copy.sandbox.cmd("prune"), &[0]);
    if in_part.is_empty()
        && case.writer.is_multiple_of(4)
        && let Some(git) = Git::find(copy.sandbox.root())
    {
        git.with("GIT_DIR", copy.sandbox.store())
            .ok("fsck --full --strict");
    }
}

fn try_case(case: &Case, specimen: &Specimen) {
    let copy = specimen.copy();
    inflict(&copy, case);
    let lost = readers(&copy, case, specimen);
    drop(copy);
    let copy = specimen.copy();
    inflict(&copy, case);
    writer(&copy, case, specimen, &lost);
    drop(copy);
    let copy = specimen.copy();
    inflict(&copy, case);
    repair(&copy, case, specimen);
}

/// Labels that a sample must cover: every file, and every harm at each weight with every command.
fn kinds(case: &Case) -> Vec<String> {
    let harm = format!("{:?}", case.harm);
    let harm = harm.split(' ').next().unwrap_or_default();
    let reader = case.writer % OTHER_READERS.len();
    vec![
        case.file.display().to_string(),
        format!("{harm} {:?}", case.weight),
        format!("{harm} {}", WRITERS[case.writer % WRITERS.len()]),
        format!("{:?} {:?}", case.weight, OTHER_READERS[reader]),
    ]
}

#[test]
fn no_damage_to_any_file_makes_a_command_panic_hang_or_restore_anything_wrong() {
    let specimen = Specimen::new();
    let more = crate::bench::cases(1).saturating_sub(1);
    println!("{more} more flips a file (CHECKPOINT_CASES)");
    let mut draw = Draw::new();
    let mut cases = Vec::new();
    for (file, weight) in files(&specimen) {
        let len = fs::metadata(specimen.store.join(&file))
            .expect("a file of the specimen")
            .len();
        for harm in harms(usize::try_from(len).expect("a size"), more, &mut draw) {
            cases.push(Case {
                file: file.clone(),
                weight,
                harm,
                writer: draw.number(),
            });
        }
    }
    let cases = sample(cases, 20, kinds);
    try_each(&cases, |case| try_case(case, &specimen));
}

/// Tries every case, several at once, and names all that fail.
fn try_each<C: std::fmt::Debug + Sync>(cases: &[C], one: impl Fn(&C) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| one(case))) {
                        let why = format!("{case:?}: {}", why(&*cause));
                        failed.lock().expect("a list").push(why);
                    }
                }
            });
        }
    });
    let (failed, count) = (failed.into_inner().expect("a list"), cases.len());
    assert!(
        failed.is_empty(),
        "{} of {count} cases failed:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

/// What is left of a store that lost several parts at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Every checkpoint, whole.
    All,
    /// Refs or rows that name every checkpoint; some can be read.
    Some,
    /// Refs or rows that name every checkpoint; none can be read.
    Names,
    /// Parts of a store, none of which tells what it held.
    Nothing,
}

/// What is lost: all files with these prefixes, or all others.
#[derive(Debug)]
struct Loss {
    spares: bool,
    parts: Vec<&'static str>,
    left: Left,
}

/// Rows of what is lost and what is left.
const LOSSES: &str = "refs objects => Names
    refs objects HEAD config => Names
    refs checkpoint-manifest.md => All
    refs checkpoint => All
    refs checkpoint HEAD config info => All
    objects checkpoint-manifest.md => Names
    objects checkpoint => Names
    objects/pack => Some
    objects/pack refs => Some
    objects/pack checkpoint => Some
    refs objects checkpoint-manifest.md => Nothing
    checkpoint-manifest.md checkpoint .gitignore => All
    all but objects => All
    all but objects/pack refs => Some
    all but refs => Names
    all but checkpoint-manifest.md => Names
    all but checkpoint => Nothing
    all but checkpoint/description => Nothing
    all but HEAD => Nothing
    all but HEAD config info => Nothing";

fn loss(row: &'static str) -> Loss {
    let (parts, left) = row.trim().split_once(" => ").expect("a row");
    let spared = parts.strip_prefix("all but ");
    let all = [Left::All, Left::Some, Left::Names, Left::Nothing];
    let left = all.into_iter().find(|one| format!("{one:?}") == left);
    Loss {
        spares: spared.is_some(),
        parts: spared.unwrap_or(parts).split(' ').collect(),
        left: left.expect("what is left"),
    }
}

/// Removes the files of a loss, and directories that become empty, as a sweep would.
fn lose(copy: &Copy, loss: &Loss) {
    let store = copy.sandbox.store();
    for file in fixtures::files_below(&store) {
        let inside = file.strip_prefix(&store).expect("in the store");
        let is_named = loss.parts.iter().any(|part| inside.starts_with(part));
        if is_named != loss.spares {
            fs::remove_file(&file).expect("a file can be removed");
        }
    }
    fixtures::delete_empty_directories(&store);
}

/// Checks that each part is reported as what it is; whole ones restore, others change nothing.
fn readers_after(loss: &Loss, specimen: &Specimen) -> BTreeSet<String> {
    let (copy, left) = (specimen.copy(), loss.left);
    lose(&copy, loss);
    let watch = Watch::over(&copy.sandbox.store());
    let expected = if left == Left::Nothing { 6 } else { 0 };
    let listed = calm(copy.sandbox.cmd("list --json"), &[expected]);
    calm(copy.sandbox.cmd("status"), &[expected]);
    let whole = if left == Left::All { 0 } else { 6 };
    calm(copy.sandbox.cmd("verify --full"), &[whole]);
    calm(copy.sandbox.cmd("find text"), &[0, 3, 6]);
    if left == Left::Nothing {
        watch.assert_untouched();
        return BTreeSet::new();
    }
    let data = listed.data();
    let (whole, damaged) = (shorts(&data["checkpoints"]), shorts(&data["damaged"]));
    let ids: BTreeSet<String> = specimen.ids.iter().cloned().collect();
    assert_eq!(&whole | &damaged, ids, "{listed}");
    assert!(left != Left::All || damaged.is_empty(), "{listed}");
    assert!(left != Left::Names || whole.is_empty(), "{listed}");
    assert!(left != Left::Some || !damaged.is_empty(), "{listed}");
    watch.assert_untouched();
    for (id, state) in &specimen.states {
        let copy = specimen.copy();
        lose(&copy, loss);
        copy.sandbox.write("text", "present");
        let before = copy.sandbox.tree();
        let run = calm(copy.sandbox.restore(id), &[0, 6]);
        let expected = if run.code == 0 { state } else { &before };
        copy.sandbox.tree().assert_is(expected, "after the restore");
        let may_be = run.code == 6 || whole.contains(id);
        assert!(may_be, "{id} is damaged\n{run}");
        assert!(run.code == 0 || left != Left::All, "{id} is whole\n{run}");
    }
    damaged
}

/// Checks that a `create` works and forgets nothing: unreadable parts are kept beside, readable
/// ones stay.
fn create_after(loss: &Loss, specimen: &Specimen, damaged: &BTreeSet<String>) {
    let (copy, left) = (specimen.copy(), loss.left);
    lose(&copy, loss);
    let files = fixtures::files_below(&copy.sandbox.store()).len();
    copy.sandbox.write("text", "something else");
    let run = calm(copy.sandbox.cmd("create -r 'after the loss'"), &[0]);
    let is_anew = matches!(left, Left::Names | Left::Nothing);
    let sentence = "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost.";
    assert_eq!(run.stderr.contains(sentence), is_anew, "{run}");
    let kept = copy.kept();
    assert_eq!(kept.len(), usize::from(is_anew), "{run}");
    let is_whole = |kept: &PathBuf| fixtures::files_below(kept).len() >= files;
    assert!(kept.iter().all(is_whole), "the kept copy is short\n{run}");
    let is_known = is_anew || damaged.is_subset(&damaged_ids(&copy).0);
    assert!(is_known, "damage was forgotten\n{run}");
    restores(&copy, run.stdout.trim(), None);
    let again = calm(copy.sandbox.cmd("create -r 'once more'"), &[0]);
    assert!(
        !again.stderr.contains(sentence) && copy.kept().len() == kept.len(),
        "{again}"
    );
}

fn repair_after(loss: &Loss, specimen: &Specimen) {
    let (copy, left) = (specimen.copy(), loss.left);
    lose(&copy, loss);
    let codes: &[i32] = if left == Left::All { &[0] } else { &[0, 6] };
    let run = calm(copy.sandbox.cmd("verify --repair"), codes);
    let ((in_part, _), listed) = (damaged_ids(&copy), copy.sandbox.listed_ids());
    for id in listed.iter().filter(|id| !in_part.contains(*id)) {
        if let Some(state) = specimen.states.get(id) {
            restores(&copy, id, Some(state));
        }
    }
    let mut ids = specimen.ids.iter();
    let has_all = left != Left::All || ids.all(|id| copy.sandbox.listed_ids().contains(id));
    assert!(has_all, "{run}");
    copy.sandbox.write("text", "something else");
    restores(&copy, &copy.sandbox.create("after the repair"), None);
    calm(copy.sandbox.cmd("prune"), &[0]);
}

#[test]
fn no_loss_of_several_parts_at_once_is_passed_over_or_costs_more_than_them() {
    let specimen = Specimen::new();
    let has_loose = !damaged::loose_of(&specimen.store).is_empty();
    let kinds = |loss: &Loss| vec![format!("{:?}", loss.left), loss.spares.to_string()];
    let losses = sample(LOSSES.lines().map(loss), 8, kinds);
    try_each(&losses, |loss| {
        // Without packs only loose objects are left, which git makes.
        if loss.left == Left::Some && !has_loose {
            return crate::bench::skipped("needs git");
        }
        let damaged = readers_after(loss, &specimen);
        create_after(loss, &specimen, &damaged);
        repair_after(loss, &specimen);
    });
}

/// The message of a panic.
fn why(cause: &(dyn std::any::Any + Send)) -> String {
    let short = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let long = cause.downcast_ref::<String>().cloned();
    long.or(short).unwrap_or_default()
}

#[test]
fn a_word_that_is_mistyped_beside_damage_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let packs = || damaged::packs_of(&sandbox.store());
    let first = packs();
    sandbox.write("a", "2").create("two");
    for pack in packs().iter().filter(|pack| !first.contains(pack)) {
        fixtures::remove(pack);
    }
    sandbox
        .fails(6, "show threee")
        .stderr_has("no readable checkpoint is 'threee', and checkpoint ");
}
