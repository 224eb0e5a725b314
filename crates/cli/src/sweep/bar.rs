//! The progress of a sweep on the terminal.

use super::Progress;
use crate::terminal;

/// The progress of a sweep, counting what has to be run now.
pub struct Bar {
    bar: terminal::Progress,
    /// The number of runs finished before.
    before: Option<u64>,
}

impl Bar {
    /// The progress of something called `label`.
    pub fn new(label: &'static str, quiet: bool) -> Bar {
        Bar { bar: terminal::Progress::counting("runs", label, None, quiet), before: None }
    }

    /// Shows the progress of the sweep.
    pub fn show(&mut self, progress: Progress) {
        let before = *self.before.get_or_insert(progress.done);
        self.bar.expect(Some(progress.all - before));
        self.bar.count(progress.done - before);
    }
}
