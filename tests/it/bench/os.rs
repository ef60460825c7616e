//! What differs between systems: names as bytes, modes, links, identities, and how a process ends.
//!
//! Windows has no modes: a file that can be written to counts as 0644, another as 0444.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

#[cfg(unix)]
pub use self::unix::*;
#[cfg(not(unix))]
pub use self::windows::*;

#[cfg(unix)]
mod unix {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::ExitStatusExt as _;

    use super::{ExitStatus, Metadata, OsStr, Path, PathBuf, fs};

    pub fn bytes_of(name: &OsStr) -> Vec<u8> {
        name.as_bytes().to_vec()
    }

    pub fn path_of(bytes: &[u8]) -> PathBuf {
        std::ffi::OsString::from_vec(bytes.to_vec()).into()
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

    pub fn symlink(target: &Path, path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::symlink(target, path)
    }

    /// Whether no mode keeps this user out.
    pub fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// The exit code, or 128 plus the signal that ended the program.
    pub fn exit_code(status: ExitStatus) -> i32 {
        let code = status.code();
        code.unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    pub fn kill(pid: u32) {
        let pid = i32::try_from(pid).ok();
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
mod windows {
    use super::{ExitStatus, Metadata, OsStr, Path, PathBuf, fs};

    pub fn bytes_of(name: &OsStr) -> Vec<u8> {
        name.to_str().expect("Unicode").replace('\\', "/").into()
    }

    pub fn path_of(bytes: &[u8]) -> PathBuf {
        std::str::from_utf8(bytes).expect("Unicode").into()
    }

    pub fn mode(meta: &Metadata) -> u32 {
        match (meta.is_dir(), meta.permissions().readonly()) {
            (true, _) => 0o755,
            (false, true) => 0o444,
            (false, false) => 0o644,
        }
    }

    pub fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
        let mut permissions = path.metadata()?.permissions();
        permissions.set_readonly(mode & 0o200 == 0);
        fs::set_permissions(path, permissions)
    }

    /// What changes when a file is written or replaced.
    pub fn stamp(meta: &Metadata) -> (u64, [i64; 4]) {
        use std::os::windows::fs::MetadataExt as _;
        let times = [meta.last_write_time(), meta.creation_time()];
        let [written, made] = times.map(u64::cast_signed);
        (0, [written, made, 0, 0])
    }

    pub fn symlink(target: &Path, path: &Path) -> std::io::Result<()> {
        std::os::windows::fs::symlink_file(target, path)
    }

    /// Whether no mode keeps this user out.
    pub fn is_root() -> bool {
        false
    }

    pub fn exit_code(status: ExitStatus) -> i32 {
        status.code().unwrap_or(-1)
    }

    pub fn kill(pid: u32) {
        let pid = pid.to_string();
        let _ = std::process::Command::new("taskkill")
            .args(["/F", "/PID", &pid])
            .status();
    }
}

/// The canonical path in the spelling that users see.
pub fn canonical(path: &Path) -> PathBuf {
    let real = path.canonicalize().expect("it exists");
    let text = real.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    text.map_or(real.clone(), PathBuf::from)
}
