//! The page on JSON: its codes are those of the source, and the scripts do what they are said to do.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use strum::VariantNames as _;

use crate::bench::{Run, Sandbox, os, skipped};
use crate::source;

fn page(name: &str) -> String {
    std::fs::read_to_string(source::package().join(format!("src/docs/{name}.md"))).expect("a page")
}

/// The block of the page on JSON that is marked so.
fn block(mark: &str) -> String {
    let page = page("json");
    let block = page.split(&format!("```{mark}\n")).nth(1).expect("a block");
    block.split("```").next().expect("its end").to_owned()
}

/// Runs a script of the page; returns the id of the checkpoint `first` too.
fn five_tasks(mark: &str, interpreter: &str) -> Option<(Run, String)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(interpreter).exists());
    if !is_there {
        skipped(&format!("the scripts of json.md need {interpreter}"));
        return None;
    }
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("b", "1")
        .write(".env", "K=1")
        .fifo("pipe");
    let first = sandbox.create("first");
    sandbox.write("a", "2").write("c", "1").create("second");
    let bin = sandbox.top().join("bin");
    os::installed(Sandbox::binary(), &bin);
    let mut paths = vec![bin];
    paths.extend(std::env::split_paths(&path));
    let script = sandbox.top().join("script");
    std::fs::write(&script, block(mark)).expect("a file can be written");
    let mut command = std::process::Command::new(if mark == "sh" { "sh" } else { interpreter });
    let envs = sandbox.command(&[], &[]);
    command
        .arg(&script)
        .current_dir(sandbox.root())
        .env_clear()
        .envs(
            envs.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", std::env::join_paths(paths).expect("a PATH"));
    if let Some(home) = std::env::var_os("PYENV_ROOT") {
        command.env("PYENV_ROOT", home);
    }
    Some((Run::of(command).success(), first))
}

#[test]
fn the_scripts_for_five_tasks_do_what_the_page_says() {
    for (mark, interpreter) in [("python", "python3"), ("sh", "jq")] {
        if let Some((run, first)) = five_tasks(mark, interpreter) {
            let told = format!(
                "second: 3 files\nfirst: 2 files\nmodified a\ndeleted c\n\
                 undo takes back: first\nnewest 'first': {first}\nnot held: pipe\nnot held: .env\n"
            );
            assert_eq!(run.stdout, told, "{mark}\n{run}");
        }
    }
}

/// The words in backticks of the paragraph that begins with `lead`.
fn codes_listed(lead: &str) -> Vec<String> {
    let page = page("json");
    let paragraph = page
        .split("\n\n")
        .find(|paragraph| paragraph.starts_with(lead))
        .expect("a paragraph");
    let list = paragraph.trim_start_matches(lead).split(". ").next();
    let words = list.unwrap_or_default().split('`').skip(1).step_by(2);
    let mut codes: Vec<String> = words.map(str::to_owned).collect();
    codes.retain(|code| !["no_workflow", "dependencies_unmet"].contains(&code.as_str()));
    codes.sort_unstable();
    codes
}

#[test]
fn the_page_lists_every_code_of_errors_and_warnings() {
    let all = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let errors = all(checkpoint::error::Code::NAMES);
    assert_eq!(codes_listed("Of `error.code`: "), errors);
    let warnings = all(checkpoint::ops::warning::Warning::VARIANTS);
    assert_eq!(codes_listed("Of `warnings[].code`: "), warnings);
}

/// The first sort of a value: string, number, array and so on; `None` for any value and for null.
fn sort(schema: &Value) -> Option<&str> {
    if let Some(name) = schema["$ref"].as_str() {
        let is_time = name.ends_with("/TimeText");
        return Some(if is_time { "time" } else { "object" });
    }
    if let Some(either) = schema["anyOf"].as_array() {
        return either.first().and_then(sort);
    }
    let names = match &schema["type"] {
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    match names.first()?.as_str()? {
        "null" => None,
        "integer" => Some("number"),
        other => Some(other),
    }
}

/// Collects the sorts of the values of each field.
fn sorts(schema: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(sort) = sort(field) {
            let sorts = found.entry(name.clone()).or_default();
            sorts.insert(sort.to_owned());
        }
    }
    for part in schema["$defs"].as_object().into_iter().flatten() {
        sorts(part.1, found);
    }
}

#[test]
fn a_name_stands_for_one_sort_of_value_in_all_answers() {
    let mut found = BTreeMap::new();
    for name in checkpoint::cli::schema::names() {
        // Documents of other programs, whose fields are given.
        if ["contract", "pipeline-state", "restore-contract", "copies"].contains(&name) {
            continue;
        }
        let schema = checkpoint::cli::schema::text(name).expect("a schema");
        sorts(
            &serde_json::from_str(&schema).expect("a schema is JSON"),
            &mut found,
        );
    }
    assert!(found.len() > 150, "only {} names", found.len());
    found.retain(|_, sorts| sorts.len() > 1);
    assert_eq!(found, BTreeMap::new());
}
