//! Names: those that some file system takes for `.git`, those that lead out of a directory, and
//! merely odd ones.

use std::path::Path;

/// Code points that HFS+ ignores in a name.
const PASSED_OVER: [char; 16] = [
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];
/// Suffixes that NTFS and Windows drop from a name.
const TAILS: [&str; 15] = [
    "",
    ".",
    "..",
    " ",
    "  ",
    " .",
    ". ",
    "... ",
    ":x",
    ":",
    "::$INDEX_ALLOCATION",
    "::$DATA",
    " ::$INDEX_ALLOCATION",
    "\\",
    "\\hooks",
];

/// Every name that must be refused.
pub fn spellings(decoy: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<String> = Vec::new();
    for stem in [".git", "git~1"] {
        for upper in 0..8_u8 {
            let spelt = spelt(stem, upper);
            names.extend(TAILS.iter().map(|tail| format!("{spelt}{tail}")));
        }
    }
    for ignored in PASSED_OVER {
        for at in 0..=4 {
            let (head, tail) = ".git".split_at(at);
            names.push(format!("{head}{ignored}{tail}"));
            names.push(format!(
                "{ignored}{}{ignored}\u{200c}{}",
                head.to_uppercase(),
                tail.to_uppercase()
            ));
        }
    }
    let decoy = decoy.display();
    names.extend([
        format!("{decoy}/planted"),
        format!("/{decoy}/planted"),
        format!("..{decoy}"),
    ]);
    for leading in [
        "",
        ".",
        "..",
        "/",
        "//",
        "./",
        "../",
        "./x",
        "../x",
        "x/",
        "x/y",
        "x//y",
        "x/../../x",
        "../../decoy/planted",
        "../home/x",
        "d0/../../x",
        ".git/hooks/x",
        "d0/.git/x",
        "sub/.git/x",
        "/etc/x",
        "/x",
        "link/planted",
    ] {
        names.push(leading.into());
    }
    let mut names: Vec<Vec<u8>> = names.into_iter().map(String::into_bytes).collect();
    // After the NUL an id is expected, and after that the next entry.
    names.extend([
        b"\0".to_vec(),
        b"a\0b".to_vec(),
        b"..\0".to_vec(),
        b"\xff/x".to_vec(),
    ]);
    names
}

/// The three letters of a stem, each in lower or upper case as one of three bits says.
fn spelt(stem: &str, upper: u8) -> String {
    let mut letter = 0;
    let spell = |c: char| {
        if !c.is_ascii_alphabetic() {
            return c;
        }
        letter += 1;
        if upper >> (letter - 1) & 1 == 1 {
            c.to_ascii_uppercase()
        } else {
            c
        }
    };
    stem.chars().map(spell).collect()
}

/// Odd names that a Linux file system takes as they are.
pub fn odd_names() -> Vec<Vec<u8>> {
    let texts = [
        "...",
        "....",
        " ",
        "  ",
        ". .",
        " .git",
        ".gitx",
        ".git-x",
        ".git_",
        ".gi",
        ".g\u{301}it",
        "git~2",
        "git~11",
        "gitmod~1",
        "\u{200c}",
        "\u{feff}",
        ".gi\u{200d}",
        "\u{200b}.git",
        ".git\u{a0}",
        ".git\n",
        ".git\t",
        ".git,",
        "x.git",
        "C:x",
        "C:",
        "C:\\x",
        "a\\b",
        "\\",
        "..\\..\\decoy\\planted",
        "\\\\?\\C:\\x",
        "~",
        "~root",
        "$HOME",
        "`id`",
        "$(id)",
        "aux",
        "NUL",
        "-rf",
        "--",
        "-",
        "--to",
        "*",
        "?",
        "[a]",
        ":(top)",
        "|",
        "\"",
        "'",
        "new\nline",
        "\r",
        "\x1b[31m",
        "\x7f",
        ".gitmodules",
        ".gitattributes",
        "\u{202e}gnp",
        "HEAD",
        "objects",
        "refs",
        "checkpoint",
        "\u{fffd}",
    ];
    let mut names: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    names.extend([
        vec![0xff],
        vec![0xc0, 0xae, 0xc0, 0xae],
        b".git\xff".to_vec(),
        b"\x01".to_vec(),
        vec![b'n'; 255],
    ]);
    names
}
