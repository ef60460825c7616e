//! Tests of the interface, which hold for either form of it.

use std::io;

use super::*;
use crate::base::tests::place;

#[test]
fn both_forms_of_a_rename_keep_what_stands_at_the_new_name() {
    let temp = place("a=1 b=2");
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
    let temp = place("f=1 d/");
    let dir = Dir::open_root(temp.path()).unwrap();
    dir.sync_file(b"f").unwrap();
    let kinds = [&b"d"[..], b"none"].map(|name| dir.sync_file(name).unwrap_err().kind());
    assert_eq!(
        kinds,
        [io::ErrorKind::InvalidInput, io::ErrorKind::NotFound]
    );
}

#[cfg(unix)]
#[test]
fn no_directory_is_opened_through_a_symlink() {
    use crate::model::tests::path;

    let temp = place("real/in/ link@real");
    let dir = Dir::open_root(temp.path()).unwrap();
    let refused = dir.open_child(b"link", Access::Read);
    assert!(is_absent(&refused.unwrap_err()));
    for access in [Access::Read, Access::Search] {
        let refused = dir.open_below(&path("link/in"), access);
        assert!(is_absent(&refused.unwrap_err()));
        assert!(dir.open_below(&path("real/in"), access).is_ok());
    }
}

#[test]
fn a_reason_has_no_number_and_starts_lower_case() {
    let text = reason(&io::Error::from_raw_os_error(2));
    assert!(!text.contains("os error"), "{text}");
    assert!(text.starts_with(|c: char| c.is_lowercase()), "{text}");
}
