//! Settings that cannot be read never mean less protection; `stories/config.md` has the rest.

use crate::bench::{Sandbox, given};
use crate::source;

#[test]
fn every_variable_that_the_source_reads_is_listed() {
    let sandbox = Sandbox::new();
    let data = sandbox.json("config");
    let listed: Vec<String> = data["environment"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].to_string())
        .collect();
    let mut read = 0;
    for file in source::files()
        .iter()
        .filter(|file| file.name.starts_with("shell/"))
    {
        for head in ["path(\"", "text(\"", "var(\"", "var_os(\""] {
            for (at, _) in file.text.match_indices(head) {
                let name = file.text[at + head.len()..]
                    .split('"')
                    .next()
                    .unwrap_or_default();
                if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
                    read += 1;
                    assert!(
                        listed.contains(&format!("\"{name}\"")),
                        "{}: {name} is not listed",
                        file.name
                    );
                }
            }
        }
    }
    assert!(read >= 9, "only {read} were found in the source");
}

/// Files of a user who forgot quotes, misspelt a key or a word, or let a link lead nowhere.
const SLIPS: [&str; 9] = [
    "exclude = [\"private/\"]\nmax_file_size = \"1 KiB\"\nkeep = 30 days\n",
    "exclude = [\"private/\"]\nmax_file_size = \"1 KiB\"\nauto = \"Off\"\n",
    "exclude = [\"private/\", build/]\n",
    "exlude = [\"private/\"]\n",
    "exclude = [\"./private\"]\n",
    "[checkpoint]\nexclude = [\"private/\"]\n",
    "exclude = [\"/usr/bin/env\"]\n",
    "exclude = [\"# private\"]\n",
    "exclude = [\"private//\"]\n",
];

#[test]
fn a_setting_that_cannot_be_read_never_means_less_protection() {
    for (slip, of_project) in SLIPS.iter().map(|slip| (slip, false)).chain(
        // A project may set fewer keys.
        [0, 2, 3, 4, 5, 6, 7, 8].map(|at| (&SLIPS[at], true)),
    ) {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("good");
        sandbox.write("a", "2").write("private/x", "p");
        if of_project {
            sandbox.write(".checkpoint.toml", slip);
        } else {
            sandbox.user_config(slip);
        }
        sandbox.fails(1, "create").stderr_has(".toml");
        let agent = crate::hook::claude(&sandbox);
        agent.prompt("go").stdout_has("nothing was recorded");
        agent.prompt("go on").stdout_is("");
        assert_eq!(sandbox.listed().len(), 1, "{slip}");
        sandbox.ok("restore good --yes");
        assert_eq!(sandbox.read("a"), "1", "{slip}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_the_store_that_cannot_be_read_never_means_less_protection() {
    use crate::bench::strace;
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("good");
    let list = sandbox.store().join(".gitignore");
    sandbox.write("a", "2");
    let unreadable =
        |args: &[&str]| strace::failing_at_path(&sandbox, &list, "openat,read", "EIO", "1+", args);
    let run = unreadable(&["create"]).code(1);
    run.stderr_has(".gitignore");
    unreadable(&["restore", "good", "--yes"]).success();
    assert_eq!(sandbox.read("a"), "1");
    assert_eq!(sandbox.listed().len(), 2);
}
