//! SHA-1 that detects collision attacks: the plain hash with processor support, and a check of every block beside it.
//!
//! It detects what the common implementation (`sha1collisiondetection`, used by git) detects at about half the cost:
//! the search for suspicious blocks does not delay the hashing.

use super::filter::{BLOCK_BYTES, LANES};
use super::recompress::is_half_of_collision;
use super::wide::suspects;

const GROUP_BYTES: usize = BLOCK_BYTES * LANES;
/// Initial hash value, FIPS 180-4, 5.3.1.
const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
/// Bytes of the length at the end of the padding.
const LENGTH_BYTES: usize = 8;

type Block = [u8; BLOCK_BYTES];

/// A hash in progress.
pub struct CheckedSha1 {
    state: [u32; 5],
    len_bytes: u64,
    /// Bytes that do not fill a group of blocks yet.
    waiting: Vec<u8>,
    found: bool,
}

impl Default for CheckedSha1 {
    fn default() -> Self {
        Self { state: START, len_bytes: 0, waiting: Vec::with_capacity(GROUP_BYTES + 2 * BLOCK_BYTES), found: false }
    }
}

impl CheckedSha1 {
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.len_bytes = self.len_bytes.wrapping_add(bytes.len() as u64);
        if !self.waiting.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(GROUP_BYTES - self.waiting.len()));
            self.waiting.extend(now);
            bytes = later;
            if self.waiting.len() < GROUP_BYTES {
                return;
            }
            let full = std::mem::take(&mut self.waiting);
            self.take_in(&full);
            self.waiting = full;
            self.waiting.clear();
        }
        let whole = bytes.len() - bytes.len() % GROUP_BYTES;
        self.take_in(&bytes[..whole]);
        self.waiting.extend(&bytes[whole..]);
    }

    /// Returns the hash, or `None` if some block was made for an attack.
    pub fn finish(mut self) -> Option<[u8; 20]> {
        let mut last = std::mem::take(&mut self.waiting);
        last.push(0x80);
        let unpadded = last.len() + LENGTH_BYTES;
        last.resize(unpadded.next_multiple_of(BLOCK_BYTES) - LENGTH_BYTES, 0);
        last.extend(self.len_bytes.wrapping_mul(8).to_be_bytes());
        self.take_in(&last);
        let mut digest = [0; 20];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        (!self.found).then_some(digest)
    }

    /// Hashes whole blocks.
    fn take_in(&mut self, bytes: &[u8]) {
        let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
        let (groups, rest) = blocks.as_chunks::<LANES>();
        for group in groups {
            self.take_in_group(group, LANES);
        }
        if !rest.is_empty() {
            let mut group = [[0; BLOCK_BYTES]; LANES];
            group[..rest.len()].copy_from_slice(rest);
            self.take_in_group(&group, rest.len());
        }
    }

    /// Hashes the first `count` blocks of a group.
    fn take_in_group(&mut self, group: &[Block; LANES], count: usize) {
        let suspected = suspects(group);
        for (block, vectors) in group.iter().zip(suspected).take(count) {
            let before = self.state;
            sha1::compress(&mut self.state, &[(*block).into()]);
            if vectors != 0 {
                self.found |= is_half_of_collision(block, &before, &self.state, vectors);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::properties;
    use proptest::prelude::*;

    /// The result of the reference implementation.
    fn reference(pieces: &[Vec<u8>]) -> Option<[u8; 20]> {
        let mut hasher = sha1_checked::Sha1::builder().safe_hash(false).build();
        for piece in pieces {
            sha1_checked::Digest::update(&mut hasher, piece);
        }
        match hasher.try_finalize() {
            sha1_checked::CollisionResult::Ok(digest) => Some(digest.into()),
            _ => None,
        }
    }

    fn ours(pieces: &[Vec<u8>]) -> Option<[u8; 20]> {
        let mut hasher = CheckedSha1::default();
        for piece in pieces {
            hasher.update(piece);
        }
        hasher.finish()
    }

    proptest! {
        #![proptest_config(properties(256))]

        #[test]
        fn every_content_in_any_pieces_has_the_hash_of_the_reference(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 0..6)
        ) {
            prop_assert_eq!(ours(&pieces), reference(&pieces));
        }
    }

    #[test]
    fn every_length_around_a_block_and_a_group_is_padded_right() {
        for len in (0..200).chain(440..600) {
            let content = vec![vec![b'x'; len]];
            assert_eq!(ours(&content), reference(&content), "{len} bytes");
        }
    }

    #[test]
    fn the_halves_of_a_published_collision_are_noticed_wherever_they_stand() {
        let prefix = crate::store::objects::hash::object_hash::tests::shattered_prefix();
        assert_eq!(ours(&[prefix[..192].to_vec()]), reference(&[prefix[..192].to_vec()]));
        for len in [256, 320] {
            assert_eq!(reference(&[prefix[..len].to_vec()]).is_none(), len == 320);
            assert_eq!(ours(&[prefix[..len].to_vec()]).is_none(), len == 320);
        }
        for more in [0, 1, 64, 700] {
            let pieces = [prefix.clone(), vec![7; more]];
            assert_eq!(ours(&pieces), None, "{more} bytes behind it");
        }
    }
}
