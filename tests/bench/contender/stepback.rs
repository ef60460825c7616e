//! `stepback`, a Python package: its engine is called as its own commands call it, without the
//! watcher around an agent.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Contender, Seat, Who};
use crate::job::{Done, Job};
use crate::place;

const CREATE: &str = "\
from pathlib import Path
from stepback.engine import Engine
made = Engine(Path('.')).checkpoint('x')
print(made.id if made else 'unchanged')";

/// Script of `stepback rewind --yes`, preview included; it saves the present state first.
const RESTORE: &str = "\
import sys
from pathlib import Path
from stepback.engine import Engine
engine = Engine(Path('.'))
wanted = engine.state.by_id(int(sys.argv[1]))
if not engine.plan_restore(wanted.tree).is_noop:
    engine.rewind(wanted)";

const LATEST: &str = "\
from pathlib import Path
from stepback.engine import Engine
print(Engine(Path('.')).state.latest().id)";

const TREE: &str = "\
import sys
from pathlib import Path
from stepback.engine import Engine
print(Engine(Path('.')).state.by_id(int(sys.argv[1])).tree)";

pub struct Stepback {
    library: Option<PathBuf>,
    /// Upper end of its search for repositories, since the tree may be in a clone.
    work: PathBuf,
    list: PathBuf,
}

impl Stepback {
    pub fn find(library: Option<&Path>, work: &Path, list: &Path) -> Result<Self, String> {
        let library = library.map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf()));
        let found = Self {
            library,
            work: work.to_path_buf(),
            list: list.to_path_buf(),
        };
        match found.python("import stepback.engine", work).run() {
            Ok(_) => Ok(found),
            Err(_) => Err("python3 finds no stepback (pip install --target DIR stepback, then --stepback DIR)".into()),
        }
    }

    fn python(&self, program: &str, dir: &Path) -> Job {
        let job = Job::new("python3", dir)
            .args(["-c", program])
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let job = job
            .env("GIT_CEILING_DIRECTORIES", self.work.join("trees"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        match &self.library {
            Some(library) => job.env("PYTHONPATH", library),
            None => job,
        }
    }

    fn at(&self, program: &str, seat: &Seat) -> Job {
        self.python(program, &seat.tree).env("HOME", &seat.home)
    }
}

impl Contender for Stepback {
    fn who(&self) -> Who {
        Who::Stepback
    }

    /// Makes its store, which is in the tree itself and leaves out what `.gitignore` and
    /// `info/exclude` name.
    fn open(&self, seat: &Seat) -> Result<()> {
        place::make_dir(&seat.home)?;
        let inside = seat.tree.join(".stepback");
        if inside.exists() {
            std::fs::rename(&inside, &seat.store)
                .context("cannot move the former .stepback aside")?;
        }
        self.at(
            "from pathlib import Path\nfrom stepback.engine import Engine\nEngine(Path('.'))",
            seat,
        )
        .run()?;
        let exclude = inside.join("shadow.git/info/exclude");
        let own = std::fs::read_to_string(&exclude).context("stepback made no shadow.git")?;
        let list = std::fs::read_to_string(&self.list).context("cannot read the exclusion list")?;
        place::write(&exclude, format!("{own}{list}"))?;
        // Attributes in a tree would change bytes, and so the id of the recorded tree.
        let attributes = "* -text -filter -ident -working-tree-encoding\n";
        place::write(&inside.join("shadow.git/info/attributes"), attributes)
    }

    fn create(&self, seat: &Seat) -> Job {
        self.at(CREATE, seat)
    }

    fn made(&self, seat: &Seat, done: &Done) -> Result<String> {
        let id = done.text();
        if id == "unchanged" {
            Ok(self.at(LATEST, seat).run()?.text())
        } else {
            Ok(id)
        }
    }

    fn restore(&self, seat: &Seat, id: &str) -> Job {
        self.at(RESTORE, seat).arg(id)
    }

    fn tree_id(&self, seat: &Seat, id: &str) -> Result<Option<String>> {
        Ok(Some(self.at(TREE, seat).arg(id).run()?.text()))
    }

    fn git_dir(&self, seat: &Seat) -> Result<Option<PathBuf>> {
        Ok(Some(seat.tree.join(".stepback/shadow.git")))
    }

    fn needs_own_tree(&self) -> bool {
        true
    }
}
