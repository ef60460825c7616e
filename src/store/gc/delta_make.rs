//! Makes a delta in git's format: searches the target for blocks of the base at every offset.

/// Bytes that must be equal for a match.
const WINDOW: usize = 32;
/// Bytes of the base per indexed window.
const STEP: usize = 64;
/// Most windows of the base in the table, so that it stays small.
const MOST_BLOCKS: usize = 1 << 20;
/// Longest copy instruction, in bytes; git writes no longer ones.
const MOST_COPIED: usize = 0x10000;
const MOST_INSERTED: usize = 0x7f;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The factor for each byte of the window.
const POWERS: [u64; WINDOW] = powers();

const fn powers() -> [u64; WINDOW] {
    let mut powers = [1; WINDOW];
    let mut at = WINDOW - 1;
    while at > 0 {
        powers[at - 1] = FACTOR.wrapping_mul(powers[at]);
        at -= 1;
    }
    powers
}

/// Returns the instructions that make `target` from `base`, or `None` if they take more than
/// `at_most` bytes.
pub fn make(base: &[u8], target: &[u8], at_most: usize) -> Option<Vec<u8>> {
    if base.len() < WINDOW || target.len() < WINDOW || u32::try_from(base.len()).is_err() {
        return None;
    }
    let blocks = Blocks::of(base);
    let mut delta = Instructions {
        bytes: Vec::new(),
        at_most,
    };
    delta.number(base.len());
    delta.number(target.len());
    // The delta covers the target up to `done`; no block of the base matches from there to `at`.
    let (mut done, mut at) = (0, 0);
    let mut rolling = Rolling::over(target, 0);
    loop {
        if let Some((from, start, len)) = blocks
            .find(rolling.sum)
            .and_then(|from| common(base, from, target, at, done))
        {
            delta.insert(&target[done..start])?;
            delta.copy(from, len)?;
            done = start + len;
            at = done;
            if target.len() - at < WINDOW {
                break;
            }
            rolling = Rolling::over(target, at);
            continue;
        }
        if at + WINDOW >= target.len() {
            break;
        }
        if at - done > at_most {
            return None;
        }
        rolling.step(target[at], target[at + WINDOW]);
        at += 1;
    }
    delta.insert(&target[done..])?;
    Some(delta.bytes)
}

/// The longest common part around an offset of both, not before `done` in the target: both starts
/// and the length.
fn common(
    base: &[u8],
    from: usize,
    target: &[u8],
    at: usize,
    done: usize,
) -> Option<(usize, usize, usize)> {
    let ahead = equal_bytes(&base[from..], &target[at..]);
    if ahead < WINDOW {
        return None;
    }
    let before = base[..from]
        .iter()
        .rev()
        .zip(target[done..at].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    Some((from - before, at - before, before + ahead))
}

fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    const COMPARED_BYTES: usize = 1 << 10;
    let steps = a
        .chunks_exact(COMPARED_BYTES)
        .zip(b.chunks_exact(COMPARED_BYTES))
        .take_while(|(a, b)| a == b)
        .count()
        * COMPARED_BYTES;
    steps
        + a[steps..]
            .iter()
            .zip(&b[steps..])
            .take_while(|(a, b)| a == b)
            .count()
}

/// A rolling hash over a window that moves one byte at a time.
struct Rolling {
    sum: u64,
}

impl Rolling {
    fn over(bytes: &[u8], at: usize) -> Self {
        let terms = bytes[at..at + WINDOW]
            .iter()
            .zip(POWERS)
            .map(|(byte, power)| value(*byte).wrapping_mul(power));
        Self {
            sum: terms.fold(0, u64::wrapping_add),
        }
    }

    fn step(&mut self, gone: u8, new: u8) {
        let rest = self.sum.wrapping_sub(value(gone).wrapping_mul(POWERS[0]));
        self.sum = rest.wrapping_mul(FACTOR).wrapping_add(value(new));
    }
}

fn value(byte: u8) -> u64 {
    u64::from(byte) + 1
}

/// Offsets in the base by the hash of the window that starts there.
struct Blocks {
    /// Hash and offset plus one; zero for an empty slot.
    table: Vec<(u32, u32)>,
    shift: u32,
}

