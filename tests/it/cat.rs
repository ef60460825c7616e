//! The bytes of one file, and a damaged one; `stories/cat.md` has the rest.

use crate::bench::Sandbox;
use crate::bench::fixtures::{files_below, noise};
use crate::diff_oracle::raw;

#[test]
fn the_bytes_come_out_as_they_went_in() {
    let sandbox = Sandbox::new();
    let content = noise(7, 20 << 20);
    sandbox
        .write("d/large", &content)
        .write("small", b"\xff\0\r\n\x1b[31m")
        .write("empty", "")
        .symlink("link", "no/where");
    sandbox.create("one");
    sandbox.remove("d").remove("small").remove("link");
    assert!(
        raw(&sandbox, &["cat", "one:d/large"], 0) == content,
        "another content"
    );
    assert_eq!(
        raw(&sandbox, &["cat", "one:./small"], 0),
        b"\xff\0\r\n\x1b[31m"
    );
    assert_eq!(raw(&sandbox, &["cat", "one:empty"], 0), b"");
    assert_eq!(raw(&sandbox, &["cat", "one:link"], 0), b"no/where");
    let inside = format!("latest:{}", sandbox.path("small").display());
    assert_eq!(raw(&sandbox, &["cat", &inside], 0), b"\xff\0\r\n\x1b[31m");
}

#[test]
fn a_damaged_file_is_6_and_nothing_of_it_comes_out() {
    let sandbox = Sandbox::new();
    let content = noise(3, 100_000);
    sandbox.write("bad", &content).write("good", "1");
    sandbox.create("one");
    let needle = &content[1000..1064];
    for file in files_below(&sandbox.store().join("objects/pack")) {
        let mut bytes = std::fs::read(&file).expect("a pack can be read");
        if let Some(at) = bytes
            .windows(needle.len())
            .position(|window| window == needle)
        {
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).expect("a pack can be written");
        }
    }
    sandbox
        .fails(6, "cat one:bad")
        .stdout_is("")
        .stderr_has("bad");
    sandbox.ok("cat one:good").stdout_is("1");
}
