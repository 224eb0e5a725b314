//! A sign of life while something of unknown length is read.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// A spinner on standard error; goes away when it is dropped. Shows nothing where standard error
/// is no terminal.
pub struct Waiting(Option<ProgressBar>);

impl Waiting {
    /// Shows `what` while a file is read that is large enough to take a while.
    pub fn for_file(file: &Path, what: &'static str, quiet: bool) -> Waiting {
        let is_long = std::fs::metadata(file).is_ok_and(|data| data.len() > LONG_BYTES);
        if is_long { Waiting::new(what, quiet) } else { Waiting(None) }
    }

    /// Shows a spinner with the text `what` until it is dropped; nothing if `quiet` or off a terminal.
    #[expect(clippy::missing_panics_doc, reason = "the template is a constant")]
    pub fn new(what: impl Into<String>, quiet: bool) -> Waiting {
        if quiet || !std::io::stderr().is_terminal() {
            return Waiting(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}, {elapsed}").expect("a good template"));
        bar.set_message(what.into());
        bar.enable_steady_tick(Duration::from_millis(200));
        Waiting(Some(bar))
    }

    /// Replaces the text beside the spinner.
    pub fn show(&self, what: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(what);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// A compressed trace of this size takes a second or so.
const LONG_BYTES: u64 = 8 << 20;
