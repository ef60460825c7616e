//! A run that takes an edited document, or refuses it.

use serde_json::Value;

use crate::workflow::profiles::dispatch::take;
use crate::workflow::profiles::example_tests::{ROOT, begun, codes, written};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::workflow::Workflow;

/// Begins a run and takes an edited document: the document must stay as edited, and the run must
/// follow it.
#[track_caller]
pub fn edited(
    profile: Profile,
    path: &str,
    value: &Value,
    edit: impl FnOnce(&mut Value),
) -> Workflow {
    let mut workflow = begun(profile, path, value);
    workflow.phases[0].before = Some("b".repeat(40));
    let mut value = value.clone();
    edit(&mut value);
    take(&mut workflow, profile, path, &value, ROOT).unwrap();
    assert_eq!(written(&workflow, path).to_string(), value.to_string());
    assert_eq!(workflow.phases[0].before, Some("b".repeat(40)));
    workflow
}

#[track_caller]
pub fn refused(
    profile: Profile,
    path: &str,
    value: &Value,
    edit: impl FnOnce(&mut Value),
) -> Vec<(String, String)> {
    let mut workflow = begun(profile, path, value);
    let before = workflow.clone();
    let mut value = value.clone();
    edit(&mut value);
    let findings = take(&mut workflow, profile, path, &value, ROOT).unwrap_err();
    assert_eq!(workflow, before);
    assert!(findings.iter().all(|finding| !finding.what.is_empty()));
    codes(&findings)
        .into_iter()
        .map(|(code, place)| (code.to_owned(), place.to_owned()))
        .collect()
}

pub fn one(code: &str, place: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), place.to_owned())]
}
