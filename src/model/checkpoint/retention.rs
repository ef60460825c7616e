//! What a policy keeps (the last ones, and restic's rules by hour, day, week, month and age), which
//! checkpoints it evicts, and why; pure.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::base::json::{JsonSchema, Serialize};
use crate::base::time::{MINUTE_MS, local_periods};
use crate::model::{Checkpoint, KeepClass, Line, LineEntry, ObjectId, Steps};

/// Number of newest restores, undos and redos whose safety checkpoint and target stay.
pub const PROTECTED_RESTORES: usize = 5;
/// Number of safety checkpoints kept; those of the last steps to undo or redo come first.
pub const KEPT_STEPS: usize = 20;

/// Why a checkpoint is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub enum EvictionReason {
    /// A safety checkpoint beyond the last [`KEPT_STEPS`].
    OldSafety,
    /// The oldest, beyond this number to keep.
    Oldest { keep: usize, is_typed: bool },
    /// None of several rules keeps it.
    NoRule,
    /// The oldest automatic one, beyond the number of these to keep.
    OldAutomatic,
    /// The oldest, in a store over its size limit.
    StoreSize,
    /// Its expiry time has passed.
    Expired,
}

/// A checkpoint that a policy dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    pub checkpoint: Checkpoint,
    pub why: EvictionReason,
}

/// Checkpoints to evict, in order, and those that stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionPlan {
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// Oldest first; empty if no limit is reached.
    pub kept: Vec<(ObjectId, Vec<KeepReason>)>,
    /// Whether more stay than requested, because they are protected.
    pub over_keep: bool,
}

impl RetentionPlan {
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.evict.iter().map(|(id, _)| *id)
    }

    /// Evicts automatic checkpoints that are expendable before the others, oldest first.
    pub fn evict_first(&mut self, is_expendable: &dyn Fn(ObjectId) -> bool) {
        let is_worth_more = |(id, why): &&mut (ObjectId, EvictionReason)| {
            *why == EvictionReason::OldAutomatic && !is_expendable(*id)
        };
        let mut free: Vec<usize> = (0..self.kept.len())
            .filter(|at| self.kept[*at].1 == [KeepReason::Auto] && is_expendable(self.kept[*at].0))
            .collect();
        free.reverse();
        for (id, _) in self.evict.iter_mut().rev().filter(is_worth_more) {
            let Some(at) = free.pop() else { return };
            std::mem::swap(id, &mut self.kept[at].0);
        }
    }
}

/// Which checkpoints are protected from all rules, and by what.
type Protected = HashMap<ObjectId, Vec<KeepReason>>;

/// Plans by `policy`, which counts each class separately, and keeps [`KEPT_STEPS`] safety
/// checkpoints. `needed` holds the target and the safety checkpoint of an interrupted restore, and
/// those of open workflows. Decodes only safety checkpoints.
pub fn plan(line: &Line, policy: &Policy, now_ms: i64, needed: &[ObjectId]) -> RetentionPlan {
    let limits = [
        (KeepClass::Named, policy.last),
        (KeepClass::Scoped, policy.last),
        (KeepClass::Automatic, policy.auto),
        (KeepClass::Watched, 1),
    ];
    let is_over = |(class, limit): (_, usize)| line.count_of(class) > limit.max(1);
    if limits.into_iter().any(is_over) {
        return judge(line, &HashSet::new(), policy, now_ms, needed);
    }
    let protected = protected(line.entries(), line.safeties(), now_ms, needed);
    RetentionPlan {
        evict: old_safeties(line.safeties(), &protected),
        ..RetentionPlan::default()
    }
}

/// Plans a prune: expired checkpoints first, then as [`plan`].
pub fn plan_prune(line: &Line, policy: &Policy, now_ms: i64, needed: &[ObjectId]) -> RetentionPlan {
    let expired = plan_expired(line, now_ms, needed);
    let gone: HashSet<ObjectId> = expired.iter().map(|(id, _)| *id).collect();
    let mut plan = judge(line, &gone, policy, now_ms, needed);
    plan.evict.splice(0..0, expired);
    plan
}

