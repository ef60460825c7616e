//! Finds and reads the profile files in the project; documents are compared by content, not layout.

use serde_json::Value;

use crate::base::json::parse;
use crate::error::Result;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::store::trees::digest;
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::profile::{self, Profile};
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// One profile file in the project.
#[derive(Clone, Debug)]
pub struct OnDisk {
    pub path: String,
    pub profile: Profile,
    pub bytes: Vec<u8>,
    /// The parsed document, or why it cannot be read.
    pub read: std::result::Result<Value, String>,
}

impl OnDisk {
    /// Whether the document has the form expected at its path, valid or not.
    pub fn is_in_form(&self) -> bool {
        self.read.as_ref().is_ok_and(|value| match self.profile {
            Profile::Phases if self.path == profile::EXECUTION_FILE => value.get("tasks").is_some(),
            profile => dispatch::profile_of_document(value) == Some(profile),
        })
    }

    /// Checksum of the content: equal for two files with equal documents.
    pub fn sum(&self) -> Option<String> {
        self.read.as_ref().ok().map(sum)
    }
}

/// Renders a document as it is written to disk.
pub fn render(value: &Value) -> String {
    format!(
        "{}\n",
        serde_json::to_string_pretty(value).unwrap_or_default()
    )
}

pub fn sum(value: &Value) -> String {
    digest::sum_of_bytes(render(value).as_bytes())
}

/// Checksum of the text of a document; `None` if it does not parse.
pub fn sum_of_text(bytes: &[u8]) -> Option<String> {
    parse(bytes).ok().map(|value| sum(&value))
}

pub fn rel(path: &str) -> RelPath {
    RelPath::new(path.as_bytes()).unwrap_or_default()
}

/// Returns the files of all profiles. Anything else under such a name, such as a link, is an
/// unreadable file.
///
/// # Errors
/// The root cannot be opened.
pub fn on_disk(context: &Context) -> Result<Vec<OnDisk>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    Ok(in_place(&WorkTree::open_root(&context.root)?))
}

/// As [`on_disk`], in an open root.
pub fn in_place(work: &WorkTree) -> Vec<OnDisk> {
    let mut paths: Vec<String> = [profile::PHASE_FILE, profile::EXECUTION_FILE, pipeline::FILE]
        .map(str::to_owned)
        .to_vec();
    let names = state_file::list(work, &rel(registry::FOLDER)).unwrap_or_default();
    paths.extend(
        names
            .iter()
            .map(|name| format!("{}/{name}", registry::FOLDER)),
    );
    paths
        .into_iter()
        .filter_map(|path| read(work, path))
        .collect()
}

/// Paths of old files that other programs archived in the folders that we use as well.
pub fn put_aside(work: &WorkTree) -> Vec<String> {
    let below = |folder: &str| {
        let names = state_file::list(work, &rel(folder)).unwrap_or_default();
        names
            .into_iter()
            .map(|name| format!("{folder}/{name}"))
            .collect::<Vec<_>>()
    };
    let mut paths = below(registry::FAILED);
    for archive in [phases::ARCHIVE, pipeline::ARCHIVE] {
        let folders = state_file::folders(work, &rel(archive)).unwrap_or_default();
        paths.extend(
            folders
                .iter()
                .flat_map(|folder| below(&format!("{archive}/{folder}"))),
        );
    }
    paths.retain(|path| {
        let bytes = state_file::read(work, &rel(path)).ok().flatten();
        let value = bytes.and_then(|bytes| parse(&bytes).ok());
        let is_list = path.ends_with("/execution.json");
        value.is_some_and(|value| {
            dispatch::profile_of_document(&value).is_some()
                || (is_list && value.get("tasks").is_some())
        })
    });
    paths
}

fn read(work: &WorkTree, path: String) -> Option<OnDisk> {
    let profile = dispatch::profile_of_path(&path)?;
    let (bytes, read) = match state_file::read(work, &rel(&path)) {
        Ok(None) => return None,
        Ok(Some(bytes)) => {
            let read = parse(&bytes).map_err(|why| why.to_string());
            (bytes, read)
        }
        Err(error) => (Vec::new(), Err(error.to_string())),
    };
    Some(OnDisk {
        path,
        profile,
        bytes,
        read,
    })
}
