//! The cost of the quick paths in system calls and instructions, which hold on any machine.
//!
//! `CHECKPOINT_TIMED=1` takes a tree of nearly 50,000 files instead of 2,000, and takes the time of
//! the lines for prompts,
//! `CHECKPOINT_CALLGRIND=1` counts instructions too, of a build as `.ci/run` makes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::bench::trace::{Call, Trace, trace};
use crate::bench::{Run, Sandbox, given, limit, skipped};

/// Limits for a `create` that finds the tree unchanged.
const FILES_OPENED: usize = 0;
const DIRECTORIES_LISTED: usize = 0;
const CALLS_PER_FILE: usize = 1;
const CALLS_PER_DIRECTORY: usize = 3;
const CALLS_FOR_THE_ROOT: usize = 24;
const BYTES_OF_STAT_CACHE: u64 = 4096;
/// The block of a directory of ten files, and those above it.
const BYTES_OF_STAT_CACHE_PER_EDIT: u64 = 2500;
/// Upper bound on the difference of two equal runs.
const WAITING_CALLS: usize = 20;
/// Upper bound for a directory that a rule leaves out, however much it contains.
const CALLS_PER_IGNORED_DIRECTORY: usize = 8;
/// Limits for commands that only read the store.
const CALLS_FOR_VERSION: usize = 120;
const CALLS_FOR_LIST: usize = 250;
const CALLS_FOR_STATUS: usize = 270;
const CALLS_PER_CHECKPOINT: usize = 24;
const PACKS_PER_CHECKPOINT: usize = 1;
/// Limit for a create that merges eight or more small packs, and so reads earlier trees.
const READS_OF_A_LARGE_PACK: usize = 20;
/// Limits for an optimized program, per file of an unchanged tree and for all else.
const INSTRUCTIONS_PER_FILE: u64 = 4_000;
const INSTRUCTIONS_IN_ALL: u64 = 14_000_000;

const IGNORE_FILES: usize = 2;
const FILES_PER_DIRECTORY: usize = 10;

fn directories() -> usize {
    if std::env::var_os("CHECKPOINT_TIMED").is_some() {
        4990
    } else {
        200
    }
}

/// A tree of that many directories, all settled in the stat cache.
fn settled(directories: usize) -> Sandbox {
    let sandbox = Sandbox::bare();
    for directory in 0..directories {
        for file in 0..FILES_PER_DIRECTORY {
            sandbox.write(
                format!("d{}/s{directory}/{file}", directory % 20),
                format!("{directory} {file}"),
            );
        }
    }
    sandbox
        .write(".gitignore", "node_modules/\n*.log\n")
        .write("d1/.gitignore", "*.tmp\n");
    sandbox.settle();
    sandbox
}

/// A `create` that finds nothing changed, and the files that were there.
struct Warm {
    trace: Trace,
    root: PathBuf,
    store: PathBuf,
    files: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
    opened: Vec<PathBuf>,
}

/// The trace, taken once for all tests.
fn warm() -> Option<&'static Warm> {
    static WARM: OnceLock<Option<Warm>> = OnceLock::new();
    let made = || {
        let sandbox = settled(directories());
        let trace = trace(&sandbox, &["create", "--reason", "warm"])?;
        let root = sandbox.root().to_path_buf();
        let (files, dirs) = (below(&root, Path::is_file), below(&root, Path::is_dir));
        let opened = trace.opened(&root, "");
        Some(Warm {
            trace,
            store: sandbox.store(),
            files,
            dirs,
            opened,
            root,
        })
    };
    WARM.get_or_init(made).as_ref()
}

/// Relative paths below the root that `wanted` accepts.
fn below(root: &Path, wanted: fn(&Path) -> bool) -> BTreeSet<PathBuf> {
    let all = walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("an entry").into_path());
    all.filter(|path| wanted(path) && path != root).collect()
}

/// Directories below the root whose entries were read.
fn listed(trace: &Trace, root: &Path) -> BTreeSet<PathBuf> {
    trace
        .named(&["getdents64"])
        .filter_map(Call::path)
        .filter(|path| path.starts_with(root))
        .collect()
}

#[test]
fn a_restore_looks_for_a_missing_directory_and_not_for_each_file_in_it() {
    let sandbox = settled(20);
    for directory in 0..20 {
        std::fs::remove_dir_all(sandbox.path(format!("d{directory}"))).expect("it can be removed");
    }
    let trace = given!(trace(&sandbox, &["restore", "latest", "--yes"]));
    let looks = trace.named(&["openat2"]).count();
    assert!(looks < 20 * FILES_PER_DIRECTORY, "{looks} looks");
}

