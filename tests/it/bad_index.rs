//! A pack index with any bit flipped: no command dies of a signal, and everything is still found.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::damaged::{flip, packs_of};
use crate::bench::{Git, Run, Sandbox, fixtures, given};

const NAMES_AT: usize = 1032;
const COMMANDS: [&[&str]; 8] = [
    &["list"],
    &["verify"],
    &["list", "--all"],
    &["status"],
    &["create", "-r", "one more"],
    &["verify", "--repair"],
    &["verify", "--full"],
    &["delete", "--all", "--yes"],
];

/// A store of one checkpoint in one pack, optionally written by plain git with deltas.
fn with_one_pack(deltas: bool) -> Option<(Sandbox, PathBuf)> {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("d/b", fixtures::noise(1, 500))
        .write("d/c", fixtures::noise(2, 90));
    let text = |tail: &str| {
        (0..300)
            .map(|line| format!("line {line} {tail}\n"))
            .collect::<String>()
    };
    sandbox
        .write("text", text(""))
        .write("text-2", text("").replace("line 7 ", "row 7"))
        .create("one");
    if deltas {
        let git = Git::find(sandbox.root())?.with("GIT_DIR", sandbox.store());
        git.ok("repack -a -d -f -q");
        let log = git.output(&["verify-pack", "-v", packs_of(&sandbox.store())[0].to_str()?]);
        assert!(log.contains("chain length = 1"), "no deltas: {log}");
    }
    let index = packs_of(&sandbox.store())[0].with_extension("idx");
    Some((sandbox, index))
}

fn entries(index: &Path) -> usize {
    (usize::try_from(index.metadata().expect("an index").len()).expect("a size") - 1072) / 28
}

#[track_caller]
fn calm(run: &Run) {
    assert!(
        [0, 5, 6].contains(&run.code) && !run.stderr.contains("panicked"),
        "wrong end\n{run}"
    );
}

/// Runs every command on a fresh copy of the damaged store, then all of them in a row.
fn try_all(sandbox: &Sandbox, whole: &[u8], harm: &dyn Fn(&Path), index: &Path, what: &str) {
    let aside = sandbox.top().join("aside");
    fixtures::copy_tree(&sandbox.store(), &aside);
    for args in COMMANDS {
        if index.exists() {
            crate::bench::damaged::put(index, whole);
            harm(index);
        }
        let run = sandbox.run(args);
        assert!(run.code < 128, "{what}\n{run}");
        calm(&run);
    }
    fixtures::remove(&sandbox.store());
    fixtures::copy_tree(&aside, &sandbox.store());
    fixtures::remove(&aside);
}

#[test]
fn an_offset_beyond_the_pack_ends_no_command_by_a_signal() {
    for deltas in [false, true] {
        let (sandbox, index) = given!(with_one_pack(deltas));
        let (whole, count) = (fs::read(&index).expect("an index"), entries(&index));
        for byte in [0x01, 0x7f, 0x80, 0xff] {
            let harm = |index: &Path| {
                let mut bytes = whole.clone();
                (0..count).for_each(|entry| bytes[NAMES_AT + 24 * count + 4 * entry] = byte);
                crate::bench::damaged::put(index, &bytes);
            };
            try_all(
                &sandbox,
                &whole,
                &harm,
                &index,
                &format!("first byte of each offset {byte:#x}, deltas {deltas}"),
            );
        }
    }
}

#[test]
fn no_flipped_bit_in_any_region_of_an_index_ends_a_command_by_a_signal() {
    for deltas in [false, true] {
        let (sandbox, index) = given!(with_one_pack(deltas));
        let (whole, count) = (fs::read(&index).expect("an index"), entries(&index));
        let offsets = NAMES_AT + 24 * count;
        let mut flips: Vec<(usize, u8)> = (0..2 * 32)
            .map(|bit| (offsets + bit / 8, 1 << (bit % 8)))
            .collect();
        let regions = [
            0,
            4,
            8,
            8 + 4 * 128,
            8 + 4 * 255,
            NAMES_AT,
            NAMES_AT + 20 * count,
            offsets + 4 * count,
        ];
        flips.extend(
            regions
                .into_iter()
                .flat_map(|at| [(at, 0x80), (at + 3, 1), (at + 2, 0x10)]),
        );
        flips.extend([(whole.len() - 1, 1), (whole.len() - 20, 0x80)]);
        let all = crate::bench::cases(1) > 1;
        for (at, mask) in flips
            .into_iter()
            .enumerate()
            .filter(|(n, _)| all || n % 6 == usize::from(deltas))
            .map(|x| x.1)
        {
            let harm = |index: &Path| flip(index, at, mask);
            try_all(
                &sandbox,
                &whole,
                &harm,
                &index,
                &format!("flip {mask:#x} at {at} of {count}, deltas {deltas}"),
            );
        }
    }
}

#[test]
fn a_prune_rebuilds_an_index_whose_checksum_is_wrong() {
    let (sandbox, index) = with_one_pack(false).expect("no git is needed");
    let whole = fs::read(&index).expect("an index");
    flip(&index, whole.len() - 1, 1);
    sandbox.ok("verify").stdout_has("will be rebuilt");
    sandbox.ok("prune");
    assert_eq!(fs::read(&index).expect("an index"), whole);
    let run = sandbox.ok("verify");
    assert!(!run.stdout.contains("will be rebuilt"), "{run}");
}
