//! Jobs on several threads whose results are wanted together.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does jobs on some threads: the results in the order of the jobs. After an error, or when `stop` is set, no more begin; of several errors the
/// first in that order counts.
pub(crate) fn in_parallel<J: Sync, T: Send, E: Send>(
    jobs: &[J],
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(&J) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(Vec::new());
    let worker = || {
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            let result = work(job);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| (0..threads.max(1)).for_each(|_| _ = scope.spawn(worker)));
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_their_jobs_and_an_error_ends_the_rest() {
        let jobs: Vec<u32> = (0..100).collect();
        let go = AtomicBool::new(false);
        let squares = in_parallel(&jobs, 3, &go, |job| Ok::<_, u32>(job * job)).unwrap();
        assert!(squares.iter().zip(&jobs).all(|(square, job)| *square == job * job) && squares.len() == 100);
        let done = AtomicUsize::new(0);
        let failed = in_parallel(&jobs, 1, &go, |job| {
            done.fetch_add(1, Ordering::Relaxed);
            if *job < 5 { Ok(()) } else { Err(*job) }
        });
        assert_eq!((failed, done.into_inner()), (Err(5), 6));
        go.store(true, Ordering::Relaxed);
        assert_eq!(in_parallel(&jobs, 2, &go, |job| Ok::<_, u32>(*job)), Ok(Vec::new()));
    }
}
