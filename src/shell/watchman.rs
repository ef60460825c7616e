//! Asks watchman what changed below a directory, over the one socket that this program opens; only if
//! the user's configuration says so.
//!
//! In watchman's binary form, BSER: in its JSON a name that is not UTF-8 is never answered.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::base::read_regular;
use crate::base::{Interrupt, Malformed, json};
use crate::ops::capture::monitor::{Changes, ChangesQuestion, WatchNote};
use crate::shell::child;

/// Time for an answer, and for the program itself.
const LIMIT: Duration = Duration::from_secs(1);
/// Time in milliseconds after which the server gives up to wait for the kernel.
const SYNC_MS: i64 = 800;
/// Bounds on an answer: bytes, and levels of lists.
const MOST_BYTES: usize = 16 << 20;
const MOST_LEVELS: usize = 8;
/// A file by which it learns that it has seen all changes.
const COOKIE: &str = ".watchman-cookie-";
/// In what the server says of a directory in whose place is another one, among others.
const NO_SIGN: &str = "sync_timeout";
/// Settings of the whole machine.
const SETTINGS: &str = "/etc/watchman.json";
/// With settings of this name it looks into some directories only in part.
const IGNORE: &[u8] = b"ignore_";

type Answer<T> = Result<T, Malformed>;

/// Answers the question of a capture, see [`crate::ops::capture::monitor::AskMonitor`].
pub fn changes(interrupt: &Interrupt, asked: &ChangesQuestion<'_>) -> Answer<Changes> {
    let root = Bser::Text(asked.root.as_os_str().as_bytes().to_vec());
    let (socket, mut server) = connect(interrupt, asked.since)?;
    if asked.is_doubted {
        server.ask(vec![text("debug-recrawl"), root])?;
        let (clock, names) = (Vec::new(), None);
        return Ok(Changes {
            socket,
            clock,
            names,
        });
    }
    let sync = (text("sync_timeout"), Bser::Number(SYNC_MS));
    if let Some(since) = asked.since {
        let options = vec![
            (text("since"), Bser::Text(since.clock.clone())),
            (text("fields"), Bser::List(vec![text("name")])),
            (text("empty_on_fresh_instance"), Bser::Flag(true)),
            sync.clone(),
        ];
        let answer = server.ask(vec![text("query"), root.clone(), Bser::Map(options)]);
        let is_fresh = |answer: &Bser| answer.get("is_fresh_instance") != Some(&Bser::Flag(false));
        if server.is_late() {
            answer?;
        } else if let Some(answer) = answer.ok().filter(|answer| !is_fresh(answer)) {
            return Ok(Changes {
                socket,
                clock: answer.clock()?,
                names: Some(answer.names()?),
            });
        }
    }
    server.ask(vec![text("watch"), root.clone()])?;
    let settings = server.ask(vec![text("get-config"), root.clone()])?;
    let mut named = settings.get("config").into_iter().flat_map(Bser::keys);
    let global = read_regular::read(Path::new(SETTINGS)).unwrap_or_default();
    let is_global = global.windows(IGNORE.len()).any(|part| part == IGNORE);
    if is_global || named.any(|key| key.starts_with(IGNORE)) {
        return Err("its settings leave out directories".into());
    }
    let answer = server.ask(vec![text("clock"), root, Bser::Map(vec![sync])])?;
    let clock = answer.clock()?;
    if has_other_settings(&clock) {
        return Err("it was started with settings of another file, WATCHMAN_CONFIG_FILE".into());
    }
    Ok(Changes {
        socket,
        clock,
        names: None,
    })
}

/// Whether the server, whose number is the third part of its clock, was started with another file of settings.
fn has_other_settings(clock: &[u8]) -> bool {
    let number = clock.split(|byte| *byte == b':').nth(2);
    let number = String::from_utf8_lossy(number.unwrap_or_default());
    let variables = read_regular::open(Path::new(&format!("/proc/{number}/environ")));
    let mut all = Vec::new();
    let is_read = variables.and_then(|mut variables| variables.read_to_end(&mut all));
    let mut all = all.split(|byte| *byte == 0);
    is_read.is_err() || all.any(|variable| variable.starts_with(b"WATCHMAN_CONFIG_FILE="))
}

