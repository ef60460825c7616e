//! The contest: this program against the shell recipe that it replaces and against its peers, in
//! turn, on the same trees.
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
mod args;
#[cfg(unix)]
mod checks;
#[cfg(unix)]
mod child;
#[cfg(unix)]
mod contender;
#[cfg(unix)]
mod contest;
#[cfg(unix)]
mod figures;
#[cfg(unix)]
mod job;
#[cfg(unix)]
mod machine;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod scenes;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod trees;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let result = match words.first().and_then(|word| word.to_str()) {
        // `cargo test --all-targets` starts benchmarks too; cargo marks only a real `cargo bench`.
        None => {
            report::say("nothing to do without arguments: run `cargo bench`, or give --small");
            Ok(())
        }
        Some(child::FLAG) => child::run(&words[1..]),
        Some(_) => args::Args::read().and_then(|args| stage::run(&args)),
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
