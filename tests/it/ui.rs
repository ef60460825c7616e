//! `ui`: what the page gets, and what nobody else does.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::cases;
use crate::bench::fixtures;
use crate::bench::page_client::{PageAnswer, PageClient, answer};
use crate::bench::sample::Draw;
use crate::bench::terminal::at_a_terminal;

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
    let client = PageClient::start(&project(), &[]);
    let page = client.ask("GET /", &[("X-Token", None)], "");
    assert_eq!(page.status, 200);
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
    ] {
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
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let root = sandbox.root().to_str().expect("text");
    for (line, code) in [
        ("status", 0),
        ("status -v", 0),
        ("list --stat", 0),
        ("list -n 1", 0),
        ("show latest", 0),
        ("show latest -p", 0),
        ("show nope", 3),
        ("diff latest~1 latest -U 3", 0),
        ("diff", 0),
        ("ls @ -lR", 0),
        ("find a.txt", 0),
        ("find --text fn", 0),
        ("undo --list", 0),
        ("undo --dry-run", 3),
        ("restore latest~1 --dry-run", 0),
        ("prune --dry-run --keep 1", 0),
        ("workflow list", 0),
        ("workflow show", 3),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = client.run(&words);
        assert_eq!(answer.status, 200, "{line}: {}", answer.text());
        assert!(answer.head.contains("content-type: application/json"));
        let direct = [&["-C", root, "--json", "--no-input"], words.as_slice()].concat();
        let direct = sandbox.run(&direct).code(code);
        assert_eq!(
            without_times(answer.json()),
            without_times(direct.json()),
            "{line}"
        );
    }
}

#[test]
fn contents_come_as_they_are_and_never_as_a_page() {
    let sandbox = project();
    sandbox.write("x.html", "<script>alert(1)</script>");
    sandbox.create("third");
    let client = PageClient::start(&sandbox, &[]);
    for (args, kind, bytes) in [
        (
            vec!["cat", "first:a.txt"],
            "application/octet-stream",
            b"one\n".as_slice(),
        ),
        (
            vec!["cat", "latest", "--", "bin"],
            "application/octet-stream",
            b"\x00\xff\xfe",
        ),
        (
            vec!["cat", "@", "dot.png"],
            "image/png",
            b"\x89PNG\r\n\x1a\n----",
        ),
        (
            vec!["cat", "@", "x.html"],
            "application/octet-stream",
            b"<script>alert(1)</script>",
        ),
        (
            vec!["cat", "--skip", "1", "first:a.txt"],
            "application/octet-stream",
            b"ne\n",
        ),
    ] {
        let content = client.content(&args);
        assert_eq!(
            (content.status, content.body.as_slice()),
            (200, bytes),
            "{args:?}"
        );
        let kind = format!("content-type: {kind}\r\n");
        let head = format!("{}\r\n", content.head);
        assert!(head.contains(&kind), "{args:?}: {}", content.head);
        assert!(
            head.contains("; sandbox\r\n") && head.contains("nosniff"),
            "{head}"
        );
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
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    assert_eq!(client.cmd("restore first --yes").status, 403);
    let shown = client.cmd("restore first --dry-run").json();
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    assert_eq!(sandbox.read("a.txt"), "three\n");
    sandbox.write("a.txt", "four\n");
    let late = client.run(&["restore", "first", "--plan", digest, "--yes"]);
    assert_eq!(
        late.json()["error"]["code"],
        "consent_needed",
        "{}",
        late.text()
    );
    assert_eq!(sandbox.read("a.txt"), "four\n");
    let before = sandbox.tree();
    let shown = client.cmd("restore first --dry-run").json();
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    let done = client
        .run(&["restore", "first", "--plan", digest, "--yes"])
        .json();
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(
        (sandbox.read("a.txt").as_str(), sandbox.exists("new")),
        ("one\n", false)
    );
    let shown = client.cmd("undo --dry-run").json();
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    let done = client.run(&["undo", "--plan", digest, "--yes"]).json();
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(sandbox.tree(), before);
    assert_eq!(client.cmd("pin first").json()["ok"], true);
    assert_eq!(client.cmd("create 'by hand'").json()["ok"], true);
    assert_eq!(
        client.cmd("reword 'by hand' 'other words'").json()["ok"],
        true
    );
}

#[test]
fn read_only_changes_nothing() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &["--read-only"]);
    let shown = client.cmd("restore first --dry-run").json();
    let digest = shown["data"]["plan_digest"].as_str().expect("a plan");
    let before = (sandbox.tree(), sandbox.listed_ids());
    for args in [
        vec!["restore", "first", "--plan", digest, "--yes"],
        vec!["restore", "--resume", "--yes"],
        vec!["undo", "--plan", digest, "--yes"],
        vec!["redo", "--plan", digest, "--yes"],
        vec!["create", "x"],
        vec!["pin", "first"],
        vec!["unpin", "first"],
        vec!["reword", "first", "x"],
    ] {
        assert_eq!(client.run(&args).status, 403, "{args:?}");
    }
    assert_eq!((sandbox.tree(), sandbox.listed_ids()), before);
    assert_eq!(client.events().next()["may_change"], false);
}

