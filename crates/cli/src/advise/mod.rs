//! `tailcut advise`: the cheapest arrangement that keeps a promise.
//!
//! [`advise`] is the whole of it for a program; [`command`] is the command around it.

pub mod arguments;
pub mod arrangement;
pub mod catalogue;
pub mod command;
pub mod cost;
pub mod judge;
mod offered;
pub mod page;
pub mod results;
mod search;

pub use results::Advice;

use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::sweep::{Progress, Promise};
use arrangement::Arrangements;
use catalogue::{Layout, LayoutGroup};
use cost::Prices;
use search::Search;
use std::path::PathBuf;
use tailcut_ssd::Preset;

/// A request for advice.
#[derive(Debug)]
pub struct Request {
    /// The drive and the workload, as `tailcut run` takes them.
    pub base: RunArguments,
    /// The requirements that an arrangement must meet.
    pub promise: Promise,
    /// The kinds of drive that can be bought; that of the scenario if there are none.
    pub drives: Vec<Preset>,
    /// Bytes of data that are stored; what the scenario fills or uses of its drive where it is left open.
    pub data: Option<u64>,
    /// Maximum number of drives of an arrangement.
    pub most_drives: u32,
    /// Which layouts are considered.
    pub layouts: Layouts,
    /// The prices of flash and drives by which arrangements are ordered.
    pub prices: Prices,
    /// Maximum number of requests of each run.
    pub most_requests: u64,
    /// The folder in which finished runs are kept, and found again; nowhere if there is none.
    pub out: Option<PathBuf>,
    /// Number of runs at a time; `None` for one per core.
    pub jobs: Option<usize>,
}

/// The layouts that advice is to choose from, and those to set its choice against.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    /// Only layouts that survive the loss of a drive.
    survive: bool,
    /// What may be advised; everything if there are none.
    only: Vec<LayoutGroup>,
    /// The layouts whose cheapest arrangement that keeps the promise is searched as well.
    against: Option<LayoutGroup>,
}

impl Layouts {
    /// Those of `only`, or all if there are none, and those that the advice is set against; if `survive`,
    /// only layouts that survive the loss of a drive.
    pub fn new(survive: bool, only: Vec<LayoutGroup>, against: Option<LayoutGroup>) -> Layouts {
        Layouts { survive, only, against }
    }

    /// Whether arrangements with this layout are tried.
    pub fn include(&self, layout: &Layout) -> bool {
        (layout.survives_a_drive || !self.survive)
            && (self.offers(layout.name) || self.is_against(layout.name))
    }

    /// Whether an arrangement with this layout may be advised.
    pub fn offers(&self, layout: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|group| group.has(layout))
    }

    /// The layouts that the advice is set against.
    pub fn against(&self) -> Option<LayoutGroup> {
        self.against
    }

    /// Whether the advice is set against arrangements with this layout.
    pub fn is_against(&self, layout: &str) -> bool {
        self.against.is_some_and(|group| group.has(layout))
    }
}

/// Searches the catalogue in the order of cost. `is_over` is asked now and then whether to stop: the advice
/// is then of what is known. `tell` hears how far it is, a few times a second. Also returns the scenario of
/// each arrangement that was tried, as TOML.
///
/// # Errors
/// A scenario that is wrong, a catalogue in which nothing holds the data, finished runs that cannot be kept.
pub fn advise(
    request: &Request,
    is_over: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(Progress),
) -> Result<(Advice, Vec<String>), Failure> {
    let arrangements = Arrangements::new(request)?;
    Search::new(request, arrangements)?.run(is_over, tell)
}
