//! Turns the working directory into blobs and trees, by the rules in force for it today; the only place
//! that does.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::base::{WorkPhase, threads};
use crate::error::{Code, Error, Result};
use crate::model::default_rules::{DEFAULT_STORE_LIST, IGNORE_FILE};
use crate::model::state::meta;
use crate::model::{
    Kind, ListedDir, Listing, Meta, ObjectId, RelPath, RuleRecord, RulesStamp, Scope, WhyNot,
};
use crate::ops::capture::hash_files::hash_files;
use crate::ops::capture::monitor::{self, Reliance, Watched};
use crate::ops::{Admission, Context, Warning};
use crate::store::trees::convert;
use crate::store::{CacheHead, StatCache, Store};
use crate::worktree::git::find_index;
use crate::worktree::rules::rule_set::TrackedLater;
use crate::worktree::scan::extend::add_paths;
use crate::worktree::scan::scanner::scan;
use crate::worktree::sys;
use crate::worktree::{Repository, RuleSources, Rules, ScanOptions, WorkTree};

pub use crate::ops::capture::sink::Sink;

/// Options of a capture.
#[derive(Clone, Copy, Default)]
pub struct CaptureOptions<'o> {
    /// Paths to capture even if rules leave them out today, secrets included: a checkpoint holds
    /// them already.
    pub also: &'o [RelPath],
    /// The size gate: no capture if there are more files than this.
    pub limit_files: Option<u64>,
    /// Sensitive files let through for this call, in addition to the configured ones.
    pub include_sensitive: &'o [String],
    /// Captured despite the rules, see [`crate::worktree::rules::rule_set::RuleSources::named`].
    pub named: &'o [RelPath],
    /// Whether a monitor of the directory may say where to look.
    pub reliance: Reliance,
}

/// Inputs of the scan; the next stat cache is valid only for these.
pub struct ScanInputs {
    pub cache: Option<StatCache>,
    /// Whether the cache could be trusted.
    pub trusted: bool,
    pub rules: RulesStamp,
    /// The checkpoint restored since then, which holds what the restore wrote into the listing.
    pub restored: Option<ObjectId>,
    pub watched: Watched,
}

/// The captured working directory.
pub struct Captured {
    pub listing: Listing,
    /// `None` if nothing was scanned, or only a part of it counts.
    pub seen: Option<ScanInputs>,
    pub tree: ObjectId,
    pub meta: Meta,
    pub warnings: Vec<Warning>,
}

/// Scans, reads files with unknown ids, and computes all trees.
pub fn capture(
    context: &Context,
    store: Option<&Store>,
    worktree: &WorkTree,
    options: &CaptureOptions<'_>,
    mut sink: Sink<'_, '_>,
) -> Result<Captured> {
    // Scanning and reading poll for signals themselves, so that an interrupt ends with a message.
    let _shield = context.interrupt.shield();
    let mut capturing = begin(context, store, worktree, options)?;
    capturing.add(options.also, &[])?;
    capturing.read(&mut sink)?;
    capturing.finish(&mut sink)
}

/// A capture in progress: scanned, then extended and read as often as needed.
pub struct Capturing<'c> {
    context: &'c Context,
    worktree: &'c WorkTree,
    /// `None` once only a part of the scan counts.
    seen: Option<ScanInputs>,
    record: RuleRecord,
    rules: Rules,
    /// Paths of an older checkpoint, captured even if they are private keys by now.
    in_spite: BTreeSet<RelPath>,
    warnings: Vec<Warning>,
    listing: Listing,
    /// The root's tree, unless something was added since it was computed.
    tree: Option<ObjectId>,
}

/// Only scans: [`CaptureOptions::also`] is not used yet.
pub fn begin<'c>(
    context: &'c Context,
    store: Option<&'c Store>,
    worktree: &'c WorkTree,
    options: &CaptureOptions<'_>,
) -> Result<Capturing<'c>> {
    let head = store.and_then(Store::stat_cache_head);
    let effective = effective_rules(
        context,
        store,
        options.include_sensitive,
        options.named,
        head.as_ref().map(|head| head.basis.rules),
    );
    let sides = (store, worktree);
    let (listing, mut seen) = scan_as_hinted(context, sides, options, &effective, head.as_ref())?;
    let EffectiveRules {
        rules,
        record,
        warning,
        ..
    } = effective;
    let of_rules = warning.into_iter().chain(linked_rules(&listing));
    let warnings = of_rules.chain(seen.watched.warning.take()).collect();
    Ok(Capturing {
        context,
        worktree,
        seen: Some(seen),
        record,
        rules,
        in_spite: BTreeSet::new(),
        warnings,
        listing,
        tree: None,
    })
}

