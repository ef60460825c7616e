//! The program's own source as text: without comments, strings and tests, and questions about it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use walkdir::WalkDir;

use crate::bench::os;

pub struct SourceFile {
    /// Path below `src`.
    pub name: String,
    pub text: String,
    /// Text before the first `#[cfg(test)]`, without comments and the content of strings; same
    /// lines. Empty for a file of tests.
    pub code: String,
}

impl SourceFile {
    /// The top-level module to which the file belongs.
    pub fn module(&self) -> &str {
        let first = self.name.split('/').next().unwrap_or(&self.name);
        first.strip_suffix(".rs").unwrap_or(first)
    }
}

pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn files() -> &'static [SourceFile] {
    static FILES: LazyLock<Vec<SourceFile>> = LazyLock::new(read_files);
    &FILES
}

fn read_files() -> Vec<SourceFile> {
    let src = package().join("src");
    let paths: Vec<PathBuf> = WalkDir::new(&src)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("the source can be walked").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    assert!(!paths.is_empty(), "no source below {}", src.display());
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("the source can be read");
        let name = path.strip_prefix(&src).expect("below src");
        let name = String::from_utf8(os::bytes_of(name.as_os_str())).expect("UTF-8");
        let is_test = name.ends_with("tests.rs") || name.contains("tests/");
        let code = if is_test {
            String::new()
        } else {
            strip(text.split("#[cfg(test)]").next().unwrap_or(&text))
        };
        SourceFile { name, text, code }
    };
    paths.iter().map(read).collect()
}

/// The first names after each `head`, also in lists such as `crate::{model, error}`.
pub fn heads_after(code: &str, head: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(head) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + head.len()..];
        if let Some(list) = rest.strip_prefix('{') {
            found.extend(heads_of_list(list));
        } else {
            found.insert(word(rest).to_owned());
        }
    }
    found
}

/// The first name of each item of a list whose opening brace is already consumed.
fn heads_of_list(list: &str) -> Vec<String> {
    let mut depth = 1;
    let mut heads = Vec::new();
    let mut at_start = true;
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_start = true,
            c if at_start && depth == 1 && !c.is_whitespace() => {
                heads.push(word(&list[at..]).to_owned());
                at_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn word(text: &str) -> &str {
    &text[..text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len())]
}

/// Whether the code names this crate: as the head of a path or in a `use` of its own.
///
/// A module of ours with a crate's name does not count: where a `use crate::…` imports it, the name
/// is ours.
pub fn names_crate(code: &str, name: &str) -> bool {
    let own = code
        .split("use crate::")
        .skip(1)
        .filter_map(|rest| rest.split(';').next());
    if own.into_iter().any(|list| {
        list.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == name)
    }) {
        return false;
    }
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end_matches("::");
        let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let leads = before.len() == at || !before.ends_with(|c: char| c.is_alphanumeric());
        let after = &code[at + name.len()..];
        let is_use = before.ends_with("use ") && after.starts_with([';', ' ']);
        starts && leads && (after.starts_with("::") || is_use)
    })
}

/// The lines of code with one of these words, except in the files whose paths begin so.
pub fn lines_with(words: &str, places: &str) -> Vec<String> {
    let mut found = Vec::new();
    let may = |file: &&SourceFile| {
        places
            .split_whitespace()
            .any(|place| file.name.starts_with(place))
    };
    for file in files().iter().filter(|file| !may(file)) {
        for (at, line) in file.code.lines().enumerate() {
            let has = |word: &&str| {
                let mut before = line.match_indices(*word).map(|(at, _)| &line[..at]);
                word.starts_with('.') && line.contains(*word)
                    || before
                        .any(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            let word = words.split(' ').find(has);
            found.extend(word.map(|word| format!("{}:{}: {word}", file.name, at + 1)));
        }
    }
    found
}

/// Name and line count of each function that has a body.
pub fn functions(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + 3..];
        let name = word(rest);
        let Some(open) = rest
            .find(['{', ';'])
            .filter(|open| rest[*open..].starts_with('{'))
        else {
            continue;
        };
        let mut depth = 0;
        let end = rest[open..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0
        });
        if let (false, Some((end, _))) = (name.is_empty(), end) {
            found.push((name.to_owned(), rest[..=open + end].lines().count()));
        }
    }
    found
}

