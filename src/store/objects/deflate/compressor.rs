//! Deflates at a single glance: one earlier place is tried for each position, and each block has a
//! Huffman code of its own. libdeflate's fastest level takes a third more time, for 5 % less.
#![expect(
    clippy::cast_possible_truncation,
    reason = "positions are told apart by their low bits, and lengths and slots are small"
)]

use crate::store::objects::deflate::bit_writer::{BitWriter, STORED_BLOCK_BYTES};
use crate::store::objects::deflate::huffman::{
    CodeHeader, DISTANCES, END_OF_BLOCK, HuffmanCode, LITERALS, LONGEST_CODE,
};

/// Farthest that a match may reach back.
const WINDOW_BYTES: usize = 32 << 10;
const HASH_BITS: u32 = 14;
/// Bytes compared at once. The last of a block are not looked up.
const COMPARED_BYTES: usize = 16;
const LONGEST_MATCH: usize = 258;
/// Symbols of tokens: literals, the end of a block, and each length of a match.
const SYMBOLS: usize = 1 << SLOT_SHIFT;
/// A token has its symbol, then the slot of the distance, then the distance less one.
const SLOT_SHIFT: u32 = 10;
const DISTANCE_SHIFT: u32 = 16;
const SLOTS: usize = 32;
/// The slot of tokens without a distance.
const NO_SLOT: u32 = 31;
/// The shortest match of each length symbol; the last has no extra bits.
const LENGTHS: [usize; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];

/// Compresses blocks. Its tables are made once.
pub struct Compressor {
    /// Low bits of the last position of each hash. A stale one costs a comparison.
    heads: Box<[u16; 1 << HASH_BITS]>,
    tokens: Vec<u32>,
    symbols: [u32; SYMBOLS],
    distances: [u32; SLOTS],
    fixed: Codes,
}

/// The codes of a block.
struct Codes {
    literals: HuffmanCode<LITERALS>,
    distances: HuffmanCode<DISTANCES>,
}

#[expect(
    clippy::large_stack_arrays,
    reason = "the table goes to the heap at once"
)]
impl Default for Compressor {
    fn default() -> Self {
        let lens = std::array::from_fn(|symbol| match symbol {
            0..=143 | 280.. => 8,
            144..=255 => 9,
            _ => 7,
        });
        Self {
            heads: Box::new([0; 1 << HASH_BITS]),
            tokens: Vec::new(),
            symbols: [0; SYMBOLS],
            distances: [0; SLOTS],
            fixed: Codes {
                literals: HuffmanCode::with_lens(lens),
                distances: HuffmanCode::with_lens([5; DISTANCES]),
            },
        }
    }
}

impl Compressor {
    /// Writes `data` as blocks, without regard to what was compressed before.
    pub fn compress(&mut self, data: &[u8], is_last: bool, bits: &mut BitWriter) {
        self.heads.fill(0);
        let mut from = 0;
        loop {
            let left = data.len() - from;
            let len = if left <= STORED_BLOCK_BYTES {
                left
            } else {
                STORED_BLOCK_BYTES.min(left / 2)
            };
            let to = from + len;
            let count = self.find_matches(&data[..to], from);
            let is_last = is_last && to == data.len();
            self.write_block(&data[from..to], count, is_last, bits);
            from = to;
            if from == data.len() {
                return;
            }
        }
    }

