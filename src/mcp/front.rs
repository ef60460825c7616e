//! Runs the commands behind tools, each as if it were called with `--json`: in the directories that
//! are allowed, with the plans that were shown, and cut where an answer is too long.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::answer::place::PlaceWords;
use crate::answer::{Answer, ErrorJson};
use crate::base::{Interrupt, Progress, json};
use crate::cli::entry;
use crate::config::Environment;
use crate::error::{Code, Error, Result, exit_code};
use crate::mcp::paging;
use crate::mcp::plans::{Plans, ShownPlan};
use crate::mcp::tools::{
    self, Arguments, LONGEST_LETTER, MOST_BYTES, ToolEffect, ToolSpec, USUAL_RESULTS, usage,
};
use crate::ops::Place;
use crate::ops::find_root::exactly;

/// Items of a list of checkpoints, unless more or fewer are asked for.
const USUAL_ITEMS: u64 = 20;
/// Changes that are listed beside a patch.
const CHANGES_BESIDE_A_PATCH: u64 = 20;
/// Characters that are left for what is said beside document and patch.
const ROOM_FOR_WORDS: usize = 500;

/// What all calls of a server share.
pub struct Front {
    pub dirs: AllowedDirs,
    /// `--base` of the server.
    pub base: Option<PathBuf>,
    /// `--lock-timeout` of the server, in seconds.
    pub lock_timeout: u64,
    pub environment: Environment,
    pub plans: Plans,
}

/// The handles of work that goes on.
#[derive(Clone, Debug, Default)]
pub struct RunningWork {
    pub interrupt: Interrupt,
    pub progress: Progress,
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// The document of `--json`.
    pub document: Value,
    pub has_failed: bool,
    /// Where the next page begins.
    pub next: Option<u64>,
    /// Texts beside the document.
    pub texts: Vec<String>,
}

impl ToolAnswer {
    /// Returns an answer, a page of which there may be a next one.
    fn page(mut document: Value, next: Option<u64>, mut texts: Vec<String>) -> Self {
        let hint = document["error"]["hint"].as_str();
        if hint.is_some_and(|hint| hint.ends_with("--help'")) {
            let of_schema = "the input schema of the tool names its arguments";
            advise(&mut document, of_schema);
        }
        // Tells a model, which may see no more than the texts.
        let goes_on = |next| format!("There is more: call again with \"cursor\": \"{next}\".");
        texts.extend(next.map(goes_on));
        Self {
            has_failed: document["ok"] != true,
            document,
            next,
            texts,
        }
    }
}

impl Front {
    /// Answers a call of any tool but `checkpoint_restore`.
    pub fn call(
        &self,
        tool: &ToolSpec,
        given: Map<String, Value>,
        work: &RunningWork,
    ) -> ToolAnswer {
        let checked = tool.check(given);
        let answered = checked.and_then(|given| self.answer(tool, &given, work));
        answered.unwrap_or_else(|error| refused(tool, &error))
    }

    fn answer(&self, tool: &ToolSpec, given: &Arguments, work: &RunningWork) -> Result<ToolAnswer> {
        let dir = self.dirs.find(given.text("directory"))?;
        let (mut words, from) = (tool.words(given)?, given.cursor()?);
        if tool.name == "checkpoint_read" {
            return Ok(self.read(&dir, &words, given, work));
        }
        let is_plan = tool.effect == ToolEffect::Plans;
        if is_plan {
            words.insert(1, "--dry-run".into());
        }
        let (code, mut document) = self.run(&dir, &words, work);
        if is_plan {
            words.remove(1);
            self.note_plan(&document, dir.clone(), words.clone(), from > 0)?;
        }
        if given.is_set("patch") && document["ok"] == true {
            return Ok(self.patch(&dir, &words, given, document, work));
        }
        let usual = match tool.name {
            "checkpoint_list" => Some(USUAL_ITEMS),
            "checkpoint_find" => Some(USUAL_RESULTS),
            _ => None,
        };
        let limit = given.number("limit").or(usual);
        let next = paging::page(&mut document, tool.lists, from, limit);
        // Without a terminal, `resume` shows what can be answered, and decides nothing.
        let shows_choices = tool.name == "workflow_resume" && code == exit_code::REFUSED;
        Ok(ToolAnswer {
            has_failed: document["ok"] != true && !shows_choices,
            ..ToolAnswer::page(document, next, Vec::new())
        })
    }

