//! How many random cases a test tries. The tests within the library take this file, too.

use proptest::test_runner::Config;

/// What is quick enough for every day, or what `CHECKPOINT_CASES` says: a number, or a multiple of that such as `10x`.
pub fn cases(everyday: usize) -> usize {
    let said = std::env::var("CHECKPOINT_CASES").ok();
    said.and_then(|said| scaled(&said, everyday)).unwrap_or(everyday)
}

fn scaled(said: &str, everyday: usize) -> Option<usize> {
    match said.strip_suffix('x') {
        Some(times) => everyday.checked_mul(times.parse().ok()?),
        None => said.parse().ok(),
    }
}

/// The same for properties that `proptest` tries. It writes no files.
pub fn properties(everyday: usize) -> Config {
    let cases = u32::try_from(cases(everyday)).unwrap_or(u32::MAX);
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}
