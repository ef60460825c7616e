//! Tests of the interface, which hold for either form of it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make and break files directly"
)]

use std::io;

use super::*;

#[test]
fn both_forms_of_a_rename_keep_what_stands_at_the_new_name() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("a"), "1").unwrap();
    std::fs::write(temp.path().join("b"), "2").unwrap();
    let dir = Dir::open_root(temp.path()).unwrap();
    let error = dir.rename_no_replace(b"a", &dir, b"b").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    dir.rename_exchange(b"a", &dir, b"b").unwrap();
    assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"2");
    exchange_by_renames(&dir, b"a", &dir, b"b").unwrap();
    assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"1");
    assert_eq!(dir.list().unwrap().len(), 2);
}

#[test]
fn a_file_is_flushed_by_its_name_and_nothing_else_is() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("f"), "1").unwrap();
    std::fs::create_dir(temp.path().join("d")).unwrap();
    let dir = Dir::open_root(temp.path()).unwrap();
    dir.sync_file(b"f").unwrap();
    assert_eq!(
        dir.sync_file(b"d").unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert_eq!(
        dir.sync_file(b"none").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn no_directory_is_opened_through_a_symlink() {
    #[cfg(unix)]
    {
        use crate::model::state::rel_path::RelPath;
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("real/in")).unwrap();
        std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        assert!(is_absent(
            &dir.open_child(b"link", Access::Read).unwrap_err()
        ));
        for access in [Access::Read, Access::Search] {
            let path = RelPath::new(b"link/in").unwrap();
            assert!(is_absent(&dir.open_below(&path, access).unwrap_err()));
            assert!(
                dir.open_below(&RelPath::new(b"real/in").unwrap(), access)
                    .is_ok()
            );
        }
    }
}

#[test]
fn a_reason_has_no_number_and_starts_lower_case() {
    let text = reason(&io::Error::from_raw_os_error(2));
    assert!(!text.contains("os error"), "{text}");
    assert!(text.starts_with(|c: char| c.is_lowercase()), "{text}");
}
