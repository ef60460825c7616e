//! `run` beside signals and at a terminal; `stories/run.md` has the rest.

#![cfg(unix)]

use std::process::Stdio;

use crate::bench::terminal::{dialogue, with_keyboard};
use crate::bench::{Run, Sandbox, fixtures, given, os};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1");
    sandbox.write("a", "1\n");
    sandbox
}

/// Starts a command below wrappers, and sends a signal to the program alone once there is a file
/// `began`.
fn signalled(sandbox: &Sandbox, wrapper: &[&str], signal: os::Signal, line: &str) -> Run {
    let mut command = sandbox.command(wrapper, &["run", "--", "sh", "-c", line]);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    assert!(os::wait(&|| sandbox.exists("began")), "it did not begin");
    os::signal(child.id(), signal);
    Run::ended(format!("run of {line}"), child)
}

#[test]
fn a_signal_to_the_program_reaches_the_command() {
    let sandbox = project();
    for (signal, name, number) in [
        (os::Signal::Terminate, "TERM", 15),
        (os::Signal::Interrupt, "INT", 2),
    ] {
        if os::ignores(number) {
            continue;
        }
        let line =
            format!("trap 'echo heard; exit 7' {name}; touch began; while :; do sleep 0.1; done");
        let run = signalled(&sandbox, &[], signal, &line).code(7);
        assert_eq!(run.stdout, "heard\n");
        run.stderr_has("sh failed with exit 7; since ");
        sandbox.remove("began");
        let run = signalled(&sandbox, &[], signal, "touch began; exec sleep 60");
        let run = run.code(128 + number);
        run.stderr_has(&format!("sh failed with signal {number}; since "));
        sandbox.remove("began");
    }
}

#[test]
fn what_the_command_sends_does_not_come_back() {
    let sandbox = project();
    let line = "echo 0 >heard; trap 'echo $(($(cat heard)+1)) >heard' INT; kill -INT $PPID; sleep 1; cat heard";
    let run = sandbox.run(&["run", "--", "sh", "-c", line]).success();
    assert_eq!(run.stdout, "0\n");
}

#[cfg(target_os = "linux")]
#[test]
fn signals_that_are_ignored_from_the_start_stay_so() {
    let sandbox = project();
    let line = "touch began; grep SigIgn /proc/self/status; sleep 1";
    let ignoring = ["/bin/sh", "-c", "trap '' HUP INT TERM; exec \"$@\"", "sh"];
    for signal in [
        os::Signal::HangUp,
        os::Signal::Interrupt,
        os::Signal::Terminate,
    ] {
        let run = signalled(&sandbox, &ignoring, signal, line).success();
        let (_, bits) = run.stdout.trim().split_once('\t').expect("a list");
        let bits = u64::from_str_radix(bits, 16).expect("bits");
        assert_eq!(bits & 0x4003, 0x4003, "{run}");
        sandbox.remove("began");
    }
}