    /// Turns `data` into tokens from `from` on, counts their symbols, and returns their number.
    fn find_matches(&mut self, data: &[u8], from: usize) -> usize {
        let heads = &mut *self.heads;
        let (symbols, distances) = (&mut self.symbols, &mut self.distances);
        (*symbols, *distances) = ([0; SYMBOLS], [0; SLOTS]);
        let room = data.len() - from + 1;
        if self.tokens.len() < room {
            self.tokens.resize(room, 0);
        }
        let tokens = &mut *self.tokens;
        let (mut at, mut count) = (from, 0);
        let end = data.len().saturating_sub(COMPARED_BYTES);
        while at < end {
            let word = word_at(data, at);
            let head = &mut heads[hash(word)];
            let distance = usize::from((at as u16).wrapping_sub(*head));
            *head = at as u16;
            if distance.wrapping_sub(1) < at.min(WINDOW_BYTES) {
                let differing = long_at(data, at) ^ long_at(data, at - distance);
                if differing as u32 == 0 {
                    let len = match differing {
                        0 => match_len(data, at, distance),
                        _ => (differing.trailing_zeros() / 8) as usize,
                    };
                    let (symbol, slot) = (END_OF_BLOCK - 2 + len, slot_of(distance));
                    symbols[symbol % SYMBOLS] += 1;
                    distances[slot as usize % SLOTS] += 1;
                    tokens[count] = symbol as u32
                        | slot << SLOT_SHIFT
                        | (distance as u32 - 1) << DISTANCE_SHIFT;
                    count += 1;
                    heads[hash(word >> 8)] = (at + 1) as u16;
                    at += len;
                    if at < end {
                        let last = word_at(data, at - 3);
                        heads[hash(last)] = (at - 3) as u16;
                        heads[hash(last >> 8)] = (at - 2) as u16;
                        heads[hash(last >> 16)] = (at - 1) as u16;
                    }
                    continue;
                }
            }
            symbols[usize::from(word as u8)] += 1;
            tokens[count] = u32::from(word as u8) | NO_SLOT << SLOT_SHIFT;
            count += 1;
            at += 1;
        }
        for symbol in data[at..]
            .iter()
            .map(|byte| usize::from(*byte))
            .chain([END_OF_BLOCK])
        {
            symbols[symbol] += 1;
            tokens[count] = symbol as u32 | NO_SLOT << SLOT_SHIFT;
            count += 1;
        }
        count
    }

    /// Writes the tokens in the code that takes the fewest bits, or else stores the block.
    fn write_block(&self, data: &[u8], count: usize, is_last: bool, bits: &mut BitWriter) {
        let (mut literals, mut distances) = ([0; LITERALS], [0; DISTANCES]);
        literals[..=END_OF_BLOCK].copy_from_slice(&self.symbols[..=END_OF_BLOCK]);
        distances.copy_from_slice(&self.distances[..DISTANCES]);
        // Extra bits are the same in every code, and count against a stored block only.
        let mut extra = 0;
        for (slot, from) in LENGTHS.iter().enumerate() {
            let to = LENGTHS.get(slot + 1).unwrap_or(&(LONGEST_MATCH + 1));
            let symbols = &self.symbols[END_OF_BLOCK - 2 + from..END_OF_BLOCK - 2 + to];
            literals[END_OF_BLOCK + 1 + slot] = symbols.iter().sum();
            extra += literals[END_OF_BLOCK + 1 + slot] * length_bits(slot);
        }
        for (slot, count) in distances.iter().enumerate() {
            extra += count * slot_bits(slot);
        }
        let own = Codes {
            literals: HuffmanCode::of(&literals, LONGEST_CODE),
            distances: HuffmanCode::of(&distances, LONGEST_CODE),
        };
        let cost =
            |codes: &Codes| codes.literals.cost(&literals) + codes.distances.cost(&distances);
        let header = CodeHeader::of(&own.literals, &own.distances);
        let (own_cost, fixed_cost) = (cost(&own) + header.cost, cost(&self.fixed));
        bits.reserve(data.len() + 16);
        let tokens = &self.tokens[..count];
        if own_cost.min(fixed_cost) + extra >= 8 * data.len() as u32 {
            bits.store(data, is_last);
        } else if own_cost < fixed_cost {
            bits.extend([(u64::from(is_last) | 2 << 1, 3)]);
            header.write(bits);
            own.write(tokens, bits);
        } else {
            bits.extend([(u64::from(is_last) | 1 << 1, 3)]);
            self.fixed.write(tokens, bits);
        }
    }
}

impl Codes {
    fn write(&self, tokens: &[u32], bits: &mut BitWriter) {
        // Bits of each symbol, with the extra ones of a length, and their number on top.
        let mut symbols = [0; SYMBOLS];
        for (symbol, bits) in symbols[..=END_OF_BLOCK].iter_mut().enumerate() {
            let (code, len) = self.literals.get(symbol);
            *bits = code | len << 24;
        }
        let mut slot = 0;
        for len in LENGTHS[0]..=LONGEST_MATCH {
            if LENGTHS.get(slot + 1) == Some(&len) {
                slot += 1;
            }
            let (code, code_len) = self.literals.get(END_OF_BLOCK + 1 + slot);
            let extra_bits = length_bits(slot);
            symbols[END_OF_BLOCK - 2 + len] =
                code | ((len - LENGTHS[slot]) as u32) << code_len | (code_len + extra_bits) << 24;
        }
        let mut slots = [(0, 0, 0, 0); SLOTS];
        for (slot, entry) in slots[..DISTANCES].iter_mut().enumerate() {
            let (code, len) = self.distances.get(slot);
            let extra_bits = slot_bits(slot);
            *entry = (code, len, len + extra_bits, (1_u32 << extra_bits) - 1);
        }
        bits.extend(tokens.iter().map(|token| {
            let symbol = symbols[*token as usize % SYMBOLS];
            let symbol_bits = symbol >> 24;
            let (code, len, bits, extra) = slots[(token >> SLOT_SHIFT) as usize % SLOTS];
            let distance = u64::from(code) | u64::from(token >> DISTANCE_SHIFT & extra) << len;
            (
                u64::from(symbol & 0xff_ffff) | distance << symbol_bits,
                symbol_bits + bits,
            )
        }));
    }
}

