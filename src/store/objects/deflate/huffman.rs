//! Makes Huffman codes of limited length, and the description of them before a block (RFC 1951).
#![expect(
    clippy::cast_possible_truncation,
    reason = "symbols and lengths of codes are below 320"
)]

use crate::store::objects::deflate::bit_writer::BitWriter;

/// Literals, the end of a block, lengths, and two that only the fixed code counts.
pub const LITERALS: usize = 288;
pub const DISTANCES: usize = 30;
pub const END_OF_BLOCK: usize = 256;
/// Longest codes: of literals and distances, and of the lengths of codes.
pub const LONGEST_CODE: usize = 15;
const LONGEST_OF_LENGTHS: usize = 7;
/// Number of bits for a symbol beside its frequency.
const SYMBOL_BITS: u32 = 9;

/// A prefix code for `N` symbols; unused ones have the length 0.
pub struct HuffmanCode<const N: usize> {
    lens: [u8; N],
    codes: [u16; N],
}

impl<const N: usize> HuffmanCode<N> {
    /// Makes the best code of at most `longest` bits, nearly; the frequencies add up to less than 2^23.
    pub fn of(frequencies: &[u32; N], longest: usize) -> Self {
        let (mut sorted, mut used) = ([0; N], 0);
        for (symbol, frequency) in frequencies.iter().enumerate() {
            if *frequency > 0 {
                sorted[used] = frequency << SYMBOL_BITS | symbol as u32;
                used += 1;
            }
        }
        let sorted = &mut sorted[..used];
        sorted.sort_unstable();
        let mut symbols = sorted
            .iter()
            .map(|both| (both & ((1 << SYMBOL_BITS) - 1)) as usize);
        let mut lens = [0; N];
        if used < 2 {
            // Some readers want a complete code, of two symbols at least.
            let one = symbols.next().unwrap_or_default();
            (lens[one], lens[usize::from(one == 0)]) = (1, 1);
            return Self::with_lens(lens);
        }
        let mut tree = [0; N];
        for (node, both) in tree.iter_mut().zip(sorted.iter()) {
            *node = both >> SYMBOL_BITS;
        }
        let counts = limited(depths(&mut tree[..used], longest), longest);
        for (len, count) in counts.iter().enumerate().rev() {
            for symbol in symbols.by_ref().take(*count as usize) {
                lens[symbol] = len as u8;
            }
        }
        Self::with_lens(lens)
    }

    /// Numbers the codes in the order that the lengths determine.
    pub fn with_lens(lens: [u8; N]) -> Self {
        let mut next = [0_u16; LONGEST_CODE + 2];
        for len in lens.iter().filter(|len| **len > 0) {
            next[usize::from(*len) + 1] += 1;
        }
        for len in 1..=LONGEST_CODE {
            next[len] = (next[len] + next[len - 1]) << 1;
        }
        let mut codes = [0; N];
        for (code, len) in codes.iter_mut().zip(&lens).filter(|(_, len)| **len > 0) {
            let next = &mut next[usize::from(*len)];
            *code = next.reverse_bits() >> (16 - len);
            *next += 1;
        }
        Self { lens, codes }
    }

    /// Returns the bits of a symbol and their number.
    pub fn get(&self, symbol: usize) -> (u32, u32) {
        (u32::from(self.codes[symbol]), u32::from(self.lens[symbol]))
    }

    /// Returns the number of bits for all symbols.
    pub fn cost(&self, frequencies: &[u32; N]) -> u32 {
        let of_each = self.lens.iter().zip(frequencies);
        of_each.map(|(len, count)| u32::from(*len) * count).sum()
    }

    fn used(&self, least: usize) -> &[u8] {
        let end = self.lens.iter().rposition(|len| *len > 0);
        &self.lens[..end.map_or(least, |end| least.max(end + 1))]
    }
}

