//! Runs the commands behind tools, each as if it were called with `--json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value};

use crate::base::interrupt::Interrupt;
use crate::base::progress::Progress;
use crate::cli::mcp::allowed_dirs::AllowedDirs;
use crate::cli::mcp::arguments::{Arguments, usage};
use crate::cli::mcp::paging;
use crate::cli::mcp::plans::{Plans, ShownPlan};
use crate::cli::mcp::tools::{MOST_BYTES, ToolEffect, ToolSpec, USUAL_RESULTS};
use crate::cli::{entry, exit_code};
use crate::config::environment::Environment;
use crate::error::{Code, Error, Result};
use crate::view::envelope;
use crate::view::error_json::ErrorJson;
use crate::view::place::{self, PlaceWords};

/// Items of a list of checkpoints, unless more or fewer are asked for.
const USUAL_ITEMS: u64 = 20;
/// Changes that are listed beside a patch.
const CHANGES_BESIDE_A_PATCH: u64 = 20;
/// Upper bound on the bytes of a letter in UTF-8, and so lower bound on what a page may hold.
const LONGEST_LETTER: u64 = 4;
/// Characters that are left for what is said beside document and patch.
const ROOM_FOR_WORDS: usize = 500;
/// Number of tries with ever fewer bytes until an escaped content is short enough.
const TRIES_TO_FIT: u32 = 4;

/// What all calls of a server share.
pub struct Front {
    pub dirs: AllowedDirs,
    /// `--base` of the server.
    pub base: Option<PathBuf>,
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

impl Front {
    /// Answers a call of any tool but `checkpoint_restore`.
    pub fn call(
        &self,
        tool: &ToolSpec,
        given: Map<String, Value>,
        work: &RunningWork,
    ) -> ToolAnswer {
        let answered = Arguments::check(given, &tool.input_schema())
            .and_then(|given| self.answer(tool, &given, work));
        answered.unwrap_or_else(|error| refused(tool, &error))
    }

