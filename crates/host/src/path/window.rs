//! How long before the completion of a read its thread is notified (Shin 2017, section 4.3.2, with a fixed
//! window; feedback is its future work).
//!
//! The ideal window is the time from the notice until the thread runs on its core. Its mean is useless: on
//! busy cores a few threads run very late, and a window long enough for those makes all others spin, which
//! lowers their scheduling priority. So feedback tracks a quantile: a late thread lengthens the window by a
//! quarter, a timely one shortens it by a twelfth, and the window converges to where 72 % are timely
//! (stochastic approximation, Robbins and Monro 1951: ln 1.25 × 28 % = -ln(11/12) × 72 %).
//!
//! This applies to delays that a window can hide. Spinning consumes a thread's share of the core; a thread
//! that has exceeded its share is no longer scheduled first when woken, runs late, and would run later still
//! with a longer window. So a thread that had to wait its turn shortens the window, however late it is, until
//! the scheduler runs it first again. A delay too long to hide shortens the window as well.

use tailcut_base::Nanos;

/// Bounds of the window: a shorter one hides nothing, with a longer one a thread spins for more than a sleep
/// saves.
const LEAST: Nanos = Nanos::micros(1);
const MOST: Nanos = Nanos::micros(64);

/// A window, fixed or by feedback.
#[derive(Clone, Debug)]
pub struct Window {
    length: Nanos,
    has_feedback: bool,
}

impl Window {
    /// A window of `length`, which feedback adjusts if there is any.
    pub fn new(length: Nanos, has_feedback: bool) -> Window {
        Window { length, has_feedback }
    }

    /// How long before a completion its thread is notified.
    #[inline]
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// A thread ran `delay` after its notice. `waited_its_turn` if it was woken on a core whose current
    /// thread was not preempted, which a scheduler reports (Linux: `check_preempt_wakeup`). Divisions round
    /// down.
    #[inline]
    pub fn observe(&mut self, delay: Nanos, waited_its_turn: bool) {
        if !self.has_feedback {
            return;
        }
        let is_late = delay > self.length && delay <= MOST && !waited_its_turn;
        let length = if is_late { self.length + self.length / 4 } else { self.length - self.length / 12 };
        self.length = length.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    #[test]
    fn a_fixed_window_stays() {
        let mut window = Window::new(Nanos(8000), false);
        window.observe(Nanos(9000), false);
        assert_eq!(window.length(), Nanos(8000));
    }

    #[test]
    fn feedback_stays_close_to_a_steady_delay() {
        let mut window = Window::new(Nanos(2000), true);
        (0..60).for_each(|_| window.observe(Nanos(9000), false));
        for _ in 0..60 {
            window.observe(Nanos(9000), false);
            assert!(
                (9000 - 9000 / 12..=9000 + 9000 / 4).contains(&window.length().0),
                "{:?}",
                window.length()
            );
        }
    }

    #[test]
    fn a_few_that_come_very_late_change_little() {
        let mut window = Window::new(Nanos(2000), true);
        let delay = |n: u64| Nanos(if n.is_multiple_of(10) { 3_000_000 } else { 9000 });
        (0..1000).for_each(|n| window.observe(delay(n), false));
        assert!(window.length() < Nanos(16_000), "{:?}", window.length());
    }

    /// A request takes 361 µs in figure 4.4: 27 requests in 10 ms.
    #[test]
    fn feedback_follows_a_change_of_load_within_10_ms() {
        let mut window = Window::new(Nanos(2000), true);
        for delay in [5000u64, 30_000, 5000, 2000] {
            (0..27).for_each(|_| window.observe(Nanos(delay), false));
            let length = window.length().0;
            assert!(
                (delay - delay / 12 - 1..=delay + delay / 4).contains(&length),
                "after {delay} ns: {length}"
            );
        }
    }

    /// A core shared by reading threads: a thread that exceeds its share loses its scheduling priority.
    struct Scheduler {
        random: Stream,
        /// A thread's share of the core per read, and `own`, its use excluding spinning.
        share: u64,
        own: u64,
        /// The thread's credit over the others, at most [`HEAD_START`].
        ahead: u64,
    }

    const HEAD_START: u64 = 12_000_000;
    const GOES_FIRST: u64 = 4_000_000;

    impl Scheduler {
        /// Simulates one read. Returns its lateness, and whether it queued for the core.
        fn read(&mut self, window: &mut Window, reports: bool) -> (u64, bool) {
            let waits = self.ahead < GOES_FIRST;
            let delay = 9000 + self.random.below(12_000) + if waits { self.random.below(70_000) } else { 0 };
            let spun = window.length().0.saturating_sub(delay);
            let late = delay.saturating_sub(window.length().0);
            self.ahead = (self.ahead + self.share).saturating_sub(self.own + spun).min(HEAD_START);
            window.observe(Nanos(delay), waits && reports);
            (late, waits)
        }

        /// After a warm-up: mean lateness of reads in ns, and the fraction of reads that queued (0 to 1).
        fn run(mut self, reports: bool) -> (u64, f64) {
            let mut window = Window::new(Nanos(2000), true);
            (0..5000).for_each(|_| _ = self.read(&mut window, reports));
            let reads: Vec<(u64, bool)> = (0..5000).map(|_| self.read(&mut window, reports)).collect();
            let waited = reads.iter().filter(|(_, waited)| *waited).count() as f64;
            (reads.iter().map(|(late, _)| late).sum::<u64>() / 5000, waited / 5000.0)
        }
    }

    #[test]
    fn a_thread_keeps_its_place_if_the_scheduler_says_who_has_lost_it() {
        for seed in 0..50 {
            let mut random = Stream::new(seed, "shares");
            let (own, spare) = (10_000 + random.below(10_000), 4000 + random.below(1500));
            let scheduler = |reports: bool| {
                let random = Stream::new(seed, "scheduler");
                Scheduler { random, share: own + spare, own, ahead: 0 }.run(reports)
            };
            let (late, waited) = scheduler(true);
            assert!(waited < 0.01 && late < 2000, "seed {seed}: {late} ns late, {waited} waited");
            let (blind, lost) = scheduler(false);
            assert!(lost > 0.9 && blind > 4 * late, "seed {seed}: {blind} ns late, {lost} waited");
        }
    }

    #[test]
    fn whoever_waits_its_turn_spins_less_however_late_it_comes() {
        let mut window = Window::new(Nanos(20_000), true);
        (0..60).for_each(|_| window.observe(Nanos(30_000), true));
        assert_eq!(window.length(), LEAST);
    }
}
