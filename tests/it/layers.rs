//! The walls of the source: which layer may import which, and which file may name which crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape;
use crate::source::{self, SourceFile};

/// Each top-level module, and which others it may import.
const LAYERS: [(&str, &[&str]); 16] = [
    ("base", &[]),
    ("model", &["base"]),
    ("error", &["base", "model"]),
    ("config", &["base", "model", "error"]),
    ("store", &["base", "model", "error"]),
    ("worktree", &["base", "model", "error"]),
    (
        "ops",
        &["base", "model", "error", "config", "store", "worktree"],
    ),
    (
        "workflow",
        &[
            "base", "model", "error", "config", "store", "worktree", "ops",
        ],
    ),
    (
        "agent",
        &[
            "base", "model", "error", "config", "store", "worktree", "ops", "workflow",
        ],
    ),
    (
        "answer",
        &["base", "model", "error", "ops", "workflow", "agent"],
    ),
    (
        "shell",
        &[
            "base", "model", "error", "config", "ops", "workflow", "agent", "answer",
        ],
    ),
    (
        "commands",
        &[
            "base", "model", "error", "config", "ops", "workflow", "agent", "answer", "shell",
        ],
    ),
    (
        "cli",
        &[
            "base", "model", "error", "config", "ops", "workflow", "agent", "answer", "shell",
            "commands",
        ],
    ),
    (
        "mcp",
        &[
            "base", "model", "error", "config", "ops", "workflow", "agent", "answer", "shell",
            "cli",
        ],
    ),
    (
        "ui",
        &[
            "base", "model", "error", "config", "ops", "workflow", "agent", "answer", "shell",
            "cli",
        ],
    ),
    ("main", &["cli", "mcp", "shell", "ui"]),
];

/// The folders of the rim, above all that is pure.
pub const RIM: [&str; 5] = ["shell/", "commands/", "cli/", "mcp/", "ui/"];

/// Each outside crate, and the path prefixes of the files that may name it.
const DOORS: [(&str, &[&str]); 41] = [
    ("anyhow", &["error", "store", "worktree"]),
    ("chrono", &["base/time", "answer/"]),
    (
        "clap",
        &[
            "cli/",
            "commands/",
            "mcp/",
            "shell/",
            "ui/allow",
            "workflow/engine/",
        ],
    ),
    ("clap_complete", &["commands/completions", "cli/completion"]),
    ("clap_mangen", &["commands/man"]),
    ("directories", &["config"]),
    ("ctrlc", &["shell/signals"]),
    ("flate2", &["store/objects/deflate"]),
    ("getrandom", &["ui/door"]),
    ("git2", &["store/gc/deltas", "ops/browse/diff/file_diff"]),
    (
        "hex",
        &[
            "model/state/object_id",
            "model/state/rel_path",
            "store/layout",
            "ui/door",
        ],
    ),
    ("hyper", &["ui/"]),
    ("hyper_util", &["ui/server"]),
    ("indicatif", &["shell/terminal/progress"]),
    ("jsonc_parser", &["agent/setup/json_edit"]),
    ("libdeflater", &["store/objects/deflate"]),
    ("libz_sys", &[]),
    (
        "memchr",
        &["ops/browse/find/text_search", "worktree/rules/secrets"],
    ),
    ("open", &["shell/browser"]),
    ("ratatui", &["shell/terminal/picker"]),
    ("rmcp", &["mcp/"]),
    ("rusqlite", &["worktree/sqlite"]),
    (
        "rustix",
        &[
            "shell/child",
            "shell/environment",
            "shell/signals",
            "worktree/sys/unix",
            "store/lock",
            "store/files/atomic_file",
            "store/lifecycle/ownership",
            "base/read_regular",
        ],
    ),
    ("schemars", &["base/json", "model/json", "workflow/"]),
    (
        "serde",
        &[
            "agent/",
            "base/time/json",
            "mcp/",
            "config",
            "error/failure",
            "base/json",
            "model/json",
            "ui/front",
            "workflow/",
        ],
    ),
    (
        "serde_json",
        &[
            "agent/",
            "base/json",
            "mcp/",
            "model/state/state_document",
            "cli/schema",
            "error/failure",
            "ui/",
            "workflow/",
            "answer/",
        ],
    ),
    ("serde_path_to_error", &["base/json"]),
    ("sha1", &["store/objects/object_hash"]),
    ("sha1dc", &["store/objects/object_hash"]),
    ("sha2", &["store/trees/digest", "store/layout"]),
    ("signal_hook", &["shell/signals"]),
    (
        "strum",
        &[
            "agent/",
            "base/progress",
            "commands/",
            "config/keys",
            "config/environment",
            "error/",
            "model/",
            "ops/",
            "store/",
            "workflow/",
        ],
    ),
    ("terminal_size", &["shell/terminal/printer"]),
    (
        "thiserror",
        &[
            "base/malformed",
            "error",
            "store/objects/",
            "workflow/words/",
        ],
    ),
    ("tokio", &["mcp/", "ui/", "shell/child"]),
    ("tokio_io_timeout", &["ui/"]),
    (
        "toml",
        &["config", "agent/setup/agents", "agent/setup/settings_toml"],
    ),
    ("unicode_width", &["answer/table"]),
    ("walkdir", &["worktree/sys/portable", "store/gc/disk_usage"]),
    ("winapi_util", &["worktree/sys/portable"]),
    (
        "xxhash_rust",
        &[
            "store/gc/reach",
            "store/small_files/stat_cache",
            "store/refs/commit_index",
            "store/files/checksummed_text",
        ],
    ),
];

