//! A private mount namespace that is gone with this process, and the right to mount in it.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::bench::limit;

const MARK: &str = "SIEGE_MOUNTS_ALONE";
const PATIENCE_TICKS: u32 = 200;
const TICK: Duration = Duration::from_millis(10);

/// Script that mounts memory belonging to the namespace, then runs the program.
const SCRIPT: &str = r#"mount -t tmpfs -o mode=1777 none /dev/shm; exec "$0" "$@""#;

/// Starts this program again in its own mount namespace: however it ends, no mount, loop device or
/// image stays. Without the right to do so it continues as it is.
pub fn alone() {
    let may = rustix::process::geteuid().is_root()
        && limit::output(Command::new("unshare").args(["-m", "true"]))
            .is_ok_and(|output| output.status.success());
    if is_alone() || !may {
        return;
    }
    let this = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", SCRIPT])
        .arg(this)
        .args(std::env::args_os().skip(1))
        .env(MARK, "1");
    let error = command.exec();
    eprintln!("unshare does not start: {error}");
}

fn is_alone() -> bool {
    std::env::var_os(MARK).is_some()
}

/// The reason why nothing can be mounted with these tools, if so.
pub fn refusal(tools: &[&str]) -> Option<String> {
    if !is_alone() {
        return Some("needs root and the right to mount".into());
    }
    let missing = tools
        .iter()
        .find(|tool| limit::output(Command::new(tool).arg("-V")).is_err())?;
    Some(format!("needs {missing}"))
}

pub fn mount(options: &str, what: &[&str], at: &Path) -> Result<(), String> {
    done(
        Command::new("mount")
            .args(["-o", options])
            .args(what)
            .arg(at),
    )
}

/// Gives a mounted file system more or less space.
pub fn remount(options: &str, at: &Path) -> Result<(), String> {
    done(
        Command::new("mount")
            .arg("-o")
            .arg(format!("remount,{options}"))
            .arg(at),
    )
}

/// Unmounts, with retries: a program that has just ended may hold on to it for a moment.
pub fn unmount(at: &Path) -> Result<(), String> {
    let mut last = Ok(());
    for _ in 0..PATIENCE_TICKS {
        last = done(Command::new("umount").arg(at));
        if last.is_ok() {
            return last;
        }
        std::thread::sleep(TICK);
    }
    last
}

/// Detaches it at once, even if it is still in use.
pub fn detach(at: &Path) {
    let _ = limit::output(Command::new("umount").arg("-l").arg(at));
}

pub fn done(command: &mut Command) -> Result<(), String> {
    let output = limit::output(command).map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", said.trim()))
    }
}
