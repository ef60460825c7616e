//! Destinations of the bytes of files: packs, or only a hash. On the way private keys are found under
//! any name, for which alone no file is read, and a signal stops even in the middle of a large file.

use std::collections::BTreeSet;
use std::io::{self, Read};

use crate::base::{Interrupt, Progress};
use crate::error::{Error, Result};
use crate::model::{ObjectId, RelPath, WhyNot};
use crate::store::objects::object_hash::hash_object;
use crate::store::{ObjectHasher, ObjectKind, PackError, PackSet, PackWriter};
use crate::worktree::rules::rule_set::Peek;
use crate::worktree::{BlobSink, Rules, SinkError};

/// Destination of blobs and trees.
pub enum Sink<'a, 's> {
    /// Only computes ids.
    HashOnly,
    Pack(&'a mut PackSet<'s>),
}

impl<'s> Sink<'_, 's> {
    /// Stores a tree, or only computes its id.
    pub fn tree(&mut self, bytes: &[u8]) -> Result<ObjectId> {
        match self {
            Self::HashOnly => hash_object(ObjectKind::Tree, bytes).map_err(Error::unexpected),
            Self::Pack(packs) => Ok(packs.add(ObjectKind::Tree, bytes)?),
        }
    }

    /// Splits this sink into `count` sinks, one per thread.
    pub fn split<'w>(&'w mut self, count: usize) -> Result<Vec<ThreadSink<'w, 's>>> {
        Ok(match self {
            Self::HashOnly => (0..count).map(|_| ThreadSink::HashOnly).collect(),
            Self::Pack(packs) => packs.writers(count)?.map(ThreadSink::Pack).collect(),
        })
    }
}

/// Destination of one thread's bytes.
pub enum ThreadSink<'w, 's> {
    HashOnly,
    Pack(&'w mut PackWriter<'s>),
}

impl BlobSink for ThreadSink<'_, '_> {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_object(ObjectKind::Blob, bytes)
                .map_err(|_| SinkError::Refused(WhyNot::Collision)),
            Self::Pack(pack) => pack.add(ObjectKind::Blob, bytes).map_err(sink_error),
        }
    }

    fn blob_stream(
        &mut self,
        len: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_stream(len, reader),
            Self::Pack(pack) => pack.add_stream(len, reader).map_err(sink_error),
        }
    }
}

fn sink_error(error: PackError) -> SinkError {
    match error {
        PackError::Collision => SinkError::Refused(WhyNot::Collision),
        other => SinkError::Failed(other.into()),
    }
}

fn hash_stream(len: u64, reader: &mut dyn Read) -> std::result::Result<ObjectId, SinkError> {
    let mut hasher = ObjectHasher::new(ObjectKind::Blob, len);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => {
                return hasher
                    .finish()
                    .map_err(|_| SinkError::Refused(WhyNot::Collision));
            }
            Ok(read) => hasher.update(&buffer[..read]),
            Err(e) => {
                return Err(SinkError::Failed(Error::unexpected(format!(
                    "cannot read to the end: {e}"
                ))));
            }
        }
    }
}

/// A reader that polls for signals between pieces.
pub struct Pieces<'h> {
    pub interrupt: &'h Interrupt,
    pub progress: &'h Progress,
    pub reader: &'h mut dyn Read,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let checked = self.interrupt.check().map_err(Error::from);
        checked.map_err(io::Error::other)?;
        let count = self.reader.read(buffer)?;
        self.progress.add(0, count as u64);
        Ok(count)
    }
}

/// Decides which private keys are captured nevertheless.
pub struct Admission<'a> {
    pub rules: &'a Rules,
    /// Paths that an older checkpoint holds.
    pub in_spite: &'a BTreeSet<RelPath>,
}

impl Admission<'_> {
    fn admits(&self, path: &RelPath) -> bool {
        self.in_spite.contains(path) || self.rules.takes_secret_content(path)
    }
}

