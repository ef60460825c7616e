//! Runs a call again while another program has the file open: on Windows, virus scanners, indexers
//! and readers keep a file for a moment from being renamed, replaced or removed.

use std::io;

/// Runs the call once; on Windows again for up to 0.6 s while it fails for a file in use.
pub fn while_in_use<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for milliseconds in WAITS {
        match call() {
            Err(why) if why.raw_os_error().is_some_and(is_in_use) => {
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
            }
            done => return done,
        }
    }
    call()
}

#[cfg(windows)]
const WAITS: [u64; 7] = [1, 5, 15, 40, 90, 150, 300];
#[cfg(not(windows))]
const WAITS: [u64; 0] = [];

/// Access denied, sharing violation, lock violation, delete pending: System Error Codes of Windows.
fn is_in_use(code: i32) -> bool {
    matches!(code, 5 | 32 | 33 | 303)
}
