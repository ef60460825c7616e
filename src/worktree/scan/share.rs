//! Work that is given away: whoever has nothing to do is handed a part by those who have plenty.

use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where parts change hands. It ends when all who take part wait and nothing lies ready.
pub struct Exchange<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    /// How many are idle, less what lies ready for them.
    wanted: AtomicIsize,
}

struct State<J> {
    ready: Vec<J>,
    taking_part: usize,
    waiting: usize,
    is_closed: bool,
}

impl<J> Exchange<J> {
    /// One takes part from the start; `more` could join, and count as idle until then.
    pub fn new(more: usize) -> Self {
        let state = State { ready: Vec::new(), taking_part: 1, waiting: 0, is_closed: false };
        let wanted = AtomicIsize::new(isize::try_from(more).unwrap_or_default());
        Self { state: Mutex::new(state), changed: Condvar::new(), wanted }
    }

    /// Says that `more` have joined, each of which begins with [`Self::first`].
    pub fn join(&self, more: usize) {
        self.lock().taking_part += more;
    }

    /// Whether somebody would take a part.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }

    pub fn give(&self, part: J) {
        self.wanted.fetch_sub(1, Relaxed);
        self.lock().ready.push(part);
        self.changed.notify_one();
    }

    /// The first part of one who joined, whom [`Self::new`] counted as idle; as [`Self::next`] otherwise.
    pub fn first(&self) -> Option<J> {
        let mut state = self.lock();
        state.waiting += 1;
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(part) = state.ready.pop() {
                state.waiting -= 1;
                return Some(part);
            }
            if state.waiting == state.taking_part {
                state.is_closed = true;
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a part; `None` at the end.
    pub fn next(&self) -> Option<J> {
        self.wanted.fetch_add(1, Relaxed);
        self.first()
    }

    /// Ends it early: nobody gets anything any more.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn all_that_is_given_is_done_once_and_then_everybody_goes() {
        let exchange = Exchange::new(3);
        let done = AtomicU64::new(0);
        let work = |mut part: Option<u64>| {
            while let Some(number) = part {
                done.fetch_add(number, Relaxed);
                if number > 1 {
                    exchange.give(number / 2);
                    exchange.give(number / 2);
                }
                part = exchange.next();
            }
        };
        std::thread::scope(|scope| {
            exchange.join(3);
            for _ in 0..3 {
                scope.spawn(|| work(exchange.first()));
            }
            work(Some(1 << 10));
        });
        assert_eq!(done.into_inner(), 11 << 10);
    }

    #[test]
    fn who_closes_it_sends_all_home() {
        let exchange: Exchange<u8> = Exchange::new(1);
        std::thread::scope(|scope| {
            exchange.join(1);
            scope.spawn(|| assert_eq!(exchange.first(), None));
            exchange.close();
        });
        exchange.give(1);
        assert_eq!(exchange.next(), None);
    }
}
