//! Formats and parses times, kept as milliseconds since 1970.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{
    DateTime, Datelike as _, Local, NaiveDate, NaiveDateTime, SecondsFormat, TimeZone,
    Timelike as _, Utc,
};

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
const SECOND_MS: i64 = 1_000;
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

/// Formats an age in its largest non-zero unit: `3 min`, `5 d`.
pub fn age(time_ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(time_ms) / 1000;
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Parses `10m ago`, `2026-03-24T12:45`, `2026-03-24 12:45:30`, `2026-03-24`, in local time unless
/// `Z` or an offset is given. Returns its first millisecond; `None` if it is no time.
pub fn parse(text: &str, now_ms: i64) -> Option<i64> {
    parse_range(text, now_ms).map(|(start_ms, _)| start_ms)
}

/// As [`parse`], but returns the last millisecond of that second, minute or day.
pub fn parse_until(text: &str, now_ms: i64) -> Option<i64> {
    parse_range(text, now_ms).map(|(start_ms, length_ms)| start_ms + length_ms - 1)
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

/// Parses a time; returns its first millisecond and its length in milliseconds.
fn parse_range(text: &str, now_ms: i64) -> Option<(i64, i64)> {
    let text = text.trim();
    if let Some(span) = text.strip_suffix("ago") {
        return Some((now_ms.checked_sub(parse_span(span.trim())?)?, 1));
    }
    let text = text.replacen(' ', "T", 1);
    if let Ok(time) = DateTime::parse_from_rfc3339(&text) {
        return Some((
            time.timestamp_millis(),
            if text.contains('.') { 1 } else { SECOND_MS },
        ));
    }
    parse_zoned_minutes(&text).or_else(|| parse_local(&text))
}

/// Parses a duration such as `10m`, `90 s`, `2h`, `3 days` or `1w`; returns milliseconds.
pub fn parse_span(text: &str) -> Option<i64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let count: i64 = text[..digits].parse().ok()?;
    let seconds = match text[digits..].trim() {
        "s" | "sec" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 604_800,
        _ => return None,
    };
    count.checked_mul(seconds * 1000)
}

fn utc(time_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(time_ms).unwrap_or(if time_ms < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

fn parse_zoned_minutes(text: &str) -> Option<(i64, i64)> {
    let text = text
        .strip_suffix('Z')
        .map_or_else(|| text.to_owned(), |start| format!("{start}+00:00"));
    let time = DateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M%:z").ok()?;
    Some((time.timestamp_millis(), MINUTE_MS))
}

fn parse_local(text: &str) -> Option<(i64, i64)> {
    let forms = [
        ("%Y-%m-%dT%H:%M:%S", SECOND_MS),
        ("%Y-%m-%dT%H:%M:%S%.f", 1),
        ("%Y-%m-%dT%H:%M", MINUTE_MS),
    ];
    let timed = forms.iter().find_map(|(form, length)| {
        Some((NaiveDateTime::parse_from_str(text, form).ok()?, *length))
    });
    let day = || {
        Some((
            NaiveDate::parse_from_str(text, "%Y-%m-%d")
                .ok()?
                .and_hms_opt(0, 0, 0)?,
            DAY_MS,
        ))
    };
    let (naive, length_ms) = timed.or_else(day)?;
    // An ambiguous local time means the later one; a skipped one is no time.
    let time = if IS_ZONE_IGNORED.load(Ordering::Relaxed) {
        naive.and_utc().timestamp_millis()
    } else {
        Local
            .from_local_datetime(&naive)
            .latest()?
            .timestamp_millis()
    };
    Some((time, length_ms))
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
    fn every_unit_of_a_span_has_its_length() {
        for (units, seconds) in [
            (["s", "sec", "second", "seconds"].as_slice(), 1),
            (&["m", "min", "minute", "minutes"], 60),
            (&["h", "hour", "hours"], 3_600),
            (&["d", "day", "days"], 86_400),
            (&["w", "week", "weeks"], 604_800),
        ] {
            for unit in units {
                assert_eq!(
                    parse_span(&format!("3{unit}")),
                    Some(3_000 * seconds),
                    "{unit}"
                );
                assert_eq!(
                    parse_span(&format!("3 {unit}")),
                    Some(3_000 * seconds),
                    "{unit}"
                );
            }
        }
        assert_eq!(
            (parse_span("3"), parse_span("3 months"), parse_span("-3 d")),
            (None, None, None)
        );
    }

    #[test]
    fn a_time_stands_for_all_that_it_does_not_say() {
        for (text, length_ms) in [
            ("2026-03-24", 86_400_000),
            ("2026-03-24 12:25", 60_000),
            ("2026-03-24T12:25:30", 1_000),
            ("2026-03-24T12:25:30.5", 1),
            ("2026-03-24T12:25:30.5Z", 1),
            ("2026-03-24T12:25+01:00", 60_000),
        ] {
            assert_eq!(
                parse_until(text, NOW).unwrap() - parse(text, NOW).unwrap() + 1,
                length_ms,
                "{text}"
            );
        }
    }

    #[test]
    fn a_terminal_shows_the_minute_that_was_typed() {
        for text in ["2026-03-24 12:25", "1999-12-31 23:59"] {
            assert_eq!(local_minutes(parse(text, NOW).unwrap()), text);
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
        for text in [
            "2026-03-24T12:25:30Z",
            "2026-03-24T12:25:30.000Z",
            "2026-03-24t12:25:30z",
            "2026-03-24T14:25:30+02:00",
            "2026-03-24T14:25:30+0200",
            "2026-03-24T14:25:30+02",
            "2026-03-24T12:25:30",
            "2026-03-24 12:25:30Z",
            "20260324T122530Z",
        ] {
            assert_eq!(parse_iso(text), Some(NOW - 123), "{text}");
        }
        assert_eq!(parse_iso("2026-03-24T12:25:30.123456"), Some(NOW));
        for text in [
            "",
            "10m ago",
            "2026-03-24",
            "2026-03-24T12:25Z",
            "2026-02-30T00:00:00Z",
            "ISO-8601",
            "1774355130",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }

    #[test]
    fn a_zone_is_obeyed_and_spans_count_back() {
        for (text, expected) in [
            ("2026-03-24T12:25:30.123Z", NOW),
            ("2026-03-24 12:25:30Z", NOW - 123),
            ("2026-03-24T12:25Z", NOW - 30_123),
            ("2026-03-24T14:25+02:00", NOW - 30_123),
            ("10m ago", NOW - 600_000),
            ("2 days ago", NOW - 172_800_000),
        ] {
            assert_eq!(parse(text, NOW), Some(expected), "{text}");
        }
        assert_eq!(
            parse_until("2026-03-24 12:25:30Z", NOW),
            Some(NOW - 123 + 999)
        );
        assert_eq!(
            parse_until("2026-03-24T12:25Z", NOW),
            Some(NOW - 30_123 + 59_999)
        );
        assert_eq!(parse_until("2026-03-24T12:25:30.123Z", NOW), Some(NOW));
        for text in [
            "",
            "ago",
            "10 ago",
            "m ago",
            "yesterday",
            "2026-13-01",
            "99999999999999999999d ago",
        ] {
            assert_eq!(parse(text, NOW), None, "{text}");
        }
    }
}
