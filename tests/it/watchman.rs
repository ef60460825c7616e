//! `fsmonitor = "watchman"`: whatever happens to the directory or to the server, what is captured is
//! what a full scan captures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use checkpoint::store::small_files::stat_cache::{self, CacheHead};

use crate::bench::git::Git;
use crate::bench::sample::Draw;
use crate::bench::{Sandbox, cases, given, limit, os, skipped};

/// Edits before each of which one checkpoint is made by the monitor, and one by a full scan.
const EDITS: usize = 60;

/// Half of the events that are more than the kernel keeps for a server that does not read.
const QUEUED: usize = 9000;

/// A directory with a server of its own.
struct Watched {
    sandbox: Sandbox,
    git: Git,
}

impl Watched {
    fn new() -> Option<Self> {
        let sandbox = Sandbox::bare();
        let git = Git::find(sandbox.root())?;
        sandbox.env("TMPDIR", sandbox.top());
        sandbox.user_config("fsmonitor = 'watchman'\nauto_prune = false\nmax_files = 0\n");
        let watched = Self { sandbox, git };
        let is_there = watched.server("get-sockname");
        if !is_there {
            skipped("needs watchman");
        }
        is_there.then_some(watched)
    }

    fn server(&self, word: &str) -> bool {
        let mut command = Command::new("watchman");
        command
            .arg(word)
            .env_clear()
            .env("TMPDIR", self.sandbox.top());
        limit::output(&mut command).is_ok_and(|run| run.status.success())
    }

    /// The number of the server's process, as its clock has it.
    fn pid(&self) -> String {
        let clock = self.head().watch.expect("it is watched").clock;
        let clock = String::from_utf8(clock).expect("it is text");
        clock.split(':').nth(2).expect("a number").to_owned()
    }

    fn head(&self) -> CacheHead {
        let bytes = fs::read(self.sandbox.store().join("checkpoint/stat-cache-head"));
        stat_cache::parse(&bytes.expect("there is a cache")).expect("it is sound")
    }

    /// Number of checkpoints since the last full scan.
    fn relied_on(&self) -> u64 {
        self.head().watch.map_or(0, |watch| watch.creates)
    }

    /// Tree and meta of the newest checkpoint below a base.
    fn state(&self, store: &Path) -> String {
        let store = store.display().to_string();
        let said = self
            .git
            .output(&["--git-dir", &store, "log", "-1", "--format=%T %B", "main"]);
        let meta = said.lines().filter(|line| line.starts_with("Meta: "));
        said[..40].to_owned() + &meta.collect::<String>()
    }

    /// Makes a checkpoint by the monitor and one by a full scan, elsewhere, and compares them.
    #[track_caller]
    fn same(&self, after: &str) {
        let sandbox = &self.sandbox;
        let run = sandbox.run(&["create", "-r", after]);
        assert!([0, 5].contains(&run.code), "{after}: {run}");
        let base = sandbox.top().join("other");
        let full = ["create", "-r", after, "--full-scan", "--base"];
        let base = base.to_str().expect("it is text");
        let run = sandbox.run(&[&full[..], &[base]].concat());
        assert!([0, 5].contains(&run.code), "{after}: {run}");
        let other = crate::bench::place::store(Path::new(base), sandbox.root());
        assert_eq!(
            self.state(&sandbox.store()),
            self.state(&other),
            "after {after}"
        );
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.server("shutdown-server");
    }
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>, dirs: &mut Vec<PathBuf>) {
    dirs.push(dir.to_path_buf());
    let mut entries: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), files, dirs);
        } else {
            files.push(entry.path());
        }
    }
}

