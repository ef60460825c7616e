//! Metas, commits and journals that lead elsewhere, over sound trees.

use std::path::Path;

use super::hostile::{Case, Node, STAGED, Verdict, dir, file, link};

pub fn all(decoy: &Path) -> Vec<Case> {
    [of_metas(), of_commits(), of_journals(decoy)].concat()
}

/// Cases of metas, whose paths are as hostile as those of a tree.
fn of_metas() -> Vec<Case> {
    use Verdict::{Open, Refused};
    let lines = [
        ("empty .git/planted", Refused),
        ("empty .git", Refused),
        ("empty .GIT/planted", Refused),
        ("empty git~1", Refused),
        ("empty d0/.git/hooks", Refused),
        ("empty sub/.git/planted", Refused),
        ("empty .g%E2%80%8Cit/planted", Refused),
        ("empty ../planted", Refused),
        ("empty /etc/planted", Refused),
        ("empty a/../../planted", Refused),
        ("empty a/.", Refused),
        ("empty a%00b", Refused),
        ("empty a//b", Refused),
        ("mode 4777 ../planted", Refused),
        ("mode 777 /etc", Refused),
        ("uncaptured fifo f - ../planted", Refused),
        ("uncaptured fifo f - .git/planted", Refused),
        (
            "uncaptured reserved-name d - sub/.git/below/planted",
            Refused,
        ),
        ("mode 777 .git", Refused),
        ("mode 777 .git/config", Refused),
        ("mode 777 sub/.git", Refused),
        ("mode 777 link", Open),
        ("mode 4777 a", Open),
        ("mode 0 .", Open),
        ("empty link/planted", Refused),
        ("empty a/planted", Refused),
        ("empty out/planted", Open),
        ("empty out", Open),
        ("empty ignored.log/planted", Open),
        ("empty .checkpoint-stage-00112233445566aa/planted", Open),
        ("uncaptured reserved-name d - .git", Open),
        ("uncaptured mount d - link/planted", Refused),
        ("uncaptured gitlink d - out/planted/below", Open),
        ("store-list %21.git%0A%21%2A%2A", Open),
    ];
    let case = |(line, verdict): (&str, Verdict)| {
        let meta = format!("checkpoint-meta 1\nusual 644 755 755\n{line}\n");
        let path = line.rsplit(' ').next().expect("words").as_bytes();
        let entries = vec![file("a"), link("link", "../../decoy")];
        Case {
            meta: Some(meta),
            ..Case::new(format!("meta '{line}'"), entries, path, verdict)
        }
    };
    lines.into_iter().map(case).collect()
}

fn of_commits() -> Vec<Case> {
    use Verdict::{Open, Refused};
    let plain = |what: &str, verdict| Case::new(what, vec![file("a")], "a", verdict);
    let operation = |path: &str| {
        format!(
            "Operation: restore\nTarget: {}\nPath: {path}\n",
            "5a".repeat(20)
        )
    };
    let mut cases = vec![
        Case {
            tree: Node::Blob(b"planted".to_vec()),
            ..plain("its tree is a blob", Refused)
        },
        Case {
            tree: Node::Missing,
            ..plain("its tree is missing", Refused)
        },
        Case {
            meta: Some(String::new()),
            ..plain("its meta is empty", Refused)
        },
        Case {
            meta: Some("checkpoint-meta 2\n".into()),
            ..plain("its meta is of another format", Refused)
        },
    ];
    for path in [
        ".git",
        ".git/hooks",
        "..",
        "../planted",
        "/etc",
        "link/x",
        "a%00",
        "sub/.git",
        "out/d0",
        ".",
    ] {
        let what = format!("a safety checkpoint of '{path}'");
        cases.push(Case {
            trailers: operation(path),
            ..plain(&what, Open)
        });
    }
    cases
}

/// Cases of a seemingly interrupted restore: its staging directory is a link to the decoy, its
/// PATHs lead elsewhere.
fn of_journals(decoy: &Path) -> Vec<Case> {
    let stagings = [
        STAGED,
        "../../decoy",
        "../../../decoy",
        ".git",
        "00112233445566AA",
        "/../../../decoy/0",
    ];
    let paths = [
        "",
        ".git",
        ".git/hooks",
        "..",
        "../../decoy",
        "%2e%2e/planted",
        "/etc",
        "link/f",
        "out/d0/f",
        "sub/.git",
        "d0",
    ];
    let out = decoy.as_os_str().as_encoded_bytes();
    let case = |stage: &str, staging: &str, path: &str| {
        let entries = vec![
            link("d0", out),
            dir("link", vec![file("f")]),
            dir("out", vec![dir("d0", vec![file("f")])]),
        ];
        let path_line = if path.is_empty() {
            String::new()
        } else {
            format!("path {path}\n")
        };
        let journal = format!(
            "checkpoint-journal 1\nstage {stage}\nverb restore\ntarget TARGET\nsafety SAFETY\nstaging {staging}\nfilling {staging}\n\
             special-bits\n{path_line}"
        );
        let what = format!("a journal '{stage}' of '{path}', staged in '{staging}'");
        Case {
            journal: Some(journal),
            ..Case::new(what, entries, "link/f", Verdict::Open)
        }
    };
    let stages = ["preparing", "applying", "finished"];
    let of_staging = stagings
        .iter()
        .flat_map(|staging| stages.map(|stage| case(stage, staging, "")));
    of_staging
        .chain(paths.iter().map(|path| case("applying", STAGED, path)))
        .collect()
}
