//! The shape of the source in figures: circles of imports, names with several meanings.

use std::collections::{BTreeMap, BTreeSet};

use crate::layers::RIM;
use crate::source::SourceFile;

/// Lower bound on the commands that an item names to count as a table of them.
const MAKES_A_TABLE: usize = 10;
const COMMANDS: [&str; 17] = [
    "create", "list", "show", "diff", "status", "restore", "undo", "redo", "delete", "prune",
    "verify", "pin", "find", "cat", "bisect", "hold", "relink",
];

/// Which files each file imports. Re-exports of a folder count as imported from its `mod.rs`.
pub fn imports(files: &[SourceFile]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeMap<String, &str> = files
        .iter()
        .map(|file| (module_path(&file.name), &*file.name))
        .collect();
    let of = |file: &SourceFile| {
        let own = module_path(&file.name);
        let mut targets: BTreeSet<String> = BTreeSet::new();
        for path in paths_of(&file.code, &own) {
            let parts: Vec<&str> = path.split("::").collect();
            let found = (1..=parts.len())
                .rev()
                .find_map(|len| modules.get(&parts[..len].join("::")));
            targets.extend(
                found
                    .filter(|name| **name != file.name)
                    .map(|name| (*name).to_owned()),
            );
        }
        (file.name.clone(), targets)
    };
    files.iter().map(of).collect()
}

/// The module of a file: `store/mod.rs` is `store`, `store/refs.rs` is `store::refs`.
fn module_path(name: &str) -> String {
    let path = name
        .trim_end_matches(".rs")
        .trim_end_matches("/mod")
        .replace('/', "::");
    if path == "lib" { String::new() } else { path }
}

/// Every path from the root of the crate that the code names, with lists expanded and `super` and
/// `self` resolved. Re-exports are left out: a re-export is not a use.
fn paths_of(code: &str, own: &str) -> Vec<String> {
    let above = own.rsplit_once("::").map_or("", |(above, _)| above);
    let mut found = Vec::new();
    for (head, base) in [("crate::", ""), ("super::", above), ("self::", own)] {
        for (at, _) in code.match_indices(head) {
            let line = &code[code[..at].rfind('\n').map_or(0, |end| end + 1)..at];
            if line.trim_start().starts_with("pub use")
                || line.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            {
                continue;
            }
            let base = if base.is_empty() {
                String::new()
            } else {
                format!("{base}::")
            };
            expand(&code[at + head.len()..], &base, &mut found);
        }
    }
    found
}

/// Expands one use-tree; returns the bytes that it takes.
fn expand(tree: &str, base: &str, found: &mut Vec<String>) -> usize {
    let end = tree
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(tree.len());
    let rest = &tree[end..];
    if let Some(deeper) = rest.strip_prefix("::") {
        return end + 2 + expand(deeper, &format!("{base}{}::", &tree[..end]), found);
    }
    if end > 0 || !rest.starts_with('{') {
        found.push(format!("{base}{}", &tree[..end]));
        return end;
    }
    let mut at = 1;
    while at < tree.len() && !tree[at..].starts_with('}') {
        let is_gap = tree[at..].starts_with(|c: char| c == ',' || c.is_whitespace() || c == '*');
        let taken = if is_gap {
            1
        } else {
            expand(&tree[at..], base, found)
        };
        at += taken.max(1);
    }
    at + 1
}

/// Files that import each other around a circle.
pub fn in_circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reach = |from: &String| {
        let mut met: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = imports[from].iter().collect();
        while let Some(file) = next.pop() {
            if met.insert(file) {
                next.extend(&imports[file]);
            }
        }
        met.contains(from)
    };
    imports.keys().filter(|file| reach(file)).cloned().collect()
}

/// Names of types and traits, each with the files that define it.
fn definitions(files: &[SourceFile]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut defined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        for line in file.code.lines() {
            let line = line.trim_start();
            let end = if line.starts_with("pub(") {
                ") "
            } else {
                "pub "
            };
            let bare = if line.starts_with("pub") {
                line.split_once(end).map_or("", |(_, rest)| rest)
            } else {
                line
            };
            let Some((word, rest)) = bare.split_once(' ') else {
                continue;
            };
            if matches!(word, "struct" | "enum" | "trait") {
                let name = rest
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or_default();
                defined.entry(name).or_default().insert(&file.name);
            }
        }
    }
    defined
}

