//! restic with a local repository and a cache of its own. It ignores `.gitignore`, so it records a
//! little more.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Contender, Seat, Who};
use crate::job::{Done, Job};
use crate::place;

pub struct Restic {
    /// The exclusion list in restic's own syntax.
    list: PathBuf,
}

impl Restic {
    pub fn find(work: &Path, list: &Path) -> Result<Self, String> {
        Job::new("restic", work)
            .arg("version")
            .run()
            .map_err(|_| "restic is not installed".to_owned())?;
        let text = std::fs::read_to_string(list).map_err(|e| e.to_string())?;
        let named = text.lines().filter(|line| !line.starts_with('!'));
        let own: String = named
            .map(|line| format!("{}\n", line.trim_end_matches('/')))
            .collect();
        let list = work.join("exclusions-of-restic");
        place::write(&list, own).map_err(|e| e.to_string())?;
        Ok(Self { list })
    }
}

fn with_env(job: Job, seat: &Seat) -> Job {
    job.env("HOME", &seat.home)
        .env("RESTIC_REPOSITORY", seat.store.join("repository"))
        .env("RESTIC_CACHE_DIR", seat.store.join("cache"))
        .env("RESTIC_PASSWORD", "bench")
}

impl Contender for Restic {
    fn who(&self) -> Who {
        Who::Restic
    }

    fn open(&self, seat: &Seat) -> Result<()> {
        place::make_dir(&seat.home)?;
        place::make_dir(&seat.store)?;
        with_env(
            Job::new("restic", &seat.tree).args(["init", "--quiet"]),
            seat,
        )
        .run()?;
        Ok(())
    }

    fn create(&self, seat: &Seat) -> Job {
        let job = Job::new("restic", &seat.tree).args(["backup", "--quiet", "--exclude-file"]);
        with_env(job.arg(&self.list).arg("."), seat)
    }

    fn made(&self, seat: &Seat, _done: &Done) -> Result<String> {
        let text = with_env(
            Job::new("restic", &seat.tree).args(["snapshots", "--json", "latest"]),
            seat,
        )
        .run()?
        .text();
        let found: serde_json::Value =
            serde_json::from_str(&text).context("restic snapshots printed no JSON")?;
        let id = found
            .as_array()
            .and_then(|all| all.last())
            .and_then(|last| last["short_id"].as_str());
        Ok(id.context("restic has no snapshot")?.to_owned())
    }

    fn restore(&self, seat: &Seat, id: &str) -> Job {
        let list = self.list.display();
        // Existing symlinks are errors to it; what it restored is compared anyway.
        let line = format!(
            "restic backup --quiet --exclude-file '{list}' . && (restic restore --quiet {id} --target . || test $? = 1)"
        );
        with_env(Job::shell(&line, &seat.tree), seat)
    }
}
