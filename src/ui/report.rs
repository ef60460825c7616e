//! A report: the page with its data inside, as one file that needs no server.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::base::{Interrupt, json};
use crate::error::{Error, Result};
use crate::ops::Context;
use crate::shell::command_context::ReportPage;
use crate::ui::door::PageToken;
use crate::ui::front::{CommandCall, Runner};
use crate::ui::page;

/// Upper bound on the bytes of a patch in a report, and of all of them.
const MOST_PATCH_BYTES: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;
/// Runs of workflows that the page shows.
const MOST_RUNS: usize = 8;

/// Makes the report of checkpoints, newest first.
///
/// # Errors
/// A checkpoint cannot be read, or a signal came.
pub fn make(context: &Context, given_base: Option<&Path>, ids: &[String]) -> Result<ReportPage> {
    let runner = Runner {
        root: context.root.path().to_path_buf(),
        given_base: given_base.map(Path::to_path_buf),
        lock_timeout: context.lock_wait.as_secs(),
        base: context.base.clone(),
        environment: context.environment.clone(),
        may_change: false,
    };
    let mut report = ReportDraft {
        runner,
        interrupt: &context.interrupt,
        answers: Map::new(),
        patches: Map::new(),
        bytes: 0,
        left_out_count: 0,
    };
    report.read_frame(ids)?;
    for id in ids {
        report.read_checkpoint(id)?;
    }
    report.page(ids.len())
}

struct ReportDraft<'c> {
    runner: Runner,
    interrupt: &'c Interrupt,
    /// What commands answered, by their words.
    answers: Map<String, Value>,
    /// The patches of each checkpoint against the one before, by path.
    patches: Map<String, Value>,
    bytes: usize,
    left_out_count: usize,
}

impl ReportDraft<'_> {
    /// Returns the data of an answer.
    fn ask(&self, words: &[&str]) -> Result<Value> {
        self.interrupt.check()?;
        let call = CommandCall {
            words: words.iter().map(OsString::from).collect(),
            input: None,
        };
        let document = self.runner.document(&call, self.interrupt);
        let document = document.unwrap_or_default();
        let mut document = json::parse(&document).unwrap_or_default();
        let message = document["error"]["message"].as_str().map(Error::unexpected);
        match document["data"].take() {
            Value::Null => Err(message.unwrap_or_else(|| Error::unexpected("no answer"))),
            data => Ok(data),
        }
    }

    fn keep(&mut self, name: &str, data: Value) {
        self.answers.insert(name.to_owned(), data);
    }

    /// Reads what is of no single checkpoint.
    fn read_frame(&mut self, ids: &[String]) -> Result<()> {
        let mut list = self.ask(&["list", "--stat"])?;
        if let Some(rows) = list["checkpoints"].as_array_mut() {
            rows.retain(|row| ids.iter().any(|id| row["id"] == **id));
        }
        self.keep("list", list);
        let status = self.ask(&["status", "--brief"])?;
        self.keep("status", status);
        self.keep("undo", json!({ "undo": [], "redo": [] }));
        let runs = self.ask(&["workflow", "list", "--all"])?;
        let named = runs["workflows"].as_array().cloned().unwrap_or_default();
        self.keep("workflow list", runs);
        for run in named.iter().take(MOST_RUNS) {
            let id = run["id"].as_str().unwrap_or_default();
            let shown = self.ask(&["workflow", "show", id])?;
            self.keep(&format!("workflow show {id}"), shown);
        }
        Ok(())
    }

    fn read_checkpoint(&mut self, id: &str) -> Result<()> {
        let shown = self.ask(&["show", id, "--stat"])?;
        let changes = shown["file_changes"].as_array().cloned();
        let changes = changes.unwrap_or_default();
        self.keep(&format!("show {id}"), shown);
        let sides = changes.iter().flat_map(|it| [&it["before"], &it["after"]]);
        let bytes: u64 = sides.filter_map(|side| side["size_bytes"].as_u64()).sum();
        let paths: Vec<&str> = changes.iter().filter_map(text_path).collect();
        // What may make a very long patch is read file by file.
        let is_long = bytes > MOST_BYTES as u64;
        let mut patches = Map::new();
        for some in paths.chunks(if is_long { 1 } else { paths.len().max(1) }) {
            let only = if is_long { some } else { &[] };
            let found = self.ask(&[&["show", id, "-p", "--"], only].concat())?;
            self.keep_patches(&found, &mut patches);
        }
        self.patches.insert(id.to_owned(), patches.into());
        Ok(())
    }

    /// Keeps the patch of each file of an answer, unless it is too large.
    fn keep_patches(&mut self, found: &Value, patches: &mut Map<String, Value>) {
        let mut parts = parts(found["patch"].as_str().unwrap_or_default());
        for change in found["file_changes"].as_array().into_iter().flatten() {
            // A file that became a link, or the other way round, has two.
            let count = if change["change"] == "type" { 2 } else { 1 };
            let text: String = parts.by_ref().take(count).collect();
            let Some(path) = text_path(change) else {
                continue;
            };
            if text.len() > MOST_PATCH_BYTES || self.bytes + text.len() > MOST_BYTES {
                self.left_out_count += 1;
                continue;
            }
            self.bytes += text.len();
            patches.insert(path.to_owned(), text.into());
        }
    }

    fn page(self, checkpoint_count: usize) -> Result<ReportPage> {
        let patches = self.patches.values().filter_map(Value::as_object);
        let patch_count = patches.map(Map::len).sum();
        let data = json!({ "answers": self.answers, "patches": self.patches });
        let nonce = PageToken::random()
            .ok_or_else(|| Error::unexpected("the system has no random numbers"))?;
        Ok(ReportPage {
            html: html(&json::document(&data, false), nonce.as_text()),
            checkpoint_count,
            patch_count,
            patch_bytes: self.bytes as u64,
            left_out_count: self.left_out_count,
        })
    }
}

