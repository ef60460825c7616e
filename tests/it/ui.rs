//! `ui`: what the page gets, and what nobody else does.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::cases;
use crate::bench::fixtures;
use crate::bench::page_client::{PageAnswer, PageClient, answer};
use crate::bench::sample::Draw;
use crate::bench::sandbox::words;
use crate::bench::terminal::at_a_terminal;
use crate::bench::{Sandbox, given};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("a.txt", "one\n")
        .write("src/main.rs", "fn main() {}\n")
        .write("bin", b"\x00\xff\xfe".as_slice())
        .write("dot.png", b"\x89PNG\r\n\x1a\n----".as_slice());
    sandbox.create("first");
    sandbox.write("a.txt", "two\n").write("new", "n");
    sandbox.create("second");
    sandbox.write("a.txt", "three\n");
    sandbox
}

fn page() -> (Sandbox, PageClient) {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    (sandbox, client)
}

/// Two checkpoints of files that differ in every line; `width` is in bytes.
fn two_states(files: usize, lines: usize, width: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for (reason, letter) in [("first", "1"), ("second", "2")] {
        let line = format!("{}\n", letter.repeat(width - 1));
        for i in 0..files {
            sandbox.write(format!("{}/{i}", i % 40), line.repeat(lines));
        }
        sandbox.create(reason);
    }
    sandbox
}

/// Requests of which nobody takes the answer.
fn unread(client: &PageClient, count: usize, first: &str, args: &[&str]) -> Vec<TcpStream> {
    let request = client.head(first, &[], &json!({ "args": args }).to_string());
    let sent = |_| {
        let mut stream = client.connect();
        stream.write_all(request.as_bytes()).expect("it is sent");
        stream
    };
    (0..count).map(sent).collect()
}

const LONG_DIFF: [&str; 5] = ["diff", "first", "second", "-U", "3"];

/// The digest of the plan that the page shows.
fn plan(client: &PageClient, line: &str) -> String {
    let shown = client.cmd(&format!("{line} --dry-run")).json();
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    digest.to_owned()
}

fn is_done(answer: &PageAnswer) {
    assert_eq!(answer.json()["ok"], true, "{}", answer.text());
}

/// Documents tell times and durations of their own call.
fn without_times(mut document: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !name.ends_with("_ms") && !name.ends_with("_at"));
                fields.values_mut().for_each(clear);
            }
            Value::Array(items) => items.iter_mut().for_each(clear),
            _ => {}
        }
    }
    clear(&mut document);
    document
}

#[test]
fn the_page_and_its_files_come_with_headers_that_bind_the_browser() {
    let (_sandbox, client) = page();
    let page = client.ask("GET /", &[("X-Token", None)], "");
    assert_eq!(page.status, 200);
    let headers = "content-type: text/html; charset=utf-8|frame-ancestors 'none'|\
        content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'|\
        x-content-type-options: nosniff|x-frame-options: deny|referrer-policy: no-referrer|\
        cache-control: no-store|cross-origin-opener-policy: same-origin|\
        cross-origin-resource-policy: same-origin";
    for header in headers.split('|') {
        assert!(page.head.contains(header), "{header}\n{}", page.head);
    }
    assert!(!page.head.contains("set-cookie"), "{}", page.head);
    let text = page.text();
    assert!(
        !text.contains(&client.token) && !text.contains("http:"),
        "{text}"
    );
    let files = text.split('"').filter(|part| part.starts_with("/page/"));
    let mut count = 0;
    for file in files {
        let found = client.ask(&format!("GET {file}"), &[("X-Token", None)], "");
        assert_eq!(found.status, 200, "{file}");
        assert!(!found.text().contains(&client.token), "{file}");
        count += 1;
    }
    assert!(count >= 2, "{text}");
}

