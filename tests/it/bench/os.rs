//! What differs between systems: names as bytes, modes, links, identities, signals.
//!
//! On Windows the names of the standard library's extensions for Unix stand for what is nearest:
//! a file that can be written to counts as 0644, another as 0444, and what Windows has not fails.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub use self::unix::*;
#[cfg(not(unix))]
pub use self::windows::*;

#[derive(Debug, Clone, Copy)]
pub enum Signal {
    Interrupt,
    Terminate,
    Kill,
    Stop,
    Continue,
    HangUp,
}

/// The bytes of a name, with slashes.
pub fn bytes_of(name: &OsStr) -> Vec<u8> {
    let bytes = name.as_bytes();
    if cfg!(windows) {
        let of_byte = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
        return bytes.iter().map(of_byte).collect();
    }
    bytes.to_vec()
}

pub fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

pub fn mode(meta: &Metadata) -> u32 {
    meta.mode() & 0o7777
}

pub fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// What changes when a file is written, replaced or touched.
pub fn stamp(meta: &Metadata) -> (u64, [i64; 4]) {
    let times = [
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ];
    (meta.ino(), times)
}

/// Memory where there is much of it, as it saves a third of the time; the disk where every case is tried
/// or `TMPDIR` names a place.
pub fn fastest_temp_dir() -> PathBuf {
    #[cfg(target_os = "linux")]
    if !super::sample::is_full() && std::env::var_os("TMPDIR").is_none() {
        let room = |at: &rustix::fs::StatVfs| at.f_bavail * at.f_frsize;
        if rustix::fs::statvfs("/dev/shm").is_ok_and(|at| room(&at) > 4 << 30) {
            return "/dev/shm".into();
        }
    }
    std::env::temp_dir()
}

pub fn kill(pid: u32) {
    signal(pid, Signal::Kill);
}

/// Whether this process, and so what it starts, ignores a signal of this number; a line is printed
/// then.
pub fn ignores(number: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_so = ignored.is_some_and(|mask| mask >> (number - 1) & 1 == 1);
    if is_so {
        super::skipped(&format!(
            "signal {number} is ignored here, as in the background of a script"
        ));
    }
    is_so
}

/// Waits for something that happens within seconds; returns whether it did.
pub fn wait(is_so: &dyn Fn() -> bool) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        is_so()
    })
}

/// Waits until there is no process of this number, as far as the system tells.
pub fn wait_for_end(number: &str) {
    let stat = format!("/proc/{}/stat", number.trim());
    let is_gone = || fs::read_to_string(&stat).map_or(true, |state| state.contains(") Z "));
    assert!(wait(&is_gone), "{number} goes on");
}

#[cfg(unix)]
mod unix {
    pub use std::os::unix::ffi::{OsStrExt, OsStringExt};
    pub use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
    use std::os::unix::process::ExitStatusExt as _;

    use std::process::ExitStatus;

    use rustix::process;

    use super::Signal;

    /// Whether no mode keeps this user out.
    pub fn is_root() -> bool {
        process::geteuid().is_root()
    }

    /// The exit code, or 128 plus the signal that ended the program.
    pub fn exit_code(status: ExitStatus) -> i32 {
        let code = status.code();
        code.unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    /// Sends a signal, if the process is still there.
    pub fn signal(pid: u32, signal: Signal) {
        let signal = match signal {
            Signal::Interrupt => process::Signal::INT,
            Signal::Terminate => process::Signal::TERM,
            Signal::Kill => process::Signal::KILL,
            Signal::Stop => process::Signal::STOP,
            Signal::Continue => process::Signal::CONT,
            Signal::HangUp => process::Signal::HUP,
        };
        let pid = i32::try_from(pid).ok();
        if let Some(pid) = pid.and_then(process::Pid::from_raw) {
            let _ = process::kill_process(pid, signal);
        }
    }
}

#[cfg(not(unix))]
mod windows {
    use std::ffi::{OsStr, OsString};
    use std::fs::{Metadata, Permissions};
    use std::io::{Error, ErrorKind, Result};
    use std::os::windows::fs::{MetadataExt as _, symlink_dir, symlink_file};
    use std::path::Path;
    use std::process::{Command, ExitStatus};

    use super::Signal;

    pub trait OsStrExt {
        fn from_bytes(bytes: &[u8]) -> &OsStr;
        fn as_bytes(&self) -> &[u8];
    }

