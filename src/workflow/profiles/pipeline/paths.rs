//! Paths of the document and of the files in it: relative to the root in the run, else absolute.

use std::borrow::Cow;

use serde_json::Value;

pub const FILE: &str = ".claude/pipeline-state.json";

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = ".claude/.archive";

/// Whether a root is spelled as on Windows; so are then the absolute paths of the document.
fn is_of_windows(root: &str) -> bool {
    let has_drive = matches!(root.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    has_drive || root.starts_with(r"\\")
}

/// Returns the path as in the run, with slashes: relative if below the root, else unchanged.
pub fn relative<'p>(path: &'p str, root: &str) -> Cow<'p, str> {
    if !is_of_windows(root) {
        return below(path, root).into();
    }
    let slashed = path.replace('\\', "/");
    match below(&slashed, &root.replace('\\', "/")) {
        same if same == slashed && is_absolute(path) => path.into(),
        inside => inside.to_owned().into(),
    }
}

fn below<'p>(path: &'p str, root: &str) -> &'p str {
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

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':')
}

/// Returns the path as in the document.
pub fn absolute(path: &str, root: &str) -> String {
    if is_absolute(path) || root.is_empty() {
        path.to_owned()
    } else if is_of_windows(root) {
        format!(r"{}\{path}", root.trim_end_matches('\\')).replace('/', r"\")
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
            .is_some_and(|said| relative(said, root) == *path)
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
                    .is_some_and(|said| relative(said, root) == *path)
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
            (r"C:\r\a\b", r"C:\r", "a/b"),
            ("C:/r/a/b", r"C:\r", "a/b"),
            (r"a\b", r"C:\r", "a/b"),
            (r"D:\a", r"C:\r", r"D:\a"),
            (r"a\b", "/r", r"a\b"),
            (r"a\b", "/:x", r"a\b"),
            (r"/:x/a\b", "/:x", r"a\b"),
        ] {
            assert_eq!(relative(path, root), inside, "{path} {root}");
        }
        assert_eq!(absolute("a", "/r/"), "/r/a");
        assert_eq!(absolute("/x", "/r"), "/x");
        assert_eq!(absolute("C:\\x", "/r"), "C:\\x");
        assert_eq!(absolute("a/b", r"C:\r"), r"C:\r\a\b");
        assert_eq!(absolute(r"a\b", "/:x"), r"/:x/a\b");
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
