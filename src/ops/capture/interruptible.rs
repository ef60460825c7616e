//! Sinks that count bytes as they pass and stop at a signal, even in the middle of a large file.

use std::io::{self, Read};

use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::worktree::scan::read::{BlobSink, SinkError};

/// A sink that polls for signals between pieces.
pub struct InterruptibleSink<'h> {
    pub context: &'h Context,
    pub sink: &'h mut dyn BlobSink,
}

impl BlobSink for InterruptibleSink<'_> {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        self.context.progress.add(0, bytes.len() as u64);
        self.sink.blob(bytes)
    }

    fn blob_stream(
        &mut self,
        len: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<ObjectId, SinkError> {
        let taken = self.sink.blob_stream(
            len,
            &mut Pieces {
                context: self.context,
                reader,
            },
        );
        // However the sink reports a reader that stops, the signal is the cause.
        self.context.check_interrupt()?;
        taken
    }
}

/// A reader that polls for signals between pieces.
pub struct Pieces<'h> {
    pub context: &'h Context,
    pub reader: &'h mut dyn Read,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.context.check_interrupt().map_err(io::Error::other)?;
        let count = self.reader.read(buffer)?;
        self.context.progress.add(0, count as u64);
        Ok(count)
    }
}
