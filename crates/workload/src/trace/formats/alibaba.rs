//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Source: Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads", IISWC 2020.

use super::{Parsed, ticks};
use crate::trace::fields::Cells;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// Reads one line: offset and length in bytes, time in microseconds.
#[inline]
pub(super) fn parse(line: &[u8]) -> Parsed {
    let mut cells = Cells::new(line);
    let disk = cells.number32("device")?;
    let place = cells.place();
    let op = match cells.text("opcode")? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        _ => return Err(cells.fault_at(place, "opcode", "neither R nor W")),
    };
    let offset = cells.number("offset in bytes")?;
    let len = cells.number("length in bytes")?;
    let clock = ticks(cells.number("timestamp in us")?, 1_000)?;
    cells.end()?;
    Ok(Some(Raw::new(clock, disk, op, offset, len)))
}
