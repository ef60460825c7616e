//! Files are read while they do not change, or flagged if they never stop changing.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use checkpoint::error::{self, Code, Error};
use checkpoint::model::state::entry::{Kind, ListedFile, STREAM_FROM_BYTES, Stat, WhyNot};
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::worktree::scan::read::{BlobSink, ReadOutcome, SinkError, read_file};
use checkpoint::worktree::tree_handle::WorkTree;

use crate::bench::skipped;

/// Upper bound on the reads of a file that keeps changing.
const TRIES: usize = 3;

/// Collects what it is given, and does something to the file after the first bytes of each try.
struct Sink<'a> {
    got: Vec<Vec<u8>>,
    streamed: usize,
    meanwhile: RefCell<Box<dyn FnMut() + 'a>>,
    answer: Option<SinkError>,
}

impl<'a> Sink<'a> {
    fn new(meanwhile: impl FnMut() + 'a) -> Self {
        Self {
            got: Vec::new(),
            streamed: 0,
            meanwhile: RefCell::new(Box::new(meanwhile)),
            answer: None,
        }
    }
}

impl BlobSink for Sink<'_> {
    fn blob(&mut self, bytes: &[u8]) -> Result<ObjectId, SinkError> {
        self.got.push(bytes.to_vec());
        self.answer.take().map_or(Ok(some_id()), Err)
    }

    fn blob_stream(&mut self, len: u64, reader: &mut dyn Read) -> Result<ObjectId, SinkError> {
        self.streamed += 1;
        let mut bytes = vec![0; 4096];
        reader.read_exact(&mut bytes).map_err(failed)?;
        (self.meanwhile.borrow_mut())();
        let mut rest = vec![0; usize::try_from(len).unwrap() - bytes.len()];
        reader.read_exact(&mut rest).map_err(failed)?;
        bytes.extend(rest);
        self.got.push(bytes);
        Ok(some_id())
    }
}

fn failed(source: io::Error) -> SinkError {
    SinkError::Failed(Error::io("read", &PathBuf::new())(source))
}

fn some_id() -> ObjectId {
    ObjectId::from_hex("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap()
}

fn read(root: &Path, name: &str, kind: Kind, sink: &mut Sink<'_>) -> error::Result<ReadOutcome> {
    read_in(root, "", name, kind, sink)
}

/// Reads a file that is captured; returns its kind, its size, and whether it never stopped changing.
fn captured(root: &Path, name: &str, kind: Kind, sink: &mut Sink<'_>) -> (Kind, u64, bool) {
    match read(root, name, kind, sink).unwrap() {
        ReadOutcome::Captured {
            kind, stat, racy, ..
        } => (kind, stat.size_bytes, racy),
        other => panic!("{other:?}"),
    }
}

/// Makes a file so large that it is streamed, with `more` bytes behind.
fn large(at: &Path, more: u64) {
    let file = fs::File::create(at).unwrap();
    file.set_len(STREAM_FROM_BYTES + more).unwrap();
}

fn read_in(
    root: &Path,
    dir: &str,
    name: &str,
    kind: Kind,
    sink: &mut Sink<'_>,
) -> error::Result<ReadOutcome> {
    let work = WorkTree::open(root).unwrap();
    let file = ListedFile {
        name: name.as_bytes().into(),
        kind,
        stat: Stat::default(),
        id: None,
        racy: false,
    };
    let dir = RelPath::new(dir.as_bytes()).unwrap();
    read_file(&work, &dir, name.as_bytes(), &file, sink)
}

#[test]
fn a_file_and_a_link_are_read_as_they_stand() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("f"), "bytes\r\n").unwrap();
    crate::bench::os::symlink("f", temp.path().join("l")).unwrap();
    let mut sink = Sink::new(|| {});
    for (name, kind) in [
        ("f", Kind::File),
        ("l", Kind::Symlink),
        ("l", Kind::File),
        ("f", Kind::Symlink),
    ] {
        let (kind, _, racy) = captured(temp.path(), name, kind, &mut sink);
        assert_eq!((kind == Kind::Symlink, racy), (name == "l", false));
    }
    let expected = ["bytes\r\n", "f", "f", "bytes\r\n"].map(|text| text.as_bytes().to_vec());
    assert_eq!(sink.got, expected);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_any_more_is_told_and_nothing_waits() {
    let temp = tempfile::tempdir().unwrap();
    crate::bench::fixtures::fifo(&temp.path().join("fifo"));
    fs::create_dir(temp.path().join("dir")).unwrap();
    let mut sink = Sink::new(|| {});
    for kind in [Kind::File, Kind::Symlink] {
        for name in ["fifo", "dir"] {
            let outcome = read(temp.path(), name, kind, &mut sink).unwrap();
            assert!(matches!(outcome, ReadOutcome::NotAFile), "{name}");
        }
        let outcome = read(temp.path(), "none", kind, &mut sink).unwrap();
        assert!(matches!(outcome, ReadOutcome::Vanished));
    }
}

