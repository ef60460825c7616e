//! Meta blobs: what is written is read back, and no line is read as anything but what it says.

use checkpoint::base::text::{percent_decode, percent_encode};
use checkpoint::model::state::entry::WhyNot;
use checkpoint::model::state::meta::{
    IgnoreFileAbove, Meta, RuleRecord, UsualModes, parse, render,
};
use checkpoint::model::state::snapshot::UncapturedEntry;

use super::draw::Draw;

const FIRST_LINE: &str = "checkpoint-meta 1\n";

pub fn check(data: &[u8]) {
    let framed = [FIRST_LINE.as_bytes(), data].concat();
    for bytes in [data, &framed] {
        let Ok(meta) = parse(bytes) else { continue };
        assert_eq!(parse(&render(&meta)).as_ref(), Ok(&meta));
        let text = std::str::from_utf8(bytes).expect("only text is a meta");
        text.strip_prefix(FIRST_LINE)
            .expect("it begins with its format")
            .lines()
            .for_each(means_what_it_says);
    }
    let drawn = meta(&mut Draw::new(data));
    assert_eq!(parse(&render(&drawn)), Ok(drawn));
}

/// Asserts that a line read alone is written unchanged, but for leading zeros and needless escapes.
fn means_what_it_says(line: &str) {
    let meta =
        parse(format!("{FIRST_LINE}{line}\n").as_bytes()).expect("each line stands for itself");
    let rendered = String::from_utf8(render(&meta)).expect("text");
    let facts: Vec<&str> = rendered
        .lines()
        .skip(if line.starts_with("usual ") { 1 } else { 2 })
        .collect();
    let words: Vec<String> = line.split(' ').map(plain).collect();
    assert_eq!(facts, [words.join(" ")], "{line:?}");
}

fn plain(word: &str) -> String {
    match word {
        "%2D" => word.to_owned(),
        _ if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) => {
            Some(word.trim_start_matches('0'))
                .filter(|rest| !rest.is_empty())
                .unwrap_or("0")
                .to_owned()
        }
        _ => percent_encode(&percent_decode(word).expect("every word is percent-encoded")),
    }
}

fn meta(draw: &mut Draw<'_>) -> Meta {
    Meta {
        usual: UsualModes {
            file: draw.perm(),
            executable: draw.perm(),
            directory: draw.perm(),
        },
        unusual: draw
            .several(|draw| (draw.path(), draw.perm()))
            .into_iter()
            .collect(),
        empty_dirs: draw.several(Draw::path).into_iter().collect(),
        uncaptured: draw
            .several(|draw| (draw.path(), uncaptured_entry(draw)))
            .into_iter()
            .collect(),
        rules: RuleRecord {
            store_list: draw.flag().then(|| draw.bytes().to_vec()),
            excludes: draw.several(Draw::text),
            sensitive_allow: draw.several(Draw::text),
            max_file_size_bytes: draw.flag().then(|| draw.number()),
            above: draw.several(|draw| IgnoreFileAbove {
                way: draw.bytes().to_vec(),
                text: draw.bytes().to_vec(),
            }),
        },
    }
}

/// An uncaptured entry as a checkpoint names it.
fn uncaptured_entry(draw: &mut Draw<'_>) -> UncapturedEntry {
    let mut words =
        "fifo socket device too-large reserved-name mount collision gitlink worktree cache \
        database git-dir"
            .split(' ');
    let plain = words.nth(draw.below(13)).and_then(|word| word.parse().ok());
    let why = plain.unwrap_or_else(|| WhyNot::Unreadable(draw.text()));
    UncapturedEntry {
        why,
        is_dir: draw.flag(),
    }
}
