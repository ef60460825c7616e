//! Values of the model, as the tests of the library need them: in few words.

use crate::model::{
    Checkpoint, CheckpointKind, Entry, Kind, ListedDir, ListedFile, ListedUncaptured, Listing,
    ObjectId, Operation, PathFilter, Record, RelPath, Snapshot, Stat, UncapturedEntry, Verb,
    WhyNot,
};

pub fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).expect("a path")
}

pub fn id(byte: u8) -> ObjectId {
    ObjectId::from_bytes([byte; 20])
}

pub fn file(content: u8, perm: u32) -> Entry {
    Entry {
        kind: Kind::File,
        perm,
        id: id(content),
        size_bytes: 1,
    }
}

/// The checkpoint with this number in its line.
pub fn checkpoint(number: u8) -> Checkpoint {
    let record = Record {
        sequence: number.into(),
        ..Record::default()
    };
    Checkpoint {
        id: id(number),
        record,
        ..Checkpoint::default()
    }
}

/// The safety checkpoint with this number, made before an operation.
pub fn safety(number: u8, verb: Verb, target: u8) -> Checkpoint {
    let mut made = checkpoint(number);
    made.record.kind = CheckpointKind::Safety;
    made.record.operation = Some(Operation {
        verb,
        target: id(target),
        paths: Vec::new(),
        within: None,
        filter: PathFilter::default(),
    });
    made
}

/// Makes a state of words: `a` is a file, `a=2` one of another content, `a:600` one of other bits,
/// `l@` a symlink, `d/` and `d/:700` directories, `p!fifo` and `m/!mount` what was not captured.
/// Directories above are there too.
pub fn snapshot(words: &str) -> Snapshot {
    let mut state = Snapshot::default();
    state.dirs.insert(RelPath::root(), 0o755);
    for word in words.split_whitespace() {
        let (name, why) = word.split_once('!').unwrap_or((word, ""));
        let (name, perm) = name.split_once(':').unwrap_or((name, ""));
        let (name, content) = name.split_once('=').unwrap_or((name, "1"));
        let (plain, is_link) = (name.trim_end_matches(['/', '@']), name.ends_with('@'));
        let (at, is_dir) = (path(plain), name.ends_with('/'));
        let perm = u32::from_str_radix(perm, 8).ok();
        for above in at.ancestors() {
            state.dirs.entry(above).or_insert(0o755);
        }
        if let Ok(why) = why.parse::<WhyNot>() {
            state.uncaptured.insert(at, UncapturedEntry { why, is_dir });
        } else if is_dir {
            state.dirs.insert(at, perm.unwrap_or(0o755));
        } else if is_link {
            let kind = Kind::Symlink;
            let link = Entry {
                kind,
                ..file(1, 0o777)
            };
            state.files.insert(at, link);
        } else {
            let content = content.parse().expect("a number");
            state.files.insert(at, file(content, perm.unwrap_or(0o644)));
        }
    }
    state
}

/// The same as a scan lists it.
pub fn listing(words: &str) -> Listing {
    let state = snapshot(words);
    let stat = |mode, size_bytes| Stat {
        mode,
        size_bytes,
        ..Stat::default()
    };
    let mut listing = Listing::of_empty_root(stat(0o755, 0), 0);
    let above = |listing: &Listing, at: &RelPath| {
        let parent = at.parent().expect("it is below the root");
        listing.index_of(&parent).expect("it is listed")
    };
    for (at, perm) in state.dirs.iter().filter(|(at, _)| !at.is_root()) {
        let (parent, new) = (above(&listing, at), listing.dirs.len());
        let dir = ListedDir::empty(parent, at.name().into(), stat(*perm, 0));
        listing.dirs.push(dir);
        listing.add_children(parent, [new]);
    }
    for (at, entry) in state.files {
        let dir = above(&listing, &at);
        listing.dirs[dir].files.make_listed().push(ListedFile {
            name: at.name().into(),
            kind: entry.kind,
            stat: stat(entry.perm, entry.size_bytes),
            id: Some(entry.id),
            racy: false,
        });
    }
    for (at, UncapturedEntry { why, is_dir }) in state.uncaptured {
        let (dir, name) = (above(&listing, &at), at.name().into());
        let item = ListedUncaptured { name, why, is_dir };
        listing.dirs[dir].uncaptured.push(item);
    }
    listing
}