/// Judges those of a line that are not `gone`.
fn judge(
    line: &Line,
    gone: &HashSet<ObjectId>,
    policy: &Policy,
    now_ms: i64,
    needed: &[ObjectId],
) -> RetentionPlan {
    let members = line.entries().filter(|entry| !gone.contains(&entry.id));
    let members: Vec<&LineEntry> = members.collect();
    let safeties = line.safeties().filter(|c| !gone.contains(&c.id));
    let protected = protected(members.iter().copied(), safeties.clone(), now_ms, needed);
    let (mut evict, mut over_keep) = (old_safeties(safeties, &protected), false);
    let old: HashSet<ObjectId> = evict.iter().map(|(id, _)| *id).collect();
    let mut why: HashMap<ObjectId, Vec<KeepReason>> = HashMap::new();
    let safeties = members
        .iter()
        .filter(|member| member.class == KeepClass::Safety);
    for safety in safeties.filter(|member| !old.contains(&member.id)) {
        why.insert(safety.id, vec![KeepReason::Undo]);
    }
    for class in [
        KeepClass::Named,
        KeepClass::Scoped,
        KeepClass::Automatic,
        KeepClass::Watched,
    ] {
        let is_automatic = class == KeepClass::Automatic;
        let policy = match class {
            KeepClass::Automatic => policy.for_automatic(),
            KeepClass::Watched => policy.for_watched(),
            _ => *policy,
        };
        let of_class = members.iter().filter(|member| member.class == class);
        let of_class: Vec<&LineEntry> = of_class.copied().collect();
        let times_ms: Vec<i64> = of_class.iter().map(|member| member.time_ms).collect();
        let is_protected = |member: &&&LineEntry| protected.contains_key(&member.id);
        over_keep |= matches!(class, KeepClass::Named | KeepClass::Scoped)
            && of_class.iter().filter(is_protected).count() > policy.last.max(1);
        let reason = policy.reason_in(class);
        for (member, mut rules) in of_class
            .iter()
            .zip(policy.rules_that_keep(&times_ms, now_ms))
        {
            let id = member.id;
            if rules.is_empty() && !protected.contains_key(&id) {
                evict.push((id, reason));
                continue;
            }
            if is_automatic {
                rules.fill(KeepReason::Auto);
            }
            why.insert(id, rules);
        }
    }
    let of_member = |member: &&LineEntry| {
        let id = member.id;
        let mut why = why.remove(&id)?;
        why.extend(protected.get(&id).into_iter().flatten());
        Some((id, why))
    };
    RetentionPlan {
        kept: members.iter().filter_map(of_member).collect(),
        evict,
        over_keep,
    }
}

/// Returns safety checkpoints beyond the last [`KEPT_STEPS`], oldest first. Those that no undo or
/// redo needs any more are evicted before the others.
fn old_safeties<'c>(
    safeties: impl Iterator<Item = &'c Checkpoint>,
    protected: &Protected,
) -> Vec<(ObjectId, EvictionReason)> {
    let mut safeties: Vec<&Checkpoint> = safeties.collect();
    if safeties.len() <= KEPT_STEPS {
        return Vec::new();
    }
    let steps = Steps::of(safeties.iter().copied());
    let needed = steps.done.iter().chain(&steps.taken_back);
    let needed: HashSet<ObjectId> = needed.map(|step| step.safety).collect();
    safeties.sort_by_key(|c| needed.contains(&c.id));
    let surplus = &safeties[..safeties.len() - KEPT_STEPS];
    let free = surplus.iter().filter(|c| !protected.contains_key(&c.id));
    free.map(|c| (c.id, EvictionReason::OldSafety)).collect()
}

