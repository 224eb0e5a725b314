//! How long before the end of a read its thread should be told (Shin 2017, section 4.3.2, whose window is
//! fixed; feedback is its future work).
//!
//! The right window is the time from the notice to the thread on its core. Its mean is of no use: where cores
//! are busy, a few threads come very late, and a window for those would have all the others spin, which costs
//! them their place in the scheduler. So feedback follows a quantile: a thread that came late makes the
//! window longer by a quarter, one that came in time shorter by a twelfth, and the window rests where 72 %
//! come in time (stochastic approximation, Robbins and Monro 1951: ln 1.25 × 28 % = -ln(11/12) × 72 %).
//!
//! That holds for delays that a window can hide. A thread that spins uses its share of the core; one that has
//! used more than its share is not let go first any more when it is woken, comes late, and would with a
//! longer window come later still. So a thread that had to wait its turn makes the window shorter, however
//! late it comes, until the scheduler lets it go first again. So does a delay that is too long to hide.

use tailcut_base::Nanos;

/// Feedback stays between these: with less nothing is hidden, with more a thread spins for longer than a
/// sleep saves.
const LEAST: Nanos = Nanos::micros(1);
const MOST: Nanos = Nanos::micros(64);

/// A window, fixed or by feedback.
#[derive(Clone, Debug)]
pub struct Window {
    length: Nanos,
    has_feedback: bool,
}

impl Window {
    /// A window that begins with `length`.
    pub fn new(length: Nanos, has_feedback: bool) -> Window {
        Window { length, has_feedback }
    }

    /// How long before the end a thread is to be told.
    #[inline]
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// A thread was on its core so long after it had been told; it `waited_its_turn` if it was woken where
    /// another ran that did not make way, which a scheduler knows (Linux: `check_preempt_wakeup`). Divisions
    /// round down.
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

    /// A request takes 361 µs in figure 4.4: 27 of them in 10 ms.
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

    /// A core on which threads read in turn: one that uses more of it than its share is no longer let go
    /// first.
    struct Scheduler {
        random: Stream,
        /// What a thread's share of a core is per read, and what it uses but for spinning.
        share: u64,
        own: u64,
        /// How far it is ahead of the others, at most [`HEAD_START`].
        ahead: u64,
    }

    const HEAD_START: u64 = 12_000_000;
    const GOES_FIRST: u64 = 4_000_000;

    impl Scheduler {
        /// One read; how long it was late, and whether it waited its turn.
        fn read(&mut self, window: &mut Window, reports: bool) -> (u64, bool) {
            let waits = self.ahead < GOES_FIRST;
            let delay = 9000 + self.random.below(12_000) + if waits { self.random.below(70_000) } else { 0 };
            let spun = window.length().0.saturating_sub(delay);
            let late = delay.saturating_sub(window.length().0);
            self.ahead = (self.ahead + self.share).saturating_sub(self.own + spun).min(HEAD_START);
            window.observe(Nanos(delay), waits && reports);
            (late, waits)
        }

        /// Mean lateness of reads, and the share of them that waited their turn, once the thread has had time
        /// to get ahead.
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
