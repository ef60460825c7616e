//! Signals: end the process at once, unless it is in the middle of a change; then ask it to stop
//! and clean up.

#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(not(unix))]
use std::sync::atomic::Ordering;

use crate::base::Interrupt;
#[cfg(unix)]
use crate::base::read_regular;

/// Installs handlers for the signals that end a program.
#[cfg(unix)]
pub fn install(interrupt: &Interrupt) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    if limit.current.is_some() && !is_ignored(SIGXFSZ) {
        // A write beyond the limit then fails as one on a full disk does.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal).unwrap_or_default();
        // If a handler cannot be installed, the default stays; the journal covers restores.
        let _ = signal_hook::flag::register_conditional_default(
            signal,
            Arc::clone(interrupt.unshielded()),
        );
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(interrupt.flag()), number);
    }
}

/// Whether this process was started with a signal ignored, which its children inherit.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = read_regular::open(Path::new("/proc/self/status"));
    let status = status.and_then(std::io::read_to_string).unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 == 1)
}

/// The number that stands for Ctrl-C.
#[cfg(not(unix))]
const INTERRUPT: i32 = 2;

/// Installs a handler for Ctrl-C, Ctrl-Break and the end of the console or of the session.
#[cfg(not(unix))]
pub fn install(interrupt: &Interrupt) {
    let interrupt = interrupt.clone();
    // If it cannot be installed, the default stays; the journal covers restores.
    let _ = ctrlc::set_handler(move || {
        if interrupt.unshielded().load(Ordering::SeqCst) {
            end_by(INTERRUPT);
        }
        interrupt.set(INTERRUPT.unsigned_abs() as usize);
    });
}

/// Ends this process as the signal would have.
#[cfg(unix)]
pub fn end_by(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Ends this process with the exit code that a shell of Unix gives for the signal.
#[cfg(not(unix))]
#[expect(clippy::exit, reason = "threads at work are not waited for")]
pub fn end_by(signal: i32) {
    std::process::exit(128 + signal)
}

/// Ends this process with 0, whatever its threads do; for a hook, which must stop no agent.
#[expect(clippy::exit, reason = "threads at work are not waited for")]
pub fn end_at_once() -> ! {
    std::process::exit(0)
}
