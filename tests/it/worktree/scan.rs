//! Scans: what they list, what they leave out for which reason, and how far they go.

use crate::bench::os::OsStrExt;
use crate::bench::os::{PermissionsExt, symlink};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use checkpoint::error::{More, Result};
use checkpoint::model::stat_cache::cache_writer;
use checkpoint::model::stat_cache::cached_listing::CachedListing;
use checkpoint::model::state::entry::{Kind, WhyNot};
use checkpoint::model::state::listing::Listing;
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::store::small_files::stat_cache::ReadBlocks;
use checkpoint::worktree::rules::rule_set::{RuleSources, Rules};
use checkpoint::worktree::scan::scanner::scan;
use checkpoint::worktree::scan::walk::{STORES_RULE, ScanOptions};
use checkpoint::worktree::sys::{Access, Dir};
use checkpoint::worktree::tree_handle::WorkTree;

use crate::bench::skipped;
use xxhash_rust::xxh3::xxh3_64;

/// Options of a scan without a stat cache, shared among three threads.
pub(super) fn options() -> ScanOptions<'static> {
    ScanOptions {
        previous: None,
        same_rules: false,
        touched: None,
        limit_files: None,
        skip: &[],
        interrupt: Box::leak(Box::default()),
        progress: Box::leak(Box::default()),
        workers: 3,
    }
}

pub(super) fn scanned(
    root: &Path,
    rules: RuleSources,
    options: &ScanOptions<'_>,
) -> Result<Listing> {
    scan(&WorkTree::open(root).unwrap(), &Rules::new(rules), options)
}

fn list(root: &Path, previous: Option<&Listing>) -> Listing {
    list_by(root, previous, false)
}

fn list_by(root: &Path, previous: Option<&Listing>, same_rules: bool) -> Listing {
    let kept = previous.map(|listing| Arc::new(keep(listing)));
    let options = ScanOptions {
        previous: kept.as_ref(),
        same_rules,
        ..options()
    };
    scanned(root, RuleSources::default(), &options).unwrap()
}

/// A listing as the cache would return it.
fn keep(listing: &Listing) -> CachedListing {
    let new = cache_writer::write(listing, None, 0, &xxh3_64).unwrap();
    CachedListing::new(new.root, Box::new(ReadBlocks(Arc::new(new.bytes))))
}

/// All paths with one letter for their kind.
pub(super) fn shape(listing: &Listing) -> Vec<String> {
    let mut shape = Vec::new();
    for (dir, path) in listing.dirs.iter().zip(listing.paths()) {
        shape.push(format!("d {path}"));
        for file in dir.files.iter() {
            let kind = if file.kind == Kind::File { 'f' } else { 'l' };
            shape.push(format!("{kind} {}", path.join(file.name)));
        }
        for item in &dir.uncaptured {
            shape.push(format!("{} {}", item.why.into_str(), path.join(&item.name)));
        }
    }
    shape.sort();
    shape
}