/// Returns expired checkpoints that are not protected. A scoped one goes even if it is the newest.
fn plan_expired(line: &Line, now_ms: i64, needed: &[ObjectId]) -> Vec<(ObjectId, EvictionReason)> {
    let protected = protected(line.entries(), line.safeties(), now_ms, needed);
    let is_newest = |why: &KeepReason| matches!(why, KeepReason::Newest);
    let stays = |c: &Checkpoint| {
        let why = protected.get(&c.id);
        why.is_some_and(|why| !(c.is_scoped() && why.iter().all(is_newest)))
    };
    let expiry = |c: &Checkpoint| c.record.terms.expiry;
    let is_over = |c: &&Checkpoint| expiry(c).is_some_and(|expiry| expiry.is_over(now_ms));
    line.iter()
        .filter(is_over)
        .filter(|c| !stays(c))
        .map(|c| (c.id, EvictionReason::Expired))
        .collect()
}

/// Evictions that bring a store below its size limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizePlan {
    /// Checkpoints to evict, scoped ones first, then oldest first.
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// Size of the remaining store in bytes.
    pub needed_bytes: u64,
}

/// Plans evictions until the store fits `limit_bytes`; `fixed_bytes` are used in any case. `cost`
/// returns what a checkpoint adds to those counted so far: protected ones first, then the newest,
/// scoped ones last. If the protected ones alone exceed the limit, all others are evicted and
/// `needed_bytes` is over the limit.
///
/// # Errors
/// Errors of `cost`.
pub fn plan_size<E>(
    line: &Line,
    now_ms: i64,
    needed: &[ObjectId],
    limit_bytes: u64,
    fixed_bytes: u64,
    cost: &mut dyn FnMut(&Checkpoint) -> Result<u64, E>,
) -> Result<SizePlan, E> {
    let protected = protected(line.entries(), line.safeties(), now_ms, needed);
    let mut needed_bytes = fixed_bytes;
    let (kept, mut free): (Vec<&Checkpoint>, Vec<&Checkpoint>) =
        line.iter().partition(|c| protected.contains_key(&c.id));
    for checkpoint in kept {
        needed_bytes += cost(checkpoint)?;
    }
    free.sort_by_key(|c| !c.is_scoped());
    let mut first_kept = free.len();
    for (at, checkpoint) in free.iter().enumerate().rev() {
        let with_it = needed_bytes + cost(checkpoint)?;
        if with_it > limit_bytes {
            break;
        }
        (first_kept, needed_bytes) = (at, with_it);
    }
    let evict = free[..first_kept]
        .iter()
        .map(|c| (c.id, EvictionReason::StoreSize))
        .collect();
    Ok(SizePlan {
        evict,
        needed_bytes,
    })
}

/// Returns checkpoints that no policy evicts: pinned ones, those whose expiry has not come, those
/// `needed`, the safety checkpoints and targets of the last restores, the newest, the newest whole
/// one, and the newest whole and complete one.
fn protected<'c>(
    members: impl DoubleEndedIterator<Item = &'c LineEntry> + Clone,
    safeties: impl DoubleEndedIterator<Item = &'c Checkpoint>,
    now_ms: i64,
    needed: &[ObjectId],
) -> Protected {
    let mut protected = Protected::new();
    let mut protect = |id, why| protected.entry(id).or_default().push(why);
    for member in members.clone() {
        if member.is_pinned {
            protect(member.id, KeepReason::Pinned);
        }
        match member.protected_until_ms {
            i64::MAX => protect(member.id, KeepReason::NeverExpires),
            until_ms if until_ms > now_ms => protect(member.id, KeepReason::NotExpired),
            _ => {}
        }
    }
    for id in needed {
        protect(*id, KeepReason::InUse);
    }
    let operations = safeties
        .rev()
        .filter_map(|c| Some((c.id, c.record.operation.as_ref()?.target)));
    let restores: HashSet<ObjectId> = operations
        .take(PROTECTED_RESTORES)
        .flat_map(|(safety, target)| [safety, target])
        .collect();
    for id in restores {
        protect(id, KeepReason::LateRestore);
    }
    let is_whole =
        |member: &&LineEntry| !matches!(member.class, KeepClass::Scoped | KeepClass::Safety);
    let newest = members.clone().next_back();
    let newest_whole = members.clone().rfind(is_whole);
    let newest_whole =
        newest_whole.filter(|whole| newest.is_none_or(|newest| newest.id != whole.id));
    for newest in newest.into_iter().chain(newest_whole) {
        protect(newest.id, KeepReason::Newest);
    }
    let is_complete = |member: &&LineEntry| is_whole(member) && !member.is_partial;
    if let Some(complete) = members.rev().find(is_complete) {
        protect(complete.id, KeepReason::NewestComplete);
    }
    protected
}

