//! Plans which checkpoints a policy evicts, and why; pure.

use std::collections::{HashMap, HashSet};

use crate::model::{Checkpoint, KeepClass, KeepReason, Line, LineEntry, ObjectId, Policy, Steps};

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
    let is_over = |class, limit: usize| line.count_of(class) > limit.max(1);
    if is_over(KeepClass::Named, policy.last)
        || is_over(KeepClass::Scoped, policy.last)
        || is_over(KeepClass::Automatic, policy.auto)
    {
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
    for class in [KeepClass::Named, KeepClass::Scoped, KeepClass::Automatic] {
        let is_automatic = class == KeepClass::Automatic;
        let policy = if is_automatic {
            policy.for_automatic()
        } else {
            *policy
        };
        let of_class = members.iter().filter(|member| member.class == class);
        let of_class: Vec<&LineEntry> = of_class.copied().collect();
        let times_ms: Vec<i64> = of_class.iter().map(|member| member.time_ms).collect();
        let is_protected = |member: &&&LineEntry| protected.contains_key(&member.id);
        over_keep |=
            !is_automatic && of_class.iter().filter(is_protected).count() > policy.last.max(1);
        let reason = match class {
            KeepClass::Automatic => EvictionReason::OldAutomatic,
            _ if policy.has_rules_of_time() => EvictionReason::NoRule,
            _ => EvictionReason::Oldest {
                keep: policy.last,
                is_typed: policy.is_last_typed,
            },
        };
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
    let needed: HashSet<ObjectId> = steps
        .done
        .iter()
        .chain(&steps.taken_back)
        .map(|step| step.safety)
        .collect();
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
        |member: &&LineEntry| matches!(member.class, KeepClass::Named | KeepClass::Automatic);
    let mut backwards = members.rev();
    let newest_whole = backwards.clone().find(is_whole);
    for newest in backwards.clone().next().into_iter().chain(newest_whole) {
        let why = protected.entry(newest.id).or_default();
        if !why.contains(&KeepReason::Newest) {
            why.push(KeepReason::Newest);
        }
    }
    if let Some(complete) = backwards.find(|member| is_whole(member) && !member.is_partial) {
        protected
            .entry(complete.id)
            .or_default()
            .push(KeepReason::NewestComplete);
    }
    protected
}
