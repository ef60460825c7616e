//! Renders JSON values as YAML 1.2 in block style. Text is quoted as in JSON, which is valid YAML.

use serde_json::Value;

use crate::base::text::is_deceptive;

/// Words that YAML 1.1 parsers may read as other types than text.
const NOT_TEXTS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "nan"];

pub fn render(document: &Value) -> String {
    let mut text = String::new();
    block(document, 0, &mut text);
    text
}

fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                text.push_str(&format!("{indent}{}:", word(key)));
                below(value, depth, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.push_str(&format!("{indent}-"));
                below(item, depth, text);
            }
        }
        scalar => text.push_str(&format!("{indent}{}\n", inline(scalar))),
    }
}

/// Writes the value after a key or a dash.
fn below(value: &Value, depth: usize, text: &mut String) {
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_nested {
        text.push('\n');
        block(value, depth + 1, text);
    } else {
        text.push_str(&format!(" {}\n", inline(value)));
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(content) => word(content),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// Leaves a word plain if safe, else quotes it and escapes characters that are not printable or
/// could act on a terminal.
fn word(content: &str) -> String {
    let is_plain = content.starts_with(|c: char| c.is_ascii_lowercase())
        && content.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        && content.len() > 1
        && !NOT_TEXTS.contains(&content);
    if is_plain {
        return content.to_owned();
    }
    let escape = |c: char| match u32::from(c) {
        0x7f => "\\x7f".to_owned(),
        code if is_deceptive(c) && code > 0xffff => format!("\\U{code:08x}"),
        code if is_deceptive(c) => format!("\\u{code:04x}"),
        _ => c.to_string(),
    };
    Value::from(content)
        .to_string()
        .chars()
        .map(escape)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::render;
    use serde_json::json;

    #[test]
    fn maps_lists_and_texts_are_written_so_that_they_mean_the_same() {
        let document = json!({
            "made": true, "nothing": null, "type": "git_stash", "id": "chk_2024", "answer": "yes", "n": 0.95,
            "scope": {"files": ["a b", "x: y # z\n\u{85}\u{7f}\u{202e}\u{e0041}"], "state_keys": [], "more": {}},
            "list": [{"a": 1, "b": [2]}],
        });
        let expected = "made: true\nnothing: null\ntype: git_stash\nid: \"chk_2024\"\nanswer: \"yes\"\n\"n\": 0.95\nscope:\n  \
                        files:\n    - \"a b\"\n    - \"x: y # z\\n\\u0085\\x7f\\u202e\\U000e0041\"\n  state_keys: []\n  more: {}\nlist:\n  -\n    \
                        \"a\": 1\n    \"b\":\n      - 2\n";
        assert_eq!(render(&document), expected);
    }
}
