//! The text of a meta blob and its parser: one fact a line, paths and free text percent-encoded.

use std::fmt::Write as _;

use crate::base::Malformed;
use crate::base::text::{percent_decode, percent_encode};
use crate::model::state::meta::UsualModes;
use crate::model::state::rel_path::is_dot_git;
use crate::model::{IgnoreFileAbove, Meta, RelPath, UncapturedEntry, WhyNot};

const META_FIRST_LINE: &str = "checkpoint-meta 1";

/// Renders a meta blob. Equal metas give equal bytes.
pub fn render(meta: &Meta) -> Vec<u8> {
    let UsualModes {
        file,
        executable,
        directory,
    } = meta.usual;
    let mut text = format!("{META_FIRST_LINE}\nusual {file:o} {executable:o} {directory:o}\n");
    for (path, perm) in &meta.unusual {
        let _ = writeln!(text, "mode {perm:o} {}", encode(path));
    }
    for path in &meta.empty_dirs {
        let _ = writeln!(text, "empty {}", encode(path));
    }
    for (path, entry) in &meta.uncaptured {
        let kind = if entry.is_dir { "d" } else { "f" };
        let _ = writeln!(
            text,
            "uncaptured {} {kind} {} {}",
            entry.why.into_str(),
            detail(&entry.why),
            encode(path)
        );
    }
    render_rules(meta, &mut text);
    text.into_bytes()
}

fn render_rules(meta: &Meta, text: &mut String) {
    if let Some(list) = &meta.rules.store_list {
        let _ = writeln!(text, "store-list {}", percent_encode(list));
    }
    for pattern in &meta.rules.excludes {
        let _ = writeln!(text, "exclude {}", percent_encode(pattern.as_bytes()));
    }
    for pattern in &meta.rules.sensitive_allow {
        let _ = writeln!(
            text,
            "sensitive-allow {}",
            percent_encode(pattern.as_bytes())
        );
    }
    if let Some(limit) = meta.rules.max_file_size_bytes {
        let _ = writeln!(text, "max-file-size {limit}");
    }
    for IgnoreFileAbove { way, text: rules } in &meta.rules.above {
        let (way, rules) = (percent_encode(way), percent_encode(rules));
        let _ = writeln!(text, "above {way} {rules}");
    }
}

/// Parses a meta blob.
///
/// # Errors
/// Any line that is not understood, as a half-read meta could let a restore delete too much; also
/// any path in a `.git`, in whatever spelling.
pub fn parse(bytes: &[u8]) -> Result<Meta, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the meta is not text")?;
    let mut lines = text
        .strip_suffix('\n')
        .ok_or("the meta is cut short")?
        .split('\n');
    if lines.next() != Some(META_FIRST_LINE) {
        return Err("the meta does not begin with its format".into());
    }
    let mut meta = Meta::default();
    lines.try_for_each(|line| {
        take_line(&mut meta, line).ok_or_else(|| format!("bad line in the meta: {line}"))
    })?;
    Ok(meta)
}

fn take_line(meta: &mut Meta, line: &str) -> Option<()> {
    let (key, rest) = line.split_once(' ')?;
    match key {
        "usual" => meta.usual = parse_usual(rest)?,
        "mode" => {
            let (perm, path) = rest.split_once(' ')?;
            meta.unusual.insert(decode_ours(path)?, parse_perm(perm)?);
        }
        "empty" => {
            meta.empty_dirs.insert(decode_ours(rest)?);
        }
        "uncaptured" => {
            let mut words = rest.splitn(4, ' ');
            let (word, kind, why) = (words.next()?, words.next()?, words.next()?);
            let entry = UncapturedEntry {
                why: parse_why(word, why)?,
                is_dir: parse_is_dir(kind)?,
            };
            let path = decode(words.next()?)?;
            // The uncaptured path itself may have such a name, but its parents are directories that
            // a restore makes.
            path.ancestors()
                .all(|above| is_ours(&above))
                .then_some(())?;
            meta.uncaptured.insert(path, entry);
        }
        "store-list" => meta.rules.store_list = Some(unescaped(rest)?),
        "exclude" => meta.rules.excludes.push(decode_text(rest)?),
        "sensitive-allow" => meta.rules.sensitive_allow.push(decode_text(rest)?),
        "max-file-size" => meta.rules.max_file_size_bytes = Some(unsigned(rest)?.parse().ok()?),
        "above" => {
            let (way, text) = rest.split_once(' ')?;
            let (way, text) = (unescaped(way)?, unescaped(text)?);
            meta.rules.above.push(IgnoreFileAbove { way, text });
        }
        _ => return None,
    }
    Some(())
}

