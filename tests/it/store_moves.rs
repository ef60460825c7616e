//! Stores that the system does not rename: mount points, and lower layers of an overlay.

use std::path::Path;

use crate::bench::{Run, Sandbox, given, place};

/// How a store is kept where it is.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// Its directory is a mount point.
    Mount,
    /// It lies in the lower layer of an overlay, as all in a fresh container does.
    Layer,
}

const BOTH: [Kept; 2] = [Kept::Mount, Kept::Layer];

/// Runs a script after `store` was made so that it is not renamed; `None`, with a printed line,
/// where mounting is not permitted.
fn with(kept: Kept, sandbox: &Sandbox, store: &Path, script: &str) -> Option<Run> {
    let (store, folder) = (store.display(), store.parent().expect("a folder").display());
    let mount = match kept {
        Kept::Mount => format!("mount --bind {store} {store} || exit 99"),
        Kept::Layer => format!(
            "d=$(mktemp -d); mount -t tmpfs none $d || exit 99; mkdir $d/upper $d/work
             mount -t overlay none -o lowerdir={folder},upperdir=$d/upper,workdir=$d/work {folder} || exit 99"
        ),
    };
    let top = sandbox.top();
    let script = format!("{mount}\nfolder={folder}; cd {}\n{script}", top.display());
    sandbox.mounting(&script).map(Run::success)
}

fn story() -> Sandbox {
    let sandbox = Sandbox::rooted_at("proj");
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").create("two");
    sandbox
}

/// Lists the reasons of all checkpoints, verifies them and restores the oldest.
const LOOK: &str = r#"
    "$0" list --json | grep -o '"reason"' | grep -c .; "$0" verify --full > /dev/null
    "$0" restore one --yes > /dev/null; cat a; "$0" undo --yes > /dev/null; cat a
    ls "$folder" | grep -E 'fresh|deleted' || true"#;

/// Brings the store of the sandbox here, and looks at it.
fn relink(sandbox: &Sandbox) -> String {
    let old = sandbox.root().display();
    format!("\"$0\" relink {old} --yes > /dev/null\n{LOOK}")
}

#[test]
fn such_a_store_follows_its_project() {
    for kept in BOTH {
        for (meanwhile, listed) in [("", 2), ("\"$0\" create -q -r meanwhile > /dev/null; ", 3)] {
            let sandbox = story();
            let store = place::store(&sandbox.base(), sandbox.root());
            let script = format!("mv proj moved; cd moved; {meanwhile}{}", relink(&sandbox));
            let run = given!(with(kept, &sandbox, &store, &script));
            assert_eq!(run.stdout, format!("{listed}\n12"), "{kept:?}: {run}");
        }
    }
}

#[test]
fn such_a_store_takes_the_place_of_one_that_was_begun_meanwhile() {
    for kept in BOTH {
        let sandbox = story();
        let moved = sandbox.top().join("moved");
        std::fs::rename(sandbox.root(), &moved).expect("a directory can be moved");
        sandbox.ok("-C ../moved create -q -r begun");
        let store = place::store(&sandbox.base(), &moved);
        let script = format!("cd moved; {}", relink(&sandbox));
        let run = given!(with(kept, &sandbox, &store, &script));
        assert_eq!(run.stdout, "3\n12", "{kept:?}: {run}");
    }
}

#[test]
fn such_a_store_is_replaced_by_what_can_be_read_of_it() {
    for kept in BOTH {
        let sandbox = story();
        let store = place::store(&sandbox.base(), sandbox.root());
        let lock = store.join("checkpoint/lock");
        std::fs::remove_file(&lock).expect("the lock goes");
        std::fs::create_dir_all(lock.join("in the way")).expect("a directory");
        let script = format!("cd proj; \"$0\" create -q -r three > /dev/null\n{LOOK}");
        let run = given!(with(kept, &sandbox, &store, &script));
        assert_eq!(run.stdout, "3\n12", "{kept:?}: {run}");
    }
}

#[test]
fn such_a_store_is_removed() {
    for kept in BOTH {
        for words in ["delete --all --yes", "-C .. prune --orphaned --yes"] {
            let sandbox = story();
            let store = place::store(&sandbox.base(), sandbox.root());
            let script = format!(
                "cd proj; test \"{words}\" = \"delete --all --yes\" || {{ cd ..; mv proj gone; mkdir proj; rmdir proj; mkdir x; cd x; }}
                 \"$0\" {words} > /dev/null; ls -A {store} 2> /dev/null || true
                 \"$0\" list; echo 4 > a; \"$0\" create -q -r new > /dev/null; \"$0\" verify --full > /dev/null",
                store = store.display()
            );
            let run = given!(with(kept, &sandbox, &store, &script));
            assert!(!run.stdout.contains("one"), "{kept:?} {words}: {run}");
        }
    }
}

#[test]
fn a_move_that_was_killed_is_finished_or_begun_anew() {
    given!(if crate::bench::strace::available());
    let sandbox = story();
    let store = place::store(&sandbox.base(), sandbox.root());
    std::fs::rename(sandbox.root(), sandbox.top().join("moved")).expect("a directory can be moved");
    // Each round has the stores as they were, in the lower layer.
    let script = format!(
        r#"d=$(mktemp -d); mount -t tmpfs none $d || exit 99
        cd moved; calls=rename,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,fsync; nth=0; code=137
        while [ $code != 0 ]; do
            nth=$((nth + 1)); mkdir $d/$nth $d/$nth/upper $d/$nth/work
            mount -t overlay none -o lowerdir={folder},upperdir=$d/$nth/upper,workdir=$d/$nth/work {folder}
            code=0; strace -f -qq -o $d/log -e trace=$calls -e inject=$calls:signal=KILL:when=$nth \
                "$0" relink {old} --yes > /dev/null || code=$?
            "$0" relink {old} --yes > /dev/null || true
            "$0" list --json | grep -o '"reason"' | grep -c . || echo "nothing after $nth"
            "$0" verify --full > /dev/null || echo "damage after $nth"
            "$0" restore one --yes > /dev/null; cat a; "$0" undo --yes > /dev/null; cat a; echo
            umount {folder}; rm -rf {new}
        done; echo "$nth rounds" >&2"#,
        folder = store.parent().expect("a folder").display(),
        old = sandbox.root().display(),
        new = place::store(&sandbox.base(), &sandbox.top().join("moved")).display()
    );
    let script = format!("cd {}\n{script}", sandbox.top().display());
    let run = given!(sandbox.mounting(&script).map(Run::success));
    let rounds: Vec<&str> = run.stdout.lines().collect();
    assert!(rounds.len() > 2 * 30, "{run}");
    assert!(rounds.chunks(2).all(|round| round == ["2", "12"]), "{run}");
}
