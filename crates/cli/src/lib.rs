//! The `tailcut` command: arguments, scenarios, tables, progress and result files.
//!
//! A library so that its parts can be tested, and for the package for Python (`crates/py`); the binary calls
//! [`command::main`].

#![allow(clippy::disallowed_types, reason = "a command runs in real time")]

/// Prints a line on standard error, unless that is closed or full, where `eprintln!` would panic.
#[macro_export]
#[doc(hidden)]
macro_rules! tell {
    ($($part:tt)*) => {{
        // Ignored: standard error is where this would be reported.
        let line = format!("{}\n", format_args!($($part)*));
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }};
}

pub mod advise;
pub mod arguments;
pub mod bench;
pub mod calibrate;
pub mod command;
pub mod compare;
pub mod completion;
pub mod ctl;
pub mod demo;
pub mod explain;
pub mod failure;
pub mod format;
pub mod generate;
pub mod help;
pub mod html;
pub mod import;
pub mod interrupt;
pub mod output;
pub mod pool;
pub mod probe;
pub mod pts;
pub mod report;
pub mod run;
pub mod scenario;
pub mod serve;
pub mod show;
pub mod size;
pub mod study;
pub mod sweep;
pub mod terminal;
pub mod torture;
pub mod trace;
pub mod value_parsers;
