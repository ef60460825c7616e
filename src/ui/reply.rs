//! What is answered: the headers that keep a browser from doing more than the page needs, and bodies.

use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::AsyncReadExt as _;
use tokio::process::Child;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::ui::door::Refused;
use crate::ui::front::MOST_FILE_BYTES;

pub type Reply = Response<ReplyBody>;

/// The body of an answer, by its parts.
#[derive(Debug)]
pub struct ReplyBody(mpsc::Receiver<Result<Bytes>>);

/// Bytes that are read at once of what a process writes: all that a pipe holds.
const AT_ONCE: u32 = 64 << 10;
/// Time in which a client has to take some more of an answer before the rest is held in memory.
const BEFORE_ROOM: Duration = Duration::from_secs(1);

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        polling: &mut Polling<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>>>> {
        let part = self.get_mut().0.poll_recv(polling);
        part.map(|part| part.map(|part| part.map(Frame::data)))
    }
}

/// What the page may load: its own files, and images that it has read through its own script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// What is no page may load nothing.
const SANDBOX: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Headers of every answer.
const ALWAYS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

fn reply(status: StatusCode, kind: &'static str, policy: &'static str, body: ReplyBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let own = [("content-type", kind), ("content-security-policy", policy)];
    for (name, value) in ALWAYS.into_iter().chain(own) {
        let (headers, value) = (reply.headers_mut(), HeaderValue::from_static(value));
        headers.insert(name, value);
    }
    reply
}

fn whole(bytes: impl Into<Bytes>) -> ReplyBody {
    let (sender, parts) = mpsc::channel(1);
    let _ = sender.try_send(Ok(bytes.into()));
    ReplyBody(parts)
}

/// A file of the page.
pub fn file(kind: &'static str, text: &'static str) -> Reply {
    reply(StatusCode::OK, kind, POLICY, whole(text))
}

/// A document of a command.
pub fn document(bytes: Vec<u8>) -> Reply {
    reply(StatusCode::OK, JSON, SANDBOX, whole(bytes))
}

/// The document that a process writes, which holds a slot meanwhile. It ends with its client. For one
/// that takes nothing, the rest is held in `room`; if that is full, it is cut.
pub fn process(child: Child, slot: OwnedSemaphorePermit, room: Arc<Semaphore>) -> Reply {
    let (sender, parts) = mpsc::channel(2);
    tokio::spawn(async move {
        tokio::select! {
            _ = hand_on((child, slot), room, &sender) => {}
            () = sender.closed() => {}
        }
    });
    reply(StatusCode::OK, JSON, SANDBOX, ReplyBody(parts))
}

async fn hand_on(
    (mut child, slot): (Child, OwnedSemaphorePermit),
    room: Arc<Semaphore>,
    sender: &mpsc::Sender<Result<Bytes>>,
) -> Option<()> {
    let cut = sender.clone().try_reserve_owned().ok()?;
    let mut rest = Vec::new();
    let (mut stdout, mut part) = (child.stdout.take()?, Vec::with_capacity(AT_ONCE as usize));
    while stdout.read_buf(&mut part).await.is_ok_and(|read| read > 0) {
        let bytes = Bytes::copy_from_slice(&part);
        part.clear();
        if rest.is_empty()
            && let Ok(place) = timeout(BEFORE_ROOM, sender.reserve()).await
        {
            place.ok()?.send(Ok(bytes));
        } else if let Ok(held) = room.clone().try_acquire_many_owned(AT_ONCE) {
            rest.push((bytes, held));
        } else {
            cut.send(Err(ErrorKind::TimedOut.into()));
            return None;
        }
    }
    drop((child, slot));
    for (bytes, _held) in rest {
        sender.send(Ok(bytes)).await.ok()?;
    }
    None
}

/// A content that is in memory, with the room that it holds until it is sent.
struct Sent {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The content of a file of a checkpoint; never as a page, whatever it holds.
pub fn content(
    read: std::result::Result<Vec<u8>, Vec<u8>>,
    mut room: OwnedSemaphorePermit,
) -> Reply {
    match read {
        Ok(bytes) if bytes.len() > MOST_FILE_BYTES as usize => {
            let why = "the file is too large to be shown here";
            refusal(Refused(StatusCode::PAYLOAD_TOO_LARGE, why))
        }
        Ok(bytes) => {
            let kind = kind_of(&bytes);
            let sent = Sent {
                _room: room.split(bytes.len()),
                bytes,
            };
            reply(
                StatusCode::OK,
                kind,
                SANDBOX,
                whole(Bytes::from_owner(sent)),
            )
        }
        Err(document) => reply(StatusCode::NOT_FOUND, JSON, SANDBOX, whole(document)),
    }
}

/// A stream of events.
pub fn events(lines: mpsc::Receiver<Result<Bytes>>) -> Reply {
    let body = ReplyBody(lines);
    reply(StatusCode::OK, "text/event-stream", SANDBOX, body)
}

/// A refusal, after which the connection ends: what follows on it may be no request.
pub fn refusal(Refused(status, why): Refused) -> Reply {
    let body = whole(format!("{why}\n"));
    let mut reply = reply(status, "text/plain; charset=utf-8", SANDBOX, body);
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(header::CONNECTION, close);
    reply
}

const JSON: &str = "application/json";

/// Beginnings of the images that every browser shows and that hold no script, with their types.
const IMAGES: [(&[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\x01\0", "image/x-icon"),
];

fn kind_of(bytes: &[u8]) -> &'static str {
    let known = IMAGES.iter().find(|(start, _)| bytes.starts_with(start));
    match known {
        Some((_, kind)) => kind,
        None if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => "image/webp",
        None => "application/octet-stream",
    }
}

/// Reads the next part of a body; `Some(None)` if it breaks off.
pub async fn next_part(body: &mut Incoming) -> Option<Option<Bytes>> {
    let frame = std::future::poll_fn(|polling| Pin::new(&mut *body).poll_frame(polling)).await?;
    Some(frame.ok().and_then(|frame| frame.into_data().ok()))
}
