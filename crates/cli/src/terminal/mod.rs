//! Terminal output: tables, bars, progress and colours.
//!
//! Colours and progress appear on a terminal only; what goes into a file or a pipe is plain text.

pub mod bars;
mod delayed;
pub mod progress;
pub mod table;
pub mod tone;
pub mod waiting;
pub mod wrap;

pub use bars::Bars;
pub use progress::Progress;
pub use table::{Align, Table, window};
pub use tone::{ColorMode, TextRole};
pub use waiting::Waiting;
pub use wrap::wrapped;
