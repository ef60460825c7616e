//! The walls of the source: which layer may import which, and which file may name which crate.

use std::collections::BTreeSet;

use crate::shape;
use crate::source::{self, SourceFile};

/// Each top-level module, and which others it may import: all of them stand above it.
const LAYERS: &str = "
base:
model: base
error: base model
config: base model error
store: base model error
worktree: base model error
ops: base model error config store worktree
workflow: base model error config store worktree ops
agent: base model error config store worktree ops workflow
answer: base model error ops workflow agent
shell: base model error config ops workflow agent answer
commands: base model error config ops workflow agent answer shell
cli: base model error config ops workflow agent answer shell commands
mcp: base model error config ops workflow agent answer shell cli
ui: base model error config ops workflow agent answer shell cli
main: cli mcp shell ui
";

/// The folders of the rim, above all that is pure.
pub const RIM: [&str; 5] = ["shell/", "commands/", "cli/", "mcp/", "ui/"];

/// Each outside crate, and the path prefixes of the files that may name it.
const DOORS: &str = "
anyhow: error store worktree
chrono: base/time answer/
clap: cli/ commands/ mcp/ shell/ ui/allow workflow/engine/
clap_complete: commands/completions cli/completion
clap_mangen: commands/man
directories: config
ctrlc: shell/signals
flate2: store/objects/deflate
getrandom: ui/door
git2: store/gc/deltas ops/browse/diff/file_diff
hex: model/state/object_id model/state/rel_path store/layout ui/door
hyper: ui/
hyper_util: ui/server
indicatif: shell/terminal/progress
jsonc_parser: agent/setup/json_edit
libdeflater: store/objects/deflate
libz_sys:
memchr: ops/browse/find/text_search worktree/rules/secrets
notify: shell/file_events
open: shell/browser
ratatui: shell/terminal/picker
rmcp: mcp/
rusqlite: worktree/sqlite
rustix: shell/child shell/environment shell/signals shell/terminal/prompt worktree/sys/unix store/lock store/files/atomic_file store/lifecycle/ownership base/read_regular
schemars: base/json model/json workflow/
serde: agent/ base/time/json mcp/ config error/failure base/json model/json ui/front workflow/
serde_json: agent/ base/json mcp/ model/state/state_document cli/schema error/failure ui/ workflow/ answer/
serde_path_to_error: base/json
sha1: store/objects/object_hash
sha1dc: store/objects/object_hash
sha2: store/trees/digest store/layout
signal_hook: shell/signals
strum: agent/ base/progress commands/ config/keys config/environment error/ model/ ops/ store/ workflow/
terminal_size: shell/terminal/printer
thiserror: base/malformed error store/objects/ workflow/words/
tokio: mcp/ ui/ shell/child
tokio_io_timeout: ui/
toml: config agent/setup/agents agent/setup/settings_toml
unicode_width: answer/table
walkdir: worktree/sys/portable store/gc/disk_usage
winapi_util: worktree/sys/portable
xxhash_rust: store/gc/reach store/small_files/stat_cache store/refs/commit_index store/files/checksummed_text
";

/// Words of code, and the path prefixes of the files that may have them.
const WORDS: [(&str, &str); 6] = [
    (
        "println! eprintln! print! eprint! dbg!",
        "shell/terminal/printer.rs",
    ),
    ("process::Command process::{ Command::new", "shell/child.rs"),
    (".unwrap() todo! unimplemented!", ""),
    ("process::exit", "shell/signals.rs"),
    // The rim, the clock of the file system, and waits for another process.
    (
        "Utc::now Local::now SystemTime::now Instant::now clock_gettime env::var env::current_dir",
        "shell/ commands/ cli/ mcp/ ui/ worktree/sys/ worktree/sqlite.rs store/lock.rs",
    ),
    ("env::args", "shell/ commands/ cli/ mcp/ ui/ main.rs"),
];

/// Files that read others by themselves, where a pipe in their place harms nobody: the door itself;
/// what the user names, perhaps a pipe; copies that were just made; directories; and beneath the
/// working directory the system calls of each platform.
const READERS: &str = "base/read_regular.rs commands/import.rs commands/args.rs ops/database/backup.rs \
    ops/database/restore_databases.rs store/files/atomic_file.rs store/lock.rs worktree/sys/";

