//! How long before the end of a read its thread should be told (Shin 2017, section 4.3.2, whose window is fixed; feedback is
//! its future work).
//!
//! The right window is the time from the notice to the thread on its core. Its mean is of no use: where cores are busy, a few
//! threads come very late, and a window for those would have all the others spin, which costs them their place in the
//! scheduler. So feedback follows a quantile: a thread that came late makes the window longer by a quarter, one that came in time
//! shorter by a twelfth, and the window rests where 72 % come in time (stochastic approximation, Robbins and Monro 1951:
//! ln 1.25 × 28 % = -ln(11/12) × 72 %). A delay that no window could hide makes it shorter as well: threads that spin much are
//! those that the scheduler lets wait, so that a longer window would make longer delays.

use tailcut_base::Nanos;

/// Feedback stays between these: with less nothing is hidden, with more a thread spins for longer than a sleep saves.
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

    /// A thread was on its core so long after it had been told. Divisions round down.
    #[inline]
    pub fn observe(&mut self, delay: Nanos) {
        if !self.has_feedback {
            return;
        }
        let is_late = delay > self.length && delay <= MOST;
        let length = if is_late { self.length + self.length / 4 } else { self.length - self.length / 12 };
        self.length = length.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_window_stays() {
        let mut window = Window::new(Nanos(8000), false);
        window.observe(Nanos(9000));
        assert_eq!(window.length(), Nanos(8000));
    }

    #[test]
    fn feedback_stays_close_to_a_steady_delay() {
        let mut window = Window::new(Nanos(2000), true);
        (0..60).for_each(|_| window.observe(Nanos(9000)));
        for _ in 0..60 {
            window.observe(Nanos(9000));
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
        (0..1000).for_each(|n| window.observe(delay(n)));
        assert!(window.length() < Nanos(16_000), "{:?}", window.length());
    }

    /// A request takes 361 µs in figure 4.4: 27 of them in 10 ms.
    #[test]
    fn feedback_follows_a_change_of_load_within_10_ms() {
        let mut window = Window::new(Nanos(2000), true);
        for delay in [5000u64, 30_000, 5000, 2000] {
            (0..27).for_each(|_| window.observe(Nanos(delay)));
            let length = window.length().0;
            assert!(
                (delay - delay / 12 - 1..=delay + delay / 4).contains(&length),
                "after {delay} ns: {length}"
            );
        }
    }
}
