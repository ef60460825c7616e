//! Parses the PATTERN of `find`.

use crate::error::Result;
use crate::model::PathPattern;
use crate::model::path_pattern::has_marks;
use crate::ops::restore::restore_paths;
use crate::worktree::Root;

/// # Errors
/// A literal path that lies outside the root or in a `.git`.
pub fn parse(root: &Root, typed: &[u8]) -> Result<PathPattern> {
    let typed = &*restore_paths::anchored(root, typed);
    let literal = restore_paths::parse_one(root, typed);
    if has_marks(typed) {
        let glob = restore_paths::pattern(root, typed);
        return Ok(PathPattern::of_glob(&glob, literal.ok()));
    }
    let literal = literal?;
    if typed.contains(&b'/') || literal.is_root() {
        return Ok(PathPattern::of_path(literal));
    }
    // As in an ignore file, a name without a slash is one in any directory.
    let glob = String::from_utf8_lossy(typed).replace('\\', "\\\\");
    let glob = restore_paths::pattern(root, glob.as_bytes());
    Ok(PathPattern::of_glob(&glob, Some(literal)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::state::rel_path::RelPath;

    #[test]
    fn a_pattern_means_what_it_means_in_an_ignore_file_and_all_below_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::resolve(temp.path(), None).unwrap();
        for (typed, path, expected) in [
            ("src/a.rs", "src/a.rs", true),
            ("src", "src/a.rs", true),
            ("./src/", "src/a.rs", true),
            ("a.rs", "src/a.rs", true),
            ("deep", "src/deep/a.rs", true),
            ("./a.rs", "src/a.rs", false),
            ("a\\b", "src/a\\b", true),
            ("*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("/*.rs", "src/a.rs", false),
            ("/a.rs", "a.rs", true),
            ("/a.rs", "src/a.rs", false),
            ("/src", "src/a.rs", true),
            ("**/a.rs", "src/deep/a.rs", true),
            ("s?c", "src/deep/a.rs", true),
            ("src/d*", "src/deep/a.rs", true),
            ("[id].tsx", "[id].tsx", true),
            ("[id].tsx", "i.tsx", true),
            ("[", "[", true),
            ("*", "anything/at/all", true),
        ] {
            let pattern = parse(&root, typed.as_bytes()).unwrap();
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(pattern.matches(&path), expected, "{typed} {path}");
            assert!(
                !expected || path.ancestors().all(|dir| pattern.enters(&dir)),
                "{typed} {path}"
            );
        }
        assert!(parse(&root, b"../x").is_err());
        assert!(parse(&root, b".git/config").is_err());
    }
}
