//! SPC traces: `asu,lba,size,opcode,timestamp[,…]`.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1;
//! addresses are in blocks of 512 bytes in the UMass repository, sizes in bytes, times in seconds.

use super::{Parsed, sectors};
use crate::trace::fields::Cells;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// Reads one line. Each application storage unit (ASU) is a disk. Fields behind the fifth are the
/// format's optional ones and are ignored.
#[inline]
pub(super) fn parse(line: &[u8]) -> Parsed {
    let mut cells = Cells::new(line);
    let disk = cells.number32("ASU")?;
    let offset = sectors(cells.number("LBA")?)?;
    let len = cells.number("size in bytes")?;
    let place = cells.place();
    let op = match cells.text("opcode")? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        _ => return Err(cells.fault_at(place, "opcode", "neither R nor W")),
    };
    let clock = cells.time("timestamp in s", 1_000_000_000)?;
    Ok(Some(Raw::new(clock, disk, op, offset, len)))
}
