//! fio's I/O logs, versions 2 and 3.
//!
//! Version 2: `file action` and `file action offset length`, without times; `wait` lets the given
//! number of microseconds pass since the wait before it. Version 3 puts a time in microseconds
//! before each line. Source: fio's HOWTO, "Trace file format", and what fio itself writes.

use super::{Parsed, ticks};
use crate::trace::disks::Disks;
use crate::trace::error::Fault;
use crate::trace::fields::Words;
use crate::trace::record::Raw;
use tailcut_base::Op;

/// The parser.
#[derive(Debug)]
pub(crate) struct Fio {
    version: u8,
    /// The sum of all waits in nanoseconds, the clock of version 2.
    waited: u64,
}

impl Fio {
    /// The parser of a version, 2 or 3.
    pub(crate) fn new(version: u8) -> Fio {
        Fio { version, waited: 0 }
    }

    /// Reads one line. A file becomes a disk when it first appears.
    #[inline]
    pub(crate) fn parse(&mut self, line: &[u8], disks: &mut Disks) -> Parsed {
        if line.starts_with(b"fio version ") {
            return self.header(line);
        }
        let mut words = Words::new(line);
        let time = if self.version == 3 { Some(words.number("time in us")?) } else { None };
        let file = words.text("file")?;
        let place = words.place();
        let action = words.text("action")?;
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" => return self.wait(&mut words),
            b"add" | b"open" | b"close" => {
                disks.number(file, label)?;
                return Ok(None);
            }
            _ => return Err(words.fault_at(place, "action", "none of fio's actions")),
        };
        let clock = time.map_or(Ok(self.waited), |time| ticks(time, 1_000))?;
        let disk = disks.number(file, label)?;
        if op == Op::Flush {
            return Ok(Some(Raw::flush(clock, disk)));
        }
        let offset = words.number("offset in bytes")?;
        let len = words.number("length in bytes")?;
        words.end()?;
        Ok(Some(Raw::new(clock, disk, op, offset, len)))
    }

    fn header(&self, line: &[u8]) -> Parsed {
        match line.trim_ascii_end() {
            b"fio version 2 iolog" if self.version == 2 => Ok(None),
            b"fio version 3 iolog" if self.version == 3 => Ok(None),
            _ => Err(Fault::new(format!(
                "not the header of this version: 'fio version {} iolog'",
                self.version
            ))),
        }
    }

    /// fio itself ignores waits in version 3, whose lines have times.
    fn wait(&mut self, words: &mut Words<'_>) -> Parsed {
        if self.version == 2 {
            let wait = ticks(words.number("wait in us")?, 1_000)?;
            let waited = self.waited.checked_add(wait);
            self.waited = waited.ok_or_else(|| Fault::new("the waits add up to more than 584 years"))?;
        }
        Ok(None)
    }
}

fn label(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
