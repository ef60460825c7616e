//! Work shared among threads: a list of units that may grow while it is worked on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

/// What is still to be done.
pub struct Units<U> {
    state: Mutex<State<U>>,
    changed: Condvar,
}

struct State<U> {
    left: Vec<U>,
    /// How many are being worked on: each of them may add more.
    busy: usize,
    failed: bool,
}

/// Works on every unit, the last one first, and on those that are added meanwhile. The results come in no order.
///
/// # Errors
/// One of those that `work` met. The units that nobody had begun by then are left.
pub fn share<U: Send, T: Send>(
    workers: usize,
    units: Vec<U>,
    work: &(dyn Fn(U, &Units<U>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let units = Units { state: Mutex::new(State { left: units, busy: 0, failed: false }), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(|| units.work_off(work))).collect();
        let mut all = units.work_off(work);
        for other in others {
            match other.join() {
                Ok(theirs) => all = all.and_then(|mut all| theirs.map(|theirs| all.extend(theirs)).map(|()| all)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

impl<U> Units<U> {
    /// More to do.
    pub fn add(&self, more: impl IntoIterator<Item = U>) {
        self.state().left.extend(more);
        self.changed.notify_all();
    }

    fn work_off<T>(&self, work: &(dyn Fn(U, &Self) -> Result<T> + Sync)) -> Result<Vec<T>> {
        let mut results = Vec::new();
        while let Some(unit) = self.take() {
            let done = work(unit, self);
            self.put_down(done.is_err());
            results.push(done?);
        }
        Ok(results)
    }

    fn take(&self) -> Option<U> {
        let mut state = self.state();
        loop {
            if state.failed {
                return None;
            }
            if let Some(unit) = state.left.pop() {
                state.busy += 1;
                return Some(unit);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put_down(&self, failed: bool) {
        let mut state = self.state();
        state.busy -= 1;
        state.failed |= failed;
        if state.failed || (state.busy == 0 && state.left.is_empty()) {
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<U>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn units_that_are_added_are_worked_on_too() {
        for workers in [1, 2, 5] {
            let mut seen = share(workers, vec![5_u32, 3], &|unit, units| {
                units.add((unit > 0).then(|| unit - 1));
                Ok(unit)
            })
            .unwrap();
            seen.sort_unstable();
            assert_eq!(seen, [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]);
        }
        assert!(share(3, Vec::<u32>::new(), &|unit, _| Ok(unit)).unwrap().is_empty());
    }

    #[test]
    fn a_failure_ends_it() {
        for workers in [1, 4] {
            let ended = share(workers, (0..100).collect(), &|unit: u32, _| {
                if unit == 60 { Err(Error::unexpected("sixty".to_owned())) } else { Ok(unit) }
            });
            assert!(ended.unwrap_err().to_string().contains("sixty"));
        }
    }
}
