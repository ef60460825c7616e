//! The one helper that turns the working directory into blobs and trees. Here worktree and store meet.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use crate::error::{Error, Result};
use crate::model::entry::WhyNot;
use crate::model::listing::{Listing, Uncaptured};
use crate::model::meta::{Meta, RuleRecord};
use crate::model::object_id::ObjectId;
use crate::model::progress::Phase;
use crate::model::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::Store;
use crate::store::hash::{ObjectHasher, ObjectKind, hash_object};
use crate::store::pack_error::PackError;
use crate::store::pack_writer::PackWriter;
use crate::store::stat_cache::StatCache;
use crate::store::trees;
use crate::worktree::extend::add_paths;
use crate::worktree::git_index;
use crate::worktree::read::{BlobSink, ReadOutcome, SinkError, read_file};
use crate::worktree::rules::{RuleSources, Rules, Tracked};
use crate::worktree::scan::{Scan, ScanOptions, scan};
use crate::worktree::tree_handle::WorkTree;

/// How a capture goes about its work.
pub struct CaptureOptions<'o> {
    /// Paths to capture even if a rule leaves them out today, secrets too: a checkpoint holds them already.
    pub also: &'o [RelPath],
    /// Paths where room will be needed: what stands there is captured in spite of the rules, unless it is a secret.
    pub make_room: &'o [RelPath],
    /// The size gate: more files than this make no capture.
    pub limit_files: Option<u64>,
    /// Sensitive files let through for this call, besides those of the configuration.
    pub include_sensitive: &'o [String],
}

/// The working directory, captured.
pub struct Captured {
    pub listing: Listing,
    pub tree: ObjectId,
    pub meta: Meta,
    pub warnings: Vec<Warning>,
}

pub enum CaptureOutcome {
    Done(Box<Captured>),
    OverLimit { limit: u64, largest: Vec<(RelPath, u64)> },
}

/// Where blobs and trees go.
pub enum Sink<'a, 's> {
    /// Only their ids are wanted.
    HashOnly,
    Pack(&'a mut PackWriter<'s>),
}

/// The rules in force for a root today, with what is to be recorded of them.
pub struct RulesToday {
    pub rules: Rules,
    pub record: RuleRecord,
    pub warning: Option<Warning>,
}

/// Collects the rules: the store's list, the configuration, and what the project's git index names.
pub fn rules_today(context: &Context, store: Option<&Store>, include_sensitive: &[String]) -> RulesToday {
    let built_in = crate::model::default_rules::DEFAULT_STORE_LIST.as_bytes();
    let store_list = store.map_or_else(|| built_in.to_vec(), Store::exclusion_list);
    let settings = &context.settings;
    let sensitive_allow = [settings.sensitive_allow.as_slice(), include_sensitive].concat();
    let (tracked, warning) = match git_index::load(context.root.path()) {
        Ok(tracked) => (tracked, None),
        Err(why) => (Tracked::none(), Some(Warning::GitIndexUnreadable { why })),
    };
    let record = RuleRecord {
        store_list: (store_list != built_in).then(|| store_list.clone()),
        excludes: settings.excludes.clone(),
        sensitive_allow: sensitive_allow.clone(),
        max_file_size_bytes: settings.max_file_size_bytes,
    };
    let sources = RuleSources {
        store_list,
        excludes: settings.excludes.clone(),
        sensitive_allow,
        max_file_size_bytes: settings.max_file_size_bytes,
        tracked,
    };
    RulesToday { rules: Rules::new(sources), record, warning }
}

/// Scans, reads what is not known, and computes all trees.
pub fn capture(
    context: &Context,
    store: Option<&Store>,
    worktree: &WorkTree,
    options: &CaptureOptions<'_>,
    mut sink: Sink<'_, '_>,
) -> Result<CaptureOutcome> {
    // Scan and reading look for signals themselves, so one is told of in words.
    let _shield = context.interrupt.shield();
    let today = rules_today(context, store, options.include_sensitive);
    let cache = store.and_then(Store::stat_cache);
    let trusted = store.zip(cache.as_ref()).is_some_and(|(store, cache)| store.trusts(cache));
    let scan_options = ScanOptions {
        previous: cache.as_ref().map(|cache| &cache.listing),
        limit_files: options.limit_files,
        skip: &context.stores_to_skip()?,
        interrupt: &context.interrupt,
    };
    context.progress.begin(Phase::Scanning, 0, 0);
    let mut listing = match scan(worktree, &today.rules, &scan_options)? {
        Scan::Done(listing) => listing,
        Scan::OverLimit { limit, largest } => return Ok(CaptureOutcome::OverLimit { limit, largest }),
    };
    let in_spite = in_spite_of_rules(&listing, options);
    add_paths(worktree, &mut listing, &in_spite)?;
    if !trusted {
        forget_unverified(store, &mut listing);
    }
    let mut warnings: Vec<Warning> = today.warning.into_iter().collect();
    read_unknown(context, worktree, &mut listing, &mut sink, &mut warnings)?;
    let known_trees = if trusted { cache.as_ref().map(known_trees).unwrap_or_default() } else { HashSet::new() };
    let tree = trees::build(&mut listing, &mut |bytes| put_tree(&mut sink, &known_trees, bytes))?;
    let meta = Meta::of(&listing, today.record);
    warnings.extend(not_captured(&meta));
    Ok(CaptureOutcome::Done(Box::new(Captured { listing, tree, meta, warnings })))
}

