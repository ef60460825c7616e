//! The committed corpus of the fuzzer, and random changes of it, held to the properties that the
//! fuzzer holds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::bench::{cases, skipped};
use crate::source::package;

#[path = "../fuzz/properties/mod.rs"]
mod properties;

/// Random changes of one input that are tried by default.
const CHANGES: usize = 20;

fn names_in(dir: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(package().join("tests/fuzz").join(dir))
        .expect("the folder can be listed");
    let stem = |path: PathBuf| path.file_stem().expect("a name").display().to_string();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "rs"))
        .map(stem)
        .collect()
}

#[test]
fn every_target_has_a_program_a_corpus_and_a_property() {
    let targets: BTreeSet<String> = properties::TARGETS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(names_in("corpus"), targets);
    let manifest = package().join("tests/fuzz/fuzz_targets/Cargo.toml");
    let Ok(manifest) = std::fs::read_to_string(manifest) else {
        return skipped("the fuzzer's programs are not part of the package");
    };
    assert_eq!(names_in("fuzz_targets"), targets);
    assert!(
        targets
            .iter()
            .all(|name| manifest.contains(&format!("path = \"{name}.rs\"")))
    );
}

#[test]
fn the_corpus_and_what_is_near_it_have_the_properties() {
    for (target, _) in properties::TARGETS {
        let dir = package().join("tests/fuzz/corpus").join(target);
        let mut inputs: Vec<PathBuf> = std::fs::read_dir(dir)
            .expect("a corpus")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for (seed, input) in inputs.iter().enumerate() {
            let bytes = std::fs::read(input).expect("it can be read");
            told(&bytes, &input.display().to_string(), target);
            for round in 0..cases(CHANGES) {
                let changed = changed(&bytes, seed * 1_000_003 + round);
                told(
                    &changed,
                    &format!("{}, change {round}", input.display()),
                    target,
                );
            }
        }
    }
}

/// Runs a check, and prints the bytes with which it failed.
fn told(bytes: &[u8], what: &str, target: &str) {
    if let Err(cause) = std::panic::catch_unwind(|| properties::check(target, bytes)) {
        println!("{what}: \"{}\"", bytes.escape_ascii());
        std::panic::resume_unwind(cause);
    }
}

/// Replaces, removes, inserts or doubles a few bytes.
fn changed(bytes: &[u8], seed: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * seed as u64 + 1);
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("64 bits") % below.max(1)
    };
    let mut changed = bytes.to_vec();
    for _ in 0..=next(4) {
        let at = next(changed.len());
        let end = (at + next(9)).min(changed.len());
        let byte = u8::try_from(next(256)).expect("a byte");
        match next(4) {
            0 => drop(changed.splice(at..end, [])),
            1 => drop(changed.splice(at..at, [byte])),
            2 => drop(changed.splice(
                at..at,
                bytes[at.min(bytes.len())..end.min(bytes.len())].to_vec(),
            )),
            _ => changed.get_mut(at).into_iter().for_each(|old| *old = byte),
        }
    }
    changed
}
