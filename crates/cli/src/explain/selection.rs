//! Which requests of a run are explained.

use super::arguments::ExplainArguments;
use super::kept::Slow;
use tailcut_base::config::Choice;
use tailcut_base::{Class, Op};
use tailcut_sim::report::class_kind;

/// A part of the requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// All requests.
    All,
    /// The requests of one kind.
    Kind(Op),
    /// The reads of one class.
    Class(Class),
}

impl Selection {
    /// The user's selection.
    pub(super) fn new(arguments: &ExplainArguments) -> Selection {
        match (arguments.class, arguments.kind) {
            (Some(class), _) => Selection::Class(class),
            (None, Some(kind)) => Selection::Kind(kind),
            (None, None) => Selection::All,
        }
    }

    /// The name that reports and curves have for it.
    pub(super) fn name(self) -> String {
        match self {
            Selection::All => "all".into(),
            Selection::Kind(op) => op.name().into(),
            Selection::Class(class) => class_kind(class),
        }
    }

    /// True when it holds the requests that the table of waits calls `kind`, where reads of several classes
    /// stand apart.
    pub(super) fn holds(self, kind: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Kind(op) => kind == op.name() || kind.starts_with(&format!("{} class ", op.name())),
            Selection::Class(class) => kind == class_kind(class),
        }
    }

    /// True when it holds a slow request.
    pub(super) fn holds_slow(self, slow: &Slow) -> bool {
        match self {
            Selection::All => true,
            Selection::Kind(op) => slow.op == op.name(),
            Selection::Class(class) => slow.op == Op::Read.name() && slow.class == u64::from(class.number()),
        }
    }
}
