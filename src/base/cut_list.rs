//! Formats lists, shortened after a limit.

use std::fmt::Display;

/// Joins the first items with commas; `ending` formats the number of omitted items.
pub fn first_of<T: Display>(items: &[T], limit: usize, ending: impl Fn(usize) -> String) -> String {
    let first = items
        .iter()
        .take(limit)
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    match items.len().saturating_sub(limit) {
        0 => first,
        more => first + &ending(more),
    }
}

/// Formats `a, b and 3 more`.
pub fn and_more<T: Display>(items: &[T], limit: usize) -> String {
    first_of(items, limit, |more| format!(" and {more} more"))
}

/// Formats `a (and 3 more)`; `count` includes the first.
pub fn one_of(first: impl Display, count: usize) -> String {
    if count > 1 {
        format!("{first} (and {} more)", count - 1)
    } else {
        first.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_counted() {
        let names = ["a", "b", "c"];
        let found = [and_more(&names, 3), and_more(&names, 2)];
        assert_eq!(found, ["a, b, c", "a, b and 1 more"]);
        assert_eq!(first_of(&names, 1, |_| ", …".to_owned()), "a, …");
        assert_eq!([one_of("a", 1), one_of("a", 3)], ["a", "a (and 2 more)"]);
    }
}
