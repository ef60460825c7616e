//! `restore --patch`: changes of lines within files, made a checkpoint of those files, to which the
//! directory is then restored like to any other.

use std::collections::BTreeMap;

use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::patch::{self, FilePatch};
use crate::model::{
    Checkpoint, CheckpointTerms, Entry, Kind, PlannedWrite, RelPath, RestorePlan, RestoreScope,
    Scope, ScopePart, Verb,
};
use crate::ops::browse::diff::file_diff::LARGEST_TEXT_BYTES;
use crate::ops::create::command::create;
use crate::ops::create::options::checked_text;
use crate::ops::restore::commands::restore;
use crate::ops::restore::planned_restore::refuse_other_plan;
use crate::ops::restore::protocol;
use crate::ops::select::checkpoint::current;
use crate::ops::{
    CommonOptions, Consent, Context, CreateOptions, DedupPolicy, LoadedVersion, RestoreOptions,
    RestoreOutcome, RestoreRequest, Target, TypedWords, WorktreeSide, session,
};
use crate::store::objects::object_hash::hash_object;
use crate::store::trees::digest;
use crate::store::{ObjectKind, Store};

/// Applies a patch to the directory.
///
/// # Errors
/// It is no patch of lines, does not fit the files, or the restore fails.
pub fn restore_patch(
    context: &Context,
    (bytes, name): (&[u8], &str),
    common: &CommonOptions,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    let odd = |why| Error::usage(format!("the patch {} cannot be used: {why}", escape(name)));
    let patches = patch::parse(bytes).map_err(odd)?;
    let (store, inventory) = context.read()?;
    if let Some(pending) = session::pending_unlocked(&store, &inventory.checkpoints)? {
        return Err(pending.refusal());
    }
    let stands = current(context, &inventory)?;
    let change = PatchedFiles::of(context, &store, &stands, &patches)?;
    let digest = change.digest(context);
    let mut shown = change.outcome(context, &store, common, (&stands, name))?;
    if common.dry_run || shown.nothing_to_do {
        shown.dry_run = common.dry_run;
        shown.plan_digest = common.dry_run.then_some(digest);
        return Ok(shown);
    }
    if let Some(given) = &common.plan {
        refuse_other_plan(given, &digest)?;
    }
    if !common.yes {
        consent(&shown)?;
    }
    let target = change.record(context, name)?;
    let done = change.carry_out(context, &target, common);
    if done.is_err() {
        // What was made for this restore alone goes with it, unless the restore is to be finished.
        let mut session = session::begin(context, &store)?;
        if session.pending.is_none() {
            session.locked.drop_checkpoints(&[target.id])?;
        }
    }
    done
}

/// The files that a patch changes.
struct PatchedFiles {
    contents: BTreeMap<RelPath, Vec<u8>>,
    write: BTreeMap<RelPath, PlannedWrite>,
}

impl PatchedFiles {
    /// Reads the files and applies the patches to them.
    fn of(
        context: &Context,
        store: &Store,
        stands: &Checkpoint,
        patches: &[FilePatch],
    ) -> Result<Self> {
        let mut changes = Self {
            contents: BTreeMap::new(),
            write: BTreeMap::new(),
        };
        let mut paths = Vec::new();
        for patch in patches {
            let path = RelPath::new(&patch.path);
            paths.push(path.map_err(|why| {
                let path = String::from_utf8_lossy(&patch.path);
                Error::usage(format!("the patch names {}: {why}", escape(&path)))
            })?);
        }
        context.own_files(Some(store)).refuse(&paths)?;
        let (present, [_, state], _) = WorktreeSide::capture(context, store, stands, &paths)?;
        for (path, patch) in paths.into_iter().zip(patches) {
            let refused = |why: &str| {
                let what = format!("the patch does not fit {path}: {why}; nothing was changed");
                Error::new(Code::CONFLICT, what)
            };
            let before = state.files.get(&path).copied();
            let before = before.filter(|entry| entry.kind == Kind::File);
            let before = before.ok_or_else(|| refused("it is no captured file"))?;
            let lines = match changes.contents.remove(&path) {
                Some(lines) => lines,
                None => match present.load(&path, &before, LARGEST_TEXT_BYTES, &mut Vec::new())? {
                    LoadedVersion::Version(version) if version.seen.id == before.id => {
                        version.bytes.ok_or_else(|| refused("it is too large"))?
                    }
                    _ => return Err(refused("it cannot be read, or changes")),
                },
            };
            let lines = patch
                .apply(&lines)
                .map_err(|why| refused(&why.to_string()))?;
            let id = hash_object(ObjectKind::Blob, &lines).map_err(Error::unexpected)?;
            let after = Entry {
                id,
                size_bytes: lines.len() as u64,
                ..before
            };
            let before = Some(before);
            changes
                .write
                .insert(path.clone(), PlannedWrite { before, after });
            changes.contents.insert(path, lines);
        }
        changes
            .write
            .retain(|_, write| write.before.map(|entry| entry.id) != Some(write.after.id));
        changes
            .contents
            .retain(|path, _| changes.write.contains_key(path));
        Ok(changes)
    }