#[cfg(unix)]
#[test]
fn every_kind_is_told_and_none_is_opened_that_would_wait() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    for dir in ["empty", "nested/.git", "b/c"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for file in ["a", "b/f", "nested/x", "nested/.git/HEAD", ".GIT", ".git"] {
        fs::write(root.join(file), "x").unwrap();
    }
    symlink("loop", root.join("loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("b", root.join("to-dir")).unwrap();
    crate::bench::fixtures::fifo(&root.join("fifo"));
    crate::bench::fixtures::socket(&root.join("socket"));
    let expected = "d .|d b|d b/c|d empty|d nested|dot-git .git|dot-git nested/.git|f a|f b/f|\
        f nested/x|fifo fifo|l dangling|l loop|l to-dir|reserved-name .GIT|socket socket";
    assert_eq!(shape(&list(root, None)).join("|"), expected);
}

#[test]
fn what_is_as_before_is_folded_and_comes_back_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    for file in ["a/b/f", "a/g", "c/h", "i"] {
        fs::create_dir_all(temp.path().join(file).parent().unwrap()).unwrap();
        fs::write(temp.path().join(file), file).unwrap();
    }
    let mut first = list(temp.path(), None);
    first.started_ns = i64::MAX;
    let files = first
        .dirs
        .iter_mut()
        .flat_map(|dir| dir.files.make_listed());
    files.for_each(|file| file.id = Some(ObjectId::from_bytes([7; 20])));
    fs::write(temp.path().join("c/h"), "other").unwrap();
    let mut second = list_by(temp.path(), Some(&first), true);
    let (before, counts) = (shape(&second), (second.dir_count(), second.file_count()));
    second.fold();
    assert_eq!(second.dirs.len(), 3, "the root, a, and c, which changed");
    assert_eq!((second.dir_count(), second.file_count()), counts);
    second.unfold(&|_| true).unwrap();
    assert_eq!(shape(&second), before);
}

#[cfg(unix)]
#[test]
fn a_listing_has_parents_first_and_names_in_order() {
    let temp = tempfile::tempdir().unwrap();
    for dir in ["b/x/y", "a", "a.b", "c/z"] {
        fs::create_dir_all(temp.path().join(dir)).unwrap();
    }
    for name in [&b"\xff\xfe"[..], b"line\nbreak", b"A", b"a0"] {
        fs::write(temp.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let listing = list(temp.path(), None);
    for (index, dir) in listing.dirs.iter().enumerate() {
        let names: Vec<_> = dir.files.iter().map(|file| file.name).collect();
        assert!(names.is_sorted_by(|one, other| one < other));
        let children = || dir.dirs.iter().map(|child| (*child, &listing.dirs[*child]));
        assert!(children().all(|(at, child)| at > index && child.parent == index));
        let names: Vec<_> = children().map(|(_, child)| &child.name).collect();
        assert!(names.is_sorted_by(|one, other| one < other));
    }
    assert!(listing.dirs[0].files.get(b"\xff\xfe").is_some());
    assert_eq!(listing.dirs.len(), 8);
}

#[test]
fn what_is_ours_is_not_listed_and_what_only_looks_so_is() {
    let temp = tempfile::tempdir().unwrap();
    let stage = ".checkpoint-stage-0123456789abcdef";
    fs::create_dir_all(temp.path().join(stage).join("in")).unwrap();
    fs::create_dir(temp.path().join("sub")).unwrap();
    fs::write(temp.path().join("sub").join(stage), "a file").unwrap();
    fs::create_dir(temp.path().join(".checkpoint-stage-mine")).unwrap();
    let expected = [
        "d .",
        "d .checkpoint-stage-mine",
        "d sub",
        "f sub/.checkpoint-stage-0123456789abcdef",
    ];
    assert_eq!(shape(&list(temp.path(), None)), expected);
}

#[test]
fn the_place_of_stores_is_told_by_identity() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir_all(temp.path().join("base/projects")).unwrap();
    let work = WorkTree::open(temp.path()).unwrap();
    let base = work.stat(&RelPath::new(b"base").unwrap()).unwrap().unwrap();
    let options = ScanOptions {
        skip: &[(base.dev, base.ino)],
        ..options()
    };
    let listing = scanned(temp.path(), RuleSources::default(), &options).unwrap();
    assert_eq!(listing.dirs.len(), 1);
    let found = &listing.dirs[0].uncaptured[0].why;
    assert_eq!(*found, WhyNot::LeftOut(STORES_RULE.into()));
}

#[test]
fn counting_stops_at_the_limit_and_names_the_largest() {
    let temp = tempfile::tempdir().unwrap();
    for (dir, count) in [("a", 3), ("b/deep", 5), ("c", 1), ("d", 2), ("e", 40)] {
        fs::create_dir_all(temp.path().join(dir)).unwrap();
        (0..count).for_each(|index| {
            fs::write(temp.path().join(dir).join(index.to_string()), "").unwrap();
        });
    }
    let at = |limit| {
        let options = ScanOptions {
            limit_files: Some(limit),
            ..options()
        };
        scanned(temp.path(), RuleSources::default(), &options)
    };
    assert!(at(51).is_ok());
    let over = at(20).unwrap_err();
    let More::TooManyFiles { limit, largest } = &over.more else {
        panic!()
    };
    let named = largest
        .iter()
        .map(|(path, count)| format!("{path} {count}"));
    let named = named.collect::<Vec<_>>().join(", ");
    assert_eq!((*limit, &*named), (20, "e 10, b 5, a 3"));
}

#[test]
fn a_signal_ends_the_scan() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("f"), "").unwrap();
    let options = options();
    options.interrupt.set(15);
    let ended = scanned(temp.path(), RuleSources::default(), &options);
    assert!(ended.is_err_and(|error| error.code.exit == 143));
}

