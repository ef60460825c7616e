//! Every command against a forged checkpoint: what is forbidden is refused, what is odd is written below the root only.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use sha2::{Digest as _, Sha256};

use crate::bench::tree::Kind as Shape;
use crate::bench::{Run, Tree, fixtures};
use crate::choice::Choice;
use crate::field::Field;
use crate::forge::Forge;
use crate::guard::{Guard, MARKER, Picture, check_copies, copies};
use crate::hostile::{Case, Node, Verdict};
use crate::tally::Tally;

/// SEL, PATH, ITEM (`SEL:PATH`) and OUT stand for the forged checkpoint, what is in it, and a place for a copy. First those
/// that read; a checkpoint that may be restored is restored and taken back, before the store is swept.
const COMMANDS: [&[&str]; 25] = [
    &["verify", "--full"],
    &["verify", "SEL"],
    &["list"],
    &["show", "SEL"],
    &["status", "-v"],
    &["diff", "SEL"],
    &["diff", "first", "SEL"],
    &["cat", "ITEM"],
    &["find", "PATH"],
    &["find", "--text", "planted"],
    &["restore", "SEL", "--dry-run"],
    &["restore", "SEL", "PATH", "--to", "OUT"],
    &["restore", "SEL", "--to", "OUT"],
    &["bisect", "first", "SEL", "--", "true"],
    &["restore", "SEL", "PATH", "--yes"],
    &["undo", "--yes"],
    &["restore", "SEL", "--overlay", "--yes"],
    &["undo", "--yes"],
    &["restore", "SEL", "--restore-suid", "--yes"],
    &["undo", "--yes"],
    &["redo", "--yes"],
    &["create", "-r", "afterwards"],
    &["prune"],
    &["verify", "--repair"],
    &["delete", "SEL", "--yes"],
];

/// A project with a repository and one nested in it, links that lead out, and a decoy beside it.
pub fn field() -> Field {
    let field = Field::new();
    for at in 0..3 {
        field.write(&format!("d{at}/f"), format!("{at}"));
        field.write(&format!("d{at}/in/h"), format!("{at}"));
    }
    field.write("sub/x", "x");
    field.write(".gitignore", "*.log\n");
    let decoy = field.top().join("decoy");
    for (name, to) in [("out", &decoy), ("ignored.log", &decoy), ("link", &decoy)] {
        std::os::unix::fs::symlink(to, field.work().join(name)).expect("a link");
    }
    for place in [decoy, field.work().join(".git"), field.work().join("sub/.git"), field.home().join("theirs")] {
        for name in ["f", "d0/f", "d0/in/h", "in/h"] {
            std::fs::create_dir_all(place.join(name).parent().expect("above")).expect("a directory");
            std::fs::write(place.join(name), MARKER).expect("a file");
        }
    }
    fixtures::decoy_git(&field.work().join(".git"));
    std::fs::create_dir(copies(&field)).expect("a directory");
    let made = field.run(&[], &["create", "-r", "first", "-q"]);
    assert_eq!(made.code, 0, "{made}");
    field.keep();
    field
}

/// Forges one case into the field as it was kept, and lets all commands at it.
pub fn besiege(field: &Field, case: &Case, choice: &mut Choice, tally: &Tally) {
    field.put_back();
    // Plain git knows neither metas nor trailers.
    let is_ours = case.meta.is_some() || !case.trailers.is_empty() || choice.below(6) > 0;
    let mut forge = Forge::default();
    let id = hex::encode(case.forge(&mut forge, is_ours));
    let objects = field.store().join("objects");
    let form = choice.below(2);
    if form == 0 {
        forge.write_loose(&objects);
    } else {
        forge.write_pack(&objects);
    }
    let name = if is_ours { format!("checkpoints/{id}") } else { "heads/main".to_owned() };
    std::fs::write(field.store().join("refs").join(name), format!("{id}\n")).expect("a ref");
    if !is_ours {
        // The next writer makes a checkpoint of what plain git committed.
        let _ = field.run(&[], &["create", "-r", "adopts", "-q"]);
    }
    let trial = Trial {
        field,
        case,
        id: &id,
        is_ours,
        guard: Guard::over(field),
        root: Picture::of(field.work()),
        before: Tree::capture(&field.work()),
    };
    for command in COMMANDS {
        let Some(args) = trial.filled_in(command) else { continue };
        tally.escape_attempts.fetch_add(1, Ordering::Relaxed);
        tally.tampered.fetch_add(1, Ordering::Relaxed);
        let run = field.run(&[], &args.iter().map(String::as_str).collect::<Vec<_>>());
        let says = |why| {
            format!(
                "tampered, {} ({}), {command:?}: {why}\n{run}",
                case.what,
                if form == 0 { "loose" } else { "packed" }
            )
        };
        if let Err(why) = trial.nothing_escaped() {
            tally.escaped(says(why));
            return;
        }
        if let Err(why) = trial.judge(command, &run) {
            tally.escaped(says(why));
            return;
        }
    }
}