#[test]
fn what_does_not_come_from_the_page_is_refused() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let port = client.port;
    let body = json!({ "args": ["list"] }).to_string();
    let run = |instead: &[(&str, Option<&str>)]| client.ask("POST /api/run", instead, &body);
    assert_eq!(run(&[]).status, 200);
    let hosts = [
        format!("127.0.0.1.evil.com:{port}"),
        format!("evil.com:{port}"),
        "evil.com".to_owned(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("127.0.0.1:+{port}"),
        format!("127.0.0.1:0{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("192.168.0.1:{port}"),
        format!("localhost.:{port}"),
        format!("localhost.evil.com:{port}"),
        format!("xlocalhost:{port}"),
        format!("user@127.0.0.1:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[127.0.0.1]:{port}"),
        format!("::1:{port}"),
        format!("[::1]:{port}:{port}"),
        String::new(),
        ":".to_owned(),
    ];
    for host in &hosts {
        let refused = run(&[("Host", Some(host))]);
        assert!([400, 421].contains(&refused.status), "{host}: {refused:?}");
    }
    assert_eq!(run(&[("Host", None)]).status, 421);
    let ours = format!("127.0.0.1:{port}");
    let (name, six) = (format!("LocalHost:{port}"), format!("[::1]:{port}"));
    assert_eq!(
        run(&[("Host", Some(&ours)), ("Host", Some(&ours))]).status,
        421
    );
    assert_eq!(
        run(&[("Host", Some(&ours)), ("Host", Some("evil.com"))]).status,
        421
    );
    for host in [&ours, &name, &six] {
        assert_eq!(run(&[("Host", Some(host))]).status, 200, "{host}");
    }
    let own = format!("http://{ours}");
    assert_eq!(
        run(&[
            ("Origin", Some(&own)),
            ("Sec-Fetch-Site", Some("same-origin"))
        ])
        .status,
        200
    );
    let other_port = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    let (secure, longer) = (format!("https://{ours}"), format!("{own}.evil.com"));
    for origin in [
        "http://evil.com",
        "null",
        "",
        &other_port,
        &secure,
        &longer,
        &format!("{own}/"),
    ] {
        assert_eq!(run(&[("Origin", Some(origin))]).status, 403, "{origin}");
    }
    assert_eq!(
        run(&[("Origin", Some(&own)), ("Origin", Some("http://evil.com"))]).status,
        403
    );
    for site in [
        "cross-site",
        "same-site",
        "none",
        "",
        "same-origin, cross-site",
    ] {
        assert_eq!(run(&[("Sec-Fetch-Site", Some(site))]).status, 403, "{site}");
    }
    let get = |instead: &[(&str, Option<&str>)]| client.ask("GET /", instead, "").status;
    let opened = [
        ("Sec-Fetch-Site", Some("cross-site")),
        ("Sec-Fetch-Mode", Some("navigate")),
    ];
    assert_eq!(
        get(&[&opened[..], &[("Sec-Fetch-Dest", Some("document"))]].concat()),
        200
    );
    assert_eq!(
        get(&[&opened[..], &[("Sec-Fetch-Dest", Some("iframe"))]].concat()),
        403
    );
    assert_eq!(get(&[("Sec-Fetch-Site", Some("cross-site"))]), 403);
}

#[test]
fn no_token_no_answer() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let body = json!({ "args": ["list"] }).to_string();
    let (short, long) = (&client.token[1..], format!("{}0", client.token));
    let upper = client.token.to_uppercase();
    let flipped = format!(
        "{}{}",
        &client.token[..63],
        if client.token.ends_with('0') {
            "1"
        } else {
            "0"
        }
    );
    let wrong = [
        None,
        Some(""),
        Some(short),
        Some(&long),
        Some(&upper),
        Some(&flipped),
        Some("0"),
    ];
    for (first, body) in [
        ("POST /api/run", body.as_str()),
        ("POST /api/content", &body),
        ("GET /api/events", ""),
    ] {
        for token in wrong {
            let refused = client.ask(first, &[("X-Token", token)], body);
            assert_eq!(refused.status, 401, "{first} {token:?}");
        }
        let twice = [
            ("X-Token", Some(client.token.as_str())),
            ("X-Token", Some("0")),
        ];
        assert_eq!(client.ask(first, &twice, body).status, 401, "{first}");
        let (method, path) = first.split_once(' ').expect("two words");
        let in_query = format!("{method} {path}?token={}", client.token);
        let refused = client.ask(&in_query, &[("X-Token", None)], body);
        assert_eq!(refused.status, 400, "{in_query}");
        let cookie = format!("token={0}; X-Token={0}", client.token);
        let refused = client.ask(first, &[("X-Token", None), ("Cookie", Some(&cookie))], body);
        assert_eq!(refused.status, 401, "{first}");
    }
    let other = PageClient::start(&sandbox, &[]);
    assert_ne!(client.token, other.token);
    assert_eq!(
        other
            .ask("POST /api/run", &[("X-Token", Some(&client.token))], &body)
            .status,
        401
    );
}

