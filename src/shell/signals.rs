//! Signals: end the process at once, unless it is in the middle of a change; then ask it to stop
//! and clean up.

#[cfg(unix)]
use std::io::Read as _;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(unix)]
use signal_hook::consts::{
    SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXFSZ,
};
#[cfg(unix)]
use signal_hook::{SigId, flag, low_level};

use crate::base::Interrupt;
#[cfg(unix)]
use crate::base::read_regular;

/// Installs handlers for the signals that end a program. Under `nohup`, HUP stays ignored, for
/// children too.
#[cfg(unix)]
pub fn install(interrupt: &Interrupt) {
    let is_ignored = ignored();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    if limit.current.is_some() && !is_ignored(&SIGXFSZ) {
        // A write beyond the limit then fails as one on a full disk does.
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        let number = usize::try_from(signal).unwrap_or_default();
        // If a handler cannot be installed, the default stays; the journal covers restores.
        let _ = flag::register_conditional_default(signal, Arc::clone(interrupt.unshielded()));
        let _ = flag::register_usize(signal, Arc::clone(interrupt.flag()), number);
    }
}

/// Calls back, on a thread of its own, once a signal asks to stop.
#[cfg(unix)]
pub fn on_stop(_: &Interrupt, then: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let (mut told, tell) = UnixStream::pair()?;
    let is_ignored = ignored();
    let signals = [SIGINT, SIGTERM, SIGHUP].into_iter();
    for signal in signals.filter(|signal| !is_ignored(signal)) {
        low_level::pipe::register(signal, tell.try_clone()?)?;
    }
    std::thread::spawn(move || {
        let _ = told.read(&mut [0]);
        then();
    });
    Ok(())
}

/// Asks a process to stop.
///
/// # Errors
/// There is no such process, or it is another user's.
#[cfg(unix)]
pub fn ask_to_stop(process: i32) -> std::io::Result<()> {
    use rustix::process::kill_process;
    let process =
        rustix::process::Pid::from_raw(process).ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(kill_process(process, rustix::process::Signal::TERM)?)
}

/// Returns what tells whether this process ignores a signal.
#[cfg(unix)]
fn ignored() -> impl Fn(&i32) -> bool {
    let status = read_regular::open(Path::new("/proc/self/status"));
    let status = status.and_then(std::io::read_to_string).unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    move |signal: &i32| ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 == 1)
}

/// Wakes a wait for children, when one of them ends or stops.
#[cfg(unix)]
pub struct Wake {
    pipe: UnixStream,
    actions: Vec<SigId>,
    /// Signals for the child alone, and whether each came.
    for_child: Vec<(i32, Arc<AtomicBool>)>,
}

#[cfg(unix)]
impl Wake {
    /// To be made before the child. If it runs in our place, signals are for it: what only ends a program
    /// is passed on, and what the terminal sends to both is not obeyed here.
    pub fn new(is_in_place: bool) -> std::io::Result<Self> {
        let (pipe, end) = UnixStream::pair()?;
        let mut wake = Self {
            pipe,
            actions: Vec::new(),
            for_child: Vec::new(),
        };
        let is_ignored = is_in_place.then(ignored);
        let is_caught = |signal: &i32| is_ignored.as_ref().is_some_and(|is_so| !is_so(signal));
        let signals = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT].into_iter();
        for signal in signals.filter(is_caught) {
            let came = Arc::default();
            let is_noted = flag::register(signal, Arc::clone(&came))?;
            let wakes = low_level::pipe::register(signal, end.try_clone()?)?;
            wake.actions.extend([is_noted, wakes]);
            if signal != SIGQUIT {
                wake.for_child.push((signal, came));
            }
        }
        wake.actions.push(low_level::pipe::register(SIGCHLD, end)?);
        Ok(wake)
    }

    /// Returns the signals that came for the child since the last call.
    pub fn for_child(&self) -> impl Iterator<Item = i32> {
        let came = self.for_child.iter();
        came.filter_map(|(signal, came)| came.swap(false, Ordering::SeqCst).then_some(*signal))
    }

    /// Waits for a signal, no longer than the limit.
    pub fn wait(&self, limit: Duration) {
        let _ = self.pipe.set_read_timeout(Some(limit));
        let _ = (&self.pipe).read(&mut [0; 64]);
    }
}

#[cfg(unix)]
impl Drop for Wake {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            low_level::unregister(action);
        }
    }
}

/// Time between two looks at children, whose end is no signal here.
#[cfg(not(unix))]
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

#[cfg(not(unix))]
pub struct Wake;

#[cfg(not(unix))]
impl Wake {
    pub fn new(_: bool) -> std::io::Result<Self> {
        Ok(Self)
    }

    pub fn for_child(&self) -> impl Iterator<Item = i32> {
        std::iter::empty()
    }

    pub fn wait(&self, limit: Duration) {
        std::thread::sleep(limit.min(BETWEEN_LOOKS));
    }
}

/// Stops this process as Ctrl-Z does; returns when it goes on.
#[cfg(unix)]
pub fn stop() {
    let _ = low_level::emulate_default_handler(SIGTSTP);
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

/// Time between two looks at whether Ctrl-C came.
#[cfg(not(unix))]
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// Calls back, on a thread of its own, once Ctrl-C asks to stop.
#[cfg(not(unix))]
pub fn on_stop(interrupt: &Interrupt, then: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let interrupt = interrupt.clone();
    std::thread::spawn(move || {
        while interrupt.check().is_ok() {
            std::thread::sleep(PAUSE);
        }
        then();
    });
    Ok(())
}

/// Windows has no signal for another process.
#[cfg(not(unix))]
pub fn ask_to_stop(_: i32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Ends this process as the signal would have.
#[cfg(unix)]
pub fn end_by(signal: i32) {
    let _ = low_level::emulate_default_handler(signal);
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