/// How many checkpoints stay. A checkpoint stays if one rule keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number of last ones, at least one.
    pub last: usize,
    /// Whether the command line, not a setting, gives that number.
    pub is_last_typed: bool,
    /// Number of hours of which the last checkpoint stays; so too for the next three.
    pub hourly: usize,
    pub daily: usize,
    pub weekly: usize,
    pub monthly: usize,
    /// Age in milliseconds, counted from the newest; 0 keeps none.
    pub within_ms: i64,
    /// Number of last automatic ones, to which no other rule applies.
    pub auto: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self::of_last(50)
    }
}

/// The values that a file or a command line gives, by their keys there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyChange {
    pub keep: Option<usize>,
    pub keep_hourly: Option<usize>,
    pub keep_daily: Option<usize>,
    pub keep_weekly: Option<usize>,
    pub keep_monthly: Option<usize>,
    /// In milliseconds.
    pub keep_within: Option<i64>,
    pub keep_auto: Option<usize>,
}

/// A rule that keeps a checkpoint, or what protects it from all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, Serialize, JsonSchema)]
#[strum(const_into_str, serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    Last,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Within,
    /// One of the last automatic ones.
    Auto,
    /// Its restore can be undone.
    Undo,
    /// Safety checkpoint or target of one of the last restores.
    LateRestore,
    Pinned,
    NeverExpires,
    /// Its expiry time has not come.
    NotExpired,
    /// The newest, or the newest of the whole directory.
    Newest,
    NewestComplete,
    /// A restore that was interrupted or an open workflow needs it.
    InUse,
}

impl Policy {
    /// Evicts nothing.
    pub const EVERYTHING: Self = Self {
        auto: usize::MAX,
        ..Self::of_last(usize::MAX)
    };

    const fn of_last(last: usize) -> Self {
        Self {
            last,
            is_last_typed: false,
            hourly: 0,
            daily: 0,
            weekly: 0,
            monthly: 0,
            within_ms: 0,
            auto: 50,
        }
    }

    /// The policy for automatic checkpoints.
    #[must_use]
    pub fn for_automatic(&self) -> Self {
        Self::of_last(self.auto)
    }

    /// The policy for what `watch` made: all of the last hour, then by hour and by day.
    #[must_use]
    pub fn for_watched(&self) -> Self {
        if self.last == Self::EVERYTHING.last {
            return *self;
        }
        Self {
            within_ms: 60 * MINUTE_MS,
            hourly: 24,
            daily: 30,
            ..Self::of_last(1)
        }
    }

    /// The policy with a change that was typed on the command line. One that evicts nothing, because
    /// a setting to keep more cannot be read, stays.
    #[must_use]
    pub fn overruled(self, change: &PolicyChange) -> Self {
        if self.last == Self::EVERYTHING.last {
            return self;
        }
        Self {
            is_last_typed: change.keep.is_some(),
            ..self.changed(change)
        }
    }

    #[must_use]
    pub fn changed(self, change: &PolicyChange) -> Self {
        self.with(change, |_, asked| asked, |_, asked| asked)
    }

    /// As [`Self::changed`], but only by values that keep more.
    #[must_use]
    pub fn raised(self, change: &PolicyChange) -> Self {
        self.with(change, usize::max, i64::max)
    }

