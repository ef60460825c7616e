//! The judge of diffs: real git's patch of two directories in the form of `checkpoint diff`, and
//! what git makes of ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bench::tree::{Kind, Tree};
use crate::bench::{Git, Run, Sandbox, limit};

/// Options that switch git's own preferences off.
pub const PLAIN: [&str; 5] = [
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--abbrev=10",
];

/// Two plain directories `a` and `b` below one folder, compared by git.
pub struct Twins {
    top: PathBuf,
}

impl Twins {
    pub fn new(top: PathBuf) -> Self {
        std::fs::create_dir_all(&top).expect("a folder can be made");
        Self { top }
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    /// Makes `name` a copy of everything in `root` outside repositories, without `out`.
    pub fn copy(&self, name: &str, root: &Path, out: &[String]) {
        let to = self.dir(name);
        crate::bench::fixtures::remove(&to);
        let mut copy = std::process::Command::new("cp");
        copy.arg("-a").arg(root).arg(&to);
        Run::of(copy).success();
        for gone in out.iter().map(String::as_str).chain([".git"]) {
            crate::bench::fixtures::remove(&to.join(gone));
        }
    }

    /// The output of `git diff --no-index`, path by path.
    pub fn judged(&self, git: &Git, options: &[&str]) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
        let args = [
            &[
                "-c",
                "core.quotePath=true",
                "diff",
                "--no-index",
                "--no-prefix",
            ],
            &PLAIN[..],
            options,
            &["a", "b"],
        ];
        let mut command = git.command(&args.concat());
        command.current_dir(&self.top);
        let output = limit::output(&mut command).expect("git can be started");
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        pieces(&output.stdout, true)
    }

    /// Applies a patch to a copy of `a` and asserts that the outcome equals `b` for git.
    #[track_caller]
    pub fn assert_leads_from_a_to_b(&self, git: &Git, patch: &[u8], when: &str) {
        let file = self.dir("patch");
        std::fs::write(&file, patch).expect("a patch can be written");
        let copy = self.dir("applied");
        self.copy("applied", &self.dir("a"), &[]);
        if !patch.is_empty() {
            let mut command =
                git.command(&["apply", "--whitespace=nowarn", &file.display().to_string()]);
            command.current_dir(&copy);
            Run::of(command).success();
        }
        seen_by_git(&copy).assert_is(&seen_by_git(&self.dir("b")), when);
    }
}

/// A picture without what git ignores: directories, and permissions but the owner's execute bit.
fn seen_by_git(dir: &Path) -> Tree {
    let mut tree = Tree::capture(dir);
    tree.nodes.retain(|_, node| !node.is_dir());
    for node in tree.nodes.values_mut() {
        node.mode &= if matches!(node.kind, Kind::File { .. }) {
            0o100
        } else {
            0
        };
    }
    tree
}

/// The parts of a patch by their first line; a change of type has two of them.
pub fn pieces(patch: &[u8], is_no_index: bool) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut found: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    let mut current: Vec<u8> = Vec::new();
    for line in patch
        .split_inclusive(|byte| *byte == b'\n')
        .chain([&b"diff --git end\n"[..]])
    {
        if line.starts_with(b"diff --git ") && !current.is_empty() {
            let piece = std::mem::take(&mut current);
            let end = piece
                .iter()
                .position(|byte| *byte == b'\n')
                .expect("a header has an end");
            let head = if is_no_index {
                both_sides(&piece[..end])
            } else {
                piece[..end].to_vec()
            };
            found.entry(head).or_default().push(piece[end..].to_vec());
        }
        current.extend_from_slice(line);
    }
    found
}

/// Names both sides in a header: for a file that one side lacks `git diff --no-index` names the
/// other side twice.
fn both_sides(header: &[u8]) -> Vec<u8> {
    let names = &header[b"diff --git ".len()..];
    let (before, after) = names.split_at(names.len() / 2);
    let side = |name: &[u8], letter: u8| {
        let mut name = name.to_vec();
        let at = usize::from(name[0] == b'"');
        name[at] = letter;
        name
    };
    [
        b"diff --git ",
        &*side(before, b'a'),
        b" ",
        &*side(&after[1..], b'b'),
    ]
    .concat()
}

/// Compares both as maps, so that a failure shows only the first path that differs.
#[track_caller]
pub fn assert_same_patch(ours: &[u8], judged: &BTreeMap<Vec<u8>, Vec<Vec<u8>>>, when: &str) {
    let ours = pieces(ours, false);
    let heads: std::collections::BTreeSet<&Vec<u8>> = ours.keys().chain(judged.keys()).collect();
    for head in heads {
        let shown = |pieces: Option<&Vec<Vec<u8>>>| match pieces {
            None => "nothing".to_owned(),
            Some(pieces) => pieces
                .iter()
                .map(|piece| String::from_utf8_lossy(piece))
                .collect(),
        };
        let (one, two) = (ours.get(head), judged.get(head));
        let name = String::from_utf8_lossy(head);
        assert!(
            one == two,
            "{when}: {name}\n---- ours:{}\n---- git:{}",
            shown(one),
            shown(two)
        );
    }
}

/// The raw bytes on stdout of a run that must end with this code.
#[track_caller]
pub fn raw(sandbox: &Sandbox, args: &[&str], code: i32) -> Vec<u8> {
    let output =
        limit::output(&mut sandbox.command(&[], args)).expect("the program can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{said}");
    output.stdout
}
