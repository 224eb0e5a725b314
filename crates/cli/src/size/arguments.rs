//! The command line of `tailcut size`.

use crate::value_parsers::{positive_time, preset, time};
use clap::Args;
use tailcut_base::config::Choice;
use tailcut_base::quantity::{parse_count, parse_rate, parse_share};
use tailcut_base::{BadValue, Nanos};
use tailcut_sim::sizing::Raid;
use tailcut_ssd::Preset;

/// `tailcut size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// Bandwidth of the network, such as 10GB/s
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub network: u64,
    /// Drive, such as swan-sata; its geometry gives its sequential read, write and erase rates
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    pub drive: Option<Preset>,
    /// Share of the array that holds data, from 1% to 99%
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub fill: u32,
    /// RAID level of a group: 0, 4 or 5
    #[arg(long, value_name = "LEVEL", default_value = "0", value_parser = raid)]
    pub raid: Raid,
    /// Measured time to erase a segment, such as 4ms; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub erase: Option<Nanos>,
    /// Measured time to read a block of 4 KiB, such as 15.6us; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub read: Option<Nanos>,
    /// Measured time to write a block of 4 KiB, such as 19.5us; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub write: Option<Nanos>,
    /// Blocks per segment; default: 256
    #[arg(long, value_name = "N", value_parser = some)]
    pub blocks: Option<u64>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

fn bandwidth(text: &str) -> Result<u64, BadValue> {
    let rate = parse_rate(text)?;
    if rate > 0 { Ok(rate) } else { Err(BadValue::new("a network brings something; write 10GB/s, say")) }
}

fn part(text: &str) -> Result<u32, BadValue> {
    let share = parse_share(text)?;
    let is_partial = (10_000..=990_000).contains(&share);
    if is_partial { Ok(share) } else { Err(BadValue::new("write a share from 1% to 99%, such as 60%")) }
}

fn raid(text: &str) -> Result<Raid, BadValue> {
    Raid::by_name(text).ok_or_else(|| BadValue::new("write 0 (none), 4 or 5 (one drive of parity)"))
}

fn some(text: &str) -> Result<u64, BadValue> {
    let count = parse_count(text)?;
    let is_segment = (1..=1 << 30).contains(&count);
    if is_segment {
        Ok(count)
    } else {
        Err(BadValue::new("write a number from 1 to 1073741824, such as 256"))
    }
}