#[test]
fn a_command_is_answered_with_the_document_of_json() {
    let (sandbox, client) = page();
    let root = sandbox.root().to_str().expect("text");
    let found = "status|status -v|list --stat|list -n 1|show latest|show latest -p|\
        diff latest~1 latest -U 3|diff|ls @ -lR|find a.txt|find --text fn|undo --list|\
        restore latest~1 --dry-run|prune --dry-run --keep 1|workflow list";
    let not_found = "show nope|undo --dry-run|workflow show";
    let found = found.split('|').map(|line| (line, 0));
    for (line, code) in found.chain(not_found.split('|').map(|line| (line, 3))) {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = client.run(&words);
        assert_eq!(answer.status, 200, "{line}: {}", answer.text());
        assert!(answer.head.contains("content-type: application/json"));
        let direct = [&["-C", root, "--json", "--no-input"], words.as_slice()].concat();
        let direct = sandbox.run(&direct).code(code);
        let [page, direct] = [answer.json(), direct.json()].map(without_times);
        assert_eq!(page, direct, "{line}");
    }
}

#[test]
fn contents_come_as_they_are_and_never_as_a_page() {
    let sandbox = project();
    sandbox.write("x.html", "<script>alert(1)</script>");
    sandbox.create("third");
    let client = PageClient::start(&sandbox, &[]);
    let (plain, script) = ("application/octet-stream", b"<script>alert(1)</script>");
    for (line, kind, bytes) in [
        ("cat first:a.txt", plain, b"one\n".as_slice()),
        ("cat latest -- bin", plain, b"\x00\xff\xfe"),
        ("cat @ dot.png", "image/png", b"\x89PNG\r\n\x1a\n----"),
        ("cat @ x.html", plain, script),
        ("cat --skip 1 first:a.txt", plain, b"ne\n"),
    ] {
        let content = client.content(&words(line));
        let found = (content.status, content.body.as_slice());
        assert_eq!(found, (200, bytes), "{line}");
        let head = format!("{}\r\n", content.head);
        let kind = format!("content-type: {kind}\r\n");
        for part in [&*kind, "; sandbox\r\n", "nosniff"] {
            assert!(head.contains(part), "{line}: {head}");
        }
    }
    let missing = client.content(&["cat", "@", "nope"]);
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json()["ok"], false);
    for args in [&["list"][..], &["cat", "-C", "/", "@:a"], &[]] {
        assert_eq!(client.content(args).status, 403, "{args:?}");
    }
}

#[test]
fn a_file_too_large_for_the_page_is_not_read_for_it() {
    let sandbox = Sandbox::new();
    for (reason, text) in [("first", "one\n"), ("second", "two\n"), ("", "now\n")] {
        sandbox.write("long", text.repeat(3 << 20)).write("a", text);
        if !reason.is_empty() {
            sandbox.create(reason);
        }
    }
    let client = PageClient::start(&sandbox, &[]);
    let refused = client.content(&["cat", "first", "--", "long"]);
    assert_eq!(refused.status, 413, "{}", refused.head);
    assert_eq!(refused.text(), "the file is too large to be shown here\n");
    assert_eq!(client.content(&["cat", "first", "--", "a"]).body, b"one\n");
    for args in [
        &["diff", "first", "second", "-U", "3"][..],
        &["diff", "second", "-U", "3"],
        &["show", "second", "--stat"],
        &["show", "second", "-p"],
    ] {
        let data = client.run(args).json()["data"].take();
        let files = data["file_changes"].as_array();
        let files = files.or(data["changes"].as_array()).expect("files");
        let shown = |name: &str| files.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
        assert_eq!(shown("insertions"), [json!(1), json!(null)], "{args:?}");
        assert_eq!(shown("binary"), [false, true], "{args:?}");
        assert_eq!(files[1]["after"]["size_bytes"], 12 << 20, "{args:?}");
    }
    let kib = peak(&client);
    assert!(kib < 64 << 10, "{kib} KiB");
}

#[test]
fn a_restore_needs_the_plan_that_was_shown_and_can_be_undone() {
    let (sandbox, client) = page();
    assert_eq!(client.cmd("restore first --yes").status, 403);
    let digest = plan(&client, "restore first");
    assert_eq!(sandbox.read("a.txt"), "three\n");
    sandbox.write("a.txt", "four\n");
    let late = client.cmd(&format!("restore first --plan {digest} --yes"));
    let code = late.json()["error"]["code"].clone();
    assert_eq!(code, "consent_needed", "{}", late.text());
    assert_eq!(sandbox.read("a.txt"), "four\n");
    let before = sandbox.tree();
    let digest = plan(&client, "restore first");
    is_done(&client.cmd(&format!("restore first --plan {digest} --yes")));
    let now = (sandbox.read("a.txt"), sandbox.exists("new"));
    assert_eq!(now, ("one\n".to_owned(), false));
    let digest = plan(&client, "undo");
    is_done(&client.cmd(&format!("undo --plan {digest} --yes")));
    assert_eq!(sandbox.tree(), before);
    for line in "pin first|create 'by hand'|reword 'by hand' 'other words'".split('|') {
        is_done(&client.cmd(line));
    }
}