/// Scans, with the stat cache that began with `head`, and where a monitor says.
fn scan_as_hinted(
    context: &Context,
    (store, worktree): (Option<&Store>, &WorkTree),
    options: &CaptureOptions<'_>,
    effective: &EffectiveRules,
    head: Option<&CacheHead>,
) -> Result<(Listing, ScanInputs)> {
    let gives_same = |head: &CacheHead| {
        options.named.is_empty() && head.basis.rules.gives_same_verdicts(&effective.stamp)
    };
    let is_trusted = |head: &CacheHead| store.is_some_and(|store| store.trusts(&head.basis));
    let valid = head.filter(|head| gives_same(head) && is_trusted(head));
    let mut watched = Watched::ask(context, store, valid, options.reliance);
    // Another process may have written one meanwhile, of which the same is true.
    let cache = match &watched.touched {
        Some(_) => store.and_then(Store::open_stat_cache),
        None => store.and_then(Store::stat_cache),
    };
    let trusted = cache.as_ref().is_some_and(|cache| is_trusted(&cache.head));
    let touched = watched.touched.take();
    let touched = touched.filter(|_| trusted && is_root(worktree, cache.as_ref()));
    let scan_options = ScanOptions {
        previous: cache.as_ref().map(|cache| &cache.listing),
        same_rules: cache.as_ref().is_some_and(|cache| gives_same(&cache.head)),
        touched: touched.as_ref(),
        limit_files: options.limit_files,
        skip: &context.stores_to_skip()?,
        interrupt: &context.interrupt,
        progress: &context.progress,
        workers: threads::workers(),
    };
    context.progress.begin(WorkPhase::Scanning, 0, 0);
    let mut listing = scan(worktree, &effective.rules, &scan_options)?;
    if !trusted {
        forget_unverified(store, &mut listing);
    }
    let has_moved =
        || touched.is_some() && monitor::has_moved(worktree, &listing, watched.since_ns);
    let unfolded = match options.reliance {
        _ if has_moved() => {
            monitor::doubt(context, head.and_then(|head| head.watch.as_ref()));
            None
        }
        _ if touched.is_some() && has_new_links(&listing) => None,
        Reliance::Folded => {
            listing.fold();
            meta::unfold_unusual(&mut listing)
        }
        _ => listing.unfold(&|_| true),
    };
    if unfolded.is_none() {
        let reliance = Reliance::None;
        let options = &CaptureOptions {
            reliance,
            ..*options
        };
        return scan_as_hinted(context, (store, worktree), options, effective, head);
    }
    if let Some(note) = &mut watched.note {
        note.scan_ns = listing.started_ns;
    }
    let seen = ScanInputs {
        cache,
        trusted,
        rules: effective.stamp,
        restored: None,
        watched,
    };
    Ok((listing, seen))
}

