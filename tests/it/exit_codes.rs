//! Exit codes of damaged, newer and busy stores; `stories/exit_codes.md` has the rest.

use crate::bench::Sandbox;

fn with_one() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    (sandbox, id)
}

#[test]
fn a_damaged_checkpoint_is_6_and_changes_nothing() {
    let (sandbox, id) = with_one();
    sandbox.write("a", "2").watch(sandbox.root());
    for pack in crate::bench::fixtures::files_below(&sandbox.store().join("objects")) {
        if pack
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            let mut bytes = std::fs::read(&pack).expect("a pack can be read");
            let middle = 12..bytes.len() - 20;
            bytes[middle].fill(0);
            std::fs::write(&pack, bytes).expect("a pack can be written");
        }
    }
    sandbox.restore(&id).code(6).stderr_has(&id);
}

#[test]
fn a_store_of_a_newer_format_is_6_and_stays_as_it_is() {
    let (sandbox, id) = with_one();
    crate::bench::fixtures::make_newer(&sandbox.store(), 999);
    sandbox
        .write("a", "2")
        .watch(&sandbox.store())
        .watch(sandbox.root());
    let run = sandbox.fails(6, "create --json");
    assert_eq!(run.error_code(), "store_too_new");
    sandbox.restore(&id).code(6);
    sandbox.cmd("list").stdout_has(&id);
}

#[test]
fn a_busy_store_is_7_after_the_given_time() {
    let (sandbox, _) = with_one();
    let folder = sandbox.store().join("checkpoint");
    let locks: Vec<_> = crate::bench::fixtures::files_below(&folder)
        .into_iter()
        .filter(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().contains("lock"))
        })
        .collect();
    assert_eq!(locks.len(), 1, "one lock file in {}", folder.display());
    let holder = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&locks[0])
        .expect("the lock opens");
    holder.lock().expect("the lock is free");
    sandbox.write("a", "2");
    let run = sandbox.fails(7, "create --lock-timeout 1 --json");
    assert_eq!(run.error_code(), "busy");
    assert_eq!(sandbox.listed().len(), 1, "readers never wait");
    drop(holder);
    sandbox.create("free again");
}
