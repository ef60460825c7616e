//! Cuts, refusals and slowness between this machine and a remote: nothing is lost, nothing is half
//! there, and the next try completes. `tests/siege` kills a push, a fetch and a clone.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::bench::remote::{Remote, text};
use crate::bench::sample::Draw;
use crate::bench::{Sandbox, Tree, cases, fixtures, given, limit, os, strace};

fn project(start: fn(&Sandbox) -> Option<Remote>) -> Option<(Sandbox, Remote)> {
    let sandbox = Sandbox::new();
    let remote = start(&sandbox)?;
    sandbox.user_config("keep = 100000\n");
    sandbox
        .write("a", "one")
        .write("d/b", fixtures::noise(3, 30_000));
    sandbox.create("one");
    remote.add_to(&sandbox);
    sandbox.ok("push");
    Some((sandbox, remote))
}

/// A second machine with a checkpoint of its own that was pushed.
fn other_machine(remote: &Remote) -> Sandbox {
    let other = remote.cloned();
    other.user_config("keep = 100000\n");
    other.write("a", "elsewhere");
    other.create("elsewhere");
    other.ok("push");
    other
}

fn reasons(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let list = [&["list", "--json"], more].concat();
    let rows = sandbox.run(&list).success().data()["checkpoints"].clone();
    let rows = rows.as_array().expect("rows").clone();
    rows.iter()
        .map(|row| row["reason"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[cfg(unix)]
#[test]
fn a_clone_whose_files_cannot_be_written_says_that_the_checkpoints_are_here() {
    given!(if strace::available());
    let (sandbox, remote) = given!(project(Remote::bare_directory));
    let to = Sandbox::bare();
    remote.reach_from(&to);
    let directory = text(&to.home().join("to"));
    let clone = ["clone", remote.url(), &directory];
    // At the first file.
    let run = strace::failing_nth(&to, "renameat2", "ENOSPC", 1, &clone).code(1);
    run.stderr_has("the checkpoints are here, and the files not: cannot ")
        .stderr_has(&format!("'checkpoint -C {directory} restore latest --yes'"));
    let run = to.run_in(to.home(), &clone).success();
    assert!(!run.stderr.contains("another directory"), "{run}");
    assert_eq!(sandbox.tree(), Tree::capture(&to.home().join("to")));
}

#[cfg(unix)]
#[test]
fn a_clone_that_was_killed_while_it_wrote_files_names_the_way_on_there() {
    given!(if strace::available());
    let (sandbox, remote) = given!(project(Remote::bare_directory));
    for nth in 1..=2 {
        let to = Sandbox::bare();
        remote.reach_from(&to);
        let clone = ["clone", remote.url(), &text(to.root())];
        strace::kill_at(&to, "renameat2", nth, &clone).code(137);
        let way = format!("'checkpoint -C {} restore --resume'", text(to.root()));
        let run = to.run_in(to.home(), &clone).stderr_has(&way);
        assert_ne!(run.code, 0, "{run}");
        to.ok("restore --resume");
        to.tree().assert_is(&sandbox.tree(), "the clone");
    }
}

/// Passes on what a client and a server say, and cuts the connection after so many bytes.
struct Proxy {
    port: u16,
    left: Arc<AtomicU64>,
    /// Pause before each byte, in milliseconds.
    slow_ms: Arc<AtomicU64>,
}

impl Proxy {
    fn before(remote: &Remote) -> (Self, String) {
        let address = remote.url().split("//").nth(1).expect("a host");
        let (host, path) = address.split_once('/').expect("a path");
        let host = host.to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let proxy = Self {
            port: listener.local_addr().expect("an address").port(),
            left: Arc::new(AtomicU64::new(u64::MAX)),
            slow_ms: Arc::default(),
        };
        let (left, slow_ms) = (Arc::clone(&proxy.left), Arc::clone(&proxy.slow_ms));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&host) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let ends = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = ends else { continue };
                    let (left, slow_ms) = (Arc::clone(&left), Arc::clone(&slow_ms));
                    thread::spawn(move || pass(from, to, &left, &slow_ms));
                }
            }
        });
        let url = format!("git://127.0.0.1:{}/{path}", proxy.port);
        (proxy, url)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicU64, slow_ms: &AtomicU64) {
    let mut piece = [0; 4096];
    loop {
        let slow = slow_ms.load(Ordering::SeqCst);
        let most = if slow > 0 { 1 } else { piece.len() };
        let Ok(read @ 1..) = from.read(&mut piece[..most]) else {
            break;
        };
        thread::sleep(Duration::from_millis(slow));
        let had = left.load(Ordering::SeqCst);
        let passes = had.min(read as u64);
        left.store(had - passes, Ordering::SeqCst);
        let passes = usize::try_from(passes).expect("a few");
        if to.write_all(&piece[..passes]).is_err() || passes < read {
            let _ = from.shutdown(Shutdown::Both);
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(unix)]
#[test]
fn a_connection_that_is_cut_after_any_byte_leaves_all_as_it_was() {
    let (sandbox, remote) = given!(project(Remote::daemon));
    let other = other_machine(&remote);
    let (proxy, url) = Proxy::before(&remote);
    sandbox.run(&["remote", "add", "cut", &url]).success();
    let mut draw = Draw::new();
    let (mut made, mut cut) = (1, 0);
    for nth in 0..cases(16) {
        other.write("x", fixtures::noise(nth as u64, 3000));
        other.create(&format!("there {nth}"));
        other.ok("push");
        sandbox.write("y", fixtures::noise(nth as u64, 3000));
        sandbox.create(&format!("here {nth}"));
        made += 1;
        for command in ["fetch", "push"] {
            proxy.left.store(draw.below(6000) as u64, Ordering::SeqCst);
            let run = sandbox.run(&[command, "cut"]);
            cut += usize::from(run.code == 1);
            assert!(matches!(run.code, 0 | 1), "{run}");
            assert_eq!(reasons(&sandbox, &[]).len(), made);
            remote.assert_sound();
            proxy.left.store(u64::MAX, Ordering::SeqCst);
            sandbox.run(&[command, "cut"]).success();
        }
        let newest = format!("there {nth}");
        assert_eq!(reasons(&sandbox, &["--remote", "cut"])[0], newest);
    }
    assert!(cut > cases(16) / 3, "{cut} were cut");
    sandbox.ok("verify --full");
}

#[cfg(unix)]
#[test]
fn a_slow_server_is_given_up_after_the_time_that_is_named() {
    let (sandbox, remote) = given!(project(Remote::daemon));
    let (proxy, url) = Proxy::before(&remote);
    sandbox.run(&["remote", "add", "slow", &url]).success();
    proxy.slow_ms.store(1000, Ordering::SeqCst);
    for command in ["push", "fetch"] {
        let began = std::time::Instant::now();
        let failed = sandbox.run(&[command, "slow", "--timeout", "2"]).code(1);
        failed
            .stderr_has("git did not end within 2 s")
            .stderr_has("--timeout SECONDS");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    proxy.slow_ms.store(0, Ordering::SeqCst);
    sandbox.ok("push slow");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_git_and_leaves_all_as_it_was() {
    let (sandbox, remote) = given!(project(Remote::daemon));
    let (proxy, url) = Proxy::before(&remote);
    sandbox.run(&["remote", "add", "slow", &url]).success();
    proxy.slow_ms.store(1000, Ordering::SeqCst);
    let mut command = sandbox.command(&[], &["push", "slow"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    thread::sleep(Duration::from_secs(1));
    os::signal(child.id(), os::Signal::Interrupt);
    let run = crate::bench::Run::ended("push".to_owned(), child);
    run.code(130);
    assert_eq!(reasons(&sandbox, &[]), ["one"]);
}

/// A git that never ends, and where it notes its number.
#[cfg(unix)]
fn endless_git(sandbox: &Sandbox) -> std::path::PathBuf {
    let bin = sandbox.top().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let note = bin.join("number");
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\nsleep 1000 &\necho $$ $! >'{0}.part'\nmv '{0}.part' '{0}'\nwait\n",
        text(&note)
    );
    std::fs::write(bin.join("git"), script).expect("it is written");
    os::set_mode(&bin.join("git"), 0o755).expect("a mode");
    sandbox.env("PATH", format!("{}:{path}", text(&bin)));
    note
}

#[cfg(target_os = "linux")]
#[test]
fn git_ends_with_the_process_that_started_it() {
    let (sandbox, _remote) = given!(project(Remote::bare_directory));
    sandbox.write("a", "two");
    sandbox.create("two");
    let note = endless_git(&sandbox);
    for end in [os::Signal::Kill, os::Signal::Terminate] {
        let _ = std::fs::remove_file(&note);
        let child = sandbox.command(&[], &["push"]).spawn().expect("it starts");
        assert!(os::wait(&|| note.exists()), "git was started");
        os::signal(child.id(), end);
        limit::output_of("push", child);
        let numbers = std::fs::read_to_string(&note).expect("numbers");
        numbers.split_whitespace().for_each(os::wait_for_end);
    }
}

#[test]
fn a_push_waits_a_little_for_one_that_is_still_at_it() {
    let (sandbox, remote) = given!(project(Remote::bare_directory));
    sandbox.write("a", "two");
    sandbox.create("two");
    let line = remote.refs().split_whitespace().nth(1).map(str::to_owned);
    let lock = remote.place().join(line.expect("a line") + ".lock");
    std::fs::write(&lock, "").expect("it is written");
    let failed = sandbox.fails(1, "push");
    assert!(failed.stderr.lines().count() > 2, "{failed}");
    failed
        .stderr_has("cannot lock ref")
        .stderr_has("nothing was sent; fix this, then run 'checkpoint push origin' again");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(1500));
            std::fs::remove_file(&lock).expect("it is removed");
        });
        sandbox.ok("push");
    });
}