/// Names of types and traits.
pub fn types(files: &[SourceFile]) -> Vec<String> {
    definitions(files).into_keys().map(str::to_owned).collect()
}

/// Names of types and traits that are defined in more than one file.
pub fn homonyms(files: &[SourceFile]) -> Vec<String> {
    let several = definitions(files)
        .into_iter()
        .filter(|(_, places)| places.len() > 1);
    several
        .map(|(name, places)| format!("{name}: {places:?}"))
        .collect()
}

/// Items (functions, enums, constants) that name most commands, so that a new one would have to be
/// added there too.
pub fn tables_of_commands(files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    let of_rim = |file: &&SourceFile| RIM.iter().any(|folder| file.name.starts_with(folder));
    for file in files.iter().filter(of_rim) {
        let mut item: (usize, BTreeSet<&str>) = (0, BTreeSet::new());
        let mut is_list_of_imports = false;
        // Strings count here: one kind of table holds the names as the user types them.
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, line) in text.lines().chain(["fn"]).enumerate() {
            let heads = [
                "fn", "pub", "enum", "const", "static", "impl", "struct", "use", "mod",
            ];
            let starts = heads.iter().any(|head| line.starts_with(head));
            if starts {
                if item.1.len() >= MAKES_A_TABLE {
                    found.push(format!("{}:{}", file.name, item.0 + 1));
                }
                item = (at, BTreeSet::new());
                is_list_of_imports = ["use ", "mod "].iter().any(|head| line.starts_with(head));
            }
            let is_no_table = is_list_of_imports || line.trim_start().starts_with("//");
            let words = line
                .split(|c: char| !c.is_alphanumeric())
                .map(str::to_lowercase);
            let named =
                words.filter_map(|word| COMMANDS.into_iter().find(|command| *command == word));
            item.1.extend(named.filter(|_| !is_no_table));
        }
    }
    found
}

/// Results whose error is a bare `String`, by file.
pub fn untyped_results(files: &[SourceFile]) -> Vec<String> {
    let of = |file: &SourceFile| {
        let results = file.code.match_indices("Result<").filter(|(at, head)| {
            last_argument(&file.code[at + head.len()..]).is_some_and(|last| last.trim() == "String")
        });
        (file.name.clone(), results.count())
    };
    let counted = files.iter().map(of).filter(|(_, count)| *count > 0);
    counted
        .flat_map(|(name, count)| std::iter::repeat_n(name, count))
        .collect()
}

/// The last of several generic arguments; `None` if there is only one.
fn last_argument(arguments: &str) -> Option<&str> {
    let (mut depth, mut comma) = (1, None);
    let mut before = ' ';
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 1 && !arguments[at + 1..].trim_start().starts_with('>') => {
                comma = Some(at + 1);
            }
            _ => {}
        }
        if depth == 0 {
            return Some(arguments[comma?..at].trim_end_matches([' ', '\n', ',']));
        }
        before = c;
    }
    None
}

#[test]
fn shapes_are_seen_in_a_source_made_for_it() {
    let file = |name: &str, code: &str| SourceFile {
        name: name.into(),
        text: code.into(),
        code: code.into(),
    };
    let files = [
        file("a/mod.rs", "pub use crate::a::b::B;\nmod b;"),
        file(
            "a/b.rs",
            "use crate::{c::{C, d}, a};\nstruct B;\nfn f() -> Result<(), String> {}",
        ),
        file(
            "c.rs",
            "use crate::a::b::B;\nenum C {}\nfn f() -> Result<String> {}",
        ),
        file(
            "c/d.rs",
            "use super::C;\npub(crate) struct B;\nfn f(x: Result<Vec<(u8, u8)>, Vec<String>>) {}",
        ),
    ];
    let imports = imports(&files);
    let of = |name: &str| imports[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a/mod.rs"), [""; 0]);
    assert_eq!(of("a/b.rs"), ["a/mod.rs", "c.rs", "c/d.rs"]);
    assert_eq!(of("c/d.rs"), ["c.rs"]);
    assert_eq!(in_circles(&imports), ["a/b.rs", "c.rs", "c/d.rs"]);
    assert_eq!(homonyms(&files).len(), 1);
    assert_eq!(untyped_results(&files), ["a/b.rs"]);
}