/// Connects to where the server was, or asks the program, which starts it if need be.
fn connect(interrupt: &Interrupt, known: Option<&WatchNote>) -> Answer<(Vec<u8>, WatchServer)> {
    let former = known.map(|known| known.socket.clone());
    if let Some(socket) = former
        && let Ok(server) = WatchServer::at(&socket)
    {
        return Ok((socket, server));
    }
    let said = child::watchman_socket(interrupt, LIMIT)?;
    let said: json::Value = json::parse(&said).map_err(|_| "it does not say where it is")?;
    let socket = said.get("sockname").and_then(json::Value::as_str);
    let socket = socket
        .ok_or("it does not say where it is")?
        .as_bytes()
        .to_vec();
    let server = WatchServer::at(&socket).map_err(|why| format!("it cannot be reached: {why}"))?;
    Ok((socket, server))
}

struct WatchServer(BufReader<Timed>);

/// A connection on which an answer is awaited until a moment, however it comes.
struct Timed {
    stream: UnixStream,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl WatchServer {
    fn at(socket: &[u8]) -> io::Result<Self> {
        let path = PathBuf::from(OsString::from_vec(socket.to_vec()));
        let found = path.symlink_metadata()?;
        let is_ours = found.uid() == Path::new("/proc/self").metadata()?.uid();
        if !is_ours || !found.file_type().is_socket() {
            return Err(io::Error::other("its socket is another user's"));
        }
        let stream = UnixStream::connect(path)?;
        stream.set_write_timeout(Some(LIMIT))?;
        let until = Instant::now();
        Ok(Self(BufReader::new(Timed { stream, until })))
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.0.get_ref().until
    }

    fn ask(&mut self, words: Vec<Bser>) -> Answer<Bser> {
        let answer = self.exchange(words).map_err(|why| match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                "it did not answer within a second".into()
            }
            _ => Malformed::from(why.to_string()),
        })?;
        match answer.get("error") {
            Some(Bser::Text(why)) => {
                let mut why = String::from_utf8_lossy(why).into_owned();
                // It keeps to the directory, or the `.git` in it, that was there at first.
                if [COOKIE, NO_SIGN].iter().any(|part| why.contains(part)) {
                    why.push_str("; 'watchman watch-del' with this directory lets it begin anew");
                }
                Err(why.into())
            }
            _ => Ok(answer),
        }
    }

    fn exchange(&mut self, words: Vec<Bser>) -> io::Result<Bser> {
        let (mut request, mut body) = (vec![0, 1], Vec::new());
        Bser::List(words).render(&mut body);
        Bser::Number(body.len().try_into().unwrap_or(i64::MAX)).render(&mut request);
        request.extend(body);
        let server = self.0.get_mut();
        server.until = Instant::now() + LIMIT;
        server.stream.write_all(&request)?;
        let mut begin = [0; 2];
        self.0.read_exact(&mut begin)?;
        let bad = || io::Error::other("its answer cannot be read");
        let width = number_width(*self.0.fill_buf()?.first().ok_or_else(bad)?);
        let mut number = vec![0; 1 + width.filter(|_| begin == [0, 1]).ok_or_else(bad)?];
        self.0.read_exact(&mut number)?;
        let len = Bser::parse(&mut &*number, 0).and_then(|len| len.as_len());
        let len = len.filter(|len| *len <= MOST_BYTES).ok_or_else(bad)?;
        let mut answer = vec![0; len];
        self.0.read_exact(&mut answer)?;
        Bser::parse(&mut &*answer, 0).ok_or_else(bad)
    }
}

/// A value of watchman's binary form, as far as it is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bser {
    List(Vec<Bser>),
    Map(Vec<(Bser, Bser)>),
    Text(Vec<u8>),
    Number(i64),
    Flag(bool),
    Null,
}

fn text(word: &str) -> Bser {
    Bser::Text(word.into())
}

fn number_width(kind: u8) -> Option<usize> {
    matches!(kind, 3..=6).then(|| 1 << (kind - 3))
}