/// A sink for one file that refuses a private key unless it is admitted, counts bytes, and stops at
/// a signal.
pub struct KeyWatch<'w> {
    pub interrupt: &'w Interrupt,
    pub progress: &'w Progress,
    pub admission: &'w Admission<'w>,
    pub dir: &'w RelPath,
    pub name: &'w [u8],
    pub sink: &'w mut dyn BlobSink,
    /// Whether the file was a private key.
    pub saw_key: bool,
}

impl KeyWatch<'_> {
    fn inspect(&mut self, beginning: &[u8]) -> Result<(), SinkError> {
        if !Peek::ANY_FILE.is_secret(beginning) {
            return Ok(());
        }
        self.saw_key = true;
        if self.admission.admits(&self.dir.join(self.name)) {
            return Ok(());
        }
        Err(SinkError::Refused(WhyNot::Secret(
            Peek::ANY_FILE.rule().to_owned(),
        )))
    }
}

impl BlobSink for KeyWatch<'_> {
    fn blob(&mut self, bytes: &[u8]) -> Result<ObjectId, SinkError> {
        self.inspect(bytes)?;
        self.progress.add(0, bytes.len() as u64);
        self.sink.blob(bytes)
    }

    fn blob_stream(&mut self, len: u64, reader: &mut dyn Read) -> Result<ObjectId, SinkError> {
        let mut pieces = Pieces {
            interrupt: self.interrupt,
            progress: self.progress,
            reader,
        };
        let mut beginning = Vec::new();
        let read = (&mut pieces)
            .take(Peek::ANY_FILE.len_bytes() as u64)
            .read_to_end(&mut beginning);
        // However a reader is reported that stops, the signal is the cause.
        self.interrupt.check().map_err(Error::from)?;
        read.map_err(|e| Error::unexpected(format!("cannot read the beginning: {e}")))?;
        self.inspect(&beginning)?;
        let taken = self.sink.blob_stream(len, &mut beginning.chain(pieces));
        self.interrupt.check().map_err(Error::from)?;
        taken
    }
}

#[cfg(test)]
mod tests {
    use crate::worktree::rules::rule_set::RuleSources;

    use super::*;

    const KEY: &[u8] = b"-----BEGIN PRIVATE KEY-----\nMII";

    fn give(path: &str, allow: &str, content: &[u8]) -> [Result<ObjectId, SinkError>; 2] {
        let rules = Rules::new(RuleSources {
            sensitive_allow: vec![allow.into()],
            ..RuleSources::default()
        });
        let path = RelPath::new(path.as_bytes()).unwrap();
        let in_spite = BTreeSet::from([RelPath::new(b"held").unwrap()]);
        let admission = Admission {
            rules: &rules,
            in_spite: &in_spite,
        };
        let (mut whole, mut streamed) = (ThreadSink::HashOnly, ThreadSink::HashOnly);
        let dir = path.parent().unwrap();
        let (interrupt, progress) = (&Interrupt::default(), &Progress::default());
        let watch = |sink| KeyWatch {
            interrupt,
            progress,
            admission: &admission,
            dir: &dir,
            name: path.name(),
            sink,
            saw_key: false,
        };
        let whole = watch(&mut whole).blob(content);
        [
            whole,
            watch(&mut streamed).blob_stream(content.len() as u64, &mut &*content),
        ]
    }

    #[test]
    fn a_key_is_refused_unless_it_is_admitted_and_all_else_passes_whole() {
        for refused in give("a/notes.txt", "*.pem", KEY) {
            assert!(
                matches!(refused, Err(SinkError::Refused(WhyNot::Secret(_)))),
                "{refused:?}"
            );
        }
        let long = [b"x\n".repeat(5000), KEY.to_vec()].concat();
        for (path, allow, content) in [
            ("held", "", KEY),
            ("a/let", "let", KEY),
            ("a/b/c", "a/", KEY),
            ("any", "", &long),
            ("none", "", b""),
        ] {
            let [whole, streamed] = give(path, allow, content).map(|taken| taken.unwrap());
            assert_eq!(whole, streamed, "{path}");
        }
    }
}
