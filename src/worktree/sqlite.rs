//! Copies live SQLite databases consistently and puts copies back, using SQLite's backup API.
//!
//! SQLite finds a database and its companion files only by path, so they are opened by path; SQLite
//! itself refuses every symlink in it.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::base::{Interrupt, Interrupted};

/// Whether SQLite support is built in.
pub const IS_BUILT_IN: bool = true;

/// Number of pages copied between two checks for an interrupt.
const PAGES_PER_STEP: i32 = 1024;
/// Size in bytes from which a copy is checked without comparing indexes with tables.
const QUICK_CHECK_FROM_BYTES: u64 = 256 << 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// How long to wait for other connections, and the interrupt that ends the wait.
#[derive(Clone, Copy, Debug)]
pub struct BusyWait<'i> {
    pub wait: Duration,
    pub interrupt: &'i Interrupt,
}

/// Why a copy, check or put-back failed.
#[derive(Debug)]
pub enum Refusal {
    Interrupted(Interrupted),
    Failed(String),
}

/// A copied database, held open without a lock to notice later changes.
#[derive(Debug)]
pub struct Watched {
    connection: Connection,
    version: i64,
}

/// Copies a live database as of one moment into `copy`, an empty file, without writing to the
/// database. `may_recover` allows rolling back the unfinished work of a killed writer, which needs
/// write access.
///
/// # Errors
/// It is no database, was locked for too long, or an interrupt.
pub fn copy_out(
    live: &Path,
    copy: &Path,
    may_recover: bool,
    busy_wait: &BusyWait<'_>,
) -> Result<Watched, Refusal> {
    let (reader, writer) = (
        OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenFlags::SQLITE_OPEN_READ_WRITE,
    );
    let by = |flags| {
        let mut to = open(copy, writer)?;
        open(live, flags).and_then(|connection| copy_from(connection, &mut to, busy_wait))
    };
    let (first, second) = if is_closed_wal(live) {
        (writer, Some(reader))
    } else {
        (reader, None)
    };
    match by(first) {
        Err(Refusal::Failed(why)) => match second.or(may_recover.then_some(writer)) {
            Some(second) => by(second),
            None => Err(Refusal::Failed(why)),
        },
        done => done,
    }
}

/// Whether this is a WAL database without a log, so presumably closed: a reader then needs two
/// companion files, which only a connection with write access removes again, without writing a byte
/// of the database.
fn is_closed_wal(live: &Path) -> bool {
    const READ_VERSION_AT: usize = 19;
    let mut head = [0; READ_VERSION_AT + 1];
    let mut log = live.as_os_str().to_owned();
    log.push("-wal");
    let read =
        crate::base::read_regular::open(live).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[READ_VERSION_AT] == 2 && std::fs::symlink_metadata(log).is_err()
}

