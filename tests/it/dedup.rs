//! Deduplication: an equal state, reason and source within one second gives the first checkpoint;
//! all else is recorded.

use crate::bench::Sandbox;

const NOON: &str = "2026-03-24T12:00:00Z";
const FIRST: [&str; 5] = ["create", "--reason", "first", "--source", "test"];

fn with_a_first_checkpoint() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").at(NOON);
    let first = sandbox.create("first");
    (sandbox, first)
}

#[test]
fn the_same_request_within_a_second_gives_the_first_id_again() {
    let (sandbox, first) = with_a_first_checkpoint();
    let run = sandbox
        .at("2026-03-24T12:00:00.999Z")
        .run(&[&FIRST[..], &["--json"]].concat())
        .success();
    let data = run.data();
    assert_eq!(data["short"], first.as_str());
    assert_eq!(
        (&data["created"], &data["skipped"]),
        (&false.into(), &"dedup".into())
    );
    assert_eq!(
        (&data["reason"], &data["requested_reason"]),
        (&"first".into(), &"first".into())
    );
    assert_eq!(run.warning_codes(), ["dedup"]);
    let run = sandbox.at(NOON).run(&FIRST).success().stderr_has("first");
    assert_eq!(run.stdout.trim_end(), first);
    assert_eq!(sandbox.listed().len(), 1);
}

#[test]
fn each_reason_and_each_source_has_a_row_of_its_own_however_soon() {
    let (sandbox, first) = with_a_first_checkpoint();
    let second = sandbox.at(NOON).create("second");
    let third = sandbox.create_data(&["--reason", "second", "--source", "skill"])["short"].clone();
    assert_eq!(
        sandbox.listed_ids(),
        [third.as_str().expect("an id"), &second, &first]
    );
    sandbox.write("a", "2");
    let data = sandbox.restore_data(&["first"]);
    assert_eq!(data["restored_from"]["short"], first.as_str());
    let contract =
        sandbox.create_data(&["--reason", "fourth", "--contract"])["contract"].to_string();
    assert!(
        contract.contains("check:reason_given:yes, fourth"),
        "{contract}"
    );
}

#[test]
fn an_unchanged_state_a_second_later_is_a_new_row_on_the_same_tree() {
    let (sandbox, first) = with_a_first_checkpoint();
    let second = sandbox.at("2026-03-24T12:00:01Z").create("second");
    assert_ne!(first, second);
    assert_eq!(
        sandbox.shown(&first)["tree_id"],
        sandbox.shown(&second)["tree_id"]
    );
    assert_eq!(sandbox.listed_ids(), [second, first]);
}

#[test]
fn a_real_change_within_a_second_is_recorded() {
    let changes: [fn(&Sandbox) -> &Sandbox; 4] = [
        |sandbox| sandbox.write("a", "2"),
        |sandbox| sandbox.mkdir("empty"),
        |sandbox| sandbox.chmod("a", 0o600),
        |sandbox| sandbox.fifo("pipe"),
    ];
    // Windows has neither modes nor FIFOs.
    for change in &changes[..if cfg!(unix) { 4 } else { 2 }] {
        let (sandbox, first) = with_a_first_checkpoint();
        change(&sandbox);
        let data = sandbox.at(NOON).create_data(&FIRST[1..]);
        assert_eq!(data["created"], true);
        assert_ne!(data["short"], first.as_str());
    }
}

#[test]
fn a_clock_that_went_back_is_outside_the_window() {
    let (sandbox, first) = with_a_first_checkpoint();
    let second = sandbox.at("2026-03-24T11:00:00Z").create("an hour before");
    assert_ne!(first, second);
    assert_eq!(
        sandbox.listed_ids(),
        [second, first],
        "order is by sequence, not by the clock"
    );
}

#[test]
fn the_window_is_the_users_to_set() {
    let (sandbox, first) = with_a_first_checkpoint();
    sandbox.user_config("dedup_window = \"10s\"\n");
    assert_eq!(sandbox.at("2026-03-24T12:00:09Z").create("first"), first);
}

#[test]
fn safety_checkpoints_are_never_deduplicated() {
    let (sandbox, first) = with_a_first_checkpoint();
    sandbox.write("a", "an edit").create("edited");
    let data = sandbox.at(NOON).restore_data(&[&first]);
    assert!(
        data["safety"]["short"].is_string(),
        "although the newest holds just this"
    );
    assert_eq!(sandbox.listed().len(), 3);
}
