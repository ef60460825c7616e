//! Secrets stay out whatever a `.gitignore` says, are named, and are let through only when the user says so.

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
    sandbox.write(".gitignore", BY_NAME.map(|name| format!("!{name}\n")).concat()).write("sub/.env", "K=v");
    for name in BY_NAME {
        sandbox.write(name, "K=hush-hush");
    }
    let run = sandbox.run(&["create", "--json"]).success();
    assert_eq!(run.data()["counts"]["files"], 1, "only .gitignore is captured\n{run}");
    let named = secrets(&run);
    for name in ["sub/.env", ".env.production", "id_rsa", "store.p12"] {
        assert!(named.contains(name), "{name} is not named\n{run}");
    }
    assert!(!run.stdout.contains("hush-hush"), "a secret was printed");
}

#[test]
fn the_examples_of_dot_env_are_no_secrets() {
    let sandbox = Sandbox::new();
    sandbox.write(".env.example", "1").write(".env.sample", "1").write("d/.env.template", "1");
    assert_eq!(sandbox.create_data(&[])["counts"]["files"], 3);
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
    sandbox.write(".pypirc", "[pypi]\npassword = x\n").write("keyboard.key", "qwerty");
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
    assert_eq!(sandbox.create_data(&[])["counts"]["files"], 0);
    assert_eq!(sandbox.create_data(&["--include-sensitive=.env"])["counts"]["files"], 1);
    assert_eq!(sandbox.create_data(&["--include-sensitive"])["counts"]["files"], 2);
    sandbox.user_config("sensitive_allow = [\"id_*\"]\n");
    assert_eq!(sandbox.create_data(&[])["counts"]["files"], 1);
}

#[test]
fn the_project_cannot_let_its_secrets_through() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "1").write(".checkpoint.toml", "sensitive_allow = [\"*\"]\n");
    let run = sandbox.run(&["create", "--json"]);
    assert!(!run.stdout.contains("\"files\":2"), "{run}");
    assert!(run.code != 0 || !run.warning_codes().is_empty(), "the useless key goes unseen\n{run}");
}

#[test]
fn a_committed_key_is_captured_but_a_committed_dot_env_is_not() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else { return };
    sandbox.write("test.pem", KEY).write(".env", "K=v");
    git.run(&["init", "-q"]).success();
    git.run(&["add", "-A", "-f"]).success();
    sandbox.watch(&sandbox.path(".git"));
    let run = sandbox.run(&["create", "--json"]).success();
    assert_eq!(run.data()["counts"]["files"], 1, "{run}");
    assert!(secrets(&run).contains(".env") && !secrets(&run).contains("test.pem"), "{run}");
}

#[test]
fn a_restore_neither_deletes_nor_overwrites_a_secret() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox.write(".env", "K=v").write("new/.env", "K=v").write("new/file", "n");
    sandbox.restore(&id).success();
    assert_eq!((sandbox.read(".env"), sandbox.read("new/.env")), ("K=v".into(), "K=v".into()));
    assert!(!sandbox.exists("new/file"));
}
