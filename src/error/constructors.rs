//! The failures that are found at more than one place, and those whose words depend on data.

use std::io::ErrorKind;
use std::path::Path;

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_path};
use crate::base::time::SPAN_FORMS;
use crate::error::failure::{Code, Error, More};
use crate::error::words::{Instead, Obstacle};
use crate::error::{CommandWords, Sentence};
use crate::model::{Candidate, Mismatch, ObjectId, RelPath, SelectorProblem};

const ALL_AND_NEWEST: &str = "'checkpoint list' shows them all; the newest is {}";

impl Error {
    /// The command line makes no sense.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Code::USAGE, what)
    }

    /// A failure that no caller branches on.
    pub fn unexpected(what: impl std::fmt::Display) -> Self {
        Self::new(Code::FAILED, what.to_string())
    }

    /// The failure to write an answer.
    pub fn unanswered(why: impl std::fmt::Display) -> Self {
        let what = "the answer could not be written to standard output";
        Self::unexpected(format!("{what}: {why}"))
    }

    /// Something cannot be read in full.
    pub fn damaged(what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        let why = why.to_string();
        Self::new(Code::DAMAGED, format!("{what} is damaged: {why}"))
            .advise(
                "'checkpoint verify --full' lists all damage, 'checkpoint verify --repair' repairs what it can",
            )
            .more(More::Why(why))
    }

    /// A part of this program is left out.
    pub fn no_feature(feature: &str) -> Self {
        Self::unexpected(format!(
            "this program was built without the feature {feature}"
        ))
    }

    /// A scan met more files than it may.
    pub fn too_many_files(limit: u64, largest: Vec<(RelPath, u64)>) -> Self {
        Self::unexpected(format!("there are more than {limit} files"))
            .more(More::TooManyFiles { limit, largest })
    }

    /// A signal asked us to stop; nothing is half-made.
    pub fn interrupted(signal: i32) -> Self {
        let exit = u8::try_from(i32::from(Code::INTERRUPTED.exit) + signal).unwrap_or(1);
        let code = Code {
            exit,
            ..Code::INTERRUPTED
        };
        Self::new(code, "interrupted")
    }

    /// A signal ended what follows the change that is `done`.
    pub fn interrupted_late(signal: i32, done: &str, next: Option<Sentence>) -> Self {
        let mut error = Self::interrupted(signal).next(next);
        error.what = format!("interrupted: {done}");
        error
    }

    /// The user answered no.
    pub fn declined() -> Self {
        Self::new(Code::DECLINED, "cancelled; nothing was changed")
    }

    pub fn bad_span(option: &'static str, typed: &str) -> Self {
        Self::bad_time_of(option, typed, SPAN_FORMS)
    }

    /// A duration or time that cannot be read; `option` is empty if it is clear where it was given.
    pub fn bad_time_of(option: &str, typed: &str, forms: &str) -> Self {
        let of = if option.is_empty() { "" } else { " of " };
        let typed = escape(typed);
        Self::usage(format!("cannot read '{typed}'{of}{option}; write {forms}"))
            .advise("'checkpoint help selectors' names every form")
    }

    pub fn no_such_checkpoint(query: &str, why: &Mismatch) -> Self {
        let first = || Sentence::new("'checkpoint create' makes the first one", &[]);
        let hint = mismatch_hint(query, why).unwrap_or_else(first);
        let error = Self::new(Code::NO_SUCH_CHECKPOINT, mismatch(query, why)).next(hint);
        match why.candidates() {
            [] => error,
            some => error.more(More::Candidates(some.to_vec())),
        }
    }

    pub fn ambiguous_checkpoint(query: &str, candidates: Vec<Candidate>) -> Self {
        let what = format!("'{query}' could be {}", alternatives(&candidates));
        Self::new(Code::AMBIGUOUS_CHECKPOINT, what)
            .advise("give more digits of the id")
            .more(More::Candidates(candidates))
    }

    /// It existed, but was evicted or deleted by another process meanwhile.
    pub fn evicted_meanwhile(id: ObjectId) -> Self {
        let what = format!("checkpoint {} was evicted meanwhile", id.short());
        Self::new(Code::EVICTED_MEANWHILE, what).advise("'checkpoint list' shows the others")
    }

    /// This root has no store.
    pub fn no_store(root: &Path, instead: &Instead) -> Self {
        let what = format!("{} has no checkpoints", root.display());
        let error = Self::new(Code::NO_STORE, what).next(without_store(instead));
        match instead {
            Instead::Create => error.more(More::NoStoreYet),
            _ => error,
        }
    }

    /// There is no step of this kind; `had_restores`: earlier restores left safety checkpoints.
    pub fn nothing_to(verb: &str, had_restores: bool) -> Self {
        let mut why = ": no checkpoint from before a restore is kept here";
        let mut hint = "'checkpoint list' shows what can be restored";
        if had_restores {
            why = "";
            hint = "'checkpoint list --safety' shows what earlier restores replaced";
        }
        let what = format!("nothing to {verb}{why}");
        Self::new(Code::NOTHING_TO_TAKE_BACK, what).advise(hint)
    }

    pub fn root_missing(root: &Path) -> Self {
        let what = format!("{} does not exist", root.display());
        Self::new(Code::ROOT_MISSING, what).advise("name an existing directory with -C")
    }

    /// Commands act on no root above a directory that is gone: the user may not mean it.
    pub fn current_dir_gone() -> Self {
        let what = "the current directory is gone; nothing was changed";
        Self::new(Code::ROOT_MISSING, what).advise("name a directory with -C DIR")
    }

    pub fn unsafe_root(root: &Path, why: &str) -> Self {
        let what = format!("refusing {}: {why}", root.display());
        Self::new(Code::UNSAFE_ROOT, what)
            .advise("name a project directory with -C; 'checkpoint create --force' overrides this")
    }

    /// A directory to write to must not be written.
    pub fn bad_destination(dir: &Path, why: impl std::fmt::Display) -> Self {
        let what = format!("cannot write to {}: {why}", dir.display());
        Self::new(Code::BAD_DESTINATION, what).advise("name a new or empty directory elsewhere")
    }

    /// Files exist, but a checkpoint could hold none of them.
    pub fn nothing_held(why: String) -> Self {
        Self::new(Code::NOTHING_HELD, why)
            .advise("nothing was recorded; fix that, or name other paths")
    }

    /// Consent is needed, but there is no terminal to ask on.
    pub fn consent_needed(what: &str, has_dry_run: bool) -> Self {
        let what = format!("not confirmed: this would {what}");
        Self::new(Code::CONSENT_NEEDED, what).advise(if has_dry_run {
            "nothing was changed; add --yes to confirm, --dry-run to look first"
        } else {
            "nothing was changed; add --yes to confirm"
        })
    }

    /// A step of several failed; those before it are done.
    #[must_use]
    pub fn after(mut self, done: &str, next: Option<Sentence>) -> Self {
        self.what = format!("{done} {}", more_changed(&self.what));
        self.next = next.map(|next| next.map_text(more_changed));
        self
    }

    /// Something is in the way; `lead` begins the message.
    pub fn obstacles(code: Code, lead: &str, obstacles: Vec<Obstacle>) -> Self {
        const SHOWN: usize = 10;
        let shown = obstacles.iter().take(SHOWN);
        let mut listed: Vec<String> = shown.map(|o| format!("{} ({})", o.path, o.why)).collect();
        if obstacles.len() > SHOWN {
            listed.push(format!("and {} more", obstacles.len() - SHOWN));
        }
        Self::new(code, format!("{lead} {}", listed.join(", "))).more(More::Paths(obstacles))
    }

    /// A path is at or below a `.git`.
    pub fn dot_git_path(path: &str) -> Self {
        let what = format!("'{path}' is at or below a .git");
        Self::new(Code::DOT_GIT_PATH, what)
            .advise("a repository's own data is never captured and never changed")
    }

    /// No checkpoint exists from which the change could be undone; `command` makes or asks for one.
    pub fn unguarded(what: String, command: Option<CommandWords>) -> Self {
        Self::new(Code::UNGUARDED, what).next(command.map(Sentence::command))
    }

    pub fn store_too_new(store: &Path, found: u32, supported: u32) -> Self {
        let store = store.display();
        let what = format!("{store} has format {found}; this program writes {supported}");
        Self::new(Code::STORE_TOO_NEW, what).advise("use the newer program that wrote it")
    }

    /// The store is not ours to use, or contains planted files.
    pub fn hostile_store(store: &Path, why: impl std::fmt::Display) -> Self {
        let what = format!("refusing the store {}: {why}", store.display());
        Self::new(Code::HOSTILE_STORE, what)
            .advise("check that directory; CHECKPOINT_HOME can name another place")
    }

    /// A part of the store is of a file type that cannot be used.
    pub fn store_unusable(store: &Path, why: impl std::fmt::Display) -> Self {
        Self::new(Code::STORE_UNUSABLE, format!("the store {} is damaged: {why}", store.display()))
            .advise(
                "'checkpoint verify --repair' keeps all that can be read, and so does the next 'checkpoint create'",
            )
    }

    /// The base of the stores is not known; `relative` is a home directory that is no absolute path.
    pub fn no_base(relative: Option<&Path>) -> Self {
        let home = relative.map(Path::display);
        let why = home.map_or("HOME is not set".to_owned(), |home| {
            format!("HOME is '{home}', which is not an absolute path")
        });
        Self::new(Code::NO_BASE, format!("no place for checkpoints: {why}"))
            .advise("set CHECKPOINT_HOME to a directory for the stores")
    }

    /// Returns a closure for `map_err` that names the action and the path.
    pub fn io<'p>(
        action: &'static str,
        path: &'p Path,
    ) -> impl FnOnce(std::io::Error) -> Error + 'p {
        move |source| Self::of_file(action, path, source, false)
    }

    /// As [`Self::io`], for one of the user's files.
    pub fn tree_io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::of_file(action, path, source, true)
    }

    fn of_file(action: &str, path: &Path, source: std::io::Error, is_of_project: bool) -> Self {
        let what = format!("cannot {action} {}: {source}", path.display());
        let hint = io_hint(action, path, source.kind(), is_of_project);
        let error = Self::new(Code::IO, what).next(hint.map(|hint| Sentence::new(hint, &[])));
        error.more(More::File {
            path: path.to_path_buf(),
            source,
            is_of_project,
        })
    }
}

