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

    /// The first 320 bytes of one of the two files of Stevens et al., 2017, which hold both
    /// near-collision blocks.
    pub(crate) fn shattered(number: usize) -> Vec<u8> {
        let digits = include_str!("tests/shattered.txt").lines().nth(number);
        hex::decode(digits.unwrap()).unwrap()
    }

    #[test]
    fn ids_are_those_of_git() {
        for (kind, content, expected) in [
            (
                ObjectKind::Blob,
                "",
                "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            ),
            (
                ObjectKind::Tree,
                "",
                "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            ),
            (
                ObjectKind::Blob,
                "hello\n",
                "ce013625030ba8dba906f756967f9e9ca394464a",
            ),
        ] {
            let id = hash_object(kind, content.as_bytes()).unwrap();
            assert_eq!(id.to_hex(), expected);
        }
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
        let pair = [shattered(0), shattered(1)];
        let [one, other] = [&pair[0], &pair[1]].map(|bytes| trailer_of(bytes));
        assert_eq!(one, other, "the plain hash does not tell them apart");
        let hashed = |pieces: [&[u8]; 2]| {
            let mut hasher = ObjectHasher::without_header();
            hasher.update(pieces[0]);
            hasher.update(pieces[1]);
            hasher.finish()
        };
        for half in pair {
            let first = hashed([&half[..200], &half[200..256]]);
            assert!(first.is_ok(), "the first of the two blocks");
            for behind in [0, 1, 64, 700] {
                let all = hashed([&half, &vec![7; behind]]);
                assert_eq!(all, Err(Collision), "{behind} bytes behind it");
            }
        }
    }
}
