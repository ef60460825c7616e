//! The siege: kills, starves and misleads the program everywhere, and checks that nothing is lost.
//! `README.md` says how; it runs on Linux, and without arguments it is a small sample.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::disallowed_methods,
        reason = "a test makes and breaks files directly, and says what it found"
    )
)]

#[cfg(target_os = "linux")]
#[path = "../it/bench/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the bench serves the other tests too"
)]
mod bench;

#[cfg(target_os = "linux")]
#[path = "scenes.rs"]
mod scenes;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    return scenes::main();
    #[cfg(not(target_os = "linux"))]
    std::process::ExitCode::SUCCESS
}