/// Changes what the failure of one step says of all.
fn more_changed(text: &str) -> String {
    text.replace("nothing was changed", "nothing more was changed")
}

fn without_store(instead: &Instead) -> Sentence {
    match instead {
        Instead::Create => Sentence::new("'checkpoint create' makes one", &[]),
        Instead::Above(above) => Sentence::new(
            "they are kept for {}, above this directory: 'checkpoint -C {} list'",
            &[&escape_path(above), &above.as_os_str().as_encoded_bytes()],
        ),
        Instead::Former(old) => Sentence::new(
            "'checkpoint relink {}' brings those of {} here",
            &[&old.as_os_str().as_encoded_bytes(), &escape_path(old)],
        ),
        Instead::OtherRoot => Sentence::text("name a project directory with -C"),
        Instead::OtherStore => Sentence::new("'checkpoint list --all' shows every store", &[]),
    }
}

fn mismatch(query: &str, why: &Mismatch) -> String {
    match why {
        Mismatch::TooShort { .. } => {
            format!("'{query}' is too short for an id: give 4 digits or more")
        }
        Mismatch::TooFar { count: 1 } => {
            format!("'{query}' goes back too far: there is 1 checkpoint")
        }
        Mismatch::TooFar { count } => {
            format!("'{query}' goes back too far: there are {count} checkpoints")
        }
        Mismatch::AllScoped { .. } => {
            format!("'{query}' names no scoped checkpoint, and there are no others")
        }
        Mismatch::NoPrompt => format!("no checkpoint is kept for '{query}'"),
        Mismatch::FirstGone { .. } => format!("the first of '{query}' is no longer kept"),
        Mismatch::TooOld { .. } => format!("no checkpoint is as old as '{query}'"),
        Mismatch::InFuture { .. } => format!("'{query}' is in the future"),
        Mismatch::NorPath { .. } => format!("no checkpoint and no path '{query}'"),
        _ => format!("no checkpoint '{query}'"),
    }
}

