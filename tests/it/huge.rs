//! A pack beyond 2 GiB, whose index needs its table of 64-bit offsets, and a file beyond 4 GiB. It
//! takes 12 GB of disk and minutes, so it runs only with `CHECKPOINT_HUGE` set.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::bench::{Git, Sandbox, damaged, fixtures, skipped};

const GIBIBYTE: u64 = 1 << 30;

#[test]
fn a_pack_beyond_two_gibibytes_and_a_file_beyond_four_come_back() {
    if std::env::var_os("CHECKPOINT_HUGE").is_none() {
        skipped("needs CHECKPOINT_HUGE=1, 12 GB of disk and minutes");
        return;
    }
    let sandbox = Sandbox::new();
    // Small files come after it in the pack: their offsets take more than 31 bits.
    write_noise(&sandbox.path("a-noise"), 2 * GIBIBYTE + GIBIBYTE / 8);
    write_sparse(&sandbox.path("b-sparse"), 4 * GIBIBYTE + 12_345);
    for at in 0..20 {
        sandbox.write(format!("z/{at}"), at.to_string());
    }
    let large = [sandbox.path("a-noise"), sandbox.path("b-sparse")];
    let sums = large.each_ref().map(|path| sum(path));
    // One processor makes one pack.
    sandbox
        .run_under(&["/usr/bin/taskset", "-c", "0"], &["create", "-r", "huge"])
        .success();
    let git = Git::find(sandbox.root()).map(|git| git.with("GIT_DIR", sandbox.store()));
    if let Some(git) = &git {
        assert!(
            largest_offset(git, &sandbox) > 2 * GIBIBYTE,
            "no offset needs 64 bits"
        );
        git.ok("fsck --full --strict");
    }
    sandbox.ok("verify --full");
    for path in &large {
        std::fs::remove_file(path).expect("a file can be removed");
    }
    sandbox.remove("z/7").write("z/8", "edited");
    sandbox.restore("huge").success();
    assert_eq!(large.each_ref().map(|path| sum(path)), sums);
    assert_eq!(
        (sandbox.read("z/7").as_str(), sandbox.read("z/8").as_str()),
        ("7", "8")
    );
    sandbox.write("z/9", "edited");
    sandbox.create("after");
    sandbox.ok("prune --keep 2 --yes");
    sandbox.ok("verify --full");
    for path in ["a-noise", "b-sparse"] {
        std::fs::write(sandbox.path(path), "gone").expect("a file can be written");
        sandbox.run(&["restore", "huge", path, "--yes"]).success();
    }
    assert_eq!(large.each_ref().map(|path| sum(path)), sums);
}

/// Writes noise that no compressor shrinks: pieces repeat only beyond its window.
fn write_noise(path: &Path, len: u64) {
    let piece = fixtures::noise(3, 16 << 20);
    let mut file = File::create(path).expect("a file can be made");
    let mut left = len;
    while left > 0 {
        let part = usize::try_from(left).expect("a length").min(piece.len());
        file.write_all(&piece[..part]).expect("there is room");
        left -= part as u64;
    }
}

/// Writes zeros but for a few words: at the start, around four gibibytes and at the end.
fn write_sparse(path: &Path, len: u64) {
    let mut file = File::create(path).expect("a file can be made");
    file.set_len(len).expect("a long file can be made");
    for at in [0, 3 * GIBIBYTE, 4 * GIBIBYTE - 3, len - 9] {
        file.seek(SeekFrom::Start(at)).expect("a place in it");
        file.write_all(b"something").expect("there is room");
    }
}

fn sum(path: &Path) -> (u64, u64) {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    let mut file = File::open(path).expect("a file can be opened");
    let mut piece = vec![0; 1 << 20];
    let mut len = 0;
    loop {
        let read = file.read(&mut piece).expect("a file can be read");
        if read == 0 {
            return (len, hasher.digest());
        }
        hasher.update(&piece[..read]);
        len += read as u64;
    }
}

/// The offset of the last entry of any pack, by plain git.
fn largest_offset(git: &Git, sandbox: &Sandbox) -> u64 {
    let offsets = damaged::packs_of(&sandbox.store())
        .into_iter()
        .flat_map(|pack| {
            let index = std::fs::read(pack.with_extension("idx")).expect("an index");
            let text = String::from_utf8(git.filter(&["show-index"], &index)).expect("text");
            text.lines()
                .filter_map(|line| line.split(' ').next()?.parse().ok())
                .collect::<Vec<u64>>()
        });
    offsets.max().unwrap_or_default()
}
