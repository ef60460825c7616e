//! The JSON Schemas of the documents that agents read, as they are printed.

use crate::workflow::profiles::pipeline_schema::PIPELINE_SCHEMA;

const SCHEMAS: [(&str, &str); 3] = [
    ("contract", include_str!("schema/contract.json")),
    ("pipeline-state", PIPELINE_SCHEMA),
    ("restore-contract", include_str!("schema/restore-contract.json")),
];

/// The names of all, a line each.
pub fn names() -> String {
    SCHEMAS.iter().map(|(name, _)| format!("{name}\n")).collect()
}

pub fn text(name: &str) -> Option<&'static str> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
