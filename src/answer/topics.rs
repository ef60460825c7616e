//! The pages of `checkpoint help TOPIC`.

/// Topics and pages, in the order in which a newcomer needs them. None has the name of a command.
const TOPICS: [(&str, &str); 12] = [
    ("selectors", include_str!("../docs/selectors.md")),
    ("history", include_str!("../docs/history.md")),
    ("recovery", include_str!("../docs/recovery.md")),
    (
        "what-is-captured",
        include_str!("../docs/what-is-captured.md"),
    ),
    ("scoped", include_str!("../docs/scoped.md")),
    ("workflows", include_str!("../docs/workflows.md")),
    ("agents", include_str!("../docs/agents.md")),
    ("json", include_str!("../docs/json.md")),
    ("configuration", include_str!("../docs/configuration.md")),
    ("performance", include_str!("../docs/performance.md")),
    ("platforms", include_str!("../docs/platforms.md")),
    ("remotes", include_str!("../docs/remotes.md")),
];

pub fn names() -> Vec<&'static str> {
    TOPICS.iter().map(|(name, _)| *name).collect()
}

pub fn page(topic: &str) -> Option<&'static str> {
    TOPICS
        .iter()
        .find(|(name, _)| *name == topic)
        .map(|(_, page)| *page)
}

/// Returns a page that names all the others.
pub fn overview() -> String {
    let mut page = "Pages of 'checkpoint help TOPIC':\n\n".to_owned();
    for (name, title) in titles() {
        page.push_str(&format!("  {name:<17} {title}\n"));
    }
    page + "\nOther commands: man, schema, and for workflows: phase, task\n"
}

/// Returns the topics with the titles of their pages.
pub fn titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|(name, page)| {
        (
            *name,
            page.lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("# "),
        )
    })
}
