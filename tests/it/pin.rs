//! Pins with a damaged store; `stories/pin.md` has the rest.

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
fn a_pin_survives_a_lost_manifest_and_torn_refs() {
    let (sandbox, ids) = with(3);
    sandbox.ok(format!("pin {}", ids[0]));
    let store = sandbox.store();
    let id = sandbox.listed()[2]["id"].as_str().unwrap().to_owned();
    std::fs::remove_file(store.join("checkpoint-manifest.md")).unwrap();
    std::fs::write(store.join("refs/pins").join(&id), "").unwrap();
    std::fs::write(store.join("refs/checkpoints").join(&id), "\0\0").unwrap();
    assert_eq!(pinned(&sandbox), [ids[0].clone()]);
    sandbox.ok("prune --keep 1 --yes");
    assert_eq!(sandbox.listed_ids(), [ids[2].clone(), ids[0].clone()]);
    assert_eq!(pinned(&sandbox), [ids[0].clone()]);
}

#[test]
fn pinning_works_with_a_garbled_manifest_and_lost_refs() {
    let (sandbox, ids) = with(2);
    let store = sandbox.store();
    std::fs::write(store.join("checkpoint-manifest.md"), "\0garbage").unwrap();
    std::fs::remove_dir_all(store.join("refs")).unwrap();
    sandbox.ok(format!("pin {}", ids[0]));
    assert_eq!(
        (sandbox.listed().len(), pinned(&sandbox)),
        (2, vec![ids[0].clone()])
    );
}
