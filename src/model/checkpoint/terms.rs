//! Terms of a checkpoint: scope, type, expiry, and whether it was made automatically.

use strum::{EnumString, IntoStaticStr};

use crate::model::Scope;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointTerms {
    /// Limits of the checkpoint; `None` for the whole directory.
    pub scope: Option<Scope>,
    pub checkpoint_type: Option<CheckpointType>,
    pub expiry: Option<Expiry>,
    /// Made by a workflow on its own account.
    pub is_automatic: bool,
}

/// Requested type, in the words of contracts. The files are in the store in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum CheckpointType {
    /// Files in the project's git index.
    GitStash,
    /// Any files.
    FileBackup,
    /// Values other than files.
    StateSnapshot,
    DatabaseSavepoint,
}

/// When a checkpoint expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// No policy evicts it.
    Never,
    /// Milliseconds since 1970; from then on a prune evicts it.
    At(i64),
}

impl Expiry {
    pub fn is_over(self, now_ms: i64) -> bool {
        matches!(self, Self::At(end_ms) if end_ms <= now_ms)
    }

    pub fn to_field(self) -> String {
        match self {
            Self::Never => "never".to_owned(),
            Self::At(end_ms) => end_ms.to_string(),
        }
    }

    pub fn from_field(field: &str) -> Option<Self> {
        if field == "never" {
            Some(Self::Never)
        } else {
            field.parse().ok().map(Self::At)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_over_from_its_moment_on_and_never_never() {
        assert!(
            Expiry::At(5).is_over(5)
                && !Expiry::At(5).is_over(4)
                && !Expiry::Never.is_over(i64::MAX)
        );
        for expiry in [Expiry::Never, Expiry::At(-1), Expiry::At(i64::MAX)] {
            assert_eq!(Expiry::from_field(&expiry.to_field()), Some(expiry));
        }
        assert_eq!(Expiry::from_field("soon"), None);
    }
}
