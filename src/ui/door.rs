//! The door: which requests are answered. The loopback interface is no boundary: any page that the
//! browser shows, and any user of this machine, can reach it.

use std::net::IpAddr;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode, Version};

/// Bytes of the token.
const TOKEN_BYTES: usize = 32;
/// The header that has the token.
const TOKEN: HeaderName = HeaderName::from_static("x-token");
/// Upper bound on the body of a request.
pub const MOST_BODY_BYTES: usize = 1 << 20;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Page,
    /// A file of the page, by its number.
    File(usize),
    Run,
    Content,
    Events,
}

impl Route {
    fn method(self) -> Method {
        match self {
            Self::Page | Self::File(_) | Self::Events => Method::GET,
            Self::Run | Self::Content => Method::POST,
        }
    }

    /// Whether it tells or does anything that not every program ships.
    pub fn needs_token(self) -> bool {
        !matches!(self, Self::Page | Self::File(_))
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub StatusCode, pub &'static str);

fn refuse<T>(status: StatusCode, why: &'static str) -> Result<T, Refused> {
    Err(Refused(status, why))
}

/// The secret of one run of the server.
#[derive(Clone)]
pub struct PageToken(String);

impl PageToken {
    /// Makes a new one; `None` if the system has no random numbers.
    pub fn random() -> Option<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(hex::encode(bytes)))
    }

    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// Whether a text is this token; the time does not depend on where they differ.
    fn is(&self, given: &[u8]) -> bool {
        let pairs = self.0.as_bytes().iter().zip(given);
        let differing = pairs.fold(0, |all, (one, other)| {
            all | std::hint::black_box(one ^ other)
        });
        given.len() == self.0.len() && differing == 0
    }
}

/// The door of one server.
pub struct Door {
    pub port: u16,
    pub token: PageToken,
    /// The names of the files of the page.
    pub files: Vec<&'static str>,
}

impl Door {
    /// Returns what a request asks for.
    ///
    /// # Errors
    /// It does not come from the page, or asks for nothing that there is.
    pub fn check(&self, head: &Parts) -> Result<Route, Refused> {
        let headers = &head.headers;
        let bad = |why| refuse(StatusCode::BAD_REQUEST, why);
        if head.version != Version::HTTP_11 {
            return bad("only HTTP/1.1 is spoken");
        }
        if head.uri.authority().is_some() || head.uri.scheme().is_some() {
            return bad("the target is no path");
        }
        let host = single(headers, &header::HOST).and_then(|host| host.to_str().ok());
        let Some(host) = host.filter(|host| self.is_ours(host)) else {
            return refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "the host is not this server",
            );
        };
        let route = self.route(head.uri.path())?;
        if head.uri.query().is_some() {
            return bad("there are no queries");
        }
        check_origin(headers, host, route)?;
        if head.method != route.method() {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "the method is another");
        }
        check_body(headers, route)?;
        let given = single(headers, &TOKEN).map(HeaderValue::as_bytes);
        if route.needs_token() && !given.is_some_and(|given| self.token.is(given)) {
            return refuse(StatusCode::UNAUTHORIZED, "the token is missing or another");
        }
        Ok(route)
    }

    /// Whether a `Host` is an address or name of this machine alone, with our port.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (host, "80"),
        };
        let inner = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let ip = inner.unwrap_or(name).parse::<IpAddr>();
        let is_loopback = match ip {
            Ok(ip) => ip.is_loopback() && ip.is_ipv6() == inner.is_some(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        is_loopback && port == self.port.to_string()
    }

    fn route(&self, path: &str) -> Result<Route, Refused> {
        let file = || {
            let name = path.strip_prefix("/page/")?;
            self.files.iter().position(|known| *known == name)
        };
        match path {
            "/" => Ok(Route::Page),
            "/api/run" => Ok(Route::Run),
            "/api/content" => Ok(Route::Content),
            "/api/events" => Ok(Route::Events),
            _ => {
                let nothing = Refused(StatusCode::NOT_FOUND, "there is nothing of this name");
                file().map(Route::File).ok_or(nothing)
            }
        }
    }
}

/// Returns the only header of a name.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h HeaderValue> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())
}

/// Refuses what another page asks for; whoever opens the page may come from anywhere.
fn check_origin(headers: &HeaderMap, host: &str, route: Route) -> Result<(), Refused> {
    let text = |name: &str| {
        let name = HeaderName::try_from(name).ok()?;
        single(headers, &name)?.to_str().ok()
    };
    let foreign = refuse(StatusCode::FORBIDDEN, "the request comes from another page");
    if headers.contains_key(header::ORIGIN)
        && text("origin") != Some(format!("http://{host}").as_str())
    {
        return foreign;
    }
    if !headers.contains_key("sec-fetch-site") || text("sec-fetch-site") == Some("same-origin") {
        return Ok(());
    }
    let opens =
        text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
    if route == Route::Page && opens {
        Ok(())
    } else {
        foreign
    }
}

/// Refuses a body without a length before it, and what could be taken for a second request.
fn check_body(headers: &HeaderMap, route: Route) -> Result<(), Refused> {
    let bad = |why| refuse(StatusCode::BAD_REQUEST, why);
    if headers.contains_key(header::TRANSFER_ENCODING) || headers.contains_key(header::UPGRADE) {
        return bad("the body has to come as it is");
    }
    let length = single(headers, &header::CONTENT_LENGTH);
    if length.is_none() && headers.contains_key(header::CONTENT_LENGTH) {
        return bad("there are several lengths");
    }
    let length = length.map(|length| length.to_str().unwrap_or_default().parse::<usize>());
    let kind = single(headers, &header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    match (length, route.method() == Method::GET) {
        (None | Some(Ok(0)), true) => Ok(()),
        (_, true) => bad("this request has no body"),
        (Some(Ok(length)), _) if length > MOST_BODY_BYTES => {
            refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long")
        }
        (None | Some(Err(_)), _) => refuse(StatusCode::LENGTH_REQUIRED, "the length is missing"),
        _ if kind == Some(b"application/json") => Ok(()),
        _ => refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not JSON"),
    }
}
