//! The text of the progress line.

use std::time::Duration;

use crate::base::progress::{Figures, WorkPhase};
use crate::ops::warning::warning_words::thousands;
use crate::view::format::size;

/// Shortest measured time for which a rate is shown.
const RATE_FROM: Duration = Duration::from_millis(500);
/// Longest estimate that is shown, in seconds.
const LONGEST_SECONDS: f64 = 360_000.0;

/// Formats progress, rate and remaining time. `before` are the figures at a time `elapsed` ago in
/// the same phase.
pub fn line(now: Figures, before: Figures, elapsed: Duration) -> String {
    let (verb, things) = words(now.phase);
    let mut parts = Vec::new();
    if let Some(percent) = percent(now) {
        parts.push(format!("{percent} %"));
    }
    if now.files > 0 || now.files_in_all > 0 {
        parts.push(format!(
            "{}{things}",
            share(now.files, now.files_in_all, &thousands)
        ));
    }
    if now.bytes > 0 {
        parts.push(share(now.bytes, now.bytes_in_all, &size));
    }
    if elapsed >= RATE_FROM {
        parts.extend(pace(now, before, elapsed.as_secs_f64()));
    }
    format!("{verb} {}", parts.join(", ")).trim_end().to_owned()
}

/// Formats the wait for a lock.
pub fn waiting(holder: &str, seconds: u64) -> String {
    format!("waiting for {holder}, {seconds} s")
}

/// Formats rate and remaining time.
fn pace(now: Figures, before: Figures, seconds: f64) -> Vec<String> {
    let (files, bytes) = (
        now.files.saturating_sub(before.files),
        now.bytes.saturating_sub(before.bytes),
    );
    let rate = match (files, bytes) {
        (0, 0) => None,
        (files, 0) => Some(thousands(per_second(files, seconds))),
        (_, bytes) => Some(size(per_second(bytes, seconds))),
    };
    let left = seconds_left(now.bytes, now.bytes_in_all, bytes, seconds)
        .or_else(|| seconds_left(now.files, now.files_in_all, files, seconds));
    let rate = rate.map(|rate| format!("{rate}/s"));
    rate.into_iter()
        .chain(left.map(|left| format!("{} left", duration(left))))
        .collect()
}

/// Computed by bytes if the total is known, else by files.
fn percent(now: Figures) -> Option<u128> {
    let (done, in_all) = if now.bytes_in_all > 0 {
        (now.bytes, now.bytes_in_all)
    } else {
        (now.files, now.files_in_all)
    };
    (in_all > 0).then(|| u128::from(done.min(in_all)) * 100 / u128::from(in_all))
}

fn words(phase: WorkPhase) -> (&'static str, &'static str) {
    match phase {
        WorkPhase::Idle => ("working", ""),
        WorkPhase::Scanning => ("scanning", " files"),
        WorkPhase::Reading => ("reading", " files"),
        WorkPhase::Flushing => ("flushing", ""),
        WorkPhase::Staging => ("staging", " files"),
        WorkPhase::Applying => ("applying", " files"),
        // Counts objects of the store, or restored files.
        WorkPhase::Verifying => ("verifying", ""),
        WorkPhase::Packing => ("packing", " objects"),
        WorkPhase::Waiting => ("waiting", " s"),
    }
}

/// Formats `3`, or `3/9` if the total is known; a unit that both share is written once.
fn share(done: u64, in_all: u64, shown: &dyn Fn(u64) -> String) -> String {
    if in_all == 0 {
        return shown(done);
    }
    let (done, in_all) = (shown(done), shown(in_all));
    match (done.split_once(' '), in_all.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}/{in_all}"),
        _ => format!("{done}/{in_all}"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a figure to look at"
)]
fn per_second(amount: u64, seconds: f64) -> u64 {
    (amount as f64 / seconds) as u64
}

/// Estimated from `fresh` in `seconds`; `None` if total or rate is unknown.
#[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
fn seconds_left(done: u64, in_all: u64, fresh: u64, seconds: f64) -> Option<f64> {
    let left = in_all
        .checked_sub(done)
        .filter(|left| *left > 0 && fresh > 0)? as f64;
    Some(left * seconds / fresh as f64).filter(|left| *left < LONGEST_SECONDS)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is positive and below the limit"
)]
fn duration(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(phase: WorkPhase, files: (u64, u64), bytes: (u64, u64)) -> Figures {
        Figures {
            phase,
            files: files.0,
            bytes: bytes.0,
            files_in_all: files.1,
            bytes_in_all: bytes.1,
        }
    }

    #[test]
    fn an_end_that_nobody_knows_is_not_foretold() {
        let before = figures(WorkPhase::Scanning, (1000, 0), (0, 0));
        let now = figures(WorkPhase::Scanning, (31_000, 0), (0, 0));
        assert_eq!(
            line(now, before, Duration::from_secs(2)),
            "scanning 31,000 files, 15,000/s"
        );
        assert_eq!(
            line(now, before, Duration::from_millis(100)),
            "scanning 31,000 files"
        );
        assert_eq!(
            line(
                figures(WorkPhase::Flushing, (0, 0), (0, 0)),
                before,
                Duration::from_secs(9)
            ),
            "flushing"
        );
    }

    #[test]
    fn the_time_left_goes_by_bytes_and_else_by_files() {
        let mib = 1 << 20;
        let before = figures(WorkPhase::Reading, (10, 500), (100 * mib, 900 * mib));
        let now = figures(WorkPhase::Reading, (20, 500), (200 * mib, 900 * mib));
        let shown = line(now, before, Duration::from_secs(10));
        assert_eq!(
            shown,
            "reading 22 %, 20/500 files, 200.0/900.0 MiB, 10.0 MiB/s, 1 min 10 s left"
        );
        let before = figures(WorkPhase::Applying, (0, 9000), (0, 0));
        let now = figures(WorkPhase::Applying, (1000, 9000), (0, 0));
        assert_eq!(
            line(now, before, Duration::from_secs(1)),
            "applying 11 %, 1,000/9,000 files, 1,000/s, 8 s left"
        );
    }

    #[test]
    fn what_stands_still_has_no_pace_and_what_is_complete_no_time_left() {
        let whole = figures(WorkPhase::Verifying, (7, 7), (70, 70));
        assert_eq!(
            line(whole, whole, Duration::from_secs(3)),
            "verifying 100 %, 7/7, 70/70 B"
        );
        let start = figures(WorkPhase::Verifying, (0, 7), (0, 70));
        assert_eq!(
            line(whole, start, Duration::from_secs(7)),
            "verifying 100 %, 7/7, 70/70 B, 10 B/s"
        );
        assert_eq!(duration(7201.0), "2 h 0 min");
    }
}
