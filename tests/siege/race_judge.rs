//! Checks after a race: nothing from outside was read, no user file is lost, nothing is stuck.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::field::Field;
use super::guard::{Guard, MARKER};
use super::race::TORN_LENS;
use super::tally::Tally;
use crate::bench::{Run, fixtures};

/// Checks that no object of the store contains anything of the decoys.
pub fn nothing_was_read(field: &Field) -> Result<(), String> {
    let is_theirs = |bytes: &[u8]| {
        bytes
            .windows(MARKER.len())
            .any(|window| window == MARKER.as_bytes())
    };
    if objects(field).iter().any(|bytes| is_theirs(bytes)) {
        Err("something from outside was captured".into())
    } else {
        Ok(())
    }
}

/// The bytes of all blobs, read by libgit2 instead of our program.
fn objects(field: &Field) -> BTreeSet<Vec<u8>> {
    let odb = git2::Odb::new().expect("an object database");
    let objects = field.store().join("objects");
    odb.add_disk_alternate(objects.to_str().expect("UTF-8"))
        .expect("a store has objects");
    let mut found = BTreeSet::new();
    let walked = odb.foreach(|id| {
        if let Ok(object) = odb.read(*id)
            && object.kind() == git2::ObjectType::Blob
        {
            found.insert(object.data().to_vec());
        }
        true
    });
    walked.expect("the objects can be listed");
    found
}

/// Checks the exit code: done, in part, refused, or failed because the staged files were swapped.
pub fn fair(run: &Run) -> Result<(), String> {
    let is_fair = matches!(run.code, 0 | 1 | 4 | 5) && !run.stderr.contains("panicked");
    if is_fair {
        Ok(())
    } else {
        Err("an unfair end".into())
    }
}

/// Checks that everything from before is in the directory or in the store, and no rewritten file is
/// a mixture.
pub fn whole(field: &Field, run: &Run, tally: &Tally) -> Result<(), String> {
    let mut known = objects(field);
    for path in fixtures::files_below(&field.work()) {
        known.extend(std::fs::read(path));
    }
    for dir in ["d0", "d1", "d2"] {
        for name in ["f", "g", "in/h", "in/i"] {
            let text = format!("three {dir}/{name}");
            if !known.contains(text.as_bytes()) {
                return Err(format!("{dir}/{name} as it was edited is nowhere any more"));
            }
        }
    }
    if !run.shown_command.contains("raced") || !matches!(run.code, 0 | 5) {
        return Ok(());
    }
    (0..TORN_LENS.len()).try_for_each(|at| steady(&captured(field, run, at)?, at, run, tally))
}

/// The content that a `create` captured of a file while it was rewritten.
fn captured(field: &Field, made: &Run, at: usize) -> Result<Vec<u8>, String> {
    let found = || {
        let store = git2::Repository::open_bare(field.store())?;
        let id = made.data()["id"].as_str().unwrap_or_default().to_owned();
        let entry = store
            .find_commit_by_prefix(&id)?
            .tree()?
            .get_path(Path::new(&format!("torn/{at}")))?;
        Ok(store.find_blob(entry.id())?.content().to_vec())
    };
    found().map_err(|error: git2::Error| format!("torn/{at}: {error}"))
}

/// Checks for mixtures. One kind goes unnoticed: the system stamps a file before it copies the
/// bytes of a write, so that a read in the middle of one single write sees no later stamp. Such a
/// mixture has the letters of two consecutive writes.
fn steady(bytes: &[u8], at: usize, run: &Run, tally: &Tally) -> Result<(), String> {
    let path = format!("torn/{at}");
    let letters: BTreeSet<u8> = bytes.iter().copied().collect();
    let letters = Vec::from_iter(letters);
    let warnings = run.json()["warnings"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is_told = warnings
        .iter()
        .any(|told| told["code"] == "changed_while_read" && told["path"] == path.as_str());
    match letters.as_slice() {
        _ if is_told => Ok(()),
        _ if bytes.len() != TORN_LENS[at] => {
            Err(format!("{path} is cut, and nothing is said of it"))
        }
        [_] => Ok(()),
        [one, next] if next - one == 1 || [*one, *next] == *b"az" => {
            tally.torn.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(format!("{path} is a mixture, and nothing is said of it")),
    }
}

/// Checks that nothing is stuck: interrupted work can be reverted, and a checkpoint can be made.
pub fn settled(field: &Field, guard: &Guard) -> Result<(), String> {
    if !field.cmd("status --json").data()["pending"].is_null() {
        let undone = field.cmd("undo --yes");
        if undone.code != 0 {
            return Err(format!("what was cut off cannot be taken back: {undone}"));
        }
    }
    let made = field.cmd("create -r afterwards --json");
    if !matches!(made.code, 0 | 5) {
        return Err(format!("nothing can be created any more: {made}"));
    }
    for at in 0..TORN_LENS.len() {
        // Even if it was captured in the middle of a write, its content at rest is read again.
        let file = std::fs::read(field.work().join(format!("torn/{at}")))
            .map_err(|error| error.to_string())?;
        if captured(field, &made, at)? != file {
            return Err(format!(
                "torn/{at} stands still, and is not what was captured"
            ));
        }
    }
    guard.check()
}
