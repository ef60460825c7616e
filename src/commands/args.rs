//! Options that several commands share: a period, patterns of paths, lists of items, contracts.
//! Of a list, `@FILE` has one item per line, and `-` is standard input.

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::answer::contract::{Call, nothing_made, nothing_restored};
use crate::answer::place::PlaceWords;
use crate::answer::words::{self, advised};
use crate::answer::{ContractDocument, ContractForm};
use crate::base::git_quoting::unquoted;
use crate::base::shell_word::{shell_line, shell_word};
use crate::base::time::{PAST_FORMS, TypedTime, parse_past};
use crate::commands::prelude::*;
use crate::config::AgentConsent;
use crate::ops::{Globs, Period, TypedWords};

#[derive(Clone, Debug, Default, clap::Args)]
pub struct PeriodArgs {
    /// Only what was made since then: 2h, yesterday, 15:40, 2026-03-24T12:45
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only what was made until then; a day or a minute is included whole
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

impl PeriodArgs {
    /// # Errors
    /// One of them is not a time.
    pub fn resolve(&self, now_ms: i64) -> Result<Period> {
        let read = |option, typed: &Option<String>| {
            let parse = |text: &String| {
                parse_past(text, now_ms).ok_or_else(|| Error::bad_time_of(option, text, PAST_FORMS))
            };
            typed.as_ref().map(parse).transpose()
        };
        let (since, until) = (read("--since", &self.since)?, read("--until", &self.until)?);
        Ok(Period {
            since_ms: since.map(|time| time.start_ms),
            until_ms: until.map(TypedTime::last_ms),
        })
    }
}

/// Consent to a plan that was shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PlanArgs {
    /// Digest that a dry run named: go on only if nothing has changed since
    #[arg(long = "plan", value_name = "DIGEST", conflicts_with = "dry_run")]
    pub digest: Option<String>,
}

/// Whether this runs in an agent's shell, and the user wants agents to have a plan for what they undo.
pub fn needs_plan(context: &Context) -> bool {
    let must = context.settings.agents.agent_restore == AgentConsent::Plan;
    must && context.environment.agent.is_some()
}

impl PlanArgs {
    /// Returns the digest; `again` is this command without it.
    ///
    /// # Errors
    /// There is none, although the user wants agents to have one, and this runs in an agent's shell.
    pub fn resolve(
        &self,
        context: &Context,
        dry_run: bool,
        again: &CommandWords,
    ) -> Result<Option<String>> {
        if self.digest.is_none() && needs_plan(context) && !dry_run {
            let what = "not confirmed: by the user's setting agent_restore, an agent needs the plan of a dry run";
            let next = Sentence::text("nothing was changed; ")
                .then_command(again.clone().with(["--dry-run"]))
                .then(" shows and names it");
            return Err(Error::new(Code::CONSENT_NEEDED, what).next(next));
        }
        Ok(self.digest.clone())
    }
}