struct Trial<'t> {
    field: &'t Field,
    case: &'t Case,
    id: &'t str,
    is_ours: bool,
    guard: Guard,
    root: Picture,
    before: Tree,
}

impl Trial<'_> {
    /// `None` where the path cannot be typed.
    fn filled_in(&self, command: &[&str]) -> Option<Vec<String>> {
        let path = String::from_utf8(self.case.path.clone()).ok().filter(|path| !path.contains('\0'));
        let fill = |word: &&str| match *word {
            "SEL" => Some(self.id[..12].to_owned()),
            "PATH" => path.clone().filter(|path| !path.starts_with('-')),
            "ITEM" => path.clone().map(|path| format!("{}:{path}", &self.id[..12])),
            "OUT" => Some(self.field.beside("copies/out").display().to_string()),
            word => Some(word.to_owned()),
        };
        command.iter().map(fill).collect()
    }

    fn nothing_escaped(&self) -> Result<(), String> {
        self.guard.check()?;
        check_copies(self.field)
    }

    fn judge(&self, command: &[&str], run: &Run) -> Result<(), String> {
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
        let is_whole = command.iter().any(|word| whole.contains(word)) || command == ["restore", "SEL", "--to", "OUT"];
        let is_fair = match command[0] {
            "verify" | "restore" if is_whole && self.is_ours => code == 6,
            "restore" => matches!(code, 2 | 3 | 4 | 6),
            _ => true,
        };
        if is_fair { Ok(()) } else { Err("it was not called damaged".into()) }
    }

    fn as_before(&self) -> Result<(), String> {
        let mut now = Tree::capture(&self.field.work());
        // What a restore of one PATH made above that path is not the business of its undo.
        now.nodes.retain(|path, node| !node.is_dir() || self.before.nodes.contains_key(path));
        if now == self.before { Ok(()) } else { Err(format!("not as before: {:?}", now.diff(&self.before))) }
    }

    /// What is merely odd comes back to the byte.
    fn written(&self, command: &[&str], code: i32, out: &Path) -> Result<(), String> {
        let mut expected = BTreeMap::new();
        model(&self.case.tree, b"", &mut expected);
        let agrees = |tree: Tree| {
            let wrong =
                expected.iter().find(|(path, shape)| tree.nodes.get(*path).map(|node| &node.kind) != Some(*shape));
            wrong.map_or(Ok(()), |(path, _)| Err(format!("'{}' is not what was to be written", path.escape_ascii())))
        };
        match command {
            ["restore", "SEL", "--to", "OUT"] if code == 0 => {
                let tree = Tree::capture(out);
                let more = tree.nodes.len() - 1 - expected.len();
                if more > 0 { Err(format!("{more} paths too many")) } else { agrees(tree) }
            }
            ["restore", "SEL", "--restore-suid", "--yes"] if code == 0 => agrees(Tree::capture(&self.field.work())),
            ["restore", "SEL", "--to" | "--restore-suid", _] | ["verify", "--full"] if code != 0 => {
                Err("something legal was refused".into())
            }
            ["undo", ..] => self.as_before(),
            _ => Ok(()),
        }
    }
}

/// What a tree puts into a directory; a directory without anything in it is not there.
fn model(node: &Node, at: &[u8], shapes: &mut BTreeMap<Vec<u8>, Shape>) {
    let Node::Tree(entries) = node else { return };
    for entry in entries {
        let path = if at.is_empty() { entry.name.clone() } else { [at, b"/", &entry.name].concat() };
        match &entry.node {
            Node::Blob(text) if entry.mode == "120000" => {
                shapes.insert(path, Shape::Symlink(text.clone()));
            }
            Node::Blob(bytes) => {
                let digest = Sha256::digest(bytes).into();
                shapes.insert(path, Shape::File { digest, size_bytes: bytes.len() as u64 });
            }
            below => {
                shapes.insert(path.clone(), Shape::Dir);
                model(below, &path, shapes);
            }
        }
    }
}
