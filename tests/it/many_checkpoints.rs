//! Stores with many checkpoints: each costs a command next to nothing, and the index of them is
//! believed only while it tells the truth.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use checkpoint::model::checkpoint::message;
use checkpoint::model::checkpoint::record::{CheckpointKind, CheckpointTerms, Coverage, Record};
use checkpoint::model::session::provenance::Provenance;

use crate::bench::damaged::{flip, packs_of, put};
use crate::bench::git::Git;
use crate::bench::trace::{Trace, trace};
use crate::bench::{Sandbox, fixtures, given};

const FEW: usize = 50;
const MANY: usize = 2_000;
/// Enough that plain git makes a pack of them, of which there is an index.
const INDEXED: usize = 150;
/// Bytes that a command may read for each checkpoint: its record in the index and its row of the
/// manifest, once to show something, several times to change something.
const BYTES_TO_SHOW: u64 = 150;
const BYTES_TO_RECORD: u64 = 260;
const BYTES_TO_RESTORE: u64 = 500;
/// Checkpoints whose names may cost a command one more call.
const NAMES_PER_CALL: usize = 100;

const INDEX: &str = "checkpoint/index";

fn git(sandbox: &Sandbox) -> Option<Git> {
    Git::find(sandbox.root()).map(|git| git.with("GIT_DIR", sandbox.store()))
}

/// A store with that many checkpoints, made by plain git but for the first and the last two.
fn store_of(count: usize) -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    let git = git(&sandbox)?;
    // An empty directory gives each checkpoint a meta, and so a ref for that.
    sandbox.user_config("keep = 1000000\n").mkdir("empty");
    for file in 0..20 {
        sandbox.write(format!("f{file}"), file.to_string());
    }
    sandbox.create("first");
    let tree = git.output(&["rev-parse", "main^{tree}"]);
    let mut stream = String::new();
    for number in 2..count as u64 - 1 {
        let record = Record {
            sequence: number,
            time_ms: 1_700_000_000_000 + 1000 * number.cast_signed(),
            kind: CheckpointKind::Regular,
            coverage: Coverage::Complete,
            files: 20,
            content_bytes: 30,
            reason: format!("step {number}"),
            source: "test".to_owned(),
            operation: None,
            during_pending: false,
            provenance: Provenance::default(),
            terms: CheckpointTerms::default(),
        };
        let text = message::render(&record, None);
        let by = format!(
            "checkpoint <checkpoint@localhost> {} +0000",
            record.time_ms / 1000
        );
        let length = text.len();
        write!(
            stream,
            "commit refs/made/{number}\nauthor {by}\ncommitter {by}\ndata {length}\n{text}\nM 040000 {tree} \n\n"
        )
        .expect("text");
    }
    git.filter(&["fast-import", "--quiet"], stream.as_bytes());
    let made = git.output(&[
        "for-each-ref",
        "refs/made",
        "--format=%(objectname) %(refname)",
    ]);
    let lines = made.lines().map(|line| {
        let (id, name) = line.split_once(' ').expect("two words");
        format!("create refs/checkpoints/{id} {id}\ndelete {name}\n")
    });
    git.filter(
        &["update-ref", "--stdin"],
        lines.collect::<String>().as_bytes(),
    );
    fs::remove_dir_all(sandbox.store().join("refs/made")).expect("it is empty");
    for reason in ["last but one", "last"] {
        sandbox.write("f1", reason).create(reason);
    }
    assert_eq!(sandbox.status()["checkpoint_count"], count);
    Some(sandbox)
}

fn files(sandbox: &Sandbox) -> BTreeSet<String> {
    let files = fixtures::files_below(&sandbox.store().join("refs/checkpoints"));
    let name = |path: &PathBuf| path.file_name().expect("a name").display().to_string();
    files.iter().map(name).collect()
}

/// The whole ids, newest first.
fn ids(sandbox: &Sandbox) -> Vec<String> {
    let id = |listed: &serde_json::Value| listed["id"].as_str().expect("an id").to_owned();
    sandbox.listed().iter().map(id).collect()
}

/// The ids in `packed-refs`, in its order.
fn packed(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.store().join("packed-refs")).unwrap_or_default();
    let id = |line: &str| Some(line.split_once(" refs/checkpoints/")?.1.to_owned());
    text.lines().filter_map(id).collect()
}

