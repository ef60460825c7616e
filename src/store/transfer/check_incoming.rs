//! Checks what came from elsewhere before any of it is added to the store: every checkpoint and every
//! run down to its objects, and that each ref leads to what it names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::base::malformed::Malformed;
use crate::error::Result;
use crate::model::checkpoint::message;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::object_id::ObjectId;
use crate::store::damage::check::{CheckOptions, CheckReport};
use crate::store::damage::check_checkpoints::CheckpointChecker;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::repository::Store;
use crate::store::runs::{run_reader, run_refs};
use crate::store::transfer::header::{BundleHeader, BundleRef};
use crate::store::transfer::receive::bad;

/// Upper bound on a sequence number: more of them must have room above it.
const LARGEST_SEQUENCE: u64 = 1 << 53;

/// The times that fit the forms of times, in milliseconds since 1970: of the years 1 to 9999.
const TIMES_MS: Range<i64> = -62_135_596_800_000..253_402_300_800_000;

/// Says what is wrong with the state of a run.
pub type CheckRun = fn(&Store, ObjectId) -> Result<(), Malformed>;

/// What was found sound.
#[derive(Default)]
pub(super) struct SoundParts {
    pub checkpoints: Vec<Checkpoint>,
    /// Number of runs.
    pub runs: usize,
}

pub(super) struct IncomingChecker<'c> {
    /// The store that has the objects, and gets the refs of sound runs.
    pub quarantine: &'c Store,
    /// Checkpoints that were checked before.
    pub checked: &'c BTreeMap<ObjectId, Checkpoint>,
    /// Trees and blobs that were.
    pub unchanged: &'c HashSet<ObjectId>,
    pub check_run: CheckRun,
    pub options: &'c CheckOptions<'c>,
}

impl IncomingChecker<'_> {
    /// Checks all that a header names; `name` stands for its origin in messages.
    ///
    /// # Errors
    /// Something is damaged, missing or forbidden, or a signal came.
    pub fn check(&self, header: &BundleHeader, name: &str) -> Result<SoundParts> {
        let objects = self.quarantine.objects();
        let mut checker = CheckpointChecker::new(objects, self.options);
        checker.trust(self.unchanged);
        let mut reader = CommitReader::new(objects);
        let mut sound = SoundParts::default();
        for id in header.checkpoints() {
            if let Some(checked) = self.checked.get(&id) {
                sound.checkpoints.push(checked.clone());
                continue;
            }
            check_one(&mut checker, id, name)?;
            let checkpoint = reader.checkpoint(id).map_err(|why| bad(name, why))?;
            if checkpoint.record.sequence > LARGEST_SEQUENCE {
                return Err(bad(name, "it has an absurd sequence number"));
            }
            if !TIMES_MS.contains(&checkpoint.record.time_ms) {
                return Err(bad(name, "it has an absurd time"));
            }
            sound.checkpoints.push(checkpoint);
        }
        if reader.newest_format() > message::CHECKPOINT_FORMAT {
            return Err(bad(name, "a newer program made it; update this one"));
        }
        check_values(header, &sound.checkpoints)
            .map_err(|one| bad(name, format!("its ref {one} leads nowhere")))?;
        for one in &header.refs {
            if let BundleRef::Run(namespace, run, tip) = one {
                self.check_run(&mut checker, *tip)?
                    .map_err(|why| bad(name, format!("its workflow {run} is damaged: {why}")))?;
                run_refs::write(self.quarantine.layout(), *namespace, run, *tip)?;
                sound.runs += 1;
            }
        }
        Ok(sound)
    }

    fn check_run(
        &self,
        checker: &mut CheckpointChecker<'_>,
        tip: ObjectId,
    ) -> Result<Result<(), Malformed>> {
        let transition = run_reader::transition(self.quarantine.objects(), tip);
        let transition = transition.map_err(|why| Malformed::from(why.to_string()));
        let sound = transition.and_then(|_| (self.check_run)(self.quarantine, tip));
        if sound.is_ok() && !checker.line_is_whole(tip)? {
            return Ok(Err("something of it is missing".into()));
        }
        Ok(sound)
    }
}

fn check_one(checker: &mut CheckpointChecker<'_>, id: ObjectId, name: &str) -> Result<()> {
    let mut report = CheckReport::default();
    checker.check(id, &mut report)?;
    let Some(faulty) = report.damaged.pop() else {
        return Ok(());
    };
    let why = faulty.faults.first().map(|fault| match &fault.path {
        Some(path) => format!("{path}: {}", fault.why),
        None => fault.why.clone(),
    });
    let why = why.unwrap_or_default();
    Err(bad(
        name,
        format!("its checkpoint {} is damaged: {why}", id.short()),
    ))
}

/// Checks that refs which name a checkpoint name one of these, and a meta the right one. Returns
/// the first that does not.
fn check_values<'h>(
    header: &'h BundleHeader,
    checkpoints: &[Checkpoint],
) -> Result<(), &'h BundleRef> {
    let metas: HashMap<ObjectId, Option<ObjectId>> =
        checkpoints.iter().map(|c| (c.id, c.meta)).collect();
    let is_right = |one: &&BundleRef| match one {
        BundleRef::Meta(id, meta) => metas.get(id) == Some(&Some(*meta)),
        BundleRef::Checkpoint(id)
        | BundleRef::Pin(id)
        | BundleRef::Reason(id, _)
        | BundleRef::Origin(_, id)
        | BundleRef::OriginOf(_, id) => metas.contains_key(id),
        // A branch of a store may be older than its checkpoints.
        BundleRef::Branch(..) | BundleRef::Run(..) => true,
    };
    header
        .refs
        .iter()
        .find(|one| !is_right(one))
        .map_or(Ok(()), Err)
}