#[test]
fn read_only_changes_nothing() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &["--read-only"]);
    let digest = plan(&client, "restore first");
    let before = (sandbox.tree(), sandbox.listed_ids());
    let lines = "restore first --plan DIGEST --yes|restore --resume --yes|\
        undo --plan DIGEST --yes|redo --plan DIGEST --yes|create x|pin first|unpin first|\
        reword first x";
    for line in lines.split('|') {
        let line = line.replace("DIGEST", &digest);
        assert_eq!(client.cmd(&line).status, 403, "{line}");
    }
    assert_eq!((sandbox.tree(), sandbox.listed_ids()), before);
    assert_eq!(client.events().next()["may_change"], false);
}

#[test]
fn what_does_not_come_from_the_page_is_refused() {
    let (_sandbox, client) = page();
    let (port, next) = (client.port, client.port.wrapping_add(1));
    let status = |instead: &[(&str, Option<&str>)]| {
        let body = r#"{"args":["list"]}"#;
        client.ask("POST /api/run", instead, body).status
    };
    assert_eq!(status(&[]), 200);
    let ours = format!("127.0.0.1:{port}");
    let own = format!("http://{ours}");
    let hosts = format!(
        "127.0.0.1.evil.com:{port}|evil.com:{port}|evil.com|127.0.0.1|127.0.0.1:{next}|\
         127.0.0.1:+{port}|127.0.0.1:0{port}|127.1:{port}|2130706433:{port}|0177.0.0.1:{port}|\
         0.0.0.0:{port}|192.168.0.1:{port}|localhost.:{port}|localhost.evil.com:{port}|\
         xlocalhost:{port}|user@127.0.0.1:{port}|[::ffff:127.0.0.1]:{port}|[127.0.0.1]:{port}|\
         ::1:{port}|[::1]:{port}:{port}||:"
    );
    let origins = format!(
        "http://evil.com|null||http://127.0.0.1:{next}|https://{ours}|{own}.evil.com|{own}/"
    );
    let sites = "cross-site|same-site|none||same-origin, cross-site";
    for (name, values, refused) in [
        ("Host", &*hosts, &[400, 421][..]),
        ("Origin", &origins, &[403]),
        ("Sec-Fetch-Site", sites, &[403]),
    ] {
        for value in values.split('|') {
            let found = status(&[(name, Some(value))]);
            assert!(refused.contains(&found), "{name}: {value}: {found}");
        }
    }
    let (name, six) = (format!("LocalHost:{port}"), format!("[::1]:{port}"));
    for host in [&ours, &name, &six] {
        assert_eq!(status(&[("Host", Some(host))]), 200, "{host}");
    }
    let [host, evil_host] = [&*ours, "evil.com"].map(|host| ("Host", Some(host)));
    let [origin, evil] = [&*own, "http://evil.com"].map(|origin| ("Origin", Some(origin)));
    let site = ("Sec-Fetch-Site", Some("same-origin"));
    for (instead, expected) in [
        (&[("Host", None)][..], 421),
        (&[host, host], 421),
        (&[host, evil_host], 421),
        (&[origin, site], 200),
        (&[origin, evil], 403),
    ] {
        assert_eq!(status(instead), expected, "{instead:?}");
    }
    let [site, mode] = [
        ("Sec-Fetch-Site", Some("cross-site")),
        ("Sec-Fetch-Mode", Some("navigate")),
    ];
    for (instead, expected) in [
        (&[site, mode, ("Sec-Fetch-Dest", Some("document"))][..], 200),
        (&[site, mode, ("Sec-Fetch-Dest", Some("iframe"))], 403),
        (&[site], 403),
    ] {
        let status = client.ask("GET /", instead, "").status;
        assert_eq!(status, expected, "{instead:?}");
    }
}

