//! Values drawn from bytes: a change of the bytes changes the values. An empty row gives zeros.

use checkpoint::model::checkpoint::record::{
    Checkpoint, CheckpointKind, CheckpointTerms, Coverage, Expiry, Operation, Record, Verb,
};
use checkpoint::model::session::provenance::Provenance;
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::model::state::scope::{PathFilter, Scope, ScopePart};

pub struct Draw<'b>(&'b [u8]);

impl<'b> Draw<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn rest(self) -> &'b [u8] {
        self.0
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number below `count`.
    pub fn below(&mut self, count: u8) -> usize {
        usize::from(self.byte() % count)
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    pub fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, at| number | u64::from(self.byte()) << (8 * at))
    }

    pub fn perm(&mut self) -> u32 {
        (u32::from(self.byte()) | u32::from(self.byte()) << 8) & 0o7777
    }

    /// A length, and at most that many bytes.
    pub fn bytes(&mut self) -> &'b [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    pub fn id(&mut self) -> ObjectId {
        ObjectId::from_bytes([self.byte(); 20])
    }

    /// A path; the root where the bytes are none.
    pub fn path(&mut self) -> RelPath {
        RelPath::new(self.bytes()).unwrap_or_default()
    }

    /// A list of at most seven drawn values.
    pub fn several<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(8)).map(|_| one(self)).collect()
    }

    pub fn record(&mut self) -> Record {
        let operation = self.flag().then(|| Operation {
            verb: [Verb::Restore, Verb::Undo, Verb::Redo, Verb::Resume][self.below(4)],
            target: self.id(),
            paths: self.several(Self::path),
            within: self.scope(),
            filter: self.filter(),
        });
        let scope = self.scope();
        let coverage = [Coverage::Complete, Coverage::Partial][self.below(2)];
        let expiry = [
            None,
            Some(Expiry::Never),
            Some(Expiry::At(self.number().cast_signed())),
        ][self.below(3)];
        let types = [
            "git_stash",
            "file_backup",
            "state_snapshot",
            "database_savepoint",
        ];
        let checkpoint_type = self
            .flag()
            .then(|| types[self.below(4)])
            .and_then(|word| word.parse().ok());
        Record {
            sequence: self.number(),
            time_ms: self.number().cast_signed(),
            kind: [CheckpointKind::Regular, CheckpointKind::Safety][self.below(2)],
            coverage: if scope.is_some() {
                Coverage::Scoped
            } else {
                coverage
            },
            files: self.number(),
            content_bytes: self.number(),
            reason: self.text(),
            source: self.text(),
            operation,
            during_pending: self.flag(),
            provenance: Provenance::default(),
            terms: CheckpointTerms {
                scope,
                checkpoint_type,
                expiry,
                is_automatic: self.flag(),
            },
        }
    }

    pub fn filter(&mut self) -> PathFilter {
        let (only, except) = (self.scope(), self.scope());
        PathFilter { only, except }
    }

    pub fn scope(&mut self) -> Option<Scope> {
        self.flag().then(|| {
            let parts = self.several(|draw| {
                if draw.flag() {
                    Some(ScopePart::path(draw.path()))
                } else {
                    ScopePart::glob(draw.bytes())
                }
            });
            Scope::new(parts.into_iter().flatten().collect())
        })
    }

    pub fn checkpoint(&mut self) -> Checkpoint {
        let mut id = [self.byte(); 20];
        id[19] = self.byte();
        let (pinned, adopted) = (self.flag(), self.flag());
        Checkpoint {
            id: ObjectId::from_bytes(id),
            tree: ObjectId::from_bytes([0; 20]),
            meta: None,
            record: self.record(),
            pinned,
            adopted,
        }
    }
}
