//! Generated files of settings that others write too: each is given back byte for byte.

use serde_json::{Map, Value, json};

use std::path::{Path, PathBuf};

use crate::bench::sample::{Draw, is_full};
use crate::bench::{Sandbox, Tree, cases};
use crate::setup::{AGENTS, SHARED, linked, run_as};

const EVENTS: [&str; 8] = [
    "Stop",
    "PreToolUse",
    "SessionStart",
    "Interrupt",
    "stop",
    "preToolUse",
    "pre_user_prompt",
    "Other",
];
/// Lines of others with the name of this program in them.
const LINES: [&str; 6] = [
    "checkpoint hook --agent codex",
    "echo 'checkpoint' // no comment",
    "'/opt/my-checkpoint' hook --agent codex 2>/dev/null; exit 0",
    "'/opt/checkpoint' hook --agent claude 2>/dev/null; exit 0",
    "git-ai checkpoint codex --hook-input stdin",
    "grün \\\" /* checkpoint */",
];

/// How a file is written.
struct Style {
    newline: &'static str,
    /// `None` writes it all in one line.
    indent: Option<&'static str>,
    has_commas: bool,
    has_comments: bool,
    has_bom: bool,
    gap: &'static str,
}

impl Style {
    fn drawn(draw: &mut Draw) -> Self {
        let indent = [Some("  "), Some("\t"), Some("    "), Some(" "), None][draw.below(5)];
        let is_tight = indent.is_none() && draw.below(2) == 0;
        Self {
            newline: ["\n", "\r\n"][draw.below(2)],
            indent,
            has_commas: draw.below(3) == 0,
            has_comments: draw.below(2) == 0,
            has_bom: draw.below(6) == 0,
            gap: if is_tight { "" } else { " " },
        }
    }

    fn comment(&self, draw: &mut Draw) -> String {
        match (self.has_comments, draw.below(9), self.indent) {
            (true, 0, _) => format!("{}/* checkpoint, */", self.gap),
            (true, 1, Some(_)) => format!(" // ] }} , checkpoint{}", self.newline),
            (true, 2, Some(_)) => format!("{0}// mine{0}", self.newline),
            _ => String::new(),
        }
    }

    fn line(&self, depth: usize, draw: &mut Draw) -> String {
        let comment = self.comment(draw);
        match self.indent {
            Some(indent) => {
                let newline = if comment.ends_with('\n') {
                    ""
                } else {
                    self.newline
                };
                format!("{comment}{newline}{}", indent.repeat(depth))
            }
            None => comment,
        }
    }

    fn text(&self, value: &Value, depth: usize, draw: &mut Draw) -> String {
        let (open, close, parts): (_, _, Vec<String>) = match value {
            Value::Object(map) => {
                let part = |(key, value): (&String, &Value)| {
                    let key = Value::from(key.as_str());
                    format!("{key}:{}{}", self.gap, self.text(value, depth + 1, draw))
                };
                ('{', '}', map.iter().map(part).collect())
            }
            Value::Array(list) => {
                let parts = list.iter().map(|value| self.text(value, depth + 1, draw));
                ('[', ']', parts.collect())
            }
            other => return other.to_string(),
        };
        let mut text = open.to_string();
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            let blank = if at > 0 && self.indent.is_none() {
                self.gap
            } else {
                ""
            };
            text.push_str(&format!("{}{blank}{part}", self.line(depth + 1, draw)));
        }
        if self.has_commas && !parts.is_empty() && draw.below(2) == 0 {
            text.push(',');
        }
        if !parts.is_empty() || draw.below(3) == 0 {
            text.push_str(&self.line(depth, draw));
        }
        text.push(close);
        text
    }

    fn file(&self, value: &Value, draw: &mut Draw) -> String {
        let bom = if self.has_bom { "\u{feff}" } else { "" };
        let head = if self.has_comments && draw.below(2) == 0 {
            format!("// settings of checkpoint{}", self.newline)
        } else {
            String::new()
        };
        let end = if draw.below(4) == 0 { "" } else { self.newline };
        format!("{bom}{head}{}{end}", self.text(value, 0, draw))
    }
}