#[test]
fn an_unchanged_tree_costs_one_look_at_each_file_and_three_calls_for_each_directory() {
    let warm = given!(warm());
    let listed = listed(&warm.trace, &warm.root);
    assert_eq!(warm.opened.len(), FILES_OPENED, "{:?}", warm.opened);
    assert_eq!(listed.len(), DIRECTORIES_LISTED, "{listed:?}");
    let calls = warm.trace.calls_below(&warm.root);
    let root = [(&warm.root, CALLS_FOR_THE_ROOT)].into_iter();
    let files = warm.files.iter().map(|file| (file, CALLS_PER_FILE));
    let dirs = warm.dirs.iter().map(|dir| (dir, CALLS_PER_DIRECTORY));
    for (path, most) in root.chain(files).chain(dirs) {
        let calls = calls.get(path).into_iter().flatten();
        let names: Vec<&str> = calls.map(|call| call.name.as_str()).collect();
        assert!(names.len() <= most, "{}: {names:?}", path.display());
    }
    let looked_at = warm
        .files
        .iter()
        .filter(|file| calls.contains_key(*file))
        .count();
    assert!(
        looked_at >= warm.files.len() - IGNORE_FILES,
        "only {looked_at} files were looked at"
    );
}

#[test]
fn an_unchanged_tree_has_nothing_written_but_the_new_row() {
    let warm = given!(warm());
    let written = warm.trace.written(&warm.store);
    println!("written: {written:#?}");
    let mut packs = 0;
    for (file, bytes) in &written {
        let most = match file.as_str() {
            "checkpoint-manifest.md" | "refs/heads/main" => 4096,
            "checkpoint/stat-cache" => BYTES_OF_STAT_CACHE,
            // The holder of the lock.
            "checkpoint/lock" => 128,
            pack if pack.starts_with("objects/pack/pack-") => {
                packs += 1;
                4096
            }
            name if name.starts_with("refs/") => 64,
            other => panic!("{other} was written: {bytes} bytes"),
        };
        assert!(
            *bytes <= most,
            "{bytes} bytes of {file} were written, and not {most}"
        );
    }
    assert_eq!(packs, 2, "a pack and its index");
    assert!(
        warm.trace.written(&warm.root).is_empty(),
        "the working directory was written to"
    );
}

#[test]
fn ten_edits_cost_ten_files_read_and_no_cache_written_anew() {
    let sandbox = settled(200);
    let edited: BTreeSet<PathBuf> = (0..10)
        .map(|at| sandbox.path(format!("d{at}/s{at}/{at}")))
        .collect();
    for path in &edited {
        std::fs::write(path, "edited").unwrap();
    }
    let trace = given!(trace(&sandbox, &["create", "--reason", "warm"]));
    // Whether a rule leaves an edited file out is checked again.
    let (rules, opened): (Vec<_>, Vec<_>) = trace
        .opened(sandbox.root(), "")
        .into_iter()
        .partition(|path| path.ends_with(".gitignore"));
    println!("ignore files were read {} times", rules.len());
    assert_eq!(opened.len(), edited.len(), "{opened:#?}");
    let listed = listed(&trace, sandbox.root());
    assert!(listed.is_empty(), "{listed:?}");
    let count = edited.len() as u64;
    assert_eq!(opened.into_iter().collect::<BTreeSet<_>>(), edited);
    let written = trace.written(&sandbox.store());
    println!("written: {written:#?}");
    let cache: u64 = written
        .iter()
        .filter(|(file, _)| file.contains("stat-cache"))
        .map(|(_, bytes)| bytes)
        .sum();
    assert!(
        cache <= count * BYTES_OF_STAT_CACHE_PER_EDIT,
        "{cache} bytes of the stat cache were written"
    );
}

