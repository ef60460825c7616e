//! JSON-RPC in lines on the standard streams, each request with exactly one answer.
//!
//! The transport of the SDK passes over what it cannot parse, answers without the id what it cannot
//! type, and gives running work five seconds after the end of the input. This one answers all, and
//! ends when the work has ended.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, mpsc as blocking};
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

/// The longest line that is read whole.
pub const LONGEST_LINE: usize = 16 << 20;

/// Time that the last answers may take if the client does not read them.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A line to write, and the channel on which the result is told.
type Outgoing = (Vec<u8>, Option<oneshot::Sender<std::io::Result<()>>>);

/// What a line asked for.
#[derive(Debug)]
pub enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// No message; `id` is that of the request, if it has one.
    Refused {
        id: Option<RequestId>,
        error: ErrorData,
    },
    /// Nothing that gets an answer.
    Ignored,
}

/// The standard streams as the SDK sees them.
pub struct StdioTransport {
    incoming: mpsc::Receiver<Incoming>,
    outgoing: blocking::Sender<Outgoing>,
    /// The requests handed over and not answered yet.
    open: HashSet<RequestId>,
    initialized: bool,
    /// Whether the input has ended, or a signal came: the client answers nothing any more.
    ended: Arc<watch::Sender<bool>>,
}

/// Waits for the thread that writes.
pub struct StdoutWriter(blocking::Receiver<()>);

impl StdoutWriter {
    /// Returns when all is written, or after a while in which it is not read.
    pub fn finish(self) {
        let _ = self.0.recv_timeout(LAST_WORDS);
    }
}