#[test]
fn a_file_too_large_for_the_user_is_named() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("large"), "12345").unwrap();
    fs::write(temp.path().join("small"), "1234").unwrap();
    let rules = RuleSources {
        max_file_size_bytes: Some(4),
        ..RuleSources::default()
    };
    let ended = scanned(temp.path(), rules, &options()).unwrap();
    assert_eq!(shape(&ended), ["d .", "f small", "too-large large"]);
}

#[test]
fn blobs_of_unchanged_files_are_known_and_racy_ones_are_not() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("d")).unwrap();
    for name in ["same", "d/same", "edited", "touched-back"] {
        fs::write(temp.path().join(name), "1").unwrap();
    }
    let id = ObjectId::from_hex("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    let mut previous = list(temp.path(), None);
    previous
        .dirs
        .iter_mut()
        .flat_map(|dir| dir.files.make_listed())
        .for_each(|file| file.id = id);
    let known = |previous: &Listing| -> Vec<String> {
        let listing = list(temp.path(), Some(previous));
        let paths = listing.paths();
        let files = listing.dirs.iter().zip(paths).flat_map(|(dir, at)| {
            dir.files
                .iter()
                .filter(|file| file.id.is_some())
                .map(move |file| at.join(file.name).to_string())
        });
        files.collect()
    };
    previous.started_ns = 0;
    assert_eq!(
        known(&previous),
        Vec::<String>::new(),
        "written after the scan began"
    );
    previous.started_ns = i64::MAX;
    let found = known(&previous);
    assert_eq!(found, ["edited", "same", "touched-back", "d/same"]);
    previous.dirs[0].files.make_listed()[1].racy = true;
    fs::write(temp.path().join("edited"), "2").unwrap();
    let at = temp.path().join("touched-back");
    let times = fs::metadata(&at).unwrap().modified().unwrap();
    let file = fs::File::options().write(true).open(&at).unwrap();
    std::io::Write::write_all(&mut &file, b"2").unwrap();
    file.set_modified(times).unwrap();
    assert_eq!(known(&previous), ["d/same"]);
}

/// Edits of files whose directory keeps its time: a scan from the cache finds what one without it
/// does, in a directory that one thread compares and in one that several do.
#[test]
fn files_that_change_in_an_unchanged_directory_are_judged_as_in_a_first_scan() {
    let id = ObjectId::from_hex("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    for files in [40, 5000] {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("d");
        fs::create_dir(&dir).unwrap();
        fs::create_dir(dir.join("below")).unwrap();
        fs::write(dir.join(".gitignore"), "left-*\n").unwrap();
        fs::write(dir.join("left-out"), "1").unwrap();
        for at in 0..files {
            fs::write(dir.join(format!("f{at:04}")), "1").unwrap();
        }
        let scan = |previous: Option<&Listing>| list_by(temp.path(), previous, true);
        let mut first = scan(None);
        for dir in &mut first.dirs {
            dir.files
                .make_listed()
                .iter_mut()
                .for_each(|file| file.id = id);
        }
        first.started_ns = i64::MAX;
        let expect = |edit: &str, unknown: &[String]| {
            let now = scan(Some(&first));
            assert_eq!(shape(&now), shape(&scan(None)), "{edit}, {files} files");
            let all = now.dirs.iter().flat_map(|dir| dir.files.iter());
            let read: Vec<String> = all
                .filter(|file| file.id.is_none())
                .map(|file| String::from_utf8_lossy(file.name).into_owned())
                .collect();
            assert_eq!(read, unknown, "{edit}, {files} files");
        };
        expect("nothing", &[]);
        let last = format!("f{:04}", files - 1);
        fs::write(dir.join("f0000"), "12").unwrap();
        fs::write(dir.join(&last), "12").unwrap();
        expect("edited", &["f0000".into(), last.clone()]);
        fs::set_permissions(dir.join("f0007"), fs::Permissions::from_mode(0o755)).unwrap();
        let unknown = ["f0000".into(), "f0007".into(), last.clone()];
        expect("made executable", &unknown);
        fs::write(dir.join(".gitignore"), "left-*\nf*9\n").unwrap();
        expect(
            "rules edited in place",
            &[".gitignore".into(), "f0000".into(), "f0007".into()],
        );
        fs::write(dir.join(".gitignore"), "left-*\n").unwrap();
        let unknown = [&[".gitignore".to_owned()], unknown.as_slice()].concat();
        expect("rules edited back", &unknown);
        fs::remove_file(dir.join("f0001")).unwrap();
        symlink("elsewhere", dir.join("f0001")).unwrap();
        let mut unknown = unknown;
        unknown.insert(2, "f0001".into());
        expect("replaced by a link", &unknown);
    }
}

