//! Tests whether a block is half of a SHA-1 collision: makes its partner and hashes that backwards and forwards.
//!
//! Source of the algorithm: M. Stevens, "Counter-cryptanalysis" (CRYPTO 2013). The partner of a block differs from it
//! by a disturbance vector. From a state in the middle of the steps, which both share in every known attack, the
//! partner's steps lead back to its first chaining value and on to its last; in a collision the last equals the
//! block's.

use std::sync::LazyLock;

use super::filter::BLOCK_BYTES;

const STEPS: usize = 80;
/// Step number after a vector's number at which its seed is placed.
const SEED_AFTER: usize = 5;

type Words = [u32; STEPS];
type State = [u32; 5];

/// One way in which two colliding blocks can differ.
pub struct Vector {
    /// Differences of the expanded words.
    difference: Words,
    /// Steps after which both blocks have the same state.
    meeting_step: usize,
}

/// The 32 disturbance vectors of practical attacks, of the types I and II of the paper: by type, number and rotation.
const NAMES: [(Disturbance, usize, u32); 32] = {
    use Disturbance::{I, II};
    [
        (I, 43, 0),
        (I, 44, 0),
        (I, 45, 0),
        (I, 46, 0),
        (I, 46, 2),
        (I, 47, 0),
        (I, 47, 2),
        (I, 48, 0),
        (I, 48, 2),
        (I, 49, 0),
        (I, 49, 2),
        (I, 50, 0),
        (I, 50, 2),
        (I, 51, 0),
        (I, 51, 2),
        (I, 52, 0),
        (II, 45, 0),
        (II, 46, 0),
        (II, 46, 2),
        (II, 47, 0),
        (II, 48, 0),
        (II, 49, 0),
        (II, 49, 2),
        (II, 50, 0),
        (II, 50, 2),
        (II, 51, 0),
        (II, 51, 2),
        (II, 52, 0),
        (II, 53, 0),
        (II, 54, 0),
        (II, 55, 0),
        (II, 56, 0),
    ]
};

#[derive(Clone, Copy)]
enum Disturbance {
    I,
    II,
}

impl Disturbance {
    /// Sixteen words of the difference: the message schedule is linear, so the others follow from them.
    fn seed(self) -> [u32; 16] {
        match self {
            Self::I => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 1, 0x4000_0002, 0x4000_0040, 0x4000_0002],
            Self::II => [
                0xa000_0000,
                0,
                0x2000_0000,
                0x2000_0000,
                0,
                0,
                0,
                0,
                0,
                0,
                1,
                0x20,
                1,
                0x4000_0002,
                0x4000_0041,
                0x4000_0022,
            ],
        }
    }
}

/// All vectors, in the order of the bits of [`super::filter::suspects`].
pub fn vectors() -> &'static [Vector; 32] {
    static ALL: LazyLock<[Vector; 32]> = LazyLock::new(|| NAMES.map(vector));
    &ALL
}

fn vector((kind, number, rotation): (Disturbance, usize, u32)) -> Vector {
    let mut difference = [0; STEPS];
    let start = number + SEED_AFTER;
    for (word, seed) in difference[start..].iter_mut().zip(kind.seed()) {
        *word = seed.rotate_left(rotation);
    }
    schedule_from(&mut difference, start + 16);
    for at in (0..start).rev() {
        difference[at] =
            difference[at + 16].rotate_right(1) ^ difference[at + 13] ^ difference[at + 8] ^ difference[at + 2];
    }
    Vector { difference, meeting_step: if number < 50 { 58 } else { 65 } }
}

/// Whether the block that led from `before` to `after` has a partner that also leads to `after`. `suspected` is a bit
/// mask of vectors to try.
pub fn is_half_of_collision(block: &[u8; BLOCK_BYTES], before: &State, after: &State, suspected: u32) -> bool {
    let mut words = [0; STEPS];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    schedule_from(&mut words, 16);
    let suspects = vectors().iter().enumerate().filter(|(at, _)| suspected >> at & 1 == 1);
    suspects.map(|(_, vector)| vector).any(|vector| leads_to(&words, before, vector) == *after)
}

/// The final chaining value of the partner.
fn leads_to(words: &Words, before: &State, vector: &Vector) -> State {
    let met = forwards(*before, words, 0..vector.meeting_step);
    let mut partner = *words;
    for (word, difference) in partner.iter_mut().zip(&vector.difference) {
        *word ^= difference;
    }
    let began = backwards(met, &partner, vector.meeting_step);
    let ended = forwards(met, &partner, vector.meeting_step..STEPS);
    std::array::from_fn(|at| began[at].wrapping_add(ended[at]))
}

/// The message schedule of FIPS 180-4, 6.1.2, from the word at `from` on.
fn schedule_from(words: &mut Words, from: usize) {
    for at in from.max(16)..STEPS {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
}

/// The terms of a step besides the state's first and last word: FIPS 180-4, 4.1.1 and 4.2.1.
#[inline]
fn mixed(step: usize, b: u32, c: u32, d: u32) -> u32 {
    match step {
        0..20 => (d ^ (b & (c ^ d))).wrapping_add(0x5a82_7999),
        20..40 => (b ^ c ^ d).wrapping_add(0x6ed9_eba1),
        40..60 => ((b & c) | (d & (b | c))).wrapping_add(0x8f1b_bcdc),
        _ => (b ^ c ^ d).wrapping_add(0xca62_c1d6),
    }
}

fn forwards(state: State, words: &Words, steps: std::ops::Range<usize>) -> State {
    steps.fold(state, |[a, b, c, d, e], step| {
        let sum = a.rotate_left(5).wrapping_add(mixed(step, b, c, d)).wrapping_add(e).wrapping_add(words[step]);
        [sum, a, b.rotate_left(30), c, d]
    })
}

/// Undoes the first `steps` steps.
fn backwards(state: State, words: &Words, steps: usize) -> State {
    (0..steps).rev().fold(state, |[sum, a, b, c, d], step| {
        let b = b.rotate_right(30);
        let e = sum.wrapping_sub(a.rotate_left(5)).wrapping_sub(mixed(step, b, c, d)).wrapping_sub(words[step]);
        [a, b, c, d, e]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_can_be_undone() {
        let words: Words = std::array::from_fn(|at| u32::try_from(at * 0x0123_4567 % 0xffff_fffb).unwrap());
        let state = [1, 2, 3, 4, 5];
        for steps in [1, 19, 21, 41, 58, 65, 80] {
            assert_eq!(backwards(forwards(state, &words, 0..steps), &words, steps), state);
        }
    }

    #[test]
    fn differences_are_message_schedules_and_those_of_the_published_list() {
        let mut sum = sha1::Sha1::default();
        for vector in vectors() {
            let mut again = vector.difference;
            schedule_from(&mut again, 16);
            assert_eq!(again, vector.difference);
            for word in vector.difference {
                sha1::Digest::update(&mut sum, word.to_be_bytes());
            }
        }
        // The sum of the `dm` tables in `sha1collisiondetection`, compared word for word when recorded here.
        assert_eq!(hex::encode(sha1::Digest::finalize(sum)), "daef9404f955b4eb37998d4164fcc71e031205d1");
    }
}
