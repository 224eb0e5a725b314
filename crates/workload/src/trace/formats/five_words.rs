//! MQSim, SSDsim, DiskSim and the MSR cuts: `time device address size op` between blanks.

use super::{Parsed, sectors};
use crate::trace::fields::Words;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// The units of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nanoseconds and sectors: MQSim and SSDsim.
    Nanoseconds,
    /// Milliseconds with decimals, and sectors: DiskSim.
    Milliseconds,
    /// Milliseconds with decimals, and bytes: MSR cuts.
    Bytes,
}

/// Reads one line. In all shapes op 0 is a write and 1 a read.
#[inline]
pub(super) fn parse(shape: Shape, line: &[u8]) -> Parsed {
    let mut words = Words::new(line);
    let clock = match shape {
        Shape::Nanoseconds => words.number("time in ns")?,
        Shape::Milliseconds | Shape::Bytes => words.time("time in ms", 1_000_000)?,
    };
    let disk = words.number32("device")?;
    let (offset, len) = match shape {
        Shape::Bytes => (words.number("offset in bytes")?, words.number("size in bytes")?),
        Shape::Nanoseconds | Shape::Milliseconds => {
            (sectors(words.number("first sector")?)?, sectors(words.number("sectors")?)?)
        }
    };
    let op = if words.bit("op: 0=write, 1=read")? { Op::Read } else { Op::Write };
    words.end()?;
    Ok(Some(Raw::new(clock, disk, op, offset, len)))
}
