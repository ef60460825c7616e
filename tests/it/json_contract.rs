//! The JSON of every command. That each answer of this suite validates against its schema is seen
//! to by `bench/answer.rs`, what the fields say is in `stories/json.md`; here stand the schemas themselves.

use serde_json::Value;

use crate::bench::Sandbox;

fn schema(name: &str) -> Value {
    let text = checkpoint::cli::schema::text(name).unwrap_or_else(|| panic!("no schema {name}"));
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// The names of all answers: not of contracts, and not of what other programs prescribe.
fn answers() -> Vec<&'static str> {
    let mut names = checkpoint::cli::schema::names();
    names.retain(|name| {
        !["contract", "copies", "pipeline-state", "restore-contract"].contains(name)
    });
    names
}

#[test]
fn every_command_publishes_the_schema_of_its_answer() {
    let known = answers();
    for command in checkpoint::cli::parse::command().get_subcommands() {
        let name = command.get_name();
        assert!(known.contains(&name), "no schema {name}");
        for inner in command.get_subcommands() {
            let name = format!("{name}.{}", inner.get_name().replace('-', "_"));
            assert!(known.contains(&&*name), "no schema {name}");
        }
    }
    let sandbox = Sandbox::new();
    let listed = sandbox.ok("schema").stdout;
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        checkpoint::cli::schema::names()
    );
    let list = sandbox.ok("schema list").stdout;
    assert_eq!(
        serde_json::from_str::<Value>(&list).ok(),
        Some(schema("list"))
    );
    let names = sandbox.json("schema");
    assert_eq!(
        names["names"].as_array().map(Vec::len),
        Some(listed.lines().count())
    );
}

#[test]
fn a_schema_names_every_field_and_allows_no_other() {
    fn look(place: &str, value: &Value) {
        if let Some(fields) = value["properties"].as_object() {
            assert_eq!(value["additionalProperties"], false, "{place}");
            let required: Vec<&str> = value["required"]
                .as_array()
                .map(|list| list.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            let optional: Vec<&String> = fields
                .keys()
                .filter(|field| !required.contains(&field.as_str()))
                .collect();
            assert!(optional.is_empty(), "{place}: {optional:?}");
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            look(&format!("{place}.{key}"), inner);
        }
    }
    for name in answers() {
        let schema = schema(name);
        jsonschema::validator_for(&schema).expect("a schema is valid");
        look(name, &schema);
        assert_eq!(
            schema["properties"]["schema"]["const"],
            format!("checkpoint.{name}/2")
        );
    }
}

#[test]
fn a_time_a_size_and_a_checkpoint_have_one_shape_in_all_schemas() {
    fn look(place: &str, key: &str, value: &Value) {
        let text = value.to_string();
        let is_time = key == "time" || key.ends_with("_at");
        assert_eq!(
            is_time,
            text.contains("/TimeText"),
            "{place}.{key} is named as a time, or is one"
        );
        if key.contains("bytes") || key.contains("size") {
            assert!(
                key.ends_with("_bytes") || key == "over_max_store_size",
                "{place}.{key}"
            );
        }
    }
    fn all(place: &str, value: &Value) {
        if let Some(fields) = value["properties"].as_object() {
            for (key, field) in fields {
                look(place, key, field);
            }
            let has = |name: &str| fields.contains_key(name);
            if has("short") {
                assert!(
                    ["id", "reason", "time", "kind"].into_iter().all(has),
                    "{place}"
                );
            }
            assert!(!has("change") || has("path"), "{place}");
            assert!(!has("path") || has("path_hex"), "{place}");
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            all(&format!("{place}.{key}"), inner);
        }
    }
    for name in answers() {
        all(name, &schema(name));
    }
}
