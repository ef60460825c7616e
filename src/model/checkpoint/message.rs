//! The commit message of a checkpoint and its parser: `<reason> | <time> | <source>`, trailers. A commit
//! of plain git has any message, or that of the recipe, without trailers.

use crate::base::Malformed;
use crate::base::text::{escape, percent_decode, percent_encode};
use crate::base::time::utc_seconds;
use crate::model::checkpoint::limits::{self, LARGEST_SEQUENCE};
use crate::model::{
    CheckpointKind, CheckpointTerms, Coverage, Expiry, ObjectId, Operation, PathFilter, Provenance,
    Record, RelPath, Scope,
};

/// Trailer of a carrier: a commit that brought checkpoints to a remote, and is none itself.
pub const CARRIER_KEY: &str = "Carrier-Format";
/// Value of the trailer `Checkpoint-Format`; a larger one is read as far as it is understood.
pub const CHECKPOINT_FORMAT: u32 = 1;
/// Why one with a larger format is neither sent nor taken.
pub const MADE_BY_NEWER: &str = "was made by a newer program; update this one";

/// Value of the trailer `Class` of automatic checkpoints; all others have no such trailer.
const CLASS_AUTOMATIC: &str = "automatic";

const FIRST_TRAILER: &str = "Checkpoint-Format";

/// Renders the message of a checkpoint.
pub fn render(record: &Record, meta: Option<ObjectId>) -> String {
    let subject = format!(
        "{} | {} | {}",
        one_field(&record.reason),
        utc_seconds(record.time_ms),
        one_field(&record.source)
    );
    let text = |text: &str| percent_encode(text.as_bytes());
    let mut fields = vec![
        (FIRST_TRAILER, CHECKPOINT_FORMAT.to_string()),
        ("Sequence", record.sequence.to_string()),
        ("Time-Ms", record.time_ms.to_string()),
        ("Kind", record.kind.into_str().to_owned()),
        ("Coverage", record.coverage.into_str().to_owned()),
        ("Files", record.files.to_string()),
        ("Bytes", record.content_bytes.to_string()),
        ("Reason", text(&record.reason)),
        ("Source", text(&record.source)),
        ("Meta", meta.map_or("none".to_owned(), ObjectId::to_hex)),
    ];
    let each = |key, values: Vec<String>| values.into_iter().map(move |value| (key, value));
    let of_scope = |scope: &Option<Scope>| scope.as_ref().map(Scope::to_fields).unwrap_or_default();
    if let Some(operation) = &record.operation {
        fields.push(("Operation", operation.verb.into_str().to_owned()));
        fields.push(("Target", operation.target.to_hex()));
        let paths = operation.paths.iter();
        fields.extend(paths.map(|path| ("Path", percent_encode(path.as_bytes()))));
        fields.extend(each("Within", of_scope(&operation.within)));
        fields.extend(each("Filter", operation.filter.to_fields()));
    }
    let terms = &record.terms;
    fields.extend(each("Scope", of_scope(&terms.scope)));
    let checkpoint_type = terms
        .checkpoint_type
        .map(|found| found.into_str().to_owned());
    fields.extend(checkpoint_type.map(|value| ("Type", value)));
    fields.extend(terms.expiry.map(|expiry| ("Expires", expiry.to_field())));
    let class = terms
        .is_automatic
        .then(|| ("Class", CLASS_AUTOMATIC.to_owned()));
    fields.extend(class);
    fields.extend(
        record
            .during_pending
            .then(|| ("During-Pending", "yes".to_owned())),
    );
    let provenance = record.provenance.to_fields();
    fields.extend(provenance.map(|(key, value)| (key, text(value))));
    let lines = fields
        .iter()
        .map(|(key, value)| format!("{key}: {value}\n"));
    format!("{subject}\n\n{}", lines.collect::<String>())
}

/// Whether a commit message has our trailers, in any format.
pub fn is_ours(message: &str) -> bool {
    Trailers::of(message).value(FIRST_TRAILER).is_ok()
}

/// Returns the value of a trailer in the last paragraph of a message.
pub fn trailer<'m>(message: &'m str, key: &str) -> Option<&'m str> {
    Trailers::of(message).value(key).ok()
}

