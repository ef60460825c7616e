//! The server: connections, and the answer to each request that the door lets in.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use crate::base::Interrupt;
use crate::base::mutex::lock;
use crate::error::{Error, Result, exit_code};
use crate::shell::browser::{self, PrivateFile};
use crate::shell::{PageOptions, signals};
use crate::ui::door::{Door, MOST_BODY_BYTES, PageToken, Refused, Route};
use crate::ui::front::{CommandCall, MOST_FILE_BYTES, Runner};
use crate::ui::reply::{self, Reply};
use crate::ui::{events, page};

/// Upper bound on the connections; further ones wait.
const MOST_CONNECTIONS: usize = 64;
/// Upper bound on the commands that run at once.
const AT_ONCE: u32 = 4;
/// Upper bound on the bytes of answers that are in memory for clients that are slow to take them.
const MOST_UNSENT_BYTES: usize = 40 << 20;
/// Upper bound on the bytes of the head of a request.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// Upper bound on the headers of a request.
const MOST_HEADERS: usize = 64;
/// Time for the head of a request, and for its body.
const FOR_A_REQUEST: Duration = Duration::from_secs(10);
/// Time in which a client has to take some more of an answer.
const FOR_A_PART: Duration = Duration::from_secs(15);
/// Time for the browser to read the file by which it is opened.
const FOR_THE_BROWSER: Duration = Duration::from_secs(30);
/// Time in which a connection has to show the token.
const WITHOUT_TOKEN: Duration = Duration::from_secs(5);
/// Time for what such a connection asked last.
const FOR_THE_LAST_ANSWER: Duration = Duration::from_secs(1);
/// Time between two looks at signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

struct PageServer {
    door: Door,
    runner: Runner,
    /// Each page that listens to events holds one more.
    listeners: Arc<()>,
    slots: Arc<Semaphore>,
    /// The same for processes that only read, for which the end does not wait.
    readers: Arc<Semaphore>,
    /// Room in memory, in bytes, for what is not sent yet.
    room: Arc<Semaphore>,
    signals: Interrupt,
    /// When the page last asked for anything.
    last_asked: Mutex<Instant>,
    /// By what the browser was opened, until it asks for anything.
    opened: Mutex<Option<PrivateFile>>,
}

/// Serves until a signal comes or the idle time is over; returns the exit code.
///
/// # Errors
/// The port is taken, or the system gives no random numbers or no runtime.
pub fn serve(
    runner: Runner,
    options: &PageOptions,
    may_open: bool,
    tell: &dyn Fn(&str, &Path),
) -> Result<u8> {
    let signals = Interrupt::default();
    signals::install(&signals, false);
    let _shield = signals.shield();
    browser::sweep();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().enable_io().build();
    let runtime = runtime.map_err(|why| Error::unexpected(format!("no runtime: {why}")))?;
    let served = runtime.block_on(async {
        let listeners = listen(options.port).await?;
        let first = listeners[0].local_addr().map_err(no_port(options.port))?;
        let token = PageToken::random();
        let token = token.ok_or_else(|| Error::unexpected("the system has no random numbers"))?;
        let url = format!("http://{first}/#token={}", token.as_text());
        tell(&url, &runner.root);
        let opened = (options.opens && may_open).then(|| browser::open_in_browser(&url));
        let server = Arc::new(PageServer {
            door: Door {
                port: first.port(),
                token,
                files: page::FILES.iter().map(|(name, ..)| *name).collect(),
            },
            runner,
            listeners: Arc::default(),
            slots: Arc::new(Semaphore::new(AT_ONCE as usize)),
            readers: Arc::new(Semaphore::new(AT_ONCE as usize)),
            room: Arc::new(Semaphore::new(MOST_UNSENT_BYTES)),
            signals: signals.clone(),
            last_asked: Mutex::new(Instant::now()),
            opened: Mutex::new(opened.flatten()),
        });
        let waits = server.clone();
        tokio::spawn(async move {
            sleep(FOR_THE_BROWSER).await;
            drop(lock(&waits.opened).take());
        });
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        for listener in listeners {
            tokio::spawn(accept(server.clone(), listener, connections.clone()));
        }
        tokio::select! {
            () = server.wait_for_a_signal() => {}
            () = server.wait_until_idle(options.idle) => {}
        }
        drop(lock(&server.opened).take());
        // A command that changes something goes on to its end.
        drop(server.slots.acquire_many(AT_ONCE).await);
        Ok(exit_code::DONE)
    });
    runtime.shutdown_background();
    match signals.check() {
        // The address was the answer: there is no second one.
        Err(signal) if served.is_ok() => {
            Ok(u8::try_from(128 + signal.0).unwrap_or(exit_code::FAILED))
        }
        _ => served,
    }
}

fn no_port(port: Option<u16>) -> impl FnOnce(std::io::Error) -> Error {
    let at = port.map_or(String::new(), |port| format!(" at port {port}"));
    move |why| Error::unexpected(format!("the server cannot listen{at}: {why}"))
}

/// Listens on the addresses of this machine alone; on both with one port where that is possible.
async fn listen(port: Option<u16>) -> Result<Vec<TcpListener>> {
    let bind = |ip: IpAddr, port: u16| TcpListener::bind(SocketAddr::from((ip, port)));
    let [four, six] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let Ok(first) = bind(four, port.unwrap_or(0)).await else {
        let only = bind(six, port.unwrap_or(0)).await;
        return Ok(vec![only.map_err(no_port(port))?]);
    };
    let known = first.local_addr().map_err(no_port(port))?.port();
    Ok(std::iter::once(first)
        .chain(bind(six, known).await.ok())
        .collect())
}

