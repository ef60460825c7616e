//! A period in which checkpoints were made.

use crate::model::Checkpoint;

/// A side that is not given is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// Milliseconds since 1970.
    pub since_ms: Option<i64>,
    pub until_ms: Option<i64>,
}

impl Period {
    pub fn holds(&self, checkpoint: &Checkpoint) -> bool {
        let time_ms = checkpoint.record.time_ms;
        self.since_ms.is_none_or(|since| time_ms >= since)
            && self.until_ms.is_none_or(|until| time_ms <= until)
    }
}