/// The names of a table, each with the words after its colon.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let rows = table.lines().filter_map(|row| row.split_once(':'));
    rows.map(|(name, words)| (name, words.split_whitespace().collect()))
}

fn imports(file: &SourceFile) -> BTreeSet<String> {
    let is_main = file.module() == "main";
    source::heads_after(&file.code, if is_main { "checkpoint::" } else { "crate::" })
}

#[test]
fn every_module_imports_only_what_lies_below_it() {
    let layers: Vec<_> = rows(LAYERS).collect();
    for (at, (name, below)) in layers.iter().enumerate() {
        let above = &layers[..at];
        let is_above = |one: &&str| above.iter().any(|(name, _)| name == one);
        assert!(below.iter().all(is_above), "{name} would be in a circle");
    }
    let mut breaches = Vec::new();
    for file in source::files().iter().filter(|file| file.module() != "lib") {
        let Some((own, below)) = layers.iter().find(|(name, _)| *name == file.module()) else {
            breaches.push(format!("{}: its module is in no layer", file.name));
            continue;
        };
        let mut imports = imports(file);
        imports.retain(|import| import != own && !below.contains(&import.as_str()));
        breaches.extend(
            imports
                .iter()
                .map(|import| format!("{}: imports {import}", file.name)),
        );
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn each_outside_crate_is_named_only_at_its_door() {
    let mut breaches = Vec::new();
    for file in source::files() {
        for (outside, doors) in rows(DOORS) {
            let is_door = doors.iter().any(|door| file.name.starts_with(door));
            if !is_door && source::names_crate(&file.code, outside) {
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
        rows(DOORS).map(|(name, _)| name.to_owned()).collect()
    );
}

#[test]
fn only_the_files_that_may_print_start_programs_end_the_process_or_read_the_clock_do() {
    for (words, places) in WORDS {
        let breaches = source::lines_with(words, places);
        assert!(breaches.is_empty(), "{}", breaches.join("\n"));
    }
}

#[test]
fn small_files_are_read_through_one_door_which_no_pipe_blocks() {
    let breaches = source::lines_with("fs::read( fs::read_to_string( File::open(", READERS);
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

/// Pairs of which only one is compiled: the two forms of a door have the same names.
const PAIRS: [&str; 4] = ["BusyWait", "Dir", "Refusal", "Watched"];

/// Words that had several meanings, or are no word of the field: no type and no file is named so.
const BANNED: &str = "aftermath beside companion crew errand focus heed kept \
    prospect rim shelf supply tidy";

/// Words that do not say what a function does: no function is named so.
const BANNED_IN_FUNCTIONS: &str = "afresh anew apart around beside heed kept look looks manner \
    meant mend mended news said standing stretch told twice unasked";

/// Whether a name, in words of small letters, has one of these words.
fn is_any_of(name: &str, words: &str) -> bool {
    let snake = name.chars().flat_map(|c| {
        let gap = c.is_uppercase().then_some('_');
        gap.into_iter().chain(c.to_lowercase())
    });
    let snake: String = snake.collect();
    let mut parts = snake.split(['_', '/', '.']);
    parts.any(|part| words.split(' ').any(|word| word == part))
}

#[test]
fn each_name_of_the_source_has_one_meaning_and_no_banned_word() {
    let files = source::files();
    let homonyms = shape::homonyms(files);
    let several: Vec<&str> = homonyms
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(several, PAIRS, "names with several meanings");
    let types = shape::types(files);
    let names = files
        .iter()
        .map(|file| file.name.as_str())
        .chain(types.iter().map(String::as_str));
    let banned: Vec<&str> = names.filter(|name| is_any_of(name, BANNED)).collect();
    assert!(banned.is_empty(), "{banned:?}");
    let riddles: Vec<String> = files
        .iter()
        .flat_map(|file| source::functions(&file.code))
        .map(|(name, _)| name)
        .filter(|name| is_any_of(name, BANNED_IN_FUNCTIONS))
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
    let imports = shape::imports(files);
    let found = [
        (
            "files in a circle of imports",
            shape::in_circles(&imports),
            0,
        ),
        (
            "tables of the commands",
            shape::tables_of_commands(files),
            2,
        ),
        (
            "results with a bare string as error",
            shape::untyped_results(files),
            0,
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
