//! A client of `checkpoint mcp` that speaks in lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, limit};

/// Upper bound on the wait for one message.
const PATIENCE: Duration = Duration::from_mins(1);
pub const STATELESS: &str = "2026-07-28";

/// A running server, and the client's side of it.
pub struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Goes along with each request, in the era without a handshake.
    meta: Value,
    next_id: u64,
    /// The answer to each question of the server: whether the user confirms.
    confirms: bool,
    pub asked: Vec<Value>,
    pub progress: Vec<Value>,
}

impl McpClient {
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        sandbox.real_clock();
        let mut command = sandbox.command(&[], &[&["mcp"], args].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("each line is a document");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            meta: json!({}),
            next_id: 0,
            confirms: false,
            asked: Vec::new(),
            progress: Vec::new(),
        }
    }

    /// A server after the handshake of a version, or without one in the era that has none.
    pub fn of(sandbox: &Sandbox, args: &[&str], version: &str, asks: bool) -> Self {
        let mut client = Self::start(sandbox, args);
        let capabilities = if asks {
            json!({ "elicitation": {} })
        } else {
            json!({})
        };
        let info = json!({ "name": "test", "version": "1" });
        if version == STATELESS {
            client.meta = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "io.modelcontextprotocol/clientInfo": info,
            });
            return client;
        }
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        let answer = client.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client
            .line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    pub fn confirming(mut self) -> Self {
        self.confirms = true;
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        // A server that was killed reads nothing more.
        let _ = stdin.write_all(format!("{line}\n").as_bytes());
    }

    pub fn message(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }

    pub fn message_within(&self, patience: Duration) -> Option<Value> {
        self.messages.recv_timeout(patience).ok()
    }

    /// Sends a request, and returns its id.
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        if self.meta.as_object().is_some_and(|meta| !meta.is_empty()) {
            let mut meta = self.meta.clone();
            for (key, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[key] = value.clone();
            }
            params["_meta"] = meta;
        }
        let id = self.next_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&request.to_string());
        id
    }

    /// Returns the answer to a request; answers what the server asks meanwhile.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message();
            match message["method"].as_str() {
                Some("notifications/progress") => self.progress.push(message["params"].clone()),
                Some("elicitation/create") => {
                    let answer = self.form();
                    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
                    self.asked.push(message["params"].clone());
                    self.line(&answer.to_string());
                }
                _ => {
                    assert_eq!(message["id"], id, "{message}");
                    return message;
                }
            }
        }
    }

    fn form(&self) -> Value {
        if self.confirms {
            json!({ "action": "accept", "content": { "confirm": true } })
        } else {
            json!({ "action": "decline" })
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns its result.
    pub fn call(&mut self, tool: &str, arguments: impl Into<Value>) -> Value {
        let arguments = arguments.into();
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params.clone());
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            assert!(result.is_object(), "{answer}");
            return result.clone();
        }
        self.asked.push(result["inputRequests"].clone());
        let mut again = params;
        again["requestState"] = result["requestState"].clone();
        again["inputResponses"] = json!({ "confirm": self.form() });
        self.request("tools/call", again)["result"].clone()
    }

    /// Calls a tool that does its work; returns the data of its answer.
    pub fn data(&mut self, tool: &str, arguments: impl Into<Value>) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"]["data"].clone()
    }

    /// Calls a tool that refuses; returns the code of its error.
    pub fn refusal(&mut self, tool: &str, arguments: impl Into<Value>) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let code = &result["structuredContent"]["error"]["code"];
        code.as_str().expect("a code").to_owned()
    }

    /// Ends the input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Ends the input; returns the exit code and what still came.
    pub fn end(mut self) -> (Option<i32>, Vec<Value>) {
        self.hang_up();
        let output = limit::output_of("checkpoint mcp", self.child);
        (output.status.code(), self.messages.iter().collect())
    }
}