/// Runs a line at a terminal, with what is typed by a shell; `shows TEXT` waits until that was shown.
fn typed(sandbox: &Sandbox, typing: &str, line: &str) -> Option<Vec<String>> {
    let shows = "shows() { tries=0; until grep -q -- \"$1\" \"$typescript\" 2>/dev/null; do \
        sleep 0.05; tries=$((tries+1)); [ $tries -lt 400 ] || break; done; }";
    // Output of an earlier call shows nothing here.
    fixtures::remove(&sandbox.top().join("typescript"));
    let run = with_keyboard(sandbox, &format!("{shows}\n{typing}"), line)?;
    Some(run.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn ctrl_c_is_for_the_command_alone() {
    given!(if !os::ignores(2));
    let sandbox = project();
    // What is waited for is in no line that is typed or run.
    sandbox.write(
        "hears.sh",
        "trap 'echo heard' INT; echo began\nwhile [ ! -e done ]; do sleep 0.1; done; exit 3\n",
    );
    let typing = r"shows began; printf '\003'; shows heard; printf '\003'; sleep 0.3; touch done; shows ended";
    let line = "trap : INT; $checkpoint run -- sh hears.sh; echo e''nded $?";
    let shown = given!(typed(&sandbox, typing, line)).join("\n");
    assert_eq!(shown.matches("heard").count(), 2, "{shown}");
    let is_named = shown.contains("sh failed with exit 3") && shown.contains("ended 3");
    assert!(is_named, "{shown}");
    sandbox.write("hears.sh", "echo began; exec sleep 60\n");
    let shown = given!(typed(
        &sandbox,
        r"shows began; printf '\003'; shows ended",
        line
    ));
    assert!(shown.contains(&"ended 130".to_owned()), "{shown:#?}");
}

#[test]
fn ctrl_z_stops_both_and_fg_goes_on() {
    let sandbox = project();
    let by_key = ("echo began\n", r"printf '\032'");
    // A program that reads keys itself may stop itself alone.
    let by_itself = ("echo began; kill -STOP $$\n", ":");
    for (begin, stop) in [by_key, by_itself] {
        sandbox.write(
            "stops.sh",
            format!("{begin}read line; echo \"got $line\"; exit 3\n"),
        );
        let typing = format!(
            "sleep 0.5; echo '$checkpoint run -- sh stops.sh'; shows began; sleep 0.3; {stop}\n\
             shows Stopped; echo fg; sleep 0.5; echo typed; shows 'got typed'\n\
             echo 'echo e\"\"nded $?'; shows 'ended 3'; echo exit"
        );
        let line = "exec bash --norc --noprofile -i";
        let shown = given!(typed(&sandbox, &typing, line)).join("\n");
        for text in ["Stopped", "got typed", "ended 3"] {
            assert!(shown.contains(text), "{stop}: {shown}");
        }
    }
}

#[test]
fn a_terminal_is_asked_before_a_failure_is_taken_back() {
    let sandbox = project();
    let line = "$checkpoint run --restore-on-failure -- sh -c 'echo 2 > a; exit 3'";
    let run = given!(dialogue(&sandbox, line, &[("[y/N]", "n\\n")])).code(3);
    assert!(
        run.stdout.contains("to go back: checkpoint restore "),
        "{run}"
    );
    assert_eq!(sandbox.read("a"), "2\n");
    sandbox.write("a", "1\n");
    let run = given!(dialogue(&sandbox, line, &[("[y/N]", "y\\n")])).code(3);
    assert!(
        run.stdout.contains("modified a") && run.stdout.contains("checkpoint undo"),
        "{run}"
    );
    assert_eq!(sandbox.read("a"), "1\n");
}

#[test]
fn the_command_has_the_store_for_itself_and_inherits_nothing() {
    let sandbox = project();
    let own = Sandbox::binary().display();
    let line =
        format!("echo 2 > a; {own} create -q --lock-timeout 0 inside; ls -l /proc/self/fd >&2");
    let run = sandbox.run(&["run", "--", "sh", "-c", &line]).success();
    let reasons: Vec<_> = sandbox
        .listed()
        .iter()
        .map(|row| row["reason"].to_string())
        .collect();
    assert!(
        reasons[0].contains("inside") && reasons[1].contains("before"),
        "{reasons:?}"
    );
    assert!(
        !run.stderr.contains("socket:") && !run.stderr.contains("/lock"),
        "{run}"
    );
}

#[test]
fn a_script_without_an_interpreter_is_run_by_the_shell() {
    let sandbox = Sandbox::new();
    sandbox.write("s.sh", "echo hi\nexit 3\n");
    os::set_mode(&sandbox.path("s.sh"), 0o755).expect("a mode");
    sandbox.fails(3, "run -- ./s.sh").stdout_has("hi");
}

#[test]
fn what_a_program_leaves_of_the_terminal_is_no_answer() {
    let sandbox = project();
    let typing = r"shows '[y/N]'; printf 'y\r'; shows ended";
    let line = "$checkpoint run --restore-on-failure -- sh -c 'stty raw -echo; echo 2 > a; exit 3'; echo e''nded $?";
    let shown = given!(typed(&sandbox, typing, line)).join("\n");
    assert!(shown.contains("modified a"), "{shown}");
    assert_eq!(sandbox.read("a"), "1\n");
    let typing = r"shows beg''an; printf 'y\n'; sleep 0.2; touch done; shows '[y/N]'; sleep 0.2; printf 'n\n'; shows ended";
    let script = "echo beg''an; while [ ! -e done ]; do sleep 0.1; done; echo 2 > a; exit 3";
    sandbox.write("waits.sh", script);
    let line = "$checkpoint run --restore-on-failure -- sh waits.sh; echo e''nded $?";
    let shown = given!(typed(&sandbox, typing, line)).join("\n");
    assert!(shown.contains("to go back"), "{shown}");
    assert_eq!(sandbox.read("a"), "2\n");
}
