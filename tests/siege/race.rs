//! placeholder
use crate::tally::Tally;
use std::time::Instant;
pub fn besiege(_seed: u64, _until: Instant, _tally: &Tally) {}
