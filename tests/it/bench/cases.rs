//! Number of random cases of a test. The tests within the library use this file too.

use proptest::test_runner::Config;

/// The default, or what `CHECKPOINT_CASES` says: a number, or a multiple of it such as `10x`.
pub fn cases(everyday: usize) -> usize {
    let said = std::env::var("CHECKPOINT_CASES").ok();
    said.and_then(|said| scaled(&said, everyday))
        .unwrap_or(everyday)
}

fn scaled(said: &str, everyday: usize) -> Option<usize> {
    match said.strip_suffix('x') {
        Some(times) => everyday.checked_mul(times.parse().ok()?),
        None => said.parse().ok(),
    }
}

/// The same for properties that `proptest` tries, without files of failures.
pub fn properties(everyday: usize) -> Config {
    let cases = u32::try_from(cases(everyday)).unwrap_or(u32::MAX);
    Config {
        failure_persistence: None,
        ..Config::with_cases(cases)
    }
}