#[test]
fn other_methods_and_paths_are_refused() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let body = json!({ "args": ["list"] }).to_string();
    for method in [
        "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET", "get", "NONSENSE",
    ] {
        for path in [
            "/api/run",
            "/api/content",
            "/api/events",
            "/",
            "/page/style.css",
        ] {
            let first = format!("{method} {path}");
            if first == "GET /api/events" {
                continue;
            }
            let is_right = method == "GET" && !["/api/run", "/api/content"].contains(&path);
            let status = client.ask(&first, &[], "").status;
            assert!(
                is_right || (400..500).contains(&status),
                "{first}: {status}"
            );
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
        let status = client.ask(&format!("POST {path}"), &[], &body).status;
        assert_eq!(status, 405, "{path}");
    }
    for path in [
        "/x",
        "/api",
        "/api/",
        "/api/run/",
        "//",
        "/page",
        "/page/",
        "/page/..",
        "/page/../main.rs",
        "/page/%2e%2e/mod.rs",
        "/page//etc/passwd",
        "/%2fetc/passwd",
        "/../../etc/passwd",
        "/.",
        "/api/../",
        "/page/style.css/",
        "/page/Style.css",
        "/favicon.ico",
        "/index.html",
    ] {
        let status = client.get(path).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
}

#[test]
fn bodies_that_are_no_command_are_refused() {
    let client = PageClient::start(&project(), &[]);
    let body = json!({ "args": ["list"] }).to_string();
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json, text/plain",
    ];
    for kind in kinds {
        let refused = client.ask("POST /api/run", &[("Content-Type", Some(kind))], &body);
        assert_eq!(refused.status, 415, "{kind}");
    }
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "{\"args\":[]}",
        "{\"args\":\"list\"}",
        "{\"args\":[1]}",
        "{\"args\":[\"list\"],\"x\":1}",
        "{\"args\":[\"list\"]}{",
        "{\"args\":[\"list\"]",
        "\u{feff}{}",
        "{\"args\":[\"\\ud800\"]}",
        "{\"args\":[\"a\\u0000b\"]}",
        "{\"args\":[\"list\"],\"args\":[\"delete\"]}",
    ] {
        let status = client.ask("POST /api/run", &[], body).status;
        assert!([400, 403].contains(&status), "{body}: {status}");
    }
    assert_eq!(
        client
            .ask("POST /api/run", &[("Content-Length", Some("1048577"))], "")
            .status,
        413
    );
    assert_eq!(
        client
            .ask(
                "POST /api/run",
                &[("Content-Length", Some("99999999999999999999"))],
                ""
            )
            .status,
        400
    );
    assert_eq!(
        client
            .ask("POST /api/run", &[("Content-Length", None)], "")
            .status,
        411
    );
}