/// Changes something in the directory, and says what.
fn edit(root: &Path, draw: &mut Draw, step: usize) -> String {
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    walk(root, &mut files, &mut dirs);
    let dir = dirs[draw.below(dirs.len())].clone();
    let other = dirs[draw.below(dirs.len())].clone();
    let file = files[draw.below(files.len())].clone();
    let new = dir.join(format!("n{step}"));
    let is_free = |from: &Path, to: &Path| from != root && !to.starts_with(from);
    let (what, done) = match draw.below(15) {
        0 | 1 => ("write", fs::write(&file, format!("{step}"))),
        2 => {
            let times = fs::metadata(&file).and_then(|found| found.modified());
            let len = fs::read(&file).map_or(0, |bytes| bytes.len());
            let done = fs::write(&file, vec![b'a' + step.to_ne_bytes()[0] % 26; len]);
            let file = fs::File::options().write(true).open(&file);
            let put_back = |file: fs::File| file.set_modified(times?);
            (
                "write and put the time back",
                done.and_then(|()| put_back(file?)),
            )
        }
        3 => ("add", fs::write(&new, format!("{step}"))),
        4 => ("delete", fs::remove_file(&file)),
        5 => {
            let deep = new.join("a/b");
            let made = fs::create_dir_all(&deep);
            (
                "add directories",
                made.and_then(|()| fs::write(deep.join("f"), "1")),
            )
        }
        6 | 7 if is_free(&dir, &other) => {
            ("move", fs::rename(&dir, other.join(format!("m{step}"))))
        }
        8 if is_free(&dir, &other) && is_free(&other, &dir) => {
            let aside = root.join("aside");
            let swap = fs::rename(&dir, &aside)
                .and_then(|()| fs::rename(&other, &dir))
                .and_then(|()| fs::rename(&aside, &other));
            ("exchange", swap)
        }
        9 => (
            "set the mode",
            set_mode(&file, [0o600, 0o644, 0o755][draw.below(3)]),
        ),
        10 => ("link", std::os::unix::fs::symlink(&file, &new)),
        11 => ("second name", fs::hard_link(&file, &new)),
        12 if dir != root && dirs.len() > 8 => ("remove", fs::remove_dir_all(&dir)),
        13 => (
            "rules",
            fs::write(dir.join(".gitignore"), format!("n{}*\n", draw.below(9))),
        ),
        14 => {
            let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\xfe");
            ("no text", fs::write(dir.join(name), format!("{step}")))
        }
        _ => ("empty", fs::create_dir(&new)),
    };
    format!(
        "{step} {what} {} {}: {done:?}",
        dir.display(),
        file.display()
    )
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// A tree in which most is never touched.
fn plant(sandbox: &Sandbox) {
    for dir in 0..6 {
        for file in 0..5 {
            sandbox.write(format!("d{dir}/s{file}/t/{file}"), format!("{dir} {file}"));
            sandbox.write(format!("d{dir}/f{file}"), format!("{dir}"));
        }
    }
}

#[test]
fn after_random_edits_it_captures_what_a_full_scan_does() {
    let watched = given!(Watched::new());
    plant(&watched.sandbox);
    let mut draw = Draw::new();
    let (mut relied_on, count) = (0, cases(EDITS));
    for step in 0..count {
        let what = edit(watched.sandbox.root(), &mut draw, step);
        watched.same(&what);
        relied_on += usize::from(watched.relied_on() > 0);
        assert!(
            !watched
                .sandbox
                .store()
                .join("checkpoint/monitor-off")
                .exists(),
            "{what}"
        );
    }
    // Every twentieth is a full scan, and so is what follows another rule.
    assert!(relied_on > count / 2, "only {relied_on} times");
}

/// Watchman 4.9 may name what is in a directory that was moved by its former path, and for ever.
#[test]
fn a_directory_that_was_moved_is_scanned_and_the_server_looks_again() {
    let watched = given!(Watched::new());
    let root = watched.sandbox.root();
    plant(&watched.sandbox);
    watched.same("planting");
    watched.same("nothing");
    watched.sandbox.write("d0/new/inner/f", "1");
    watched.same("new directories");
    assert_eq!(watched.relied_on(), 2);
    fs::rename(root.join("d1"), root.join("d0/new/d1")).unwrap();
    watched.same("a move");
    assert_eq!(watched.relied_on(), 2);
    watched.sandbox.write("d0/new/d1/f0", "2");
    watched.same("an edit of what was moved");
    assert_eq!(watched.relied_on(), 3);
}

#[test]
fn a_server_that_was_given_other_settings_is_not_relied_on() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    watched.server("shutdown-server");
    let settings = sandbox.top().join("settings.json");
    fs::write(&settings, r#"{"ignore_dirs": ["d0"]}"#).unwrap();
    // The former server may still be about to end.
    let starts = || {
        let mut command = Command::new("watchman");
        command
            .arg("get-sockname")
            .env_clear()
            .env("TMPDIR", sandbox.top())
            .env("WATCHMAN_CONFIG_FILE", &settings);
        limit::output(&mut command).unwrap().status.success()
    };
    assert!(os::wait(&starts), "it does not start");
    plant(sandbox);
    let said = sandbox.run(&["create", "-r", "first"]).stderr;
    assert!(said.contains("WATCHMAN_CONFIG_FILE"), "{said}");
    sandbox.write("d0/f0", "more");
    watched.same("an edit in what it leaves out");
}

#[test]
fn a_server_that_answers_byte_by_byte_is_not_waited_for() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    plant(sandbox);
    watched.same("planting");
    let socket = PathBuf::from(std::ffi::OsString::from(
        String::from_utf8(watched.head().watch.unwrap().socket).unwrap(),
    ));
    watched.server("shutdown-server");
    let _ = fs::remove_file(&socket);
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let begin = [0, 1, 5, 0, 0, 1, 0];
                let _ = std::io::Write::write_all(&mut stream, &begin);
                while std::io::Write::write_all(&mut stream, &[10]).is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
            });
        }
    });
    let begun = std::time::Instant::now();
    watched.same("nothing");
    let taken = begun.elapsed();
    fs::remove_file(&socket).unwrap();
    assert!(taken.as_secs() < 10, "{taken:?}");
}

