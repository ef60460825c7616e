//! Signals: end the process at once, unless it is in the middle of a change; then ask it to stop
//! and clean up.

use std::sync::Arc;

use crate::base::interrupt::Interrupt;

/// Installs handlers for the signals that end a program.
pub fn install(interrupt: &Interrupt) {
    #[cfg(unix)]
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        let number = usize::try_from(signal).unwrap_or_default();
        // If a handler cannot be installed, the default stays; the journal covers restores.
        let _ = signal_hook::flag::register_conditional_default(
            signal,
            Arc::clone(interrupt.unshielded()),
        );
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(interrupt.flag()), number);
    }
    #[cfg(not(unix))]
    let _ = Arc::clone(interrupt.flag());
}

/// Ends this process as the signal would have.
pub fn end_by(signal: i32) {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    #[cfg(not(unix))]
    let _ = signal;
}

/// Ends this process with 0, whatever its threads do; for a hook, which must stop no agent.
#[expect(
    clippy::exit,
    reason = "threads that are still at work must not be waited for"
)]
pub fn end_at_once() -> ! {
    std::process::exit(0)
}