fn parse_usual(rest: &str) -> Option<UsualModes> {
    let mut words = rest.splitn(3, ' ').map(parse_perm);
    Some(UsualModes {
        file: words.next()??,
        executable: words.next()??,
        directory: words.next()??,
    })
}

fn parse_perm(octal: &str) -> Option<u32> {
    u32::from_str_radix(unsigned(octal)?, 8)
        .ok()
        .filter(|perm| *perm <= 0o7777)
}

/// Refuses a sign, which the standard parser would accept.
fn unsigned(number: &str) -> Option<&str> {
    (!number.starts_with('+')).then_some(number)
}

fn parse_is_dir(kind: &str) -> Option<bool> {
    match kind {
        "d" => Some(true),
        "f" => Some(false),
        _ => None,
    }
}

fn parse_why(word: &str, detail: &str) -> Option<WhyNot> {
    let text = if detail == "-" {
        String::new()
    } else {
        decode_text(detail)?
    };
    match word.parse().ok().filter(WhyNot::is_recorded)? {
        WhyNot::Unreadable(_) => Some(WhyNot::Unreadable(text)),
        why => text.is_empty().then_some(why),
    }
}

/// Renders the text of a reason: a dash if there is none; a text that is just a dash is escaped.
fn detail(why: &WhyNot) -> String {
    match why {
        WhyNot::Unreadable(text) if text == "-" => "%2D".to_owned(),
        WhyNot::Unreadable(text) if !text.is_empty() => percent_encode(text.as_bytes()),
        _ => "-".to_owned(),
    }
}

/// Encodes a path as one word; the root is a dot.
fn encode(path: &RelPath) -> String {
    if path.is_root() {
        ".".to_owned()
    } else {
        percent_encode(path.as_bytes())
    }
}

fn decode(word: &str) -> Option<RelPath> {
    if word == "." {
        return Some(RelPath::root());
    }
    RelPath::new(&unescaped(word)?).ok()
}

/// Decodes a path that a restore may make or change.
fn decode_ours(word: &str) -> Option<RelPath> {
    decode(word).filter(is_ours)
}

fn is_ours(path: &RelPath) -> bool {
    !path.components().any(is_dot_git)
}

fn decode_text(word: &str) -> Option<String> {
    String::from_utf8(unescaped(word)?).ok()
}

