//! Finds blocks that may be half of a SHA-1 collision, several at once, in a form that compilers vectorize.

#![expect(clippy::inline_always, reason = "all of it is compiled again in `wide.rs` for other processors")]
#![expect(clippy::needless_range_loop, reason = "loops over lanes in this shape become vector instructions")]

use super::conditions::{LATER, with_strongest};

/// Number of blocks checked together.
pub const LANES: usize = 8;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;
/// Number of expanded words; no condition uses a later one.
const WORDS: usize = 65;
/// Upper bound on later conditions per disturbance vector.
const MOST_LATER: usize = 16;
const VECTORS: usize = 32;

type Lanes = [u32; LANES];

/// Indexes of later conditions, and their number.
type List = ([u8; MOST_LATER], usize);

/// The later conditions of each disturbance vector.
const LATER_OF: [List; VECTORS] = later_of();

#[expect(clippy::cast_possible_truncation, reason = "there are fewer conditions than 256")]
const fn later_of() -> [List; VECTORS] {
    let mut lists = [([0; MOST_LATER], 0); VECTORS];
    let mut at = 0;
    while at < LATER.len() {
        let mut vector = 0;
        while vector < VECTORS {
            if LATER[at].5 >> vector & 1 == 1 {
                let (list, len) = &mut lists[vector];
                list[*len] = at as u8;
                *len += 1;
            }
            vector += 1;
        }
        at += 1;
    }
    lists
}

/// For each block a bit mask of the disturbance vectors by which it could be half of a collision.
#[inline(always)]
pub fn suspects(blocks: &[[u8; BLOCK_BYTES]; LANES]) -> Lanes {
    let words = expand(blocks);
    let mut suspected = by_strongest(&words);
    for (lane, vectors) in suspected.iter_mut().enumerate().filter(|(_, vectors)| **vectors != 0) {
        *vectors = without_later(&words, lane, *vectors);
    }
    suspected
}

/// Checks the strongest conditions on all blocks at once, which leaves few bits.
#[inline(always)]
fn by_strongest(words: &[Lanes; WORDS]) -> Lanes {
    let mut suspected = [u32::MAX; LANES];
    macro_rules! ask {
        ($(($one:literal, $one_bit:literal, $other:literal, $other_bit:literal, $differ:literal, $vectors:literal),)*) => {
            $(
                for lane in 0..LANES {
                    let sign = (words[$one][lane] << (31 - $one_bit)) ^ (words[$other][lane] << (31 - $other_bit));
                    let differs = (sign.cast_signed() >> 31).cast_unsigned();
                    suspected[lane] &= (if $differ == 1 { differs } else { !differs }) | !$vectors;
                }
            )*
        };
    }
    with_strongest!(ask);
    suspected
}

fn without_later(words: &[Lanes; WORDS], lane: usize, vectors: u32) -> u32 {
    let holds = |at: u8| {
        let (one, one_bit, other, other_bit, differ, _) = LATER[usize::from(at)];
        let bits = (words[usize::from(one)][lane] >> one_bit) ^ (words[usize::from(other)][lane] >> other_bit);
        bits & 1 == u32::from(differ)
    };
    let (mut left, mut to_ask) = (0, vectors);
    while to_ask != 0 {
        let vector = to_ask.trailing_zeros() as usize;
        to_ask &= to_ask - 1;
        let (list, len) = &LATER_OF[vector];
        if list[..*len].iter().all(|at| holds(*at)) {
            left |= 1 << vector;
        }
    }
    left
}

/// Computes the first words of the message schedule (FIPS 180-4, 6.1.2) of each block, side by side.
#[inline(always)]
fn expand(blocks: &[[u8; BLOCK_BYTES]; LANES]) -> [Lanes; WORDS] {
    let mut words = [[0; LANES]; WORDS];
    for (lane, block) in blocks.iter().enumerate() {
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            word[lane] = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    }
    for at in 16..WORDS {
        for lane in 0..LANES {
            let mixed = words[at - 3][lane] ^ words[at - 8][lane] ^ words[at - 14][lane] ^ words[at - 16][lane];
            words[at][lane] = mixed.rotate_left(1);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::objects::hash::conditions::Condition;

    #[test]
    fn conditions_are_those_of_the_published_list() {
        let mut all: Vec<Condition> = LATER.to_vec();
        macro_rules! collect {
            ($($condition:expr,)*) => {
                all.extend([$($condition),*] as [Condition; 56])
            };
        }
        with_strongest!(collect);
        all.sort_unstable();
        let mut sum = sha1::Sha1::default();
        for (one, one_bit, other, other_bit, differ, vectors) in all {
            sha1::Digest::update(&mut sum, [one, one_bit, other, other_bit, differ]);
            sha1::Digest::update(&mut sum, vectors.to_be_bytes());
        }
        // Recorded when all results equalled those of `ubc_check` there: on random words, and with each bit flipped in
        // words that fulfil all conditions of a vector.
        assert_eq!(hex::encode(sha1::Digest::finalize(sum)), "a43ecc0c640a09081d591320ed1041d0dc7a650c");
    }
}
