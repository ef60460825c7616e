//! Hashes: ids of objects with collision detection, and the plain SHA-1 of packs and indexes.

use sha1::Digest as _;

use crate::model::ObjectId;

/// The kinds of objects, of which no checkpoint has a tag, named as in the header that git hashes with the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// The content bears the mark of a SHA-1 collision attack, so its id would not be unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the content is part of a SHA-1 collision attack")]
pub struct Collision;

/// Computes the id of an object whose content comes in pieces.
pub struct ObjectHasher {
    state: sha1dc::Hasher,
}

impl ObjectHasher {
    /// `len` is the length of the whole content in bytes; it is hashed too.
    pub fn new(kind: ObjectKind, len: u64) -> Self {
        let mut hasher = Self {
            state: sha1dc::Hasher::new(),
        };
        hasher.update(format!("{} {len}\0", kind.into_str()).as_bytes());
        hasher
    }

    /// A hasher without git's header: the published colliding files collide only without it.
    #[cfg(test)]
    pub(crate) fn without_header() -> Self {
        Self {
            state: sha1dc::Hasher::new(),
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }

    /// # Errors
    /// [`Collision`] if some block of the content was made for an attack.
    pub fn finish(self) -> Result<ObjectId, Collision> {
        self.state
            .finalize()
            .map(|id| ObjectId::from_bytes(id.to_bytes()))
            .map_err(|_| Collision)
    }
}

/// Computes the id of an object in memory.
///
/// # Errors
/// [`Collision`], as [`ObjectHasher::finish`].
pub fn hash_object(kind: ObjectKind, content: &[u8]) -> Result<ObjectId, Collision> {
    let mut hasher = ObjectHasher::new(kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

/// Computes the checksum at the end of a pack or index, or the id of what the store holds. It guards
/// only against accidents, for which the fast SHA-1 is enough: collisions were excluded when an object
/// was stored, by us or by git.
#[derive(Default)]
pub struct TrailerHasher {
    state: sha1::Sha1,
}

impl TrailerHasher {
    /// As [`ObjectHasher::new`].
    pub fn of_object(kind: ObjectKind, len: u64) -> Self {
        let mut hasher = Self::default();
        hasher.update(format!("{} {len}\0", kind.into_str()).as_bytes());
        hasher
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }

    pub fn finish(self) -> [u8; 20] {
        self.state.finalize().into()
    }
}

/// The checksum of bytes in memory.
pub fn trailer_of(bytes: &[u8]) -> [u8; 20] {
    let mut hasher = TrailerHasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// A checksum in hex, as in the name of a pack.
pub fn hex_of(checksum: [u8; 20]) -> String {
    ObjectId::from_bytes(checksum).to_hex()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The first 320 bytes of shattered-1.pdf (Stevens et al., 2017), which hold both
    /// near-collision blocks.
    pub(crate) fn shattered_prefix() -> Vec<u8> {
        hex::decode(concat!(
            "255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474682032203020522f4865696768742033",
            "203020522f547970652034203020522f537562747970652035203020522f46696c7465722036203020522f436f6c6f72",
            "53706163652037203020522f4c656e6774682038203020522f42697473506572436f6d706f6e656e7420383e3e0a7374",
            "7265616d0affd8fffe00245348412d3120697320646561642121212121852fec092339759c39b1a1c63c4c97e1fffe01",
            "7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de218f86db3a90901d5df45c14f26fedfb3",
            "dc38e96ac22fe7bd728f0e45bce046d23c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500",
            "eb4ddc0decc1a864790c782c76215660dd309791d06bd0af3f98cda4bc4629b1"
        ))
        .unwrap()
    }

    /// The same of shattered-2.pdf: in both blocks the same bits differ.
    fn shattered_partner() -> Vec<u8> {
        let differing = hex::decode(concat!(
            "0c000002c0000010b400001c3c000004bc00001a200000102400001cec000014",
            "0c000002c0000010b400001c2c000004bc000018b00000100000000cb8000010"
        ))
        .unwrap();
        let mut partner = shattered_prefix();
        partner[192..]
            .iter_mut()
            .zip(differing.iter().cycle())
            .for_each(|(byte, bits)| *byte ^= bits);
        partner
    }

    #[test]
    fn ids_are_those_of_git() {
        let id = |kind, content: &[u8]| hash_object(kind, content).unwrap().to_hex();
        assert_eq!(
            id(ObjectKind::Blob, b""),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        assert_eq!(
            id(ObjectKind::Tree, b""),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
        assert_eq!(
            id(ObjectKind::Blob, b"hello\n"),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
    }

    #[test]
    fn pieces_give_the_same_id_as_the_whole() {
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut hasher = ObjectHasher::new(ObjectKind::Blob, content.len() as u64);
        content.chunks(777).for_each(|piece| hasher.update(piece));
        assert_eq!(hasher.finish(), hash_object(ObjectKind::Blob, &content));
    }

    #[test]
    fn a_published_collision_is_an_error_value() {
        let pair = [shattered_prefix(), shattered_partner()];
        assert_eq!(
            trailer_of(&pair[0]),
            trailer_of(&pair[1]),
            "the plain hash does not tell them apart"
        );
        let hashed = |pieces: [&[u8]; 2]| {
            let mut hasher = ObjectHasher::without_header();
            hasher.update(pieces[0]);
            hasher.update(pieces[1]);
            hasher.finish()
        };
        for half in pair {
            assert!(
                hashed([&half[..200], &half[200..256]]).is_ok(),
                "the first of the two blocks"
            );
            for behind in [0, 1, 64, 700] {
                assert_eq!(
                    hashed([&half, &vec![7; behind]]),
                    Err(Collision),
                    "{behind} bytes behind it"
                );
            }
        }
    }
}
