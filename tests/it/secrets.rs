//! Secrets are left out whatever a `.gitignore` says, are named, and are captured only if the user
//! says so.

use crate::bench::{Git, Run, Sandbox};

const BY_NAME: [&str; 21] = [
    ".env",
    ".env.production",
    ".envrc",
    "id_rsa",
    "id_ed25519",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "store.p12",
    "store.jks",
    "pass.kdbx",
    "key.ppk",
    ".ssh/config",
    ".gnupg/secring",
    ".aws/credentials",
    ".kube/config",
    "credentials.json",
    "application_default_credentials.json",
];
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";

fn secrets(run: &Run) -> String {
    run.data()["left_out"]["secrets"].to_string()
}

#[test]
fn secrets_by_name_stay_out_and_are_named() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            ".gitignore",
            BY_NAME.map(|name| format!("!{name}\n")).concat(),
        )
        .write("sub/.env", "K=v");
    for name in BY_NAME {
        sandbox.write(name, "K=hush-hush");
    }
    let run = sandbox.run(&["create", "--json"]).success();
    assert_eq!(
        run.data()["counts"]["file_count"],
        1,
        "only .gitignore is captured\n{run}"
    );
    let named = secrets(&run);
    for name in ["sub/.env", ".env.production", "id_rsa", "store.p12"] {
        assert!(named.contains(name), "{name} is not named\n{run}");
    }
    assert!(!run.stdout.contains("hush-hush"), "a secret was printed");
}

#[test]
fn the_examples_of_dot_env_are_no_secrets() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".env.example", "1")
        .write(".env.sample", "1")
        .write("d/.env.template", "1");
    assert_eq!(sandbox.create_data(&[])["counts"]["file_count"], 3);
}

#[test]
fn keys_and_tokens_are_told_by_their_content() {
    let sandbox = Sandbox::new();
    sandbox
        .write("public.pem", "-----BEGIN CERTIFICATE-----\n")
        .write("server.key", KEY)
        .write("late.pem", [" ".repeat(4096), KEY.into()].concat());
    sandbox
        .write("private.pem", KEY)
        .write(".npmrc", "//registry/:_authToken=abc\n")
        .write("d/.npmrc", "save-exact=true\n");
    sandbox
        .write(".pypirc", "[pypi]\npassword = x\n")
        .write("keyboard.key", "qwerty");
    let run = sandbox.run(&["create", "--json"]).success();
    let named = secrets(&run);
    for (name, secret) in [
        ("\"public.pem\"", false),
        ("\"server.key\"", true),
        ("\"private.pem\"", true),
        ("\"late.pem\"", false),
        ("\".npmrc\"", true),
        ("\"d/.npmrc\"", false),
        ("\".pypirc\"", true),
        ("\"keyboard.key\"", false),
    ] {
        assert_eq!(named.contains(name), secret, "{name}\n{run}");
    }
}

/// Names, contents, and whether they are left out.
const TABLE: [(&str, &str, bool); 46] = [
    ("id_ed25519_sk", "x", true),
    ("id_ecdsa_sk", "x", true),
    (
        "id_ed25519_sk.pub",
        "sk-ssh-ed25519@openssh.com AAAA",
        false,
    ),
    ("deploy_key", "x", true),
    ("deploy_key.pub", "ssh-ed25519 AAAA", false),
    ("AuthKey_1.p8", "x", true),
    ("private.asc", "x", true),
    (
        "public.asc",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        false,
    ),
    (
        "backup.asc",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
        true,
    ),
    ("office.ovpn", "x", true),
    ("prod.env", "K=v", true),
    ("deploy/Staging.ENV", "K=v", true),
    ("prod.env.example", "K=", false),
    ("prod.env.sample", "K=", false),
    ("prod.env.template", "K=", false),
    ("example.env", "K=", false),
    ("env.txt", "K=v", false),
    (".flaskenv", "K=v", true),
    (".dev.vars", "K=v", true),
    (".cargo/credentials.toml", "x", true),
    (".cargo/credentials", "x", true),
    (".cargo/config.toml", "x", false),
    ("credentials.toml", "x", false),
    (".my.cnf", "x", true),
    ("a/.yarnrc.yml", "npmAuthToken: \"YWJj==\"", true),
    ("b/.yarnrc.yml", "nodeLinker: node-modules", false),
    (".config/gh/hosts.yml", "x", true),
    ("hosts.yml", "x", false),
    ("terraform.tfstate", "{}", true),
    ("live/terraform.tfstate.backup", "{}", true),
    ("main.tf", "x", false),
    ("config/master.key", "0123abcd", true),
    ("notes", KEY, true),
    (
        "deep/down/backup.bak",
        "Bag Attributes\r\n-----BEGIN ENCRYPTED PRIVATE KEY-----\r\nMII",
        true,
    ),
    (
        "k8s.yaml",
        "data:\n  key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    MII",
        true,
    ),
    (
        "identity.txt",
        "# public key: age1x\nAGE-SECRET-KEY-1QQQ\n",
        true,
    ),
    ("host_key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3B", true),
    (
        "putty.txt",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n",
        true,
    ),
    ("public.txt", "-----BEGIN PUBLIC KEY-----\nMII", false),
    ("chain.crt", "-----BEGIN CERTIFICATE-----\nMII", false),
    ("tsconfig.json", "{}", false),
    (
        "src/keys.rs",
        "const HEAD: &str = \"-----BEGIN PRIVATE KEY-----\";\n",
        false,
    ),
    (
        "src/keys.py",
        "HEAD = '-----BEGIN PRIVATE KEY-----'\n",
        false,
    ),
    (
        "docs/keys.md",
        "The line -----BEGIN PRIVATE KEY----- begins one.\n",
        false,
    ),
    ("recipients.txt", "age1qqq\n", false),
    ("empty", "", false),
];

