//! What a disk or a mount keeps from being read makes a checkpoint partial; `stories/unreadable.md` has
//! what this user may not read, `stories/partial.md` what stays by rule.

use crate::bench::{Run, Sandbox, given, skipped, strace};

/// A wrapper that takes root's right to read everything away.
const ORDINARY: [&str; 3] = [
    "/usr/bin/setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
];

/// The wrapper under which permission bits count, or `None` with a printed line.
pub fn wrapper(sandbox: &Sandbox) -> Option<&'static [&'static str]> {
    if cfg!(windows) {
        skipped("needs bits of permission");
        return None;
    }
    if !crate::bench::os::is_root() {
        return Some(&[]);
    }
    let closed = sandbox.home().join("closed");
    sandbox.write(&closed, "x").chmod(&closed, 0);
    let mut probe = std::process::Command::new(ORDINARY[0]);
    probe.args(&ORDINARY[1..]).arg("/bin/cat").arg(&closed);
    let denied = std::path::Path::new(ORDINARY[0]).is_file() && Run::of(probe).code != 0;
    if !denied {
        skipped("needs an ordinary user");
    }
    denied.then_some(&ORDINARY)
}

#[test]
fn a_file_on_a_failing_disk_makes_the_checkpoint_partial_and_is_no_deletion() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox
        .write("bad", "1")
        .write("good", "1")
        .create("before");
    sandbox.write("bad", "22").write("good", "22");
    let (bad, args) = (sandbox.path("bad"), ["create", "--json", "-r", "partial"]);
    let run = strace::failing_at_path(&sandbox, &bad, "read,pread64", "EIO", "1+", &args).code(5);
    let data = run.data();
    assert_eq!(
        (&data["coverage"], &data["counts"]["deleted"]),
        (&"partial".into(), &0.into()),
        "{run}"
    );
    assert_eq!(
        (&data["uncaptured"][0]["path"], &data["uncaptured"][1]),
        (&"bad".into(), &serde_json::Value::Null)
    );
    sandbox.write("bad", "333").write("good", "333");
    sandbox.restore("partial").success();
    assert_eq!(
        (sandbox.read("bad"), sandbox.read("good")),
        ("333".into(), "22".into())
    );
}

#[cfg(unix)]
#[test]
fn a_mount_is_named_and_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("src/f", "1").create("before");
    let script = r#"
        mkdir disk bound; mount -t tmpfs none disk && mount --bind src bound || exit 99
        echo theirs > disk/f; echo 2 > a
        code=0; "$0" create --json -r mounted > "$HOME/document" || code=$?; echo "create $code"
        "$0" restore before --yes > /dev/null
        cat a disk/f bound/f"#;
    let run = given!(sandbox.mounting(script));
    run.success().stdout_is("create 5\n1theirs\n1");
    let document = std::fs::read_to_string(sandbox.home().join("document")).expect("a document");
    let document: serde_json::Value = serde_json::from_str(&document).expect("a document");
    let uncaptured = document["data"]["uncaptured"].as_array().expect("a list");
    let mut named: Vec<&str> = uncaptured
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["bound", "disk"]);
}

#[cfg(unix)]
#[test]
fn a_mount_in_a_directory_that_is_left_out_today_is_named_by_the_plan() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/f", "1").write("a", "1").create("good");
    sandbox.write(".gitignore", "lib\n").write("a", "2");
    let script = r#"
        mount -t tmpfs none lib || exit 99
        plan=0; "$0" restore good --dry-run || plan=$?
        act=0; "$0" restore good --yes || act=$?
        echo "$plan $act $(cat a)""#;
    let run = given!(sandbox.mounting(script));
    run.success().stdout_has("4 4 2").stderr_has("lib (");
}
