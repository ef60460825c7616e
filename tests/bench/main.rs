//! The contest: this program against the shell recipe that it replaces, in turn, on the same trees.
//!
//! `cargo bench` runs it; `README.md` beside this file says what is compared and how.

#![cfg_attr(
    unix,
    expect(
        clippy::disallowed_methods,
        reason = "a benchmark makes its own trees, and reads clock and environment"
    )
)]

#[cfg(unix)]
mod contender;
#[cfg(unix)]
mod contest;
#[cfg(unix)]
mod job;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod trees;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    // `cargo test --all-targets` starts benchmarks too; cargo marks only a real `cargo bench`.
    let result = if std::env::args_os().len() < 2 {
        report::say("nothing to do without arguments: run `cargo bench`, or give --small");
        Ok(())
    } else {
        contest::run(&contest::Args::read())
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            report::say(&format!("the benchmark failed: {e:#}"));
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() {}
