//! The packs of one checkpoint: one for sequential writes, more if several threads write at once.

use std::path::{Path, PathBuf};

use crate::base::WorkQueue;
use crate::base::threads::work_queue;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::objects::pack::pack_publish;
use crate::store::objects::pack::pack_writer::ClaimedObjects;
use crate::store::{ObjectKind, Objects, PackError, PackStamp, PackWriter, TemporaryFile};

pub struct PackSet<'k> {
    objects_dir: PathBuf,
    known: &'k Objects,
    claims: ClaimedObjects,
    /// Never empty.
    writers: Vec<PackWriter<'k>>,
}

impl<'k> PackSet<'k> {
    /// Begins a set; no file is written before the first object.
    ///
    /// # Errors
    /// The pack directory cannot be created.
    pub fn begin(objects_dir: &Path, known: &'k Objects) -> Result<Self> {
        Self::begin_sharing(objects_dir, known, ClaimedObjects::default())
    }

    /// As [`Self::begin`], for objects that can be claimed.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_sharing(
        objects_dir: &Path,
        known: &'k Objects,
        claims: ClaimedObjects,
    ) -> Result<Self> {
        let first = PackWriter::begin(objects_dir, known)?.sharing(claims.clone());
        Ok(Self {
            objects_dir: objects_dir.to_path_buf(),
            known,
            claims,
            writers: vec![first],
        })
    }

    /// The writer for sequential writes.
    pub fn first(&mut self) -> &mut PackWriter<'k> {
        &mut self.writers[0]
    }

    /// The writer of the only pack; `None` if several have objects.
    pub fn single(&mut self) -> Option<&mut PackWriter<'k>> {
        let (first, others) = self.writers.split_first_mut()?;
        others
            .iter()
            .all(|writer| writer.new_object_count() == 0)
            .then_some(first)
    }

    /// Adds an object to the first pack.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn add(
        &mut self,
        kind: ObjectKind,
        content: &[u8],
    ) -> std::result::Result<ObjectId, PackError> {
        self.first().add(kind, content)
    }

    /// `count` writers, each for one thread.
    ///
    /// # Errors
    /// The pack directory cannot be created.
    pub fn writers(&mut self, count: usize) -> Result<impl Iterator<Item = &mut PackWriter<'k>>> {
        while self.writers.len() < count {
            let another = PackWriter::begin(&self.objects_dir, self.known)?;
            self.writers.push(another.sharing(self.claims.clone()));
        }
        Ok(self.writers.iter_mut().take(count))
    }

    /// Completes all packs, makes them durable together with `also`, and publishes them. Empty ones
    /// leave no file.
    ///
    /// # Errors
    /// A pack could not be completed; others may be published, but nothing needs them.
    pub fn finish(self, also: Option<&TemporaryFile>) -> Result<Vec<PackStamp>> {
        let mut writers: Vec<PackWriter<'k>> = Vec::new();
        for writer in self
            .writers
            .into_iter()
            .filter(|writer| writer.new_object_count() > 0)
        {
            // Objects that are still in memory need no pack of their own.
            let left = match writers.first_mut() {
                Some(first) => first.absorb(writer)?,
                None => Some(writer),
            };
            writers.extend(left);
        }
        if writers.is_empty() {
            return Ok(Vec::new());
        }
        let places = vec![(); writers.len()];
        let jobs = writers.into_iter().enumerate().collect();
        let complete = |(): &mut (), (at, writer): (usize, PackWriter<'_>), _: &WorkQueue<_>| {
            Ok::<_, Error>((at, writer.complete()?))
        };
        let mut completed = work_queue::run(places, jobs, &complete)?;
        completed.sort_unstable_by_key(|(at, _)| *at);
        let completed = completed.into_iter().filter_map(|(_, pack)| pack).collect();
        pack_publish::publish(&self.objects_dir.join("pack"), completed, also)
    }
}
