//! Trees that lead elsewhere: what is forged, and whether it must be refused.

use std::path::Path;

use super::choice::Choice;
use super::forge::{Forge, Id, Kind};
use super::hostile_names::{odd_names, spellings};

/// Hex digits of a staging directory that is a link to the decoy.
pub const STAGED: &str = "00112233445566aa";

/// The expected verdict of the program on a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Damaged: nothing of it is ever written.
    Refused,
    /// Damaged, but this shows only when its bytes are staged, and then all is removed again.
    Damaged,
    /// Legal: however odd, it is written below the root to the byte.
    Legal,
    /// Either, as long as it stays below the root.
    Open,
}

#[derive(Clone, Debug)]
pub enum Node {
    Blob(Vec<u8>),
    /// Entries, written in this order.
    Tree(Vec<Entry>),
    /// Arbitrary bytes stored as a tree.
    Raw(Vec<u8>),
    Missing,
}

#[derive(Clone, Debug)]
pub struct Entry {
    /// Mode in octal, as it is in the tree.
    pub mode: String,
    pub name: Vec<u8>,
    pub node: Node,
}

/// A checkpoint to be forged.
#[derive(Clone, Debug)]
pub struct Case {
    pub what: String,
    pub tree: Node,
    /// Lines of the meta blob.
    pub meta: Option<String>,
    /// Additional trailers.
    pub trailers: String,
    /// A journal without its sum, in which TARGET and SAFETY stand for the forged checkpoint and
    /// the first.
    pub journal: Option<String>,
    /// The path that a user would ask for.
    pub path: Vec<u8>,
    pub verdict: Verdict,
}

pub fn entry(mode: &str, name: impl Into<Vec<u8>>, node: Node) -> Entry {
    Entry {
        mode: mode.into(),
        name: name.into(),
        node,
    }
}

pub fn file(name: impl Into<Vec<u8>>) -> Entry {
    entry("100644", name, Node::Blob(b"planted".to_vec()))
}

pub fn link(name: impl Into<Vec<u8>>, to: impl Into<Vec<u8>>) -> Entry {
    entry("120000", name, Node::Blob(to.into()))
}

pub fn dir(name: impl Into<Vec<u8>>, mut below: Vec<Entry>) -> Entry {
    sort(&mut below);
    entry("40000", name, Node::Tree(below))
}

/// Sorts by git's order, in which a directory ends in a slash.
pub fn sort(entries: &mut [Entry]) {
    let key = |entry: &Entry| {
        [
            entry.name.as_slice(),
            if entry.mode == "40000" { b"/" } else { b"" },
        ]
        .concat()
    };
    entries.sort_by_key(key);
}

impl Case {
    pub fn new(
        what: impl Into<String>,
        entries: Vec<Entry>,
        path: impl Into<Vec<u8>>,
        verdict: Verdict,
    ) -> Self {
        let (what, path) = (what.into(), path.into());
        Self {
            what,
            tree: Node::Tree(entries),
            meta: None,
            trailers: String::new(),
            journal: None,
            path,
            verdict,
        }
    }

    /// The journal with its sum.
    pub fn journal(&self, target: &str, safety: &str) -> Option<String> {
        let text = self
            .journal
            .as_ref()?
            .replace("TARGET", target)
            .replace("SAFETY", safety);
        Some(format!(
            "{text}sum {:016x}\n",
            xxhash_rust::xxh3::xxh3_64(text.as_bytes())
        ))
    }

    /// Forges the objects of the case, and its commit.
    pub fn forge(&self, forge: &mut Forge, is_ours: bool) -> Id {
        let tree = self.tree.forge(forge);
        let meta = self.meta.as_ref();
        let meta = meta.map(|meta| forge.put(Kind::Blob, meta.as_bytes()));
        let meta = meta.map_or("none".to_owned(), |id| id.to_string());
        let who = "checkpoint <checkpoint@localhost> 1774353600 +0000";
        let trailers = format!(
            "Checkpoint-Format: 1\nSequence: 7\nTime-Ms: 1774353600000\nKind: {}\nCoverage: complete\nFiles: 1\nBytes: 7\n\
             Reason: tampered\nSource: cli\nMeta: {meta}\n{}",
            if self.trailers.is_empty() {
                "checkpoint"
            } else {
                "safety"
            },
            self.trailers,
        );
        let message = if is_ours {
            format!("tampered | x | cli\n\n{trailers}")
        } else {
            "by hand".to_owned()
        };
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}");
        forge.put(Kind::Commit, text.as_bytes())
    }
}