fn bytes_read(trace: &Trace) -> u64 {
    let reads = trace.named(&["read", "pread64"]);
    reads
        .filter_map(|call| call.result.parse::<u64>().ok())
        .sum()
}

/// Each command, its calls, the bytes it read, and how many more it may read for each checkpoint.
fn costs(count: usize) -> Option<Vec<(String, usize, u64, u64)>> {
    let sandbox = store_of(count)?;
    let target = ids(&sandbox).pop().expect("the first");
    let mut costs = Vec::new();
    for (args, each) in [
        (vec!["create", "-r", "more"], BYTES_TO_RECORD),
        (vec!["list", "-n", "20"], BYTES_TO_SHOW),
        (vec!["status", "--brief"], BYTES_TO_SHOW),
        (vec!["restore", "latest~2", "--yes"], BYTES_TO_RESTORE),
        (vec!["restore", &target, "--yes"], BYTES_TO_RESTORE),
        (vec!["undo", "--yes"], BYTES_TO_RESTORE),
    ] {
        let what = args[..2].join(" ");
        for file in 0..10 {
            sandbox.write(format!("f{file}"), format!("{what} {file}"));
        }
        let trace = trace(&sandbox, &args)?;
        assert_eq!(trace.run.code, 0, "{}", trace.run);
        costs.push((what, trace.calls.len(), bytes_read(&trace), each));
    }
    Some(costs)
}

#[test]
fn many_checkpoints_cost_little_more_than_a_few() {
    let (few, many) = given!(costs(FEW).zip(costs(MANY)));
    let too_much: Vec<_> = few
        .iter()
        .zip(&many)
        .inspect(|pair| println!("{pair:?}"))
        .filter(
            |((_, calls, bytes, each), (_, more_calls, more_bytes, _))| {
                *more_calls > calls + (MANY - FEW) / NAMES_PER_CALL
                    || *more_bytes > bytes + (MANY - FEW) as u64 * each
            },
        )
        .collect();
    assert!(too_much.is_empty(), "few, then many: {too_much:?}");
}

#[test]
fn refs_that_plain_git_packed_are_read_and_become_files_again() {
    let sandbox = given!(store_of(INDEXED));
    let git = git(&sandbox).expect("it is there");
    let listed = ids(&sandbox);
    assert_eq!((files(&sandbox).len(), listed.len()), (INDEXED, INDEXED));
    for pack in [&["pack-refs", "--all"][..], &["gc", "--quiet"]] {
        git.run(pack).success();
        assert!(files(&sandbox).is_empty() && packed(&sandbox).len() >= INDEXED);
        let now = ids(&sandbox);
        assert!(now.ends_with(&listed), "{pack:?}");
        sandbox.ok("verify");
        sandbox.write("f1", pack[0]).create(pack[0]);
        assert_eq!(ids(&sandbox)[1..], now);
        assert_eq!(files(&sandbox).len(), now.len() + 1);
        assert!(packed(&sandbox).is_empty());
    }
    let all = git.output(&["for-each-ref", "refs/checkpoints", "--format=%(objectname)"]);
    assert_eq!(all.lines().count(), INDEXED + 2);
    git.ok("fsck --strict");
    sandbox.ok("verify --full");
    has_right_manifest(&sandbox);
}