fn imports(file: &SourceFile) -> BTreeSet<String> {
    let head = if file.module() == "main" {
        "checkpoint::"
    } else {
        "crate::"
    };
    source::heads_after(&file.code, head)
}

#[test]
fn every_module_imports_only_what_lies_below_it() {
    let mut breaches = Vec::new();
    for file in source::files() {
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == file.module()) else {
            if file.module() != "lib" {
                breaches.push(format!(
                    "{}: the module {} is in no layer",
                    file.name,
                    file.module()
                ));
            }
            continue;
        };
        for import in imports(&file) {
            if import != file.module() && !allowed.contains(&import.as_str()) {
                breaches.push(format!("{}: imports {import}", file.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn no_two_modules_import_each_other_around_a_circle() {
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in source::files() {
        let mut imported = imports(&file);
        imported.remove(file.module());
        edges
            .entry(file.module().to_owned())
            .or_default()
            .extend(imported);
    }
    // Modules without remaining imports are removed; what cannot be removed is a circle.
    while let Some(free) = edges
        .iter()
        .find(|(_, to)| to.iter().all(|one| !edges.contains_key(one)))
        .map(|(m, _)| m.clone())
    {
        edges.remove(&free);
    }
    assert!(
        edges.is_empty(),
        "these modules import each other: {edges:?}"
    );
}

#[test]
fn each_outside_crate_is_named_only_at_its_door() {
    let mut breaches = Vec::new();
    for file in source::files() {
        for (outside, doors) in DOORS {
            if source::names_crate(&file.code, outside)
                && !doors.iter().any(|door| file.name.starts_with(door))
            {
                breaches.push(format!(
                    "{}: names {outside}, whose doors are {doors:?}",
                    file.name
                ));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn every_dependency_has_a_door_and_every_door_a_dependency() {
    // Cargo rewrites the manifest of a package, and puts this one beside it.
    let manifest = std::fs::read_to_string(source::package().join("Cargo.toml.orig"))
        .or_else(|_| std::fs::read_to_string(source::package().join("Cargo.toml")))
        .expect("the manifest can be read");
    let sections = [
        "[dependencies]",
        "[target.'cfg(unix)'.dependencies]",
        "[target.'cfg(windows)'.dependencies]",
    ];
    let mut inside = false;
    let mut named = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = sections.contains(&line);
        } else if let (true, Some((name, _))) = (inside, line.split_once('=')) {
            named.insert(
                name.trim()
                    .split('.')
                    .next()
                    .unwrap_or_default()
                    .replace('-', "_"),
            );
        }
    }
    assert_eq!(
        named,
        DOORS.iter().map(|(name, _)| (*name).to_owned()).collect()
    );
}

#[test]
fn nothing_prints_but_the_printer() {
    let breaches = source::lines_with(
        &["println!", "eprintln!", "print!", "eprint!", "dbg!"],
        "shell/terminal/printer.rs",
    );
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn other_programs_are_started_at_one_place_only() {
    let breaches = source::lines_with(
        &["process::Command", "process::{", "Command::new"],
        "shell/child.rs",
    );
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn nothing_unwraps_or_ends_the_process() {
    let mut breaches = source::lines_with(&[".unwrap()", "todo!", "unimplemented!"], "");
    breaches.extend(source::lines_with(&["process::exit"], "shell/signals.rs"));
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn nothing_is_unsafe() {
    let breaches = source::lines_with(&["unsafe "], "");
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn files_and_functions_stay_short_and_every_file_says_its_duty() {
    let mut breaches = Vec::new();
    for file in source::files() {
        let lines = file.text.lines().count();
        if lines > 800 {
            breaches.push(format!("{}: {lines} lines", file.name));
        }
        if !file.text.starts_with("//!") {
            breaches.push(format!("{}: does not begin with its duty", file.name));
        }
        for (name, lines) in source::functions(&file.code) {
            if lines > 70 {
                breaches.push(format!("{}: {name} has {lines} lines", file.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn the_clock_and_the_environment_are_read_in_cli_only() {
    let reads = [
        "Utc::now",
        "Local::now",
        "SystemTime::now",
        "Instant::now",
        "clock_gettime",
        "env::var",
        "env::current_dir",
        "env::args",
    ];
    let mut breaches = source::lines_with(&reads, "");
    // The clock of the file system, and waits for another process.
    let exceptions = [
        "worktree/sys/portable.rs:",
        "worktree/sys/unix.rs:",
        "worktree/sqlite.rs:",
        "store/lock.rs:",
    ];
    let at_the_rim = |line: &String| {
        RIM.iter().any(|folder| line.starts_with(folder))
            || exceptions.iter().any(|file| line.starts_with(file))
            || (line.starts_with("main.rs:") && line.ends_with("env::args"))
    };
    breaches.retain(|line| !at_the_rim(line));
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// Pairs of which only one is compiled: the two forms of a door have the same names.
const PAIRS: [&str; 4] = ["BusyWait", "Dir", "Refusal", "Watched"];

/// Words that had several meanings, or are no word of the field: no type and no file is named so.
const BANNED: [&str; 13] = [
    "aftermath",
    "beside",
    "companion",
    "crew",
    "errand",
    "focus",
    "heed",
    "kept",
    "prospect",
    "rim",
    "shelf",
    "supply",
    "tidy",
];

/// Words that do not say what a function does: no function is named so.
const BANNED_IN_FUNCTIONS: [&str; 20] = [
    "afresh", "anew", "apart", "around", "beside", "heed", "kept", "look", "looks", "manner",
    "meant", "mend", "mended", "news", "said", "standing", "stretch", "told", "twice", "unasked",
];

#[test]
fn each_name_of_the_source_has_one_meaning_and_no_banned_word() {
    let files = source::files();
    let homonyms = shape::homonyms(&files);
    let several: Vec<&str> = homonyms
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(several, PAIRS, "names with several meanings");
    let words_of = |name: &str| -> Vec<String> {
        let snake = name.chars().flat_map(|c| {
            c.is_uppercase()
                .then_some('_')
                .into_iter()
                .chain(c.to_lowercase())
        });
        snake
            .collect::<String>()
            .split(['_', '/', '.'])
            .map(str::to_owned)
            .collect()
    };
    let types = shape::types(&files);
    let names = files
        .iter()
        .map(|file| file.name.as_str())
        .chain(types.iter().map(String::as_str));
    let banned: Vec<&str> = names
        .filter(|name| words_of(name).iter().any(|word| BANNED.contains(&&**word)))
        .collect();
    assert!(banned.is_empty(), "{banned:?}");
    let riddles: Vec<String> = files
        .iter()
        .flat_map(|file| source::functions(&file.code))
        .map(|(name, _)| name)
        .filter(|name| {
            words_of(name)
                .iter()
                .any(|word| BANNED_IN_FUNCTIONS.contains(&&**word))
        })
        .collect();
    assert!(riddles.is_empty(), "{riddles:?}");
}

#[test]
fn every_place_that_the_architecture_names_is_there() {
    let text = std::fs::read_to_string(source::package().join("src/ARCHITECTURE.md"))
        .expect("it is there");
    assert!(
        text.lines().count() <= 150,
        "{} lines",
        text.lines().count()
    );
    let map = text
        .split("# Where is what")
        .nth(1)
        .and_then(|rest| rest.split("# Invariants").next())
        .expect("the map");
    let mut missing = Vec::new();
    for row in map.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<Vec<&str>> = row
            .split('|')
            .skip(1)
            .map(|cell| cell.split('`').skip(1).step_by(2).collect())
            .collect();
        for folder in &cells[0] {
            let src = source::package().join("src");
            let is_there = |path: &str| {
                [path.to_owned(), format!("{path}.rs")]
                    .iter()
                    .any(|path| src.join(path).exists())
            };
            if !is_there(folder) {
                missing.push((*folder).to_owned());
            }
            let inside = cells[1].iter().filter(|name| {
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || "_/".contains(c))
            });
            let anywhere = |name: &str| {
                let name = name.trim_end_matches('/');
                cells[0]
                    .iter()
                    .any(|folder| is_there(&format!("{folder}/{name}")))
                    || is_there(name)
            };
            missing.extend(
                inside
                    .filter(|name| !anywhere(name))
                    .map(|name| format!("{folder}: {name}")),
            );
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// Ratchets: no figure may grow, and a lower one becomes the new limit.
#[test]
fn what_there_is_too_much_of_only_falls() {
    let files = source::files();
    let imports = shape::imports(&files);
    let found = [
        (
            "files in a circle of imports",
            shape::in_circles(&imports),
            0,
        ),
        (
            "tables of the commands",
            shape::tables_of_commands(&files),
            2,
        ),
        (
            "results with a bare string as error",
            shape::untyped_results(&files),
            1,
        ),
    ];
    let wrong: Vec<String> = found
        .iter()
        .filter(|(_, found, limit)| found.len() != *limit)
        .map(|(what, found, limit)| {
            format!(
                "{what}: {}, the limit is {limit}\n  {}",
                found.len(),
                found.join("\n  ")
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that read others by themselves, and why a pipe in their place harms nobody.
const READERS: [(&str, &str); 7] = [
    ("base/read_regular.rs", "the door"),
    (
        "commands/import.rs",
        "a bundle that the user names, perhaps a pipe",
    ),
    (
        "commands/args.rs",
        "a list that the user names, perhaps a pipe",
    ),
    (
        "ops/database/backup.rs",
        "a copy that was just made, and what a command was just given to write into",
    ),
    (
        "ops/database/restore_databases.rs",
        "a copy that was just made",
    ),
    ("store/files/atomic_file.rs", "directories"),
    ("store/lock.rs", "directories"),
];

#[test]
fn small_files_are_read_through_one_door_which_no_pipe_blocks() {
    let words = ["fs::read(", "fs::read_to_string(", "File::open("];
    let mut found = Vec::new();
    for file in source::files() {
        let is_known = READERS.iter().any(|(name, _)| *name == file.name);
        // Beneath the working directory, the system calls of each platform.
        if is_known || file.name.starts_with("worktree/sys/") {
            continue;
        }
        for (at, line) in file.code.replace("run_refs::", "").lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {}", file.name, at + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
