//! A report: the page with its data inside, as one file that needs no server.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::base::interrupt::Interrupt;
use crate::base::json;
use crate::error::{Error, Result};
use crate::ops::context::Context;
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
        let changes = shown["file_changes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        self.keep(&format!("show {id}"), shown);
        let mut patches = Map::new();
        for change in &changes {
            let (Some(path), true) = (change["path"].as_str(), change["path_hex"].is_null()) else {
                continue;
            };
            if change["binary"] == true {
                continue;
            }
            let text = self.ask(&["show", id, "-p", "--", path])?["patch"].take();
            let length = text.as_str().map_or(0, str::len);
            if length > MOST_PATCH_BYTES || self.bytes + length > MOST_BYTES {
                self.left_out_count += 1;
                continue;
            }
            self.bytes += length;
            patches.insert(path.to_owned(), text);
        }
        self.patches.insert(id.to_owned(), patches.into());
        Ok(())
    }

    fn page(self, checkpoint_count: usize) -> Result<ReportPage> {
        let patches = self.patches.values().filter_map(Value::as_object);
        let patch_count = patches.map(Map::len).sum();
        let data = json!({ "answers": self.answers, "patches": self.patches });
        let nonce = PageToken::random()
            .ok_or_else(|| Error::unexpected("the system has no random numbers"))?;
        Ok(ReportPage {
            html: html(&json::document(&data, false), &nonce.as_text()),
            checkpoint_count,
            patch_count,
            patch_bytes: self.bytes as u64,
            left_out_count: self.left_out_count,
        })
    }
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
         style-src 'nonce-{nonce}'; img-src blob:; base-uri 'none'; form-action 'none'\">"
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
