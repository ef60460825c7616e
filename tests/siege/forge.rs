//! Forged git objects that no honest program writes: correct hashes of any bytes, loose or packed.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use flate2::{Compression, Crc, write::ZlibEncoder};
use sha1::{Digest as _, Sha1};

pub type Id = [u8; 20];

/// Kind of an object, with its number in a pack.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

/// Objects to be written.
#[derive(Default)]
pub struct Forge {
    objects: BTreeMap<Id, (Kind, Vec<u8>)>,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }
}

impl Forge {
    pub fn put(&mut self, kind: Kind, bytes: Vec<u8>) -> Id {
        let id = Sha1::new()
            .chain_update(head(kind, &bytes))
            .chain_update(&bytes)
            .finalize()
            .into();
        self.objects.insert(id, (kind, bytes));
        id
    }

    /// Writes each object as a loose file.
    pub fn write_loose(&self, objects: &Path) {
        for (id, (kind, bytes)) in &self.objects {
            let hex = hex::encode(id);
            let dir = objects.join(&hex[..2]);
            std::fs::create_dir_all(&dir).expect("a directory can be made");
            let whole = [head(*kind, bytes).as_slice(), bytes].concat();
            std::fs::write(dir.join(&hex[2..]), deflated(&whole))
                .expect("an object can be written");
        }
    }

    /// Writes all objects into one pack, with its index.
    pub fn write_pack(&self, objects: &Path) {
        let count = u32::try_from(self.objects.len())
            .expect("few objects")
            .to_be_bytes();
        let mut pack = [b"PACK\0\0\0\x02".as_slice(), &count].concat();
        let mut places = Vec::new();
        for (kind, bytes) in self.objects.values() {
            let start = pack.len();
            pack.extend(pack_head(*kind, bytes.len()));
            pack.extend(deflated(bytes));
            let mut crc = Crc::new();
            crc.update(&pack[start..]);
            places.push((crc.sum(), u32::try_from(start).expect("a small pack")));
        }
        let pack_sum = Sha1::digest(&pack);
        pack.extend(pack_sum);
        let mut index = [b"\xfftOc\0\0\0\x02".as_slice(), &self.fan_out()].concat();
        index.extend(self.objects.keys().flatten());
        index.extend(places.iter().flat_map(|(crc, _)| crc.to_be_bytes()));
        index.extend(places.iter().flat_map(|(_, start)| start.to_be_bytes()));
        index.extend(pack_sum);
        let index_sum = Sha1::digest(&index);
        index.extend(index_sum);
        let name = objects
            .join("pack")
            .join(format!("pack-{}", hex::encode(pack_sum)));
        std::fs::write(name.with_extension("pack"), pack).expect("a pack can be written");
        std::fs::write(name.with_extension("idx"), index).expect("an index can be written");
    }

    /// The fan-out table: for each first byte, how many ids begin with it or a smaller one.
    fn fan_out(&self) -> Vec<u8> {
        let upto = |first: u8| self.objects.keys().filter(|id| id[0] <= first).count();
        (0..=255)
            .flat_map(|first| {
                u32::try_from(upto(first))
                    .expect("few objects")
                    .to_be_bytes()
            })
            .collect()
    }
}

fn head(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    format!("{} {}\0", kind.word(), bytes.len()).into_bytes()
}

/// Kind and size before an object in a pack: four bits of the size, then seven at a time.
fn pack_head(kind: Kind, len: usize) -> Vec<u8> {
    let mut head = Vec::new();
    let mut byte = (kind as usize) << 4 | (len & 15);
    let mut rest = len >> 4;
    while rest > 0 {
        head.push(u8::try_from(byte | 0x80).expect("eight bits"));
        byte = rest & 0x7f;
        rest >>= 7;
    }
    head.push(u8::try_from(byte).expect("seven bits"));
    head
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}
