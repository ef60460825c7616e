//! A repository of another user around a root, and what a volume keeps; `stories/owners.md` has the
//! rest.

use std::path::Path;

use crate::bench::{Sandbox, given, skipped};

#[cfg(unix)]
#[test]
fn a_repository_of_another_user_around_a_root_has_no_say() {
    if !crate::bench::os::is_root() {
        return crate::bench::skipped("needs to give files away");
    }
    let sandbox = Sandbox::bare();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write(".gitignore", "*.rs\n").write("p/a.rs", "1");
    crate::bench::os::chown(sandbox.path(".git"), Some(12345), None).unwrap();
    sandbox.ok("-C p create -r x");
    sandbox.ok("-C p ls x --recursive").stdout_is("a.rs\n");
}

#[cfg(unix)]
#[test]
fn a_volume_keeps_its_lost_and_found_and_is_no_part_of_a_repository_around_it() {
    let sandbox = Sandbox::bare();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write(".gitignore", "file\n").mkdir("volume");
    let script = r#"
        mount -t tmpfs none volume || exit 99
        cd volume; mkdir -m 700 lost+found deep; mkdir deep/lost+found
        echo 1 > lost+found/x; echo 1 > deep/lost+found/y; echo 1 > file
        "$0" create -r one > /dev/null
        "$0" ls one --recursive; rm file; echo 2 > lost+found/x
        "$0" restore one --yes > /dev/null; cat lost+found/x"#;
    let run = given!(sandbox.mounting(script));
    let run = run
        .success()
        .stdout_is("deep/\ndeep/lost+found/\ndeep/lost+found/y\nfile\n2\n");
    run.stderr_has("left out: lost+found/");
    if !Path::new("/usr/bin/setpriv").exists() {
        return skipped("needs setpriv");
    }
    let script = r#"
        mkdir above above/volume; mount -t tmpfs none above/volume || exit 99
        mkdir -m 700 above/volume/lost+found; chown 1234 above/volume; chmod 711 above
        cd above/volume; HOME=$HOME/other; mkdir -m 777 "$HOME"
        setpriv --reuid 1234 --clear-groups "$0" create -r one > /dev/null"#;
    let run = sandbox.mounting(script).expect("as before");
    run.success().stderr_has("left out: lost+found/");
}
