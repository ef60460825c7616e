//! The JSON Schemas of the documents that agents read, as they are printed.

const SCHEMAS: [(&str, &str); 2] = [
    ("contract", include_str!("schema/contract.json")),
    ("restore-contract", include_str!("schema/restore-contract.json")),
];

/// The names of all, a line each.
pub fn names() -> String {
    SCHEMAS.iter().map(|(name, _)| format!("{name}\n")).collect()
}

pub fn text(name: &str) -> Option<&'static str> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
