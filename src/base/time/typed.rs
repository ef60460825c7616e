//! Parses the durations and times that users type: one grammar for all options and selectors.

use std::sync::atomic::Ordering;

use chrono::{
    DateTime, FixedOffset, Local, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeZone, Utc,
};

use super::{DAY_MS, IS_ZONE_IGNORED, MINUTE_MS, SECOND_MS};

/// Examples of durations, for messages.
pub const SPAN_FORMS: &str = "30m, 24h, 7d or 1h30m";
/// Examples of times in the past, for messages.
pub const PAST_FORMS: &str = "2h, '2h ago', yesterday, 15:40, 2026-03-24 or 2026-03-24T12:45";
/// Names and lengths of the units. A month has 30 days, a year 365.
const UNITS: [(&[&str], i64); 8] = [
    (&["ms"], 1),
    (&["s", "sec", "secs", "second", "seconds"], SECOND_MS),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE_MS),
    (&["h", "hr", "hrs", "hour", "hours"], 60 * MINUTE_MS),
    (&["d", "day", "days"], DAY_MS),
    (&["w", "week", "weeks"], 7 * DAY_MS),
    (&["mo", "month", "months"], 30 * DAY_MS),
    (&["y", "yr", "year", "years"], 365 * DAY_MS),
];

/// A typed time: all instants that it does not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedTime {
    pub start_ms: i64,
    pub length_ms: i64,
    /// The start of a time that has seconds, read as UTC unless it has a zone: as a checkpoint's
    /// time is printed.
    pub stamp_ms: Option<i64>,
}

impl TypedTime {
    fn instant(start_ms: i64) -> Self {
        Self {
            start_ms,
            length_ms: 1,
            stamp_ms: None,
        }
    }

    /// Returns its last millisecond.
    pub fn last_ms(self) -> i64 {
        self.start_ms + self.length_ms - 1
    }
}

/// Parses `2h ago`, `yesterday`, `15:40`, `2026-03-24`, `2026-03-24T12:45` and the like; local time
/// unless `Z`, `UTC` or an offset is given. `None` if it is no time.
pub fn parse_time(text: &str, now_ms: i64) -> Option<TypedTime> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(span) = text.strip_suffix("ago") {
        return Some(TypedTime::instant(now_ms.checked_sub(parse_span(span)?)?));
    }
    if text == "now" {
        return Some(TypedTime::instant(now_ms));
    }
    let (reading, zone) = split_zone(&text)?;
    let is_date = reading.starts_with(|c: char| c.is_ascii_digit());
    let parts = match reading.split_once(' ') {
        None if is_date => reading.split_once('t'),
        parts => parts,
    };
    let (day, clock) = match parts {
        Some((day, clock)) => (day, Some(clock.trim_start())),
        None if reading.contains(':') => ("today", Some(reading)),
        None => (reading, None),
    };
    let day = parse_day(day, clock.is_some(), zone, now_ms)?;
    let Some(clock) = clock else {
        let (start_ms, next_ms) = (zone.start_of(day)?, zone.start_of(day.succ_opt()?)?);
        return Some(TypedTime {
            start_ms,
            length_ms: next_ms - start_ms,
            stamp_ms: None,
        });
    };
    let (clock, length_ms) = parse_clock(clock)?;
    let naive = day.and_time(clock);
    let (start_ms, again_ms) = zone.instants(naive)?;
    let stamp = zone.or_utc().instants(naive);
    let stamp = stamp.filter(|_| length_ms <= SECOND_MS);
    Some(TypedTime {
        start_ms,
        length_ms: again_ms - start_ms + length_ms,
        stamp_ms: stamp.map(|(stamp_ms, _)| stamp_ms),
    })
}

/// As [`parse_time`]; a bare duration is that long ago.
pub fn parse_past(text: &str, now_ms: i64) -> Option<TypedTime> {
    parse_time(text, now_ms).or_else(|| {
        let start_ms = now_ms.checked_sub(parse_span(text)?)?;
        Some(TypedTime::instant(start_ms))
    })
}