#[test]
fn names_and_contents_decide_what_stays_out() {
    let sandbox = Sandbox::new();
    for (name, content, _) in TABLE {
        sandbox.write(name, content);
    }
    let run = sandbox.run(&["create", "--json"]).success();
    let (data, named) = (run.data(), secrets(&run));
    for (name, _, is_secret) in TABLE {
        assert_eq!(
            named.contains(&format!("\"{name}\"")),
            is_secret,
            "{name}\n{run}"
        );
    }
    assert_eq!(
        data["counts"]["file_count"],
        TABLE.iter().filter(|(_, _, is_secret)| !is_secret).count()
    );
    assert!(!run.stdout.contains("MII"), "a secret was printed");
}

#[test]
fn a_key_under_any_name_stays_out_until_it_is_let_through_and_again_when_it_is_not() {
    let sandbox = Sandbox::new();
    sandbox
        .write("notes", KEY)
        .write("other", "1")
        .write("large", [KEY.as_bytes(), &vec![b'x'; 17 << 20]].concat());
    let held = |args: &[&str]| sandbox.create_data(args)["counts"]["file_count"].as_u64();
    assert_eq!(held(&["-r", "without"]), Some(1));
    assert_eq!(held(&["-r", "one", "--include-sensitive=notes"]), Some(2));
    assert_eq!(
        held(&["-r", "again without"]),
        Some(1),
        "the cache has let it through"
    );
    sandbox.user_config("sensitive_allow = [\"notes\", \"large\"]\n");
    assert_eq!(held(&["-r", "both"]), Some(3));
    sandbox.user_config("");
    sandbox.write("other", KEY);
    assert_eq!(held(&["-r", "a file became a key"]), Some(0));
    assert!(
        !sandbox
            .run(&["diff", "without"])
            .success()
            .stdout
            .contains("MIIB")
    );
}

#[test]
fn a_committed_key_is_captured_under_any_name() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    sandbox.write("testdata/key1", KEY);
    git.run(&["init", "-q"]).success();
    git.run(&["add", "-A"]).success();
    sandbox
        .write("testdata/key2", KEY)
        .watch(&sandbox.path(".git"));
    for reason in ["cold", "warm"] {
        let run = sandbox.run(&["create", "-r", reason, "--json"]).success();
        assert!(
            secrets(&run).contains("testdata/key2") && !secrets(&run).contains("testdata/key1"),
            "{run}"
        );
    }
}

#[test]
fn a_restore_gives_back_what_stood_where_a_key_stands_now_and_undo_the_key() {
    let sandbox = Sandbox::new();
    sandbox.write("notes", "harmless").write("a", "1");
    let id = sandbox.create("before");
    sandbox.write("notes", KEY).write("new", KEY);
    sandbox.restore(&id).success();
    assert_eq!(
        (sandbox.read("notes"), sandbox.read("new")),
        ("harmless".into(), KEY.into())
    );
    sandbox.undo().success();
    assert_eq!(sandbox.read("notes"), KEY);
}

