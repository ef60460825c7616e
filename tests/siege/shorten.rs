//! A wrapper that lets a program read and write less than it requested, as any system may.
//!
//! The siege starts itself as `siege --shorten LIMIT PROGRAM ARGS…`: it traces the program
//! (ptrace(2)) and cuts the length of every call that reads from or writes to a file to LIMIT
//! bytes, or to half of what was requested if that is 0. After a few such calls one is let through:
//! the others of a long loop would show nothing new.

pub const ARGUMENT: &str = "--shorten";
pub const IS_POSSIBLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// The exit code, if the siege was started as this wrapper.
pub fn asked_for() -> Option<i32> {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some(ARGUMENT) {
        return None;
    }
    let limit = words
        .next()
        .and_then(|word| word.parse().ok())
        .expect("a number of bytes");
    Some(traced::run(limit, &words.collect::<Vec<_>>()))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod traced {
    pub fn run(_: u64, _: &[String]) -> i32 {
        panic!("calls are cut down on Linux on x86-64 only")
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traced {
    use std::collections::HashMap;
    use std::process::Command;

    use nix::libc::user_regs_struct;
    use nix::sys::ptrace::{self, Options};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::Pid;

    /// Script in which the program waits for its tracer before it starts.
    const WAITING: &str = "kill -STOP $$; exec \"$@\"";
    /// Lower bound on a length that is cut: a kernel counter takes eight bytes or none.
    const SHORTEST: u64 = 9;
    /// Calls of a thread that are cut in a row.
    const IN_A_ROW: u32 = 4;
    /// The first call of the program itself; before, shared libraries are loaded.
    const POLL: u64 = 7;

    /// Runs the program and gives its exit code.
    ///
    /// # Panics
    /// It cannot be started or traced.
    #[expect(
        clippy::zombie_processes,
        reason = "it is waited for as a process that is traced"
    )]
    pub fn run(limit: u64, words: &[String]) -> i32 {
        let child = Command::new("/bin/sh")
            .args(["-c", WAITING, "sh"])
            .args(words)
            .spawn()
            .expect("a shell can be started");
        let main = Pid::from_raw(i32::try_from(child.id()).expect("a number of a process"));
        waitpid(main, Some(WaitPidFlag::WUNTRACED)).expect("it stops");
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_EXITKILL;
        ptrace::seize(main, options).expect("it can be traced");
        ptrace::interrupt(main).expect("it can be stopped");
        nix::sys::signal::kill(main, Signal::SIGCONT).expect("it goes on");
        let (mut inside, mut row) = (HashMap::<Pid, Option<u64>>::new(), HashMap::new());
        let mut is_loaded = false;
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL)).expect("something is traced") {
                WaitStatus::Exited(pid, code) if pid == main => return code,
                WaitStatus::Signaled(pid, signal, _) if pid == main => return 128 + signal as i32,
                WaitStatus::PtraceSyscall(pid) => {
                    match inside.remove(&pid) {
                        None => {
                            is_loaded = is_loaded || calls(pid) == Some(POLL);
                            let row = row.entry(pid).or_insert(0);
                            let length = is_loaded.then(|| shorten(pid, limit, row));
                            inside.insert(pid, length.flatten());
                        }
                        Some(length) => give_back(pid, length),
                    }
                    go_on(pid, None);
                }
                // Stops of the tracing itself are reported as traps or with an event; all other
                // signals are the program's.
                WaitStatus::Stopped(pid, signal) => {
                    go_on(pid, (signal != Signal::SIGTRAP).then_some(signal));
                }
                WaitStatus::PtraceEvent(pid, ..) => go_on(pid, None),
                _ => {}
            }
        }
    }

    /// Continues a thread; one that was killed meanwhile is ignored.
    fn go_on(pid: Pid, signal: Option<Signal>) {
        let _ = ptrace::syscall(pid, signal);
    }

    fn calls(pid: Pid) -> Option<u64> {
        ptrace::getregs(pid).ok().map(|regs| regs.orig_rax)
    }

    /// Cuts the length at the entry of a call, the next of so many in a row; returns the requested
    /// one.
    fn shorten(pid: Pid, limit: u64, row: &mut u32) -> Option<u64> {
        let mut regs = ptrace::getregs(pid).ok()?;
        let fd = regs.rdi;
        let length = length_of(&mut regs)?;
        let asked = *length;
        let cut = if limit == 0 {
            asked / 2
        } else {
            limit.min(asked)
        };
        if asked < SHORTEST || cut == asked || !is_file(pid, fd) {
            return None;
        }
        *row = (*row + 1) % (IN_A_ROW + 1);
        if *row == 0 {
            return None;
        }
        *length = cut;
        ptrace::setregs(pid, regs).ok()?;
        Some(asked)
    }

    /// Restores the length at the end of a call, since programs rely on unchanged arguments.
    fn give_back(pid: Pid, length: Option<u64>) {
        let (Some(asked), Ok(mut regs)) = (length, ptrace::getregs(pid)) else {
            return;
        };
        if let Some(length) = length_of(&mut regs) {
            *length = asked;
            let _ = ptrace::setregs(pid, regs);
        }
    }

    /// The register with the length, for calls that may do less than requested. The numbers are
    /// those of x86-64.
    fn length_of(regs: &mut user_regs_struct) -> Option<&mut u64> {
        const READ: u64 = 0;
        const WRITE: u64 = 1;
        const PREAD: u64 = 17;
        const PWRITE: u64 = 18;
        const SENDFILE: u64 = 40;
        const COPY_RANGE: u64 = 326;
        match regs.orig_rax {
            READ | WRITE | PREAD | PWRITE => Some(&mut regs.rdx),
            SENDFILE => Some(&mut regs.r10),
            COPY_RANGE => Some(&mut regs.r8),
            _ => None,
        }
    }

    /// Whether it is a file: pipes and terminals are left alone.
    fn is_file(pid: Pid, fd: u64) -> bool {
        std::fs::metadata(format!("/proc/{pid}/fd/{fd}")).is_ok_and(|meta| meta.is_file())
    }
}
