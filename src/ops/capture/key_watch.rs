//! Detects private keys under any name on their way to a sink; no file is read just for this.

use std::collections::BTreeSet;
use std::io::Read;

use crate::base::{Interrupt, Progress};
use crate::error::Error;
use crate::model::{ObjectId, RelPath, WhyNot};
use crate::ops::Pieces;
use crate::worktree::rules::rule_set::Peek;
use crate::worktree::{BlobSink, Rules, SinkError};

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
    use super::*;
    use crate::ops::capture::sink::ThreadSink;
    use crate::worktree::rules::rule_set::RuleSources;

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