impl StdioTransport {
    /// Starts the two threads.
    pub fn start(ended: Arc<watch::Sender<bool>>) -> (Self, StdoutWriter) {
        let (lines, incoming) = mpsc::channel(16);
        thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            while let Some(line) = next_line(&mut input, LONGEST_LINE) {
                if lines.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        let (outgoing, queue) = blocking::channel::<Outgoing>();
        let (done, written) = blocking::channel();
        thread::spawn(move || {
            let mut output = std::io::stdout().lock();
            for (line, told) in queue {
                let result = output.write_all(&line).and_then(|()| output.flush());
                if let Some(told) = told {
                    let _ = told.send(result);
                }
            }
            drop(done);
        });
        (
            Self {
                incoming,
                outgoing,
                open: HashSet::new(),
                initialized: false,
                ended,
            },
            StdoutWriter(written),
        )
    }

    fn refuse(&self, id: Option<RequestId>, error: ErrorData) {
        let _ = self
            .outgoing
            .send((to_line(&ServerJsonRpcMessage::error(error, id)), None));
    }

    /// Notes what passes, or says why it may not.
    fn admit(&mut self, message: &ClientJsonRpcMessage) -> Result<(), ErrorData> {
        match message {
            JsonRpcMessage::Request(call) => {
                if self.open.contains(&call.id) {
                    return Err(ErrorData::invalid_request("this id is in use", None));
                }
                match &call.request {
                    ClientRequest::InitializeRequest(_) => self.initialized = true,
                    ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
                    other if !self.initialized && other.get_meta().protocol_version().is_none() => {
                        return Err(ErrorData::invalid_params(
                            "neither initialized nor _meta[\"io.modelcontextprotocol/protocolVersion\"]",
                            None,
                        ));
                    }
                    _ => {}
                }
                self.open.insert(call.id.clone());
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK drops its answer.
                    self.open.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.open.remove(id);
        }
        let (told, written) = oneshot::channel();
        // Queued here, not in the future: the order of the calls is the order of the lines.
        let _ = self.outgoing.send((to_line(&message), Some(told)));
        async move {
            written
                .await
                .unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut ended = self.ended.subscribe();
        loop {
            let line = tokio::select! {
                biased;
                _ = ended.wait_for(|ended| *ended) => None,
                line = self.incoming.recv() => line,
            };
            let Some(line) = line else {
                self.ended.send_replace(true);
                // Called anew after each answer: the SDK drops this future when one is to be sent.
                if !self.open.is_empty() {
                    std::future::pending::<()>().await;
                }
                return None;
            };
            match line {
                Incoming::Message(message) => match self.admit(&message) {
                    Ok(()) => return Some(*message),
                    Err(error) => self.refuse(message.into_request().map(|(_, id)| id), error),
                },
                Incoming::Refused { id, error } => self.refuse(id, error),
                Incoming::Ignored => {}
            }
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn to_line(message: &ServerJsonRpcMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The next line of `input` that is not blank; `None` at its end.
pub fn next_line(input: &mut impl BufRead, longest: usize) -> Option<Incoming> {
    loop {
        let mut line = Vec::new();
        let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
        input
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut line)
            .ok()?;
        if line.is_empty() {
            return None;
        }
        if line.len() > longest && line.last() != Some(&b'\n') {
            return Some(too_long(&line, input, longest));
        }
        let line = line
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(&line)
            .trim_ascii();
        if !line.is_empty() {
            return Some(parse(line));
        }
    }
}

/// What can be read of a line that is no message.
#[derive(Deserialize)]
struct RequestHead {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// Reads the rest of a line that is too long for its id alone, in constant memory.
fn too_long(start: &[u8], input: &mut impl BufRead, longest: usize) -> Incoming {
    let mut rest = RestOfLine { input, over: false };
    let line = BufReader::new(start.chain(&mut rest));
    let head = serde_json::from_reader::<_, RequestHead>(line).ok();
    let _ = std::io::copy(&mut rest, &mut std::io::sink());
    let (id, is_request) = head.map_or((None, true), |head| (head.id, head.method.is_some()));
    if !is_request {
        return Incoming::Ignored;
    }
    let what = format!("the line is longer than {longest} bytes");
    Incoming::Refused {
        id,
        error: ErrorData::invalid_request(what, None),
    }
}

struct RestOfLine<'a, R> {
    input: &'a mut R,
    over: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.over {
            return Ok(0);
        }
        let found = self.input.fill_buf()?;
        let end = found.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(found.len()).min(buffer.len());
        buffer[..taken].copy_from_slice(&found[..taken]);
        let at_end = end == Some(taken);
        self.input.consume(taken + usize::from(at_end));
        self.over = at_end || taken == 0;
        Ok(taken)
    }
}

/// What one line says.
pub fn parse(line: &[u8]) -> Incoming {
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(error) => {
            // Half a surrogate makes a text unreadable, and what is around it can be read.
            let head = serde_json::from_slice::<RequestHead>(line).ok();
            return Incoming::Refused {
                id: head.and_then(|head| head.id),
                error: ErrorData::parse_error(error.to_string(), None),
            };
        }
    };
    let Value::Object(object) = &value else {
        let what = if value.is_array() {
            "batches are not supported"
        } else {
            "not an object"
        };
        return Incoming::Refused {
            id: None,
            error: ErrorData::invalid_request(what, None),
        };
    };
    let raw_id = object.get("id").cloned();
    let method = object.get("method").cloned();
    let is_answer =
        method.is_none() && (object.contains_key("result") || object.contains_key("error"));
    let odd_params = object
        .get("params")
        .is_some_and(|params| !params.is_object());
    let error = match serde_json::from_value::<ClientJsonRpcMessage>(value) {
        Ok(message) => return Incoming::Message(Box::new(message)),
        Err(_) if is_answer || (raw_id.is_none() && method.is_some()) => return Incoming::Ignored,
        Err(error) => error,
    };
    let id = raw_id.and_then(|raw| serde_json::from_value::<RequestId>(raw).ok());
    let error = match &id {
        Some(_) if odd_params => ErrorData::invalid_params("params is not an object", None),
        Some(_) => ErrorData::invalid_request(error.to_string(), None),
        None => {
            ErrorData::invalid_request("a request needs an id that is text or an integer", None)
        }
    };
    Incoming::Refused { id, error }
}