impl Capturing<'_> {
    /// Adds paths that rules left out: those of an older checkpoint, see [`CaptureOptions::also`], and
    /// those that will be overwritten, unless secret. The next [`Self::read`] reads them.
    pub fn add(&mut self, also: &[RelPath], make_room: &[RelPath]) -> Result<()> {
        let in_spite = in_spite_of_rules(&self.listing, also, make_room);
        self.tree = None;
        self.in_spite.extend(also.iter().cloned());
        add_paths(self.worktree, &self.rules, &mut self.listing, &in_spite)
    }

    /// Reads every file whose blob id is unknown.
    pub fn read(&mut self, sink: &mut Sink<'_, '_>) -> Result<()> {
        self.tree = None;
        let admission = Admission {
            rules: &self.rules,
            in_spite: &self.in_spite,
        };
        hash_files(
            self.context,
            self.worktree,
            &admission,
            &mut self.listing,
            sink,
            &mut self.warnings,
        )
    }

    /// Gives a file of a part of the scan another content.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn replace(&mut self, path: &RelPath, id: ObjectId, size_bytes: u64) -> Result<()> {
        self.tree = None;
        let dir = path.parent().and_then(|dir| self.listing.index_of(&dir));
        let files = dir.map(|dir| self.listing.dirs[dir].files.make_listed());
        let mut files = files.into_iter().flatten();
        let Some(file) = files.find(|file| *file.name == *path.name()) else {
            let what = format!("{path} is gone; nothing was changed");
            return Err(Error::new(Code::CHANGED_MEANWHILE, what));
        };
        (file.id, file.stat.size_bytes) = (Some(id), size_bytes);
        Ok(())
    }

    /// Returns the tree of the root; every blob must have been read.
    pub fn tree(&mut self, sink: &mut Sink<'_, '_>) -> Result<ObjectId> {
        if let Some(tree) = self.tree {
            return Ok(tree);
        }
        let tree = convert::build(&mut self.listing, &mut |bytes| sink.tree(bytes))?;
        self.tree = Some(tree);
        Ok(tree)
    }

    /// Returns the listing so far.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Returns the meta to be recorded beside the tree of the listing so far.
    pub fn meta(&self) -> Meta {
        Meta::of(&self.listing, self.record.clone())
    }

    /// Whether the scan rests on a trusted stat cache.
    pub fn is_trusted(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.trusted)
    }

    /// Limits the listing to `scope`. Returns the ignore files outside it that affect it, if any;
    /// read them with [`Self::read_outer_rules`].
    pub fn filtered(&mut self, scope: &Scope) -> Option<Listing> {
        let part = self.listing.filtered(&|path| scope.covers(path));
        let dirs: HashSet<RelPath> = part.paths().into_iter().collect();
        let has_a_say = |path: &RelPath| {
            path.name() == IGNORE_FILE
                && !scope.covers(path)
                && path.parent().is_some_and(|dir| dirs.contains(&dir))
                && self.listing.file(path).is_some()
        };
        let rules = self.listing.filtered(&has_a_say);
        (self.listing, self.seen, self.tree) = (part, None, None);
        (rules.file_count() > 0).then_some(rules)
    }

    /// Removes paths that are held in another way. No stat cache is written then, since later scans
    /// would leave them out too.
    pub fn exclude(&mut self, paths: &[RelPath]) {
        if self.listing.exclude(paths) {
            (self.seen, self.tree) = (None, None);
        }
    }

    /// Reads the files of a listing that [`Self::filtered`] returned, and computes its tree.
    pub fn read_outer_rules(
        &mut self,
        outer: Listing,
        sink: &mut Sink<'_, '_>,
    ) -> Result<ObjectId> {
        let own = std::mem::replace(&mut self.listing, outer);
        let tree = self.read(sink).and_then(|()| self.tree(sink));
        (self.listing, self.tree) = (own, None);
        tree
    }

    pub fn finish(mut self, sink: &mut Sink<'_, '_>) -> Result<Captured> {
        let tree = self.tree(sink)?;
        if let Some(seen) = &mut self.seen {
            seen.watched.check(self.context, &self.listing);
        }
        // What is usual may have changed with what was read.
        meta::unfold_unusual(&mut self.listing)
            .ok_or_else(|| Error::unexpected("the stat cache cannot be read"))?;
        let meta = Meta::of(&self.listing, self.record);
        let mut warnings = self.warnings;
        let missed = self
            .seen
            .as_ref()
            .and_then(|seen| seen.watched.missed.clone());
        warnings.extend(missed.map(|path| Warning::MonitorOff { path }));
        warnings.extend(not_captured(&meta));
        Ok(Captured {
            listing: self.listing,
            seen: self.seen,
            tree,
            meta,
            warnings,
        })
    }
}

/// Whether a file that changed has a second name: that may lie where no change was named.
fn has_new_links(listing: &Listing) -> bool {
    let looked_at = listing.dirs.iter().filter(|dir| !dir.unchanged);
    let mut files = looked_at.flat_map(|dir| dir.files.iter());
    files.any(|file| file.id.is_none() && file.stat.links > 1)
}

/// Whether the root is the directory of the stat cache.
fn is_root(worktree: &WorkTree, cache: Option<&StatCache>) -> bool {
    let now = worktree.root().stat();
    let before = cache.map(|cache| cache.listing.root.stat);
    now.ok()
        .zip(before)
        .is_some_and(|(now, before)| sys::is_same_place(&now, &before))
}

/// Warns of ignore files that are links, in directories that were read anew.
fn linked_rules(listing: &Listing) -> Vec<Warning> {
    let is_link = |dir: &(usize, &ListedDir)| {
        let found = || dir.1.files.get(IGNORE_FILE);
        !dir.1.unchanged && found().is_some_and(|file| file.kind == Kind::Symlink)
    };
    let dirs = listing.dirs.iter().enumerate();
    let warn = |(index, _)| Warning::IgnoreFileIsLink {
        path: listing.path_of(index).join(IGNORE_FILE),
    };
    dirs.filter(is_link).map(warn).collect()
}

/// Returns the paths to capture despite today's rules.
fn in_spite_of_rules(listing: &Listing, also: &[RelPath], make_room: &[RelPath]) -> Vec<RelPath> {
    let secrets = listing.uncaptured(|why| matches!(why, WhyNot::Secret(_)));
    let secrets: HashSet<RelPath> = secrets.map(|(path, _)| path).collect();
    let room = make_room.iter().filter(|path| !secrets.contains(*path));
    also.iter().chain(room).cloned().collect()
}

