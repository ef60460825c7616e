//! The JSON of every command. That each answer of this suite validates against its schema is seen
//! to by `bench/answer.rs`; here stand the schemas themselves, and what the fields say.

use crate::bench::os::OsStrExt as _;

use serde_json::{Value, json};

use crate::bench::{Run, Sandbox};

fn schema(name: &str) -> Value {
    let text = checkpoint::cli::schema::text(name).unwrap_or_else(|| panic!("no schema {name}"));
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// The names of all answers: not of contracts, and not of what other programs prescribe.
fn answers() -> Vec<&'static str> {
    let mut names = checkpoint::cli::schema::names();
    names.retain(|name| {
        !["contract", "copies", "pipeline-state", "restore-contract"].contains(name)
    });
    names
}

fn data(command: &str, run: &Run) -> Value {
    let document = run.json();
    assert_eq!(
        document["schema"],
        format!("checkpoint.{command}/2"),
        "{run}"
    );
    run.data()
}

fn full_of_everything() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write(".gitignore", "*.log\n")
        .write("x.log", "1")
        .write(".env", "K=1")
        .write("dist/out", "1")
        .mkdir("empty");
    if cfg!(unix) {
        sandbox.fifo("pipe");
    }
    let id = sandbox.create("first");
    sandbox.write("a", "2").write("b", "1");
    (sandbox, id)
}

fn paths(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|one| one["path"].as_str().expect("a path"))
        .collect()
}

#[test]
fn every_command_publishes_the_schema_of_its_answer() {
    let known = answers();
    for command in checkpoint::cli::parse::command().get_subcommands() {
        let name = command.get_name();
        assert!(known.contains(&name), "no schema {name}");
        for inner in command.get_subcommands() {
            let name = format!("{name}.{}", inner.get_name().replace('-', "_"));
            assert!(known.contains(&&*name), "no schema {name}");
        }
    }
    let sandbox = Sandbox::new();
    let listed = sandbox.ok("schema").stdout;
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        checkpoint::cli::schema::names()
    );
    let list = sandbox.ok("schema list").stdout;
    assert_eq!(
        serde_json::from_str::<Value>(&list).ok(),
        Some(schema("list"))
    );
    let names = data("schema", &sandbox.ok("schema --json"));
    assert_eq!(
        names["names"].as_array().map(Vec::len),
        Some(listed.lines().count())
    );
    sandbox.fails(3, "schema nothing");
}