#[test]
fn the_file_by_which_it_synchronizes_is_not_captured() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".watchman-cookie-host-1-2", "")
        .write("a", "1");
    sandbox.create("one");
    assert_eq!(sandbox.ok("ls latest").stdout.lines().count(), 1);
}

#[test]
fn where_its_own_place_went_it_says_how_it_begins_anew() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    watched.git.ok("init -q");
    for number in ["1", "2"] {
        sandbox.write("a", number).create(number);
    }
    sandbox.remove(".git").write("a", "3");
    let run = sandbox.run(&["create", "-r", "3"]).success();
    assert!(run.stderr.contains("'watchman watch-del'"), "{run}");
    watched.server("watch-del-all");
    sandbox.write("a", "4");
    let run = sandbox.run(&["create", "-r", "4"]).success();
    assert!(!run.stderr.contains("watchman"), "{run}");
}

#[test]
fn what_becomes_of_the_server_costs_a_full_scan_and_no_file() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    plant(sandbox);
    let relies = |after: &str| {
        watched.same("settling");
        watched.same(after);
        assert!(watched.relied_on() > 0, "after {after}");
    };
    relies("the first");
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        kill.args([name, &watched.pid()]);
        let run = limit::output(&mut kill).expect("it can be run");
        assert!(run.status.success());
    };
    for (what, restart) in [("killed", false), ("killed and started", true)] {
        signal("-9");
        sandbox.write("d1/s1/t/1", what);
        if restart {
            watched.server("get-sockname");
        }
        sandbox.write("d1/s2/t/2", what);
        watched.same(what);
        relies(what);
    }
    signal("-9");
    sandbox.write("d2/s1/t/1", "without a server");
    for entry in fs::read_dir(sandbox.top()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().ends_with("-state") {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    watched.same("its state removed");
    relies("its state removed");
    signal("-STOP");
    let begun = Instant::now();
    sandbox.ok("create -r beside-a-stopped-server");
    assert!(begun.elapsed() < Duration::from_millis(1950), "asked twice");
    signal("-CONT");
    relies("stopped for a moment");
    signal("-STOP");
    for file in 0..QUEUED {
        sandbox.write(format!("d0/s{}/t/n", file % 5), format!("{file}"));
        fs::remove_file(sandbox.path(format!("d0/s{}/t/n", file % 5))).unwrap();
    }
    sandbox.write("d2/s3/t/3", "in a full queue");
    signal("-CONT");
    watched.same("its queue overflowed");
    relies("its queue overflowed");
    sandbox.write("d2/s2/t/2", "x").at("2020-01-01T00:00:00Z");
    watched.same("the clock set back");
    relies("the clock set back");
    fs::rename(sandbox.path("d3"), sandbox.path("d4/s1/moved")).unwrap();
    watched.same("a subtree moved");
    assert!(watched.relied_on() > 0);
    sandbox.user_config("fsmonitor = 'watchman'\nmax_files = 0\nexclude = ['f1']\n");
    watched.same("another rule of the user");
    assert_eq!(watched.relied_on(), 0);
    sandbox.write("d5/.gitignore", "f2\n");
    watched.same("another rule of the project");
    sandbox.write(".watchmanconfig", "{\"ignore_dirs\": [\"d4\"]}");
    watched.same("a directory it is not to watch");
    sandbox.write("d4/f1", "y").write("d4/f3", "z");
    watched.same("a change in that");
}

#[test]
fn what_is_mounted_meanwhile_is_not_captured_and_comes_back() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    plant(sandbox);
    watched.same("before");
    watched.same("before all");
    assert!(watched.relied_on() > 0);
    let script = "mount --bind d2 d1/s1 || exit 99; \"$0\" create -r mounted --json || true";
    let run = given!(sandbox.mounting(script));
    assert!(run.stdout.contains("\"path\":\"d1/s1\""), "{run}");
    watched.same("unmounted");
    sandbox
        .symlink("d1/link", "../d2")
        .write("d2/f1", "by its own name");
    watched.same("a link");
}