#[test]
fn an_index_that_is_torn_lost_old_or_of_another_store_changes_no_answer() {
    let (sandbox, other) = given!(store_of(INDEXED).zip(store_of(INDEXED + 7)));
    let index = sandbox.store().join(INDEX);
    let old = fs::read(&index).expect("it was made");
    for number in 0..10 {
        sandbox
            .write("f2", number.to_string())
            .create(&format!("new {number}"));
    }
    let whole = fs::read(&index).expect("it is there");
    assert_ne!(old, whole, "it was written again");
    let listed = sandbox.listed();
    let manifest = fs::read(sandbox.store().join("checkpoint-manifest.md")).expect("a manifest");
    let check = |what: &str| {
        assert_eq!(sandbox.listed(), listed, "{what}");
        let brief = sandbox.ok("status --json");
        assert_eq!(brief.data()["checkpoint_count"], listed.len(), "{what}");
    };
    let foreign = fs::read(other.store().join(INDEX)).expect("it is there");
    let mut cases = vec![
        ("empty".to_owned(), Vec::new()),
        ("old".to_owned(), old),
        ("foreign".to_owned(), foreign),
        ("longer".to_owned(), [&*whole, b"more"].concat()),
    ];
    for part in 0..24 {
        let place = whole.len() * part / 24;
        let mut flipped = whole.clone();
        flipped[place] ^= 1;
        cases.push((format!("flipped at {place}"), flipped));
        cases.push((format!("cut at {place}"), whole[..place].to_vec()));
    }
    for (what, content) in cases {
        fs::write(&index, content).expect("it can be written");
        check(&what);
    }
    fs::remove_file(&index).expect("it is there");
    check("lost");
    sandbox.write("f2", "mended").create("mended");
    let mut expected = listed.clone();
    expected[0]["is_current"] = false.into();
    assert_eq!(sandbox.listed()[1..], expected);
    let now = fs::read(sandbox.store().join("checkpoint-manifest.md")).expect("a manifest");
    assert!(now.starts_with(&manifest), "it was appended to");
    sandbox.ok("verify --full");
    has_right_manifest(&sandbox);
}

/// The manifest has the rows of the checkpoints, in their order.
#[track_caller]
fn has_right_manifest(sandbox: &Sandbox) {
    let path = sandbox.store().join("checkpoint-manifest.md");
    let text = fs::read_to_string(path).expect("a manifest");
    let rows = text.lines().skip(2).map(|row| row[2..10].to_owned());
    let mut listed = sandbox.listed_ids();
    listed.reverse();
    assert_eq!(rows.collect::<Vec<_>>(), listed);
}

/// Removes the row of a checkpoint from the manifest, so that nothing but its ref names it.
fn strike_row(sandbox: &Sandbox, id: &str) {
    let path = sandbox.store().join("checkpoint-manifest.md");
    let text = fs::read_to_string(&path).expect("a manifest");
    let row = format!("| {} |", &id[..8]);
    let left = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with(&row));
    fs::write(path, left.collect::<String>()).expect("it can be written");
}

#[test]
fn a_ref_that_plain_git_removes_or_adds_is_noticed_at_once() {
    let sandbox = given!(store_of(INDEXED));
    let git = git(&sandbox).expect("it is there");
    let all = ids(&sandbox);
    for id in [&all[INDEXED - 9], &all[1]].map(String::clone) {
        let name = format!("refs/checkpoints/{id}");
        git.run(&["update-ref", "-d", &name]).success();
        // As long as there is a row, only the ref is lost.
        assert!(sandbox.ok("list").stderr.contains("lost"), "{id}");
        strike_row(&sandbox, &id);
        assert!(!ids(&sandbox).contains(&id));
        assert_eq!(sandbox.status()["checkpoint_count"], INDEXED - 1);
        git.run(&["update-ref", &name, &id]).success();
        assert!(ids(&sandbox).contains(&id));
        sandbox.write("f3", &id).create("more");
        assert!(ids(&sandbox).contains(&id));
        git.run(&["update-ref", "-d", &name]).success();
        sandbox.write("f3", format!("{id} again")).create("more");
        let newest = &ids(&sandbox)[..2];
        sandbox.ok(format!("delete {} {} --yes", newest[0], newest[1]));
        assert!(ids(&sandbox).contains(&id), "its row brought it back");
        sandbox.ok("verify");
        has_right_manifest(&sandbox);
    }
}

