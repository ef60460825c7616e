//! JSON Schema of the pipeline format, for programs that check a document before they write it.

/// Path where skills look for the schema, relative to the root.
pub const SCHEMA_FILE: &str = ".claude/schemas/pipeline-state.schema.json";

/// JSON Schema, draft 2020-12. Unknown fields are invalid. `current_phase` is `null` or an empty
/// object if nothing is under way, and a phase may keep the `status` from the plan.
pub const PIPELINE_SCHEMA: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Pipeline state",
  "description": "How far a run of phases is: .claude/pipeline-state.json",
  "type": "object",
  "additionalProperties": false,
  "required": [
    "completed_phases",
    "current_phase",
    "remaining_phases",
    "context_summary",
    "created_at",
    "updated_at"
  ],
  "properties": {
    "completed_phases": {
      "description": "Phases that finished, in the order in which they did; this list only grows.",
      "type": "array",
      "items": { "$ref": "#/$defs/completed" }
    },
    "current_phase": {
      "description": "The phase that is under way or next; null when none is left.",
      "anyOf": [
        { "$ref": "#/$defs/current" },
        { "type": "object", "maxProperties": 0 },
        { "type": "null" }
      ]
    },
    "remaining_phases": {
      "description": "Phases that were not started, in order.",
      "type": "array",
      "items": { "$ref": "#/$defs/remaining" }
    },
    "context_summary": { "$ref": "#/$defs/context" },
    "created_at": { "$ref": "#/$defs/time" },
    "updated_at": { "$ref": "#/$defs/time" }
  },
  "$defs": {
    "id": { "type": "string", "minLength": 1 },
    "time": {
      "type": "string",
      "format": "date-time",
      "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
    },
    "status": {
      "enum": ["pending", "in_progress", "awaiting_approval", "complete", "completed", "failed", "skipped"]
    },
    "completed": {
      "type": "object",
      "additionalProperties": false,
      "required": ["id", "name", "timestamp"],
      "properties": {
        "id": { "$ref": "#/$defs/id" },
        "name": { "type": "string" },
        "timestamp": { "$ref": "#/$defs/time" },
        "commit_sha": { "type": "string", "pattern": "^[0-9a-fA-F]{4,64}$" },
        "status": { "$ref": "#/$defs/status" }
      }
    },
    "current": {
      "type": "object",
      "additionalProperties": false,
      "required": ["id", "name"],
      "properties": {
        "id": { "$ref": "#/$defs/id" },
        "name": { "type": "string" },
        "progress_description": { "type": "string" },
        "status": { "$ref": "#/$defs/status" }
      }
    },
    "remaining": {
      "type": "object",
      "additionalProperties": false,
      "required": ["id", "name", "dependencies"],
      "properties": {
        "id": { "$ref": "#/$defs/id" },
        "name": { "type": "string" },
        "dependencies": {
          "type": "array",
          "uniqueItems": true,
          "items": { "$ref": "#/$defs/id" }
        },
        "status": { "$ref": "#/$defs/status" }
      }
    },
    "context": {
      "type": "object",
      "additionalProperties": false,
      "required": ["branch", "key_decisions", "file_paths"],
      "properties": {
        "branch": { "type": "string" },
        "key_decisions": { "type": "array", "items": { "type": "string" } },
        "file_paths": { "type": "array", "items": { "type": "string", "minLength": 1 } }
      }
    }
  }
}
"##;
