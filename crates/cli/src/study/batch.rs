//! Work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// As many threads as there are jobs, for items of work that do not depend on each other.
pub struct Batch<'b> {
    jobs: usize,
    /// Is asked now and then whether to stop.
    is_over: &'b (dyn Fn() -> bool + Sync),
}

impl<'b> Batch<'b> {
    /// A batch on `jobs` threads; on one for each core where that is left open.
    pub fn new(jobs: Option<usize>, is_over: &'b (dyn Fn() -> bool + Sync)) -> Batch<'b> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Batch { jobs: jobs.unwrap_or_else(cores).max(1), is_over }
    }

    /// What `work` returns for each item, in their order, whatever the number of threads; `None` for items that were not
    /// begun before the stop. `report` is called a few times a second with the number of items done.
    pub fn run<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> R + Sync,
        report: &mut dyn FnMut(usize),
    ) -> Vec<Option<R>> {
        let next = AtomicUsize::new(0);
        let (found, results) = mpsc::channel();
        let mut slots: Vec<Option<R>> = items.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(items.len()) {
                let (found, next, work) = (found.clone(), &next, &work);
                scope.spawn(move || {
                    while !(self.is_over)() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(index) else { return };
                        // The receiver lives as long as the scope.
                        let _ = found.send((index, work(item)));
                    }
                });
            }
            drop(found);
            let mut done = 0;
            loop {
                match results.recv_timeout(TICK) {
                    Ok((index, result)) => {
                        slots[index] = Some(result);
                        done += 1;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                report(done);
            }
        });
        slots
    }
}

/// How often the progress is reported.
const TICK: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_their_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        for jobs in [1, 3, 200] {
            let found = Batch::new(Some(jobs), &|| false).run(&items, |item| item * item, &mut |_| {});
            assert!(found.iter().zip(&items).all(|(found, item)| *found == Some(item * item)));
        }
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let found = Batch::new(Some(2), &|| true).run(&[1, 2, 3], |item| *item, &mut |_| {});
        assert_eq!(found, [None, None, None]);
    }
}
