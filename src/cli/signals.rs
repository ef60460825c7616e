//! Signals: end the process at once, unless it is in the middle of a change; then ask it to stop
//! and clean up.

use std::sync::Arc;

use crate::base::interrupt::Interrupt;

/// The signals that end a program. On Windows, the first one is Ctrl-C.
#[cfg(unix)]
const ENDING: [i32; 3] = [
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGHUP,
];
#[cfg(not(unix))]
const ENDING: [i32; 2] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];

/// Installs handlers for the signals that end a program.
pub fn install(interrupt: &Interrupt) {
    for signal in ENDING {
        let number = usize::try_from(signal).unwrap_or_default();
        // If a handler cannot be installed, the default stays; the journal covers restores.
        let _ = signal_hook::flag::register_conditional_default(
            signal,
            Arc::clone(interrupt.unshielded()),
        );
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(interrupt.flag()), number);
    }
}

/// Ends this process as the signal would have.
pub fn end_by(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Ends this process with 0, whatever its threads do; for a hook, which must stop no agent.
#[expect(
    clippy::exit,
    reason = "threads that are still at work must not be waited for"
)]
pub fn end_at_once() -> ! {
    std::process::exit(0)
}