#[test]
fn what_lies_in_an_ignored_directory_costs_nothing() {
    let calls = |files: Option<usize>| {
        let sandbox = Sandbox::bare();
        sandbox
            .write(".gitignore", "node_modules/\n")
            .write("a/b", "1");
        for file in 0..files.unwrap_or(0) {
            sandbox.write(format!("node_modules/p{}/{file}", file % 100), "1");
        }
        sandbox.settle();
        trace(&sandbox, &["create", "--reason", "warm"]).map(|trace| trace.calls.len())
    };
    let without = given!(calls(None));
    let (few, many) = (
        calls(Some(20)).expect("a trace"),
        calls(Some(2000)).expect("a trace"),
    );
    println!("{without} calls without, {few} with 20 files, {many} with 2,000");
    // Threads that wait for each other make a few calls more or less each time.
    assert!(
        many.abs_diff(few) <= WAITING_CALLS,
        "{many} calls with 2,000 ignored files, {few} with 20"
    );
    let at_most = without + CALLS_PER_IGNORED_DIRECTORY + WAITING_CALLS;
    assert!(
        many <= at_most,
        "{many} calls with an ignored directory, {without} without"
    );
}

/// The calls of a command on a store with few checkpoints, and how many each further one adds.
fn by_checkpoint(args: &[&str]) -> Option<(Trace, usize)> {
    const MORE: usize = 20;
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.settle();
    let few = trace(&sandbox, args)?;
    for number in 0..MORE {
        sandbox.write("a", number.to_string()).create("more");
    }
    let many = trace(&sandbox, args)?;
    let packs = many.opened(&sandbox.store(), ".pack").len();
    assert!(
        packs <= (MORE + 2) * PACKS_PER_CHECKPOINT,
        "{packs} packs were opened\n{}",
        many.run
    );
    for trace in [&few, &many] {
        assert_eq!(
            trace.threads_started(),
            0,
            "a thread was started\n{}",
            trace.run
        );
    }
    let each = (many.calls.len() - few.calls.len()).div_ceil(MORE);
    println!(
        "{args:?}: {} calls for two checkpoints, {each} for each further one",
        few.calls.len()
    );
    Some((few, each))
}

#[test]
fn a_few_edits_ask_few_packs_whether_they_have_them() {
    const CREATES: usize = 30;
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1").write("d/b", "2");
    sandbox.settle();
    for number in 0..CREATES {
        sandbox.write("a", format!("{number}")).create("more");
    }
    sandbox.write("a", "edited").write("d/b", "too");
    let trace = given!(trace(&sandbox, &["create", "-r", "last"]));
    let indexes = trace.opened(&sandbox.store(), ".idx").len();
    println!("{indexes} indexes were read with {CREATES} packs");
    assert!(
        indexes <= CREATES / 3,
        "{indexes} indexes of {CREATES} were read"
    );
    assert_eq!(sandbox.ok("cat latest:d/b").stdout, "too");
}

#[test]
fn the_newest_checkpoint_is_shown_without_the_packs_of_the_old_ones() {
    let sandbox = Sandbox::bare();
    for at in 0..30 {
        sandbox.write(format!("f{at}"), format!("{at}"));
        sandbox.create(&format!("number {at}"));
    }
    let trace = given!(trace(&sandbox, &["show", "latest"]));
    let indexes = trace.opened(&sandbox.store(), ".idx");
    println!("{} indexes were read", indexes.len());
    assert!(indexes.len() < 6, "{indexes:#?}");
}

#[test]
fn who_takes_small_packs_in_reads_nothing_of_a_large_one() {
    let sandbox = settled(200);
    let packs = || {
        below(&sandbox.store(), |path| {
            path.extension().is_some_and(|end| end == "pack")
        })
    };
    let large = packs()
        .into_iter()
        .max_by_key(|pack| std::fs::metadata(pack).unwrap().len())
        .unwrap();
    let mut taken_in = 0;
    for number in 0..20 {
        sandbox.write("edited", number.to_string());
        let before = packs().len();
        let trace = given!(trace(&sandbox, &["create", "-r", "more"]));
        let read: Vec<PathBuf> = trace.named(&["pread64"]).filter_map(Call::path).collect();
        let of_large = read.iter().filter(|path| **path == large).count();
        println!(
            "{of_large} of {} reads were in the large one of {before} packs",
            read.len()
        );
        assert!(
            of_large <= READS_OF_A_LARGE_PACK,
            "{of_large} reads in a pack of over 2,000 entries"
        );
        if packs().len() < before {
            taken_in += 1;
            assert!(
                read.len() - of_large >= before,
                "what was taken in was not read: {read:#?}"
            );
        }
        if taken_in == 2 {
            break;
        }
    }
    assert!(
        taken_in == 2 && large.exists(),
        "{taken_in} times packs were taken in"
    );
}

