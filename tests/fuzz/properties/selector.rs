//! Selectors and times: each match is one of the documented kinds, and times are read as ranges.

use checkpoint::base::time;
use checkpoint::model::checkpoint::line::Line;
use checkpoint::model::checkpoint::record::MIN_PREFIX;
use checkpoint::model::checkpoint::selector::{SelectorProblem, resolve};

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let mut draw = Draw::new(data);
    let now_ms = draw.number().cast_signed();
    let mut checkpoints = draw.several(Draw::checkpoint);
    checkpoints.sort_by_key(|checkpoint| checkpoint.id);
    checkpoints.dedup_by_key(|checkpoint| checkpoint.id);
    let checkpoints = Line::from(checkpoints);
    let query = String::from_utf8_lossy(draw.rest()).into_owned();
    times(&query, now_ms, &checkpoints);
    selects(&query, &checkpoints, now_ms);
    for checkpoint in checkpoints.iter() {
        let by_id = resolve(&checkpoint.id.to_hex(), &checkpoints, now_ms);
        assert_eq!(
            by_id.map(|found| found.id),
            Ok(checkpoint.id),
            "a whole id names its checkpoint"
        );
    }
}

fn selects(query: &str, checkpoints: &Line, now_ms: i64) {
    match resolve(query, checkpoints, now_ms) {
        Ok(found) => {
            let steps =
                ["latest", "@"].iter().any(|word| query.starts_with(word)) && !found.is_safety();
            let by_id = query.len() >= MIN_PREFIX
                && found.id.to_hex().starts_with(&query.to_ascii_lowercase());
            let time_ms = found.record.time_ms;
            let by_time = time::parse_time(query, now_ms).is_some_and(|time| {
                let stamped = |start: i64| (start..start + time.length_ms).contains(&time_ms);
                let earlier = time_ms <= time.last_ms() && !found.is_safety();
                (earlier && time.start_ms <= now_ms) || time.stamp_ms.is_some_and(stamped)
            });
            assert!(
                steps || by_id || found.record.reason == query || by_time,
                "{query:?} found {}",
                found.id
            );
        }
        Err(SelectorProblem::Empty) => assert!(query.is_empty()),
        Err(SelectorProblem::Ambiguous { candidates, .. }) => {
            let begins = |id: String| id.starts_with(&query.to_ascii_lowercase());
            assert!(candidates.len() > 1 && candidates.iter().all(|one| begins(one.id.to_hex())));
        }
        Err(SelectorProblem::NoMatch { .. }) => {
            let is_steps = query.starts_with("latest") || query.starts_with('@');
            assert!(
                checkpoints
                    .iter()
                    .all(|checkpoint| checkpoint.record.reason != query)
                    || is_steps
            );
        }
    }
}

fn times(query: &str, now_ms: i64, checkpoints: &Line) {
    let typed = time::parse_time(query, now_ms);
    if let Some(typed) = typed {
        assert!((1..=90_000_000).contains(&typed.length_ms), "{query}");
    }
    let start = |text: &str| Some(time::parse_time(text, now_ms)?.start_ms);
    if let Some(span) = time::parse_span(query) {
        assert!(span >= 0);
    }
    for time_ms in checkpoints
        .iter()
        .map(|checkpoint| checkpoint.record.time_ms)
        .chain(typed.map(|typed| typed.start_ms))
    {
        let age = time::age(time_ms, now_ms);
        assert_eq!(
            age == "in the future",
            time_ms.saturating_sub(now_ms) >= 1000,
            "{age}"
        );
        // A displayed time names the same second when typed.
        let shown = format!("{}Z", time::utc_seconds(time_ms));
        if (0..253_402_300_800_000).contains(&time_ms) {
            assert_eq!(start(&shown), Some(time_ms / 1000 * 1000), "{shown}");
            assert_eq!(start(&time::rfc3339(time_ms)), Some(time_ms), "{shown}");
        }
    }
}