/// Decodes one word; refuses spaces and other line ends, which [`render`] never writes.
fn unescaped(word: &str) -> Option<Vec<u8>> {
    word.bytes()
        .all(|b| b.is_ascii_graphic())
        .then(|| percent_decode(word))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Meta {
        let path = |bytes: &[u8]| RelPath::new(bytes).unwrap();
        let mut meta = Meta {
            usual: UsualModes {
                file: 0o664,
                executable: 0o775,
                directory: 0o2775,
            },
            ..Meta::default()
        };
        meta.unusual.insert(path(b"a b\n/\xff"), 0o4755);
        meta.unusual.insert(RelPath::root(), 0o700);
        meta.empty_dirs.insert(path(b"."[..0].as_ref()));
        meta.empty_dirs.insert(path(b"d/e"));
        let entry = |why| UncapturedEntry { why, is_dir: false };
        meta.uncaptured.insert(path(b"p"), entry(WhyNot::Fifo));
        meta.uncaptured
            .insert(path(b"d/.GIT"), entry(WhyNot::ReservedName));
        meta.uncaptured.insert(
            path(b"u"),
            UncapturedEntry {
                why: WhyNot::Unreadable("Permission denied".into()),
                is_dir: true,
            },
        );
        meta.rules.store_list = Some(b"x/\n!y\n".to_vec());
        meta.rules.excludes = vec!["*.iso".into(), "a b".into()];
        meta.rules.sensitive_allow = vec![".env".into()];
        meta.rules.max_file_size_bytes = Some(1 << 40);
        let (way, text) = (b"packages/a b".to_vec(), b"x/\n!y\n".to_vec());
        meta.rules.above.push(IgnoreFileAbove { way, text });
        meta
    }

    #[test]
    fn a_meta_comes_back_whole() {
        assert_eq!(parse(&render(&full())).unwrap(), full());
        assert_eq!(parse(&render(&Meta::default())).unwrap(), Meta::default());
    }

    #[test]
    fn every_reason_for_not_capturing_comes_back_with_its_text() {
        let plain = [
            WhyNot::Fifo,
            WhyNot::Socket,
            WhyNot::Device,
            WhyNot::TooLarge,
            WhyNot::ReservedName,
            WhyNot::Mount,
            WhyNot::Collision,
            WhyNot::Gitlink,
            WhyNot::Database,
            WhyNot::Worktree,
            WhyNot::GitDir,
            WhyNot::Cache,
        ];
        let texts = ["", "-", "--", "%2D", "a b\n"].map(|text| WhyNot::Unreadable(text.to_owned()));
        for why in plain.into_iter().chain(texts) {
            for is_dir in [false, true] {
                let uncaptured = [(
                    RelPath::root(),
                    UncapturedEntry {
                        why: why.clone(),
                        is_dir,
                    },
                )]
                .into();
                let meta = Meta {
                    uncaptured,
                    ..Meta::default()
                };
                assert!(
                    !render(&meta).windows(2).any(|pair| pair == b"  "),
                    "each fact has a word: {meta:?}"
                );
                assert_eq!(parse(&render(&meta)), Ok(meta));
            }
        }
    }

    #[test]
    fn a_meta_that_is_not_understood_is_refused() {
        for bad in [
            "",
            "checkpoint-meta 2\n",
            "checkpoint-meta 1\nfuture 1\n",
            "checkpoint-meta 1\nmode 99999 a\n",
            "checkpoint-meta 1\nempty ../x\n",
            "checkpoint-meta 1\nempty .git\n",
            "checkpoint-meta 1\nempty d/.GIT/x\n",
            "checkpoint-meta 1\nmode 777 git~1\n",
            "checkpoint-meta 1\nuncaptured fifo f - .git/x\n",
            "checkpoint-meta 1\n\n",
            "checkpoint-meta 1\nempty a",
            "checkpoint-meta 1\nempty a\r\n",
            "checkpoint-meta 1\nempty a b\n",
            "checkpoint-meta 1\nexclude *.iso exclude *.o\n",
            "checkpoint-meta 1\nempty %+4\n",
            "checkpoint-meta 1\nmode +644 a\n",
            "checkpoint-meta 1\nusual 644 755\n",
            "checkpoint-meta 1\nusual 644 755 755 700\n",
            "checkpoint-meta 1\nmax-file-size +7\n",
            "checkpoint-meta 1\nabove a\n",
            "checkpoint-meta 1\nabove a b c\n",
            "checkpoint-meta 1\nuncaptured fifo x - p\n",
            "checkpoint-meta 1\nuncaptured fifo f text p\n",
            "checkpoint-meta 1\nuncaptured nothing f - p\n",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let whole = render(&full());
        for end in 0..whole.len() {
            assert_ne!(parse(&whole[..end]), Ok(full()), "cut at {end}");
            assert!(
                whole[..end].ends_with(b"\n") || parse(&whole[..end]).is_err(),
                "cut within a line at {end}"
            );
        }
    }
}