#[test]
fn a_reader_starts_no_thread_and_opens_no_more_than_the_commits() {
    let commands = [
        (&["list"][..], CALLS_FOR_LIST),
        (&["status", "--brief"], CALLS_FOR_STATUS),
    ];
    for (args, most) in commands {
        let (few, each) = given!(by_checkpoint(args));
        assert!(
            few.calls.len() <= most,
            "{args:?}: {} calls",
            few.calls.len()
        );
        assert!(
            each <= CALLS_PER_CHECKPOINT,
            "{args:?}: {each} calls for each checkpoint"
        );
    }
}

/// Median time of a command that succeeds.
fn median_time(mut command: impl FnMut() -> Command) -> Duration {
    const RUNS: usize = 41;
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let mut command = command();
            let began = Instant::now();
            let output = limit::output(&mut command).expect("it can be started");
            let taken = began.elapsed();
            assert!(output.status.success(), "{command:?}");
            taken
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}

#[test]
fn a_line_for_a_prompt_takes_five_milliseconds_more_than_a_process() {
    const MOST: Duration = Duration::from_millis(5);
    if std::env::var_os("CHECKPOINT_TIMED").is_none()
        || std::env::var_os("CHECKPOINT_PROGRAM").is_none()
    {
        return skipped("set CHECKPOINT_TIMED=1, and CHECKPOINT_PROGRAM to a build as in .ci/run");
    }
    let sandbox = Sandbox::bare();
    sandbox.user_config("keep = 200\n");
    for number in 0..100 {
        sandbox.write("a", number.to_string()).create("more");
    }
    let empty = median_time(|| Command::new("/bin/true"));
    for line in [&["statusline"][..], &["status", "--brief"]] {
        let taken = median_time(|| sandbox.command(&[], line));
        println!("{line:?}: {taken:?}, an empty process {empty:?}");
        assert!(taken <= empty + MOST, "{line:?}: {taken:?}, not {empty:?}");
    }
}

#[test]
fn version_looks_at_nothing() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.settle();
    let trace = given!(trace(&sandbox, &["--version"]));
    assert_eq!(trace.threads_started(), 0);
    assert!(
        trace.calls_below(sandbox.home()).is_empty()
            && trace.calls_below(sandbox.root()).is_empty()
    );
    println!("--version: {} calls", trace.calls.len());
    assert!(
        trace.calls.len() <= CALLS_FOR_VERSION,
        "{} calls",
        trace.calls.len()
    );
}

/// Instructions of a run, all threads together; `None`, with a printed line, if uncountable.
fn instructions(sandbox: &Sandbox, args: &[&str]) -> Option<u64> {
    const PROGRAM: &str = "/usr/bin/valgrind";
    if !limit::output(Command::new(PROGRAM).arg("--version"))
        .is_ok_and(|told| told.status.success())
    {
        skipped("needs valgrind");
        return None;
    }
    let run: Run = sandbox
        .run_under(
            &[
                PROGRAM,
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
            ],
            args,
        )
        .success();
    let (_, counted) = run.stderr.rsplit_once("Collected : ").expect("a count");
    Some(
        counted
            .split_whitespace()
            .next()?
            .parse()
            .expect("a number"),
    )
}

#[test]
fn an_unchanged_tree_costs_few_instructions() {
    if std::env::var_os("CHECKPOINT_CALLGRIND").is_none()
        || std::env::var_os("CHECKPOINT_PROGRAM").is_none()
    {
        return skipped(
            "set CHECKPOINT_CALLGRIND=1, and CHECKPOINT_PROGRAM to a build as in .ci/run",
        );
    }
    let counted =
        |directories| instructions(&settled(directories), &["create", "--reason", "warm"]);
    let (Some(few), Some(many)) = (counted(20), counted(200)) else {
        return;
    };
    let each = many.saturating_sub(few) / (180 * FILES_PER_DIRECTORY as u64);
    println!("{many} instructions for 2,000 files, {each} for each file");
    assert!(
        each <= INSTRUCTIONS_PER_FILE,
        "{each} instructions for each file"
    );
    assert!(many <= INSTRUCTIONS_IN_ALL, "{many} instructions in all");
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_that_is_unchanged_is_not_read_for_ever() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("large")).expect("a file");
    // So large that at ten megabytes a second its writing would take half a minute.
    file.set_len(300 << 20).expect("a sparse file");
    sandbox.real_clock().create("one");
    sandbox.create("two");
    let Some(trace) = trace(&sandbox, &["create", "-r", "three"]) else {
        return skipped("no strace");
    };
    let read = trace.opened(sandbox.root(), "large");
    assert!(read.is_empty(), "{read:?}");
}