/// What to capture in spite of today's rules.
fn in_spite_of_rules(listing: &Listing, options: &CaptureOptions<'_>) -> Vec<RelPath> {
    let mut secrets = HashSet::new();
    let paths = listing.paths();
    for (dir, path) in listing.dirs.iter().zip(&paths) {
        let found = dir.uncaptured.iter().filter(|item| matches!(item.why, WhyNot::Secret(_)));
        secrets.extend(found.map(|item| path.join(&item.name)));
    }
    let room = options.make_room.iter().filter(|path| !secrets.contains(*path));
    options.also.iter().chain(room).cloned().collect()
}

fn known_trees(cache: &StatCache) -> HashSet<ObjectId> {
    cache.listing.dirs.iter().filter_map(|dir| dir.tree).collect()
}

/// Keeps an id that the cache gave only if the store has that object whole; the others are read from the files again.
fn forget_unverified(store: Option<&Store>, listing: &mut Listing) {
    let mut whole: HashMap<ObjectId, bool> = HashMap::new();
    for file in listing.dirs.iter_mut().flat_map(|dir| &mut dir.files) {
        let Some(id) = file.id else { continue };
        let is_whole = *whole.entry(id).or_insert_with(|| store.is_some_and(|s| s.has_whole(id)));
        if !is_whole {
            file.id = None;
        }
    }
}

fn begin_reading(context: &Context, listing: &Listing) {
    let unknown = listing.dirs.iter().flat_map(|dir| &dir.files).filter(|file| file.id.is_none());
    let (files, bytes) = unknown.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.stat.size_bytes));
    context.progress.begin(Phase::Reading, files, bytes);
}

/// Reads every file whose blob is not known. What vanished meanwhile is taken out of the listing.
fn read_unknown(
    context: &Context,
    worktree: &WorkTree,
    listing: &mut Listing,
    sink: &mut Sink<'_, '_>,
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    begin_reading(context, listing);
    for index in 0..listing.dirs.len() {
        if listing.dirs[index].files.iter().all(|file| file.id.is_some()) {
            continue;
        }
        let path = listing.path_of(index);
        let dir = &mut listing.dirs[index];
        let mut at = 0;
        while at < dir.files.len() {
            context.interrupt.check().map_err(|signal| Error::Interrupted { signal })?;
            let file = &mut dir.files[at];
            if file.id.is_some() {
                at += 1;
                continue;
            }
            match read_file(worktree, &path, &file.name, file, sink)? {
                ReadOutcome::Captured { id, stat, kind, unsteady } => {
                    context.progress.add(1, stat.size_bytes);
                    if unsteady {
                        warnings.push(Warning::ChangedWhileRead { path: path.join(&file.name) });
                    }
                    (file.id, file.stat, file.kind, file.unsteady) = (Some(id), stat, kind, unsteady);
                    at += 1;
                }
                ReadOutcome::Vanished | ReadOutcome::NotAFile => {
                    dir.files.remove(at);
                }
                ReadOutcome::Unreadable(why) => {
                    let name = dir.files.remove(at).name;
                    note(&mut dir.uncaptured, Uncaptured { name, why: WhyNot::Unreadable(why), is_dir: false });
                }
                ReadOutcome::Collision => {
                    let name = dir.files.remove(at).name;
                    note(&mut dir.uncaptured, Uncaptured { name, why: WhyNot::Collision, is_dir: false });
                }
            }
        }
    }
    Ok(())
}

fn note(uncaptured: &mut Vec<Uncaptured>, item: Uncaptured) {
    let at = uncaptured.partition_point(|known| known.name < item.name);
    uncaptured.insert(at, item);
}

fn put_tree(sink: &mut Sink<'_, '_>, known: &HashSet<ObjectId>, bytes: &[u8]) -> Result<ObjectId> {
    let id = hash_object(ObjectKind::Tree, bytes).map_err(|e| Error::unexpected(e.to_string()))?;
    if let Sink::Pack(pack) = sink
        && !known.contains(&id)
    {
        pack.add(ObjectKind::Tree, bytes)?;
    }
    Ok(id)
}

fn not_captured(meta: &Meta) -> impl Iterator<Item = Warning> {
    let partial = meta.uncaptured.iter().filter(|(_, standing)| standing.why.makes_partial());
    partial.map(|(path, standing)| Warning::NotCaptured { path: path.clone(), why: standing.why.clone() })
}

impl BlobSink for Sink<'_, '_> {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_object(ObjectKind::Blob, bytes).map_err(|_| SinkError::Collision),
            Self::Pack(pack) => pack.add(ObjectKind::Blob, bytes).map_err(sink_error),
        }
    }

    fn blob_stream(&mut self, len: u64, reader: &mut dyn Read) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_stream(len, reader),
            Self::Pack(pack) => pack.add_stream(len, reader).map_err(sink_error),
        }
    }
}

fn sink_error(error: PackError) -> SinkError {
    match error {
        PackError::Collision => SinkError::Collision,
        other => SinkError::Failed(other.into()),
    }
}

fn hash_stream(len: u64, reader: &mut dyn Read) -> std::result::Result<ObjectId, SinkError> {
    let mut hasher = ObjectHasher::new(ObjectKind::Blob, len);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return hasher.finish().map_err(|_| SinkError::Collision),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(e) => return Err(SinkError::Failed(Error::unexpected(format!("cannot read to the end: {e}")))),
        }
    }
}