/// A message with our trailers, parsed.
pub struct Ours {
    /// The declared format, even if the rest is not understood.
    pub format: Option<u32>,
    /// As returned by [`parse`].
    pub record: Result<(Record, Option<ObjectId>), Malformed>,
}

/// Parses a message; `None` if it lacks our trailers.
pub fn read(message: &str) -> Option<Ours> {
    let trailers = Trailers::of(message);
    trailers.value(FIRST_TRAILER).ok()?;
    Some(Ours {
        format: trailers.number(FIRST_TRAILER).ok(),
        record: parse_trailers(&trailers),
    })
}

/// Parses the trailers in the last paragraph; the subject is ignored.
///
/// # Errors
/// Names a trailer that is missing or invalid.
pub fn parse(message: &str) -> Result<(Record, Option<ObjectId>), Malformed> {
    parse_trailers(&Trailers::of(message))
}

fn parse_trailers(trailers: &Trailers<'_>) -> Result<(Record, Option<ObjectId>), Malformed> {
    trailers.number::<u32>(FIRST_TRAILER)?;
    let meta = match trailers.value("Meta")? {
        "none" => None,
        hex => Some(ObjectId::from_hex(hex).ok_or("trailer Meta names no object")?),
    };
    let coverage = trailers.word("Coverage")?;
    let sequence = trailers.number("Sequence")?;
    if sequence > LARGEST_SEQUENCE {
        return Err("it has an absurd sequence number".into());
    }
    let record = Record {
        sequence,
        time_ms: trailers.number("Time-Ms")?,
        kind: trailers.word("Kind")?,
        coverage,
        files: trailers.number("Files")?,
        content_bytes: trailers.number("Bytes")?,
        reason: trailers.text("Reason")?,
        source: trailers.text("Source")?,
        operation: operation(trailers)?,
        during_pending: match trailers.all("During-Pending").next() {
            None => false,
            Some("yes") => true,
            Some(_) => return Err("trailer During-Pending is unknown".into()),
        },
        terms: terms(trailers, coverage)?,
        // Says nothing that the checkpoint needs, so a bad one counts as absent.
        provenance: Provenance::from_fields(|key| trailers.text(key).ok()),
    };
    Ok((record, meta))
}

fn operation(trailers: &Trailers) -> Result<Option<Operation>, Malformed> {
    if trailers.value("Operation").is_err() {
        return Ok(None);
    }
    let verb = trailers.word("Operation")?;
    let target =
        ObjectId::from_hex(trailers.value("Target")?).ok_or("trailer Target names no commit")?;
    let paths = trailers
        .all("Path")
        .map(decode_path)
        .collect::<Result<_, _>>()?;
    let within = trailers.scope("Within")?;
    let filter = PathFilter::from_fields(trailers.all("Filter"))
        .map_err(|why| format!("trailer Filter: {why}"))?;
    Ok(Some(Operation {
        verb,
        target,
        paths,
        within,
        filter,
    }))
}

fn terms(trailers: &Trailers, coverage: Coverage) -> Result<CheckpointTerms, Malformed> {
    let scope = trailers.scope("Scope")?;
    if scope.is_some() != (coverage == Coverage::Scoped) {
        return Err("trailers Coverage and Scope contradict each other".into());
    }
    let read = |key: &str| trailers.all(key).next();
    let checkpoint_type = read("Type").map(|_| trailers.word("Type")).transpose()?;
    let expiry = read("Expires")
        .map(|field| Expiry::from_field(field).ok_or("trailer Expires is unknown"))
        .transpose()?;
    Ok(CheckpointTerms {
        scope,
        checkpoint_type,
        expiry,
        is_automatic: read("Class") == Some(CLASS_AUTOMATIC),
    })
}

fn decode_path(encoded: &str) -> Result<RelPath, Malformed> {
    let bytes = percent_decode(encoded).ok_or("trailer Path is not percent-encoded")?;
    RelPath::new(&bytes).map_err(|why| format!("trailer Path: {why}").into())
}

struct Trailers<'m>(Vec<(&'m str, &'m str)>);

