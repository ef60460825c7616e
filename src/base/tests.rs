//! What the tests of the library share: tables that lie beside them.

use serde::Deserialize;
use serde_json::Value;

/// Reads the rows of a table, by its name among those of a JSON file.
pub fn rows<T: Deserialize<'static>>(tables: &str, name: &str) -> Vec<T> {
    let mut tables: Value = serde_json::from_str(tables).expect("JSON");
    let Value::Array(rows) = tables[name].take() else {
        panic!("there is no table '{name}'")
    };
    let read = |row| T::deserialize(row).unwrap_or_else(|why| panic!("{row}: {why}"));
    Vec::leak(rows).iter().map(read).collect()
}

/// Makes a directory of words: `a=text` is a file, `d/` a directory, `l@to` a symlink; directories
/// above are made too.
pub fn place(words: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for word in words.split_whitespace() {
        let (name, content) = word.split_at(word.find(['=', '@']).unwrap_or(word.len()));
        let at = place.path().join(name.trim_end_matches('/'));
        std::fs::create_dir_all(at.parent().expect("one above")).expect("directories");
        let made = match content.split_at_checked(1) {
            Some(("=", text)) => std::fs::write(at, text),
            #[cfg(unix)]
            Some((_, target)) => std::os::unix::fs::symlink(target, at),
            _ => std::fs::create_dir_all(at),
        };
        made.unwrap_or_else(|why| panic!("{word}: {why}"));
    }
    place
}