/// The same text without comments, strings and characters; line breaks stay.
fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = comment(rest)
            .or_else(|| raw_string(rest, &out))
            .or_else(|| string(rest))
            .or_else(|| character(rest));
        let taken = skipped.unwrap_or_else(|| {
            out.push(first);
            first.len_utf8()
        });
        if skipped.is_some() {
            out.extend(rest[..taken].chars().filter(|c| *c == '\n'));
        }
        rest = &rest[taken..];
    }
    out
}

/// The contents of the strings of a program before its tests; placeholders such as `{id}` stay.
pub fn literals(text: &str) -> Vec<String> {
    let mut rest = text.split("#[cfg(test)]").next().unwrap_or(text);
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let whole = string(rest).map(|taken| &rest[1..taken - 1]);
        found.extend(whole.map(unescaped));
        let taken = comment(rest)
            .or_else(|| string(rest))
            .or_else(|| character(rest));
        rest = &rest[taken.unwrap_or(first.len_utf8())..];
    }
    found
}

/// Removes a line break after a backslash, with the blanks that follow it.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    let joined = pieces.fold(first, |joined, piece| joined + piece.trim_start());
    joined.replace("\\\"", "\"").replace("\\n", "\n")
}

#[test]
fn strings_are_found_as_the_program_has_them() {
    let text = "a(\"one {x} \\\n   two\") // \"no\"\n 'c' \"say \\\"it\\\"\"\n#[cfg(test)] \"no\"";
    assert_eq!(literals(text), ["one {x} two", "say \"it\""]);
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*")
        .then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
}

fn raw_string(rest: &str, before: &str) -> Option<usize> {
    if before.ends_with(|c: char| (c.is_alphanumeric() && c != 'b') || c == '_') {
        return None;
    }
    let hashes = rest
        .strip_prefix('r')?
        .bytes()
        .take_while(|byte| *byte == b'#')
        .count();
    let body = rest[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + body.find(&close)? + close.len())
}

fn string(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('"')?;
    let mut escaped = false;
    let end = body.char_indices().find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    Some(end.map_or(rest.len(), |(end, _)| end + 2))
}

/// Length of a character in quotes; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    if let Some(escaped) = body.strip_prefix('\\') {
        let end = escaped.char_indices().skip(1).find(|(_, c)| *c == '\'')?;
        return Some(3 + end.0);
    }
    let first = body.chars().next()?;
    body[first.len_utf8()..]
        .starts_with('\'')
        .then_some(2 + first.len_utf8())
}

#[test]
fn comments_strings_and_characters_are_taken_out() {
    let text =
        "a // git2::x\n\"git2::\\\"y\" b r#\"git2::\"z\"# c '\"' d '\\'' 'l e\n/* git2:: */f";
    assert_eq!(strip(text), "a \n b  c  d  'l e\nf");
}

#[test]
fn imports_are_found_alone_and_in_lists() {
    let code = "use crate::model::x::Y;\nuse crate::{error::{A, B}, ops};\nlet x = crate::store::Z; mycrate::no";
    let heads: Vec<String> = heads_after(code, "crate::").into_iter().collect();
    assert_eq!(heads, ["error", "model", "ops", "store"]);
    assert!(names_crate("use sha2::Digest;", "sha2") && names_crate("= hex::encode(x)", "hex"));
    assert!(!names_crate(
        "self::hex::y; my_hex::x; let hex = 1; checkpoint::hex::x",
        "hex"
    ));
}

#[test]
fn functions_are_measured_from_head_to_closing_brace() {
    let code = "fn a() { x }\ntrait T { fn b(); }\nfn c() {\n  {\n  }\n}\n";
    assert_eq!(functions(code), [("a".to_owned(), 1), ("c".to_owned(), 4)]);
}
