//! Sets and maps of object ids. An id is a hash already, so it is not hashed again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::model::ObjectId;

/// A set of objects.
pub type ObjectIds = HashSet<ObjectId, BuildHasherDefault<IdHasher>>;
/// A map by object.
pub type IdMap<V> = HashMap<ObjectId, V, BuildHasherDefault<IdHasher>>;

/// Uses the first bytes of an id as its hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(start) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*start);
        }
    }

    /// Ignores the length, which is the same for all ids.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_begin_alike_are_told_apart() {
        let id = |first: u8, last: u8| {
            let mut bytes = [first; 20];
            bytes[19] = last;
            ObjectId::from_bytes(bytes)
        };
        let ids: ObjectIds = (0..200)
            .flat_map(|n| [id(n, 1), id(n, 2), id(7, n)])
            .collect();
        assert_eq!(ids.len(), 200 * 2 + 200 - 2);
        assert!(ids.contains(&id(9, 2)) && !ids.contains(&id(9, 3)));
        let map: IdMap<u8> = (0..200).map(|n| (id(n, 0), n)).collect();
        assert_eq!(map.get(&id(77, 0)), Some(&77));
    }
}