async fn accept(server: Arc<PageServer>, listener: TcpListener, connections: Arc<Semaphore>) {
    while let Ok(slot) = connections.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(server.clone().hold_connection(stream, slot));
            }
            // Such as too many open files: a moment later there may be fewer.
            Err(_) => sleep(BETWEEN_LOOKS).await,
        }
    }
}

impl PageServer {
    /// Answers the requests of a connection. One that never shows the token, or takes no answer, is cut.
    async fn hold_connection(self: Arc<Self>, stream: TcpStream, _slot: OwnedSemaphorePermit) {
        let is_known = Arc::new(AtomicBool::new(false));
        let service = {
            let is_known = is_known.clone();
            service_fn(move |request| self.clone().answer(request, is_known.clone()))
        };
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(FOR_A_PART));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(FOR_A_REQUEST)
            .max_buf_size(MOST_HEAD_BYTES)
            .max_headers(MOST_HEADERS)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let mut connection = std::pin::pin!(connection);
        if timeout(WITHOUT_TOKEN, connection.as_mut()).await.is_ok() {
            return;
        }
        if !is_known.load(Ordering::Relaxed) {
            // A request that is just being answered is answered.
            connection.as_mut().graceful_shutdown();
            let ended = timeout(FOR_THE_LAST_ANSWER, connection.as_mut()).await;
            if ended.is_ok() || !is_known.load(Ordering::Relaxed) {
                return;
            }
        }
        let _ = connection.await;
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        is_known: Arc<AtomicBool>,
    ) -> std::result::Result<Reply, Infallible> {
        let (head, body) = request.into_parts();
        let route = match self.door.check(&head) {
            Ok(route) => route,
            Err(refused) => return Ok(reply::refusal(refused)),
        };
        if route.needs_token() {
            is_known.store(true, Ordering::Relaxed);
            *lock(&self.last_asked) = Instant::now();
            drop(lock(&self.opened).take());
        }
        Ok(match route {
            Route::Page => reply::file("text/html; charset=utf-8", page::INDEX),
            Route::File(number) => {
                let (_, kind, text) = page::FILES[number];
                reply::file(kind, text)
            }
            Route::Events => {
                let lines = events::listen(self.runner.clone(), self.listeners.clone());
                reply::events(lines)
            }
            Route::Run | Route::Content => {
                let Some(call) = read(body).await else {
                    let why = "the body is not {\"args\": [...]}";
                    return Ok(reply::refusal(Refused(StatusCode::BAD_REQUEST, why)));
                };
                self.run(call, route).await
            }
        })
    }

    /// Runs a command. The process of one that only reads ends with its answer, or if the page is gone.
    async fn run(self: Arc<Self>, call: CommandCall, route: Route) -> Reply {
        if route == Route::Run
            && self.runner.only_reads(&call)
            && let Ok(slot) = self.readers.clone().acquire_owned().await
            && let Ok(mut child) = self.runner.start_reader()
            && let Some(stdin) = child.stdin.as_mut()
            && stdin.write_all(&call.as_line()).await.is_ok()
        {
            return reply::process(child, slot, self.room.clone());
        }
        let room = self.room.clone().acquire_many_owned(MOST_FILE_BYTES);
        let room = match route {
            Route::Content => room.await.ok(),
            _ => None,
        };
        let (runner, signals) = (self.runner.clone(), self.signals.clone());
        let slot = self.slots.clone().acquire_owned().await;
        // It goes on to its end, whether the page waits or not, unless a signal stops it.
        let worked = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            match room {
                Some(room) => {
                    let read = runner.content(&call, &signals);
                    read.map(|read| reply::content(read, room))
                }
                None => runner.document(&call, &signals).map(reply::document),
            }
        });
        match worked.await {
            Ok(Some(reply)) => reply,
            Ok(None) => {
                let why = "the page may not run this command, or not with these options";
                reply::refusal(Refused(StatusCode::FORBIDDEN, why))
            }
            _ => reply::refusal(Refused(StatusCode::SERVICE_UNAVAILABLE, "the server ends")),
        }
    }

    async fn wait_for_a_signal(&self) {
        while self.signals.check().is_ok() {
            sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until no page was there for the idle time.
    async fn wait_until_idle(&self, idle: Option<Duration>) {
        let Some(idle) = idle else {
            return std::future::pending().await;
        };
        loop {
            if Arc::strong_count(&self.listeners) > 1 {
                *lock(&self.last_asked) = Instant::now();
            }
            let asked = lock(&self.last_asked).elapsed();
            let Some(left) = idle.checked_sub(asked).filter(|left| !left.is_zero()) else {
                return;
            };
            sleep(left.min(idle / 4).max(BETWEEN_LOOKS)).await;
        }
    }
}

/// Reads the command that the page posts.
async fn read(mut body: Incoming) -> Option<CommandCall> {
    let mut bytes = Vec::new();
    let whole = async {
        while let Some(part) = reply::next_part(&mut body).await {
            let part: Bytes = part?;
            if bytes.len() + part.len() > MOST_BODY_BYTES {
                return None;
            }
            bytes.extend_from_slice(&part);
        }
        Some(())
    };
    timeout(FOR_A_REQUEST, whole).await.ok()??;
    CommandCall::parse(&bytes)
}
