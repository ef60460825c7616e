//! Paths of the document and of the files in it: relative to the root in the run, else absolute.

use serde_json::Value;

pub const FILE: &str = ".claude/pipeline-state.json";

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = ".claude/.archive";

/// Returns the path as in the run: relative if below the root, else unchanged.
pub fn relative<'p>(path: &'p str, root: &str) -> &'p str {
    let root = root.trim_end_matches('/');
    let below = path
        .strip_prefix(root)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty());
    let path = if root.is_empty() {
        path
    } else {
        below.unwrap_or(path)
    };
    path.strip_prefix("./").unwrap_or(path)
}

/// Returns the path as in the document.
pub fn absolute(path: &str, root: &str) -> String {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':');
    if is_absolute || root.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", root.trim_end_matches('/'))
    }
}

/// Returns the list for the document: paths keep their spelling there, new ones are absolute.
pub fn written(paths: &[String], stands: Option<&Value>, root: &str) -> Vec<Value> {
    let known = stands
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is = |value: &&Value, path: &str| {
        value
            .as_str()
            .is_some_and(|said| relative(said, root) == path)
    };
    let one = |path: &String| {
        let said = known.iter().find(|value| is(value, path)).cloned();
        said.unwrap_or_else(|| absolute(path, root).into())
    };
    paths.iter().map(one).collect()
}

/// Whether a list has these paths, in any spelling.
pub fn is_same(stands: &Value, paths: &[String], root: &str) -> bool {
    let said = |list: &Vec<Value>| {
        list.len() == paths.len()
            && list.iter().zip(paths).all(|(said, path)| {
                said.as_str()
                    .is_some_and(|said| relative(said, root) == path)
            })
    };
    stands
        .as_array()
        .map_or(stands.is_null() && paths.is_empty(), said)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_relative_inside_and_absolute_in_the_document() {
        for (path, root, inside) in [
            ("/r/a/b", "/r", "a/b"),
            ("/r/a", "/r/", "a"),
            ("/rest/a", "/r", "/rest/a"),
            ("./a", "/r", "a"),
            ("a", "/r", "a"),
            ("/r", "/r", "/r"),
            ("/a", "", "/a"),
        ] {
            assert_eq!(relative(path, root), inside, "{path} {root}");
        }
        assert_eq!(absolute("a", "/r/"), "/r/a");
        assert_eq!(absolute("/x", "/r"), "/x");
        assert_eq!(absolute("C:\\x", "/r"), "C:\\x");
    }

    #[test]
    fn a_spelling_that_stands_stays() {
        let stands = json!(["./a", "/r/b"]);
        let paths = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            written(&paths, Some(&stands), "/r"),
            ["./a", "/r/b", "/r/c"]
        );
        assert!(is_same(&stands, &paths[..2], "/r") && !is_same(&stands, &paths, "/r"));
    }
}
