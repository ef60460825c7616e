//! `guard` where something cannot be read; `stories/guard.md` has the rest.

use std::path::PathBuf;

use crate::bench::damaged::packs_of;
use crate::bench::{Sandbox, given};
use crate::partial;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.py", "a1\n").write("README", "r1\n");
    sandbox
}

/// The message of a refusal.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(&[&["guard", "--json"], args].concat()).code(4);
    assert_eq!(run.error_code(), "unguarded", "{run}");
    let message = &run.json()["error"]["message"];
    message.as_str().expect("a message").to_owned()
}

#[track_caller]
fn passed(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(&[&["guard"], args].concat()).success();
    run.stdout.trim_end().to_owned()
}

#[cfg(unix)]
#[test]
fn a_partial_checkpoint_guards_only_what_it_could_read() {
    let sandbox = project();
    let wrapper = given!(partial::wrapper(&sandbox));
    sandbox.write("closed/inside", "3").chmod("closed", 0);
    let run = sandbox.run_under(wrapper, &["create"]).code(5);
    refused(&sandbox, &[]);
    assert_eq!(
        passed(&sandbox, &["--scope", "src", "--scope", "READ*"]),
        run.stdout.trim_end()
    );
    for args in [&["--scope", "closed"][..], &["--scope", "."], &[]] {
        let message = refused(&sandbox, args);
        assert!(
            message.contains("does not hold closed (cannot be read): fix that"),
            "{message}"
        );
    }
    sandbox.chmod("closed", 0o755);
    let id = sandbox.create("mended");
    assert_eq!(passed(&sandbox, &[]), id);
}

#[test]
fn a_damaged_checkpoint_guards_nothing_and_an_older_whole_one_does() {
    let sandbox = project();
    let first = sandbox.create("first");
    let before = packs_of(&sandbox.store());
    sandbox.write("README", "r2\n");
    let second = sandbox.create("second");
    let others: Vec<PathBuf> = packs_of(&sandbox.store())
        .into_iter()
        .filter(|pack| !before.contains(pack))
        .collect();
    let aside = |packs: &[PathBuf]| {
        for pack in packs {
            std::fs::rename(pack, pack.with_extension("x")).unwrap();
        }
    };
    let back = |packs: &[PathBuf]| {
        for pack in packs {
            std::fs::rename(pack.with_extension("x"), pack).unwrap();
        }
    };
    aside(&before);
    let message = refused(&sandbox, &[]);
    assert!(
        message.contains(&second) && message.contains("damaged"),
        "{message}"
    );
    back(&before);
    aside(&others);
    assert_eq!(passed(&sandbox, &[]), first);
    back(&others);
    assert_eq!(passed(&sandbox, &[]), second);
}