/// Parses a duration such as `10m`, `90 s`, `1h30m`, `an hour` or `2 weeks`; returns milliseconds.
pub fn parse_span(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let (mut rest, mut total_ms) = (text.as_str(), 0_i64);
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, unit) = match rest.split_once(' ') {
            Some(("a" | "an" | "one", unit)) => (1, unit),
            _ => (rest[..digits].parse::<i64>().ok()?, &rest[digits..]),
        };
        let unit = unit.trim_start();
        let letters = unit.len()
            - unit
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let (name, after) = unit.split_at(letters);
        let (_, length_ms) = UNITS.iter().find(|(names, _)| names.contains(&name))?;
        total_ms = total_ms.checked_add(count.checked_mul(*length_ms)?)?;
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(total_ms);
        }
    }
}

/// The zone in which a typed time is read.
#[derive(Clone, Copy)]
enum Zone {
    Local,
    Fixed(FixedOffset),
}

impl Zone {
    /// The zone of times without one.
    fn unnamed() -> Self {
        if IS_ZONE_IGNORED.load(Ordering::Relaxed) {
            Self::Fixed(Utc.fix())
        } else {
            Self::Local
        }
    }

    /// As a checkpoint's time is printed: in UTC unless a zone is named.
    fn or_utc(self) -> Self {
        match self {
            Self::Local => Self::Fixed(Utc.fix()),
            named @ Self::Fixed(_) => named,
        }
    }

    /// Returns the first and the last instant at which clocks show this: an hour is shown twice
    /// when summer time ends. `None` for a skipped one.
    fn instants(self, naive: NaiveDateTime) -> Option<(i64, i64)> {
        match self {
            Self::Fixed(zone) => both(&zone, naive),
            Self::Local => both(&Local, naive),
        }
    }

    /// Returns the first instant of a day, which in some zones is not midnight.
    fn start_of(self, day: NaiveDate) -> Option<i64> {
        (0..4).find_map(|hour| Some(self.instants(day.and_hms_opt(hour, 0, 0)?)?.0))
    }

    fn day_of(self, time_ms: i64) -> Option<NaiveDate> {
        let time = DateTime::from_timestamp_millis(time_ms)?;
        Some(match self {
            Self::Fixed(zone) => time.with_timezone(&zone).date_naive(),
            Self::Local => time.with_timezone(&Local).date_naive(),
        })
    }
}

fn both(zone: &impl TimeZone, naive: NaiveDateTime) -> Option<(i64, i64)> {
    let one = zone.from_local_datetime(&naive).earliest()?;
    let other = zone.from_local_datetime(&naive).latest()?;
    let (one, other) = (one.timestamp_millis(), other.timestamp_millis());
    // They do not come in the order of time.
    Some((one.min(other), one.max(other)))
}

/// Splits off `z`, `utc` or an offset behind a clock time; `None` if the offset is none.
fn split_zone(text: &str) -> Option<(&str, Zone)> {
    let is_clock = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
    for name in ["utc", "gmt", "z"] {
        if let Some(reading) = text
            .strip_suffix(name)
            .map(str::trim_end)
            .filter(|t| is_clock(t))
        {
            return Some((reading, Zone::Fixed(Utc.fix())));
        }
    }
    let clock_at = text.find([':', 't']).filter(|_| text.contains(':'));
    let sign_at = text
        .rfind(['+', '-'])
        .filter(|at| clock_at.is_some_and(|clock| clock < *at));
    let Some(at) = sign_at else {
        return Some((text, Zone::unnamed()));
    };
    let (reading, offset) = text.split_at(at);
    let mut offset = offset.replacen(':', "", 1);
    if offset.len() == 3 {
        offset.push_str("00");
    }
    let is_offset = offset.len() == 5 && offset[1..].bytes().all(|byte| byte.is_ascii_digit());
    let zone = is_offset.then(|| offset.parse().ok())??;
    Some((reading.trim_end(), Zone::Fixed(zone)))
}

/// The form without dashes is a date only before a clock time: alone it may be an id.
fn parse_day(text: &str, has_clock: bool, zone: Zone, now_ms: i64) -> Option<NaiveDate> {
    let today = || zone.day_of(now_ms);
    let read = |form| NaiveDate::parse_from_str(text, form).ok();
    match text {
        "today" => today(),
        "yesterday" => today()?.pred_opt(),
        "tomorrow" => today()?.succ_opt(),
        _ if has_clock => read("%Y-%m-%d").or_else(|| read("%Y%m%d")),
        _ => read("%Y-%m-%d"),
    }
}