/// Returns what a copy of a live database would hold, without a change on the disk. `None` if it
/// cannot be read without one, or is too large.
pub fn content(live: &Path, interrupt: &Interrupt) -> Option<Vec<u8>> {
    let size_bytes = std::fs::symlink_metadata(live).ok()?.len();
    if size_bytes >= QUICK_CHECK_FROM_BYTES || is_closed_wal(live) {
        return None;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI;
    let wait = Duration::ZERO;
    let busy_wait = BusyWait { wait, interrupt };
    let mut to = Connection::open_with_flags("file:copy?vfs=memdb", flags).ok()?;
    let from = open(live, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    copy_from(from, &mut to, &busy_wait).ok()?;
    to.serialize("main").ok().map(|bytes| bytes.to_vec())
}

fn copy_from(
    connection: Connection,
    to: &mut Connection,
    busy_wait: &BusyWait<'_>,
) -> Result<Watched, Refusal> {
    // One transaction for all pages: concurrent writers cannot restart the copy again and again.
    retry(busy_wait, || {
        connection
            .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")
            .inspect_err(|_| {
                let _ = connection.execute_batch("ROLLBACK");
            })
    })?;
    let version = data_version(&connection)?;
    to.execute_batch("PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")?;
    let _: String = to.query_row("PRAGMA journal_mode = OFF", [], |row| row.get(0))?;
    run_through(&Backup::new(&connection, to)?, busy_wait)?;
    connection.execute_batch("COMMIT")?;
    Ok(Watched {
        connection,
        version,
    })
}

/// Checks that a file begins as a database does, or is empty.
///
/// # Errors
/// It does not, or cannot be read.
pub fn check_kind(live: &Path) -> Result<(), Refusal> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let failed = |why: std::io::Error| Refusal::Failed(why.to_string());
    let file = crate::base::read_regular::open(live).map_err(failed)?;
    let mut head = Vec::new();
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    if head.is_empty() || head == MAGIC {
        return Ok(());
    }
    Err(Refusal::Failed("file is not a database".to_owned()))
}

/// Checks the integrity of a copy.
///
/// # Errors
/// The first problem found.
pub fn check(copy: &Path) -> Result<(), Refusal> {
    let is_large = std::fs::metadata(copy).is_ok_and(|found| found.len() >= QUICK_CHECK_FROM_BYTES);
    let question = if is_large {
        "PRAGMA quick_check(1)"
    } else {
        "PRAGMA integrity_check(1)"
    };
    let connection = open(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let answer: String = connection.query_row(question, [], |row| row.get(0))?;
    if answer == "ok" {
        Ok(())
    } else {
        Err(Refusal::Failed(answer))
    }
}

/// Puts a copy back into a live database, which others may have open, as one transaction. An empty
/// file becomes a database.
///
/// # Errors
/// The database changed since it was `watched`, was locked for too long, or an interrupt; it is
/// then unchanged.
pub fn restore(
    copy: &Path,
    live: &Path,
    watched: Option<Watched>,
    busy_wait: &BusyWait<'_>,
) -> Result<(), Refusal> {
    let from = open(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut to = open(live, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    to.execute_batch("PRAGMA synchronous = FULL")?;
    watched.as_ref().map_or(Ok(()), Watched::check)?;
    let backup = Backup::new(&from, &mut to)?;
    // A step of zero pages takes the write lock: the database cannot change after the check.
    wait_while_busy(busy_wait, || backup.step(0))?;
    // Where the write lock shuts out readers, the earlier check has to do.
    match watched.as_ref().map_or(Ok(()), Watched::check) {
        Err(Refusal::Failed(why)) if why == LOCKED => {}
        seen => seen?,
    }
    // The last connection to close removes the companion files, which a reader cannot.
    drop(watched);
    run_through(&backup, busy_wait)
}

/// Message of [`Watched::check`] if the database is locked.
const LOCKED: &str = "other programs kept it locked for too long";

impl Watched {
    fn check(&self) -> Result<(), Refusal> {
        if data_version(&self.connection)? == self.version {
            return Ok(());
        }
        Err(Refusal::Failed(
            "a program wrote to it after its state was saved; stop that program first".to_owned(),
        ))
    }
}

/// Returns a number that changes when another connection changes the database.
fn data_version(connection: &Connection) -> Result<i64, Refusal> {
    Ok(connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, Refusal> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

fn run_through(backup: &Backup<'_, '_>, busy_wait: &BusyWait<'_>) -> Result<(), Refusal> {
    while wait_while_busy(busy_wait, || backup.step(PAGES_PER_STEP))? != StepResult::Done {}
    Ok(())
}

fn wait_while_busy(
    busy_wait: &BusyWait<'_>,
    mut step: impl FnMut() -> rusqlite::Result<StepResult>,
) -> Result<StepResult, Refusal> {
    let busy = || {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
    };
    retry(busy_wait, || match step()? {
        StepResult::Busy | StepResult::Locked => Err(busy()),
        done => Ok(done),
    })
}

/// Retries while the database is busy, up to the wait limit.
fn retry<T>(
    busy_wait: &BusyWait<'_>,
    mut act: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, Refusal> {
    let began = Instant::now();
    loop {
        busy_wait.interrupt.check().map_err(Refusal::Interrupted)?;
        match act() {
            Err(error) if is_busy(&error) && began.elapsed() < busy_wait.wait => {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return Ok(done?),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            return Self::Failed(LOCKED.to_owned());
        }
        // Only the words for the code: a message may quote database content.
        Self::Failed(match error {
            rusqlite::Error::SqliteFailure(code, _) => {
                rusqlite::ffi::code_to_str(code.extended_code).to_owned()
            }
            other => other.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_wait(interrupt: &Interrupt) -> BusyWait<'_> {
        BusyWait {
            wait: Duration::from_millis(200),
            interrupt,
        }
    }

    fn number_in(path: &Path) -> i64 {
        Connection::open(path)
            .unwrap()
            .query_row("SELECT n FROM t", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn a_change_after_the_copy_is_noticed_and_left_as_it_is() {
        for mode in ["WAL", "DELETE"] {
            let dir = tempfile::tempdir().unwrap();
            let (live, copy) = (
                dir.path().canonicalize().unwrap().join("live"),
                dir.path().canonicalize().unwrap().join("copy"),
            );
            let writer = Connection::open(&live).unwrap();
            let _: String = writer
                .query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| {
                    row.get(0)
                })
                .unwrap();
            writer
                .execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
                .unwrap();
            std::fs::write(&copy, "").unwrap();
            let interrupt = Interrupt::default();
            let watched = copy_out(&live, &copy, false, &busy_wait(&interrupt)).unwrap();
            check(&copy).unwrap();
            assert_eq!(number_in(&copy), 1);
            writer.execute_batch("UPDATE t SET n = 2").unwrap();
            assert!(matches!(
                restore(&copy, &live, Some(watched), &busy_wait(&interrupt)),
                Err(Refusal::Failed(_))
            ));
            assert_eq!(number_in(&live), 2, "{mode}");
            restore(&copy, &live, None, &busy_wait(&interrupt)).unwrap();
            assert_eq!(number_in(&live), 1, "{mode}");
            writer.execute_batch("BEGIN IMMEDIATE").unwrap();
            let refused = restore(&copy, &live, None, &busy_wait(&interrupt));
            assert!(
                matches!(refused, Err(Refusal::Failed(why)) if why == LOCKED),
                "{mode}"
            );
            interrupt.set(2);
            assert!(matches!(
                restore(&copy, &live, None, &busy_wait(&interrupt)),
                Err(Refusal::Interrupted(Interrupted(2)))
            ));
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_symlink_is_followed_and_what_is_no_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("real")).unwrap();
        Connection::open(top.join("real/db"))
            .unwrap()
            .execute_batch("CREATE TABLE t (n)")
            .unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();
        std::fs::write(top.join("copy"), "").unwrap();
        std::fs::write(
            top.join("text"),
            "no database at all, but long enough for one ".repeat(20),
        )
        .unwrap();
        let interrupt = Interrupt::default();
        let copied = |live: &str| {
            copy_out(
                &top.join(live),
                &top.join("copy"),
                true,
                &busy_wait(&interrupt),
            )
        };
        assert!(copied("link/db").is_err() && copied("text").is_err() && copied("none").is_err());
        assert!(copied("real/db").is_ok() && !top.join("none").exists());
    }
}
