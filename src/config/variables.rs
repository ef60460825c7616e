//! Every environment variable that this program or one of its libraries reads, and its purpose.

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub purpose: &'static str,
    /// Whether the value is private: then only its presence is shown.
    pub is_private: bool,
}

/// Returns all of them; in the list a private one has a star.
pub fn variables() -> impl Iterator<Item = Variable> {
    let lines = include_str!("variables.txt").lines();
    lines.filter_map(|line| {
        let (name, purpose) = line.get(2..)?.split_once(' ')?;
        Some(Variable {
            name,
            purpose: purpose.trim_start(),
            is_private: line.starts_with('*'),
        })
    })
}
