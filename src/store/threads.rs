//! Sharing a slice of work among threads.

/// More threads than this gain nothing on the disks that were measured.
const MOST: usize = 8;

/// Gives each thread its part of `pieces`, and the answers in the order of the parts. There is one part for each
/// `least` pieces, as far as there are processors; a single part is worked on by the caller itself.
pub fn share<P: Sync, T: Send>(pieces: &[P], least: usize, work: impl Fn(&[P]) -> T + Sync) -> Vec<T> {
    let wanted = pieces.len() / least.max(1);
    // Asking for the number of processors costs system calls.
    let parts = if wanted < 2 { 1 } else { wanted.min(MOST).min(processors()) };
    if parts < 2 {
        return vec![work(pieces)];
    }
    std::thread::scope(|scope| {
        let shares = pieces.chunks(pieces.len().div_ceil(parts));
        let threads: Vec<_> = shares.map(|part| (part, scope.spawn(|| work(part)))).collect();
        // Where a thread died, its part is done once more: what made it die is met here, and not hidden.
        threads.into_iter().map(|(part, thread)| thread.join().unwrap_or_else(|_| work(part))).collect()
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_worked_on_once_and_in_order() {
        for count in [0, 1, 5, 1000] {
            let pieces: Vec<usize> = (0..count).collect();
            let done: Vec<usize> = share(&pieces, 7, <[usize]>::to_vec).concat();
            assert_eq!(done, pieces);
        }
    }
}
