//! What is found to be wrong with a run or with a document of one.

/// One thing that is wrong with a document or a run, in words, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable word in JSON.
    pub code: &'static str,
    /// A place in the document, such as `completed_phases[1].timestamp`, or a path.
    pub place: String,
    pub what: String,
}

impl Finding {
    pub fn new(code: &'static str, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { code, place: place.into(), what: what.into() }
    }
}
