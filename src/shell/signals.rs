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
#[cfg(not(unix))]
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(unix)]
use signal_hook::consts::{
    SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXFSZ,
};
#[cfg(unix)]
use signal_hook::iterator::{backend::SignalDelivery, exfiltrator::WithOrigin};
#[cfg(unix)]
use signal_hook::low_level::siginfo::Origin;
#[cfg(unix)]
use signal_hook::{flag, low_level};

use crate::base::Interrupt;
#[cfg(unix)]
use crate::base::read_regular;

/// Installs handlers for the signals that end a program. Under `nohup`, HUP stays ignored, for
/// children too; with `keep_ignored` each signal does, as in the background of a script.
#[cfg(unix)]
pub fn install(interrupt: &Interrupt, keep_ignored: bool) {
    let is_ignored = ignored();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    if limit.current.is_some() && !is_ignored(&SIGXFSZ) {
        // A write beyond the limit then fails as one on a full disk does.
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
    let is_caught = |signal: &i32| {
        let may_stay = keep_ignored || *signal == SIGHUP;
        !may_stay || !is_ignored(signal)
    };
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_caught) {
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

/// Asks a process to end; one that was stopped goes on for it.
///
/// # Errors
/// There is no such process, or it is another user's.
#[cfg(unix)]
pub fn ask_to_stop(process: i32) -> std::io::Result<()> {
    use rustix::process::kill_process;
    let process =
        rustix::process::Pid::from_raw(process).ok_or(std::io::ErrorKind::InvalidInput)?;
    kill_process(process, rustix::process::Signal::TERM)?;
    Ok(kill_process(process, rustix::process::Signal::CONT)?)
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
pub struct Wake(SignalDelivery<UnixStream, WithOrigin>);

#[cfg(unix)]
impl Wake {
    /// To be made before the child. If it runs in our place, signals are for it.
    pub fn new(is_in_place: bool) -> std::io::Result<Self> {
        let (pipe, end) = UnixStream::pair()?;
        let is_ignored = is_in_place.then(ignored);
        let is_caught = |signal: &i32| is_ignored.as_ref().is_some_and(|is_so| !is_so(signal));
        let signals = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT].into_iter();
        let signals = signals.filter(is_caught).chain([SIGCHLD]);
        SignalDelivery::with_pipe(pipe, end, WithOrigin::default(), signals).map(Self)
    }

    /// Returns the signals that came for the child since the last call. What Ctrl-C and Ctrl-\ send
    /// reaches it from the terminal; what it sends itself is not for it.
    pub fn for_child(&mut self, child: u32) -> impl Iterator<Item = i32> {
        self.0.pending().filter_map(
            move |Origin {
                      signal, process, ..
                  }| {
                let sender = process.and_then(|sender| u32::try_from(sender.pid).ok());
                let is_typed = [SIGINT, SIGQUIT].contains(&signal) && sender.is_none();
                let is_meant = signal != SIGCHLD && !is_typed && sender != Some(child);
                is_meant.then_some(signal)
            },
        )
    }

    /// Waits for a signal, no longer than the limit.
    pub fn wait(&self, limit: Duration) {
        let mut pipe = self.0.get_read();
        let _ = pipe.set_read_timeout(Some(limit));
        let _ = pipe.read(&mut [0; 64]);
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

    pub fn for_child(&mut self, _: u32) -> impl Iterator<Item = i32> {
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
pub fn install(interrupt: &Interrupt, _: bool) {
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
