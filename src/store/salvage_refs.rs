//! What a damaged store still remembers of its checkpoints, whatever state its refs and its manifest are in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::model::manifest;
use crate::model::object_id::ObjectId;
use crate::store::commit_reader::read_checkpoint;
use crate::store::layout::Layout;
use crate::store::loose_files::names_in;
use crate::store::objects::Objects;
use crate::store::plain_file;
use crate::store::refs::{self, Family};

/// Ids and names, not looked at any further.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    pub checkpoints: BTreeSet<ObjectId>,
    pub pins: BTreeSet<ObjectId>,
    /// Refs that are none of ours, by their full name.
    pub others: BTreeMap<String, ObjectId>,
}

/// Collects what refs and rows name. If there are neither, every commit of ours counts: nothing tells then which of
/// them were dropped.
pub fn remembered(damaged: &Layout, objects: &Objects) -> Remembered {
    let mut found = Remembered::default();
    let family = |family| refs::read_family(damaged, family).unwrap_or_default().into_keys();
    found.checkpoints.extend(family(Family::Checkpoints));
    found.pins.extend(family(Family::Pins));
    found.others = other_refs(damaged);
    let manifest = plain_file::read(&damaged.manifest()).ok().filter(|bytes| manifest::is_readable(bytes));
    if let Some(bytes) = &manifest {
        for row in manifest::ids(&String::from_utf8_lossy(bytes)) {
            let named = objects.by_prefix(&row);
            found.checkpoints.extend(named.into_iter().filter(|id| read_checkpoint(objects, *id).is_ok()));
        }
    }
    if manifest.is_none() {
        let commits = objects.commits();
        found.checkpoints.extend(commits.into_iter().filter(|id| read_checkpoint(objects, *id).is_ok()));
    }
    found
}

fn other_refs(layout: &Layout) -> BTreeMap<String, ObjectId> {
    let mut found: BTreeMap<String, ObjectId> = refs::packed(layout).unwrap_or_default();
    let mut folders = vec!["refs".to_owned()];
    while let Some(folder) = folders.pop() {
        for name in names_in(&layout.dir().join(&folder)).unwrap_or_default() {
            let name = format!("{folder}/{name}");
            let path = layout.dir().join(&name);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                folders.push(name);
            } else if let Some(id) = id_in(&path) {
                found.insert(name, id);
            }
        }
    }
    let ours = ["refs/checkpoints/", "refs/meta/", "refs/pins/", "refs/heads/main"];
    found.retain(|name, _| !ours.iter().any(|prefix| name.starts_with(prefix)));
    found
}

fn id_in(path: &Path) -> Option<ObjectId> {
    ObjectId::from_hex(plain_file::read_text(path).ok()?.trim_end())
}
