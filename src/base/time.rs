//! Formats and parses times, kept as milliseconds since 1970.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Datelike as _, Local, NaiveDateTime, SecondsFormat, Timelike as _, Utc};

pub mod json;
mod typed;

pub use typed::{PAST_FORMS, SPAN_FORMS, TypedTime, parse_past, parse_span, parse_time};

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
pub const SECOND_MS: i64 = 1_000;
pub const MINUTE_MS: i64 = 60 * SECOND_MS;
pub const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Last millisecond of the year 9999; later times cannot be written in RFC 3339.
pub const LAST_MS: i64 = 253_402_300_799_999;

/// Whether the local time zone is ignored: `chrono` looks it up by itself, and reads any file that
/// `TZ` names.
static IS_ZONE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Uses UTC as the local time zone from now on.
pub fn ignore_zone() {
    IS_ZONE_IGNORED.store(true, Ordering::Relaxed);
}

/// Formats as `2026-03-24 12:45:30`, UTC, for messages, the manifest and the piped table.
pub fn utc_seconds(time_ms: i64) -> String {
    utc(time_ms).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats as `2026-03-24T12:45:30.123Z`, for JSON.
pub fn rfc3339(time_ms: i64) -> String {
    utc(time_ms).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Formats as `2026-03-24T12:45:30Z`, for contracts and logs.
pub fn rfc3339_seconds(time_ms: i64) -> String {
    utc(time_ms).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats as `2026-03-24`, UTC.
pub fn utc_date(time_ms: i64) -> String {
    utc(time_ms).format("%Y-%m-%d").to_string()
}

/// Formats as `20260324T124530Z`, for file names.
pub fn compact_utc(time_ms: i64) -> String {
    utc(time_ms).format("%Y%m%dT%H%M%SZ").to_string()
}

/// Formats as `20260324_124530`, for aliases.
pub fn utc_compact(time_ms: i64) -> String {
    utc(time_ms).format("%Y%m%d_%H%M%S").to_string()
}

/// Formats as `2026-03-24 12:45` in local time, for terminals.
pub fn local_minutes(time_ms: i64) -> String {
    const FORM: &str = "%Y-%m-%d %H:%M";
    let time = utc(time_ms);
    if IS_ZONE_IGNORED.load(Ordering::Relaxed) {
        return time.format(FORM).to_string();
    }
    time.with_timezone(&Local).format(FORM).to_string()
}

/// Returns the form of times in results: local at a terminal, else UTC.
pub fn shown(for_a_person: bool) -> fn(i64) -> String {
    if for_a_person {
        local_minutes
    } else {
        utc_seconds
    }
}

/// Numbers for the hour, day, ISO week and month of a moment in local time: two moments share the
/// number exactly if they lie in the same hour, day, week or month.
pub fn local_periods(time_ms: i64) -> [i64; 4] {
    let time = utc(time_ms);
    let local = if IS_ZONE_IGNORED.load(Ordering::Relaxed) {
        time.naive_utc()
    } else {
        time.with_timezone(&Local).naive_local()
    };
    let (week, month) = (
        local.iso_week(),
        100 * i64::from(local.year()) + i64::from(local.month()),
    );
    let day = 100 * month + i64::from(local.day());
    [
        100 * day + i64::from(local.hour()),
        day,
        100 * i64::from(week.year()) + i64::from(week.week()),
        month,
    ]
}

const IN_FUTURE: &str = "in the future";

/// Formats how long ago a time was: `3 min ago`.
pub fn ago(time_ms: i64, now_ms: i64) -> String {
    match age(time_ms, now_ms) {
        future if future == IN_FUTURE => future,
        age => format!("{age} ago"),
    }
}

/// Formats an age in its largest non-zero unit: `3 min`, `5 d`.
pub fn age(time_ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(time_ms) / 1000;
    match seconds {
        ..0 => IN_FUTURE.to_owned(),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Parses an ISO 8601 time as programs write it, at least to the second:
/// `2026-03-24T12:45:30.5+01:00`, and the same without separators. Without a zone it is UTC, as the
/// zone of the writing machine is unknown.
pub fn parse_iso(text: &str) -> Option<i64> {
    const ZONED: [&str; 2] = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y%m%dT%H%M%S%.f%#z"];
    const BARE: [&str; 2] = ["%Y-%m-%dT%H:%M:%S%.f", "%Y%m%dT%H%M%S%.f"];
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_millis());
    }
    let zoned = text
        .strip_suffix(['Z', 'z'])
        .map_or_else(|| text.to_owned(), |start| format!("{start}+00:00"));
    let zoned = ZONED
        .iter()
        .find_map(|form| DateTime::parse_from_str(&zoned, form).ok());
    let bare = || {
        BARE.iter()
            .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
    };
    zoned
        .map(|time| time.timestamp_millis())
        .or_else(|| Some(bare()?.and_utc().timestamp_millis()))
}

fn utc(time_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(time_ms).unwrap_or(if time_ms < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_774_355_130_123; // 2026-03-24T12:25:30.123Z

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(utc_seconds(NOW), "2026-03-24 12:25:30");
        assert_eq!(rfc3339(NOW), "2026-03-24T12:25:30.123Z");
        assert_eq!(rfc3339_seconds(NOW), "2026-03-24T12:25:30Z");
        assert_eq!(compact_utc(NOW), "20260324T122530Z");
        // Times out of range are clamped.
        assert!(
            utc_seconds(i64::MIN).starts_with('-') && utc_seconds(i64::MAX).starts_with("+262142")
        );
    }

    #[test]
    fn a_terminal_shows_the_minute_that_was_typed() {
        for text in ["2026-03-24 12:25", "1999-12-31 23:59"] {
            assert_eq!(local_minutes(parse_time(text, NOW).unwrap().start_ms), text);
        }
    }

    #[test]
    fn ages_use_the_largest_unit() {
        for (ms, shown) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (7_200_000, "2 h"),
            (172_800_000, "2 d"),
        ] {
            assert_eq!(age(NOW - ms, NOW), shown);
        }
        assert_eq!(age(NOW + 5_000, NOW), "in the future");
        // Commits of plain git may have any time.
        assert_eq!(age(i64::MIN, NOW), format!("{} d", i64::MAX / 86_400_000));
        assert_eq!(age(i64::MAX, -NOW), "in the future");
    }

    #[test]
    fn programs_write_one_instant_in_many_ways() {
        for text in "2026-03-24T12:25:30Z|2026-03-24T12:25:30.000Z|2026-03-24t12:25:30z|\
            2026-03-24T14:25:30+02:00|2026-03-24T14:25:30+0200|2026-03-24T14:25:30+02|\
            2026-03-24T12:25:30|2026-03-24 12:25:30Z|20260324T122530Z"
            .split('|')
        {
            assert_eq!(parse_iso(text), Some(NOW - 123), "{text}");
        }
        assert_eq!(parse_iso("2026-03-24T12:25:30.123456"), Some(NOW));
        for text in "|10m ago|2026-03-24|2026-03-24T12:25Z|2026-02-30T00:00:00Z|ISO-8601|1774355130"
            .split('|')
        {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }
}
