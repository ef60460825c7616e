//! JSON Schema of the pipeline format, for programs that check a document before they write it.

/// Path where skills look for the schema, relative to the root.
pub const SCHEMA_FILE: &str = ".claude/schemas/pipeline-state.schema.json";

/// JSON Schema, draft 2020-12. Unknown fields are invalid. `current_phase` is `null` or an empty
/// object if nothing is under way, and a phase may keep the `status` from the plan.
pub const PIPELINE_SCHEMA: &str = include_str!("pipeline-state.schema.json");
