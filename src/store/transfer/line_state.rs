//! What a line of carriers says as a whole: the refs of its checkpoints, by name as in a bundle.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::malformed::Malformed;
use crate::model::state::object_id::ObjectId;
use crate::store::transfer::header::{BundleHeader, BundleRef};

/// Stands for the id where a ref is gone.
const GONE: &str = "-";

/// The refs of a line at its newest carrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineState(BTreeMap<String, BundleRef>);

impl LineState {
    /// Takes over refs; branches are only for bundles.
    pub fn of(refs: impl IntoIterator<Item = BundleRef>) -> Self {
        let refs = refs.into_iter();
        let kept = refs.filter(|one| !matches!(one, BundleRef::Branch(..)));
        Self(kept.map(|one| (one.to_string(), one)).collect())
    }

    pub fn refs(&self) -> impl Iterator<Item = &BundleRef> {
        self.0.values()
    }

    /// Returns the ref of this name.
    pub fn get(&self, name: &str) -> Option<&BundleRef> {
        self.0.get(name)
    }

    pub fn to_header(&self) -> BundleHeader {
        BundleHeader {
            prerequisites: Vec::new(),
            refs: self.0.values().cloned().collect(),
        }
    }

    /// The ids of all checkpoints.
    pub fn checkpoints(&self) -> BTreeSet<ObjectId> {
        let id = |one: &BundleRef| match one {
            BundleRef::Checkpoint(id) => Some(*id),
            _ => None,
        };
        self.refs().filter_map(id).collect()
    }

    /// Adds what a former state says of checkpoints that are here no more: they stay on the line.
    #[must_use]
    pub fn after(mut self, former: &Self) -> Self {
        let here = self.checkpoints();
        for (name, one) in &former.0 {
            let stays = match (one, one.checkpoint()) {
                (BundleRef::Origin(..), _) => true,
                (_, Some(id)) => !here.contains(&id),
                (_, None) => false,
            };
            if stays {
                self.0.insert(name.clone(), one.clone());
            }
        }
        self
    }

    /// Returns the lines that make `former` this state; empty if they are equal.
    pub fn changes_since(&self, former: &Self) -> String {
        let mut text = String::new();
        for name in former.0.keys().filter(|name| !self.0.contains_key(*name)) {
            text.push_str(&format!("{GONE} {name}\n"));
        }
        for (name, one) in &self.0 {
            if former.0.get(name) != Some(one) {
                text.push_str(&format!("{} {name}\n", one.value()));
            }
        }
        text
    }

    /// Applies lines of [`Self::changes_since`].
    ///
    /// # Errors
    /// A line is malformed, or names what is none of checkpoints.
    pub fn apply(&mut self, text: &str) -> Result<(), Malformed> {
        for line in text.lines() {
            let shown = || format!("the line '{}' is none of a carrier", line.escape_debug());
            let (id, name) = line.split_once(' ').ok_or_else(shown)?;
            if id == GONE {
                self.0.remove(name);
                continue;
            }
            let one = ObjectId::from_hex(id).and_then(|id| BundleRef::of(name, id));
            match one {
                None | Some(BundleRef::Branch(..)) => return Err(shown().into()),
                Some(one) => drop(self.0.insert(name.to_owned(), one)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes([byte; 20])
    }

    #[test]
    fn changes_lead_from_one_state_to_the_next() {
        let one = LineState::of([
            BundleRef::Checkpoint(id(1)),
            BundleRef::Pin(id(1)),
            BundleRef::Reason(id(1), "old".to_owned()),
        ]);
        let two = LineState::of([
            BundleRef::Checkpoint(id(1)),
            BundleRef::Reason(id(1), "new".to_owned()),
            BundleRef::Checkpoint(id(2)),
            BundleRef::Meta(id(2), id(3)),
        ]);
        let mut read = LineState::default();
        read.apply(&one.changes_since(&LineState::default()))
            .unwrap();
        assert_eq!(read, one);
        read.apply(&two.changes_since(&one)).unwrap();
        assert_eq!(read, two);
        assert_eq!(two.changes_since(&two), "");
    }

    #[test]
    fn what_is_gone_here_stays_on_the_line() {
        let former = LineState::of([BundleRef::Checkpoint(id(1)), BundleRef::Pin(id(1))]);
        let next = LineState::of([BundleRef::Checkpoint(id(2))]).after(&former);
        assert_eq!(next.checkpoints(), BTreeSet::from([id(1), id(2)]));
        assert!(next.refs().any(|one| *one == BundleRef::Pin(id(1))));
    }

    #[test]
    fn other_lines_are_refused() {
        for text in ["x", "- ", "1 refs/heads/main", "0 y\n"] {
            let mut state = LineState::default();
            assert!(state.apply(text).is_err() || text == "- ", "{text}");
        }
        let heads = format!("{} refs/heads/main", id(1));
        assert!(LineState::default().apply(&heads).is_err());
    }
}
