//! Reasons that a kill or damage meets; `stories/reword.md` has the rest.

use crate::bench::{Sandbox, given, strace};

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 1000\n");
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

fn manifest(sandbox: &Sandbox) -> String {
    sandbox.read(sandbox.store().join("checkpoint-manifest.md"))
}

#[test]
fn a_killed_reword_leaves_one_reason_or_the_other() {
    given!(if strace::available());
    let calls = "rename,renameat,renameat2,unlink,unlinkat";
    for nth in 1..=6 {
        let (sandbox, ids) = with(2);
        let _ = strace::kill_at(&sandbox, calls, nth, &["reword", &ids[0], "killed"]);
        let reason = sandbox.shown(&ids[0])["reason"].clone();
        assert!(
            reason == "killed" || reason == "number 0",
            "{nth}: {reason}"
        );
        sandbox.write("a", "later");
        sandbox.create("later");
        let row = format!("| {}", reason.as_str().expect("a text"));
        assert!(
            manifest(&sandbox).contains(&row),
            "{nth}: {}",
            manifest(&sandbox)
        );
        sandbox.ok("verify --full");
    }
}

#[test]
fn a_word_that_is_mistyped_beside_damage_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let packs = || crate::bench::damaged::packs_of(&sandbox.store());
    let first = packs();
    sandbox.write("a", "2").create("two");
    for pack in packs().iter().filter(|pack| !first.contains(pack)) {
        crate::bench::fixtures::remove(pack);
    }
    sandbox
        .fails(6, "show threee")
        .stderr_has("no readable checkpoint is 'threee', and checkpoint ");
}
