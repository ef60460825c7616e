//! An exact picture of a directory: every path as bytes with its kind, content, link text and
//! permission bits.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::os;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File {
        digest: [u8; 32],
        size_bytes: u64,
    },
    Symlink(Vec<u8>),
    Dir,
    Fifo,
    Socket,
    Device,
    /// Anything called `.git`, not looked into: it belongs to the project.
    DotGit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    /// The twelve permission bits; zero for a symlink, which has none of its own.
    pub mode: u32,
}

impl Node {
    pub fn is_dir(&self) -> bool {
        self.kind == Kind::Dir
    }

    /// Whether no checkpoint can hold it: FIFOs, sockets, devices, and a `.git`.
    pub fn is_special(&self) -> bool {
        matches!(
            self.kind,
            Kind::Fifo | Kind::Socket | Kind::Device | Kind::DotGit
        )
    }
}

/// Paths are relative, separated by `/`; the root itself is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub nodes: BTreeMap<Vec<u8>, Node>,
}

impl Tree {
    pub fn capture(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(root, &[]);
        tree
    }

    fn add(&mut self, path: &Path, relative: &[u8]) {
        let meta = fs::symlink_metadata(path)
            .unwrap_or_else(|error| panic!("cannot stat {}: {error}", path.display()));
        let node = if path.file_name() == Some(OsStr::new(".git")) && !relative.is_empty() {
            Node {
                kind: Kind::DotGit,
                mode: 0,
            }
        } else {
            node_of(path, &meta)
        };
        let is_dir = node.is_dir();
        self.nodes.insert(relative.to_owned(), node);
        if is_dir {
            for entry in fs::read_dir(path)
                .unwrap_or_else(|error| panic!("cannot list {}: {error}", path.display()))
            {
                let entry = entry.expect("a directory entry can be read");
                let mut below = relative.to_owned();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(&os::bytes_of(&entry.file_name()));
                self.add(&entry.path(), &below);
            }
        }
    }

    /// The same picture without the paths that `out` accepts, and all below them.
    pub fn without(&self, out: impl Fn(&[u8]) -> bool) -> Self {
        let hidden = |path: &[u8]| ancestors_and_self(path).any(&out);
        let nodes = self
            .nodes
            .iter()
            .filter(|(path, _)| !hidden(path))
            .map(|(p, n)| (p.clone(), n.clone()))
            .collect();
        Self { nodes }
    }

    /// The same picture without anything called `.git`.
    pub fn without_dot_git(&self) -> Self {
        self.without(|path| path == b".git" || path.ends_with(b"/.git"))
    }

    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path.as_bytes())
    }

    /// Every difference on its own line; empty when both are equal.
    pub fn diff(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, node) in &self.nodes {
            match other.nodes.get(path) {
                None => lines.push(format!("- {} {}", shown(path), describe(node))),
                Some(there) if there != node => {
                    lines.push(format!(
                        "~ {} {} -> {}",
                        shown(path),
                        describe(node),
                        describe(there)
                    ));
                }
                Some(_) => {}
            }
        }
        for (path, node) in other
            .nodes
            .iter()
            .filter(|(path, _)| !self.nodes.contains_key(*path))
        {
            lines.push(format!("+ {} {}", shown(path), describe(node)));
        }
        lines
    }

    /// Fails with the list of differences from `expected`.
    #[track_caller]
    pub fn assert_is(&self, expected: &Self, when: &str) {
        let lines = expected.diff(self);
        assert!(
            lines.is_empty(),
            "{when}: {} differences from what was expected\n{}",
            lines.len(),
            lines.join("\n")
        );
    }
}

/// The path itself and every directory above it, the root left out.
pub fn ancestors_and_self(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| at);
    ends.chain((!path.is_empty()).then_some(path.len()))
        .map(|end| &path[..end])
}

/// Whether `path` is `top` or lies below it.
pub fn at_or_below(path: &[u8], top: &[u8]) -> bool {
    top.is_empty() || path == top || (path.starts_with(top) && path.get(top.len()) == Some(&b'/'))
}

pub fn shown(path: &[u8]) -> String {
    if path.is_empty() {
        "(root)".to_owned()
    } else {
        path.escape_ascii().to_string()
    }
}

fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::File { digest, size_bytes } => {
            format!(
                "file {:04o} {size_bytes} B {}",
                node.mode,
                hex::encode(&digest[..4])
            )
        }
        Kind::Symlink(target) => format!("link to {}", target.escape_ascii()),
        other => format!("{other:?} {:04o}", node.mode),
    }
}

fn node_of(path: &Path, meta: &fs::Metadata) -> Node {
    let kind_of_file = meta.file_type();
    if kind_of_file.is_symlink() {
        let target = fs::read_link(path).expect("a link can be read");
        return Node {
            kind: Kind::Symlink(os::bytes_of(target.as_os_str())),
            mode: 0,
        };
    }
    let kind = if kind_of_file.is_dir() {
        Kind::Dir
    } else if kind_of_file.is_file() {
        let bytes = fs::read(path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        Kind::File {
            digest: Sha256::digest(&bytes).into(),
            size_bytes: meta.len(),
        }
    } else {
        special(kind_of_file)
    };
    Node {
        kind,
        mode: os::mode(meta),
    }
}

#[cfg(unix)]
fn special(kind: fs::FileType) -> Kind {
    use std::os::unix::fs::FileTypeExt as _;
    match (kind.is_fifo(), kind.is_socket()) {
        (true, _) => Kind::Fifo,
        (_, true) => Kind::Socket,
        _ => Kind::Device,
    }
}

#[cfg(not(unix))]
fn special(_kind: fs::FileType) -> Kind {
    Kind::Device
}

#[cfg(unix)]
#[test]
fn a_picture_names_each_difference() {
    let sandbox = super::Sandbox::new();
    sandbox
        .write("a", "1")
        .symlink("link", "a")
        .mkdir("empty")
        .write("gone", "x");
    let before = sandbox.tree();
    sandbox
        .write("a", "2")
        .remove("gone")
        .chmod("empty", 0o700)
        .write("new", "");
    let lines = before.diff(&sandbox.tree());
    let marks: Vec<&str> = lines
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(marks, ["~", "~", "-", "+"], "{lines:?}");
    before.assert_is(&before.clone(), "a picture equals itself");
}

#[test]
fn the_ancestors_of_a_path_end_with_itself() {
    let listed: Vec<&[u8]> = ancestors_and_self(b"a/b/c").collect();
    assert_eq!(listed, [&b"a"[..], b"a/b", b"a/b/c"]);
    assert_eq!(ancestors_and_self(b"").count(), 0);
    assert!(at_or_below(b"a/b", b"a") && !at_or_below(b"ab", b"a"));
}