#[test]
fn only_the_commands_of_the_page_run_and_only_in_its_root() {
    let sandbox = project();
    let other = Sandbox::new();
    other.write("secret", "s");
    other.create("other");
    let client = PageClient::start(&sandbox, &[]);
    let there = other.root().to_str().expect("text");
    let base = other.base();
    let base = base.to_str().expect("text");
    let to = sandbox.top().join("elsewhere");
    let to = to.to_str().expect("text");
    for args in [
        vec!["-C", there, "list"],
        vec!["list", "-C", there],
        vec!["list", "--base", base],
        vec!["list", "--all"],
        vec!["restore", "first", "--dry-run", "--to", to],
        vec!["restore", "@/etc/passwd", "--dry-run"],
        vec!["restore", "@-", "--dry-run"],
        vec!["create", "--state-file", "/etc/passwd"],
        vec!["workflow", "status", "--file", "/etc/passwd"],
        vec!["delete", "first", "--yes"],
        vec!["export", to],
        vec!["prune", "--keep", "1", "--yes"],
        vec!["hook"],
        vec!["ui"],
        vec!["list", "--help"],
        vec!["help"],
    ] {
        let answer = client.run(&args);
        assert_eq!(answer.status, 403, "{args:?}: {}", answer.text());
    }
    for args in [
        vec!["diff", "first", "--", "../../../../etc/passwd"],
        vec!["ls", "first", "--", "/etc"],
        vec!["show", "first", "--", "/etc/passwd"],
        vec!["find", "/etc/passwd"],
    ] {
        let answer = client.run(&args).text();
        assert!(!answer.contains("root:"), "{args:?}: {answer}");
    }
    assert!(!Path::new(to).exists());
}

#[test]
fn a_second_request_cannot_be_smuggled_within_a_first() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let inner = client.head("POST /api/run", &[], "{\"args\":[\"create\",\"smuggled\"]}");
    let host = format!("Host: 127.0.0.1:{}\r\n", client.port);
    let length = inner.len();
    for outer in [
        format!(
            "POST /api/run HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!(
            "POST /api/run HTTP/1.1\r\n{host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!(
            "POST /api/run HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n"
        ),
        format!(
            "POST /api/run HTTP/1.1\r\n{host}Transfer-Encoding : chunked\r\nContent-Length: {length}\r\n\r\n"
        ),
        format!(
            "POST /api/run HTTP/1.1\r\n{host}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n"
        ),
        format!("POST /api/run HTTP/1.1\r\n{host}Content-Length: 0, {length}\r\n\r\n"),
        format!("POST /api/run HTTP/1.1\r\n{host}Content-Length: +0\r\n\r\n"),
        format!("POST /api/run HTTP/1.1\r\n{host}Content-Length:\x0b0\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}Content-Length: {length}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("GET /api/run HTTP/1.1\r\n{host}\r\n"),
        format!("GET http://evil.com/ HTTP/1.1\r\n{host}\r\n"),
        format!(
            "GET http://127.0.0.1:{}/ HTTP/1.1\r\n{host}\r\n",
            client.port
        ),
        format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n{host}\r\n", client.port),
        format!("GET / HTTP/1.0\r\n{host}Connection: keep-alive\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n Host: evil.com\r\n{host}\r\n"),
        format!("GET /\tx HTTP/1.1\r\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "GET /\r\n".to_owned(),
    ] {
        let answers = client.raw(format!("{outer}{inner}").as_bytes());
        let answers = String::from_utf8_lossy(&answers);
        assert!(!answers.contains(" 200 "), "{outer}\n{answers}");
    }
    assert!(
        !sandbox
            .listed()
            .iter()
            .any(|row| row["reason"] == "smuggled")
    );
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
    let odd: [&[u8]; 10] = [
        b"\0",
        b"\r\n",
        b"\n",
        b" ",
        b"\xff",
        b":",
        b"%00",
        b"\r\n\r\n",
        b"../",
        b"\t",
    ];
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
        assert!(
            !shown.contains(&client.token),
            "{}",
            String::from_utf8_lossy(&bytes)
        );
        if !got.is_empty() {
            let status = answer(&got).status;
            assert!((200..500).contains(&status), "{shown}");
        }
    }
    assert_eq!((sandbox.tree(), sandbox.listed_ids()), before);
    assert_eq!(client.cmd("list").status, 200);
    let kib = peak(&client);
    assert!(kib < 100 << 10, "{kib} KiB");
}