/// Edits a file as if the clock of the server had gone on without a look at it.
fn hide_a_change(watched: &Watched) {
    let sandbox = &watched.sandbox;
    plant(sandbox);
    watched.same("first");
    watched.same("second");
    assert!(watched.relied_on() > 0);
    let head = watched.head();
    sandbox.write("d1/s1/t/1", "unseen");
    watched.same("seen");
    let mut later = watched.head();
    (later.root, later.len, later.basis) = (head.root, head.len, head.basis);
    let path = sandbox.store().join("checkpoint/stat-cache-head");
    fs::write(path, stat_cache::render(&later)).unwrap();
}

#[test]
fn after_a_failure_everything_is_looked_at() {
    let watched = given!(Watched::new());
    hide_a_change(&watched);
    let run = watched.sandbox.run(&["run", "--json", "--", "false"]);
    assert_eq!(run.data()["changed"]["modified"], 1, "{run}");
}

#[test]
fn what_it_does_not_name_is_found_and_switches_it_off() {
    let watched = given!(Watched::new());
    let sandbox = &watched.sandbox;
    hide_a_change(&watched);
    let run = sandbox
        .at("2027-01-01T00:00:00Z")
        .run(&["create", "-r", "check", "--json"]);
    assert_eq!(run.warning_codes(), ["monitor_off"], "{run}");
    sandbox.write("d1/s2/t/2", "and on");
    watched.same("off");
    let codes = sandbox
        .run(&["create", "-r", "quiet", "--json"])
        .warning_codes();
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn one_that_is_not_installed_or_not_ours_costs_one_warning() {
    let sandbox = Sandbox::bare();
    sandbox.write("a/b", "1").env("PATH", sandbox.path("none"));
    sandbox.user_config("fsmonitor = 'watchman'\n");
    for line in ["create -r 1 --json", "status --json", "diff --json"] {
        let codes = sandbox.cmd(line).warning_codes();
        assert_eq!(codes, ["monitor_unusable"], "{line}");
    }
    let codes = sandbox.ok("create -r 2 --full-scan --json").warning_codes();
    assert!(codes.is_empty(), "{codes:?}");
    sandbox
        .user_config("")
        .write(".checkpoint.toml", "fsmonitor = 'watchman'\n");
    let run = sandbox.ok("create -r 3 --json");
    assert_eq!(
        run.warning_codes(),
        ["config"],
        "a project starts no program: {run}"
    );
}