    /// Adds the patch to the answer of `diff`.
    fn patch(
        &self,
        dir: &Path,
        words: &[OsString],
        given: &Arguments,
        mut document: Value,
        work: &RunningWork,
    ) -> ToolAnswer {
        let limit = given.number("limit").unwrap_or(CHANGES_BESIDE_A_PATCH);
        paging::cut_list(&mut document, "changes", limit);
        let (_, kept) = self.run_as(dir, words, work, false);
        let patch = String::from_utf8_lossy(&kept);
        let within = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let from = patch.floor_char_boundary(within(given.cursor().unwrap_or_default()));
        let room = paging::LONGEST_TEXT.saturating_sub(paging::length(&document) + ROOM_FOR_WORDS);
        let most = within(given.number("max_bytes").unwrap_or(MOST_BYTES))
            .min(room)
            .max(within(LONGEST_LETTER));
        let end = patch
            .floor_char_boundary(from.saturating_add(most))
            .max(from);
        let next = (end < patch.len()).then_some(end as u64);
        if let Some(next) = next {
            let all = patch.len();
            let message = format!("{end} of {all} bytes of the patch; cursor {next} goes on");
            paging::warn(&mut document, &message);
        }
        ToolAnswer::page(document, next, vec![patch[from..end].to_owned()])
    }

    /// Reads a part of a file that is short enough as text.
    fn read(
        &self,
        dir: &Path,
        words: &[OsString],
        given: &Arguments,
        work: &RunningWork,
    ) -> ToolAnswer {
        let from = given.cursor().unwrap_or_default();
        let mut most = given.number("max_bytes").unwrap_or(MOST_BYTES);
        let mut document = loop {
            let part = [
                format!("--skip={from}").into(),
                format!("--bytes={most}").into(),
            ];
            let (_, document) = self.run(dir, &[&words[..1], &part, &words[1..]].concat(), work);
            // Characters that are escaped need more room.
            if most < 2 * LONGEST_LETTER || paging::length(&document) <= paging::LONGEST_TEXT {
                break document;
            }
            most /= 2;
        };
        let data = &document["data"];
        let hex = data["hex"].as_str().map(|hex| hex.len() / 2);
        let text = data["text"].as_str().map(str::len);
        let length = text.or(hex).unwrap_or_default() as u64;
        let size = data["size_bytes"].as_u64().unwrap_or_default();
        let end = from.saturating_add(length);
        let next = (length > 0 && end < size).then_some(end);
        if let Some(next) = next {
            let message = format!("{length} of {size} bytes; cursor {next} goes on");
            paging::warn(&mut document, &message);
        }
        ToolAnswer::page(document, next, Vec::new())
    }

    /// Remembers a plan that was shown. A later page must be of the plan of the first one: its digest
    /// would stand for changes that no page showed.
    fn note_plan(
        &self,
        document: &Value,
        dir: PathBuf,
        words: Vec<OsString>,
        is_later_page: bool,
    ) -> Result<()> {
        let data = &document["data"];
        let Some(digest) = data["plan_digest"].as_str() else {
            return Ok(());
        };
        if is_later_page && self.plans.find(digest, Some(&dir)).is_err() {
            let what = "something has moved since the first page; plan again without a cursor";
            return usage(what);
        }
        let counts = &data["counts"];
        let stake = format!(
            "Restore {} to {} ({}): add {}, modify {} and delete {} files?",
            dir.display(),
            data["restored_from"]["short"].as_str().unwrap_or_default(),
            data["restored_from"]["reason"].as_str().unwrap_or_default(),
            counts["added"],
            counts["modified"],
            counts["deleted"],
        );
        let plan = ShownPlan {
            dir,
            words,
            stake,
            shown: Instant::now(),
        };
        self.plans.note(digest, plan);
        Ok(())
    }

    /// Finds the plan that a call of `checkpoint_restore` names, and its digest.
    ///
    /// # Errors
    /// The arguments are wrong, or the plan cannot be carried out.
    pub fn plan(&self, tool: &ToolSpec, given: Map<String, Value>) -> Result<(String, ShownPlan)> {
        let given = tool.check(given)?;
        let digest = given.text("plan").unwrap_or_default().to_owned();
        let named = given.text("directory");
        let dir = named.map(|_| self.dirs.find(named)).transpose()?;
        let plan = self.plans.find(&digest, dir.as_deref())?;
        Ok((digest, plan))
    }

    /// Carries out a plan. If something has moved since it was shown, what a restore would do now
    /// comes beside the refusal; it is carried out only once it was planned anew, for the user to see.
    pub fn restore(&self, tool: &ToolSpec, digest: &str, work: &RunningWork) -> ToolAnswer {
        let plan = match self.plans.take(digest) {
            Ok(plan) => plan,
            Err(error) => return refused(tool, &error),
        };
        let mut words = plan.words.clone();
        let consent = [format!("--plan={digest}").into(), "--yes".into()];
        words.splice(1..1, consent);
        let (code, mut document) = self.run(&plan.dir, &words, work);
        let mut texts = Vec::new();
        if code == exit_code::REFUSED && document["error"]["code"] == "consent_needed" {
            let mut words = plan.words.clone();
            words.insert(1, "--dry-run".into());
            let (_, mut now) = self.run(&plan.dir, &words, work);
            now["data"]["plan_digest"] = Value::Null;
            paging::page(&mut now, tool.lists, 0, None);
            texts.push(format!("It would now do this: {now}"));
            document["error"]["message"] = "something has moved since this plan was shown".into();
            advise(
                &mut document,
                "call checkpoint_plan_restore again, and show the user what it says",
            );
        } else if document["ok"] != true {
            // What could not be carried out, as on a full disk, can be tried again.
            self.plans.note(digest, plan);
        }
        paging::page(&mut document, tool.lists, 0, None);
        ToolAnswer::page(document, None, texts)
    }

