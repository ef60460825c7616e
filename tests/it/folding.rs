//! Names that differ only by case, on a file system where they are one: NTFS by FUSE stands for
//! macOS and Windows.

use crate::bench::{Run, Sandbox, given, skipped};

/// Prefix of each script: makes a checkpoint on the usual file system, then the same names in
/// another spelling on a disk that folds case. The script that follows finds both checkpoints,
/// `upper` and `lower`.
const DISK: &str = r#"
    command -v lowntfs-3g mkntfs > /dev/null && [ -c /dev/fuse ] || exit 98
    printf one > README; mkdir -p Dir/sub Same; printf one > Dir/sub/a; printf same > Same/s
    "$0" create -q -r upper > /dev/null
    truncate -s 8M "$HOME/disk"; mkntfs -F -q -f "$HOME/disk" > /dev/null 2>&1
    lowntfs-3g -o ignore_case,permissions "$HOME/disk" "$PWD" 2> /dev/null || exit 99
    cd "$PWD"
    printf two > readme; mkdir -p dir/sub same; printf two > dir/sub/a; printf same > same/s; printf x > dir/other
    chmod 644 readme dir/sub/a same/s dir/other; chmod 755 . dir dir/sub same
    "$0" create -q -r lower > /dev/null
    told() { code=0; "$0" "$@" > "$HOME/said" 2>&1 || code=$?; echo "$1 $code"; }
    tree() { find . -type f | sort | while read -r name; do echo "$name=$(cat "$name")"; done; }
"#;

/// Runs a script on such a disk; `None`, with a printed line, where none is available.
fn on_a_folding_disk(script: &str) -> Option<Run> {
    let sandbox = Sandbox::bare();
    let run = sandbox.mounting(&format!("{DISK}{script}"))?;
    if run.code == 98 {
        skipped("needs lowntfs-3g");
        return None;
    }
    Some(run.success())
}

#[cfg(unix)]
#[test]
fn what_goes_goes_before_another_spelling_of_its_name_comes() {
    let script = "
        told restore upper --yes; tree
        told undo --yes; tree
        told redo --yes; tree
        told verify --full
    ";
    let run = given!(on_a_folding_disk(script));
    let upper = "./dir/sub/a=one\n./readme=one\n./same/s=same\n";
    let lower = "./dir/other=x\n./dir/sub/a=two\n./readme=two\n./same/s=same\n";
    assert_eq!(
        run.stdout,
        format!("restore 0\n{upper}undo 0\n{lower}redo 0\n{upper}verify 0\n"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn what_no_checkpoint_holds_stays_and_its_spelling_is_told() {
    let script = r#"
        mkfifo dir/fifo
        told restore upper --yes; cat "$HOME/said"; rm dir/fifo; tree
    "#;
    let run = given!(on_a_folding_disk(script));
    assert!(run.stdout.starts_with("restore 4\n"), "{run}");
    run.stdout_has("Dir (is there under another spelling of its name)")
        .stdout_has("./readme=two\n./same/s=same\n");
}

#[cfg(unix)]
#[test]
fn two_names_of_a_checkpoint_that_are_one_change_nothing() {
    let script = r#"
        here=$PWD; cd /; umount "$here"; cd "$here"; printf twin > readme; "$0" create -q -r twins > /dev/null
        lowntfs-3g -o ignore_case,permissions "$HOME/disk" "$PWD" 2> /dev/null; cd "$PWD"
        told restore twins --yes; cat "$HOME/said"; tree; told status
    "#;
    let run = given!(on_a_folding_disk(script));
    assert!(run.stdout.starts_with("restore 4\n"), "{run}");
    let run = run
        .stdout_has("nothing was changed")
        .stdout_has("README (is there under another spelling of its name)");
    assert!(
        run.stdout
            .ends_with("./dir/other=x\n./dir/sub/a=two\n./readme=two\n./same/s=same\nstatus 0\n"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn a_step_that_is_refused_brings_every_name_back() {
    let script = r#"
        command -v strace > /dev/null || exit 98
        tree > "$HOME/before"
        for nth in 3 6 9 12; do
            code=0
            strace -f -qq -o /dev/null -e trace=rename,renameat,renameat2 \
                -e inject=rename,renameat,renameat2:error=EIO:when="$nth+" "$0" restore upper --yes > "$HOME/said" 2>&1 || code=$?
            [ "$code" = 0 ] || "$0" undo --yes > /dev/null 2>&1 || true
            tree > "$HOME/after"; cmp -s "$HOME/before" "$HOME/after" || { echo "$nth: $code"; cat "$HOME/said" "$HOME/after"; }
        done
    "#;
    let run = given!(on_a_folding_disk(script));
    run.stdout_is("");
}
