//! `pin` and `unpin`: protect a checkpoint from eviction, and end that.

use crate::bench::Sandbox;

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

fn pinned(sandbox: &Sandbox) -> Vec<String> {
    let rows = sandbox.listed();
    rows.iter()
        .filter(|row| row["pinned"] == true)
        .map(|row| row["short"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_pinned_checkpoint_is_not_evicted_and_an_unpinned_one_is() {
    let (sandbox, ids) = with(4);
    sandbox
        .run(&["pin", &ids[0]])
        .success()
        .stdout_is(&format!("Pinned {} (number 0)\n", ids[0]));
    sandbox.run(&["prune", "--keep", "2", "--yes"]).success();
    let left = [&ids[3], &ids[2], &ids[0]].map(String::clone);
    assert_eq!(
        sandbox.listed_ids(),
        left,
        "the last two, and the pinned one"
    );
    sandbox
        .run(&["unpin", "number 0"])
        .success()
        .stdout_is(&format!("Unpinned {} (number 0)\n", ids[0]));
    assert_eq!(pinned(&sandbox), Vec::<String>::new());
    sandbox.run(&["prune", "--keep", "1", "--yes"]).success();
    assert_eq!(sandbox.listed_ids(), [ids[3].clone()]);
}

#[test]
fn pinning_twice_is_fine_and_says_so() {
    let (sandbox, ids) = with(1);
    sandbox
        .run(&["unpin", "latest"])
        .success()
        .stdout_has("Was not pinned");
    let first = sandbox.run(&["pin", "latest", "--json"]).success().data();
    assert_eq!(
        (first["short"].as_str(), &first["nothing_to_do"]),
        (Some(ids[0].as_str()), &false.into())
    );
    let again = sandbox.run(&["pin", "latest", "--json"]).success().data();
    assert_eq!(
        (&again["pinned"], &again["nothing_to_do"]),
        (&true.into(), &true.into())
    );
    sandbox
        .run(&["pin", "latest"])
        .success()
        .stdout_has("Already pinned");
    assert_eq!(sandbox.status()["pinned_count"], 1);
}

#[test]
fn without_a_store_or_a_match_pinning_is_3() {
    let sandbox = Sandbox::new();
    for verb in ["pin", "unpin"] {
        sandbox.run(&[verb, "latest"]).code(3);
        sandbox.run(&[verb]).code(2);
    }
    assert!(!sandbox.base().exists(), "pin made a store");
    let (sandbox, _) = with(1);
    sandbox.run(&["pin", "no-such-reason"]).code(3);
    sandbox.run(&["pin", ""]).code(2);
}

#[test]
fn a_pin_survives_a_lost_manifest_and_torn_refs() {
    let (sandbox, ids) = with(3);
    sandbox.run(&["pin", &ids[0]]).success();
    let store = sandbox.store();
    let id = sandbox.listed()[2]["id"].as_str().unwrap().to_owned();
    std::fs::remove_file(store.join("checkpoint-manifest.md")).unwrap();
    std::fs::write(store.join("refs/pins").join(&id), "").unwrap();
    std::fs::write(store.join("refs/checkpoints").join(&id), "\0\0").unwrap();
    assert_eq!(pinned(&sandbox), [ids[0].clone()]);
    sandbox.run(&["prune", "--keep", "1", "--yes"]).success();
    assert_eq!(sandbox.listed_ids(), [ids[2].clone(), ids[0].clone()]);
    assert_eq!(pinned(&sandbox), [ids[0].clone()]);
}

#[test]
fn pinning_works_with_a_garbled_manifest_and_lost_refs() {
    let (sandbox, ids) = with(2);
    let store = sandbox.store();
    std::fs::write(store.join("checkpoint-manifest.md"), "\0garbage").unwrap();
    std::fs::remove_dir_all(store.join("refs")).unwrap();
    sandbox.run(&["pin", &ids[0]]).success();
    assert_eq!(
        (sandbox.listed().len(), pinned(&sandbox)),
        (2, vec![ids[0].clone()])
    );
}
