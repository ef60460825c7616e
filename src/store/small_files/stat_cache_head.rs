//! The head of the stat cache's patch file: what the cache is valid for.

use xxhash_rust::xxh3::xxh3_64;

use crate::model::{CachedBlock, ObjectId, RulesStamp};
use crate::store::PackStamp;

/// Length of the checksum at the end of a cache file.
pub const SUM_BYTES: usize = 8;

const PATCH_MAGIC: &[u8; 8] = b"CKPTSP03";

/// The cache is valid while these exist unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Checksum of the base to which the patch belongs.
    pub base_sum: u64,
    pub checkpoint: ObjectId,
    /// Another required checkpoint, whose restored files are in the cache.
    pub restored: Option<ObjectId>,
    pub packs: Vec<PackStamp>,
    pub rules: RulesStamp,
}

/// Renders a patch file; an empty block means no changes.
pub fn render(head: &Head, block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096 + block.len());
    out.extend(PATCH_MAGIC);
    let RulesStamp {
        rules,
        index,
        names,
    } = head.rules;
    for number in [head.base_sum, rules, index, names, head.packs.len() as u64] {
        put(&mut out, number);
    }
    out.extend(head.checkpoint.as_bytes());
    // Without a second checkpoint the first is written twice.
    out.extend(head.restored.unwrap_or(head.checkpoint).as_bytes());
    for pack in &head.packs {
        pack.render(&mut out);
    }
    out.extend(block);
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    out
}

/// Appends a number, little-endian, 8 bytes.
pub fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Parses the head, and the block if there is one; `None` if the bytes are invalid.
pub fn parse(bytes: Vec<u8>) -> Option<(Head, Option<CachedBlock>)> {
    sum_at_end(&bytes)?;
    let end = bytes.len() - SUM_BYTES;
    let mut input = Input(bytes.get(..end)?);
    if input.take(PATCH_MAGIC.len())? != PATCH_MAGIC {
        return None;
    }
    let (base_sum, rules, index, names) = (
        input.number()?,
        input.number()?,
        input.number()?,
        input.number()?,
    );
    let pack_count = input.number()?;
    let checkpoint = ObjectId::from_slice(input.take(20)?)?;
    let restored = ObjectId::from_slice(input.take(20)?).filter(|restored| *restored != checkpoint);
    let packs = (0..pack_count)
        .map(|_| input.pack())
        .collect::<Option<_>>()?;
    let at = end - input.0.len();
    let head = Head {
        base_sum,
        checkpoint,
        restored,
        packs,
        rules: RulesStamp {
            rules,
            index,
            names,
        },
    };
    let block = if at == end {
        None
    } else {
        Some(CachedBlock::parse(bytes, at, end)?)
    };
    Some((head, block))
}

/// The unparsed rest of a file; reads return `None` at its end.
pub struct Input<'b>(pub &'b [u8]);

impl PackStamp {
    /// Appends the stamp in the form that [`Input::pack`] reads.
    pub fn render(&self, out: &mut Vec<u8>) {
        put(out, self.name.len() as u64);
        out.extend(self.name.as_bytes());
        put(out, self.size_bytes);
        put(out, self.mtime_ns.cast_unsigned());
    }
}

impl<'b> Input<'b> {
    pub fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn pack(&mut self) -> Option<PackStamp> {
        let length = usize::try_from(self.number()?).ok()?;
        let name = String::from_utf8(self.take(length)?.to_vec()).ok()?;
        Some(PackStamp {
            name,
            size_bytes: self.number()?,
            mtime_ns: self.number()?.cast_signed(),
        })
    }
}

/// Returns the checksum in the last eight bytes if it matches the bytes before it.
pub fn sum_at_end(bytes: &[u8]) -> Option<u64> {
    let (body, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
    let sum = u64::from_le_bytes(*sum);
    (sum == xxh3_64(body)).then_some(sum)
}