impl Blocks {
    fn of(base: &[u8]) -> Self {
        let step = STEP.max(base.len().div_ceil(MOST_BLOCKS));
        let slots = (base.len() / step * 2).next_power_of_two().max(2);
        let shift = 64 - slots.trailing_zeros();
        let mut blocks = Self {
            table: vec![(0, 0); slots],
            shift,
        };
        for at in (0..=base.len() - WINDOW).step_by(step) {
            let (slot, tag) = blocks.place(Rolling::over(base, at).sum);
            let place = u32::try_from(at + 1).unwrap_or_default();
            // Among similar blocks the first is as good as any.
            if blocks.table[slot].1 == 0 {
                blocks.table[slot] = (tag, place);
            }
        }
        blocks
    }

    fn find(&self, sum: u64) -> Option<usize> {
        let (slot, tag) = self.place(sum);
        let (found, place) = self.table[slot];
        (found == tag && place > 0).then(|| place as usize - 1)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "other bits of the sum than those that choose the slot"
    )]
    fn place(&self, sum: u64) -> (usize, u32) {
        let mixed = (sum ^ sum >> 29).wrapping_mul(FACTOR);
        ((mixed >> self.shift) as usize, mixed as u32)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only that byte is wanted")]
fn low_byte(number: usize) -> u8 {
    number as u8
}

struct Instructions {
    bytes: Vec<u8>,
    at_most: usize,
}

impl Instructions {
    fn number(&mut self, number: usize) {
        let mut rest = number;
        while rest > 0x7f {
            self.bytes.push(0x80 | low_byte(rest));
            rest >>= 7;
        }
        self.bytes.push(low_byte(rest));
    }

    fn insert(&mut self, content: &[u8]) -> Option<()> {
        for part in content.chunks(MOST_INSERTED) {
            self.bytes.push(low_byte(part.len()));
            self.bytes.extend_from_slice(part);
        }
        self.fits()
    }

    fn copy(&mut self, from: usize, len: usize) -> Option<()> {
        let (mut from, mut left) = (from, len);
        while left > 0 {
            let len = left.min(MOST_COPIED);
            // A copy of the longest length is encoded without a length.
            let digits = [from, from >> 8, from >> 16, from >> 24, len, len >> 8].map(low_byte);
            let op = self.bytes.len();
            self.bytes.push(0x80);
            for (bit, digit) in digits
                .into_iter()
                .enumerate()
                .filter(|(_, digit)| *digit != 0)
            {
                self.bytes[op] |= 1 << bit;
                self.bytes.push(digit);
            }
            (from, left) = (from + len, left - len);
        }
        self.fits()
    }

    fn fits(&self) -> Option<()> {
        (self.bytes.len() <= self.at_most).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::properties;
    use crate::store::objects::pack::delta;
    use proptest::prelude::*;

    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(FACTOR) | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    #[test]
    fn a_few_edits_make_a_small_delta() {
        let base = noise(1, 3_000_000);
        let mut target = base.clone();
        target.splice(1_000_000..1_000_010, *b"some other bytes");
        target.splice(2_000_000..2_500_000, []);
        target.extend(b"the end");
        let made = make(&base, &target, 10_000).unwrap();
        assert_eq!(delta::apply(&base, &made).unwrap(), target);
        assert!(made.len() < 1000, "{}", made.len());
    }

    #[test]
    fn what_has_nothing_in_common_makes_none() {
        assert_eq!(make(&noise(1, 100_000), &noise(2, 100_000), 50_000), None);
        assert_eq!(make(b"short", &noise(2, 100_000), 200_000), None);
    }

    #[test]
    fn content_that_repeats_itself_is_found_again() {
        let base = [vec![0; 500_000], noise(3, 1000), vec![0; 500_000]].concat();
        let target = [vec![0; 700_000], noise(3, 1000), vec![7; 10]].concat();
        let made = make(&base, &target, 10_000).unwrap();
        assert_eq!(delta::apply(&base, &made).unwrap(), target);
    }

    proptest! {
        #![proptest_config(properties(256))]

        #[test]
        fn what_is_made_is_the_target(
            base in proptest::collection::vec(0_u8..4, 32..2000),
            cuts in proptest::collection::vec((0_usize..2000, 0_usize..300, proptest::collection::vec(0_u8..4, 0..50)), 0..8),
        ) {
            let mut target = base.clone();
            for (at, len, new) in cuts {
                let at = at.min(target.len());
                let end = (at + len).min(target.len());
                target.splice(at..end, new);
            }
            if let Some(made) = make(&base, &target, 10_000) {
                prop_assert_eq!(delta::apply(&base, &made).unwrap(), target);
                prop_assert_eq!(delta::sizes(&made).unwrap().0, base.len() as u64);
            } else {
                prop_assert!(target.len() < WINDOW);
            }
        }
    }
}