fn settings(agent: &str, draw: &mut Draw) -> Value {
    let mut root = Map::new();
    let mut keys: Vec<usize> = (0..3).collect();
    (1..3)
        .rev()
        .for_each(|at| keys.swap(at, draw.below(at + 1)));
    for key in keys {
        match (key, draw.below(3)) {
            // Whoever has hooks has the version too that they need.
            (0, 1 | 2) => {
                root.insert("version".into(), 1.into());
                root.insert("hooks".into(), hooks(agent, draw));
            }
            (1, 1) => drop(root.insert("größe".into(), json!([1.50, null, "// no comment", {}]))),
            (2, 1) => drop(root.insert("checkpoint".into(), json!({ "hooks": { "Stop": [] } }))),
            _ => {}
        }
    }
    Value::Object(root)
}

fn hooks(agent: &str, draw: &mut Draw) -> Value {
    let mut hooks = Map::new();
    for event in EVENTS {
        if draw.below(3) > 0 && event != "Other" {
            continue;
        }
        // What is empty without ours goes with them.
        let handlers = (0..=draw.below(2)).map(|_| {
            let handler = json!({ "type": "command", "command": LINES[draw.below(LINES.len())] });
            if agent == "codex" {
                json!({ "matcher": "x", "hooks": [handler] })
            } else {
                handler
            }
        });
        hooks.insert(event.into(), handlers.collect());
    }
    Value::Object(hooks)
}

/// Runs one story in each home: what was there comes back byte for byte.
#[test]
fn every_shared_file_comes_back_byte_for_byte() {
    let mut draw = Draw::new();
    let sandbox = Sandbox::new();
    let (before, now) = (linked(&sandbox, "before"), linked(&sandbox, "now"));
    for case in 0..cases(if is_full() { 300 } else { 60 }) {
        let (agent, file) = SHARED[case % SHARED.len()];
        let style = Style::drawn(&mut draw);
        let text = style.file(&settings(agent, &mut draw), &mut draw);
        let path = sandbox.home().join(file);
        sandbox.write(&path, &text);
        let by_another = draw.below(3) == 0;
        if by_another {
            run_as(&sandbox, &before, &["setup", agent, "--yes"]).success();
        }
        run_as(&sandbox, &now, &["setup", agent, "--yes"]).success();
        let with = sandbox.read(&path);
        assert!(
            with.contains("/now/checkpoint' hook"),
            "{case}:\n{text}\n{with}"
        );
        assert!(
            !with.contains("/before/checkpoint"),
            "{case}:\n{text}\n{with}"
        );
        run_as(&sandbox, &now, &["setup", agent])
            .success()
            .stdout_has("already set up");
        // What others add afterwards stays, and what was there is as it was.
        let later = match draw.below(2) {
            0 => String::new(),
            _ => "// later\n".to_owned(),
        };
        // A file of nothing is made anew.
        let is_nothing = text.trim_start_matches('\u{feff}').trim_end().len() < 8;
        let later = if style.has_bom || is_nothing {
            String::new()
        } else {
            later
        };
        sandbox.write(&path, format!("{later}{with}"));
        run_as(&sandbox, &now, &["setup", "--remove", "--yes"]).success();
        assert_eq!(
            sandbox.read(&path),
            format!("{later}{text}"),
            "{case}: from\n{with}"
        );
    }
}

