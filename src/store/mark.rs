//! The mark of a prune: every object that something still needs.

use crate::error::{Error, Result};
use crate::model::object_id::ObjectId;
use crate::store::commit_codec;
use crate::store::hash::ObjectKind;
use crate::store::inventory::Inventory;
use crate::store::journal::{self, JournalState};
use crate::store::refs;
use crate::store::tree_codec::{self, MODE_GITLINK};
use crate::store::{ObjectIds, Store};

/// Objects reachable from any ref, or named by the journal, leaving out refs of `gone` checkpoints.
///
/// # Errors
/// A ref, the journal, a commit or a tree that cannot be read: what it needs is unknown then, so nothing may go.
pub fn live(store: &Store, gone: &ObjectIds) -> Result<ObjectIds> {
    let mut live = ObjectIds::new();
    let mut pending = roots(store, gone)?;
    while let Some(id) = pending.pop() {
        if !live.insert(id) {
            continue;
        }
        let read = store.objects().read(&id).map_err(|e| e.to_string());
        let (kind, bytes) = read.map_err(|why| unreadable(id, &why))?;
        match kind {
            ObjectKind::Blob => {}
            ObjectKind::Commit => {
                let commit = commit_codec::parse(&bytes).map_err(|why| unreadable(id, &why))?;
                pending.extend(commit.parents);
                pending.push(commit.tree);
            }
            ObjectKind::Tree => {
                for entry in tree_codec::parse(&bytes).map_err(|why| unreadable(id, &why))? {
                    if entry.is_directory() {
                        pending.push(entry.id);
                    } else if entry.mode != MODE_GITLINK {
                        live.insert(entry.id);
                    }
                }
            }
        }
    }
    Ok(live)
}

fn roots(store: &Store, gone: &ObjectIds) -> Result<Vec<ObjectId>> {
    let layout = store.layout();
    let mut roots = refs::roots(layout, gone)?;
    match journal::read(layout)? {
        JournalState::None => {}
        JournalState::Open(journal) => roots.extend([journal.target, journal.safety]),
        JournalState::Unreadable => {
            let why = "it may name checkpoints that are needed; 'checkpoint undo' ends it".to_owned();
            return Err(Error::Damaged { what: "the journal of an interrupted restore".into(), why });
        }
    }
    // `main` is derived: one that names nothing is no reason to stop, unless that is a checkpoint.
    let lost_main = refs::read_main(layout)?.filter(|id| !store.objects().contains(id) && !refs::exists(layout, *id));
    roots.retain(|id| Some(*id) != lost_main);
    let known: ObjectIds = roots.iter().copied().collect();
    // Metas are named by trailers too: a lost meta ref must not cost the meta.
    for checkpoint in Inventory::read(layout, store.objects())?.checkpoints {
        roots.extend(checkpoint.meta.filter(|_| known.contains(&checkpoint.id)));
    }
    Ok(roots)
}

fn unreadable(id: ObjectId, why: &str) -> Error {
    Error::Damaged { what: format!("object {}", id.short()), why: format!("{why}; nothing is pruned while that is so") }
}
