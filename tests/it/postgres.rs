//! A real PostgreSQL behind configured commands: dumped, changed, restored, equal.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::bench::{Sandbox, given, limit, skipped};

/// Uid for a server started by root, since PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// A server for one test, reached by a socket in a directory of its own.
struct Server {
    programs: PathBuf,
    dir: TempDir,
    postmaster: Child,
}

/// Directory of the server's programs on Debian and others, the newest version first.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut places: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    places.sort();
    places.reverse();
    places.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    let has_all = |dir: &PathBuf| {
        ["initdb", "postgres", "psql", "pg_dump", "pg_restore"]
            .iter()
            .all(|name| dir.join(name).is_file())
    };
    places.into_iter().find(has_all)
}

/// A command run as an ordinary user.
fn as_a_user(program: &Path) -> Command {
    if !crate::bench::os::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/setpriv");
    let id = NOBODY.to_string();
    command
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .arg(program);
    command
}

impl Server {
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            skipped("needs the programs of PostgreSQL");
            return None;
        };
        if crate::bench::os::is_root() && !Path::new("/usr/bin/setpriv").is_file() {
            skipped("needs setpriv to start a server as an ordinary user");
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("pg")
            .tempdir_in("/tmp")
            .expect("a temporary directory can be made");
        if crate::bench::os::is_root() {
            crate::bench::os::chown(dir.path(), Some(NOBODY), Some(NOBODY))
                .expect("root may give a directory away");
        }
        let data = dir.path().join("data");
        let mut init = as_a_user(&programs.join("initdb"));
        let words = "--auth=trust --username=postgres --no-sync --encoding=UTF8 --locale=C -D";
        init.args(words.split(' ')).arg(&data);
        let made = limit::output(init.current_dir(dir.path())).expect("initdb can be started");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let mut postgres = as_a_user(&programs.join("postgres"));
        postgres
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(dir.path())
            .args(["-c", "listen_addresses=", "-F"]);
        let quiet = postgres
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let postmaster = quiet.spawn().expect("postgres can be started");
        let server = Self {
            programs,
            dir,
            postmaster,
        };
        server.wait_until_it_answers();
        Some(server)
    }

    fn wait_until_it_answers(&self) {
        let began = Instant::now();
        while self.try_ask("postgres", "SELECT 1").is_none() {
            assert!(
                began.elapsed() < Duration::from_mins(1),
                "the server does not answer"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn try_ask(&self, database: &str, sql: &str) -> Option<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args("-X -A -t -q -v ON_ERROR_STOP=1 -U postgres".split(' '));
        psql.args(["-d", database, "-c", sql]);
        let output =
            limit::output(psql.arg("-h").arg(self.dir.path())).expect("psql can be started");
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn ask(&self, sql: &str) -> String {
        self.try_ask("shop", sql)
            .unwrap_or_else(|| panic!("the server refuses {sql}"))
    }

    /// A configuration by which the program reaches the server.
    fn config(&self) -> String {
        let (programs, socket) = (self.programs.display(), self.dir.path().display());
        format!(
            "[database.shop]\n\
             dump = \"{programs}/pg_dump -h {socket} -U postgres --format=custom shop\"\n\
             restore = \"{programs}/pg_restore -h {socket} -U postgres --clean --if-exists --exit-on-error \
             --single-transaction --dbname=shop\"\n"
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGQUIT ends a server and all its children at once; its data is not needed.
        let postmaster = rustix::process::Pid::from_child(&self.postmaster);
        let _ = rustix::process::kill_process(postmaster, rustix::process::Signal::QUIT);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30)
            && matches!(self.postmaster.try_wait(), Ok(None))
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        // No effect on a server that has ended.
        let _ = self.postmaster.kill();
    }
}

#[test]
fn a_real_postgresql_is_dumped_changed_restored_and_equal() {
    let server = given!(Server::start());
    server
        .try_ask("postgres", "CREATE DATABASE shop")
        .expect("a database can be made");
    server.ask("CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item SELECT n, 'item ' || n FROM generate_series(1, 500) n");
    let sum = "SELECT count(*) || ' ' || md5(string_agg(id || name, ',' ORDER BY id)) FROM item";
    let before = server.ask(sum);
    let sandbox = Sandbox::new();
    sandbox
        .user_config(&server.config())
        .env("PATH", "/usr/bin:/bin")
        .write("plan", "1");
    let create = "create -r pre-migration --type database_savepoint --db shop --scope plan";
    let id: String = sandbox.ok(create).stdout.trim().into();
    server.ask("DELETE FROM item WHERE id % 2 = 0; ALTER TABLE item ADD COLUMN price int; CREATE TABLE extra (n int)");
    sandbox.write("plan", "2");
    sandbox
        .restore(&id)
        .success()
        .stderr_has("1 database restored");
    assert_eq!(
        (server.ask(sum), sandbox.read("plan")),
        (before.clone(), "1".into())
    );
    assert_eq!(
        server.ask("SELECT count(*) FROM information_schema.columns WHERE table_name = 'item'"),
        "2"
    );
    sandbox.undo().success();
    assert_eq!(
        (
            server.ask("SELECT count(*) FROM item"),
            sandbox.read("plan")
        ),
        ("250".into(), "2".into())
    );
    assert_eq!(
        server.ask("SELECT count(*) FROM information_schema.columns WHERE table_name = 'item'"),
        "3"
    );
    sandbox.redo().success();
    assert_eq!(server.ask(sum), before);
    sandbox.ok("verify --full");
    drop(server);
    sandbox
        .fails(1, "create --db shop")
        .stderr_has("database shop was not captured");
    sandbox
        .fails(4, format!("restore {id} --yes"))
        .stderr_has("nothing was changed");
}