/// Names the plan of a dry run, and the command that carries out just this one.
pub fn write_plan(out: &mut Out<'_>, digest: Option<&str>, again: &CommandWords) {
    if let Some(digest) = digest {
        let words = again.clone().with(["--plan", digest, "--yes"]);
        let command = out.place.command(words);
        talkln!(
            out,
            "plan {digest}, refused if anything changes meanwhile; to do exactly this: {command}"
        );
    }
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct GlobArgs {
    /// Only paths that match this pattern, as in a .gitignore; repeatable
    #[arg(long = "glob", value_name = "PATTERN")]
    pub globs: Vec<OsString>,
    /// No paths that match this pattern; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<OsString>,
}

impl GlobArgs {
    pub fn resolve(self) -> Globs {
        Globs {
            only: bytes_of(self.globs),
            except: bytes_of(self.exclude),
        }
    }
}

pub fn bytes_of(words: Vec<OsString>) -> Vec<Vec<u8>> {
    let words = words.into_iter();
    words.map(OsString::into_encoded_bytes).collect()
}

/// Returns checkpoints and paths as they were typed, where they stand alone.
pub fn typed_words(words: Vec<OsString>, paths: Vec<OsString>) -> TypedWords {
    TypedWords {
        words: bytes_of(words),
        paths: bytes_of(paths),
        ..TypedWords::default()
    }
}

/// Flattened into `create`, `restore` and its kin.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Agent contract")]
pub struct ContractArgs {
    /// Print a report of what was done, verified against the checkpoint, for agents
    #[arg(long)]
    pub contract: bool,
    /// Format of the report [default: yaml]
    #[arg(long, value_name = "FORMAT", requires = "contract", value_parser = PossibleValuesParser::new(["yaml", "json"]).map(|form| form_of(form == "json")))]
    pub format: Option<ContractForm>,
}

impl ContractArgs {
    pub fn form(self) -> ContractForm {
        self.format.unwrap_or_default()
    }

    /// The form of the contract, if there shall be one.
    pub fn wanted(self) -> Option<ContractForm> {
        self.contract.then(|| self.form())
    }
}

fn form_of(is_json: bool) -> ContractForm {
    [ContractForm::Yaml, ContractForm::Json][usize::from(is_json)]
}

/// Returns the words of this call, for a contract.
pub fn call(context: &Context, cmd: &CommandContext<'_>) -> Call {
    let home = context.environment.home.as_ref();
    let usual = home.map(|home| home.join(".claude"));
    Call {
        anchor: anchor(cmd.words),
        program: environment::program(cmd.words),
        root: context.root.path().to_path_buf(),
        base: Some(context.base.clone()).filter(|base| Some(base) != usual.as_ref()),
    }
}

/// Returns the contract of a call that failed.
pub fn refused(
    command: &str,
    words: &[OsString],
    error: &Error,
    place: &PlaceWords,
) -> ContractDocument {
    let (what, hint) = (words::message(error, place), words::hint(error, place));
    let why = advised(&what, hint.as_ref());
    match command {
        "create" => nothing_made(&why, &anchor(words)),
        _ => nothing_restored(&why, &anchor(words)),
    }
}

/// Returns the form of the contract that a line asks for which cannot be parsed.
pub fn asked_for(command: &str, words: &[OsString]) -> Option<ContractForm> {
    let has_contract = ["create", "restore", "undo", "redo", "rewind"].contains(&command);
    let mut options = words.iter().take_while(|word| *word != "--");
    let is_wanted = has_contract && options.any(|word| word == "--contract");
    let is_json = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    let is_json = words.contains(&"--format=json".into()) || words.windows(2).any(is_json);
    is_wanted.then(|| form_of(is_json))
}

/// Returns a command that repeats the call from any directory, or just its words if it read
/// standard input.
pub fn anchor(words: &[OsString]) -> String {
    let program = environment::program(words);
    let rest = words.iter().skip(1).map(|word| word.as_encoded_bytes());
    let reads_input = rest.clone().any(|word| {
        matches!(word, b"-" | b"@-") || word.ends_with(b"=-") || word.ends_with(b"=@-")
    });
    let command = shell_line(std::iter::once(program.as_bytes()).chain(rest));
    match environment::absolute(Path::new(".")) {
        Ok(here) if !reads_input => {
            let here = shell_word(here.as_os_str().as_encoded_bytes());
            format!("tool:bash:cd {here} && {command}")
        }
        _ => format!("check:called_as:{command}"),
    }
}

/// Expands each list in place. Items end with a newline, or with NUL if the list contains one.
///
/// # Errors
/// A file cannot be read, or there is nothing in the lists.
pub fn expand(typed: &[OsString]) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for item in typed {
        match item.as_encoded_bytes() {
            b"-" => all.extend(items(&content(Path::new("-"))?)),
            [b'@', ..] => {
                let name = item.to_str().map(|item| Path::new(&item[1..]));
                let unread = || Error::usage("the name of a list of paths is not UTF-8");
                all.extend(items(&content(name.ok_or_else(unread)?)?));
            }
            plain => all.push(plain.to_vec()),
        }
    }
    if all.is_empty() && !typed.is_empty() {
        return Err(Error::usage("the list names no path"));
    }
    Ok(all)
}

/// Whether a word names a list, and not a checkpoint: `@`, `@~2` and `@:PATH` do.
pub fn is_list(word: &[u8]) -> bool {
    matches!(word, [b'@', first, ..] if !b"~:^{".contains(first))
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// The file cannot be read.
pub fn content(file: &Path) -> Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => {
                let what = format!("{} does not exist", escape_path(file));
                let next =
                    "nothing was changed; the name is relative to the current directory, not to -C";
                Error::new(Code::NOTHING_FOUND, what).advise(next)
            }
            _ => Error::io("read", file)(cause),
        });
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(Error::io("read", Path::new("standard input")))?;
    Ok(bytes)
}

/// A line may be quoted, as `diff --name-only` and git print paths.
fn items(bytes: &[u8]) -> Vec<Vec<u8>> {
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let lines = bytes.split(|byte| *byte == end);
    let whole = lines.map(|line| {
        if end == 0 {
            line.to_vec()
        } else {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            unquoted(line).unwrap_or_else(|| line.to_vec())
        }
    });
    whole.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_item_a_line_or_ends_them_with_nul() {
        let found = items(b"a\n\r\nb c\r\n\"\\303\\234\\t\"");
        assert_eq!(found, [b"a".to_vec(), b"b c".to_vec(), "\u{dc}\t".into()]);
        assert_eq!(items(b"a\nb\0c\r\0"), [b"a\nb".to_vec(), b"c\r".to_vec()]);
        assert_eq!(items(b""), Vec::<Vec<u8>>::new());
    }
}
