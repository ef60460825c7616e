//! A client of `checkpoint ui` that writes its requests by hand.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Sandbox;
use super::sandbox::words;

/// Upper bound on the wait for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server.
pub struct PageClient {
    child: Child,
    pub port: u16,
    pub token: String,
}

/// An answer: status, head in lower case, and body.
#[derive(Debug)]
pub struct PageAnswer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl PageAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a document")
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl PageClient {
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        sandbox.real_clock();
        let args = [&["ui", "--no-open", "--json"], args].concat();
        let mut command = sandbox.command(&[], &args);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let mut line = Vec::new();
        let stdout = child.stdout.as_mut().expect("it is piped");
        let mut byte = [0];
        while line.last() != Some(&b'\n') && stdout.read(&mut byte).is_ok_and(|read| read == 1) {
            line.push(byte[0]);
        }
        let told: Value = serde_json::from_slice(&line).expect("the address");
        let url = told["data"]["url"].as_str().expect("an address");
        let (place, token) = url.split_once("/#token=").expect("a token");
        let port = place.rsplit_once(':').expect("a port").1;
        Self {
            child,
            port: port.parse().expect("a number"),
            token: token.to_owned(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends bytes and returns all that comes back until the end of the connection.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // A server that refuses early may have closed its side.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(why) if why.kind() != ErrorKind::ConnectionReset => panic!("{why}"),
            _ => answer,
        }
    }

    /// Sends the head of a request with these lines instead of the usual ones of the same names.
    pub fn head(&self, first: &str, instead: &[(&str, Option<&str>)], body: &str) -> String {
        let length = body.len().to_string();
        let host = format!("127.0.0.1:{}", self.port);
        let mut lines = vec![
            ("Host", host.as_str()),
            ("X-Token", &self.token),
            ("Connection", "close"),
        ];
        if first.starts_with("POST") {
            lines.extend([
                ("Content-Type", "application/json"),
                ("Content-Length", &length),
            ]);
        }
        lines.retain(|(name, _)| !instead.iter().any(|(other, _)| other == name));
        lines.extend(
            instead
                .iter()
                .filter_map(|(name, value)| Some((*name, (*value)?))),
        );
        let lines: String = lines
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!("{first} HTTP/1.1\r\n{lines}\r\n{body}")
    }

    pub fn ask(&self, first: &str, instead: &[(&str, Option<&str>)], body: &str) -> PageAnswer {
        answer(&self.raw(self.head(first, instead, body).as_bytes()))
    }

    pub fn get(&self, path: &str) -> PageAnswer {
        self.ask(&format!("GET {path}"), &[], "")
    }

    /// Runs a command as the page does.
    pub fn cmd(&self, line: &str) -> PageAnswer {
        self.run(&words(line))
    }

    pub fn run(&self, args: &[&str]) -> PageAnswer {
        let body = json!({ "args": args }).to_string();
        self.ask("POST /api/run", &[], &body)
    }

    pub fn content(&self, args: &[&str]) -> PageAnswer {
        let body = json!({ "args": args }).to_string();
        self.ask("POST /api/content", &[], &body)
    }

    /// Opens the stream of events.
    pub fn events(&self) -> PageEvents {
        let mut stream = self.connect();
        let head = self.head("GET /api/events", &[], "");
        stream.write_all(head.as_bytes()).expect("it is sent");
        PageEvents {
            stream,
            seen: String::new(),
        }
    }

    /// Waits for the end of the server.
    pub fn end(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for PageClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.end();
    }
}

/// A stream of events.
pub struct PageEvents {
    stream: TcpStream,
    seen: String,
}

impl PageEvents {
    /// Waits for the next event.
    pub fn next(&mut self) -> Value {
        loop {
            if let Some((before, after)) = self.seen.split_once("\n\n") {
                let found = before
                    .rsplit_once("data: ")
                    .map(|(_, data)| data.to_owned());
                self.seen = after.to_owned();
                match found {
                    Some(data) => return serde_json::from_str(&data).expect("a document"),
                    None => continue,
                }
            }
            let mut part = [0; 4096];
            let read = self.stream.read(&mut part).expect("an event");
            assert!(read > 0, "the stream has ended");
            self.seen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
    }
}

pub fn answer(bytes: &[u8]) -> PageAnswer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let body = &bytes[end + 4..];
    let in_chunks = head.contains("transfer-encoding: chunked");
    PageAnswer {
        status: status.expect("a status"),
        head,
        body: if in_chunks {
            joined(body)
        } else {
            body.to_vec()
        },
    }
}

/// Puts the chunks of a body together, as far as they came.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end]).expect("text");
        let length = usize::from_str_radix(length, 16).expect("a number");
        if length == 0 {
            break;
        }
        let chunk = rest.get(end + 2..end + 2 + length);
        body.extend_from_slice(chunk.unwrap_or_default());
        rest = rest.get(end + 4 + length..).unwrap_or_default();
    }
    body
}
