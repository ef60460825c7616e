//! The rules in force for a root today, their record, and whether they are those of the last scan.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::model::rules_stamp::RulesStamp;
use crate::model::state::meta::RuleRecord;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::worktree::git::find_index::{self, Repository};
use crate::worktree::rules::rule_set::{RuleSources, Rules, Tracked, TrackedLater};

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
    let TrackedNames {
        tracked,
        warning,
        index,
        names,
    } = tracked_names(context, repository.as_ref(), known);
    let stamp = RulesStamp {
        rules: sum_of(&(COMPILED_IN, &record, &own_files, &repository)),
        index,
        names,
    };
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

struct TrackedNames {
    tracked: Arc<TrackedLater>,
    warning: Option<Warning>,
    index: u64,
    names: u64,
}

fn tracked_names(
    context: &Context,
    repository: Option<&Repository>,
    known: Option<RulesStamp>,
) -> TrackedNames {
    let root = context.root.path().to_path_buf();
    let index = find_index::stamp(repository).map_or(0, |stamp| sum_of(&stamp).max(1));
    if let Some(known) = known.filter(|known| index != 0 && known.index == index) {
        let later = move || find_index::load(&root).unwrap_or_default();
        let tracked = Arc::new(TrackedLater::new(Box::new(later)));
        return TrackedNames {
            tracked,
            warning: None,
            index,
            names: known.names,
        };
    }
    let (tracked, warning) = match find_index::load(&root) {
        Ok(tracked) => (tracked, None),
        Err(why) => (
            Tracked::none(),
            Some(Warning::GitIndexUnreadable {
                why: why.to_string(),
            }),
        ),
    };
    // An unreadable index is looked at again next time, so that each run warns about it.
    let index = if warning.is_some() { 0 } else { index };
    let names = sum_of(&tracked.paths().collect::<Vec<_>>());
    TrackedNames {
        tracked: Arc::new(tracked.into()),
        warning,
        index,
        names,
    }
}

fn sum_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
