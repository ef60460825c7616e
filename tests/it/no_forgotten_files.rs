//! Each file of these tests is a module of the one binary; without its `mod` line it never runs.

use std::path::Path;

fn modules_named_in(file: &Path) -> Vec<String> {
    let text =
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let named = text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let mut named: Vec<String> = named
        .filter_map(|rest| rest.strip_suffix(';'))
        .map(str::to_owned)
        .collect();
    named.sort();
    named
}

fn check(dir: &Path, root_file: &str) {
    let mut present = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the folder can be listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").display().to_string();
        if path.join("mod.rs").is_file() {
            check(&path, "mod.rs");
            present.push(name);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with(root_file)
        {
            present.push(name);
        }
    }
    present.sort();
    assert_eq!(
        modules_named_in(&dir.join(root_file)),
        present,
        "in {}",
        dir.display()
    );
}

#[test]
fn every_test_file_is_a_module() {
    check(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"),
        "main.rs",
    );
}