/// Returns the path of a change whose patch can be shown.
fn text_path(change: &Value) -> Option<&str> {
    let is_shown = change["path_hex"].is_null() && change["binary"] != true;
    change["path"].as_str().filter(|_| is_shown)
}

/// Cuts a patch at the heads of its files; no other line begins like them.
fn parts(patch: &str) -> impl Iterator<Item = String> {
    let lines = patch.strip_prefix("diff --git ").unwrap_or_default();
    let lines = lines.strip_suffix('\n').unwrap_or(lines);
    let parts = lines.split("\ndiff --git ");
    parts.map(|part| format!("diff --git {part}\n"))
}

/// Puts data, style and script into the page. Only what has the nonce may act.
fn html(data: &str, nonce: &str) -> String {
    let (mut style, mut script) = ("", "const modules = {};\n".to_owned());
    for (name, kind, text) in page::FILES {
        if kind == page::SCRIPT {
            script.push_str(&as_function(name, text));
        } else {
            style = text;
        }
    }
    // Data hold no tag: `<` is only within texts.
    let data = data.replace('<', "\\u003c");
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}'; \
         style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'\">"
    );
    page::INDEX
        .replacen(
            "<meta charset=\"utf-8\">",
            &format!("<meta charset=\"utf-8\">\n{policy}"),
            1,
        )
        .replacen(
            page::STYLE_TAG,
            &format!("<style nonce=\"{nonce}\">\n{style}</style>"),
            1,
        )
        .replacen(
            page::SCRIPT_TAG,
            &format!(
                "<script type=\"application/json\" id=\"data\">{data}</script>\n\
                 <script type=\"module\" nonce=\"{nonce}\">\n{script}</script>"
            ),
            1,
        )
}

/// Makes a function of a module, whose imports are one a line and of earlier modules.
fn as_function(name: &str, text: &str) -> String {
    let (mut body, mut exported) = (String::new(), Vec::new());
    for line in text.lines() {
        let import = line
            .strip_prefix("import ")
            .and_then(|rest| rest.split_once(" from "));
        if let Some((names, from)) = import {
            let names = names.replace(" as ", ": ");
            body.push_str(&format!(
                "const {names} = modules[{}];\n",
                from.trim_end_matches(';')
            ));
            continue;
        }
        let line = match line.strip_prefix("export ") {
            Some(rest) => {
                exported.extend(declared(rest));
                rest
            }
            None => line,
        };
        body.push_str(line);
        body.push('\n');
    }
    format!(
        "modules['./{name}'] = (() => {{\n{body}return {{ {} }};\n}})();\n",
        exported.join(", ")
    )
}

/// Returns the name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.find(|word| !["async", "function", "const", "let", "class", ""].contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_can_be_made_one_file() {
        let mut known = Vec::new();
        for (name, _, text) in page::FILES {
            let ends = ["</script", "</style"].iter().any(|tag| text.contains(tag));
            assert!(!ends, "{name}: ends the tag that it is put into");
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split('\'').nth(1).unwrap_or_default();
                assert!(
                    known.contains(&from.to_owned()),
                    "{name}: {line}: is of a later module"
                );
            }
            assert!(
                !text.contains("import(")
                    && !text.contains("export {")
                    && !text.contains("export default"),
                "{name}"
            );
            known.push(format!("./{name}"));
        }
        assert_eq!(known.last().map(String::as_str), Some("./main.js"));
        let page = html("{\"a\":\"</script>\"}", "0123");
        assert!(
            !page.contains("/page/") && page.contains("\\u003c/script>"),
            "{page}"
        );
        assert_eq!(page.matches("0123").count(), 4, "{page}");
    }

    #[test]
    fn a_module_becomes_a_function() {
        let text = "import { a, b as c } from './x.js';\nexport const d = a;\nexport async function e() {}\n";
        assert_eq!(
            as_function("y.js", text),
            "modules['./y.js'] = (() => {\nconst { a, b: c } = modules['./x.js'];\nconst d = a;\nasync function e() {}\nreturn { d, e };\n})();\n"
        );
    }
}
