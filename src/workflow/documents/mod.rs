//! The files of runs in the project: found and read. Documents are compared by content, not layout.

use std::fmt::Display;

use serde_json::Value;

use crate::base::json::parse;
use crate::model::RelPath;
use crate::workflow::profiles::pipeline::{self, PIPELINE_SCHEMA};
use crate::workflow::profiles::{dispatch, phases, registry};
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::{Finding, Profile};
use crate::worktree::WorkTree;
use crate::worktree::files::state_file;

pub mod conflict;
pub mod files;

/// Begins the name of an archive folder for files that no run owns.
pub const CORRUPT: &str = "corrupt";

/// Code of the finding on a file that lies behind a link or file in place of a directory.
pub const OUT_OF_REACH: &str = "out_of_reach";

/// Files whose names do not depend on the run.
const FIXED_PATHS: [&str; 3] = [PHASE_FILE, EXECUTION_FILE, pipeline::FILE];

/// One file of a profile in the project.
#[derive(Clone, Debug)]
pub struct OnDisk {
    pub path: String,
    pub profile: Profile,
    pub raw: String,
    /// The parsed document, or why it cannot be read.
    pub read: std::result::Result<Value, Finding>,
}

/// Renders a document as it is written to disk.
pub fn render(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{text}\n")
}

pub fn rel(path: &str) -> RelPath {
    RelPath::new(path.as_bytes()).unwrap_or_default()
}

/// Returns the files of all profiles. Anything else under such a name, such as a link, is an
/// unreadable file.
pub fn in_place(tree: &WorkTree) -> Vec<OnDisk> {
    let paths = FIXED_PATHS.map(str::to_owned);
    let of_registry = state_file::entries(tree, &rel(registry::FOLDER)).unwrap_or_default();
    let of_registry = of_registry
        .into_iter()
        .map(|name| format!("{}/{name}", registry::FOLDER));
    let paths = paths.into_iter().chain(of_registry);
    let on_disk = |path: String| {
        let profile = dispatch::profile_of_path(&path)?;
        let read = state_file::read(tree, &rel(&path)).transpose()?;
        let flaw = |code| move |why: &dyn Display| Finding::new(code, "", why.to_string());
        let read = read.map_err(|error| {
            let is_reached = state_file::is_reached(tree, &rel(&path));
            flaw(if is_reached { "no_json" } else { OUT_OF_REACH })(&error)
        });
        let bytes = read.as_deref().unwrap_or_default();
        Some(OnDisk {
            raw: String::from_utf8_lossy(bytes).into_owned(),
            profile,
            read: read.and_then(|bytes| parse(&bytes).map_err(|why| flaw("no_json")(&why))),
            path,
        })
    };
    paths.filter_map(on_disk).collect()
}

/// Removes what killed processes left beside the files. The caller has the lock.
pub fn sweep(tree: &WorkTree) {
    let files = FIXED_PATHS.into_iter().chain([pipeline::SCHEMA_FILE]);
    let folders = files.map(|path| rel(path).parent().unwrap_or_default());
    for folder in folders.chain([registry::FOLDER, registry::FAILED].map(rel)) {
        state_file::sweep_folder(tree, &folder);
    }
}

/// Returns the paths of all folders in the archives.
fn archive_folders(tree: &WorkTree) -> Vec<String> {
    let mut paths = Vec::new();
    for archive in [phases::ARCHIVE, pipeline::ARCHIVE] {
        let names = state_file::folders(tree, &rel(archive)).unwrap_or_default();
        paths.extend(names.iter().map(|name| format!("{archive}/{name}")));
    }
    paths
}

/// Returns the paths of regular files in a folder.
fn below(tree: &WorkTree, folder: &str) -> Vec<String> {
    let names = state_file::list(tree, &rel(folder)).unwrap_or_default();
    let path = |name| format!("{folder}/{name}");
    names.into_iter().map(path).collect()
}

/// Returns the paths of well-formed documents of any program, in place and put aside, of files that
/// were put aside because they were not, and of the schema that we write.
pub fn own_paths(tree: &WorkTree) -> Vec<String> {
    let mut paths: Vec<String> = in_place(tree).into_iter().map(|file| file.path).collect();
    paths.extend(below(tree, registry::FAILED));
    for folder in archive_folders(tree) {
        paths.extend(below(tree, &folder));
    }
    // It may be invalid.
    let is_in_form = |path: &String| {
        let value = read_value(tree, path).unwrap_or_default();
        let found = dispatch::profile_of_document(&value);
        match dispatch::profile_of_path(path) {
            _ if path.ends_with("/execution.json") => value.get("tasks").is_some(),
            wanted => found.is_some() && (wanted.is_none() || wanted == found),
        }
    };
    let is_any = !paths.is_empty();
    paths.retain(|path| path.contains(&format!("/{CORRUPT}_")) || is_in_form(path));
    if is_any {
        let schema = state_file::read(tree, &rel(pipeline::SCHEMA_FILE));
        let schema = schema.ok().flatten();
        let is_ours = schema.is_some_and(|bytes| bytes == PIPELINE_SCHEMA.as_bytes());
        paths.extend(is_ours.then(|| pipeline::SCHEMA_FILE.to_owned()));
    }
    paths
}

/// Reads a document; `None` if there is none that can be parsed.
pub fn read_value(tree: &WorkTree, path: &str) -> Option<Value> {
    parse(&state_file::read(tree, &rel(path)).ok().flatten()?).ok()
}