/// Builds the tree in place, frequencies ascending, and counts the leaves at each depth (Moffat and
/// Katajainen); deeper ones count as `longest`.
fn depths(tree: &mut [u32], longest: usize) -> [u32; LONGEST_CODE + 1] {
    let (mut leaf, mut root) = (0, 0);
    let len = tree.len();
    for next in 0..len - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            if leaf == len || (root < next && tree[root] < tree[leaf]) {
                sum += std::mem::replace(&mut tree[root], next as u32);
                root += 1;
            } else {
                sum += tree[leaf];
                leaf += 1;
            }
        }
        tree[next] = sum;
    }
    tree[len - 2] = 0;
    for node in (0..len - 2).rev() {
        tree[node] = tree[tree[node] as usize] + 1;
    }
    let mut counts = [0; LONGEST_CODE + 1];
    let mut inner = tree[..len - 1].iter().rev().peekable();
    let (mut places, mut depth) = (1, 0);
    while places > 0 {
        let mut taken = 0;
        while inner.next_if(|node| **node == depth).is_some() {
            taken += 1;
        }
        counts[longest.min(depth as usize)] += places - taken;
        (places, depth) = (2 * taken, depth + 1);
    }
    counts
}

/// Lengthens short codes until those that were too long fit.
fn limited(mut counts: [u32; LONGEST_CODE + 1], longest: usize) -> [u32; LONGEST_CODE + 1] {
    let room = |(len, count): (usize, &u32)| *count << (longest - len);
    let taken: u32 = counts[..=longest].iter().enumerate().map(room).sum();
    for _ in 1 << longest..taken {
        let shorter = (1..longest).rev().find(|len| counts[*len] > 0);
        if let Some(len) = shorter {
            counts[longest] -= 1;
            counts[len] -= 1;
            counts[len + 1] += 2;
        }
    }
    counts
}

/// The description of the codes of a block: the lengths, themselves in a code.
pub struct CodeHeader {
    /// Symbols below 256, their operands above.
    items: Vec<u16>,
    code: HuffmanCode<19>,
    literals: usize,
    distances: usize,
    described: usize,
    pub cost: u32,
}

impl CodeHeader {
    /// Order in which the lengths of its own code are written.
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];

    pub fn of(literals: &HuffmanCode<LITERALS>, distances: &HuffmanCode<DISTANCES>) -> Self {
        let (literals, distances) = (literals.used(END_OF_BLOCK + 1), distances.used(1));
        let (mut items, mut frequencies) = (Vec::with_capacity(LITERALS + DISTANCES), [0; 19]);
        let mut put = |symbol: u8, operand: usize| {
            items.push(u16::from(symbol) | (operand as u16) << 8);
            frequencies[usize::from(symbol)] += 1;
        };
        for same in [literals, distances].concat().chunk_by(|a, b| a == b) {
            let (len, mut count) = (same[0], same.len());
            if len > 0 {
                put(len, 0);
                count -= 1;
            }
            while count >= 3 {
                let (symbol, least, most) = match len {
                    0 if count >= 11 => (18, 11, 138),
                    0 => (17, 3, 10),
                    _ => (16, 3, 6),
                };
                let run = count.min(most);
                put(symbol, run - least);
                count -= run;
            }
            (0..count).for_each(|_| put(len, 0));
        }
        let code = HuffmanCode::of(&frequencies, LONGEST_OF_LENGTHS);
        let last = Self::ORDER
            .iter()
            .rposition(|symbol| code.lens[*symbol] > 0);
        let described = last.map_or(4, |last| 4.max(last + 1));
        let operands = 2 * frequencies[16] + 3 * frequencies[17] + 7 * frequencies[18];
        Self {
            items,
            literals: literals.len(),
            distances: distances.len(),
            described,
            cost: 14 + 3 * described as u32 + operands + code.cost(&frequencies),
            code,
        }
    }

    /// Writes it; room must be reserved.
    pub fn write(&self, bits: &mut BitWriter) {
        let counts = [
            (self.literals - 257, 5),
            (self.distances - 1, 5),
            (self.described - 4, 4),
        ];
        bits.extend(counts.map(|(count, bits)| (count as u64, bits)));
        let order = &Self::ORDER[..self.described];
        bits.extend(order.iter().map(|of| (u64::from(self.code.lens[*of]), 3)));
        bits.extend(self.items.iter().map(|item| {
            let (symbol, operand) = (usize::from(item & 0xff), u64::from(item >> 8));
            let (code, len) = self.code.get(symbol);
            let operand_bits = match symbol {
                16 => 2,
                17 => 3,
                18 => 7,
                _ => 0,
            };
            (u64::from(code) | operand << len, len + operand_bits)
        }));
    }
}
