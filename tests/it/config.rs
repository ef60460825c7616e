//! `config`: every value with its origin, whatever is wrong with the files.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::source;

fn setting(data: &Value, name: &str) -> Value {
    let settings = data["settings"].as_array().expect("a list");
    settings.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {data}")).clone()
}

fn origins(data: &Value, name: &str) -> Vec<String> {
    let origins = setting(data, name)["origins"].as_array().expect("a list").clone();
    origins.iter().map(|one| one["from"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 20\nmax_store_size = '2 GiB'\nexclude = ['a']\n");
    sandbox.write(".checkpoint.toml", "keep = 30\nexclude = ['b']\n").env("CHECKPOINT_SOURCE", "skill");
    let base = sandbox.top().join("elsewhere").display().to_string();
    let data = sandbox.run(&["config", "--json", "--base", &base, "--lock-timeout", "3"]).success().data();
    assert_eq!((&setting(&data, "keep")["value"], origins(&data, "keep")), (&json!(30), vec!["project_file".into()]));
    assert_eq!(setting(&data, "max_store_size")["value"], 2_u64 << 30);
    assert_eq!(origins(&data, "max_store_size"), ["user_file"]);
    assert_eq!(setting(&data, "exclude")["value"], json!(["a", "b"]));
    assert_eq!(origins(&data, "exclude"), ["user_file", "project_file"]);
    assert_eq!(
        (origins(&data, "max_files"), origins(&data, "source")),
        (vec!["default".into()], vec!["environment".into()])
    );
    assert_eq!(origins(&data, "lock_timeout"), ["flag"]);
    assert_eq!((&data["base"], &data["base_origin"]["place"]), (&json!(base), &json!("--base")));
    assert!(data["store"].as_str().is_some_and(|store| store.starts_with(&base)), "{data}");
    assert!(data["files"].as_array().is_some_and(|files| files.iter().all(|file| file["found"] == true)), "{data}");
}

#[test]
fn the_table_is_aligned_and_tells_the_places() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 20\n");
    let run = sandbox.run(&["config"]).success().stdout_has("not there").stdout_has("CHECKPOINT_HOME");
    let run = run.stdout_has(&sandbox.store().display().to_string()).stdout_has("config.toml");
    let column = |name: &str| {
        let line = run.stdout.lines().find(|line| line.trim_start().starts_with(name)).expect("a line");
        line[2 + name.len()..].find(|c| c != ' ').map(|at| at + 2 + name.len())
    };
    assert_eq!(column("keep"), column("auto_prune"), "{run}");
    assert!(!sandbox.base().exists(), "config made something");
}

#[test]
fn a_bad_value_is_named_and_the_others_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 'many'\nmax_files = 7\n");
    let run = sandbox.run(&["config"]).code(1).stderr_has("keep").stderr_has("config.toml");
    assert!(run.stdout.lines().any(|line| line.contains("max_files") && line.contains('7')), "{run}");
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(run.error_code(), "bad_config");
    assert_eq!(
        (&setting(&run.data(), "max_files")["value"], run.data()["problems"].as_array().map(Vec::len)),
        (&json!(7), Some(1))
    );
    sandbox.user_config("keep = [\n");
    sandbox.write(".checkpoint.toml", "keep = 60\n");
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(setting(&run.data(), "keep")["value"], 60, "one broken file hides the other");
}

#[test]
fn an_unknown_key_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.user_config("kepp = 3\n").write(".checkpoint.toml", "max_store_size = 1\n");
    sandbox.run(&["config"]).success().stderr_has("did you mean 'keep'").stderr_has("user's own configuration");
    assert_eq!(sandbox.run(&["config", "--json"]).success().warning_codes(), ["config", "config"]);
}

#[test]
fn without_a_base_to_be_had_everything_else_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.unset_env("HOME");
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(run.error_code(), "no_base");
    assert!(run.data()["base"].is_null() && run.data()["store"].is_null());
    sandbox.run(&["config"]).code(1).stdout_has("keep").stderr_has("CHECKPOINT_HOME");
}

#[test]
fn a_session_id_is_not_shown() {
    let sandbox = Sandbox::new();
    sandbox.env("CLAUDE_CODE_SESSION_ID", "secret-of-the-session");
    for args in [&["config"][..], &["config", "--json"]] {
        let run = sandbox.run(args).success();
        assert!(!run.stdout.contains("secret-of"), "{run}");
    }
    let data = sandbox.run(&["config", "--json"]).success().data();
    let variables = data["environment"].as_array().expect("a list");
    let session = variables.iter().find(|one| one["name"] == "CLAUDE_CODE_SESSION_ID").expect("it is listed");
    assert_eq!((&session["set"], &session["value"]), (&json!(true), &json!("set")));
}

#[test]
fn every_variable_that_the_source_reads_is_listed() {
    let sandbox = Sandbox::new();
    let data = sandbox.run(&["config", "--json"]).success().data();
    let listed: Vec<String> =
        data["environment"].as_array().expect("a list").iter().map(|one| one["name"].to_string()).collect();
    let mut read = 0;
    for file in source::files().iter().filter(|file| file.name.starts_with("cli/")) {
        for head in ["path(\"", "text(\"", "var(\"", "var_os(\""] {
            for (at, _) in file.text.match_indices(head) {
                let name = file.text[at + head.len()..].split('"').next().unwrap_or_default();
                if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
                    read += 1;
                    assert!(listed.contains(&format!("\"{name}\"")), "{}: {name} is not listed", file.name);
                }
            }
        }
    }
    assert!(read >= 9, "only {read} were found in the source");
}
