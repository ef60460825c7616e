//! Signals: the default death while nothing is half-made, a request to stop and clean up while something is.

use std::sync::Arc;

use crate::base::interrupt::Interrupt;

/// Installs handlers for what people and systems send to end a program.
pub fn install(interrupt: &Interrupt) {
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let number = usize::try_from(signal).unwrap_or_default();
        // Where a handler cannot be had the default stays, and the journal covers a restore that dies.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(interrupt.unshielded()));
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
