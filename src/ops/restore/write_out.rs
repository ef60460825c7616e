//! Writes a checkpoint into a directory of its own: the plan, and the source of the bytes.

use std::collections::BTreeMap;
use std::io::Write;

use crate::error::Result;
use crate::model::{Checkpoint, ObjectId, RelPath, RestorePlan, RestoreScope, Snapshot};
use crate::ops::Context;
use crate::store::{ObjectError, Store};
use crate::worktree::apply::materialize::materialize;
use crate::worktree::{WantedTree, WorkTree};

/// Permission bits of a root for which none are recorded.
const USUAL_DIR: u32 = 0o755;

/// Plans writing a snapshot into an empty directory.
pub fn plan(snapshot: &Snapshot, scope: &RestoreScope) -> RestorePlan {
    let dirs = BTreeMap::from([(RelPath::root(), root_perm(snapshot))]);
    let empty = Snapshot {
        dirs,
        ..Snapshot::default()
    };
    RestorePlan::between(&empty, snapshot, scope, &|_, _| false)
}

pub fn root_perm(snapshot: &Snapshot) -> u32 {
    snapshot
        .dirs
        .get(&RelPath::root())
        .copied()
        .unwrap_or(USUAL_DIR)
}

/// Carries out such a plan; every byte is checked while written, and a failure leaves nothing
/// behind. `top`: the permission bits that the directory itself gets at the end.
pub fn write_out(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    plan: &RestorePlan,
    special_bits: bool,
    top: Option<u32>,
    work: &WorkTree,
) -> Result<()> {
    let files = plan.write.iter();
    let files: Vec<_> = files
        .map(|(path, write)| (path.clone(), write.after))
        .collect();
    let wanted = WantedTree {
        top,
        dirs: &plan.make_dirs,
        files: &files,
        special_bits,
    };
    let fetch = |number: usize, out: &mut dyn Write| {
        let (path, entry) = &files[number];
        content(store, checkpoint.id, work, path, entry.id, out)
    };
    materialize(work, &wanted, &fetch, &|_| Ok(()), &context.interrupt).map(drop)
}

/// Writes the checked bytes of one file of a checkpoint; `path` and `work` name it in a failure.
pub fn content(
    store: &Store,
    checkpoint: ObjectId,
    work: &WorkTree,
    path: &RelPath,
    blob: ObjectId,
    out: &mut dyn Write,
) -> Result<u64> {
    store
        .objects()
        .stream_blob(&blob, out)
        .map_err(|error| match error {
            ObjectError::Io(error) => error,
            ObjectError::Sink(error) => work.io("write", path, error),
            damage => store.damage(checkpoint, format!("{path}: {damage}")),
        })
}