/// The server needs little memory, whatever it went through.
/// Returns the most memory that the server had, in KiB; zero where the system does not tell.
fn peak(client: &PageClient) -> u64 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", client.pid())).expect("it runs");
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a peak");
    let kib = peak.split_whitespace().nth(1);
    kib.and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn what_only_reads_takes_no_memory_of_the_server() {
    let sandbox = Sandbox::new();
    let fill = |text: &str| {
        for i in 0..4000 {
            sandbox.write(format!("{}/{i}", i % 40), text);
        }
    };
    fill("one\n");
    sandbox.create("first");
    fill("two\n");
    sandbox.create("second");
    let client = PageClient::start(&sandbox, &[]);
    assert_eq!(client.cmd("list").status, 200);
    let before = peak(&client);
    for args in [
        &["diff", "first", "second"][..],
        &["ls", "@", "-l", "-R"],
        &["status"],
        &["restore", "first", "--dry-run"],
    ] {
        let answer = client.run(args);
        assert!(answer.body.len() > 1000, "{args:?}: {}", answer.text());
        assert_eq!(answer.json()["ok"], true, "{args:?}");
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
    let sandbox = Sandbox::new();
    for (reason, text) in [("first", "one\n"), ("second", "two\n")] {
        for i in 0..2000 {
            sandbox.write(format!("{}/{i}", i % 40), text.repeat(2000));
        }
        sandbox.create(reason);
    }
    let client = PageClient::start(&sandbox, &[]);
    let body = r#"{"args":["diff","first","second","-U","3"]}"#;
    let mut unread = client.connect();
    let request = client.head("POST /api/run", &[], body);
    unread.write_all(request.as_bytes()).expect("it is sent");
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
    let sandbox = Sandbox::new();
    for (reason, text) in [("first", "one\n"), ("second", "two\n")] {
        sandbox.write("long", text.repeat(2 << 20));
        sandbox.create(reason);
    }
    let client = PageClient::start(&sandbox, &[]);
    let before = sockets(client.pid());
    let body = r#"{"args":["diff","first","second","-U","3"]}"#;
    let request = client.head("POST /api/run", &[], body);
    let unread: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = client.connect();
            stream.write_all(request.as_bytes()).expect("it is sent");
            stream
        })
        .collect();
    assert_eq!(client.cmd("list").status, 200);
    while !children(client.pid()).is_empty() || sockets(client.pid()) > before {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(unread);
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_take_no_answer_keep_nobody_out_and_fill_no_memory() {
    let sandbox = Sandbox::new();
    for (reason, text) in [("first", "one\n"), ("second", "two\n")] {
        sandbox.write("long", text.repeat(1 << 20));
        sandbox.create(reason);
    }
    let client = PageClient::start(&sandbox, &[]);
    let body = r#"{"args":["diff","first","second","-U","3"]}"#;
    let request = client.head("POST /api/run", &[], body);
    let unread: Vec<TcpStream> = (0..12)
        .map(|_| {
            let mut stream = client.connect();
            stream.write_all(request.as_bytes()).expect("it is sent");
            stream
        })
        .collect();
    assert_eq!(client.cmd("list").status, 200);
    // A connection is cut a while after its answer was made; the last ones are not yet.
    let held = sockets(client.pid());
    assert!(held > 8, "{held} sockets: all had to be cut first");
    let kib = peak(&client);
    assert!(kib < 100 << 10, "{kib} KiB");
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
    let request = client.head(
        "POST /api/content",
        &[],
        r#"{"args":["cat","first:large"]}"#,
    );
    let unread: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = client.connect();
            stream.write_all(request.as_bytes()).expect("it is sent");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(3));
    let kib = peak(&client);
    assert!(kib < 100 << 10, "{kib} KiB");
    drop(unread);
}

