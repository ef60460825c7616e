//! Tells the page that the store has changed, whoever changed it.

use std::io::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::ops::find_root::store_position;
use crate::ui::front::Runner;

/// Time between two looks at the store, for each page that listens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Time after which a page without an event learns that the server is there.
const BETWEEN_SIGNS: Duration = Duration::from_secs(15);

/// Returns the lines for one page, which first say where the store is now. While the page listens, it
/// holds a `listener`.
pub fn listen(runner: Runner, listener: Arc<()>) -> mpsc::Receiver<Result<Bytes>> {
    let (sender, lines) = mpsc::channel(1);
    tokio::spawn(tell(runner, listener, sender));
    lines
}

async fn tell(runner: Runner, _listener: Arc<()>, lines: mpsc::Sender<Result<Bytes>>) {
    let (mut known, mut sent) = (None, Instant::now());
    loop {
        let now = Some(store_position(&runner.base, &runner.root));
        let may_change = runner.may_change;
        let event = json!({ "position": now, "may_change": may_change });
        let line = match () {
            () if known != now => format!("data: {event}\n\n"),
            () if sent.elapsed() >= BETWEEN_SIGNS => ":\n\n".to_owned(),
            () => String::new(),
        };
        if !line.is_empty() {
            (known, sent) = (now, Instant::now());
            if lines.send(Ok(Bytes::from(line))).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = sleep(BETWEEN_LOOKS) => {}
            () = lines.closed() => return,
        }
    }
}