/// Returns the length of a match whose first bytes are known to be equal.
fn match_len(data: &[u8], at: usize, distance: usize) -> usize {
    let most = LONGEST_MATCH.min(data.len() - at);
    let mut len = COMPARED_BYTES;
    while len + COMPARED_BYTES <= most {
        let differing = long_at(data, at + len) ^ long_at(data, at + len - distance);
        if differing != 0 {
            return len + (differing.trailing_zeros() / 8) as usize;
        }
        len += COMPARED_BYTES;
    }
    let rest = at + len..at + most;
    let pairs = data[rest.clone()]
        .iter()
        .zip(&data[rest.start - distance..]);
    len + pairs.take_while(|(a, b)| a == b).count()
}

/// Hashes the first five bytes, which finds longer matches than four.
fn hash(word: u64) -> usize {
    const FACTOR: u64 = 0x9e37_79b1_85eb_ca87;
    ((word << 24).wrapping_mul(FACTOR) >> (u64::BITS - HASH_BITS)) as usize
}

fn word_at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..].as_chunks().0[0])
}

fn long_at(data: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(data[at..].as_chunks().0[0])
}

/// Returns the symbol of a distance: two for each power of two.
fn slot_of(distance: usize) -> u32 {
    let less_one = distance as u32 - 1;
    if less_one < 4 {
        return less_one;
    }
    let power = less_one.ilog2();
    2 * power + (less_one >> (power - 1) & 1)
}

/// Number of extra bits of a distance.
fn slot_bits(slot: usize) -> u32 {
    (slot as u32 / 2).saturating_sub(1)
}

/// Number of extra bits of a length.
fn length_bits(slot: usize) -> u32 {
    match slot {
        ..4 | 28.. => 0,
        _ => slot as u32 / 4 - 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::objects::deflate::zlib::{ZLIB_HEADER, inflate, inflate_unsized};

    /// Noise, runs, repetitions of what came before, and codes that must be shortened.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let part = (0..4_u8, 1..3000_usize, 1..40_000_usize, any::<u64>());
        prop::collection::vec(part, 0..40).prop_map(|parts| {
            let mut made: Vec<u8> = Vec::new();
            for (kind, len, back, mut seed) in parts {
                for _ in 0..len {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let noise = (seed >> 33) as u32;
                    made.push(match kind {
                        0 => noise as u8,
                        1 => len as u8,
                        2 if made.len() >= back => made[made.len() - back],
                        _ => (noise | 1 << 30).trailing_zeros() as u8,
                    });
                }
            }
            made
        })
    }

    proptest! {
        #[test]
        fn any_content_is_undone_by_both_readers(data in content()) {
            let mut bits = BitWriter::default();
            bits.bytes(&ZLIB_HEADER);
            Compressor::default().compress(&data, true, &mut bits);
            bits.align();
            bits.bytes(&libdeflater::adler32(&data).to_be_bytes());
            let stream = bits.written();
            prop_assert!(stream.len() <= data.len() + data.len() / 1000 + 16);
            prop_assert!(inflate(stream, data.len()).unwrap() == data);
            prop_assert!(inflate_unsized(stream, data.len() as u64).unwrap() == data);
        }
    }

    #[test]
    fn codes_that_would_be_too_long_are_shortened() {
        let mut frequencies = [0; DISTANCES];
        let (mut one, mut other) = (1, 1);
        for frequency in &mut frequencies[..28] {
            *frequency = one;
            (one, other) = (other, one + other);
        }
        for longest in [5, 7, LONGEST_CODE] {
            let code = HuffmanCode::of(&frequencies, longest);
            let lens = (0..28).map(|symbol| code.get(symbol).1);
            assert_eq!(lens.clone().max(), Some(longest as u32));
            assert_eq!(
                lens.map(|len| 1 << (longest as u32 - len)).sum::<u32>(),
                1 << longest
            );
        }
    }
}
