//! A working directory behind FUSE, where a removed file stays as long as it is open.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Sandbox, given, limit, skipped};

/// A mount that ends with the test.
struct Mount(PathBuf);

impl Mount {
    fn of(source: &Path, place: &Path) -> Option<Self> {
        let mounted = limit::output(Command::new("bindfs").arg(source).arg(place));
        if !mounted.is_ok_and(|told| told.status.success()) {
            skipped("needs bindfs and the right to mount");
            return None;
        }
        Some(Self(place.to_path_buf()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = limit::output(Command::new("fusermount3").arg("-u").arg(&self.0));
    }
}

#[test]
fn a_restore_leaves_no_staging_directory_behind() {
    let sandbox = Sandbox::bare();
    let source = sandbox.top().join("source");
    std::fs::create_dir(&source).unwrap();
    let _mount = given!(Mount::of(&source, sandbox.root()));
    sandbox.write("a", "1").write("d/b", "1");
    let id = sandbox.create("one");
    sandbox.write("a", "2").write("d/c", "2");
    for has_c in [false, true, false, true] {
        let run = if has_c {
            sandbox.undo()
        } else {
            sandbox.restore(&id)
        }
        .success();
        assert!(!run.stderr.contains("warning"), "{run}");
        let entries = std::fs::read_dir(sandbox.root()).unwrap();
        let mut names: Vec<std::ffi::OsString> =
            entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            (names, sandbox.exists("d/c")),
            (vec!["a".into(), "d".into()], has_c),
            "{run}"
        );
    }
}
