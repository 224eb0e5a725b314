//! Tencent Cloud block storage traces: `timestamp,offset,size,iotype,volume`.
//!
//! Source: Zhang et al., "OSCA", USENIX ATC 2020, and the trace's README: Unix seconds, sectors of
//! 512 bytes, 0 = read, 1 = write.

use super::{Parsed, sectors};
use crate::trace::fields::Cells;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// Reads one line. Times may have decimals, although the published traces have whole seconds.
#[inline]
pub(super) fn parse(line: &[u8]) -> Parsed {
    let mut cells = Cells::new(line);
    let clock = cells.time("timestamp in s", 1_000_000_000)?;
    let offset = sectors(cells.number("offset in sectors")?)?;
    let len = sectors(cells.number("size in sectors")?)?;
    let op = if cells.bit("type: 0=read, 1=write")? { Op::Write } else { Op::Read };
    let disk = cells.number32("volume")?;
    cells.end()?;
    Ok(Some(Raw::new(clock, disk, op, offset, len)))
}
