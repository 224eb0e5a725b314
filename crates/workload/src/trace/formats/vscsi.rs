//! VMware vscsi traces: binary records, little-endian, in two layouts.
//!
//! Version 1, 32 bytes: u32 serial, u32 length, u32 segments, u16 command, u16 version, u64 first sector,
//! u64 time in us. Version 2, 40 bytes: u16 command, u16 version, u32 serial, u32 length, u32 segments, u64
//! first sector, u64 time in us, u64 response time in us. The upper byte of the version field identifies
//! the layout. Source: the CloudPhysics traces (Waldspurger et al., FAST 2015).

use super::{Parsed, known, sectors, ticks};
use crate::trace::error::Fault;
use crate::trace::format::Format;
use crate::trace::record::Raw;
use tailcut_base::{Nanos, Op};

/// The layout of a file that begins with `start`, identified by the version of its first two records.
pub(crate) fn detect(start: &[u8]) -> Option<Format> {
    let is = |record: usize, version_at: usize, version: u8| {
        let records = (start.len() / record).min(2);
        records > 0 && (0..records).all(|i| start[i * record + version_at + 1] == version)
    };
    // No text has a byte this small that is not a blank, so text is never taken for vscsi.
    if is(40, 2, 2) {
        Some(Format::Vscsi2)
    } else if is(32, 14, 1) {
        Some(Format::Vscsi1)
    } else {
        None
    }
}

/// Reads a record of version 1.
#[inline]
pub(crate) fn parse1(record: &[u8]) -> Parsed {
    let Ok(record) = <&[u8; 32]>::try_from(record) else { return cut_off(record, 32) };
    version(u16_at(record, 14), 1)?;
    request(u16_at(record, 12), u32_at(record, 4), u64_at(record, 16), u64_at(record, 24), None)
}

/// Reads a record of version 2.
#[inline]
pub(crate) fn parse2(record: &[u8]) -> Parsed {
    let Ok(record) = <&[u8; 40]>::try_from(record) else { return cut_off(record, 40) };
    version(u16_at(record, 2), 2)?;
    let response = known(ticks(u64_at(record, 32), 1_000)?);
    request(u16_at(record, 0), u32_at(record, 8), u64_at(record, 16), u64_at(record, 24), response)
}

/// SCSI commands (SBC-4) that read, write, deallocate and flush; the others carry no user data
/// and are passed over. An UNMAP has its ranges in data that the trace does not hold.
fn request(command: u16, len: u32, sector: u64, time_us: u64, response: Option<Nanos>) -> Parsed {
    let clock = ticks(time_us, 1_000)?;
    let op = match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0x8e => Op::Write,
        TRIM => Op::Trim,
        0x35 | 0x91 => return Ok(Some(Raw { response, ..Raw::flush(clock, 0) })),
        _ => return Ok(None),
    };
    Ok(Some(Raw { response, ..Raw::new(clock, 0, op, sectors(sector)?, u64::from(len)) }))
}

/// WRITE SAME (16), which deallocates when its unmap bit is set; the traces that have it do.
const TRIM: u16 = 0x93;

fn version(field: u16, expected: u16) -> Result<(), Box<Fault>> {
    if field >> 8 == expected {
        return Ok(());
    }
    Err(Fault::new(format!("version field is {field:#06x}, not {expected:#04x}xx")))
}

#[cold]
fn cut_off(record: &[u8], whole: usize) -> Parsed {
    Err(Fault::new(format!("the file ends within a record: {} of {whole} bytes", record.len())))
}

#[inline]
fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

#[inline]
fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from(u16_at(record, at)) | u32::from(u16_at(record, at + 2)) << 16
}

#[inline]
fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at)) | u64::from(u32_at(record, at + 4)) << 32
}
