//! Random trees with random ignore files.

use std::fmt::Write as _;

use super::oracle::Oracle;

const ROUNDS: usize = 120;
const MIN_VERDICTS: usize = 3_000;
const DEFAULT_SEED: u64 = 0x00c0_ffee;

/// The generator `SplitMix64`: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn name(&mut self) -> Vec<u8> {
        const LETTERS: &[u8] = b"aaabbbc.*?[]!\\# ^-:\xff\t\r";
        loop {
            let name: Vec<u8> = (0..=self.below(3)).map(|_| self.pick(LETTERS)).collect();
            if name != b"." && name != b".." {
                return name;
            }
        }
    }

    /// A random pattern, from nothing or from a path that exists.
    fn pattern(&mut self, paths: &[Vec<u8>]) -> Vec<u8> {
        const PIECES: &[u8] = b"a\0b\0c\0.\0*\0*\0**\0**/\0/**\0/\0/\0?\0[\0]\0!\0\\\0#\0 \0\
            ^\0-\0[ab]\0[!a]\0[^b-]\0[[:alpha:]]\0[[:x:]]\0[a-c]\0\xff\0\
            \t\0\r\0\\ \0:";
        let pieces: Vec<&[u8]> = PIECES.split(|byte| *byte == 0).collect();
        let mut pattern = Vec::new();
        if self.one_in(3) || paths.is_empty() {
            for _ in 0..=self.below(6) {
                pattern.extend_from_slice(self.pick(&pieces));
            }
        } else {
            for byte in self.pick(paths) {
                match self.below(12) {
                    0 => pattern.push(b'?'),
                    1 => pattern.extend_from_slice(self.pick(&pieces)),
                    2 => pattern.push(b'*'),
                    3 => pattern.extend([b'\\', byte]),
                    4 => pattern.extend([b'[', byte, b']']),
                    5 if byte == b'/' => pattern.extend_from_slice(b"/**/"),
                    _ => pattern.push(byte),
                }
            }
        }
        if self.one_in(5) {
            pattern.insert(0, b'/');
        }
        if self.one_in(4) {
            pattern.insert(0, b'!');
        }
        if self.one_in(6) {
            pattern.extend_from_slice(self.pick(&[
                b"/".as_slice(),
                b" ",
                b"\r",
                b"/ ",
                b"/**",
                b"/*",
            ]));
        }
        pattern
    }

    fn ignore_file(&mut self, paths: &[Vec<u8>]) -> Vec<u8> {
        let lines: Vec<Vec<u8>> = (0..=self.below(4)).map(|_| self.pattern(paths)).collect();
        let mut text = lines.join(&b'\n');
        if self.one_in(10) {
            text.splice(0..0, *b"\xef\xbb\xbf");
        }
        if !self.one_in(4) {
            text.push(b'\n');
        }
        text
    }
}

#[test]
fn random_trees_get_the_verdicts_of_git() {
    let seed = std::env::var("CHECKPOINT_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(DEFAULT_SEED);
    println!("CHECKPOINT_TEST_SEED={seed}");
    let (mut verdicts, mut left_out) = (0, 0);
    let rounds = crate::bench::cases(ROUNDS);
    for round in 0..rounds {
        let seed = seed.wrapping_add(round as u64);
        let mut dice = Dice(seed);
        let Some(oracle) = Oracle::new() else { return };
        let counts = one_tree(&mut dice, &oracle, seed);
        verdicts += counts.0;
        left_out += counts.1;
    }
    println!("{verdicts} verdicts, {left_out} of them left out");
    assert!(
        rounds < ROUNDS || verdicts >= MIN_VERDICTS,
        "only {verdicts} verdicts"
    );
    // Patterns that match nearly nothing or nearly all would compare nothing.
    assert!(
        (verdicts / 8..verdicts * 7 / 8).contains(&left_out),
        "{left_out} of {verdicts} left out"
    );
}

fn one_tree(dice: &mut Dice, oracle: &Oracle, seed: u64) -> (usize, usize) {
    let mut dirs = vec![Vec::new()];
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let mut about = format!("CHECKPOINT_TEST_SEED={seed}, first round");
    for _ in 0..50 {
        let dir = dice.pick(&dirs);
        let name = dice.name();
        let path = if dir.is_empty() {
            name
        } else {
            [&dir, b"/".as_slice(), &name].concat()
        };
        if paths.contains(&path) || dirs.contains(&path) {
            continue;
        }
        if dice.one_in(4) && path.len() < 20 {
            oracle.write(&[&path, b"/".as_slice()].concat(), b"");
            dirs.push(path.clone());
        } else {
            oracle.write(&path, b"");
        }
        paths.push(path);
    }
    for dir in &dirs {
        if !dir.is_empty() && !dice.one_in(3) {
            continue;
        }
        let start = if dir.is_empty() { 0 } else { dir.len() + 1 };
        let below: Vec<Vec<u8>> = paths
            .iter()
            .filter(|path| path.starts_with(dir) && path.len() > start)
            .map(|path| path[start..].to_vec())
            .collect();
        let text = dice.ignore_file(&below);
        let _ = write!(
            about,
            "\n{}/.gitignore: {}",
            dir.escape_ascii(),
            text.escape_ascii()
        );
        oracle.write(
            &[
                &dir[..],
                if dir.is_empty() { b"" } else { b"/" },
                b".gitignore",
            ]
            .concat(),
            &text,
        );
    }
    let text = dice.ignore_file(&paths);
    let _ = write!(about, "\ninfo/exclude: {}", text.escape_ascii());
    oracle.write(b".git/info/exclude", &text);
    oracle.compare(&about)
}