    impl OsStrExt for OsStr {
        fn from_bytes(bytes: &[u8]) -> &OsStr {
            OsStr::new(std::str::from_utf8(bytes).expect("names of any bytes are Unix's own"))
        }

        fn as_bytes(&self) -> &[u8] {
            self.to_str().expect("Unicode").as_bytes()
        }
    }

    pub trait OsStringExt {
        fn into_vec(self) -> Vec<u8>;
    }

    impl OsStringExt for OsString {
        fn into_vec(self) -> Vec<u8> {
            self.as_bytes().to_vec()
        }
    }

    /// Times count from the beginning of 1601, seconds apart from nanoseconds.
    pub trait MetadataExt {
        fn mode(&self) -> u32;
        fn ino(&self) -> u64;
        fn uid(&self) -> u32;
        fn gid(&self) -> u32;
        fn mtime(&self) -> i64;
        fn mtime_nsec(&self) -> i64;
        fn ctime(&self) -> i64;
        fn ctime_nsec(&self) -> i64;
    }

    const TICKS: u64 = 10_000_000;

    impl MetadataExt for Metadata {
        fn mode(&self) -> u32 {
            let of_kind = if self.is_dir() { 0o755 } else { 0o644 };
            let is_writable = self.is_dir() || !self.permissions().readonly();
            if is_writable { of_kind } else { 0o444 }
        }

        fn ino(&self) -> u64 {
            0
        }

        fn uid(&self) -> u32 {
            0
        }

        fn gid(&self) -> u32 {
            0
        }

        fn mtime(&self) -> i64 {
            (self.last_write_time() / TICKS).cast_signed()
        }

        fn mtime_nsec(&self) -> i64 {
            (self.last_write_time() % TICKS * 100).cast_signed()
        }

        fn ctime(&self) -> i64 {
            (self.creation_time() / TICKS).cast_signed()
        }

        fn ctime_nsec(&self) -> i64 {
            (self.creation_time() % TICKS * 100).cast_signed()
        }
    }

    pub trait PermissionsExt {
        fn from_mode(mode: u32) -> Permissions;
        fn mode(&self) -> u32;
    }

    impl PermissionsExt for Permissions {
        fn from_mode(mode: u32) -> Permissions {
            let any = std::env::current_exe().and_then(|path| path.metadata());
            let mut permissions = any.expect("the test itself").permissions();
            permissions.set_readonly(mode & 0o200 == 0);
            permissions
        }

        fn mode(&self) -> u32 {
            if self.readonly() { 0o444 } else { 0o644 }
        }
    }

    pub fn symlink(target: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<()> {
        let (target, path) = (target.as_ref(), path.as_ref());
        let there = path.parent().unwrap_or(path).join(target);
        if there.is_dir() {
            return symlink_dir(target, path);
        }
        symlink_file(target, path)
    }

    pub fn chown(_: impl AsRef<Path>, _: Option<u32>, _: Option<u32>) -> Result<()> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    pub use chown as lchown;

    /// Whether no mode keeps this user out.
    pub fn is_root() -> bool {
        false
    }

    pub fn exit_code(status: ExitStatus) -> i32 {
        status.code().unwrap_or(-1)
    }

    pub fn signal(pid: u32, signal: Signal) {
        assert!(matches!(signal, Signal::Kill), "signals are Unix's own");
        let pid = pid.to_string();
        let _ = Command::new("taskkill").args(["/F", "/PID", &pid]).status();
    }
}

/// Puts the program into a folder under its name, by a link where there are some.
pub fn installed(program: &Path, folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).expect("a directory can be made");
    let place = folder.join(format!("checkpoint{}", std::env::consts::EXE_SUFFIX));
    if cfg!(windows) {
        fs::copy(program, &place).expect("a program can be copied");
    } else {
        symlink(program, &place).expect("a link can be made");
    }
    place
}

/// A path with the separators of this system.
pub fn native(path: PathBuf) -> PathBuf {
    if cfg!(windows) {
        return path.components().collect();
    }
    path
}

/// The canonical path in the spelling that users see.
pub fn canonical(path: &Path) -> PathBuf {
    let real = path.canonicalize().expect("it exists");
    let text = real.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    text.map_or(real.clone(), PathBuf::from)
}