fn alternatives(candidates: &[Candidate]) -> String {
    let shown = |c: &Candidate| format!("{} ({})", c.id.short(), escape(&c.reason));
    join_or(candidates.iter().map(shown))
}

fn mismatch_hint(query: &str, why: &Mismatch) -> Option<Sentence> {
    let reason = |c: &Candidate| shell_word(c.reason.as_bytes());
    let newest = |newest: &Option<ObjectId>| Some(newest.as_ref()?.short());
    Some(Sentence::text(match why {
        Mismatch::Unknown { newest: id } | Mismatch::NorPath { newest: id } => {
            return Some(Sentence::new(ALL_AND_NEWEST, &[&newest(id)?]));
        }
        Mismatch::AllScoped { newest } => {
            return Some(Sentence::new(ALL_AND_NEWEST, &[&newest.short()]));
        }
        Mismatch::OfRemote { name } => {
            let hint = "'checkpoint list --remote {}' shows what is here of it";
            return Some(Sentence::new(hint, &[name]));
        }
        Mismatch::NotFetched { name } => {
            let hint = "'checkpoint fetch {}' brings what other stores pushed; \
                        'checkpoint list' shows what this one did";
            return Some(Sentence::new(hint, &[name]));
        }
        Mismatch::InFuture { newest: id } if is_clock(query) => format!(
            "did you mean 'yesterday {query}'? the newest is {}",
            newest(id)?
        ),
        Mismatch::InFuture { newest: id } => {
            format!("the newest is {}", newest(id)?)
        }
        Mismatch::TooShort { candidates } => {
            format!("did you mean {}?", alternatives(candidates))
        }
        Mismatch::Reasons { candidates } => {
            format!("did you mean {}?", join_or(candidates.iter().map(reason)))
        }
        Mismatch::OtherWord { meant } => format!("did you mean {meant}?"),
        Mismatch::NoPrompt => "'checkpoint rewind' lists the prompts".to_owned(),
        Mismatch::FirstGone { oldest } => {
            format!("the oldest of that session is {}", oldest.short())
        }
        Mismatch::TooFar { count } => format!("the oldest is latest~{}", count - 1),
        Mismatch::TooOld { oldest, age } => {
            format!("the oldest is {}, made {age} ago", oldest.short())
        }
    }))
}