    fn answer(&self, tool: &ToolSpec, given: &Arguments, work: &RunningWork) -> Result<ToolAnswer> {
        let dir = self.dirs.find(given.text("directory"))?;
        let mut words = (tool.words)(given)?;
        let command = words.first().cloned().unwrap_or_default();
        if command == "cat" {
            return Ok(self.read(&dir, &words, given, work));
        }
        let shown = words.clone();
        if tool.effect == ToolEffect::Plans {
            words.insert(1, "--dry-run".into());
        }
        let (code, mut document) = self.run(&dir, &words, work);
        if tool.effect == ToolEffect::Plans {
            if given.cursor()? > 0 {
                self.check_same_plan(&document, &dir)?;
            }
            self.note_plan(&document, dir.clone(), shown);
        }
        let mut texts = Vec::new();
        if given.is_set("patch") && document["ok"] == true {
            return Ok(self.patch(&dir, &words, given, document, work));
        }
        let limit = given.number("limit");
        let limit = limit.or_else(|| match command.to_str() {
            Some("list") => Some(USUAL_ITEMS),
            Some("find") => Some(USUAL_RESULTS),
            _ => None,
        });
        let next = paging::page(&mut document, tool.lists, given.cursor()?, limit);
        // Without a terminal, `resume` shows what can be answered, and decides nothing.
        let shows_choices = command == "workflow" && code == exit_code::REFUSED;
        if let Some(next) = next {
            texts.push(goes_on(next));
        }
        Ok(ToolAnswer {
            has_failed: document["ok"] != true && !shows_choices,
            document,
            next,
            texts,
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
        let (_, printed) = self.run_as(dir, words, work, false);
        let patch = String::from_utf8_lossy(&printed);
        let from = given
            .cursor()
            .ok()
            .and_then(|from| usize::try_from(from).ok());
        let from = patch.floor_char_boundary(from.unwrap_or_default());
        let room = paging::LONGEST_TEXT.saturating_sub(paging::length(&document) + ROOM_FOR_WORDS);
        let most = given.number("max_bytes").unwrap_or(MOST_BYTES);
        let most = most.min(room as u64).max(LONGEST_LETTER);
        let end = from.saturating_add(usize::try_from(most).unwrap_or(usize::MAX));
        let end = patch.floor_char_boundary(end).max(from);
        let next = (end < patch.len()).then_some(end as u64);
        let mut texts = vec![patch[from..end].to_owned()];
        if let Some(next) = next {
            paging::warn(
                &mut document,
                &format!(
                    "{end} of {} bytes of the patch; cursor {next} goes on",
                    patch.len()
                ),
            );
            texts.push(goes_on(next));
        }
        ToolAnswer {
            has_failed: false,
            document,
            next,
            texts,
        }
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
        let mut tries = TRIES_TO_FIT;
        let mut document = loop {
            let mut part = words.to_vec();
            part.insert(1, format!("--bytes={most}").into());
            let (_, document) = self.run(dir, &part, work);
            tries -= 1;
            if tries == 0
                || most < 2 * LONGEST_LETTER
                || paging::length(&document) <= paging::LONGEST_TEXT
            {
                break document;
            }
            most /= 2;
        };
        let data = &document["data"];
        let hex = data["hex"].as_str().map(|hex| hex.len() / 2);
        let length = data["text"]
            .as_str()
            .map(str::len)
            .or(hex)
            .unwrap_or_default() as u64;
        let size = data["size_bytes"].as_u64().unwrap_or_default();
        let end = from.saturating_add(length);
        let next = (length > 0 && end < size).then_some(end);
        let mut texts = Vec::new();
        if let Some(next) = next {
            let message = format!("{length} of {size} bytes; cursor {next} goes on");
            paging::warn(&mut document, &message);
            texts.push(goes_on(next));
        }
        ToolAnswer {
            has_failed: document["ok"] != true,
            document,
            next,
            texts,
        }
    }

    /// Refuses a later page of a plan that is not the one of the first page: its digest would stand
    /// for changes that no page showed.
    fn check_same_plan(&self, document: &Value, dir: &Path) -> Result<()> {
        let digest = document["data"]["plan_digest"].as_str();
        let is_same = digest.is_none_or(|digest| self.plans.find(digest, Some(dir)).is_ok());
        let what = "something has moved since the first page; plan again without a cursor";
        is_same.then_some(()).ok_or_else(|| usage(what.to_owned()))
    }

    fn note_plan(&self, document: &Value, dir: PathBuf, words: Vec<OsString>) {
        let data = &document["data"];
        let Some(digest) = data["plan_digest"].as_str() else {
            return;
        };
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
    }

    /// Finds the plan that a call of `checkpoint_restore` names, and its digest.
    ///
    /// # Errors
    /// The arguments are wrong, or the plan cannot be carried out.
    pub fn plan(&self, tool: &ToolSpec, given: Map<String, Value>) -> Result<(String, ShownPlan)> {
        let given = Arguments::check(given, &tool.input_schema())?;
        let digest = given.text("plan").unwrap_or_default().to_owned();
        let named = given.text("directory");
        let dir = named.map(|_| self.dirs.find(named)).transpose()?;
        let plan = self.plans.find(&digest, dir.as_deref())?;
        Ok((digest, plan))
    }

    /// Carries out a plan. If something has moved since it was shown, what a restore would do now
    /// comes beside the refusal; it is carried out only once it was planned anew, for the user to see.
    pub fn restore(&self, tool: &ToolSpec, digest: &str, work: &RunningWork) -> ToolAnswer {
        let plan = match self.plans.take(digest, None) {
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
        ToolAnswer {
            has_failed: document["ok"] != true,
            document,
            next: None,
            texts,
        }
    }

    /// Runs a command; returns its exit code and document.
    pub fn run(&self, dir: &Path, words: &[OsString], work: &RunningWork) -> (u8, Value) {
        let (code, printed) = self.run_as(dir, words, work, true);
        let document = serde_json::from_slice(&printed);
        (code, document.unwrap_or_default())
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
        line.extend([
            "--quiet".into(),
            "--no-input".into(),
            "--color=never".into(),
        ]);
        if as_json {
            line.push("--json".into());
        }
        line.extend_from_slice(words);
        let place = self.dirs.place(dir);
        entry::answer(&line, &place, self.environment.clone(), &|context, _| {
            // It was made canonical again, in case a link took its place meanwhile.
            self.dirs.check(context.root.path())?;
            context.interrupt = work.interrupt.clone();
            context.progress = work.progress.clone();
            if words.first().is_some_and(|command| command == "create") {
                // A call that is repeated adds nothing.
                context.settings.dedup_window_ms = i64::MAX;
            }
            Ok(None)
        })
    }
}

/// Returns the answer to a call that no command was run for.
pub fn refused(tool: &ToolSpec, error: &Error) -> ToolAnswer {
    place::adopt(PlaceWords::default());
    let name = tool.answers.first().copied().unwrap_or_default();
    let code = error.code.exit;
    let text = envelope::failure(name, code, ErrorJson::new(error, None), &[]);
    let mut document = serde_json::from_str(&text).unwrap_or_default();
    if error.code == Code::USAGE {
        advise(
            &mut document,
            "the input schema of the tool names its arguments",
        );
    }
    paging::page(&mut document, &[], 0, None);
    ToolAnswer {
        document,
        has_failed: true,
        next: None,
        texts: Vec::new(),
    }
}

/// Replaces advice that names the command line.
fn advise(document: &mut Value, hint: &str) {
    document["error"]["hint"] = hint.into();
    document["error"]["command"] = Value::Null;
}

/// Tells a model, which may see no more than the texts, how it gets the next page.
fn goes_on(next: u64) -> String {
    format!("There is more: call again with \"cursor\": \"{next}\".")
}
