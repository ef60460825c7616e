//! Known patterns and paths, each group a tree with ignore files in which every path is compared.

use crate::bench::os::symlink;

use super::oracle::Oracle;

/// Ignore files by directory, and paths; a `/` at the end makes a directory.
type Group = (
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

const GROUPS: &[Group] = &[
    // Names, directories and anchors.
    (
        &[("", "foo\n")],
        &["foo", "a/foo", "foobar", "a/foo.c", "b/foo/x", "Foo"],
    ),
    (&[("", "foo/\n")], &["foo", "a/foo/", "a/foo/x", "b/foo"]),
    (&[("", "/foo\n")], &["foo", "a/foo", "a/b/foo"]),
    (&[("", "/foo/\n")], &["foo/x", "a/foo/x"]),
    (&[("", "a/foo\n")], &["a/foo", "b/a/foo", "foo"]),
    (&[("", "a/foo/\n")], &["a/foo/x", "b/a/foo/x"]),
    (&[("", "/\n//\n!\n!/\n")], &["x", "a/x"]),
    (&[("", "//foo\n")], &["foo", "a/foo"]),
    (&[("", "./foo\na/./b\n")], &["foo", "a/b"]),
    (&[("", "foo//\nbar//x\n")], &["foo/x", "bar/x"]),
    // Wildcards.
    (&[("", "*.c\n")], &["a.c", ".c", "a/b.c", "a.cc", "d.c/x"]),
    (&[("", "a?c\n")], &["abc", "ac", "abbc", "a/c", "x/a-c"]),
    (&[("", "a*/b\n")], &["a/b", "ab/b", "ab/c/b", "x/a/b"]),
    (
        &[("", "*\n!*/\n!*.rs\n")],
        &["a.rs", "a.c", "d/a.rs", "d/e/a.rs", "d/e/b"],
    ),
    (&[("", "*a*b*c*\n")], &["abc", "xaxbxcx", "acb", "aabbcc"]),
    (&[("", "/*\n!/keep\n")], &["keep/x", "other/x", "file"]),
    // Double stars.
    (
        &[("", "**/foo\n")],
        &["foo", "a/foo", "a/b/foo", "c/foo/b", "xfoo"],
    ),
    (
        &[("", "**/foo/bar\n")],
        &["foo/bar", "a/foo/bar", "foo/x/bar", "afoo/bar"],
    ),
    (
        &[("", "abc/**\n")],
        &["abc/x", "abc/y/z", "d/abc/x", "abcd"],
    ),
    (
        &[("", "a/**/b\n")],
        &["a/b", "a/x/b", "a/x/y/b", "x/a/b", "a/bb"],
    ),
    (&[("", "a/**/**/b\n")], &["a/b", "a/x/b", "a/x/y/b"]),
    (&[("", "a**b\n")], &["ab", "axb", "a/b", "a/x/b"]),
    (&[("", "a**/b\n")], &["a/b", "ax/b", "ax/y/b", "a/x/y/b"]),
    (&[("", "x/a**\n!x/ab\n")], &["x/a", "x/ab", "x/abc/d"]),
    (&[("", "/**\n!/a\n")], &["a", "b", "c/a"]),
    (&[("", "**\n!**/\n")], &["a", "b/c"]),
    (&[("", "**/\n")], &["a", "b/c"]),
    (&[("", "/**/a/**/b\n")], &["a/b", "x/a/y/b", "x/y/a/b/c"]),
    (&[("", "a/***/b\n")], &["a/b", "a/x/b", "a/x/y/b"]),
    (&[("", "***\n")], &["a", "b/c"]),
    (
        &[("", "a/**\n!a/keep\n")],
        &["a/keep", "a/other", "a/b/keep"],
    ),
    (&[("", "**\\/x\n")], &["x", "a/x", "a/b/x"]),
    (&[("", "a\\/b\n")], &["a/b", "c/a/b"]),
    // Brackets.
    (&[("", "[abc]\n")], &["a", "b", "d", "[abc]", "ab"]),
    (&[("", "[a-c]x\n")], &["ax", "cx", "dx", "-x", "x"]),
    (
        &[("", "[!a]x\n[^b]y\n")],
        &["ax", "bx", "ay", "by", "!x", "^y"],
    ),
    (&[("", "[]]a\n[!]]b\n")], &["]a", "xa", "]b", "xb"]),
    (
        &[("", "[]-]a\n[--0]b\n")],
        &["]a", "-a", "xa", "-b", ".b", "0b", "1b"],
    ),
    (&[("", "[\\]]a\n[\\\\]b\n")], &["]a", "\\b", "xa", "xb"]),
    (
        &[("", "[a\nb[\nc[]\nd[a-\n")],
        &["[a", "a", "b[", "c[]", "d[a-"],
    ),
    (
        &[("", "[[:digit:][:upper:]_]x\n")],
        &["1x", "Ax", "ax", "_x", ":x"],
    ),
    (
        &[("", "[[:nope:]]x\n[[:digit]y\n[:a]z\n")],
        &["nx", "[y", "dy", ":z", "az", "iy"],
    ),
    (
        &[("", "[[:]x\n[[:alpha:]-z]y\n")],
        &["[x", ":x", "-y", "zy", "1y"],
    ),
    (&[("", "[z-a]x\n[a-a]y\n")], &["zx", "ax", "bx", "ay"]),
    (&[("", "a[/]b\na[!x]b\n")], &["a/b", "ayb", "axb"]),
    (&[("", "[\\a-\\c]x\n")], &["ax", "bx", "\\x", "dx"]),
    // Escapes, blanks, comments and line ends.
    (
        &[("", "#a\n\\#b\n # c\n")],
        &["#a", "a", "#b", "b", " # c", "# c"],
    ),
    (&[("", "!a\n\\!b\n")], &["!a", "a", "!b", "b"]),
    (
        &[("", "*\n!!a\n!\\!b\n!#c\n")],
        &["!a", "a", "!b", "b", "#c"],
    ),
    (
        &[("", "a \nb\\ \nc\\  \nd\t\n e\n")],
        &["a", "a ", "b", "b ", "c ", "c  ", "d", "d\t", "e", " e"],
    ),
    (
        &[("", "a\r\nb \r\nc\r\r\n\r\nd\r")],
        &["a", "a\r", "b", "b ", "c", "c\r", "d", "d\r", "\r"],
    ),
    (&[("", "\u{feff}a\nb\n")], &["a", "b", "\u{feff}a"]),
    (&[("", "b\n\u{feff}a\n")], &["a", "b", "\u{feff}a"]),
    (
        &[("", "a\\\nb\\\\\n\\c\n\\*\n\\?d\n")],
        &["a", "a\\", "b\\", "b", "c", "\\c", "*", "x", "?d", "xd"],
    ),
    (&[("", "a\0b\nc\n")], &["a", "ab", "c", "b"]),
    (&[("", "a\\ b\nc d\n\\ e\n")], &["a b", "c d", " e", "a"]),
    (&[("", "a/ \nb/\\ \n")], &["a/x", "b/ ", "b/x"]),
    (&[("", "foo\\/\n")], &["foo/x", "foo\\"]),
    (&[("", "no newline at end")], &["no newline at end", "x"]),
    (
        &[("", "ünï*\n\u{1f4a9}?\n")],
        &["ünïx", "unix", "\u{1f4a9}x", "\u{1f4a9}"],
    ),
    // Negation, nesting and precedence.
    (
        &[("", "*.log\n!keep.log\n")],
        &["a.log", "keep.log", "d/keep.log", "d/b.log"],
    ),
    (&[("", "!keep.log\n*.log\n")], &["keep.log"]),
    (&[("", "d/\n!d/keep\n")], &["d/keep", "d/other"]),
    (
        &[("", "d/*\n!d/keep\n")],
        &["d/keep", "d/other", "x/d/other"],
    ),
    (
        &[("", "*.log\n"), ("d", "!*.log\n")],
        &["a.log", "d/a.log", "d/e/a.log"],
    ),
    (
        &[("", "!*.log\n"), ("d", "*.log\n")],
        &["a.log", "d/a.log", "d/e/a.log"],
    ),
    (&[("", "d/\n"), ("d", "!*\n")], &["d/a", "e/a"]),
    (
        &[("d", "/a\nb/c\n")],
        &["a", "d/a", "d/e/a", "d/b/c", "b/c", "d/e/b/c"],
    ),
    (
        &[("d", "*\n!e/\n!e/**\n"), ("d/e", "x\n")],
        &["d/a", "d/e/a", "d/e/x", "d/f/x"],
    ),
    (
        &[("d", "**/a\n**/b/c\nx/**\n")],
        &["d/a", "d/e/a", "a", "d/b/c", "d/e/b/c", "d/x/y", "x/y"],
    ),
    (
        &[("", "a\n"), ("a", "!b\n"), ("c", "!a\n")],
        &["a/b", "c/a", "c/d/a"],
    ),
    (&[("", "*\n"), ("a", "!*\n")], &["a/b", "c"]),
    (
        &[("", "node_modules/\n*.pyc\nbuild/\n!/tools/build/\n")],
        &["build/x", "tools/build/x", "a/tools/build/x", "a.pyc"],
    ),
];

const MIN_CASES: usize = 120;

#[test]
fn the_corpus_gets_the_verdicts_of_git() {
    let mut cases = 0;
    for (ignore_files, paths) in GROUPS {
        let Some(oracle) = Oracle::new() else { return };
        for path in *paths {
            oracle.write(path.as_bytes(), b"");
        }
        for (dir, text) in *ignore_files {
            let slash = if dir.is_empty() { "" } else { "/" };
            oracle.write(
                format!("{dir}{slash}.gitignore").as_bytes(),
                text.as_bytes(),
            );
        }
        cases += oracle.compare(&format!("{ignore_files:?}")).0;
    }
    println!("{cases} cases");
    assert!(cases >= MIN_CASES, "only {cases} cases");
}

#[test]
fn classes_have_the_members_that_git_gives_them() {
    const CLASSES: &[&str] = &[
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "xdigit", "word",
    ];
    let Some(oracle) = Oracle::new() else { return };
    for class in CLASSES {
        for byte in (1..=255).filter(|byte| !b"./".contains(byte)) {
            oracle.write(&[class.as_bytes(), b"/", &[byte]].concat(), b"");
            oracle.write(&[class.as_bytes(), b"/not/", &[byte]].concat(), b"");
        }
        oracle.write(
            format!("{class}/.gitignore").as_bytes(),
            format!("[[:{class}:]]\n").as_bytes(),
        );
        oracle.write(
            format!("{class}/not/.gitignore").as_bytes(),
            format!("!*\n[![:{class}:]\\x-\\z]\n").as_bytes(),
        );
    }
    oracle.compare("classes");
}

#[test]
fn a_pattern_for_directories_passes_over_a_link_to_one() {
    let Some(oracle) = Oracle::new() else { return };
    oracle.write(b"real/x", b"");
    oracle.write(b".gitignore", b"link/\nreal/\nother\n");
    symlink("real", oracle.root().join("link")).unwrap();
    symlink("real", oracle.root().join("other")).unwrap();
    assert_eq!(oracle.compare("links"), (4, 3));
    let ignored = oracle.ignored_by_us(&oracle.walk());
    assert!(!ignored.contains(b"link".as_slice()) && ignored.contains(b"other".as_slice()));
}

#[test]
fn the_lowest_list_is_asked_when_no_ignore_file_decides() {
    let Some(oracle) = Oracle::new() else { return };
    for path in [
        "dist/x", "a/dist/x", "b/dist/x", "y.tmp", "b/y.tmp", "keep.log",
    ] {
        oracle.write(path.as_bytes(), b"");
    }
    oracle.write(b".git/info/exclude", b"dist/\n*.tmp\n!*.log\n");
    oracle.write(b".gitignore", b"!/dist/\n*.log\n");
    oracle.write(b"b/.gitignore", b"!*.tmp\n");
    oracle.compare("lowest list");
}
