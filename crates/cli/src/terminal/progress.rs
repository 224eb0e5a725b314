//! The progress of a run on standard error.

use super::delayed::Delayed;
use super::waiting::Waiting;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tailcut_base::Time;
use tailcut_base::quantity::show_count;

/// The progress of one run. Shows nothing where standard error is no terminal, and nothing during the first
/// two seconds; a sign of life after them where nothing was counted yet, as while a trace is read. Goes away
/// when it is dropped.
pub struct Progress {
    /// The current activity, in a word or two.
    label: &'static str,
    /// The things that are counted.
    things: &'static str,
    /// How many there are in all, where that is known.
    total: Option<u64>,
    started: Instant,
    bar: Option<ProgressBar>,
    /// What is shown until there is something to count.
    preparing: Option<Delayed>,
    wanted: bool,
}

impl Progress {
    /// Progress of something called `label` with `total` requests, if that is known. `quiet`
    /// shows nothing at all.
    pub fn new(label: &'static str, total: Option<u64>, quiet: bool) -> Progress {
        Progress::counting("requests", label, total, quiet)
    }

    /// Like [`Progress::new`] for other `things` than requests.
    pub fn counting(things: &'static str, label: &'static str, total: Option<u64>, quiet: bool) -> Progress {
        let wanted = !quiet && std::io::stderr().is_terminal();
        let prepare = || Delayed::new(SILENCE, move || Waiting::new(format!("{label}: preparing"), false));
        let preparing = wanted.then(prepare);
        Progress { label, things, total, started: Instant::now(), bar: None, preparing, wanted }
    }

    /// Changes how many requests there are in all, as far as is known by now.
    pub fn expect(&mut self, total: Option<u64>) {
        self.total = total;
        if let (Some(bar), Some(total)) = (&self.bar, total) {
            bar.set_length(total);
        }
    }

    /// Shows that `done` requests are answered at the simulated moment `now`. Costs a reading of
    /// the clock: call it every ten thousand requests or so, not for each.
    pub fn update(&mut self, done: u64, now: Time) {
        self.show(done, Some(now));
    }

    fn show(&mut self, done: u64, now: Option<Time>) {
        if !self.wanted {
            return;
        }
        let elapsed = self.started.elapsed();
        if elapsed < SILENCE {
            return;
        }
        // Its line must be gone before there is another one.
        self.preparing = None;
        let bar = self.bar.get_or_insert_with(|| bar(self.label, self.total));
        bar.set_position(done);
        bar.set_message(line(self.things, done, self.total, now, elapsed));
    }

    /// Shows that `done` records of a trace are read, or other things done. As rarely as
    /// [`Progress::update`].
    pub fn count(&mut self, done: u64) {
        self.show(done, None);
    }

    /// Removes the bar, so that the next output begins on a clean line.
    pub fn finish(&mut self) {
        self.preparing = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.wanted = false;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn bar(label: &'static str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(5));
    let template = if total.is_some() { "{prefix} {bar:8} {wide_msg}" } else { "{prefix} {wide_msg}" };
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar.set_prefix(label);
    bar
}

/// `12.3 M of 50.0 M requests, 1.52 s simulated, 3.40 M/s, 11 s left`; unknown parts are left out.
fn line(things: &str, done: u64, total: Option<u64>, now: Option<Time>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
    let whole = total.map_or(String::new(), |total| format!(" of {}", show_count(total as f64)));
    let remaining = total.filter(|_| rate > 0.0).map(|total| total.saturating_sub(done) as f64 / rate);
    let remaining = remaining.map_or(String::new(), |left| format!(", {} left", show_wait(left)));
    let now = now.map_or(String::new(), |now| format!(", {now} simulated"));
    // A rate below ten is of no use to the user.
    let rate = if rate < 10.0 { String::new() } else { format!(", {}/s", show_count(rate)) };
    format!("{}{whole} {things}{now}{rate}{remaining}", show_count(done as f64))
}

/// A waiting time in the coarseness of a person's patience.
fn show_wait(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 6_000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3_600)),
    }
}

/// What takes less than this needs no bar.
const SILENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        let now = Some(Time(1_520_000_000));
        let known = line("requests", 12_300_000, Some(50_000_000), now, Duration::from_secs(3));
        assert_eq!(known, "12.3 M of 50.0 M requests, 1.52 s simulated, 4.10 M/s, 10 s left");
        let unknown = line("requests", 12_300_000, None, now, Duration::from_secs(3));
        assert_eq!(unknown, "12.3 M requests, 1.52 s simulated, 4.10 M/s");
        let few = line("runs", 12, Some(36), None, Duration::from_secs(4));
        assert_eq!(few, "12 of 36 runs, 8 s left");
        assert!(known.len() < 80 - "run ".len() - 9, "it stands beside the bar in 80 columns");
    }

    #[test]
    fn remaining_time_is_coarse() {
        assert_eq!(show_wait(0.2), "1 s");
        assert_eq!(show_wait(99.5), "2 min");
        assert_eq!(show_wait(7_300.0), "3 h");
    }

    #[test]
    fn nothing_is_shown_where_nobody_looks() {
        let mut progress = Progress::new("run", Some(10), true);
        progress.update(5, Time(1));
        assert!(progress.bar.is_none());
    }
}
