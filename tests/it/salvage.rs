//! An unusable store, its salvage into a fresh one, and what kills and waiting do to both.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::damaged::{damaged_copies, packs_of};
use crate::bench::{Git, Sandbox, Tree, fixtures, limit, strace};

fn story() -> (Sandbox, String, Tree) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("d/b", "2")
        .mkdir("empty")
        .write("run", "x")
        .chmod("run", 0o711);
    let first = sandbox.create("first");
    let tree = sandbox.tree();
    sandbox.write("a", "3");
    sandbox.create("second");
    (sandbox, first, tree)
}

/// An object in the place of another: its name, and how it is made.
type Intruder = (&'static str, fn(&Path));

const INTRUDERS: [Intruder; 3] = [
    ("a FIFO", |path| fixtures::fifo(path)),
    ("a socket", |path| fixtures::socket(path)),
    ("a directory", |path| {
        fs::create_dir_all(path.join("x")).unwrap();
    }),
];

const FILES: [&str; 16] = [
    "HEAD",
    "config",
    "info/attributes",
    "objects/info/keep",
    "packed-refs",
    "refs/heads/main",
    ".gitignore",
    "checkpoint-manifest.md",
    "checkpoint/description",
    "checkpoint/lock",
    "checkpoint/journal",
    "checkpoint/stat-cache",
    "checkpoint/left-behind",
    "checkpoint/left-out",
    "checkpoint/size-gate",
    "checkpoint/tidied",
];

/// A path in the store; an empty name is the store itself.
fn place(sandbox: &Sandbox, name: &str) -> PathBuf {
    if name.is_empty() {
        sandbox.store()
    } else {
        sandbox.store().join(name)
    }
}

fn put(sandbox: &Sandbox, name: &str, intruder: fn(&Path)) -> PathBuf {
    let path = place(sandbox, name);
    fixtures::remove(&path);
    intruder(&path);
    path
}

/// Asserts that `create` works, nothing is lost, and the damaged store is kept beside.
fn create_salvages(sandbox: &Sandbox, first: &str, tree: &Tree, how: &str) {
    for args in [
        &["list"][..],
        &["show", first],
        &["verify"],
        &["status"],
        &["restore", first, "--yes"],
        &["prune"],
    ] {
        let run = sandbox.run(args).code(6);
        assert!(run.stderr.contains("create"), "{how}: {run}");
    }
    sandbox.write("a", "4");
    let run = sandbox.ok("create --json -r third");
    assert!(
        run.warning_codes()
            .contains(&"store_reinitialized".to_owned()),
        "{how}: {run}"
    );
    assert!(
        run.stdout.contains("2 of 2 checkpoints were saved"),
        "{how}: {run}"
    );
    assert_eq!(sandbox.listed_ids().len(), 3, "{how}");
    assert_eq!(damaged_copies(&sandbox.store()).len(), 1, "{how}");
    sandbox.restore(first).success();
    sandbox.tree().assert_is(tree, how);
    sandbox.ok("verify --full");
    assert_eq!(fixtures::mode_of(&sandbox.store()), 0o700, "{how}");
    if let Some(git) = Git::find(sandbox.root()) {
        git.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
}

#[cfg(unix)]
#[test]
fn nothing_in_place_of_a_file_blocks_or_stops_a_create() {
    // The list of what is left out is the user's, and is not replaced unasked.
    let files = FILES.iter().filter(|name| **name != ".gitignore");
    for (at, name) in files.enumerate() {
        let (what, intruder) = INTRUDERS[at % INTRUDERS.len()];
        let (sandbox, first, tree) = story();
        let path = put(&sandbox, name, intruder);
        create_salvages(
            &sandbox,
            &first,
            &tree,
            &format!("{what} in place of {name}"),
        );
        let kept = damaged_copies(&sandbox.store())
            .remove(0)
            .join(path.strip_prefix(sandbox.store()).unwrap());
        assert!(
            !kept.symlink_metadata().unwrap().is_file(),
            "{what} in place of {name} is not kept"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_is_never_opened() {
    for name in FILES {
        let (sandbox, _, _) = story();
        put(&sandbox, name, fixtures::fifo);
        sandbox.fails(6, "list");
        sandbox.ok("verify --repair");
        sandbox.ok("verify --full");
    }
    // Where only one object or one ref is concerned, the rest goes on.
    for folder in ["refs/checkpoints", "refs/meta", "objects/pack"] {
        let (sandbox, _, _) = story();
        let file = fixtures::files_below(&sandbox.store().join(folder)).remove(0);
        fixtures::remove(&file);
        fixtures::fifo(&file);
        sandbox.ok("list");
        let checked = sandbox.cmd("verify --full");
        assert!(matches!(checked.code, 0 | 6), "{folder}: {checked}");
        sandbox.write("a", "5");
        sandbox.create("third");
        let run = sandbox.cmd("verify --repair");
        assert!(matches!(run.code, 0 | 6), "{folder}: {run}");
        sandbox.ok("verify --full");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_cache_costs_the_cache_alone_and_one_of_the_list_names_the_repair() {
    let (sandbox, _, _) = story();
    for name in ["checkpoint/stat-cache", "checkpoint/left-out"] {
        let path = place(&sandbox, name);
        fixtures::remove(&path);
        std::os::unix::fs::symlink("/dev/null", &path).expect("a link");
        sandbox.ok("list").stdout_has("second");
        sandbox.write("a", name).create(name);
        assert!(damaged_copies(&sandbox.store()).is_empty(), "{name}");
    }
    put(&sandbox, ".gitignore", fixtures::fifo);
    sandbox
        .fails(6, "list")
        .stderr_has("'checkpoint verify --repair'");
    let made = sandbox.write("a", "5").fails(1, "create");
    made.stderr_has("'checkpoint verify --repair'");
    sandbox.ok("verify --repair");
    sandbox.create("again");
}

#[cfg(unix)]
#[test]
fn something_else_in_place_of_a_directory_costs_only_what_was_in_it() {
    for name in [
        "info",
        "checkpoint",
        "refs/pins",
        "refs/meta",
        "refs/checkpoints",
        "refs/heads",
        "refs",
        "objects/info",
    ] {
        let (sandbox, first, tree) = story();
        put(&sandbox, name, |path| {
            fs::write(path, "no directory").unwrap();
        });
        create_salvages(&sandbox, &first, &tree, name);
    }
}

#[test]
fn where_nothing_can_be_read_the_agreed_sentence_is_said() {
    for name in ["objects", "objects/pack", ""] {
        let (sandbox, _, _) = story();
        put(&sandbox, name, |path| {
            fs::write(path, "no directory").unwrap();
        });
        let before = sandbox.tree();
        let run = sandbox.ok("create -r again");
        let kept = damaged_copies(&sandbox.store());
        assert_eq!(kept.len(), 1, "{run}");
        let said = "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost.";
        assert!(
            run.stderr.contains(said) && run.stderr.contains(kept[0].to_str().unwrap()),
            "{run}"
        );
        assert_eq!(sandbox.listed_ids(), [run.stdout.trim()], "{name:?}");
        sandbox.remove("a");
        sandbox.restore("again").success();
        sandbox.tree().assert_is(&before, name);
    }
}

#[test]
fn missing_parts_are_healed_in_place() {
    for name in [
        "HEAD",
        "config",
        "refs",
        "checkpoint",
        "info",
        "refs/checkpoints",
        "objects/info",
    ] {
        let (sandbox, first, tree) = story();
        fixtures::remove(&sandbox.store().join(name));
        sandbox.write("a", "4");
        let run = sandbox.ok("create --json");
        assert!(
            !run.warning_codes()
                .contains(&"store_reinitialized".to_owned()),
            "{name}: {run}"
        );
        assert!(damaged_copies(&sandbox.store()).is_empty(), "{name}");
        sandbox.restore(&first).success();
        sandbox.tree().assert_is(&tree, name);
    }
}

/// Puts a link to what is there in the place of a part of the store; nothing behind it may change.
fn link_away(sandbox: &mut Sandbox, name: &str) {
    let (path, aside) = (place(sandbox, name), sandbox.top().join("aside"));
    fs::rename(&path, &aside).unwrap();
    crate::bench::os::symlink(&aside, &path).unwrap();
    sandbox.watch(&aside);
}

#[test]
fn a_link_in_place_of_a_directory_of_the_store_is_refused_and_nothing_is_replaced() {
    for name in ["objects", "refs/heads", "checkpoint", ""] {
        let (mut sandbox, _, _) = story();
        link_away(&mut sandbox, name);
        for args in [&["create"][..], &["list"], &["verify", "--repair"]] {
            let run = sandbox.run(&[args, &["--json"]].concat()).code(1);
            assert_eq!(run.error_code(), "hostile_store", "{name}");
        }
    }
}

#[test]
fn a_link_in_place_of_a_file_of_the_store_is_mended_and_never_followed() {
    const FILES: [&str; 6] = [
        "HEAD",
        "config",
        "refs/heads/main",
        "checkpoint-manifest.md",
        "checkpoint/lock",
        "checkpoint/description",
    ];
    for name in FILES {
        let (mut sandbox, first, tree) = story();
        link_away(&mut sandbox, name);
        let run = sandbox.fails(6, "list");
        run.stderr_has("'checkpoint verify --repair' keeps all that can be read");
        sandbox.ok("verify --repair");
        assert_eq!(sandbox.listed().len(), 2, "{name}");
        sandbox.restore(&first).success();
        sandbox.tree().assert_is(&tree, name);
    }
}

#[cfg(unix)]
#[test]
fn a_bad_store_never_affects_another() {
    let (sandbox, _, _) = story();
    let other = sandbox.top().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "1").unwrap();
    sandbox.run_in(&other, &["create", "-r", "other"]).success();
    let store = crate::bench::place::store(&sandbox.base(), &other);
    put(&sandbox, "HEAD", fixtures::fifo);
    put(&sandbox, "checkpoint/description", fixtures::fifo);
    sandbox
        .run_in(&other, &["list"])
        .success()
        .stdout_has("other");
    sandbox.run_in(&other, &["create", "-r", "more"]).success();
    sandbox.watch(&store);
    sandbox.create("third");
}

fn beside(sandbox: &Sandbox, ending: &str) -> PathBuf {
    let store = sandbox.store();
    let name = store.file_name().unwrap().to_str().unwrap().to_owned();
    store.with_file_name(format!("{name}{ending}"))
}

#[test]
fn what_killed_salvages_leave_is_told_apart() {
    let (sandbox, first, _) = story();
    let half = beside(&sandbox, ".fresh-0123456789abcdef");
    fixtures::copy_tree(&sandbox.store(), &half);
    fs::remove_file(half.join("checkpoint/description")).unwrap();
    let whole = beside(&sandbox, ".fresh-00000000000000aa");
    fixtures::copy_tree(&sandbox.store(), &whole);
    let hollow = beside(&sandbox, ".fresh-00000000000000ff");
    fs::create_dir_all(hollow.join("checkpoint")).unwrap();
    sandbox.ok("list");
    assert!(
        half.exists() && whole.exists(),
        "a reader changed something"
    );
    sandbox.write("a", "5");
    sandbox.create("third");
    assert!(!half.exists() && !hollow.exists() && !whole.exists());
    let kept = damaged_copies(&sandbox.store());
    assert_eq!(kept.len(), 1);
    assert!(
        kept.iter()
            .all(|kept| kept.join("refs/checkpoints").is_dir())
    );
    sandbox.ok(format!("show {first}"));
}

#[test]
fn a_whole_store_whose_place_is_empty_is_put_there() {
    let (sandbox, first, tree) = story();
    let fresh = beside(&sandbox, ".fresh-0123456789abcdef");
    fs::rename(sandbox.store(), &fresh).unwrap();
    sandbox.write("a", "5");
    sandbox.create("third");
    assert_eq!(sandbox.listed_ids().len(), 3);
    sandbox.restore(&first).success();
    sandbox.tree().assert_is(&tree, "put in place");
}

#[test]
fn a_whole_store_takes_the_place_of_one_that_was_cut_off_while_it_was_copied_there() {
    let (sandbox, first, tree) = story();
    let fresh = beside(&sandbox, ".fresh-0123456789abcdef");
    fixtures::copy_tree(&sandbox.store(), &fresh);
    fs::remove_file(sandbox.store().join("checkpoint/description")).unwrap();
    fixtures::remove(&packs_of(&sandbox.store()).remove(0));
    sandbox.write("a", "5");
    sandbox.create("third");
    assert_eq!(sandbox.listed_ids().len(), 3);
    assert!(!fresh.exists());
    assert_eq!(damaged_copies(&sandbox.store()).len(), 1);
    sandbox.restore(&first).success();
    sandbox.tree().assert_is(&tree, "put in place");
    sandbox.ok("verify --full");
}

#[test]
fn who_waited_for_a_store_that_is_replaced_or_removed_meanwhile_does_not_write_into_the_old_one() {
    let (sandbox, _, _) = story();
    let lock = fs::File::options()
        .write(true)
        .open(sandbox.store().join("checkpoint/lock"))
        .unwrap();
    lock.lock().unwrap();
    sandbox.write("a", "9");
    let waiting = sandbox
        .command(&[], &["create", "-r", "late"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pruning = sandbox
        .command(&[], &["prune", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let aside = sandbox.top().join("removed");
    fs::rename(sandbox.store(), &aside).unwrap();
    let before = fixtures::files_below(&aside);
    drop(lock);
    let pruned = limit::output_of("prune", pruning);
    let made = limit::output_of("create", waiting);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(
        matches!(pruned.status.code(), Some(0 | 3)),
        "{}",
        String::from_utf8_lossy(&pruned.stdout)
    );
    assert_eq!(
        fixtures::files_below(&aside),
        before,
        "the removed store was written to"
    );
    assert_eq!(
        sandbox.listed_ids(),
        [String::from_utf8_lossy(&made.stdout).trim()]
    );
}

#[test]
fn a_store_that_is_moved_away_in_the_middle_of_a_create_is_not_begun_anew_in_its_place() {
    if !strace::available() {
        return;
    }
    let (sandbox, first, tree) = story();
    sandbox.write("a", "9");
    let (store, aside) = (sandbox.store(), sandbox.top().join("moved"));
    let mover = {
        let (store, aside) = (store.clone(), aside.clone());
        std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            // A pack in the making, which has no name yet.
            while !crate::ctrl_c::leftovers(&store)
                .iter()
                .any(|path| path.starts_with(store.join("objects")))
            {
                assert!(begun.elapsed().as_secs() < 60, "no pack was begun");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            fs::rename(&store, &aside).unwrap();
        })
    };
    let run = strace::slowed(
        &sandbox,
        "fsync,fdatasync",
        500_000,
        &["create", "--reason", "late"],
    );
    mover.join().unwrap();
    assert!(run.code != 0 && run.stdout.is_empty(), "{run}");
    assert!(!store.exists(), "something was written in the old place");
    fs::rename(&aside, &store).unwrap();
    assert_eq!(sandbox.listed_ids().len(), 2);
    sandbox.create("third");
    sandbox.ok("verify --full");
    sandbox.restore(&first).success();
    sandbox.tree().assert_is(&tree, "after all");
}

#[test]
fn what_a_repair_could_not_read_is_fetched_by_a_later_one() {
    let (sandbox, first, tree) = story();
    sandbox.fails(0, format!("pin {first}"));
    let packs = packs_of(&sandbox.store());
    let hidden: Vec<(PathBuf, Vec<u8>)> = packs
        .iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    for (path, bytes) in &hidden {
        fs::write(path, vec![0; bytes.len()]).unwrap();
    }
    let run = sandbox.fails(6, "verify --repair");
    assert!(run.stdout.contains("salvaged: 0 of 2 checkpoints"), "{run}");
    let kept = damaged_copies(&sandbox.store());
    // Nothing more can be read: nothing is recovered, and nothing is forgotten.
    sandbox.fails(0, "verify --repair");
    let between = sandbox.create("between");
    for (path, bytes) in &hidden {
        fs::write(
            kept[0].join("objects/pack").join(path.file_name().unwrap()),
            bytes,
        )
        .unwrap();
    }
    let run = sandbox.fails(0, "verify --repair");
    assert!(
        run.stdout
            .contains("restored from the damaged copy: 2 checkpoints"),
        "{run}"
    );
    let listed = sandbox.fails(0, "list").stdout;
    assert!(
        listed.contains(&between) && listed.contains(&first),
        "{listed}"
    );
    assert_eq!(
        sandbox.cmd("list --json").data()["checkpoints"][2]["pinned"],
        true,
        "{listed}"
    );
    sandbox.fails(0, format!("restore {first} --yes"));
    assert_eq!(sandbox.tree(), tree);
    // What is dropped from now on does not come back.
    sandbox.fails(0, format!("unpin {first}"));
    sandbox.fails(0, format!("delete {first} --yes"));
    let run = sandbox.fails(0, "verify --repair");
    assert!(run.stdout.contains("nothing to repair"), "{run}");
}

#[test]
fn what_a_damaged_copy_can_give_makes_the_store_whole_again() {
    let (sandbox, first, tree) = story();
    let copy = beside(&sandbox, ".corrupt-20260101T000000Z");
    fixtures::copy_tree(&sandbox.store(), &copy);
    for path in packs_of(&sandbox.store()) {
        let bytes = fs::read(&path).unwrap();
        crate::bench::damaged::put(&path, &vec![0; bytes.len()]);
    }
    let run = sandbox.ok("verify --repair");
    let run = run.stdout_has("repaired: 2 checkpoints");
    assert!(!run.stdout.contains("will be rebuilt"), "{run}");
    sandbox.ok("verify --full");
    sandbox.restore(&first).success();
    sandbox.tree().assert_is(&tree, "after the repair");
}

#[test]
fn what_was_dropped_after_a_salvage_is_not_fetched_from_the_kept_copy() {
    let (sandbox, first, _) = story();
    let first_pack = packs_of(&sandbox.store());
    let survivor = sandbox.write("other", "4").create("third");
    // The pack that holds only the third is whole; all older ones are not.
    for path in packs_of(&sandbox.store())
        .iter()
        .filter(|path| first_pack.contains(path))
        .take(1)
    {
        let bytes = fs::read(path).unwrap();
        fs::write(path, vec![0; bytes.len()]).unwrap();
    }
    let run = sandbox.cmd("verify --repair");
    assert!(
        sandbox.store().join("checkpoint/left-behind").exists(),
        "{run}"
    );
    let listed = sandbox.listed_ids();
    let dropped = listed
        .iter()
        .find(|id| **id != first)
        .unwrap_or(&survivor)
        .clone();
    sandbox.run(&["delete", &dropped, "--yes"]).code(0);
    let _ = sandbox.cmd("verify --repair");
    assert!(!sandbox.listed_ids().contains(&dropped), "it came back");
}

#[test]
fn a_pack_without_its_index_keeps_no_create_from_a_store_that_cannot_be_used() {
    for lost in ["checkpoint/stat-cache", "refs/heads/main"] {
        let sandbox = Sandbox::new();
        let first = sandbox.write("f", "1").create("one");
        sandbox.write("f", "2").create("two");
        let store = sandbox.store();
        fixtures::remove(&store.join(lost));
        std::fs::create_dir(store.join(lost)).unwrap();
        let pack = crate::bench::damaged::packs_of(&store).remove(0);
        std::fs::remove_file(pack.with_extension("idx")).unwrap();
        sandbox.ok("create -r three");
        sandbox.restore(&first).success();
        assert_eq!(
            (sandbox.read("f"), sandbox.listed().len()),
            ("1".to_owned(), 4),
            "{lost}"
        );
    }
}
