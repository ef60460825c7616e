//! Large files that are edited repeatedly: `prune` stores all but the newest version as deltas.

use crate::bench::{Git, Sandbox, damaged, fixtures, sample};

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
        let (made, content) = (Vec::new(), text(1, 2_000_000));
        let mut versions = Self {
            sandbox: Sandbox::new(),
            made,
            content,
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
        self.record();
    }

    fn record(&mut self) {
        self.sandbox.write("dir/large", &self.content);
        let id = self.sandbox.create(&format!("number {}", self.made.len()));
        self.made.push((id, self.content.clone()));
    }

    fn store_bytes(&self) -> u64 {
        self.packs().iter().map(|(_, len)| len).sum()
    }

    /// Names and sizes of the packs.
    fn packs(&self) -> Vec<(String, u64)> {
        let named = |path: std::path::PathBuf| {
            let name = path
                .file_name()
                .expect("a name")
                .to_str()
                .expect("UTF-8")
                .to_owned();
            (name, path.metadata().expect("a file").len())
        };
        let mut packs: Vec<_> = damaged::packs_of(&self.sandbox.store())
            .into_iter()
            .map(named)
            .collect();
        packs.sort();
        packs
    }

    /// Reads every version, or a sample of many, with our program and with plain git; both check
    /// the whole store.
    fn check(&self) {
        let versions = sample(&self.made, 20, |_| [(); 0].into());
        for (id, content) in &versions {
            let run = self
                .sandbox
                .run(&["cat", &format!("{id}:dir/large")])
                .success();
            assert!(run.stdout.as_bytes() == content, "{id} is not what it was");
        }
        self.sandbox.ok("verify --full");
        let Some(git) = Git::find(self.sandbox.root()) else {
            return;
        };
        let git = git.with("GIT_DIR", self.sandbox.store());
        git.ok("fsck --full --strict");
        for (id, content) in versions {
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

#[test]
fn versions_of_a_large_file_take_little_more_than_one_of_them_after_a_prune() {
    let mut versions = Versions::new(8);
    let before = versions.store_bytes();
    versions
        .sandbox
        .ok("prune")
        .stdout_has("Pruned: 0 checkpoints");
    let after = versions.store_bytes();
    assert!(after < before / 6, "{before} became {after}");
    versions.check();
    let oldest = versions.made[0].clone();
    versions.sandbox.restore(&oldest.0).success();
    assert!(
        versions.sandbox.read("dir/large").as_bytes() == oldest.1,
        "the restored file differs"
    );
    versions.content = versions.made[7].1.clone();
    versions.record();
    versions.check();
}

#[test]
fn a_prune_leaves_the_deltas_of_the_one_before_alone() {
    let versions = Versions::new(4);
    versions.sandbox.ok("prune");
    let packs = versions.packs();
    versions
        .sandbox
        .ok("prune")
        .stdout_is("Nothing to prune.\n");
    assert_eq!(versions.packs(), packs);
}

#[test]
fn new_versions_join_the_deltas_that_are_there() {
    let mut versions = Versions::new(4);
    versions.sandbox.ok("prune");
    let four = versions.store_bytes();
    for _ in 0..3 {
        versions.edit();
        versions.sandbox.ok("prune");
        let bytes = versions.store_bytes();
        assert!(bytes < four + four / 10, "{four} became {bytes}");
    }
    versions.check();
}

#[test]
fn more_versions_than_one_chain_holds_survive_prune_after_prune() {
    let mut versions = Versions::new(0);
    versions.sandbox.user_config("keep = 100\n");
    // One and a half chains of a file that is just large enough and compresses quickly.
    versions.content = [text(7, 150_000), vec![b'\n'; 950_000]].concat();
    (0..75).for_each(|_| versions.edit());
    versions.sandbox.ok("prune");
    let packs = versions.packs();
    versions.check();
    versions.sandbox.ok("prune");
    assert_eq!(versions.packs(), packs);
    for _ in 0..2 {
        versions.edit();
        (0..3).for_each(|_| drop(versions.sandbox.ok("prune")));
        versions.check();
    }
}

#[test]
fn a_prune_that_has_forgotten_what_the_last_one_tried_loses_no_version() {
    let mut versions = Versions::new(0);
    for seed in 0..4 {
        versions.content = text(100 + seed, 2_000_000);
        versions.record();
    }
    let mut packs = Vec::new();
    for _ in 0..3 {
        versions.sandbox.ok("prune");
        versions.check();
        packs.push(versions.packs().into_iter().max_by_key(|(_, len)| *len));
        fixtures::remove(&versions.sandbox.store().join("checkpoint/delta-packs"));
    }
    // Each writes the same pack as the one before.
    assert!(packs[0] == packs[1] && packs[1] == packs[2], "{packs:?}");
}

#[test]
fn the_version_on_which_others_stand_can_go() {
    let mut versions = Versions::new(5);
    versions.sandbox.ok("prune");
    let bytes = versions.store_bytes();
    for doomed in [4, 1] {
        let (id, _) = versions.made.remove(doomed);
        versions.sandbox.ok(format!("delete {id} --yes"));
        versions.check();
        versions.sandbox.ok("prune");
        versions.check();
        assert!(
            versions.store_bytes() < bytes + bytes / 4,
            "{} after {bytes}",
            versions.store_bytes()
        );
    }
    let oldest = versions.made.remove(0);
    versions.sandbox.ok("prune --keep 2 --yes");
    versions.sandbox.run(&["show", &oldest.0]).code(3);
    versions.check();
}

#[test]
fn versions_that_have_nothing_in_common_stay_whole_and_are_tried_once() {
    let mut versions = Versions::new(0);
    for seed in 0..4 {
        versions.content = text(100 + seed, 2_000_000);
        versions.record();
    }
    let before = versions.store_bytes();
    versions.sandbox.ok("prune");
    assert!(versions.store_bytes() > before / 10 * 9);
    let known = std::fs::read_to_string(versions.sandbox.store().join("checkpoint/delta-packs"))
        .expect("it is remembered");
    assert_eq!(known.lines().count(), 1);
    let packs = versions.packs();
    versions.sandbox.ok("prune");
    assert_eq!(versions.packs(), packs);
    versions.check();
}

#[test]
fn a_damaged_pack_of_deltas_costs_no_version_that_can_still_be_made() {
    let mut versions = Versions::new(4);
    versions.sandbox.ok("prune");
    let (largest, len) = versions
        .packs()
        .into_iter()
        .max_by_key(|(_, len)| *len)
        .expect("a pack");
    let path = versions.sandbox.store().join("objects/pack").join(largest);
    let mut bytes = std::fs::read(&path).expect("a pack");
    bytes[usize::try_from(len / 2).expect("a length")] ^= 0x55;
    damaged::put(&path, &bytes);
    versions.sandbox.fails(6, "verify --full");
    versions.sandbox.ok("prune");
    // The newest is in the directory as a file, and a create writes anew what it cannot read. The
    // others are based on it.
    versions.record();
    versions.made.remove(3);
    for (id, content) in &versions.made {
        let run = versions
            .sandbox
            .run(&["cat", &format!("{id}:dir/large")])
            .success();
        assert!(run.stdout.as_bytes() == content, "{id} is not what it was");
    }
    versions.sandbox.ok("prune");
    versions.check();
}