#[test]
fn a_checkpoint_in_the_index_is_pinned_deleted_evicted_and_restored_like_any() {
    let sandbox = given!(store_of(INDEXED));
    let mut old = ids(&sandbox);
    old.reverse();
    sandbox.ok(format!("pin {}", old[0]));
    let listed = sandbox.listed();
    let pinned = listed.iter().filter(|c| c["pinned"] == true);
    assert_eq!(
        pinned.map(|c| c["id"].clone()).collect::<Vec<_>>(),
        [old[0].as_str()]
    );
    assert_eq!(sandbox.status()["pinned_count"], 1);
    sandbox.ok(format!("delete {} --yes", old[1]));
    assert!(!files(&sandbox).contains(&old[1]));
    assert_eq!(ids(&sandbox).len(), INDEXED - 1);
    sandbox.ok("verify");
    // Safety checkpoints come and go among them, in the manifest too.
    for round in 0..26 {
        sandbox.write("f4", round.to_string());
        sandbox.restore(&old[2 + round]).success();
    }
    let safeties = sandbox
        .listed()
        .iter()
        .filter(|c| c["kind"] == "safety")
        .count();
    assert_eq!(safeties, 20);
    sandbox.undo().success();
    assert_eq!(sandbox.read("f4"), "25");
    for number in 0..10 {
        sandbox
            .write("f5", number.to_string())
            .create(&format!("later {number}"));
    }
    for _ in 0..2 {
        sandbox.write("f4", "x");
        sandbox.restore(&old[2]).success();
        sandbox.ok("verify");
        has_right_manifest(&sandbox);
    }
    sandbox.ok("prune --keep 10 --yes");
    let left = ids(&sandbox);
    assert!(left.contains(&old[0]) && left.len() < 45, "{}", left.len());
    assert!(files(&sandbox).iter().all(|id| left.contains(id)));
    sandbox.ok("verify --full");
    has_right_manifest(&sandbox);
}

#[test]
fn a_limit_on_many_checkpoints_evicts_the_oldest_one_by_one() {
    let sandbox = given!(store_of(INDEXED));
    sandbox.user_config(&format!("keep = {INDEXED}\n"));
    let before = ids(&sandbox);
    for number in 0..5 {
        sandbox
            .write("f6", number.to_string())
            .create(&format!("later {number}"));
        let now = ids(&sandbox);
        assert_eq!(now.len(), INDEXED);
        assert_eq!(now[number + 1..], before[..INDEXED - number - 1]);
    }
    sandbox.ok("verify --full");
    has_right_manifest(&sandbox);
}

#[test]
fn refs_that_git_packs_at_the_same_time_are_not_lost() {
    let sandbox = given!(store_of(INDEXED));
    let git = git(&sandbox).expect("git made the store");
    let pinned: BTreeSet<String> = ids(&sandbox).into_iter().take(8).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                // It may find the file locked.
                git.cmd("pack-refs --all");
            }
        });
        for id in &pinned {
            sandbox.ok(format!("pin {id}"));
            sandbox.write("f7", id).create(id);
        }
        is_over.store(true, Relaxed);
    });
    let listed = sandbox.listed();
    let now = listed.iter().filter(|c| c["pinned"] == true);
    let now: BTreeSet<String> = now
        .map(|c| c["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(now, pinned);
    assert_eq!(listed.len(), INDEXED + pinned.len());
}

/// The pack of an object, and the start of its entry.
fn place_of(sandbox: &Sandbox, git: &Git, id: &str) -> (PathBuf, usize) {
    let found = packs_of(&sandbox.store()).into_iter().find_map(|pack| {
        let listed = git.output(&["verify-pack", "-v", pack.to_str().expect("text")]);
        let line = listed.lines().find(|line| line.starts_with(id))?;
        Some((pack, line.split_whitespace().nth(4)?.parse().ok()?))
    });
    found.expect("a pack has it")
}

#[test]
fn a_checkpoint_in_the_index_that_cannot_be_read_is_named_and_stays() {
    let sandbox = given!(store_of(INDEXED));
    let git = git(&sandbox).expect("git made the store");
    let all = ids(&sandbox);
    let (lost, other) = (&all[INDEXED - 4], &all[INDEXED - 10]);
    let (pack, offset) = place_of(&sandbox, &git, lost);
    let good = fs::read(&pack).expect("a pack");
    flip(&pack, offset + 12, 0xff);
    let is_named = || {
        let listed = sandbox.cmd("list --json").json();
        let damaged = listed["data"]["damaged"].to_string();
        assert!(damaged.contains(&lost[..8]), "{damaged}");
    };
    is_named();
    sandbox.run(&["show", lost]).code(6);
    sandbox.run(&["delete", other, "--yes"]).success();
    is_named();
    sandbox.fails(6, "prune --yes");
    put(&pack, &good);
    sandbox.run(&["show", lost]).success();
    assert_eq!(ids(&sandbox).len(), INDEXED - 1);
    sandbox.ok("verify --repair");
    sandbox.ok("verify");
    assert_eq!(ids(&sandbox).len(), INDEXED - 1);
}
