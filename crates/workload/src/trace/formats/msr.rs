//! MSR Cambridge CSV: `filetime,host,disk,Read|Write,offset,size,response`, times in 100 ns.
//!
//! Source: Narayanan et al., "Write Off-Loading", FAST 2008; the trace's own README.

use super::{Parsed, known, ticks};
use crate::trace::disks::Disks;
use crate::trace::error::Fault;
use crate::trace::fields::Cells;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// The parser; it remembers nothing but room for a name.
#[derive(Debug, Default)]
pub(crate) struct Msr {
    name: Vec<u8>,
}

impl Msr {
    /// Reads one line. A disk is a host and a number, `host.number`.
    #[inline]
    pub(crate) fn parse(&mut self, line: &[u8], disks: &mut Disks) -> Parsed {
        let mut cells = Cells::new(line);
        let clock = ticks(cells.number("timestamp in 100 ns")?, 100)?;
        let host = cells.text("host")?;
        let number = cells.number32("disk")?;
        let place = cells.place();
        let op = match cells.text("type")? {
            b"Read" | b"read" | b"R" | b"r" => Op::Read,
            b"Write" | b"write" | b"W" | b"w" => Op::Write,
            _ => return Err(cells.fault_at(place, "type", "neither Read nor Write")),
        };
        let offset = cells.number("offset in bytes")?;
        let len = cells.number("size in bytes")?;
        let response = known(ticks(cells.number("response time in 100 ns")?, 100)?);
        cells.end()?;
        let disk = self.disk(host, number, disks)?;
        Ok(Some(Raw { response, ..Raw::new(clock, disk, op, offset, len) }))
    }

    #[inline]
    fn disk(&mut self, host: &[u8], number: u32, disks: &mut Disks) -> Result<u32, Box<Fault>> {
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.extend_from_slice(&number.to_be_bytes());
        disks.number(&self.name, |_| format!("{}.{number}", String::from_utf8_lossy(host)))
    }
}