/// Whether a typed time is a time of day alone.
fn is_clock(typed: &str) -> bool {
    typed.bytes().all(|b| b.is_ascii_digit() || b == b':')
}

fn join_or(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" or ")
}

/// Returns the hint for a file; a change of the project that fails there is taken back as a whole.
fn io_hint(
    action: &str,
    path: &Path,
    kind: ErrorKind,
    is_of_project: bool,
) -> Option<&'static str> {
    let only_reads = matches!(action, "read" | "look at" | "find");
    let is_of_store = path.iter().any(|name| name == "projects");
    Some(match (kind, is_of_project) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, true) => {
            "nothing was changed; free some space on that disk"
        }
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, false) => {
            "free some space on that disk"
        }
        (ErrorKind::PermissionDenied, true) if !only_reads => {
            "nothing was changed; its owner and mode, those of its directory, \
             or 'lsattr' (immutable?) tell why"
        }
        (ErrorKind::NotADirectory, true) if action == "open" => {
            "nothing was changed; put a directory in its place"
        }
        (ErrorKind::ReadOnlyFilesystem, true) => {
            "nothing was changed; 'checkpoint restore SEL --to DIR' writes elsewhere"
        }
        (ErrorKind::PermissionDenied, _) if only_reads => "this user may not read it",
        (ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, _) if is_of_store => {
            "this user or sandbox may not write there; CHECKPOINT_HOME can name another place"
        }
        (ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, _) => {
            "this user or sandbox may not write there"
        }
        _ => return None,
    })
}

impl From<SelectorProblem> for Error {
    fn from(problem: SelectorProblem) -> Self {
        match problem {
            SelectorProblem::Empty => Self::usage("the selector is empty: no checkpoint is named"),
            SelectorProblem::NoMatch { query, why } => {
                Self::no_such_checkpoint(&escape(&query), &why)
            }
            SelectorProblem::Ambiguous { query, candidates } => {
                Self::ambiguous_checkpoint(&escape(&query), candidates)
            }
        }
    }
}
