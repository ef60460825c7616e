//! The judge of forged checkpoints: forbidden ones are refused whole, odd ones restored exactly.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::field::Field;
use super::guard::{Guard, Picture, check_copies, copies};
use super::hostile::{Case, Node, Verdict};
use crate::bench::tree::Kind as Shape;
use crate::bench::{Run, Tree};

/// A forged checkpoint in its field, and the state before any command.
pub struct Trial<'t> {
    pub field: &'t Field,
    pub case: &'t Case,
    pub id: &'t str,
    pub is_ours: bool,
    pub guard: Guard,
    pub root: Picture,
    pub before: Tree,
}

impl Trial<'_> {
    /// The command with its placeholders filled; `None` where the path cannot be typed.
    pub fn filled_in(&self, command: &[&str]) -> Option<Vec<String>> {
        let path = String::from_utf8(self.case.path.clone())
            .ok()
            .filter(|path| !path.contains('\0'));
        let fill = |word: &&str| match *word {
            "SEL" => Some(self.id[..12].to_owned()),
            "PATH" => path.clone().filter(|path| !path.starts_with('-')),
            "ITEM" => path
                .clone()
                .map(|path| format!("{}:{path}", &self.id[..12])),
            "OUT" => Some(self.field.beside("copies/out").display().to_string()),
            word => Some(word.to_owned()),
        };
        command.iter().map(fill).collect()
    }

    pub fn nothing_escaped(&self) -> Result<(), String> {
        self.guard.check()?;
        check_copies(self.field)
    }

    pub fn judge(&self, command: &[&str], run: &Run) -> Result<(), String> {
        let fell_over = run.code == 101 || run.code >= 128 || run.stderr.contains("panicked");
        let may_fail = self.case.verdict == Verdict::Open;
        if fell_over || !(matches!(run.code, 0 | 2..=7) || may_fail && run.code == 1) {
            return Err("an exit code that is none of those agreed".into());
        }
        let is_copy = command.contains(&"OUT");
        let out = copies(self.field).join("out");
        match self.case.verdict {
            Verdict::Open => Ok(()),
            Verdict::Refused | Verdict::Damaged => {
                if self.case.verdict == Verdict::Refused {
                    self.root.check()?;
                } else {
                    self.as_before()?;
                }
                if is_copy && out.symlink_metadata().is_ok() {
                    return Err("something was written of what is forbidden".into());
                }
                self.refused(command, run.code)
            }
            Verdict::Legal if !self.is_ours => Ok(()),
            Verdict::Legal => self.written(command, run.code, &out),
        }
    }

    fn refused(&self, command: &[&str], code: i32) -> Result<(), String> {
        let whole = ["--full", "--dry-run", "--overlay", "--restore-suid"];
        let is_whole = command.iter().any(|word| whole.contains(word))
            || command == ["restore", "SEL", "--to", "OUT"];
        let is_fair = match command[0] {
            "verify" | "restore" if is_whole && self.is_ours => code == 6,
            "restore" => matches!(code, 2 | 3 | 4 | 6),
            _ => true,
        };
        if is_fair {
            Ok(())
        } else {
            Err("it was not called damaged".into())
        }
    }

    fn as_before(&self) -> Result<(), String> {
        let mut now = Tree::capture(&self.field.work());
        // Directories that a restore of one PATH made above it stay after its undo.
        now.nodes
            .retain(|path, node| !node.is_dir() || self.before.nodes.contains_key(path));
        if now == self.before {
            Ok(())
        } else {
            Err(format!("not as before: {:?}", now.diff(&self.before)))
        }
    }

    /// Checks that an odd checkpoint is restored to the byte.
    fn written(&self, command: &[&str], code: i32, out: &Path) -> Result<(), String> {
        let mut expected = BTreeMap::new();
        model(&self.case.tree, b"", &mut expected);
        let agrees = |tree: Tree| {
            let wrong = expected
                .iter()
                .find(|(path, shape)| tree.nodes.get(*path).map(|node| &node.kind) != Some(*shape));
            wrong.map_or(Ok(()), |(path, _)| {
                Err(format!(
                    "'{}' is not what was to be written",
                    path.escape_ascii()
                ))
            })
        };
        match command {
            ["restore", "SEL", "--to", "OUT"] if code == 0 => {
                let tree = Tree::capture(out);
                let more = tree.nodes.len() - 1 - expected.len();
                if more > 0 {
                    Err(format!("{more} paths too many"))
                } else {
                    agrees(tree)
                }
            }
            ["restore", "SEL", "--restore-suid", "--yes"] if code == 0 => {
                agrees(Tree::capture(&self.field.work()))
            }
            ["restore", "SEL", "--to" | "--restore-suid", _] | ["verify", "--full"]
                if code != 0 =>
            {
                Err("something legal was refused".into())
            }
            ["undo", ..] => self.as_before(),
            _ => Ok(()),
        }
    }
}

/// The paths that a tree writes into a directory; directories without content are left out.
fn model(node: &Node, at: &[u8], shapes: &mut BTreeMap<Vec<u8>, Shape>) {
    let Node::Tree(entries) = node else { return };
    for entry in entries {
        let path = if at.is_empty() {
            entry.name.clone()
        } else {
            [at, b"/", &entry.name].concat()
        };
        match &entry.node {
            Node::Blob(text) if entry.mode == "120000" => {
                shapes.insert(path, Shape::Symlink(text.clone()));
            }
            Node::Blob(bytes) => {
                let digest = Sha256::digest(bytes).into();
                shapes.insert(
                    path,
                    Shape::File {
                        digest,
                        size_bytes: bytes.len() as u64,
                    },
                );
            }
            below => {
                shapes.insert(path.clone(), Shape::Dir);
                model(below, &path, shapes);
            }
        }
    }
}
