//! The baseline: the checkpoint that the directory was last restored to or recorded as.

use crate::model::{Checkpoint, Line};

/// How many of the newest checkpoints are compared with a safety checkpoint.
const COMPARED: usize = 160;

/// Returns the baseline after the given checkpoints. Restores of single paths and scoped checkpoints
/// do not count.
pub fn of(line: &Line) -> Option<&Checkpoint> {
    before(line, u64::MAX)
}

/// Returns where the directory stands: the baseline, or if that is a safety checkpoint, the newest
/// whole one that holds the same.
pub fn position(line: &Line) -> Option<&Checkpoint> {
    let set = of(line)?;
    if !set.is_safety() {
        return Some(set);
    }
    let is_equal = |c: &&Checkpoint| c.is_whole() && c.holds_the_same(set);
    Some(line.rev().take(COMPARED).find(is_equal).unwrap_or(set))
}

/// Returns the baseline after those before a sequence number.
pub fn before(line: &Line, sequence: u64) -> Option<&Checkpoint> {
    let mut earlier = line.rev().filter(|c| c.record.sequence < sequence);
    earlier.find_map(|checkpoint| set_by(line, checkpoint))
}

/// Returns what the directory was set to when this checkpoint was made: the checkpoint itself, or
/// the target of the restore that followed it. `None` if it set nothing, or the target is gone.
pub fn set_by<'l>(line: &'l Line, checkpoint: &'l Checkpoint) -> Option<&'l Checkpoint> {
    if checkpoint.is_whole() {
        return Some(checkpoint);
    }
    let target = checkpoint.target_of_all()?;
    let sequence = checkpoint.record.sequence;
    let own = line.find(target);
    own.filter(|target| target.record.sequence < sequence)
        .or_else(|| line.elsewhere(target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::record::{CheckpointKind, Coverage, Operation, Record, Verb};
    use crate::model::checkpoint::terms::CheckpointTerms;
    use crate::model::path_filter::PathFilter;
    use crate::model::session::provenance::Provenance;
    use crate::model::state::object_id::ObjectId;
    use crate::model::state::rel_path::RelPath;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes([n; 20])
    }

    fn whole(n: u8) -> Checkpoint {
        let record = Record {
            sequence: n.into(),
            time_ms: 0,
            kind: CheckpointKind::Regular,
            coverage: Coverage::Complete,
            files: 0,
            content_bytes: 0,
            reason: String::new(),
            source: String::new(),
            operation: None,
            during_pending: false,
            provenance: Provenance::default(),
            terms: CheckpointTerms::default(),
        };
        Checkpoint {
            id: id(n),
            tree: id(0),
            meta: None,
            record,
            pinned: false,
            adopted: false,
        }
    }

    fn step(n: u8, verb: Verb, target: u8, paths: &[&str]) -> Checkpoint {
        let mut made = whole(n);
        made.record.kind = CheckpointKind::Safety;
        let paths = paths
            .iter()
            .map(|path| RelPath::new(path.as_bytes()).unwrap())
            .collect();
        made.record.operation = Some(Operation {
            verb,
            target: id(target),
            paths,
            within: None,
            filter: PathFilter::default(),
        });
        made
    }

    fn found(checkpoints: &[Checkpoint]) -> Option<u8> {
        of(&Line::from(checkpoints.to_vec())).map(|c| c.id.as_bytes()[0])
    }

    #[test]
    fn it_is_what_the_directory_was_last_set_to() {
        assert_eq!(found(&[]), None);
        let mut all = vec![whole(1), whole(2)];
        assert_eq!(found(&all), Some(2));
        all.push(step(3, Verb::Restore, 1, &[]));
        assert_eq!(found(&all), Some(1));
        all.push(step(4, Verb::Undo, 3, &[]));
        assert_eq!(
            found(&all),
            Some(3),
            "an undo sets it to what the safety checkpoint holds"
        );
        all.push(whole(5));
        assert_eq!(found(&all), Some(5));
    }

    #[test]
    fn parts_set_no_directory_and_a_target_that_is_gone_tells_nothing() {
        let mut scoped = whole(3);
        scoped.record.coverage = Coverage::Scoped;
        let all = [
            whole(1),
            whole(2),
            scoped,
            step(4, Verb::Restore, 1, &["a"]),
            step(5, Verb::Restore, 9, &[]),
        ];
        assert_eq!(found(&all), Some(2));
    }
}
