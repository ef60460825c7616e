//! Random pairs of directories: patch, counts and names are those of git, and the patch leads from
//! one to the other.

use crate::bench::os::OsStrExt as _;
use crate::bench::os::PermissionsExt as _;
use std::path::Path;

use crate::bench::{Git, Sandbox, cases, fixtures, given};
use crate::diff_oracle::{PLAIN, Twins, assert_same_patch, raw};
use crate::roundtrip::generator::Random;

const NAMES: [&[u8]; 14] = [
    b"a",
    b"b.txt",
    b"d/a",
    b"d/b",
    b"d.c",
    b"e f",
    b"tab\t",
    b"new\nline",
    b"quo\"te",
    b"back\\slash",
    b"\xff\xfe",
    b"\xc3\xa9t\xc3\xa9",
    b"d/e/f g",
    b"a-long/name-of-a-directory/in-another-directory/and-another/with-a-file.txt",
];

/// A small set of lines, so that there are many ways to match them; some indented, some that look
/// like headings.
const LINES: [&[u8]; 18] = [
    b"", b"}", b"{", b"\tx = 1;", b"\ty = 2;", b"    return;", b"void function(int a)", b"\t}", b"$vms", b"_under",
    b"# comment", b"    if (x) {", b"\r", b"caf\xe9 au lait", b"trailing blanks   ", b"\"quoted\" \\ \x1b[31m", b"@@ -1 +1 @@",
    b"a heading that is much longer than the eighty characters \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac which git \xe2\x82\xac shows of it \xe2\x82\xac\xe2\x82\xac",
];

fn text(random: &mut Random) -> Vec<u8> {
    let lines = random.below(60);
    let mut lines: Vec<Vec<u8>> = (0..lines).map(|_| random.pick(&LINES).to_vec()).collect();
    if random.below(8) == 0 {
        lines = lines.into_iter().cycle().take(random.below(600)).collect();
    }
    joined(&lines, random.below(4) != 0)
}

fn joined(lines: &[Vec<u8>], ends: bool) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    if ends && !lines.is_empty() {
        text.push(b'\n');
    }
    text
}

/// A text with some lines changed, removed, inserted, doubled or moved.
fn edited(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..=random.below(6) {
        let at = random.below(lines.len().max(1)).min(lines.len());
        match random.below(5) {
            0 if at < lines.len() => lines[at] = random.pick(&LINES).to_vec(),
            1 if at < lines.len() => {
                lines.remove(at);
            }
            2 if at < lines.len() => {
                let line = lines.remove(at);
                lines.insert(random.below(lines.len() + 1), line);
            }
            3 if at < lines.len() => lines.insert(at, lines[at].clone()),
            _ => lines.insert(at, random.pick(&LINES).to_vec()),
        }
    }
    joined(&lines, random.below(3) == 0)
}

fn content(random: &mut Random) -> Vec<u8> {
    match random.below(9) {
        0 => Vec::new(),
        1 => fixtures::noise(random.below(1000) as u64, random.below(400) + 1),
        2 => [text(random), vec![0], text(random)].concat(),
        // A NUL beyond the first 8000 bytes does not make it binary.
        3 => [
            b"a line\n".repeat(1100 + random.below(100)),
            text(random),
            vec![0],
            text(random),
        ]
        .concat(),
        _ => text(random),
    }
}

fn place(root: &Path, random: &mut Random) {
    let path = root.join(std::ffi::OsStr::from_bytes(
        NAMES[random.below(NAMES.len())],
    ));
    if !matches!(path.parent().map(std::fs::create_dir_all), Some(Ok(()))) {
        fixtures::remove(path.parent().expect("a parent"));
        return;
    }
    let before = std::fs::read(&path)
        .ok()
        .filter(|_| path.symlink_metadata().is_ok_and(|found| found.is_file()));
    match (random.below(9), before) {
        (0, _) => fixtures::remove(&path),
        (1, _) => {
            fixtures::remove(&path);
            crate::bench::os::symlink(random.pick(&["a", "no/where", "\n", "é"]), &path)
                .expect("a link can be made");
        }
        (2, Some(_)) => {
            let mode = *random.pick(&[0o644, 0o755, 0o600]);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
                .expect("a mode can be set");
        }
        (3..=7, Some(before)) => {
            std::fs::write(&path, edited(&before, random)).expect("a file can be written");
        }
        _ => {
            fixtures::remove(&path);
            std::fs::write(&path, content(random)).expect("a file can be written");
        }
    }
}

#[test]
fn patch_counts_and_names_are_those_of_git() {
    let sandbox = Sandbox::new();
    let git = given!(Git::find(sandbox.home()));
    let mut random = Random::from_environment();
    let twins = Twins::new(sandbox.top().join("twins"));
    let scratch = sandbox.top().join("scratch");
    let judge = Git::find(sandbox.home())
        .expect("git was there")
        .with("GIT_DIR", &scratch);
    for case in 0..cases(25) {
        let before = state(&sandbox, &twins, &git, "a", &mut random, &scratch);
        let after = state(&sandbox, &twins, &git, "b", &mut random, &scratch);
        let context = format!("-U{}", random.pick(&[0, 1, 3, 3, 8]));
        let when = format!("case {case}, {context}");
        let two: [&str; 3] = ["diff", &before.0, &after.0];
        let judged = |options: &[&str]| {
            let args = [&["diff"], &PLAIN[..], options, &[&before.1, &after.1]].concat();
            judge.filter(&args, b"")
        };
        let ours = raw(&sandbox, &[&two[..], &[&context]].concat(), 0);
        assert_same_patch(&ours, &twins.judged(&git, &[&context]), &when);
        assert_eq!(
            lossy(&ours),
            lossy(&judged(&[&context])),
            "{when}: another order"
        );
        assert_eq!(
            lossy(&raw(&sandbox, &["diff", &before.0, &context], 0)),
            lossy(&ours),
            "{when}: the directory"
        );
        for form in ["--name-only", "--name-status"] {
            let ours = raw(&sandbox, &[&two[..], &[form]].concat(), 0);
            assert_eq!(lossy(&ours), lossy(&judged(&[form])), "{when}: {form}");
        }
        let whole = raw(&sandbox, &[&two[..], &["--binary"]].concat(), 0);
        twins.assert_leads_from_a_to_b(&git, &whole, &when);
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes a few random edits, then a checkpoint, a copy, and git's tree of it.
fn state(
    sandbox: &Sandbox,
    twins: &Twins,
    git: &Git,
    name: &str,
    random: &mut Random,
    scratch: &Path,
) -> (String, String) {
    for _ in 0..=random.below(12) {
        place(sandbox.root(), random);
    }
    twins.copy(name, sandbox.root(), &[]);
    (
        sandbox.create(name),
        git.write_tree_of(&twins.dir(name), scratch),
    )
}
