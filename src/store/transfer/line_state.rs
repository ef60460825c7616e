//! What a line says, whole in each carrier: the refs of its checkpoints, by name as in a bundle.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::Malformed;
use crate::model::ObjectId;
use crate::store::{BundleHeader, BundleRef};

/// Checkpoints up to which a line has a single file.
const MOST_IN_ONE_FILE: usize = 100;

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

    /// Returns the files of a carrier, by the ending of their names. Of a long line each has the
    /// checkpoints whose ids begin with one digit, so that most files are those of the carrier before.
    pub fn to_files(&self) -> BTreeMap<String, String> {
        let is_long = self.checkpoints().len() > MOST_IN_ONE_FILE;
        let mut files = BTreeMap::new();
        for (name, one) in &self.0 {
            let id = one.checkpoint().filter(|_| is_long).map(ObjectId::to_hex);
            let ending = id.map_or_else(String::new, |id| id[..1].to_owned());
            let file: &mut String = files.entry(ending).or_default();
            file.push_str(&format!("{} {name}\n", one.value()));
        }
        files
    }

    /// Adds the refs of a file.
    ///
    /// # Errors
    /// A line is malformed, or names what is none of checkpoints.
    pub fn add_file(&mut self, text: &str) -> Result<(), Malformed> {
        for line in text.lines() {
            let shown = || format!("the line '{}' is none of a carrier", line.escape_debug());
            let (id, name) = line.split_once(' ').ok_or_else(shown)?;
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
    fn files_of_short_and_long_lines_come_back_as_they_were_written() {
        let short = LineState::of([
            BundleRef::Checkpoint(id(1)),
            BundleRef::Pin(id(1)),
            BundleRef::Reason(id(1), "old".to_owned()),
            BundleRef::Run("r".to_owned(), id(2)),
        ]);
        let long = (0..=200).map(|byte| BundleRef::Checkpoint(id(byte)));
        let long = LineState::of(long.chain(short.refs().cloned()));
        for (state, count) in [(short, 1), (long, 14)] {
            let files = state.to_files();
            assert_eq!(files.len(), count);
            let mut read = LineState::default();
            for text in files.values() {
                read.add_file(text).unwrap();
            }
            assert_eq!(read, state);
        }
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
        for text in ["x", "- refs/pins/x", "1 refs/heads/main", "0 y\n"] {
            assert!(LineState::default().add_file(text).is_err(), "{text}");
        }
        let heads = format!("{} refs/heads/main", id(1));
        assert!(LineState::default().add_file(&heads).is_err());
    }
}