#[cfg(unix)]
#[test]
fn of_ten_thousand_levels_those_are_listed_that_git_takes() {
    const LEVELS: usize = 10_000;
    const MOST_LEVELS: usize = 2000;
    let temp = tempfile::tempdir().unwrap();
    let mut dir = Dir::open_root(temp.path()).unwrap();
    let mut made = 0;
    // A sibling of each directory on the way, so that the scan has to come back to all of them.
    while made < LEVELS && dir.make_dir(b"x").is_ok() {
        dir.make_dir(b"y").unwrap();
        match dir.open_child(b"x", Access::Read) {
            Ok(child) => dir = child,
            Err(_) => break,
        }
        made += 1;
    }
    // Systems that work by path cannot go so deep.
    assert!(made == LEVELS || cfg!(checkpoint_portable), "{made}");
    let listing = list(temp.path(), None);
    // Each level has two directories, and the root is one of the levels.
    let listed = made.min(MOST_LEVELS - 1);
    assert_eq!(listing.dirs.len(), 2 * listed + 1);
    let uncaptured = listing.dirs.iter().flat_map(|dir| &dir.uncaptured);
    let too_deep: Vec<_> = uncaptured.map(|left| &left.why).collect();
    let expected = WhyNot::Unreadable("it lies below 2000 levels of directories".into());
    if made == LEVELS {
        assert_eq!(too_deep, [&expected, &expected]);
        let work = WorkTree::open(temp.path()).unwrap();
        let deepest = RelPath::new(&vec![b"x".as_slice(); LEVELS].join(&b'/')).unwrap();
        assert!(work.stat(&deepest).unwrap().is_some());
    }
    // The deep tree is taken apart from above: removing a temporary directory recurses.
    remove_deep(temp.path());
}

fn remove_deep(root: &Path) {
    let top = Dir::open_root(root).unwrap();
    while let Ok(level) = top.open_child(b"x", Access::Read) {
        let _ = level.rmdir(b"y");
        if level.rename_no_replace(b"x", &top, b"next").is_err() {
            let _ = level.rmdir(b"x");
        }
        top.rmdir(b"x").unwrap();
        let _ = top.rename_no_replace(b"next", &top, b"x");
    }
}

#[test]
fn a_path_longer_than_the_system_takes_is_listed() {
    if cfg!(checkpoint_portable) {
        return skipped("needs the calls of Linux");
    }
    let temp = tempfile::tempdir().unwrap();
    let name = [b'n'; 250];
    let mut dir = Dir::open_root(temp.path()).unwrap();
    for _ in 0..20 {
        dir.make_dir(&name).unwrap();
        dir = dir.open_child(&name, Access::Read).unwrap();
    }
    dir.create_file(b"deep").unwrap();
    let listing = list(temp.path(), None);
    let path = listing.path_of(20).join(b"deep");
    assert!(path.as_bytes().len() > 4096);
    assert_eq!(listing.file_count(), 1);
    let work = WorkTree::open(temp.path()).unwrap();
    assert!(work.stat(&path).unwrap().is_some());
}

#[test]
fn an_unreadable_directory_makes_the_listing_incomplete() {
    let temp = tempfile::tempdir().unwrap();
    let closed = temp.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        return skipped("needs an ordinary user: root reads everything");
    }
    let listing = list(temp.path(), None);
    assert_eq!(shape(&listing), ["d .", "unreadable closed"]);
    assert!(!listing.is_complete());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn another_file_system_is_not_entered() {
    let proc = Path::new("/proc");
    if !proc.join("self").exists() {
        return skipped("needs /proc");
    }
    let work = WorkTree::open(Path::new("/")).unwrap();
    let dir = work.root().open_child(b"proc", Access::Read).unwrap();
    let is_foreign = |dir: &Dir| {
        let (stat, mount) = dir.stat_with_mount().unwrap();
        work.is_other_mount(&stat, mount)
    };
    assert!(is_foreign(&dir) && !is_foreign(work.root()));
}