    fn with(
        self,
        change: &PolicyChange,
        number: fn(usize, usize) -> usize,
        age_ms: fn(i64, i64) -> i64,
    ) -> Self {
        let of = |now, asked: Option<usize>| asked.map_or(now, |asked| number(now, asked));
        let within_ms = change.keep_within;
        Self {
            last: of(self.last, change.keep),
            is_last_typed: self.is_last_typed,
            hourly: of(self.hourly, change.keep_hourly),
            daily: of(self.daily, change.keep_daily),
            weekly: of(self.weekly, change.keep_weekly),
            monthly: of(self.monthly, change.keep_monthly),
            within_ms: within_ms.map_or(self.within_ms, |asked| age_ms(self.within_ms, asked)),
            auto: of(self.auto, change.keep_auto),
        }
    }

    /// Why this policy evicts one of a class.
    fn reason_in(&self, class: KeepClass) -> EvictionReason {
        match class {
            KeepClass::Automatic => EvictionReason::OldAutomatic,
            _ if self.has_rules_of_time() => EvictionReason::NoRule,
            _ => EvictionReason::Oldest {
                keep: self.last,
                is_typed: self.is_last_typed,
            },
        }
    }

    pub fn has_rules_of_time(&self) -> bool {
        self.hourly + self.daily + self.weekly + self.monthly > 0 || self.within_ms > 0
    }

    /// Returns the rules that keep each checkpoint, given their times in order of sequence.
    ///
    /// As in restic, an hour (day, …) counts only if it has a checkpoint, the newest of it stays,
    /// and the very oldest stays too while fewer hours were found than asked for; all in local
    /// time. Times in the future do not count as the newest.
    pub fn rules_that_keep(&self, times_ms: &[i64], now_ms: i64) -> Vec<Vec<KeepReason>> {
        let mut kept = vec![Vec::new(); times_ms.len()];
        for why in kept.iter_mut().rev().take(self.last.max(1)) {
            why.push(KeepReason::Last);
        }
        if !self.has_rules_of_time() {
            return kept;
        }
        // The clock may have been set back, so order by sequence is not order by time.
        let mut newest_first: Vec<(usize, i64)> = times_ms.iter().copied().enumerate().collect();
        newest_first.reverse();
        newest_first.sort_by_key(|(_, time_ms)| Reverse(*time_ms));
        let periods: Vec<[i64; 4]> = newest_first
            .iter()
            .map(|(_, ms)| local_periods(*ms))
            .collect();
        let rules = [
            (self.hourly, KeepReason::Hourly),
            (self.daily, KeepReason::Daily),
            (self.weekly, KeepReason::Weekly),
            (self.monthly, KeepReason::Monthly),
        ];
        for (rule, (limit, reason)) in rules.into_iter().enumerate() {
            let (mut left, mut last) = (limit, None);
            for (nth, (at, _)) in newest_first.iter().enumerate().take_while(|_| limit > 0) {
                let period = Some(periods[nth][rule]);
                if left > 0 && (period != last || nth + 1 == newest_first.len()) {
                    kept[*at].push(reason);
                    (left, last) = (left - 1, period);
                }
            }
        }
        let newest_ms = newest_first
            .iter()
            .map(|(_, ms)| *ms)
            .find(|ms| *ms <= now_ms);
        let since_ms = newest_ms.unwrap_or(i64::MIN).saturating_sub(self.within_ms);
        for (at, time_ms) in newest_first {
            if self.within_ms > 0 && time_ms > since_ms {
                kept[at].push(KeepReason::Within);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_raises_and_a_command_line_decides() {
        let change = PolicyChange {
            keep: Some(3),
            keep_daily: Some(7),
            ..PolicyChange::default()
        };
        let raised = Policy::default().raised(&change);
        let changed = Policy::default().changed(&change);
        assert_eq!((raised.last, raised.daily, raised.auto), (50, 7, 50));
        assert_eq!((changed.last, changed.daily, changed.auto), (3, 7, 50));
    }
}
