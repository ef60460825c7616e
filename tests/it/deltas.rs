//! A prune that stores versions as deltas, killed or out of room; `stories/deltas.md` has the rest.

use crate::bench::{Git, Sandbox, damaged, fixtures, given, sample, strace};

/// Lines that compress badly.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let digits = |byte: u8| [b'a' + byte % 16, b'a' + byte / 16, b' '];
    let mut text: Vec<u8> = fixtures::noise(seed, len / 3)
        .into_iter()
        .flat_map(digits)
        .collect();
    text.iter_mut()
        .skip(80)
        .step_by(80)
        .for_each(|byte| *byte = b'\n');
    text
}

/// A store with versions of one file of 2 MB, and their ids and contents in order.
struct Versions {
    sandbox: Sandbox,
    made: Vec<(String, Vec<u8>)>,
    content: Vec<u8>,
}

impl Versions {
    fn new(count: usize) -> Self {
        let mut versions = Self {
            sandbox: Sandbox::new(),
            made: Vec::new(),
            content: text(1, 2_000_000),
        };
        versions.sandbox.write("small", "a file beside it");
        (0..count).for_each(|_| versions.edit());
        versions
    }

    fn edit(&mut self) {
        let number = self.made.len();
        for part in 1..4 {
            let at = self.content.len() / 4 * part + number * 1000;
            self.content
                .splice(at..at + part, format!("edit {number}").into_bytes());
        }
        self.sandbox.write("dir/large", &self.content);
        let id = self.sandbox.create(&format!("number {number}"));
        self.made.push((id, self.content.clone()));
    }

    fn store_bytes(&self) -> u64 {
        let packs = damaged::packs_of(&self.sandbox.store());
        packs
            .iter()
            .map(|pack| pack.metadata().expect("a file").len())
            .sum()
    }

    /// Reads every version with our program and with plain git; both check the whole store.
    fn check(&self) {
        for (id, content) in &self.made {
            let run = self
                .sandbox
                .run(&["cat", &format!("{id}:dir/large")])
                .success();
            assert!(run.stdout.as_bytes() == content, "{id} is not what it was");
        }
        self.sandbox.ok("verify --full");
        let git = given!(Git::find(self.sandbox.root()));
        let git = git.with("GIT_DIR", self.sandbox.store());
        git.ok("fsck --full --strict");
        for (id, content) in &self.made {
            let blob = git
                .run(&["cat-file", "blob", &format!("{id}:dir/large")])
                .success();
            assert!(
                blob.stdout.as_bytes() == content,
                "git reads {id} otherwise"
            );
        }
    }
}

/// Disturbs the first, second, … of some system calls of a prune, until none is left to disturb.
fn at_each_call(calls: &str, step: usize, happen: impl Fn(&Sandbox, usize) -> crate::bench::Run) {
    let mut versions = Versions::new(2);
    versions.sandbox.ok("prune");
    versions.edit();
    let aside = versions.sandbox.top().join("aside");
    fixtures::copy_tree(&versions.sandbox.store(), &aside);
    for nth in sample::calls(2000).map(|number| 1 + (number - 1) * step) {
        let run = happen(&versions.sandbox, nth);
        let went_well = run.code == 0 && run.stdout.contains("Pruned") && run.stderr.is_empty();
        versions.sandbox.ok("verify --full");
        versions.sandbox.ok("prune");
        versions.check();
        assert!(
            versions.store_bytes() < 2_000_000,
            "{} after {calls} number {nth}",
            versions.store_bytes()
        );
        if went_well {
            assert!(nth > 1, "nothing happened\n{run}");
            return;
        }
        std::fs::remove_dir_all(versions.sandbox.store()).expect("a copy can go");
        fixtures::copy_tree(&aside, &versions.sandbox.store());
    }
    panic!("there is no end of {calls}");
}

#[test]
fn a_prune_killed_at_any_step_loses_no_version() {
    if strace::available() {
        for (calls, step) in [
            ("renameat2,renameat,rename", 1),
            ("fsync,fdatasync", 2),
            ("unlinkat,unlink", 7),
        ] {
            at_each_call(calls, step, |sandbox, nth| {
                strace::kill_at(sandbox, calls, nth, &["prune"])
            });
        }
    }
}

#[test]
fn a_prune_that_runs_out_of_room_loses_no_version() {
    if strace::available() {
        let calls = "write,pwrite64";
        at_each_call(calls, 2, |sandbox, nth| {
            strace::failing_from(sandbox, calls, "ENOSPC", nth, &["prune"])
        });
    }
}