impl Node {
    fn forge(&self, forge: &mut Forge) -> Id {
        match self {
            Self::Blob(bytes) => forge.put(Kind::Blob, bytes),
            Self::Raw(bytes) => forge.put(Kind::Tree, bytes),
            Self::Missing => Id::from_bytes(&[0x5a; 20]).expect("twenty bytes"),
            Self::Tree(entries) => {
                let mut bytes = Vec::new();
                for Entry { mode, name, node } in entries {
                    let id = node.forge(forge);
                    bytes.extend([mode.as_bytes(), b" ", name, b"\0", id.as_bytes()].concat());
                }
                forge.put(Kind::Tree, &bytes)
            }
        }
    }
}

/// Cases with each forbidden or odd name once, in a drawn place.
pub fn each_name(decoy: &Path, choice: &mut Choice) -> Vec<Case> {
    let bad = spellings(decoy)
        .into_iter()
        .map(|name| (name, Verdict::Refused));
    let odd = odd_names().into_iter().map(|name| (name, Verdict::Legal));
    bad.chain(odd)
        .map(|(name, verdict)| placed(&name, verdict, decoy, choice))
        .collect()
}

/// A drawn case with one to three names.
pub fn drawn(decoy: &Path, choice: &mut Choice) -> Case {
    let (bad, odd) = (spellings(decoy), odd_names());
    let name = |choice: &mut Choice| match choice.below(2) {
        0 => (bad[choice.below(bad.len())].clone(), Verdict::Refused),
        _ => (odd[choice.below(odd.len())].clone(), Verdict::Legal),
    };
    let (first, verdict) = name(choice);
    let mut case = placed(&first, verdict, decoy, choice);
    let Node::Tree(entries) = &mut case.tree else {
        return case;
    };
    for _ in 0..choice.below(3) {
        let (name, verdict) = name(choice);
        let other = placed(&name, verdict, decoy, choice);
        let Node::Tree(more) = other.tree else {
            continue;
        };
        // Two legal trees that share a name are another case.
        if verdict == Verdict::Legal
            && more
                .iter()
                .any(|new| entries.iter().any(|old| old.name == new.name))
        {
            continue;
        }
        entries.extend(more);
        case.what = format!("{}; {}", case.what, other.what);
        case.verdict = if verdict == Verdict::Refused {
            verdict
        } else {
            case.verdict
        };
    }
    sort(entries);
    case
}

/// A case with the name below up to three directories, as file, link to the decoy, or directory.
fn placed(name: &[u8], verdict: Verdict, decoy: &Path, choice: &mut Choice) -> Case {
    let target = decoy.as_os_str().as_encoded_bytes();
    let (what, innermost) = match choice.below(6) {
        0 => ("a link", link(name, target)),
        1 => ("a directory", dir(name, vec![file("planted")])),
        2 => (
            "a directory with hooks",
            dir(name, vec![dir("hooks", vec![file("post-checkout")])]),
        ),
        3 => (
            "an executable",
            entry("100755", name, Node::Blob(b"#!/bin/sh\n".to_vec())),
        ),
        _ => ("a file", file(name)),
    };
    let mut path = name.to_vec();
    let mut entries = vec![innermost];
    let above = [
        &["d0", "in"][..],
        &["sub"],
        &["new", "er", "still"],
        &["out"],
        &[],
        &[],
    ][choice.below(6)];
    for holder in above.iter().rev() {
        path = [holder.as_bytes(), b"/", &path].concat();
        entries = vec![dir(*holder, entries)];
    }
    if !above.contains(&"out") && choice.below(3) == 0 {
        entries.push(link("beside", target));
        sort(&mut entries);
    }
    Case::new(
        format!("{what} '{}' below {}", name.escape_ascii(), above.join("/")),
        entries,
        path,
        verdict,
    )
}