/// Returns the files that an agent shares with others, with what setup writes into none.
fn shared_files(sandbox: &Sandbox, agent: &str, flags: &[&str]) -> Vec<(PathBuf, String)> {
    let words = [&["setup", agent, "--print", "--json"], flags].concat();
    let data = sandbox.run(&words).success().data();
    let files = data["agents"][0]["files"].as_array().expect("files").iter();
    let files = files.map(|file| {
        let text = |key: &str| file[key].as_str().expect("a text").to_owned();
        (PathBuf::from(text("file")), text("content"))
    });
    let is_shared = |(path, content): &(PathBuf, String)| {
        let folders = ["extensions/checkpoint", "skills/checkpoint"];
        let is_own = folders
            .iter()
            .any(|own| path.display().to_string().contains(own));
        !is_own && !content.contains("written by the setup of checkpoint")
    };
    files.filter(is_shared).collect()
}

/// Returns texts with the keys of what setup writes, and nothing in them.
fn empty_texts(content: &str) -> [String; 5] {
    let Ok(Value::Object(mut root)) = serde_json::from_str(content) else {
        return ["", "\n", "[mcp_servers]\n", "a = 1", "a = 1\n"].map(str::to_owned);
    };
    for value in root.values_mut() {
        match value {
            Value::Object(map) => {
                map.retain(|_, value| value.is_array());
                map.values_mut().for_each(|list| *list = json!([]));
            }
            version => *version = 2.into(),
        }
    }
    let deep = json!(root);
    root.remove("version");
    root.values_mut().for_each(|value| *value = json!({}));
    let flat = format!("{:#}\n", json!(root)).replacen('{', "{ // mine", 1);
    let [nothing, braces] = ["", "{}\n"].map(str::to_owned);
    [
        nothing,
        braces,
        deep.to_string(),
        format!("{deep:#}\n"),
        flat,
    ]
}

/// Adds what a user might add to settings; of JSON, only to some that say anything.
fn edited(path: &Path, text: &str, says_anything: bool) -> String {
    match path.extension().is_some_and(|end| end == "toml") {
        true => format!("# later\n{text}"),
        false if says_anything => text.replacen('{', "{ // later\n", 1),
        false => text.replacen('{', "{ ", 1),
    }
}

#[test]
fn empty_keys_and_files_of_the_user_stay_for_every_agent() {
    let mut draw = Draw::new();
    let agents = AGENTS.iter().filter(|agent| **agent != "goose");
    for (agent, flags) in agents.flat_map(|agent| [(agent, &[][..]), (agent, &["--project"])]) {
        let sandbox = Sandbox::new();
        let files = shared_files(&sandbox, agent, flags);
        let run = |words: &[&str]| {
            let words = [&["setup"], words, flags, &["--yes"]].concat();
            sandbox.run(&words).success()
        };
        let numbers = if is_full() {
            0..5
        } else {
            let first = draw.below(4);
            first..first + 2
        };
        for number in numbers {
            let texts: Vec<(&Path, String)> = files
                .iter()
                .map(|(path, content)| (&**path, empty_texts(content)[number].clone()))
                .collect();
            for (path, text) in &texts {
                sandbox.write(path, text);
            }
            let before = Tree::capture(&sandbox.top());
            run(&[agent]);
            run(&["--remove"]);
            for (path, text) in &texts {
                assert_eq!(sandbox.read(path), *text, "{}", path.display());
            }
            assert_eq!(Tree::capture(&sandbox.top()), before, "{agent}");
            // What its user adds meanwhile stays, beside what was there.
            run(&[agent]);
            for (path, text) in &texts {
                let with = sandbox.read(path);
                assert_ne!(with, *text, "{}", path.display());
                sandbox.write(path, edited(path, &with, number > 1));
            }
            run(&["--remove"]);
            for (path, text) in &texts {
                let (left, expected) = (sandbox.read(path), edited(path, text, number > 1));
                // What says nothing is as it was; a last line may have got its end.
                let is_back = number < 2 && left == *text;
                let is_same = is_back || left.trim_end() == expected.trim_end();
                assert!(is_same, "{}: {text}\n{left}", path.display());
                sandbox.write(path, text);
            }
            assert_eq!(Tree::capture(&sandbox.top()), before, "{agent}");
        }
    }
}