#[test]
fn no_token_no_answer() {
    let (sandbox, client) = page();
    let token = client.token.as_str();
    let (long, upper) = (format!("{token}0"), token.to_uppercase());
    let last = if token.ends_with('0') { "1" } else { "0" };
    let flipped = format!("{}{last}", &token[..63]);
    let cookie = format!("token={token}; X-Token={token}");
    let body = r#"{"args":["list"]}"#;
    for (method, path, body) in [
        ("POST", "/api/run", body),
        ("POST", "/api/content", body),
        ("GET", "/api/events", ""),
    ] {
        let first = format!("{method} {path}");
        let refused = |instead: &[(&str, Option<&str>)]| {
            let status = client.ask(&first, instead, body).status;
            assert_eq!(status, 401, "{first} {instead:?}");
        };
        for wrong in ["", &token[1..], &long, &upper, &flipped, "0"] {
            refused(&[("X-Token", Some(wrong))]);
        }
        refused(&[("X-Token", None)]);
        refused(&[("X-Token", Some(token)), ("X-Token", Some("0"))]);
        refused(&[("X-Token", None), ("Cookie", Some(&cookie))]);
        let in_query = format!("{first}?token={token}");
        let status = client.ask(&in_query, &[("X-Token", None)], body).status;
        assert_eq!(status, 400, "{in_query}");
    }
    let other = PageClient::start(&sandbox, &[]);
    assert_ne!(token, other.token);
    let refused = other.ask("POST /api/run", &[("X-Token", Some(token))], body);
    assert_eq!(refused.status, 401);
}