#[test]
fn a_schema_names_every_field_and_allows_no_other() {
    fn look(place: &str, value: &Value) {
        if let Some(fields) = value["properties"].as_object() {
            assert_eq!(value["additionalProperties"], false, "{place}");
            let required: Vec<&str> = value["required"]
                .as_array()
                .map(|list| list.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            let optional: Vec<&String> = fields
                .keys()
                .filter(|field| !required.contains(&field.as_str()))
                .collect();
            assert!(optional.is_empty(), "{place}: {optional:?}");
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            look(&format!("{place}.{key}"), inner);
        }
    }
    for name in answers() {
        let schema = schema(name);
        jsonschema::validator_for(&schema).expect("a schema is valid");
        look(name, &schema);
        assert_eq!(
            schema["properties"]["schema"]["const"],
            format!("checkpoint.{name}/2")
        );
    }
}

#[test]
fn a_time_a_size_and_a_checkpoint_have_one_shape_in_all_schemas() {
    fn look(place: &str, key: &str, value: &Value) {
        let text = value.to_string();
        let is_time = key == "time" || key.ends_with("_at");
        assert_eq!(
            is_time,
            text.contains("/TimeText"),
            "{place}.{key} is named as a time, or is one"
        );
        if key.contains("bytes") || key.contains("size") {
            assert!(
                key.ends_with("_bytes") || key == "over_max_store_size",
                "{place}.{key}"
            );
        }
    }
    fn all(place: &str, value: &Value) {
        if let Some(fields) = value["properties"].as_object() {
            for (key, field) in fields {
                look(place, key, field);
            }
            let has = |name: &str| fields.contains_key(name);
            if has("short") {
                assert!(
                    ["id", "reason", "time", "kind"].into_iter().all(has),
                    "{place}"
                );
            }
            assert!(!has("change") || has("path"), "{place}");
            assert!(!has("path") || has("path_hex"), "{place}");
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            all(&format!("{place}.{key}"), inner);
        }
    }
    for name in answers() {
        all(name, &schema(name));
    }
}

#[test]
fn create_says_what_was_made_and_left_out() {
    let (sandbox, _) = full_of_everything();
    let made = data("create", &sandbox.ok("create --json --reason second"));
    let (id, short) = (made["id"].as_str(), made["short"].as_str());
    assert_eq!((id.map(str::len), short.map(str::len)), (Some(40), Some(8)));
    assert_eq!(
        (&made["sequence"], &made["coverage"]),
        (&json!(2), &json!("complete"))
    );
    assert_eq!(made["kind"], "checkpoint");
    let left_out = &made["left_out"];
    assert_eq!(paths(&left_out["secrets"]), [".env"]);
    assert_eq!(paths(&left_out["directories"]), ["dist"]);
    assert_eq!(
        (&left_out["file_count"], &left_out["files"]),
        (&json!(1), &Value::Null)
    );
    let verbose = data("status", &sandbox.ok("status -v --json"));
    assert_eq!(paths(&verbose["left_out"]["files"]), ["x.log"]);
}

#[test]
fn list_and_show_have_what_a_terminal_shows() {
    let (sandbox, id) = full_of_everything();
    let row = &data("list", &sandbox.ok("list --json"))["checkpoints"][0];
    assert_eq!(
        (&row["file_count"], &row["content_bytes"]),
        (&json!(2), &json!(7))
    );
    let show = data("show", &sandbox.ok(format!("show {id} --json")));
    let fields = row.as_object().expect("a row").iter();
    for (field, value) in fields.filter(|(field, _)| *field != "is_current") {
        assert_eq!(show["checkpoint"][field], *value, "{field}");
    }
    if cfg!(unix) {
        assert_eq!(paths(&show["uncaptured"]), ["pipe"]);
    }
    assert_eq!(show["counts"]["added"], 2);
}

#[test]
fn a_restore_names_each_path_with_what_was_done_to_it() {
    let (sandbox, id) = full_of_everything();
    sandbox.remove(".gitignore").remove("empty");
    let expected = json!([
        {"path": ".gitignore", "path_hex": null, "change": "added"},
        {"path": "a", "path_hex": null, "change": "modified"},
        {"path": "b", "path_hex": null, "change": "deleted"},
        {"path": "empty", "path_hex": null, "change": "directory_added"},
    ]);
    let dry = ["restore", &id, "--dry-run", "--json"];
    let dry = data("restore", &sandbox.run(&dry).success());
    assert_eq!(dry["changes"], expected);
    assert!(dry["safety"].is_null() && dry["dry_run"] == true);
    let done = data("restore", &sandbox.ok(format!("restore {id} --yes --json")));
    assert_eq!(done["changes"], expected);
    assert_eq!(done["safety"]["kind"], "safety");
    assert_eq!(done["restored_from"]["reason"], "first");
    for verb in ["undo", "redo"] {
        data(verb, &sandbox.run(&[verb, "--yes", "--json"]).success());
    }
    let one = ["restore", &id, "a", "--yes", "--json"];
    let nothing = data("restore", &sandbox.run(&one).success());
    assert!(nothing["nothing_to_do"] == true && nothing["safety"].is_null());
    assert_eq!(nothing["changes"], json!([]));
    sandbox.write("a", "an edit").write("since", "x");
    let undone = data("undo", &sandbox.ok("undo --yes --json"));
    assert_eq!(paths(&undone["since"]), ["a", "since"]);
    data("restore", &sandbox.run(&one).success());
    let shown = sandbox.shown(&sandbox.listed_ids()[0]);
    let operation = &shown["operation"];
    assert_eq!(paths(&operation["paths"]), ["a"]);
    assert_eq!(operation["target"]["reason"], "first");
}

#[test]
fn restore_to_and_check_are_told() {
    let (sandbox, id) = full_of_everything();
    let other = sandbox.top().join("other").display().to_string();
    let run = sandbox
        .run(&[
            "restore", &id, "--to", &other, "--check", "exit 3", "--json",
        ])
        .code(5);
    let done = data("restore", &run);
    assert_eq!(done["destination"], other);
    let check = json!({"command_line": "exit 3", "exit": 3, "ok": false});
    assert_eq!((&done["safety"], &done["check"]), (&Value::Null, &check));
}

#[cfg(unix)]
#[test]
fn find_and_bisect_name_checkpoints_in_full() {
    let (sandbox, first) = full_of_everything();
    let second = sandbox.create("second");
    let find = data("find", &sandbox.ok("find a --json"));
    let events = find["paths"][0]["events"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(
        (events.len(), &events[0]["checkpoint"]["short"]),
        (2, &json!(second))
    );
    let find = ["find", "--text", "2", "--json"];
    let find = data("find", &sandbox.run(&find).success());
    assert_eq!(find["matches"][0]["last_in"]["reason"], "second");
    let bisect = [
        "bisect", &first, &second, "--json", "--", "grep", "-q", "1", "a",
    ];
    let bisect = data("bisect", &sandbox.run(&bisect).success());
    assert_eq!(bisect["first_bad"]["short"], second);
    assert_eq!(bisect["tested"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_dropped_has_one_shape_in_every_command() {
    let (sandbox, first) = full_of_everything();
    sandbox.create("second");
    let prune = ["prune", "--keep", "1", "--yes", "--json"];
    let pruned = data("prune", &sandbox.run(&prune).success());
    sandbox.write("a", "3").create("third");
    let delete = ["delete", "third", "--yes", "--json"];
    let deleted = data("delete", &sandbox.run(&delete).success());
    sandbox.write("a", "4");
    let create = ["create", "--keep", "1", "--yes", "--json"];
    let created = data("create", &sandbox.run(&create).success());
    let told = |data: &Value| {
        let dropped = data["dropped"].as_array().expect("a list");
        assert_eq!(dropped.len(), 1, "{data}");
        let one = &dropped[0];
        let fields: Vec<&String> = one.as_object().expect("an object").keys().collect();
        assert_eq!(fields, ["checkpoint", "why"]);
        (one["checkpoint"]["reason"].clone(), one["why"].clone())
    };
    assert_eq!(pruned["dropped"][0]["checkpoint"]["short"], first);
    assert_eq!(told(&pruned).0, "first");
    assert_eq!(told(&deleted), (json!("third"), json!("asked_for")));
    assert_eq!(told(&created).0, "second");
}

/// Damage is a failure, so `ok` is false; the findings are in `data` all the same.
#[test]
fn verify_has_data_whether_damage_is_found_or_not() {
    let (sandbox, _) = full_of_everything();
    let good = data("verify", &sandbox.ok("verify --json"));
    assert!(good["exists"] == true && good["repair"].is_null());
    std::fs::remove_file(sandbox.store().join("HEAD")).unwrap();
    let derived = data("verify", &sandbox.ok("verify --json"));
    assert_eq!(derived["derived"][0]["file"], "HEAD");
    sandbox.remove("a");
    let pack = crate::bench::damaged::packs_of(&sandbox.store()).remove(0);
    crate::bench::damaged::put(&pack, &std::fs::read(&pack).unwrap()[..40]);
    for args in [&["verify", "--json"][..], &["verify", "--repair", "--json"]] {
        let run = sandbox.run(args).code(6);
        let failed = run.json();
        assert_eq!(
            (&failed["ok"], &failed["error"]["code"]),
            (&json!(false), &json!("damaged")),
            "{run}"
        );
        let salvaged = &failed["data"]["repair"]["salvaged"];
        assert_eq!(salvaged.is_null(), args.len() == 2, "{run}");
    }
    data("verify", &sandbox.ok("verify --repair --json"));
}

#[test]
fn diff_and_cat_say_what_differs_and_what_is_held() {
    let (sandbox, id) = full_of_everything();
    sandbox
        .write("bin", b"\xff\0")
        .remove("pipe")
        .remove("empty")
        .mkdir("fresh")
        .chmod(".gitignore", 0o600);
    let diff = data("diff", &sandbox.ok("diff --json"));
    assert_eq!(
        (&diff["from"]["short"], &diff["to"]),
        (&json!(id), &Value::Null)
    );
    let changes = diff["changes"].as_array().expect("a list");
    let told: Vec<Value> = changes
        .iter()
        .map(|one| json!([one["path"], one["change"], one["insertions"], one["binary"]]))
        .collect();
    let expected = json!([
        ["a", "modified", 1, false],
        ["b", "added", 1, false],
        ["bin", "added", null, true]
    ]);
    assert_eq!(Value::from(told), expected);
    let other = &diff["other"];
    if cfg!(unix) {
        assert_eq!(other["mode_changes"][0]["new"], "0600");
        assert_eq!(paths(&other["uncaptured"]), ["pipe"]);
    }
    assert_eq!(paths(&other["empty_dirs_added"]), ["fresh"]);
    assert_eq!(paths(&other["empty_dirs_deleted"]), ["empty"]);
    sandbox.create("second");
    let diff = ["diff", &id, "second", "--json"];
    let diff = data("diff", &sandbox.run(&diff).success());
    assert_eq!(diff["to"]["reason"], "second");
    let cat = data("cat", &sandbox.ok("cat second:a --json"));
    let told = json!([cat["text"], cat["hex"], cat["size_bytes"], cat["mode"]]);
    assert_eq!(told, json!(["2", null, 1, "100644"]));
    let cat = data("cat", &sandbox.ok("cat second:bin --json"));
    assert_eq!((&cat["text"], &cat["hex"]), (&Value::Null, &json!("ff00")));
}

#[test]
fn pin_guard_hold_and_release_name_what_they_are_about() {
    let (sandbox, id) = full_of_everything();
    let pin = data("pin", &sandbox.ok(format!("pin {id} --json")));
    assert_eq!((&pin["short"], &pin["pinned"]), (&json!(id), &json!(true)));
    data("unpin", &sandbox.ok(format!("unpin {id} --json")));
    let guard = data("guard", &sandbox.ok("guard --json"));
    assert_eq!(
        (&guard["short"], guard["age_ms"].is_u64()),
        (&json!(id), true)
    );
    let hold = data("hold", &sandbox.ok("hold wave --json"));
    assert_eq!(hold["renewed"], false);
    let status = data("status", &sandbox.ok("status --json"));
    assert_eq!(status["holds"][0]["ends_at"], hold["ends_at"]);
    let release = data("release", &sandbox.ok("release --json"));
    assert_eq!(release["hold"]["name"], "wave");
}

#[test]
fn list_all_and_prune_orphaned_have_schemas_of_their_own() {
    let (sandbox, _) = full_of_everything();
    let all = data("list.all", &sandbox.ok("list --all --json"));
    assert_eq!(all["stores"].as_array().map(Vec::len), Some(1));
    let base = sandbox.base().display().to_string();
    sandbox.remove("");
    let args = ["prune", "--orphaned", "--base", &base, "--yes", "--json"];
    let orphaned = data("prune.orphaned", &sandbox.run(&args).success());
    assert_eq!(orphaned["removed"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_failure_has_no_data_and_the_next_step_as_words_to_run() {
    let (sandbox, _) = full_of_everything();
    for args in [
        &["show", "nothing", "--json"][..],
        &["restore", "first", "--json"],
        &["undo", "--yes", "--json"],
    ] {
        let run = sandbox.run(args);
        let failed = run.json();
        assert_eq!(failed["schema"], format!("checkpoint.{}/2", args[0]));
        assert_eq!(
            (&failed["data"], &failed["warnings"]),
            (&Value::Null, &json!([]))
        );
        assert!(failed["error"]["hint"].is_string(), "{run}");
    }
    let error = sandbox.fails(3, "show nothing --json").json()["error"].clone();
    let command: Vec<&str> = error["command"]
        .as_array()
        .expect("a command")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(command[0], "checkpoint");
    sandbox.run(&command[1..]).success();
}

#[test]
fn a_failure_names_the_warnings_too() {
    let (sandbox, _) = full_of_everything();
    sandbox.write(".checkpoint.toml", "max_store_size = 1\n");
    let failed = sandbox.fails(3, "show nothing --json");
    assert_eq!(failed.warning_codes(), ["config"], "{failed}");
}

#[test]
fn wrong_usage_with_json_is_a_document_too() {
    let sandbox = Sandbox::new();
    for args in [
        &["create", "--reason", "", "--json"][..],
        &["create", "--no-such-flag", "--json"],
        &["workflow", "status", "--no-such-flag", "--json"],
        &["workflow", "--json"],
        &["no-such-command", "--json"],
    ] {
        let run = sandbox.run(args).code(2);
        assert_eq!(run.error_code(), "usage", "{run}");
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf_8_has_a_lossless_second_field() {
    let sandbox = Sandbox::new();
    sandbox.write(std::ffi::OsStr::from_bytes(b"caf\xe9|\n"), "1");
    let id = sandbox.create("raw");
    let change = |id: &str| {
        let run = sandbox.ok(format!("show {id} --json"));
        run.data()["changes"][0].clone()
    };
    assert_eq!(
        change(&id),
        json!({"path": "caf\\xe9|\\x0a", "path_hex": "636166e97c0a", "change": "added"})
    );
    sandbox.write("plain", "1");
    assert_eq!(change(&sandbox.create("plain"))["path_hex"], Value::Null);
}

/// What an exit code other than 0 and 5 answers is no failure: `ok` and `error` agree.
#[test]
fn an_answer_without_error_is_ok_whatever_its_exit_code() {
    let (sandbox, _) = full_of_everything();
    let run = sandbox.fails(1, "diff --exit-code --json");
    let answer = run.json();
    assert_eq!(
        (&answer["ok"], &answer["error"]),
        (&Value::Bool(true), &Value::Null),
        "{run}"
    );
    assert!(answer["data"].is_object(), "{run}");
}
