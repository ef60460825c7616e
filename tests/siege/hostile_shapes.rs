//! Trees that are wrong in other ways than by a name.

use std::path::Path;

use super::hostile::{Case, Entry, Node, Verdict, dir, entry, file, link};

/// Modes that no checkpoint has.
const MODES: [&str; 19] = [
    "",
    "0",
    "040000",
    "0100644",
    "100600",
    "100666",
    "100777",
    "104755",
    "120777",
    "140000",
    "060000",
    "010000",
    "020000",
    "170000",
    "10064x",
    "4000",
    "177777777777777",
    "-100644",
    " 100644",
];
const LEVELS: usize = 300;

pub fn all(decoy: &Path) -> Vec<Case> {
    [of_trees(decoy), of_modes(), of_kinds(), of_links(decoy)].concat()
}

fn planted(bytes: &[u8]) -> Node {
    Node::Blob(bytes.to_vec())
}

fn of_trees(decoy: &Path) -> Vec<Case> {
    use Verdict::{Legal, Open, Refused};
    let out = decoy.as_os_str().as_encoded_bytes();
    let raw = |what: &str, bytes: Vec<u8>| Case {
        tree: Node::Raw(bytes),
        ..Case::new(what, Vec::new(), "a", Refused)
    };
    let mut deep: Vec<Entry> = vec![file("deepest")];
    for _ in 0..LEVELS {
        deep = vec![dir("d", deep)];
    }
    let id = [7; 20].as_slice();
    vec![
        Case::new("one name twice", vec![file("a"), file("a")], "a", Refused),
        Case::new(
            "a link and a file",
            vec![link("a", out), file("a")],
            "a",
            Refused,
        ),
        Case::new(
            "a link and a directory",
            vec![link("a", out), dir("a", vec![file("planted")])],
            "a/planted",
            Refused,
        ),
        Case::new(
            "a link and, further on, a directory",
            vec![link("a", out), file("a.b"), dir("a", vec![file("planted")])],
            "a/planted",
            Refused,
        ),
        Case::new(
            "a directory and a link",
            vec![dir("a", vec![file("planted")]), link("a", out)],
            "a/planted",
            Refused,
        ),
        Case::new(
            "two directories",
            vec![dir("a", vec![file("b")]), dir("a", vec![file("c")])],
            "a",
            Refused,
        ),
        Case::new(
            "a link and a path through it",
            vec![link("a", out), file("a/planted")],
            "a/planted",
            Refused,
        ),
        Case::new("out of order", vec![file("b"), file("a")], "a", Refused),
        Case::new(
            "a directory out of order",
            vec![dir("a", vec![file("x")]), file("a.b")],
            "a",
            Refused,
        ),
        raw("cut in the mode", b"1006".to_vec()),
        raw("cut in the name", b"100644 a".to_vec()),
        raw("cut in the id", b"100644 a\0short".to_vec()),
        raw("no name", [b"100644 \0".as_slice(), id].concat()),
        raw("no mode", [b"a\0".as_slice(), id].concat()),
        raw("NUL alone", vec![0; 64]),
        raw("text", b"../../../etc/passwd".to_vec()),
        Case::new("very deep", deep, "d", Legal),
        Case::new("nothing", Vec::new(), "a", Legal),
        Case::new(
            "a name longer than any",
            vec![file(vec![b'n'; 256])],
            vec![b'n'; 256],
            Open,
        ),
        Case::new("a name of a page", vec![file(vec![b'n'; 5000])], "n", Open),
        Case::new(
            "what looks staged",
            vec![dir(
                ".checkpoint-stage-00112233445566aa",
                vec![file("0"), link("1", out)],
            )],
            ".checkpoint-stage-00112233445566aa",
            Open,
        ),
        Case::new(
            "settings",
            vec![entry(
                "100644",
                ".checkpoint.toml",
                planted(b"keep = 1\nbase = \"/\"\n"),
            )],
            "x",
            Open,
        ),
        Case::new(
            "rules",
            vec![
                entry("100644", ".gitignore", planted(b"!.git\n!**\n!/../**\n")),
                dir("sub", vec![file("x")]),
            ],
            "sub",
            Legal,
        ),
        Case::new(
            "what is ignored here is a link here",
            vec![dir("ignored.log", vec![file("planted")])],
            "ignored.log",
            Open,
        ),
        Case::new(
            "a link here is a directory there",
            vec![dir(
                "out",
                vec![file("planted"), dir("in", vec![file("x")])],
            )],
            "out",
            Legal,
        ),
        Case::new(
            "a directory here is a link there",
            vec![link("d0", out), link("d1", "../home")],
            "d0",
            Legal,
        ),
        Case::new(
            "a nested repository becomes a file",
            vec![file("sub")],
            "sub",
            Open,
        ),
        Case::new(
            "a nested repository becomes a link",
            vec![link("sub", out)],
            "sub",
            Open,
        ),
    ]
}

fn of_modes() -> Vec<Case> {
    let case = |mode: &&str| {
        let entries = vec![entry(mode, "a", planted(b"planted")), file("b")];
        Case::new(format!("mode '{mode}'"), entries, "a", Verdict::Refused)
    };
    let mut cases: Vec<Case> = MODES.iter().map(case).collect();
    cases.push(Case::new(
        "an old mode",
        vec![entry("100664", "a", planted(b"planted"))],
        "a",
        Verdict::Legal,
    ));
    cases.push(Case::new(
        "a commit elsewhere",
        vec![entry("160000", "a", Node::Missing)],
        "a",
        Verdict::Open,
    ));
    cases.push(Case::new(
        "a commit elsewhere, '.git'",
        vec![entry("160000", ".git", Node::Missing)],
        ".git",
        Verdict::Refused,
    ));
    cases
}

/// Cases whose mode says one kind while the object is of another, or missing.
fn of_kinds() -> Vec<Case> {
    let tree = || Node::Tree(vec![file("planted")]);
    let pairs = [
        ("100644", tree()),
        ("100755", tree()),
        ("120000", tree()),
        ("40000", planted(b"planted")),
        ("40000", planted(b"100644 planted\0aaaaaaaaaaaaaaaaaaaa")),
        ("100644", Node::Missing),
        ("40000", Node::Missing),
        ("120000", Node::Missing),
    ];
    let case = |(mode, node): (&str, Node)| {
        let what = format!("mode {mode} for {node:?}");
        Case::new(
            what,
            vec![entry(mode, "a", node), file("b")],
            "a",
            Verdict::Damaged,
        )
    };
    pairs.into_iter().map(case).collect()
}

fn of_links(decoy: &Path) -> Vec<Case> {
    use Verdict::{Legal, Open};
    let out = decoy.display();
    let long = "x/".repeat(2500);
    let texts = [
        ("the decoy", format!("{out}/planted"), Legal),
        ("a file of the decoy", format!("{out}/d0/f"), Legal),
        ("up", "../../../..".into(), Legal),
        (".git", ".git/config".into(), Legal),
        ("itself", "a".into(), Legal),
        (
            "the stage",
            ".checkpoint-stage-00112233445566aa/0".into(),
            Legal,
        ),
        ("nothing", String::new(), Open),
        ("a NUL", "a\0b".into(), Open),
        ("too much", long, Open),
    ];
    let case = |(what, text, verdict): (&str, String, Verdict)| {
        let entries = vec![
            link("a", text.clone()),
            link("d0", text.clone()),
            link("planted", text),
        ];
        Case::new(format!("links to {what}"), entries, "a", verdict)
    };
    texts.into_iter().map(case).collect()
}