#[test]
fn people_read_the_names_of_the_secrets_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "K=hush-hush");
    let run = sandbox.run(&["create"]).success().stderr_has(".env");
    assert!(!run.stderr.contains("hush-hush"));
}

#[test]
fn a_secret_is_let_through_by_flag_or_by_the_users_configuration() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "1").write("id_rsa", "1");
    assert_eq!(sandbox.create_data(&[])["counts"]["file_count"], 0);
    assert_eq!(
        sandbox.create_data(&["--include-sensitive=.env"])["counts"]["file_count"],
        1
    );
    assert_eq!(
        sandbox.create_data(&["--include-sensitive"])["counts"]["file_count"],
        2
    );
    sandbox.user_config("sensitive_allow = [\"id_*\"]\n");
    assert_eq!(sandbox.create_data(&[])["counts"]["file_count"], 1);
}

#[test]
fn the_project_cannot_let_its_secrets_through() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".env", "1")
        .write(".checkpoint.toml", "sensitive_allow = [\"*\"]\n");
    let run = sandbox.run(&["create", "--json"]);
    assert!(!run.stdout.contains("\"files\":2"), "{run}");
    assert!(
        run.code != 0 || !run.warning_codes().is_empty(),
        "the useless key goes unseen\n{run}"
    );
}

#[test]
fn a_committed_key_is_captured_but_a_committed_dot_env_is_not() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    sandbox.write("test.pem", KEY).write(".env", "K=v");
    git.run(&["init", "-q"]).success();
    git.run(&["add", "-A", "-f"]).success();
    sandbox.watch(&sandbox.path(".git"));
    let run = sandbox.run(&["create", "--json"]).success();
    assert_eq!(run.data()["counts"]["file_count"], 1, "{run}");
    assert!(
        secrets(&run).contains(".env") && !secrets(&run).contains("test.pem"),
        "{run}"
    );
}

#[test]
fn a_restore_neither_deletes_nor_overwrites_a_secret() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .write(".env", "K=v")
        .write("new/.env", "K=v")
        .write("new/file", "n");
    sandbox.restore(&id).success();
    assert_eq!(
        (sandbox.read(".env"), sandbox.read("new/.env")),
        ("K=v".into(), "K=v".into())
    );
    assert!(!sandbox.exists("new/file"));
}

#[test]
fn a_key_that_a_restore_brought_back_is_left_out_by_the_next_create_and_stays() {
    let sandbox = Sandbox::new();
    let one = sandbox
        .write("notes.txt", "plain\n")
        .write("b", "b")
        .create("one");
    sandbox.write("notes.txt", "-----BEGIN PRIVATE KEY-----\nMIIabc\n");
    let two = sandbox.create("two");
    sandbox.restore(&one).success();
    sandbox.undo().success();
    let key = sandbox.read("notes.txt");
    sandbox.write("c", "c");
    let data = sandbox.create_data(&["--reason", "three"]);
    assert_eq!(data["counts"]["file_count"], 2, "{data}");
    sandbox.restore(&two).success();
    assert_eq!(sandbox.read("notes.txt"), key);
}

#[test]
fn a_secret_that_is_missed_is_recorded_by_the_command_that_is_named() {
    let sandbox = Sandbox::new();
    for path in [".env", "conf/.env", ".ssh/id_rsa"] {
        sandbox.write(path, "K=1").write("a", path);
        sandbox.create("without");
        let named = format!("latest:{path}");
        let option = format!("--include-sensitive={path}");
        sandbox
            .run(&["cat", &named])
            .code(3)
            .stderr_has(&format!("'checkpoint create {option}' records it\n"));
        sandbox.run(&["create", &option]).success();
        sandbox.run(&["cat", &named]).success().stdout_is("K=1");
    }
}

#[test]
fn a_key_that_one_call_was_allowed_to_record_is_left_out_by_the_next() {
    let sandbox = Sandbox::new();
    let key = "-----BEGIN PRIVATE KEY-----\nabc\n";
    sandbox.write("my.pem", key).write("a", "1");
    sandbox
        .run(&["create", "-m", "one", "--include-sensitive"])
        .success();
    sandbox.write("a", "2");
    let run = sandbox.run(&["create", "two"]).success();
    run.stderr_has("left out as sensitive: my.pem");
    let held = sandbox.run(&["ls", "latest"]).success();
    assert!(!held.stdout.contains("my.pem"), "{held}");
}
