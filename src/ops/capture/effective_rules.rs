//! The rules in force for a root today, their record, and whether they are those of the last scan.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::model::{RelPath, RuleRecord, RulesStamp};
use crate::ops::{Context, Warning};
use crate::store::Store;
use crate::worktree::git::find_index;
use crate::worktree::rules::rule_set::TrackedLater;
use crate::worktree::{Repository, RuleSources, Rules};

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
