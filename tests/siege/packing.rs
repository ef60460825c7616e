//! Scenarios whose refs plain git has packed.

use crate::bench::Git;
use crate::field::Field;
use crate::scenario::edited;

pub fn packed(field: &Field) {
    edited(field);
    let git = Git::find(&field.home()).expect("these scenarios need git");
    let store = field.store().display().to_string();
    git.output(&["--git-dir", &store, "pack-refs", "--all"]);
    let is_packed = field.store().join("packed-refs").exists();
    assert!(is_packed, "git packed nothing");
}
