//! The facts in a restore's contract: the present content, compared with the checkpoint.

use std::io::{Read, Write as _};

use crate::error::Result;
use crate::model::restore_plan::RestoreScope;
use crate::model::state::entry::git_mode;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{ListedFile, Stat};
use crate::ops::capture::sink::ThreadSink;
use crate::ops::context::Context;
use crate::ops::restore::restore_options::{DatabaseFate, RestoreOutcome};
use crate::store::objects::object_error::ReadFailure;
use crate::store::trees::digest::{self, ContentSink, Facts};
use crate::worktree::scan::read::{BlobSink, ReadOutcome, SinkError, read_file};
use crate::worktree::tree_handle::WorkTree;

/// Proven facts about a restore.
#[derive(Debug)]
pub struct RestoreContract {
    /// Digest of the checkpoint's content within the scope of the restore.
    pub expected: Result<String, ReadFailure>,
    /// Digest of the same paths as they are now.
    pub actual: Result<String, ReadFailure>,
    /// The checkpoint holds values and no file: nothing was rolled back.
    pub is_values_alone: bool,
}

impl RestoreContract {
    pub fn is_match(&self) -> bool {
        matches!((&self.expected, &self.actual), (Ok(expected), Ok(actual)) if expected == actual)
    }
}

/// # Errors
/// The store cannot be opened, or the checkpoint's trees cannot be read. Other failures are facts
/// of the contract.
pub fn of_restore(context: &Context, outcome: &RestoreOutcome) -> Result<RestoreContract> {
    let store = context.require_store()?;
    let target = &outcome.target;
    let within = target.record.terms.scope.clone();
    let scope = RestoreScope {
        paths: outcome.paths.clone(),
        within,
        filter: outcome.filter.clone(),
        ..RestoreScope::default()
    };
    let (mut snapshot, extras) = (store.snapshot(target)?, store.extras(target)?);
    snapshot.retain(&|path| scope.covers(path));
    let expected = digest::sum(store.objects(), &snapshot, &extras).map(|sum| sum.hash);
    if extras.state_document.is_some() && snapshot.files.is_empty() && extras.databases.is_none() {
        let actual = Err("there is nothing to compare: values are not written to files".into());
        return Ok(RestoreContract {
            expected,
            actual,
            is_values_alone: true,
        });
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let on_disk = snapshot.files.iter().map(|(path, entry)| {
        let found = read_facts(&worktree, path, entry.kind);
        (path, found.map_err(|why| format!("{path}: {why}").into()))
    });
    let is_as_then = |fate| !matches!(fate, &DatabaseFate::Planned | &DatabaseFate::Failed(_));
    let mut databases = outcome.databases.iter();
    let other_database = databases.find(|one| !is_as_then(&one.fate));
    let actual = match (other_database, outcome.plan.unreadable.first_key_value()) {
        (Some(one), _) => Err(format!("database {} differs", one.database).into()),
        (_, Some((path, why))) => Err(format!("{path} stays: {}", why.in_words()).into()),
        (None, None) => digest::sum_of(store.objects(), on_disk, &extras).map(|sum| sum.hash),
    };
    Ok(RestoreContract {
        expected,
        actual,
        is_values_alone: false,
    })
}

/// Returns the values of the restored checkpoint as given; only scoped checkpoints have any.
///
/// # Errors
/// The values cannot be read.
pub fn values(context: &Context, outcome: &RestoreOutcome) -> Result<Option<String>> {
    if !outcome.target.is_scoped() {
        return Ok(None);
    }
    let store = context.require_store()?;
    let Some(id) = store.extras(&outcome.target)?.state_document else {
        return Ok(None);
    };
    let read = store
        .objects()
        .read(&id)
        .map_err(|why| store.damage(outcome.target.id, format!("its values: {why}")))?;
    Ok(Some(String::from_utf8_lossy(&read.1).into_owned()))
}

/// Reads one path in the directory: its git mode and content.
fn read_facts(
    worktree: &WorkTree,
    path: &RelPath,
    kind: crate::model::state::entry::Kind,
) -> Result<(u32, Facts), ReadFailure> {
    let listed = ListedFile {
        name: path.name().into(),
        kind,
        stat: Stat::default(),
        id: None,
        racy: false,
    };
    let mut sink = FactsSink(None);
    let read = read_file(
        worktree,
        &path.parent().unwrap_or_default(),
        path.name(),
        &listed,
        &mut sink,
    );
    match read.map_err(|error| error.to_string())? {
        ReadOutcome::Captured { stat, kind, .. } => {
            let facts = sink.0.ok_or("nothing was read")?;
            Ok((git_mode(kind, stat.perm()), facts))
        }
        ReadOutcome::Vanished | ReadOutcome::NotAFile => Err("it is not a file any more".into()),
        ReadOutcome::Unreadable(why) => Err(why.into()),
        ReadOutcome::Refused(why) => Err(why.in_words().into()),
    }
}

/// Collects facts about a content while computing its id.
struct FactsSink(Option<Facts>);

impl BlobSink for FactsSink {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        let mut sink = ContentSink::default();
        // Writing to this sink never fails.
        let _ = sink.write_all(bytes);
        self.0 = Some(sink.finish());
        ThreadSink::HashOnly.blob(bytes)
    }

    fn blob_stream(
        &mut self,
        len: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<ObjectId, SinkError> {
        let mut tee = Tee {
            reader,
            sink: ContentSink::default(),
        };
        let id = ThreadSink::HashOnly.blob_stream(len, &mut tee)?;
        self.0 = Some(tee.sink.finish());
        Ok(id)
    }
}

/// Passes what is read to a sink as well.
struct Tee<'r> {
    reader: &'r mut dyn Read,
    sink: ContentSink,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.reader.read(buffer)?;
        self.sink.write_all(&buffer[..len])?;
        Ok(len)
    }
}
