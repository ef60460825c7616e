//! Cache of contents recently made from deltas: a long chain is not resolved for each object.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::base::mutex::lock;
use crate::store::AnyObject;

/// Upper bound on cached bytes; the newest content is kept even if it alone is larger.
const CACHED_BYTES: usize = 64 << 20;

/// A content that may be the base of several others.
pub type Shared = Arc<AnyObject>;

/// Returns a content without sharing, cloning it if needed.
pub fn owned(content: Shared) -> AnyObject {
    Arc::try_unwrap(content).unwrap_or_else(|shared| (shared.0, shared.1.clone()))
}

/// The most recent contents of one pack, by the offset of their entry.
#[derive(Debug, Default)]
pub struct BaseCache(Mutex<VecDeque<(u64, Shared)>>);

impl BaseCache {
    pub fn get(&self, offset: u64) -> Option<Shared> {
        let kept = lock(&self.0);
        kept.iter()
            .find(|(at, _)| *at == offset)
            .map(|(_, content)| Arc::clone(content))
    }

    pub fn put(&self, offset: u64, content: Shared) {
        let mut kept = lock(&self.0);
        kept.retain(|(at, _)| *at != offset);
        kept.push_back((offset, content));
        let mut bytes: usize = kept.iter().map(|(_, content)| content.1.len()).sum();
        while bytes > CACHED_BYTES && kept.len() > 1 {
            bytes -= kept.pop_front().map_or(0, |(_, content)| content.1.len());
        }
    }

    /// Frees the memory.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::objects::object_hash::ObjectKind;

    #[test]
    fn the_last_ones_are_kept_and_memory_is_bounded() {
        let cache = BaseCache::default();
        let content = |len: usize| Arc::new((ObjectKind::Blob, vec![0; len]));
        for offset in 0..5 {
            cache.put(offset, content(CACHED_BYTES / 3));
        }
        let kept: Vec<u64> = (0..5)
            .filter(|offset| cache.get(*offset).is_some())
            .collect();
        assert_eq!(kept, [2, 3, 4]);
        cache.put(9, content(CACHED_BYTES + 1));
        assert!(cache.get(9).is_some() && cache.get(4).is_none());
        cache.clear();
        assert!(cache.get(9).is_none());
    }
}