impl<'m> Trailers<'m> {
    fn of(message: &'m str) -> Self {
        let body = message.trim_end_matches('\n');
        let last = body
            .rsplit_once("\n\n")
            .map_or("", |(_, paragraph)| paragraph);
        let pair = |line: &'m str| {
            let (key, rest) = line.split_once(':')?;
            Some((key, rest.strip_prefix(' ')?))
        };
        Self(last.lines().filter_map(pair).collect())
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'m str> {
        self.0
            .iter()
            .filter(move |(found, _)| *found == key)
            .map(|(_, value)| *value)
    }

    fn value(&self, key: &str) -> Result<&'m str, Malformed> {
        self.all(key)
            .next()
            .ok_or_else(|| format!("trailer {key} is missing").into())
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> Result<N, Malformed> {
        self.value(key)?
            .parse()
            .map_err(|_| format!("trailer {key} is not a number").into())
    }

    /// Parses one of a set of words.
    fn word<W: std::str::FromStr>(&self, key: &str) -> Result<W, Malformed> {
        let word = self.value(key)?.parse();
        word.map_err(|_| format!("trailer {key} is unknown").into())
    }

    fn scope(&self, key: &str) -> Result<Option<Scope>, Malformed> {
        Scope::from_fields(self.all(key)).map_err(|why| format!("trailer {key}: {why}").into())
    }

    fn text(&self, key: &str) -> Result<String, Malformed> {
        let bytes = percent_decode(self.value(key)?)
            .ok_or_else(|| format!("trailer {key} is not percent-encoded"))?;
        String::from_utf8(bytes).map_err(|_| format!("trailer {key} is not UTF-8").into())
    }
}