/// Parses a time of day; returns also how long it lasts, in milliseconds.
fn parse_clock(text: &str) -> Option<(NaiveTime, i64)> {
    [
        ("%H:%M", MINUTE_MS),
        ("%H:%M:%S", SECOND_MS),
        ("%H:%M:%S%.f", 1),
        ("%H%M%S", SECOND_MS),
    ]
    .iter()
    .find_map(|(form, length_ms)| Some((NaiveTime::parse_from_str(text, form).ok()?, *length_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_774_355_130_123; // 2026-03-24T12:25:30.123Z
    const TODAY: i64 = NOW - 44_730_123;

    #[test]
    fn every_unit_of_a_span_has_its_length() {
        for (names, length_ms) in UNITS {
            for name in names {
                for text in [
                    format!("3{name}"),
                    format!("3 {name}"),
                    format!(" 3 {} ", name.to_uppercase()),
                ] {
                    assert_eq!(parse_span(&text), Some(3 * length_ms), "{text}");
                }
            }
        }
        for (text, minutes) in [
            ("1h30m", 90),
            ("1 h 30 min", 90),
            ("an hour", 60),
            ("one day 2h", 1560),
            ("2 weeks", 20_160),
        ] {
            assert_eq!(parse_span(text), Some(minutes * MINUTE_MS), "{text}");
        }
        for text in "|3|h|-3 d|3 x|1h30|a|99999999999999999999d|9999999999999999d".split('|') {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_stands_for_all_that_it_does_not_say() {
        for (text, start_ms, length_ms) in [
            ("2026-03-24", TODAY, DAY_MS),
            ("today", TODAY, DAY_MS),
            ("Yesterday", TODAY - DAY_MS, DAY_MS),
            ("tomorrow 00:00", TODAY + DAY_MS, MINUTE_MS),
            ("2026-03-24 12:25", NOW - 30_123, MINUTE_MS),
            ("12:25", NOW - 30_123, MINUTE_MS),
            ("today 12:25:30", NOW - 123, SECOND_MS),
            ("yesterday  12:25", NOW - 30_123 - DAY_MS, MINUTE_MS),
            ("2026-03-24T12:25:30", NOW - 123, SECOND_MS),
            ("2026-03-24T12:25:30.123", NOW, 1),
            ("2026-03-24T12:25:30.123Z", NOW, 1),
            ("2026-03-24 12:25:30 UTC", NOW - 123, SECOND_MS),
            ("2026-03-24 07:25:30 -05:00", NOW - 123, SECOND_MS),
            ("2026-03-24T14:25+02:00", NOW - 30_123, MINUTE_MS),
            ("2026-03-24T14:25+0200", NOW - 30_123, MINUTE_MS),
            ("14:25+02", NOW - 30_123, MINUTE_MS),
            ("23:25 -13:00", NOW - 30_123, MINUTE_MS),
            ("20260324T122530Z", NOW - 123, SECOND_MS),
            ("10m ago", NOW - 600_000, 1),
            ("an hour ago", NOW - 3_600_000, 1),
            ("1 month ago", NOW - 30 * DAY_MS, 1),
            ("3 min ago", NOW - 180_000, 1),
            ("now", NOW, 1),
        ] {
            let read = parse_time(text, NOW).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (read.start_ms, read.length_ms),
                (start_ms, length_ms),
                "{text}"
            );
        }
        for text in "|ago|10 ago|m ago|2h|24:00|2026-13-01|2026-02-30|20260324|12:25 yesterday|\
            12:25+2|12:25+25|12:25+02:60|2026-03-24T|yesterday noon|t12:25|\
            99999999999999999999d ago|2026-03-24 12:25:30:7"
            .split('|')
        {
            assert_eq!(parse_time(text, NOW), None, "{text}");
        }
        assert_eq!(parse_past("2h", NOW), parse_time("2h ago", NOW));
        assert_eq!(parse_past("12:25", NOW), parse_time("12:25", NOW));
        assert_eq!(parse_past("nonsense", NOW), None);
    }

    #[test]
    fn only_a_time_with_seconds_is_a_stamp() {
        for (text, stamp_ms) in [
            ("2026-03-24 12:25:30", Some(NOW - 123)),
            ("2026-03-24T14:25:30+02:00", Some(NOW - 123)),
            ("2026-03-24T12:25:30.123Z", Some(NOW)),
            ("2026-03-24 12:25", None),
            ("2026-03-24", None),
            ("1 s ago", None),
        ] {
            assert_eq!(parse_time(text, NOW).unwrap().stamp_ms, stamp_ms, "{text}");
        }
    }
}