    /// Runs a command; returns its exit code and document.
    pub fn run(&self, dir: &Path, words: &[OsString], work: &RunningWork) -> (u8, Value) {
        let (code, kept) = self.run_as(dir, words, work, true);
        (code, json::parse(&kept).unwrap_or_default())
    }

    fn run_as(
        &self,
        dir: &Path,
        words: &[OsString],
        work: &RunningWork,
        as_json: bool,
    ) -> (u8, Vec<u8>) {
        let mut line: Vec<OsString> = vec!["checkpoint".into()];
        if let Some(base) = &self.base {
            line.extend(["--base".into(), base.into()]);
        }
        line.extend(["--quiet", "--no-input", "--color=never"].map(OsString::from));
        line.push(format!("--lock-timeout={}", self.lock_timeout).into());
        line.extend(as_json.then(|| "--json".into()));
        line.extend_from_slice(words);
        let place = self.dirs.place(dir);
        entry::answer(
            &line,
            &place,
            self.environment.clone(),
            &|context, _, printer| {
                // It was made canonical again, in case a link took its place meanwhile.
                self.dirs.check(context.root.path())?;
                Rc::make_mut(&mut printer.place).call_of = Some(tools::call_of);
                context.interrupt = work.interrupt.clone();
                context.progress = work.progress.clone();
                if words.first().is_some_and(|command| command == "create") {
                    // A call that is repeated adds nothing.
                    context.settings.dedup_window_ms = i64::MAX;
                }
                Ok(None)
            },
        )
    }
}

/// Returns the answer to a call that no command was run for.
pub fn refused(tool: &ToolSpec, error: &Error) -> ToolAnswer {
    let place = PlaceWords::default();
    let name = tool.answers.first().copied().unwrap_or_default();
    let failed = Some(ErrorJson::new(error, None, &place));
    let answer = Answer::<()>::new(name, error.code.exit, None, failed, (&[], &place));
    let mut document = json::value(&answer).unwrap_or_default();
    paging::page(&mut document, &[], 0, None);
    ToolAnswer::page(document, None, Vec::new())
}

/// Replaces advice that names the command line.
fn advise(document: &mut Value, hint: &str) {
    document["error"]["hint"] = hint.into();
    document["error"]["command"] = Value::Null;
}

/// Canonical paths; what lies below them is allowed too.
#[derive(Clone, Debug)]
pub struct AllowedDirs {
    /// The directory of calls that name none.
    usual: PathBuf,
    /// The root to which that belongs.
    root: PathBuf,
    tops: Vec<PathBuf>,
}

impl AllowedDirs {
    /// `usual` belongs to the root; `reaches_below` says whether others below that are allowed.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn new(root: &Path, usual: &Path, reaches_below: bool, others: &[PathBuf]) -> Result<Self> {
        let root = exactly(root)?.path().to_path_buf();
        let usual = exactly(usual).map_or_else(|_| root.clone(), |usual| usual.path().into());
        let mut tops = Vec::new();
        for other in others {
            tops.push(exactly(other)?.path().to_path_buf());
        }
        if reaches_below {
            tops.push(root.clone());
        }
        Ok(Self { usual, root, tops })
    }

    /// Returns where a call acts: a directory that it names may belong to a root above.
    pub fn place(&self, dir: &Path) -> Place {
        Place {
            dir: dir.to_path_buf(),
            is_exact: dir == self.root,
        }
    }

    /// Finds the directory that a call names, by its canonical path.
    ///
    /// # Errors
    /// It does not exist, or is not allowed.
    pub fn find(&self, typed: Option<&str>) -> Result<PathBuf> {
        let Some(typed) = typed else {
            return Ok(self.usual.clone());
        };
        let dir = self.usual.join(typed);
        // Whether something outside exists is not disclosed.
        let found = exactly(&dir).map_err(|_| not_allowed(&dir))?;
        self.check(found.path())?;
        Ok(found.path().to_path_buf())
    }

    /// # Errors
    /// A canonical path is not allowed.
    pub fn check(&self, dir: &Path) -> Result<()> {
        if dir == self.root || self.tops.iter().any(|top| dir.starts_with(top)) {
            return Ok(());
        }
        Err(not_allowed(dir))
    }
}

fn not_allowed(dir: &Path) -> Error {
    let dir = dir.display();
    let what = format!("{dir} is outside the directories of this server; nothing was done");
    Error::new(Code::DIR_NOT_ALLOWED, what).advise("'checkpoint mcp --help' says how to let it in")
}