#[test]
fn a_directory_that_became_a_symlink_is_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("real")).unwrap();
    fs::write(temp.path().join("real/f"), "x").unwrap();
    crate::bench::os::symlink("real", temp.path().join("d")).unwrap();
    let outcome = read_in(temp.path(), "d", "f", Kind::File, &mut Sink::new(|| {}));
    assert!(matches!(outcome.unwrap(), ReadOutcome::Vanished));
}

#[test]
fn a_large_file_is_streamed_and_read_again_when_it_changes() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path().join("large");
    large(&at, 0);
    let append = || {
        let mut file = fs::File::options().append(true).open(&at).unwrap();
        file.write_all(b"more").unwrap();
    };
    let mut left = 1;
    let mut sink = Sink::new(|| {
        if left > 0 {
            left -= 1;
            append();
        }
    });
    let (_, size_bytes, racy) = captured(temp.path(), "large", Kind::File, &mut sink);
    assert_eq!((size_bytes, racy), (STREAM_FROM_BYTES + 4, false));
    assert_eq!(sink.streamed, 2);
    let mut sink = Sink::new(append);
    let (_, size_bytes, racy) = captured(temp.path(), "large", Kind::File, &mut sink);
    let last = sink.got.last().unwrap().len() as u64;
    assert_eq!((size_bytes, racy), (last, true));
    assert_eq!(sink.streamed, TRIES);
}

#[test]
fn a_large_file_that_shrinks_is_read_again() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path().join("large");
    large(&at, 4096);
    let shrink = || {
        let file = fs::File::options().write(true).open(&at).unwrap();
        file.set_len(STREAM_FROM_BYTES).unwrap();
    };
    captured(temp.path(), "large", Kind::File, &mut Sink::new(shrink));
}

#[test]
fn the_answer_of_the_sink_is_passed_on() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("f"), "x").unwrap();
    let mut sink = Sink::new(|| {});
    sink.answer = Some(SinkError::Refused(WhyNot::Collision));
    let outcome = read(temp.path(), "f", Kind::File, &mut sink).unwrap();
    assert!(matches!(outcome, ReadOutcome::Refused(WhyNot::Collision)));
    sink.answer = Some(SinkError::Failed(Error::no_base(None)));
    let failed = read(temp.path(), "f", Kind::File, &mut sink);
    assert!(failed.is_err_and(|error| error.code == Code::NO_BASE));
}

#[test]
fn a_file_that_may_not_be_read_is_told_with_the_reason() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path().join("f");
    fs::write(&at, "x").unwrap();
    crate::bench::os::set_mode(&at, 0o000).unwrap();
    if fs::read(&at).is_ok() {
        return skipped("needs an ordinary user: root reads everything");
    }
    match read(temp.path(), "f", Kind::File, &mut Sink::new(|| {})).unwrap() {
        ReadOutcome::Unreadable(why) => assert_eq!(why, "permission denied"),
        other => panic!("{other:?}"),
    }
}
