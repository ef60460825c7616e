//! The text of the progress line.

use crate::answer::format::size;
use crate::base::progress::{Figures, WorkPhase};
use crate::ops::warning::warning_words::thousands;

/// Formats what is done, of how much.
pub fn line(now: Figures) -> String {
    let (verb, things) = words(now.phase);
    let mut parts = Vec::new();
    let (done, in_all) = share_done(now);
    if in_all > 0 {
        let percent = u128::from(done.min(in_all)) * 100 / u128::from(in_all);
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
    format!("{verb} {}", parts.join(", ")).trim_end().to_owned()
}

/// What is done, and how much there is: bytes if that is known, else files.
pub fn share_done(now: Figures) -> (u64, u64) {
    if now.bytes_in_all > 0 {
        (now.bytes, now.bytes_in_all)
    } else {
        (now.files, now.files_in_all)
    }
}

/// Formats the wait for a lock.
pub fn waiting(holder: &str, seconds: u64) -> String {
    format!("waiting for {holder}, {seconds} s")
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
    fn what_is_done_is_shown_of_how_much() {
        let mib = 1 << 20;
        for (now, shown) in [
            (
                figures(WorkPhase::Scanning, (31_000, 0), (0, 0)),
                "scanning 31,000 files",
            ),
            (figures(WorkPhase::Flushing, (0, 0), (0, 0)), "flushing"),
            (
                figures(WorkPhase::Reading, (20, 500), (200 * mib, 900 * mib)),
                "reading 22 %, 20/500 files, 200.0/900.0 MiB",
            ),
            (
                figures(WorkPhase::Verifying, (7, 7), (70, 70)),
                "verifying 100 %, 7/7, 70/70 B",
            ),
        ] {
            assert_eq!(line(now), shown);
        }
    }
}
