//! Threads for items of work that do not depend on each other: runs of studies, comparisons and calibrations.
//!
//! Written here and not rayon's: the caller takes results as they come, shows progress in between and stops
//! what is under way. Around rayon's scope this would be the same channel and the same loop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// True once work is to stop; called often, by every thread.
pub type IsOver<'p> = dyn Fn() -> bool + Sync + 'p;

/// As many threads as there are jobs. Results do not depend on their number.
pub struct ThreadPool<'p> {
    jobs: usize,
    is_over: &'p IsOver<'p>,
}

/// What the caller of [`ThreadPool::each`] is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<R> {
    /// The result of the item with this index.
    Result(usize, R),
    /// Some time has passed: progress can be shown.
    Tick,
}

impl<'p> ThreadPool<'p> {
    /// A pool of `jobs` threads; of one for each core if that is `None`. It begins nothing new once
    /// `is_over`.
    pub fn new(jobs: Option<usize>, is_over: &'p IsOver<'p>) -> ThreadPool<'p> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        ThreadPool { jobs: jobs.unwrap_or_else(cores).max(1), is_over }
    }

    /// Calls `take` on this thread with each result as it comes, and with ticks a few times a second. `work`
    /// gets an item and a function that returns true once it is to stop early. Returns once every thread has
    /// ended: all items are done, or `is_over`, or `take` has broken off; results that come after that are
    /// passed on as well.
    pub fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T, &IsOver<'_>) -> R + Sync,
        take: &mut dyn FnMut(Event<R>) -> ControlFlow<()>,
    ) {
        let (next, has_broken) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_over = || has_broken.load(Ordering::Relaxed) || (self.is_over)();
        let (found, results) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(items.len()) {
                let (found, next, work, is_over) = (found.clone(), &next, &work, &is_over);
                scope.spawn(move || {
                    while !is_over() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(index) else { return };
                        // The receiver lives as long as the scope.
                        let _ = found.send((index, work(item, is_over)));
                    }
                });
            }
            drop(found);
            loop {
                let event = match results.recv_timeout(TICK) {
                    Ok((index, result)) => Event::Result(index, result),
                    Err(RecvTimeoutError::Timeout) => Event::Tick,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                if take(event).is_break() {
                    has_broken.store(true, Ordering::Relaxed);
                }
            }
        });
    }

    /// What `work` returns for each item, in their order; `None` for items that were not begun before the
    /// stop. `report` is called a few times a second with the number of items done.
    pub fn run<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T, &IsOver<'_>) -> R + Sync,
        report: &mut dyn FnMut(usize),
    ) -> Vec<Option<R>> {
        self.run_until(items, work, &|_| false, report)
    }

    /// As [`ThreadPool::run`], but stops after a result that `is_last`.
    pub fn run_until<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T, &IsOver<'_>) -> R + Sync,
        is_last: &dyn Fn(&R) -> bool,
        report: &mut dyn FnMut(usize),
    ) -> Vec<Option<R>> {
        let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut done = 0;
        self.each(items, work, &mut |event| {
            let mut flow = ControlFlow::Continue(());
            if let Event::Result(index, result) = event {
                if is_last(&result) {
                    flow = ControlFlow::Break(());
                }
                results[index] = Some(result);
                done += 1;
            }
            report(done);
            flow
        });
        results
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
            let square = |item: &u64, _: &IsOver<'_>| item * item;
            let found = ThreadPool::new(Some(jobs), &|| false).run(&items, square, &mut |_| {});
            assert!(found.iter().zip(&items).all(|(found, item)| *found == Some(item * item)));
        }
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let found = ThreadPool::new(Some(2), &|| true).run(&[1, 2, 3], |item, _| *item, &mut |_| {});
        assert_eq!(found, [None, None, None]);
    }

    #[test]
    fn work_under_way_is_told_of_the_last_result() {
        // The second item ends only because the first was the last, which ends once the second has begun.
        let has_begun = AtomicBool::new(false);
        let work = |&item: &u64, is_over: &IsOver<'_>| {
            has_begun.fetch_or(item == 2, Ordering::Relaxed);
            while !(has_begun.load(Ordering::Relaxed) && (item == 1 || is_over())) {
                thread::yield_now();
            }
            item
        };
        let items = [1, 2, 3, 4];
        let found =
            ThreadPool::new(Some(2), &|| false).run_until(&items, work, &|&item| item == 1, &mut |_| {});
        assert_eq!(found[..2], [Some(1), Some(2)]);
    }
}
