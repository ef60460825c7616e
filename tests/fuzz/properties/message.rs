//! Commit messages and commits: what is written is read back, and what is read means the same when
//! written again.

use checkpoint::model::checkpoint::limits::LARGEST_SEQUENCE;
use checkpoint::model::checkpoint::message::{self, parse, render};
use checkpoint::store::refs::commit_codec;

use super::draw::Draw;

pub fn check(data: &[u8]) {
    read(data);
    written(data);
}

fn read(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parsed = parse(&text);
    let ours = message::read(&text);
    assert_eq!(ours.is_some(), message::is_ours(&text));
    assert!(
        ours.is_some() || parsed.is_err(),
        "read as ours without a trailer of ours"
    );
    if let Some(ours) = ours {
        assert_eq!(ours.record, parsed);
    }
    if let Ok((record, meta)) = parsed {
        assert!(
            text.contains("During-Pending: yes") || !record.during_pending,
            "pending by another word"
        );
        assert_eq!(parse(&render(&record, meta)), Ok((record, meta)));
    }
    assert!(!message::of_plain_git(&text, i64::MAX, 1).reason.is_empty());
    if let Ok(parts) = commit_codec::parse(data) {
        let again = commit_codec::encode(parts.tree, parts.seconds, &parts.message);
        assert_eq!(
            commit_codec::parse(&again),
            Ok(commit_codec::CommitParts {
                parents: Vec::new(),
                ..parts
            })
        );
    }
}

fn written(data: &[u8]) {
    let mut draw = Draw::new(data);
    let meta = draw.flag().then(|| draw.id());
    // None is ever made with a larger number.
    let mut record = draw.record();
    record.sequence = record.sequence.min(LARGEST_SEQUENCE);
    let text = render(&record, meta);
    assert_eq!(
        text.lines().next().expect("a subject").split(" | ").count(),
        3,
        "{text}"
    );
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
    let commit = commit_codec::encode(draw.id(), draw.number().cast_signed(), &text);
    assert_eq!(
        commit_codec::parse(&commit)
            .expect("our own commit")
            .message,
        text
    );
    assert_eq!(parse(&text), Ok((record, meta)));
}