    fn digest(&self, context: &Context) -> String {
        let root = context.root.path().as_os_str().as_encoded_bytes();
        let files = format!("{:?}", self.write);
        digest::of_parts(&[b"patch", root, files.as_bytes()])
    }

    /// Returns what would be done. It is told as a restore to where the directory stands, with the
    /// changes of the patch.
    fn outcome(
        &self,
        context: &Context,
        store: &Store,
        common: &CommonOptions,
        (stands, name): (&Checkpoint, &str),
    ) -> Result<RestoreOutcome> {
        let scope = RestoreScope {
            paths: self.write.keys().cloned().collect(),
            ..RestoreScope::default()
        };
        let target = Target::load(store, stands)?.sparing(context.own_files(Some(store)));
        let plan = RestorePlan {
            write: self.write.clone(),
            ..RestorePlan::default()
        };
        let asked = (Verb::Restore, target, scope);
        let request = RestoreRequest::new(context, store, common, asked);
        let mut outcome = protocol::outcome(&request, plan, Some(Vec::new()), Vec::new());
        outcome.target.record.reason = format!("patch {name}");
        outcome.nothing_to_do = self.write.is_empty();
        Ok(outcome)
    }

    /// Records the files as the patch makes them.
    fn record(&self, context: &Context, name: &str) -> Result<Checkpoint> {
        let parts = self.write.keys().cloned().map(ScopePart::path);
        let made = create(
            context,
            &CreateOptions {
                reason: checked_text(&format!("patch {name}"), "reason")?,
                source: "checkpoint".to_owned(),
                terms: CheckpointTerms {
                    scope: Some(Scope::new(parts.collect())),
                    is_automatic: true,
                    ..CheckpointTerms::default()
                },
                replaced: self.contents.clone(),
                dedup: DedupPolicy::Never,
                force: true,
                ..CreateOptions::default()
            },
        )?;
        made.checkpoint.ok_or_else(|| {
            let what = "no checkpoint is made here, so no patch is applied";
            Error::new(Code::NOTHING_HELD, what)
        })
    }

    /// Restores what was recorded, if that changes just what was planned.
    fn carry_out(
        &self,
        context: &Context,
        target: &Checkpoint,
        common: &CommonOptions,
    ) -> Result<RestoreOutcome> {
        let mut options = RestoreOptions {
            words: TypedWords::of_checkpoint(target.id.to_hex()),
            common: CommonOptions {
                dry_run: true,
                ..CommonOptions::default()
            },
            ..RestoreOptions::default()
        };
        let planned = restore(context, &options, &mut |_| Ok(()))?;
        let contents = |write: &BTreeMap<RelPath, PlannedWrite>| {
            let ids = write.iter().map(|(path, write)| {
                let before = write.before.map(|before| before.id);
                (path.clone(), before, write.after.id, write.after.perm)
            });
            ids.collect::<Vec<_>>()
        };
        let is_same = contents(&planned.plan.write) == contents(&self.write);
        if !is_same || planned.plan.change_count() != self.write.len() {
            let what = "a file of the patch has changed meanwhile; nothing was changed";
            return Err(Error::new(Code::CHANGED_MEANWHILE, what));
        }
        options.common = CommonOptions {
            yes: true,
            dry_run: false,
            plan: planned.plan_digest,
            ..common.clone()
        };
        restore(context, &options, &mut |_| Ok(()))
    }
}
