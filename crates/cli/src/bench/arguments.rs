//! The command line of `tailcut bench`.

use super::block::BlockBench;
use super::kv::KvBench;
use crate::value_parsers::{positive_time, time};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tailcut_base::Nanos;

/// Commands of earlier versions that are commands of `tailcut-bench` now.
pub const NOW_OF_TAILCUT_BENCH: [&str; 4] = ["sim", "array", "emulate", "schedule"];

/// `tailcut bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Completion strategies with real threads: latency, requests per second, processor time and context
    /// switches on this machine
    Path(PathBench),
    /// Read throughput and latency of a block server
    Block(BlockBench),
    /// Throughput and latency of a memcached-compatible server
    Kv(KvBench),
}

/// `tailcut bench path`.
#[derive(Debug, Args)]
pub struct PathBench {
    /// Strategy to compare with two hand-offs, such as coop or coop-poll/timer: names joined by '+', then
    /// after a slash the poll thread (idle or timer); default: all
    #[arg(long = "strategy", value_name = "NAME")]
    pub strategies: Vec<String>,
    /// Numbers of threads; default: 1,8,32,128
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub threads: Vec<u32>,
    /// Read latency of the device
    #[arg(long, value_name = "TIME", value_parser = positive_time, default_value = "80us")]
    pub latency: Nanos,
    /// Number of cores that submit and wait; default: 1
    #[arg(long, value_name = "N")]
    pub cores: Option<u32>,
    /// Fewer strategies and threads, and shorter measurements
    #[arg(long)]
    pub quick: bool,
    /// Run at real-time priority half of the time, for a machine that is never quiet; cores are then less
    /// idle than on a quiet machine
    #[arg(long)]
    pub real_time: bool,
    /// Maximum time to wait for undisturbed measurements; default: 10 minutes
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub patience: Option<Nanos>,
    /// Write the results as JSON to a file, or with '-' to standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
