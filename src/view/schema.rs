//! The JSON Schemas of documents for agents.

use crate::workflow::profiles::pipeline_schema::PIPELINE_SCHEMA;

const SCHEMAS: [(&str, &str); 3] = [
    ("contract", include_str!("schemas/contract.json")),
    ("pipeline-state", PIPELINE_SCHEMA),
    (
        "restore-contract",
        include_str!("schemas/restore-contract.json"),
    ),
];

/// Lists the names, one per line.
pub fn names() -> String {
    SCHEMAS
        .iter()
        .map(|(name, _)| format!("{name}\n"))
        .collect()
}

pub fn text(name: &str) -> Option<&'static str> {
    SCHEMAS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
