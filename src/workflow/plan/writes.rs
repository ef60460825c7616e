//! Whether two phases may write the same files, judged by their patterns.

/// Whether one file may match patterns of both: the fixed directory of one lies at or below that of
/// the other. A phase without patterns shares with no other: what it writes is unknown, and the
/// plan named nothing.
pub fn share_writes(one: &[String], other: &[String]) -> bool {
    one.iter().any(|one| {
        other
            .iter()
            .any(|other| may_meet(&fixed_part(one), &fixed_part(other)))
    })
}

fn may_meet(one: &[&str], other: &[&str]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Returns the components before the first wildcard.
fn fixed_part(pattern: &str) -> Vec<&str> {
    let has_marks = |name: &str| name.contains(['*', '?', '[', '{', '\\']);
    let names = pattern
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".");
    let fixed: Vec<&str> = names.take_while(|name| !has_marks(name)).collect();
    // A `..` may lead anywhere.
    if fixed.contains(&"..") {
        Vec::new()
    } else {
        fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_where_one_lies_at_or_below_the_other() {
        let share = |one: &str, other: &str| {
            let (one, other) = ([one.to_owned()], [other.to_owned()]);
            assert_eq!(share_writes(&one, &other), share_writes(&other, &one));
            share_writes(&one, &other)
        };
        for (one, other) in [
            ("a", "a"),
            ("a/b", "a"),
            ("a/", "./a/b/c"),
            ("a/*.rs", "a/b/x.py"),
            ("*.md", "docs/x"),
            ("../x", "y"),
            ("a//b", "a/b"),
        ] {
            assert!(share(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("a", "ab"),
            ("src/a/**", "src/b/*.rs"),
            ("a/x", "a/y"),
            ("a/b*", "c"),
        ] {
            assert!(!share(one, other), "{one} {other}");
        }
        assert!(!share_writes(&[], &["a".to_owned()]) && !share_writes(&[], &[]));
    }
}