/// Keeps an id from the cache only if the store has that object whole; other files are read again.
fn forget_unverified(store: Option<&Store>, listing: &mut Listing) {
    let mut whole: HashMap<ObjectId, bool> = HashMap::new();
    for dir in &mut listing.dirs {
        dir.unchanged = false;
        for file in dir.files.make_listed() {
            let Some(id) = file.id else { continue };
            let is_whole = *whole
                .entry(id)
                .or_insert_with(|| store.is_some_and(|s| s.has_intact_object(id)));
            if !is_whole {
                file.id = None;
            }
        }
    }
}

fn not_captured(meta: &Meta) -> impl Iterator<Item = Warning> {
    let partial = meta
        .uncaptured
        .iter()
        .filter(|(_, entry)| entry.why.makes_partial());
    partial.map(|(path, entry)| Warning::NotCaptured {
        path: path.clone(),
        why: entry.why.clone(),
    })
}

/// Version of the compiled-in rules; raised with each change, so that verdicts of older rules are
/// not trusted.
const COMPILED_IN: u32 = 4;

/// The rules in force and their record.
pub struct EffectiveRules {
    pub rules: Rules,
    pub record: RuleRecord,
    pub warning: Option<Warning>,
    pub stamp: RulesStamp,
}

/// Collects the rules: the store's list, the configuration, and the paths in the project's git
/// index. The index is read only if it is not the one in `known`, or when a rule leaves something
/// out that it may name.
pub fn effective_rules(
    context: &Context,
    store: Option<&Store>,
    include_sensitive: &[String],
    named: &[RelPath],
    known: Option<RulesStamp>,
) -> EffectiveRules {
    let root = context.root.path();
    let repository =
        Repository::containing(root).unwrap_or_else(|_| Some(Repository::unread(root)));
    let unread = repository
        .as_ref()
        .and_then(|found| found.unread_ignore_file_above(root));
    let mut record = configured(context, store);
    record.sensitive_allow.extend_from_slice(include_sensitive);
    if let Some(repository) = &repository {
        record.above = repository.ignore_files_above(root);
    }
    let own_files = context.own_files(store).paths().to_vec();
    let (tracked, warning, mut stamp) = tracked_names(context, repository.as_ref(), known);
    stamp.rules = sum_of(&(COMPILED_IN, &record, &own_files, &repository));
    let sources = RuleSources {
        tracked,
        named: named.to_vec(),
        own_files,
        repository,
        ..RuleSources::of(record.clone())
    };
    EffectiveRules {
        rules: Rules::new(sources),
        record,
        warning: warning.or(unread.map(|path| Warning::IgnoreFileUnreadable { path })),
        stamp,
    }
}

/// The store's list and the configuration.
fn configured(context: &Context, store: Option<&Store>) -> RuleRecord {
    let settings = &context.settings;
    let built_in = DEFAULT_STORE_LIST.as_bytes();
    RuleRecord {
        store_list: store
            .map(Store::exclusion_list)
            .filter(|list| list != built_in),
        excludes: settings.excludes.clone(),
        sensitive_allow: settings.sensitive_allow.clone(),
        max_file_size_bytes: settings.max_file_size_bytes,
        above: Vec::new(),
    }
}

/// Digest of the rules that decide which files count; kept with the size gate's decision.
pub fn rules_digest(context: &Context, store: &Store) -> u64 {
    sum_of(&configured(context, Some(store)))
}

/// Returns the names in the git index, and the stamp of these alone.
fn tracked_names(
    context: &Context,
    repository: Option<&Repository>,
    known: Option<RulesStamp>,
) -> (Arc<TrackedLater>, Option<Warning>, RulesStamp) {
    let root = context.root.path().to_path_buf();
    let index = find_index::stamp(repository).map_or(0, |stamp| sum_of(&stamp).max(1));
    if let Some(known) = known.filter(|known| index != 0 && known.index == index) {
        let later = move || find_index::load(&root).unwrap_or_default();
        return (Arc::new(TrackedLater::new(Box::new(later))), None, known);
    }
    let loaded = find_index::load(&root);
    let unreadable = |why: &_| Warning::GitIndexUnreadable {
        why: ToString::to_string(why),
    };
    let warning = loaded.as_ref().err().map(unreadable);
    let tracked = loaded.unwrap_or_default();
    let stamp = RulesStamp {
        // An unreadable index is looked at again next time, so that each run warns about it.
        index: if warning.is_some() { 0 } else { index },
        names: sum_of(&tracked.paths().collect::<Vec<_>>()),
        ..RulesStamp::default()
    };
    (Arc::new(tracked.into()), warning, stamp)
}

fn sum_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