#[test]
fn other_methods_and_paths_are_refused() {
    let (_sandbox, client) = page();
    for method in "HEAD PUT DELETE PATCH OPTIONS TRACE GET get NONSENSE".split(' ') {
        for path in "/api/run /api/content /api/events / /page/style.css".split(' ') {
            let first = format!("{method} {path}");
            if first == "GET /api/events" {
                continue;
            }
            let is_right = method == "GET" && !["/api/run", "/api/content"].contains(&path);
            let status = client.ask(&first, &[], "").status;
            let is_refused = (400..500).contains(&status);
            assert!(is_right || is_refused, "{first}: {status}");
            if method != "OPTIONS" {
                continue;
            }
            let asked = [
                ("Origin", Some("http://evil.com")),
                ("Access-Control-Request-Method", Some("POST")),
            ];
            let refused = client.ask(&first, &asked, "");
            assert!(!refused.head.contains("access-control"), "{refused:?}");
        }
    }
    for path in ["/", "/page/style.css", "/api/events"] {
        let body = r#"{"args":["list"]}"#;
        let status = client.ask(&format!("POST {path}"), &[], body).status;
        assert_eq!(status, 405, "{path}");
    }
    let paths = "/x /api /api/ /api/run/ // /page /page/ /page/.. /page/../main.rs \
                 /page/%2e%2e/mod.rs /page//etc/passwd /%2fetc/passwd /../../etc/passwd /. \
                 /api/../ /page/style.css/ /page/Style.css /favicon.ico /index.html";
    for path in paths.split(' ') {
        let status = client.get(path).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
}

#[test]
fn bodies_that_are_no_command_are_refused() {
    let (_sandbox, client) = page();
    let body = r#"{"args":["list"]}"#;
    let kinds = "text/plain|application/x-www-form-urlencoded|multipart/form-data|\
                 application/json, text/plain";
    for kind in kinds.split('|') {
        let refused = client.ask("POST /api/run", &[("Content-Type", Some(kind))], body);
        assert_eq!(refused.status, 415, "{kind}");
    }
    let bodies = r#"|{}|[]|null|{"args":[]}|{"args":"list"}|{"args":[1]}|{"args":["list"],"x":1}|{"args":["list"]}{|{"args":["list"]|BOM{}|{"args":["\ud800"]}|{"args":["a\u0000b"]}|{"args":["list"],"args":["delete"]}"#;
    for body in bodies.split('|') {
        let body = &body.replace("BOM", "\u{feff}");
        let status = client.ask("POST /api/run", &[], body).status;
        assert!([400, 403].contains(&status), "{body}: {status}");
    }
    for (length, expected) in [
        (Some("1048577"), 413),
        (Some("99999999999999999999"), 400),
        (None, 411),
    ] {
        let refused = client.ask("POST /api/run", &[("Content-Length", length)], "");
        assert_eq!(refused.status, expected, "{length:?}");
    }
}

#[test]
fn only_the_commands_of_the_page_run_and_only_in_its_root() {
    let sandbox = project();
    let other = Sandbox::new();
    other.write("secret", "s");
    other.create("other");
    let client = PageClient::start(&sandbox, &[]);
    let (there, base) = (other.root().display(), other.base());
    let to = sandbox.top().join("elsewhere");
    let lines = "-C THERE list|list -C THERE|list --base BASE|list --all|\
        restore first --dry-run --to TO|restore @/etc/passwd --dry-run|restore @- --dry-run|\
        create --state-file /etc/passwd|workflow status --file /etc/passwd|delete first --yes|\
        export TO|prune --keep 1 --yes|hook|ui|list --help|help";
    for line in lines.split('|') {
        let line = line
            .replace("THERE", &there.to_string())
            .replace("BASE", &base.display().to_string())
            .replace("TO", &to.display().to_string());
        let answer = client.cmd(&line);
        assert_eq!(answer.status, 403, "{line}: {}", answer.text());
    }
    let lines = "diff first -- ../../../../etc/passwd|ls first -- /etc|\
        show first -- /etc/passwd|find /etc/passwd";
    for line in lines.split('|') {
        let answer = client.cmd(line).text();
        assert!(!answer.contains("root:"), "{line}: {answer}");
    }
    assert!(!to.exists());
}

#[test]
fn a_second_request_cannot_be_smuggled_within_a_first() {
    let (sandbox, client) = page();
    let inner = client.head("POST /api/run", &[], "{\"args\":[\"create\",\"smuggled\"]}");
    let host = format!("Host: 127.0.0.1:{}\r\n", client.port);
    let length = inner.len().to_string();
    let port = client.port.to_string();
    for outer in [
        "POST /api/run HTTP/1.1\r\nHOSTContent-Type: application/json\r\nContent-Length: LENGTH\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTTransfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTTransfer-Encoding : chunked\r\nContent-Length: LENGTH\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTContent-Length: 0\r\nContent-Length: LENGTH\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTContent-Length: 0, LENGTH\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTContent-Length: +0\r\n\r\n",
        "POST /api/run HTTP/1.1\r\nHOSTContent-Length:\x0b0\r\n\r\n",
        "GET / HTTP/1.1\r\nHOSTContent-Length: LENGTH\r\n\r\n",
        "GET / HTTP/1.1\r\nHOSTTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /api/run HTTP/1.1\r\nHOST\r\n",
        "GET http://evil.com/ HTTP/1.1\r\nHOST\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHOST\r\n",
        "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHOST\r\n",
        "GET / HTTP/1.0\r\nHOSTConnection: keep-alive\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: evil.com\r\nHOST\r\n",
        "GET /\tx HTTP/1.1\r\nHOST\r\n",
        "GET / HTTP/1.1\r\nHOSTUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\r\n",
    ] {
        let outer = outer.replace("HOST", &host).replace("PORT", &port);
        let outer = outer.replace("LENGTH", &length);
        let answers = client.raw(format!("{outer}{inner}").as_bytes());
        let answers = String::from_utf8_lossy(&answers);
        assert!(!answers.contains(" 200 "), "{outer}\n{answers}");
    }
    let listed = sandbox.listed();
    assert!(!listed.iter().any(|row| row["reason"] == "smuggled"));
}

#[test]
fn mutated_requests_are_refused_or_answered_as_what_they_are() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &["--read-only"]);
    let before = (sandbox.tree(), sandbox.listed_ids());
    let seeds = [
        client.head("GET /", &[], ""),
        client.head("GET /page/style.css", &[], ""),
        client.head("POST /api/run", &[], "{\"args\":[\"list\",\"-n\",\"1\"]}"),
        client.head("POST /api/content", &[], "{\"args\":[\"cat\",\"@:a.txt\"]}"),
    ];
    let odd = b"\0|\r\n|\n| |\xff|:|%00|\r\n\r\n|../|\t";
    let odd: Vec<&[u8]> = odd.split(|byte| *byte == b'|').collect();
    let mut draw = Draw::new();
    for _ in 0..cases(300) {
        let mut bytes = seeds[draw.below(seeds.len())].clone().into_bytes();
        for _ in 0..=draw.below(3) {
            let at = draw.below(bytes.len());
            match draw.below(5) {
                0 => bytes[at] = u8::try_from(draw.below(256)).expect("a byte"),
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => {
                    let part = odd[draw.below(odd.len())];
                    bytes.splice(at..at, part.iter().copied());
                }
                3 => {
                    let end = at + draw.below(bytes.len() - at);
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut stream = client.connect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        let shown = String::from_utf8_lossy(&got);
        let sent = String::from_utf8_lossy(&bytes);
        assert!(!shown.contains(&client.token), "{sent}");
        if !got.is_empty() {
            let status = answer(&got).status;
            assert!((200..500).contains(&status), "{shown}");
        }
    }
    assert_eq!((sandbox.tree(), sandbox.listed_ids()), before);
    assert_eq!(client.cmd("list").status, 200);
    takes_little(&client);
}

/// The server needs little memory, whatever it went through.
fn takes_little(client: &PageClient) {
    let kib = peak(client);
    assert!(kib < 100 << 10, "{kib} KiB");
}

/// Returns the most memory that the server had, in KiB; zero where the system does not tell.
fn peak(client: &PageClient) -> u64 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", client.pid())).expect("it runs");
    let mut lines = status.lines();
    let peak = lines
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a peak");
    let kib = peak.split_whitespace().nth(1);
    kib.and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn what_only_reads_takes_no_memory_of_the_server() {
    let sandbox = two_states(4000, 1, 4);
    let client = PageClient::start(&sandbox, &[]);
    assert_eq!(client.cmd("list").status, 200);
    let before = peak(&client);
    for line in "diff first second|ls @ -l -R|status|restore first --dry-run".split('|') {
        let answer = client.cmd(line);
        assert!(answer.body.len() > 1000, "{line}: {}", answer.text());
        is_done(&answer);
    }
    let grown = peak(&client) - before;
    assert!(grown < 1 << 10, "{grown} KiB");
}

/// Returns the processes that a process has started.
#[cfg(target_os = "linux")]
fn children(pid: u32) -> Vec<u32> {
    let is_child = |other: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{other}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1) == Some(&pid.to_string())
    };
    let all = std::fs::read_dir("/proc").expect("it is there").flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(is_child).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_reads_shows_no_words_and_ends_with_the_server() {
    let sandbox = two_states(2000, 2000, 4);
    let client = PageClient::start(&sandbox, &[]);
    let _unread = unread(&client, 1, "POST /api/run", &LONG_DIFF);
    let started = Instant::now();
    let within = |limit: u64| started.elapsed() < Duration::from_secs(limit);
    let reader = loop {
        if let Some(reader) = children(client.pid()).first() {
            break *reader;
        }
        assert!(within(30), "no process reads");
    };
    let words = std::fs::read(format!("/proc/{reader}/cmdline")).expect("it runs");
    assert!(!String::from_utf8_lossy(&words).contains("second"));
    drop(client);
    let path = format!("/proc/{reader}/stat");
    let runs = || std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(within(60), "the process outlives its server");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Counts the sockets that a process holds.
#[cfg(target_os = "linux")]
fn sockets(pid: u32) -> usize {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let targets = all.flatten().flat_map(|fd| std::fs::read_link(fd.path()));
    targets
        .filter(|to| to.to_string_lossy().starts_with("socket:"))
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_take_no_answer_are_cut_with_the_processes_that_read() {
    let sandbox = two_states(1, 1 << 16, 64);
    let client = PageClient::start(&sandbox, &[]);
    let before = sockets(client.pid());
    let _unread = unread(&client, 2, "POST /api/run", &LONG_DIFF);
    assert_eq!(client.cmd("list").status, 200);
    while !children(client.pid()).is_empty() || sockets(client.pid()) > before {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_take_no_answer_keep_nobody_out_and_fill_no_memory() {
    let sandbox = two_states(1, 1 << 16, 64);
    let client = PageClient::start(&sandbox, &[]);
    let unread = unread(&client, 12, "POST /api/run", &LONG_DIFF);
    assert_eq!(client.cmd("list").status, 200);
    // A connection is cut a while after its answer was made; the last ones are not yet.
    let held = sockets(client.pid());
    assert!(held > 8, "{held} sockets: all had to be cut first");
    takes_little(&client);
    // What is cut does not look whole.
    for mut stream in unread {
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        let ends = |end: &[u8]| got.ends_with(end);
        let is_whole = ends(b"\"warnings\":[]}\n\r\n0\r\n\r\n");
        assert!(is_whole || !ends(b"\r\n0\r\n\r\n"), "{}", got.len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn contents_that_nobody_takes_fill_no_memory() {
    let sandbox = Sandbox::new();
    sandbox.write("large", fixtures::noise(1, 8_000_000));
    sandbox.create("first");
    let client = PageClient::start(&sandbox, &[]);
    let _unread = unread(&client, 30, "POST /api/content", &["cat", "first:large"]);
    std::thread::sleep(Duration::from_secs(3));
    takes_little(&client);
}

#[test]
fn many_and_slow_connections_keep_nobody_out_for_long() {
    let (_sandbox, client) = page();
    let head = client.head("GET /", &[("X-Token", None)], "");
    let slow: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = client.connect();
            let _ = stream.write_all(&head.as_bytes()[..number % 40]);
            stream
        })
        .collect();
    let started = Instant::now();
    assert_eq!(client.cmd("list").status, 200);
    let taken = started.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
    drop(slow);
    // A body that never comes is not waited for.
    let mut stream = client.connect();
    let length = [("Content-Length", Some("100"))];
    let head = client.head("POST /api/run", &length, "{\"args\"");
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    assert!(got.is_empty() || answer(&got).status >= 400);
    let long = client.ask("GET /", &[("X-Long", Some(&"x".repeat(20 << 10)))], "");
    assert!([400, 431].contains(&long.status), "{long:?}");
    let many = vec![("X-Many", Some("x")); 100];
    assert_eq!(client.ask("GET /", &many, "").status, 431);
    assert_eq!(client.cmd("list").status, 200);
    takes_little(&client);
}

#[test]
fn a_checkpoint_of_another_process_is_told_within_a_second() {
    let (sandbox, client) = page();
    let (mut one, mut two) = (client.events(), client.events());
    let first = one.next();
    assert_eq!(first, two.next());
    sandbox.write("other", "by another process");
    sandbox.create("by another process");
    let created = Instant::now();
    let told = one.next();
    let taken = created.elapsed();
    assert!(taken < Duration::from_secs(1), "{taken:?}");
    assert_ne!(told["position"], first["position"]);
    // What only reads is no change.
    for line in ["status", "list", "diff", "restore first --dry-run"] {
        assert_eq!(client.cmd(line).status, 200, "{line}");
    }
    sandbox.ok("pin first");
    let pinned = one.next();
    assert_ne!(pinned["position"], told["position"]);
    let now = client.events().next();
    assert_eq!(now["position"], pinned["position"]);
}

#[test]
fn a_directory_without_a_store_is_shown_and_its_first_checkpoint_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    let client = PageClient::start(&sandbox, &[]);
    let mut events = client.events();
    let none = events.next();
    is_done(&client.cmd("list"));
    sandbox.create("first");
    assert_ne!(events.next()["position"], none["position"]);
}

#[test]
fn the_server_ends_when_no_page_was_there_for_the_idle_time() {
    let sandbox = project();
    let mut client = PageClient::start(&sandbox, &["--idle", "1s"]);
    let events = client.events();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(client.cmd("list").status, 200);
    drop(events);
    assert_eq!(client.end().code(), Some(0));
    sandbox.fails(2, "ui --idle soon");
    sandbox.fails(2, "ui --port 0");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (sandbox, client) = page();
    let port = client.port.to_string();
    let refused = sandbox.run(&["ui", "--no-open", "--port", &port]).code(1);
    refused.stderr_has(&port);
}

/// The browser is temporary by a file that holds the key.
#[cfg(target_os = "linux")]
#[test]
fn the_file_that_opens_the_browser_goes_with_the_server_and_at_last_with_the_next_one() {
    let sandbox = project();
    let [temporary, tools] = ["temporary", "tools"].map(|name| sandbox.top().join(name));
    std::fs::create_dir_all(&temporary).expect("a folder");
    std::fs::create_dir_all(&tools).expect("a folder");
    let opener = tools.join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\n:\n").expect("a program");
    sandbox.chmod(&opener, 0o755);
    let path = format!("{}:/usr/bin:/bin", tools.display());
    sandbox
        .env("PATH", &path)
        .env("TMPDIR", temporary.display().to_string());
    let left = || std::fs::read_dir(&temporary).expect("it is there").count();
    let until_opened = "tries=0; until ls \"$TMPDIR\"/*/checkpoint.html || [ $tries -ge 200 ]; \
                        do sleep 0.1; tries=$((tries+1)); done >/dev/null 2>&1";
    for (signal, remain) in [("TERM", 0), ("INT", 0), ("KILL", 1)] {
        let line = format!(
            "$checkpoint ui & server=$!; {until_opened}; kill -{signal} $server; wait $server; ls -R \"$TMPDIR\""
        );
        let run = given!(at_a_terminal(&sandbox, &line));
        assert!(run.stdout.contains("#token="), "{run}");
        assert_eq!(left(), remain, "{signal}: {run}");
    }
    let client = PageClient::start(&sandbox, &[]);
    assert_eq!(client.cmd("list").status, 200);
    assert_eq!(left(), 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_server() {
    use crate::bench::os::{Signal, exit_code, signal};
    let sandbox = project();
    let mut client = PageClient::start(&sandbox, &[]);
    let _events = client.events();
    signal(client.pid(), Signal::Interrupt);
    assert_eq!(exit_code(client.end()), 130);
    sandbox.ok("verify");
}

#[cfg(unix)]
#[test]
fn each_patch_of_a_report_is_that_of_its_file_alone() {
    let sandbox = Sandbox::new();
    sandbox
        .write("changed", "one\n")
        .write("gone", "diff --git a/gone b/gone\nno end")
        .write("mode", "m\n")
        .write("turned", "file\n")
        .write("zeros", b"\0".as_slice());
    sandbox.create("first");
    sandbox
        .write("changed", "two\ndiff --git a/x b/x\n")
        .write("new file", "")
        .chmod("mode", 0o755)
        .remove("gone")
        .remove("turned")
        .symlink("turned", "mode")
        .write("zeros", b"\0\0".as_slice());
    let id = sandbox.create("second");
    let page = sandbox.ok("report -o -").stdout;
    let data = page.split("id=\"data\">").nth(1).expect("data");
    let mut data = serde_json::Deserializer::from_str(data).into_iter();
    let data: Value = data.next().expect("data").expect("JSON");
    let patches = data["patches"].as_object().expect("patches");
    let mut patches = patches.iter().filter(|(long, _)| long.starts_with(&id));
    let (_, patches) = patches.next().expect("those of the second");
    let patches = patches.as_object().expect("patches");
    let paths: Vec<&str> = patches.keys().map(String::as_str).collect();
    assert_eq!(paths, ["changed", "gone", "mode", "new file", "turned"]);
    for (path, patch) in patches {
        let alone = sandbox.run(&["show", &id, "-p", "--json", "--", path]);
        assert_eq!(*patch, alone.success().json()["data"]["patch"], "{path}");
    }
}

#[test]
fn a_hunk_goes_back_through_the_page() {
    let (sandbox, client) = page();
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-three\n+one\n";
    let ask = |args: &[&str]| {
        let body = json!({ "args": args, "input": patch }).to_string();
        client.ask("POST /api/run", &[], &body).json()
    };
    let shown = ask(&["restore", "--patch", "-", "--dry-run"]);
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    let done = ask(&["restore", "--patch", "-", "--plan", digest, "--yes"]);
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a.txt"), "three\n");
}

#[test]
fn a_command_waits_for_the_lock_as_long_as_the_server_was_told() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &["--lock-timeout", "1"]);
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    lock.lock().expect("it is free");
    let begun = Instant::now();
    let answer = client.run(&["pin", "first"]).json();
    assert_eq!(answer["error"]["code"], "busy", "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(15));
}
