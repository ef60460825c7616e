//! What is noted of checkpoints after they were made, each in one file that is replaced atomically.
//! Without them the commits count.

use std::collections::BTreeMap;

use crate::base::json::{Deserialize, Serialize};
use crate::model::{ObjectId, OriginStore};

/// What is noted of an imported checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginNote {
    /// Its sequence number in this store.
    pub sequence: u64,
    /// Unknown of a bundle that plain git made.
    pub origin: Option<OriginStore>,
}

pub type Origins = BTreeMap<ObjectId, OriginNote>;

/// Reasons given later, by checkpoint.
pub type Rewords = BTreeMap<ObjectId, String>;