#[test]
fn many_and_slow_connections_keep_nobody_out_for_long() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
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
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    drop(slow);
    // A body that never comes is not waited for.
    let mut stream = client.connect();
    let head = client.head(
        "POST /api/run",
        &[("Content-Length", Some("100"))],
        "{\"args\"",
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    assert!(got.is_empty() || answer(&got).status >= 400);
    let long = client.ask("GET /", &[("X-Long", Some(&"x".repeat(20 << 10)))], "");
    assert!([400, 431].contains(&long.status), "{long:?}");
    let many = vec![("X-Many", Some("x")); 100];
    assert_eq!(client.ask("GET /", &many, "").status, 431);
    assert_eq!(client.cmd("list").status, 200);
    let kib = peak(&client);
    assert!(kib < 100 << 10, "{kib} KiB");
}

#[test]
fn a_checkpoint_of_another_process_is_told_within_a_second() {
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
    let (mut one, mut two) = (client.events(), client.events());
    let first = one.next();
    assert_eq!(first, two.next());
    sandbox.write("other", "by another process");
    sandbox.create("by another process");
    let created = Instant::now();
    let told = one.next();
    assert!(
        created.elapsed() < Duration::from_secs(1),
        "{:?}",
        created.elapsed()
    );
    assert_ne!(told["position"], first["position"]);
    // What only reads is no change.
    for args in [
        &["status"][..],
        &["list"],
        &["diff"],
        &["restore", "first", "--dry-run"],
    ] {
        assert_eq!(client.run(args).status, 200);
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
    let answer: PageAnswer = client.cmd("list");
    assert_eq!(answer.json()["ok"], true, "{}", answer.text());
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
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
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
        let Some(run) = at_a_terminal(&sandbox, &line) else {
            return;
        };
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

#[test]
fn a_report_holds_the_checkpoints_of_its_range_and_nothing_of_the_directory() {
    let sandbox = project();
    sandbox.write("secret.txt", "only in the directory");
    let file = sandbox.top().join("report.html");
    let output = file.to_str().expect("text");
    let streamed = sandbox.ok("report -o -");
    assert!(streamed.stdout.ends_with("</html>\n") && !sandbox.exists("-"));
    let talk = sandbox.run(&["report", "-o", output]).success().stderr;
    assert!(talk.contains("will hold 2 checkpoints"), "{talk}");
    let page = std::fs::read_to_string(&file).expect("a page");
    for part in [
        "<script type=\"application/json\" id=\"data\">",
        "-one\\n+two",
        "'nonce-",
        "first",
        "second",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["only in the directory", "secret.txt", "three", "/page/"] {
        assert!(!page.contains(part), "{part}");
    }
    let data = page
        .split("id=\"data\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next());
    let data: Value = serde_json::from_str(data.expect("the data")).expect("JSON");
    let rows = data["answers"]["list"]["checkpoints"]
        .as_array()
        .expect("rows");
    assert_eq!(rows.len(), 2);
    let told = sandbox
        .run(&["report", "second..", "-o", output, "--json"])
        .data();
    assert_eq!(
        (&told["checkpoint_count"], &told["patch_count"]),
        (&json!(1), &json!(2)),
        "{told}"
    );
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(!page.contains("fn main()"));
    sandbox.write("a", "</script><script>alert(1)</script>");
    sandbox.create("</script><b>");
    sandbox.run(&["report", "-o", output]).success();
    let page = std::fs::read_to_string(&file).expect("a page");
    assert_eq!(page.matches("</script>").count(), 2);
    sandbox.run(&["report", "nope..", "-o", output]).code(3);
    sandbox.run(&["report", "second", "-o", output]).code(2);
    sandbox
        .run(&["report", "second..first", "-o", output])
        .code(3);
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(page.contains("fn main()"), "what was there stays");
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
    let data: Value = serde_json::Deserializer::from_str(data)
        .into_iter()
        .next()
        .expect("data")
        .expect("JSON");
    let patches = data["patches"].as_object().expect("patches");
    let (_, patches) = patches
        .iter()
        .find(|(long, _)| long.starts_with(&id))
        .expect("those of the second");
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
    let sandbox = project();
    let client = PageClient::start(&sandbox, &[]);
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
