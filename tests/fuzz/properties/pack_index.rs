//! Pack indexes: what is written is found, and no index, however damaged, gives another object than
//! was asked for.

use checkpoint::model::state::object_id::ObjectId;
use checkpoint::store::objects::pack::pack_index::{IndexEntry, PackIndex, encode};

use super::draw::Draw;

pub fn check(data: &[u8]) {
    if let Ok(index) = PackIndex::parse(data.to_vec()) {
        answers(&index);
    }
    let mut draw = Draw::new(data);
    let mut entries: Vec<IndexEntry> = Vec::new();
    for _ in 0..draw.byte() {
        let mut id = [draw.byte(); 20];
        id[19] = draw.byte();
        let (id, offset) = (ObjectId::from_bytes(id), draw.number() >> 1);
        if entries
            .iter()
            .all(|entry| entry.id != id && entry.offset != offset)
        {
            entries.push(IndexEntry {
                id,
                offset,
                crc: u32::from(draw.byte()),
            });
        }
    }
    let mut bytes = encode(&mut entries, [draw.byte(); 20]);
    let index = PackIndex::parse(bytes.clone()).expect("our own index");
    assert!(index.checksum_is_right());
    assert!(index.entries().eq(entries.iter().copied()));
    for entry in &entries {
        assert_eq!(index.find(&entry.id), Some(*entry));
    }
    let at = usize::try_from(draw.number()).expect("64 bits") % bytes.len();
    bytes[at] ^= draw.byte().max(1);
    if let Ok(index) = PackIndex::parse(bytes) {
        assert!(
            !index.checksum_is_right(),
            "another byte at {at} is not noticed"
        );
        answers(&index);
    }
}

fn answers(index: &PackIndex) {
    assert!(index.count() <= index.bytes().len() / 28);
    let all = [
        ObjectId::from_bytes([0; 20]),
        ObjectId::from_bytes([0xff; 20]),
    ];
    let ids = index.entries().take(64).map(|entry| entry.id);
    for id in ids.chain(all) {
        assert!(index.find(&id).is_none_or(|found| found.id == id));
    }
    assert!(index.between(&all[0], &all[1]).count() <= index.count());
    for entry in index.entries().take(64) {
        assert!(index.end_of(entry.offset, 1 << 40) <= 1 << 40);
    }
}
