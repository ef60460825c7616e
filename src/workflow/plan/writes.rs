//! Whether two phases may write the same files, judged by their patterns.

/// Whether one file may match patterns of both: the fixed directory of one lies at or below that of
/// the other. A phase without patterns shares with no other: what it writes is unknown, and the
/// plan named nothing.
pub fn share_writes(one: &[String], other: &[String]) -> bool {
    let others: Vec<Vec<&str>> = other.iter().map(|other| fixed_part(other)).collect();
    one.iter().map(|one| fixed_part(one)).any(|one| {
        let mut others = others.iter();
        others.any(|other| one.starts_with(other) || other.starts_with(&one))
    })
}

/// Returns the components before the first wildcard.
fn fixed_part(pattern: &str) -> Vec<&str> {
    let has_marks = |name: &str| name.contains(['*', '?', '[', '{', '\\']);
    let names = pattern.split('/');
    let names = names.filter(|name| !name.is_empty() && *name != ".");
    let fixed: Vec<&str> = names.take_while(|name| !has_marks(name)).collect();
    // A `..` may lead anywhere.
    let fixed = Some(fixed).filter(|fixed| !fixed.contains(&".."));
    fixed.unwrap_or_default()
}