/// Escapes free text so that it can neither end the line nor look like the separator.
fn one_field(text: &str) -> String {
    // At the ends too, since the separator adds a space.
    let shown = escape(text);
    shown
        .split(' ')
        .map(|word| if word == "|" { "\\|" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The source of a commit whose message does not name one.
const UNKNOWN_SOURCE: &str = "git";

/// Makes the record of a commit without our trailers; its file count is unknown.
pub fn of_plain_git(message: &str, seconds: i64, sequence: u64) -> Record {
    let subject = message.lines().next().unwrap_or_default().trim();
    let (reason, source) = parts(subject).unwrap_or((subject, UNKNOWN_SOURCE));
    let reason = if reason.is_empty() {
        "(no message)"
    } else {
        reason
    };
    Record {
        sequence,
        // Git takes times that no calendar has.
        time_ms: limits::bounded(seconds),
        kind: kind(reason, source),
        reason: reason.to_owned(),
        source: source.to_owned(),
        ..Record::default()
    }
}

/// Splits a subject into reason and source; the time between is ignored, as the commit has one.
fn parts(subject: &str) -> Option<(&str, &str)> {
    let (rest, source) = subject.rsplit_once(" | ")?;
    let (reason, _time) = rest.rsplit_once(" | ")?;
    Some((reason.trim(), source.trim()))
}

fn kind(reason: &str, source: &str) -> CheckpointKind {
    let safety = matches!(reason, "pre-restore-safety" | "pre-restore-safety-file")
        && source == "checkpoint";
    if safety {
        CheckpointKind::Safety
    } else {
        CheckpointKind::Regular
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;
    use crate::model::tests::{id, path, safety};
    use crate::model::{CheckpointKind, CheckpointType, Moment, ScopePart, Verb};

    const TABLES: &str = include_str!("tests/message.json");

    fn record() -> Record {
        let mut record = safety(7, Verb::Undo, 7).record;
        record.time_ms = 1_774_355_130_123;
        record.coverage = Coverage::Partial;
        (record.files, record.content_bytes, record.during_pending) = (3, 12, true);
        record.reason = "pre | wave\n\nSequence: 9\n\u{1b}[0m %41".to_owned();
        record.source = "b\u{fc}ild".to_owned();
        let operation = record.operation.as_mut().unwrap();
        operation.paths = vec![RelPath::new(b"a b/\xff\n").unwrap(), RelPath::root()];
        operation.within = Some(Scope::default());
        let logs = ScopePart::glob(b"*.log\n").unwrap();
        operation.filter.except = Some(Scope::new(vec![logs]));
        let text = |text: &str| Some(text.to_owned());
        record.provenance = Provenance {
            agent: text("an\nagent: x"),
            session: text("a b%"),
            prompt: text("#1\nTool: x"),
            tool: text("Bash"),
            tool_use: text("|"),
            agent_id: text("%"),
            event: Some(Moment::PreTool),
        };
        record
    }

    #[test]
    fn every_field_comes_back_whatever_the_free_text_holds() {
        let meta = Some(id(9));
        assert_eq!(parse(&render(&record(), meta)).unwrap(), (record(), meta));
        let mut plain = record();
        (plain.operation, plain.during_pending) = (None, false);
        let glob = ScopePart::glob(b"src/*.rs").unwrap();
        let parts = Scope::new(vec![ScopePart::path(path("a b")), glob]);
        let mut records = vec![plain.clone()];
        for (scope, expiry) in [(parts, Expiry::Never), (Scope::default(), Expiry::At(7))] {
            let mut scoped = plain.clone();
            scoped.coverage = Coverage::Scoped;
            scoped.terms = CheckpointTerms {
                scope: Some(scope),
                checkpoint_type: Some(CheckpointType::StateSnapshot),
                expiry: Some(expiry),
                is_automatic: true,
            };
            records.push(scoped);
        }
        for record in records {
            assert_eq!(parse(&render(&record, None)).unwrap(), (record, None));
        }
    }

    #[test]
    fn the_subject_is_one_line_with_two_separators() {
        let subject = |text: &str| {
            let mut record = record();
            (record.reason, record.source) = (text.to_owned(), text.to_owned());
            let message = render(&record, None);
            message.lines().next().unwrap().to_owned()
        };
        assert_eq!(subject("wave"), "wave | 2026-03-24 12:25:30 | wave");
        let own = record().reason;
        for hostile in [
            &*own,
            "|",
            "a | | b",
            "| a",
            "a |",
            " | ",
            "||",
            "a|b",
            "\u{2028}| ",
        ] {
            let subject = subject(hostile);
            let parts: Vec<&str> = subject.split(" | ").collect();
            let expected = (3, parts[2], "2026-03-24 12:25:30");
            assert_eq!((parts.len(), parts[0], parts[1]), expected, "{hostile}");
        }
    }

    #[test]
    fn a_message_is_ours_by_its_trailer_even_where_nothing_else_is_understood() {
        let ours = read(&render(&record(), None)).unwrap();
        let expected = (Some(CHECKPOINT_FORMAT), Ok((record(), None)));
        assert_eq!((ours.format, ours.record), expected);
        let newer = read("x\n\nCheckpoint-Format: 2\nSequence: many\n").unwrap();
        assert_eq!((newer.format, newer.record.is_err()), (Some(2), true));
        assert!(is_ours("x\n\nCheckpoint-Format: ?\n"));
        for other in [
            "fix a bug\n",
            "x\n\nCheckpoint-Format: 1\n\nmore",
            "Checkpoint-Format: 1",
        ] {
            assert!(!is_ours(other) && read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_message_of_another_program_is_refused_with_the_trailer_named() {
        let why = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(why("fix a bug\n"), "trailer Checkpoint-Format is missing");
        let whole = render(&record(), None);
        for (said, instead, expected) in rows::<(&str, &str, &str)>(TABLES, "broken") {
            assert_eq!(why(&whole.replace(said, instead)), expected);
        }
        let odd = whole.replace("Agent: an", "Agent: %zz");
        assert_eq!(parse(&odd).unwrap().0.provenance.agent, None);
    }

    #[test]
    fn the_recipes_message_gives_reason_source_and_kind() {
        for (message, reason, source) in rows::<(&str, &str, &str)>(TABLES, "recipe") {
            let record = of_plain_git(message, 7, 3);
            assert_eq!(
                (&*record.reason, &*record.source),
                (reason, source),
                "{message}"
            );
            assert_eq!((record.time_ms, record.sequence), (7000, 3));
            let is_safety = reason.starts_with("pre-restore-safety") && source == "checkpoint";
            assert_eq!(
                record.kind == CheckpointKind::Safety,
                is_safety,
                "{message}"
            );
        }
    }
}
