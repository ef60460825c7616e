//! Reading back our own documents changes nothing, at any progress of the run.

use crate::workflow::profiles::dispatch::{export, take};
use crate::workflow::profiles::example_tests::ROOT;
use crate::workflow::profiles::pipeline_schema;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus::{
    self, AwaitingApproval, Complete, Failed, InProgress, Pending, Skipped,
};
use crate::workflow::rules::workflow::Workflow;

const PROFILES: [Profile; 3] = [Profile::Phases, Profile::Pipeline, Profile::Registry];
const STATUSES: [PhaseStatus; 6] = [
    Pending,
    InProgress,
    AwaitingApproval,
    Complete,
    Failed,
    Skipped,
];

fn with(statuses: [PhaseStatus; 3], profile: Profile) -> Workflow {
    let mut workflow = Workflow::new(
        "a_b_20260101_000000".into(),
        "a".into(),
        "b".into(),
        1_234_567,
    );
    workflow.profiles = vec![profile];
    for (status, id) in statuses.into_iter().zip(["x", "y", "z"]) {
        let mut phase = Phase::new(id, id);
        phase.dependencies = workflow
            .phases
            .last()
            .map(|phase| phase.id.clone())
            .into_iter()
            .collect();
        phase.status = status;
        phase.completed_ms = status.is_settled().then_some(5_678);
        phase.started_ms = (status != Pending).then_some(4_321);
        workflow.phases.push(phase);
    }
    workflow
}

fn all() -> Vec<[PhaseStatus; 3]> {
    let pair = |one| STATUSES.into_iter().map(move |other| [one, other]);
    let pairs: Vec<[PhaseStatus; 2]> = STATUSES.into_iter().flat_map(pair).collect();
    let three =
        |[one, other]: [PhaseStatus; 2]| STATUSES.into_iter().map(move |third| [one, other, third]);
    pairs.into_iter().flat_map(three).collect()
}

#[test]
fn what_we_wrote_says_nothing_new() {
    for profile in PROFILES {
        for statuses in all() {
            let workflow = with(statuses, profile);
            for document in export(&workflow, profile, ROOT) {
                let mut again = workflow.clone();
                take(&mut again, profile, &document.path, &document.value, ROOT).unwrap();
                assert_eq!(
                    again.phases, workflow.phases,
                    "{profile:?} {statuses:?} {}",
                    document.value
                );
                assert_eq!(
                    (again.status, again.updated_ms),
                    (workflow.status, workflow.updated_ms)
                );
                // Writing it over itself, and reading it again, changes nothing.
                assert_eq!(
                    export(&again, profile, ROOT)[0].value.to_string(),
                    document.value.to_string()
                );
                take(&mut again, profile, &document.path, &document.value, ROOT).unwrap();
                assert_eq!(again.phases, workflow.phases, "{profile:?} {statuses:?}");
            }
        }
    }
}

#[test]
fn a_run_that_moves_on_is_written_over_its_old_document_as_if_it_were_new() {
    for profile in PROFILES {
        for (before, after) in all().into_iter().zip(all().into_iter().rev()) {
            let mut old = with(before, profile);
            let document = export(&old, profile, ROOT).remove(0);
            old.documents.insert(document.path.clone(), document.value);
            let mut moved = with(after, profile);
            moved.documents = old.documents;
            let written = export(&moved, profile, ROOT).remove(0).value;
            let mut read = with(after, profile);
            read.documents
                .insert(document.path.clone(), written.clone());
            take(&mut read, profile, &document.path, &written, ROOT).unwrap();
            assert_eq!(
                read.phases, moved.phases,
                "{profile:?} {before:?} {after:?} {written}"
            );
        }
    }
}

#[test]
fn every_pipeline_that_we_write_fits_the_schema() {
    let schema = serde_json::from_str(pipeline_schema::PIPELINE_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for statuses in all() {
        let value = export(&with(statuses, Profile::Pipeline), Profile::Pipeline, ROOT)
            .remove(0)
            .value;
        assert!(validator.is_valid(&value), "{value}");
    }
}
