//! What the verdicts on names depended on besides the names and the ignore files in the directory.

/// Sums of the rules in force. Equal stamps mean that equal names get equal verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesStamp {
    /// Of the lists, the settings and the version of the rules that are compiled in.
    pub rules: u64,
    /// Of the stat of the project's git index; zero if that may not be relied on.
    pub index: u64,
    /// Of the names in that index.
    pub names: u64,
}

impl RulesStamp {
    pub fn gives_same_verdicts(&self, other: &Self) -> bool {
        self.rules == other.rules && self.names == other.names
    }
}
