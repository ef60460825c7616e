//! Tells the page that the store has changed, whoever changed it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::sleep;

use crate::ops::browse::store_position::position;

/// Time between two looks at the store.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// Time after which a page that is told nothing hears that the server is there.
const BETWEEN_SIGNS: Duration = Duration::from_secs(15);

/// The position of the store, for each page that listens.
#[derive(Clone, Debug)]
pub struct StorePosition {
    position: Arc<watch::Sender<String>>,
    begins: Arc<Notify>,
    base: PathBuf,
    root: PathBuf,
    may_change: bool,
}

impl StorePosition {
    pub fn new(base: PathBuf, root: PathBuf, may_change: bool) -> Self {
        Self {
            position: Arc::new(watch::Sender::new(position(&base, &root))),
            begins: Arc::default(),
            base,
            root,
            may_change,
        }
    }

    /// Returns how many pages listen.
    pub fn listeners(&self) -> usize {
        self.position.receiver_count()
    }

    /// Looks at the store for as long as a page listens.
    pub async fn watch(self) {
        loop {
            if self.listeners() == 0 {
                self.begins.notified().await;
            }
            let now = position(&self.base, &self.root);
            self.position.send_if_modified(|known| {
                let has_changed = *known != now;
                *known = now;
                has_changed
            });
            sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Returns the lines for one page; the first one says where the store is now.
    pub fn listen(&self) -> mpsc::Receiver<Bytes> {
        let (sender, lines) = mpsc::channel(1);
        tokio::spawn(tell(self.position.subscribe(), self.may_change, sender));
        self.begins.notify_one();
        lines
    }
}

async fn tell(mut position: watch::Receiver<String>, may_change: bool, lines: mpsc::Sender<Bytes>) {
    let line_of = |position: &str| {
        let event = json!({ "position": position, "may_change": may_change, "can_patch": true });
        format!("data: {event}\n\n")
    };
    let mut line = line_of(&position.borrow_and_update());
    while lines.send(Bytes::from(line)).await.is_ok() {
        line = tokio::select! {
            changed = position.changed() => match changed {
                Ok(()) => line_of(&position.borrow_and_update()),
                Err(_) => return,
            },
            () = sleep(BETWEEN_SIGNS) => ":\n\n".to_owned(),
            () = lines.closed() => return,
        };
    }
}
