//! The command line of `tailcut advise`.

use super::Layouts;
use super::catalogue::LayoutGroup;
use super::cost::Prices;
use crate::compare::arguments::CommonOptions;
use crate::failure::Failure;
use crate::sweep::Promise;
use crate::value_parsers::preset;
use clap::Args;
use std::path::PathBuf;
use tailcut_base::BadValue;
use tailcut_base::quantity::{parse_bytes, parse_count};
use tailcut_ssd::Preset;

/// `tailcut advise`.
#[derive(Debug, Args)]
pub struct AdviseArguments {
    /// Scenario (TOML) with drive and workload; default: the built-in one
    pub scenario: Option<PathBuf>,
    /// The workload.
    #[command(flatten)]
    pub common: CommonOptions,
    /// SLO, such as "p99.99(read) < 1ms, write >= 200MB/s, life >= 3y"
    #[arg(long, value_name = "PROMISE", value_parser = promise)]
    pub promise: Promise,
    /// What may be bought.
    #[command(flatten)]
    pub offer: Offer,
    /// Maximum number of requests per run
    #[arg(long, value_name = "N", default_value = "20M", value_parser = requests)]
    pub most_requests: u64,
    /// Folder for the results and for finished runs, which later searches reuse
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pub out: PathBuf,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Number of parallel runs; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What may be bought: drives, layouts and their prices.
#[derive(Debug, Args)]
pub struct Offer {
    /// Drive model to consider, such as m-32g; default: the scenario's
    #[arg(long = "drive", value_name = "PRESET", value_parser = preset)]
    drives: Vec<Preset>,
    /// Amount of data to store, such as 20GB; default: what the scenario fills of its drive
    #[arg(long, value_name = "SIZE", value_parser = size)]
    data: Option<u64>,
    /// Maximum number of drives
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    most_drives: u32,
    /// Consider only configurations that survive the loss of a drive
    #[arg(long)]
    survive: bool,
    /// Consider these layouts only: one, md, raid0, raid5, mirror, swan
    #[arg(long, value_name = "LAYOUT,…", value_delimiter = ',', value_parser = LayoutGroup::by_name)]
    only: Vec<LayoutGroup>,
    /// Set the advice against the cheapest arrangement with this layout, such as md, that keeps the promise
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutGroup::by_name)]
    against: Option<LayoutGroup>,
    /// Price of a GB of raw flash and of a drive, such as tlc=0.06,drive=15; default: cost by cells alone
    #[arg(long, value_name = "WHAT=PRICE,…", value_parser = prices)]
    price: Option<Prices>,
    /// Read prices from a TOML file: slc, mlc, tlc, qlc, drive, unit, and a table "drives" by preset
    #[arg(long, value_name = "FILE", conflicts_with = "price")]
    price_file: Option<PathBuf>,
}

impl Offer {
    /// The kinds of drive; that of the scenario if there are none.
    pub fn drives(&self) -> &[Preset] {
        &self.drives
    }

    /// Bytes of data to store; none if that is left open.
    pub fn data(&self) -> Option<u64> {
        self.data
    }

    /// Maximum number of drives.
    pub fn most_drives(&self) -> u32 {
        self.most_drives
    }

    /// The layouts to consider.
    pub fn layouts(&self) -> Layouts {
        Layouts::new(self.survive, self.only.clone(), self.against)
    }

    /// The prices that are named here or in a file; none for those of cells.
    ///
    /// # Errors
    /// A file that cannot be read, or what is wrong in it.
    pub fn prices(&self) -> Result<Option<Prices>, Failure> {
        let Some(file) = &self.price_file else { return Ok(self.price.clone()) };
        let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        Prices::read(&text).map(Some).map_err(|bad| wrong(bad.message))
    }
}

fn promise(text: &str) -> Result<Promise, BadValue> {
    Promise::parse(text).map_err(|misread| misread.pointed(text))
}

fn prices(text: &str) -> Result<Prices, BadValue> {
    Prices::parse(text).map_err(|misread| misread.pointed(text))
}

fn size(text: &str) -> Result<u64, BadValue> {
    let bytes = parse_bytes(text)?;
    if bytes > 0 { Ok(bytes) } else { Err(BadValue::new("something is stored; write 20GB, say")) }
}

fn requests(text: &str) -> Result<u64, BadValue> {
    let count = parse_count(text)?;
    if count >= LEAST {
        Ok(count)
    } else {
        Err(BadValue::new(format!("a run takes {LEAST} requests at least")))
    }
}

const LEAST: u64 = super::judge::LEAST;

/// The folder of a search when no other is named.
pub const DEFAULT_FOLDER: &str = "tailcut-advise";
