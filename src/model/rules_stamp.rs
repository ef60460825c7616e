//! Fingerprint of the rules in force, besides the ignore files in the directory.

/// Hashes of the rules in force. Equal stamps mean equal verdicts for equal names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesStamp {
    /// Hash of the lists, the settings and the version of the compiled-in rules.
    pub rules: u64,
    /// Hash of the stat of the project's git index; zero if it is not reliable.
    pub index: u64,
    /// Hash of the names in that index.
    pub names: u64,
}

impl RulesStamp {
    pub fn gives_same_verdicts(&self, other: &Self) -> bool {
        self.rules == other.rules && self.names == other.names
    }
}
