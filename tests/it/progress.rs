//! The progress line: on a terminal, for slow work, and cleared before anything else is printed.

use crate::bench::screen::screen;
use crate::bench::terminal::at_a_terminal;
use crate::bench::{Run, Sandbox, strace};

const FILES: usize = 200;
/// A tracer that delays each opening of a file, so that work takes a while on any machine with any
/// number of threads.
const SLOWLY: &str =
    "/usr/bin/strace -f -qq -o /dev/null -e trace=openat -e inject=openat:delay_enter=8000";

fn with_files() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..FILES {
        sandbox.write(format!("d{}/{number}", number % 3), number.to_string());
    }
    sandbox.env("NO_COLOR", "1");
    sandbox
}

/// Runs a command line at a terminal with its stdout in a file; `stdout` of the result is what the
/// terminal got.
fn slowly(sandbox: &Sandbox, arguments: &str, out: &str) -> Option<Run> {
    if !strace::available() {
        return None;
    }
    let out = sandbox.top().join(out);
    at_a_terminal(
        sandbox,
        &format!("{SLOWLY} $checkpoint {arguments} >{}", out.display()),
    )
}

fn shows_progress(run: &Run) -> bool {
    ["scanning", "reading", "verifying", "packing", "\x1b[2K"]
        .iter()
        .any(|word| run.stdout.contains(word))
}

#[test]
fn slow_work_shows_how_far_it_is_and_clears_it_away() {
    let sandbox = with_files();
    let Some(run) = slowly(&sandbox, "create -r slow -s test", "out") else {
        return;
    };
    let run = run.success().stdout_has(&format!("/{FILES} files"));
    assert!(
        run.stdout.contains("reading ") && run.stdout.contains(" %, "),
        "{run}"
    );
    assert!(run.stdout.contains("s left"), "no time is foretold\n{run}");
    let shown = screen(&run.stdout);
    assert_eq!(shown.len(), 1, "more than the last line stays: {shown:?}");
    assert!(
        shown[0].starts_with(&format!("slow (test): +{FILES} ")),
        "{shown:?}"
    );
    assert!(
        !run.stdout.contains("\x1b[?25l"),
        "the cursor was hidden\n{run}"
    );
    let id = std::fs::read_to_string(sandbox.top().join("out")).unwrap();
    assert_eq!(
        id,
        format!("{}\n", sandbox.listed_ids()[0]),
        "stdout is not the id alone"
    );
}

#[test]
fn a_slow_verify_says_so_too() {
    let sandbox = with_files();
    sandbox.create("first");
    let whole = sandbox.ok("verify --full").stdout;
    let slow = SLOWLY
        .replace("openat", "pread64,openat")
        .replace("8000", "2500");
    if !strace::available() {
        return;
    }
    let Some(run) = at_a_terminal(&sandbox, &format!("{slow} $checkpoint verify --full")) else {
        return;
    };
    let run = run.success().stdout_has("verifying ");
    let shown = screen(&run.stdout);
    assert_eq!(shown.join("\n"), whole.trim_end());
}

#[test]
fn quick_work_shows_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let Some(run) = at_a_terminal(&sandbox, "$checkpoint create -r quick") else {
        return;
    };
    assert!(!shows_progress(&run.clone().success()), "{run}");
}

#[test]
fn nothing_is_shown_to_whoever_asked_for_silence_or_reads_a_document() {
    for arguments in ["create -q", "create --json"] {
        let sandbox = with_files();
        let Some(run) = slowly(&sandbox, arguments, "out") else {
            return;
        };
        assert_eq!(run.clone().success().stdout, "", "{arguments}\n{run}");
    }
}

#[test]
fn nothing_is_shown_where_no_terminal_can_show_it() {
    if !strace::available() {
        return;
    }
    let sandbox = with_files();
    let wrapper: Vec<&str> = SLOWLY.split(' ').collect();
    let piped = sandbox
        .run_under(&wrapper, &["create", "-r", "piped"])
        .success();
    assert!(
        piped.stderr.starts_with("piped (cli): +") && piped.stderr.lines().count() == 1,
        "{piped}"
    );
    let sandbox = with_files();
    let Some(run) = slowly(&sandbox, "create -r dumb", "out") else {
        return;
    };
    assert!(shows_progress(&run), "{run}");
    let sandbox = with_files();
    let line = format!("TERM=dumb {SLOWLY} $checkpoint create -r dumb >/dev/null");
    let run = at_a_terminal(&sandbox, &line)
        .expect("a terminal")
        .success();
    assert!(
        !shows_progress(&run) && run.stdout.starts_with("dumb (cli): +"),
        "{run}"
    );
}

/// Interrupts a command once it shows this word, and checks what the terminal shows afterwards.
fn interrupt_at(sandbox: &Sandbox, word: &str, command: &str, state: &str) {
    let line = format!(
        "{command} & until grep -qs {word} $typescript; do sleep 0.05; done; \
         kill -INT $(pgrep -P $!); wait $!; echo code $?"
    );
    let Some(run) = at_a_terminal(sandbox, &line) else {
        return;
    };
    let mut shown = screen(&run.clone().success().stdout);
    // The tracer may complain that the process it delayed is gone.
    shown.retain(|line| !line.starts_with("/usr/bin/strace: "));
    assert_eq!(
        shown,
        [
            format!("checkpoint: interrupted: {state}"),
            "code 130".to_owned()
        ],
        "{run}"
    );
}

#[test]
fn an_interrupt_clears_the_line_and_says_one_line() {
    if !strace::available() {
        return;
    }
    let sandbox = with_files();
    interrupt_at(
        &sandbox,
        "reading",
        &format!("{SLOWLY} $checkpoint create"),
        "no checkpoint was made",
    );
    assert_eq!(sandbox.listed_ids(), [""; 0]);
}

#[test]
fn an_interrupt_ends_work_that_looks_for_none_only_after_the_line_is_gone() {
    if !strace::available() {
        return;
    }
    let sandbox = with_files();
    for number in 0..4 {
        sandbox.write("large", format!("{number}").repeat(10_000));
        sandbox.create("one of several");
    }
    let slow = SLOWLY
        .replace("openat", "fsync,fdatasync")
        .replace("8000", "1000000");
    interrupt_at(
        &sandbox,
        "packing",
        &format!("{slow} $checkpoint prune --keep 1 --yes"),
        "'checkpoint prune' again frees the rest",
    );
    sandbox.ok("verify --full");
}
