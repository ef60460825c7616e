//! One pack with its index, flushed and published.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow};
use sha1::Digest as _;

use super::cache::Row;

pub type Id = [u8; 20];

struct Entry {
    id: Id,
    crc: u32,
    offset: u32,
}

pub struct Pack {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    compressor: libdeflater::Compressor,
}

impl Pack {
    pub fn begin() -> Self {
        Self {
            bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            entries: Vec::new(),
            compressor: libdeflater::Compressor::new(
                libdeflater::CompressionLvl::new(1).unwrap_or_default(),
            ),
        }
    }

    /// Adds an object; hashed with detection of collisions.
    pub fn add(&mut self, kind: &str, content: &[u8]) -> Result<Id> {
        let mut hasher = sha1dc::Hasher::new();
        hasher.update(format!("{kind} {}\0", content.len()).as_bytes());
        hasher.update(content);
        let id = hasher.finalize().map_err(|_| anyhow!("a collision"))?;
        let id: Id = id.to_bytes();
        if self.entries.iter().any(|entry| entry.id == id) {
            return Ok(id);
        }
        let start = self.bytes.len();
        self.push_header(kind, content.len());
        let at = self.bytes.len();
        self.bytes
            .resize(at + self.compressor.zlib_compress_bound(content.len()), 0);
        let len = self
            .compressor
            .zlib_compress(content, &mut self.bytes[at..])
            .map_err(|why| anyhow!("{why:?}"))?;
        self.bytes.truncate(at + len);
        self.entries.push(Entry {
            id,
            crc: libdeflater::crc32(&self.bytes[start..]),
            offset: u32::try_from(start)?,
        });
        Ok(id)
    }

    fn push_header(&mut self, kind: &str, len: usize) {
        let number: u8 = match kind {
            "commit" => 1,
            "tree" => 2,
            _ => 3,
        };
        let low = |bits: usize, mask: usize| u8::try_from(bits & mask).unwrap_or_default();
        let mut rest = len >> 4;
        let mut byte = number << 4 | low(len, 15);
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            byte = low(rest, 0x7f);
            rest >>= 7;
        }
        self.bytes.push(byte);
    }

    pub fn publish(mut self, store: &Path) -> Result<()> {
        let count = u32::try_from(self.entries.len())?;
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let trailer: Id = sha1::Sha1::digest(&self.bytes).into();
        self.bytes.extend(trailer);
        let index = self.index(trailer);
        let dir = store.join("objects/pack");
        let name = hex(&trailer);
        let [pack, idx] = ["pack", "idx"].map(|ending| dir.join(format!("pack-{name}.{ending}")));
        for (path, bytes) in [(&pack, &self.bytes), (&idx, &index)] {
            let mut file = File::create(path.with_extension("tmp"))?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(path.with_extension("tmp"), path)?;
        }
        Ok(File::open(dir)?.sync_all()?)
    }

    fn index(&mut self, trailer: Id) -> Vec<u8> {
        self.entries.sort_unstable_by_key(|entry| entry.id);
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=u8::MAX {
            let upto = self.entries.partition_point(|entry| entry.id[0] <= first);
            index.extend(u32::try_from(upto).unwrap_or_default().to_be_bytes());
        }
        index.extend(self.entries.iter().flat_map(|entry| entry.id));
        index.extend(
            self.entries
                .iter()
                .flat_map(|entry| entry.crc.to_be_bytes()),
        );
        index.extend(
            self.entries
                .iter()
                .flat_map(|entry| entry.offset.to_be_bytes()),
        );
        index.extend(trailer);
        let own: Id = sha1::Sha1::digest(&index).into();
        index.extend(own);
        index
    }
}

/// The content of a tree object; rows are in the order in which they were read from one.
pub fn tree(rows: &[Row], names: &[&[u8]]) -> Vec<u8> {
    let mut tree = Vec::new();
    for (row, name) in rows.iter().zip(names) {
        let mode: &[u8] = match (row.is_dir(), row.stamp.mode & super::FILE_FORMAT) {
            (true, _) => b"40000 ",
            (_, 0o120_000) => b"120000 ",
            _ if row.stamp.mode & 0o100 != 0 => b"100755 ",
            _ => b"100644 ",
        };
        for part in [mode, name, b"\0", &row.id[..]] {
            tree.extend(part);
        }
    }
    tree
}

pub fn hex(id: &Id) -> String {
    id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
