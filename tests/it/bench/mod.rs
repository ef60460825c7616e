//! The bench for tests of the built program: a sandbox, pictures of directories, outside tools.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

pub mod answer;
pub mod cases;
pub mod damaged;
pub mod fixtures;
pub mod git;
pub mod limit;
#[cfg(feature = "mcp")]
pub mod mcp_client;
pub mod normalize;
pub mod os;
#[cfg(feature = "ui")]
pub mod page_client;
pub mod place;
pub mod recipe;
pub mod remote;
pub mod run;
pub mod sample;
pub mod sandbox;
pub mod screen;
pub mod strace;
pub mod terminal;
pub mod trace;
pub mod transcript;
pub mod tree;
pub mod watch;

pub use cases::cases;
pub use git::Git;
pub use recipe::Recipe;
pub use run::Run;
pub use sample::sample;
pub use sandbox::Sandbox;
pub use tree::Tree;

/// The value of an `Option`; where there is none, or a condition does not hold, the test ends: this
/// machine lacks something, of which a line is printed.
macro_rules! given {
    (if $holds:expr) => {
        if !$holds {
            return;
        }
    };
    ($some:expr) => {
        match $some {
            Some(value) => value,
            None => return,
        }
    };
}
pub(crate) use given;

/// Asserts that a text is what a file below `tests/it` holds; `UPDATE_SNAPSHOTS=1` writes it anew.
#[track_caller]
pub fn golden(file: impl AsRef<Path>, text: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).join(&file);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the file can be written");
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_default();
    let name = file.as_ref().display();
    assert_eq!(text, pinned, "UPDATE_SNAPSHOTS=1 writes {name} anew");
}

/// Reports why a test is skipped on this machine; `tests/skipped.rs` repeats it when all are done.
pub fn skipped(why: &str) {
    static LIST: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    println!("skipped: {why}");
    let list = LIST.get_or_init(|| {
        File::create(concat!(
            env!("CARGO_TARGET_TMPDIR"),
            "/skipped-",
            env!("CARGO_CRATE_NAME")
        ))
        .ok()
        .map(Mutex::new)
    });
    if let Some(list) = list {
        let this = std::thread::current();
        let line = format!(
            "{}: {why}\n",
            this.name()
                .filter(|name| *name != "main")
                .unwrap_or(env!("CARGO_CRATE_NAME"))
        );
        // Without the list the line above is all there is.
        let _ = list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(line.as_bytes());
    }
}