impl Bser {
    fn render(&self, out: &mut Vec<u8>) {
        let len = |kind, len: usize, out: &mut Vec<u8>| {
            out.push(kind);
            Self::Number(len.try_into().unwrap_or(i64::MAX)).render(out);
        };
        match self {
            Self::List(items) => {
                len(0, items.len(), out);
                for item in items {
                    item.render(out);
                }
            }
            Self::Map(pairs) => {
                len(1, pairs.len(), out);
                for (key, value) in pairs {
                    key.render(out);
                    value.render(out);
                }
            }
            Self::Text(bytes) => {
                len(2, bytes.len(), out);
                out.extend(bytes);
            }
            Self::Number(number) => {
                out.push(6);
                out.extend(number.to_ne_bytes());
            }
            Self::Flag(flag) => out.push(if *flag { 8 } else { 9 }),
            Self::Null => out.push(10),
        }
    }

    /// `None` if the bytes are no value, or one that is not used here.
    fn parse(input: &mut &[u8], level: usize) -> Option<Self> {
        let (kind, rest) = input.split_first().filter(|_| level < MOST_LEVELS)?;
        *input = rest;
        let mut len = || Self::parse(input, level + 1)?.as_len();
        Some(match kind {
            0 => {
                let len = len()?;
                Self::List(
                    (0..len)
                        .map(|_| Self::parse(input, level + 1))
                        .collect::<Option<_>>()?,
                )
            }
            1 => {
                let len = len()?;
                let mut pair = || {
                    Some((
                        Self::parse(input, level + 1)?,
                        Self::parse(input, level + 1)?,
                    ))
                };
                Self::Map((0..len).map(|_| pair()).collect::<Option<_>>()?)
            }
            2 => {
                let (bytes, rest) = len().and_then(|len| input.split_at_checked(len))?;
                *input = rest;
                Self::Text(bytes.to_vec())
            }
            3..=6 => {
                let (bytes, rest) = input.split_at_checked(number_width(*kind)?)?;
                *input = rest;
                Self::Number(match *bytes {
                    [byte] => i8::from_ne_bytes([byte]).into(),
                    [a, b] => i16::from_ne_bytes([a, b]).into(),
                    _ if bytes.len() == 4 => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
                    _ => i64::from_ne_bytes(bytes.try_into().ok()?),
                })
            }
            8 | 9 => Self::Flag(*kind == 8),
            10 => Self::Null,
            _ => return None,
        })
    }

    fn as_len(&self) -> Option<usize> {
        match self {
            Self::Number(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else { return None };
        let found = pairs.iter().find(|(name, _)| *name == text(key));
        found.map(|(_, value)| value)
    }

    fn keys(&self) -> Vec<&[u8]> {
        let Self::Map(pairs) = self else {
            return Vec::new();
        };
        let names = pairs.iter().filter_map(|(name, _)| name.as_bytes());
        names.collect()
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn clock(&self) -> Answer<Vec<u8>> {
        let clock = self.get("clock").and_then(Self::as_bytes);
        Ok(clock.ok_or("it has no clock")?.to_vec())
    }

    fn names(&self) -> Answer<Vec<Vec<u8>>> {
        let Some(Self::List(files)) = self.get("files") else {
            return Err("it names no files".into());
        };
        let names = files.iter().map(|file| file.as_bytes().map(<[u8]>::to_vec));
        let names: Option<_> = names.collect();
        names.ok_or_else(|| "it names no files".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_not() {
        let all = Bser::Map(vec![
            (
                text("files"),
                Bser::List(vec![text("a"), Bser::Text(vec![0xff])]),
            ),
            (text("clock"), Bser::Number(-7)),
            (
                text("fresh"),
                Bser::List(vec![Bser::Flag(true), Bser::Null]),
            ),
        ]);
        let mut bytes = Vec::new();
        all.render(&mut bytes);
        assert_eq!(Bser::parse(&mut &*bytes, 0), Some(all));
        for cut in 0..bytes.len() {
            assert_eq!(Bser::parse(&mut &bytes[..cut], 0), None, "cut at {cut}");
        }
        let deep = [0, 3, 1].repeat(1 << 20);
        assert_eq!(Bser::parse(&mut &*deep, 0), None);
        let small = [3, 255, 4, 2, 1, 5, 0, 0, 1, 0];
        let mut rest = &small[..];
        let numbers = [(); 3].map(|()| Bser::parse(&mut rest, 0));
        assert_eq!(
            numbers,
            [-1, 0x0102, 0x1_0000].map(|n| Some(Bser::Number(n)))
        );
    }
}
