//! Writes records in each of the formats.

use super::format::Format;
use super::record::Record;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use tailcut_base::{Op, SECTOR_BYTES};

/// Writes records of one trace.
pub(super) struct Encoder {
    format: Format,
    /// The moment of the first record on the original clock.
    origin: u64,
    /// Each disk's name, as this format has it.
    names: HashMap<u32, String, FixedState>,
    /// The disks in the order in which they came, for the lines at fio's end.
    order: Vec<u32>,
    written: u64,
    /// fio version 2: the microseconds that its waits have added up to.
    waited_us: u64,
}

/// A record on its way out.
struct Item<'a> {
    record: &'a Record,
    /// Nanoseconds on the original clock.
    clock: u64,
    name: &'a str,
    /// From 1.
    number: u64,
}

impl Encoder {
    pub(super) fn new(format: Format, origin: u64) -> Encoder {
        let names = HashMap::with_hasher(FixedState::default());
        Encoder { format, origin, names, order: Vec::new(), written: 0, waited_us: 0 }
    }

    /// True when the format can represent this kind of request.
    pub(super) fn can_say(format: Format, op: Op) -> bool {
        let has_all = [Format::Blkparse, Format::Fio2, Format::Fio3, Format::Vscsi1, Format::Vscsi2];
        matches!(op, Op::Read | Op::Write) || has_all.contains(&format)
    }

    /// What stands before the first record.
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        match self.format {
            Format::Fio2 => out.extend_from_slice(b"fio version 2 iolog\n"),
            Format::Fio3 => out.extend_from_slice(b"fio version 3 iolog\n"),
            _ => {}
        }
    }

    /// Appends a record, whose kind the format must be able to represent; `label` is the name of its disk
    /// in the trace that it comes from.
    pub(super) fn write(&mut self, record: &Record, label: impl FnOnce() -> String, out: &mut Vec<u8>) {
        let clock = self.origin + record.at.0;
        self.written += 1;
        let name = match self.names.entry(record.disk) {
            Entry::Occupied(entry) => &*entry.into_mut(),
            Entry::Vacant(entry) => {
                self.order.push(record.disk);
                let name = &*entry.insert(name(self.format, record.disk, &label()));
                introduce(self.format, name, clock, out);
                name
            }
        };
        let item = Item { record, clock, name, number: self.written };
        match self.format {
            Format::Mqsim | Format::Ssdsim => item.mqsim(out),
            Format::MsrCut => item.msr_cut(out),
            Format::Disksim => item.disksim(out),
            Format::Msr => item.msr(out),
            Format::Vscsi1 => item.vscsi1(out),
            Format::Vscsi2 => item.vscsi2(out),
            Format::Blkparse => item.blkparse(out),
            Format::Spc => item.spc(out),
            Format::Fio2 => self.waited_us = item.fio2(self.waited_us, self.origin, out),
            Format::Fio3 => item.fio3(out),
            Format::Alibaba => item.alibaba(out),
            Format::Tencent => item.tencent(out),
        }
    }

    /// What stands behind the last record.
    pub(super) fn end(&self, last_clock: u64, out: &mut Vec<u8>) {
        for disk in &self.order {
            let name = &self.names[disk];
            match self.format {
                Format::Fio2 => line(out, format_args!("{name} close")),
                Format::Fio3 => line(out, format_args!("{} {name} close", last_clock / 1_000)),
                _ => {}
            }
        }
    }
}

impl Item<'_> {
    fn mqsim(&self, out: &mut Vec<u8>) {
        let (r, is_read) = (self.record, self.is_read());
        line(out, format_args!("{} {} {} {} {is_read}", self.clock, r.disk, r.sector(), self.sectors()));
    }

    fn msr_cut(&self, out: &mut Vec<u8>) {
        let (r, is_read) = (self.record, self.is_read());
        let (ms, ns) = (self.clock / 1_000_000, self.clock % 1_000_000);
        line(out, format_args!("{ms}.{ns:06} {} {} {} {is_read}", r.disk, r.offset, r.len));
    }

    fn disksim(&self, out: &mut Vec<u8>) {
        let (r, is_read) = (self.record, self.is_read());
        let (ms, ns) = (self.clock / 1_000_000, self.clock % 1_000_000);
        line(out, format_args!("{ms}.{ns:06} {} {} {} {is_read}", r.disk, r.sector(), self.sectors()));
    }

    /// The name of a disk is `host,number` here.
    fn msr(&self, out: &mut Vec<u8>) {
        let r = self.record;
        let op = if r.op == Op::Read { "Read" } else { "Write" };
        let (time, response) = (self.clock / 100, r.response.unwrap_or_default().0 / 100);
        line(out, format_args!("{time},{},{op},{},{},{response}", self.name, r.offset, r.len));
    }

    fn vscsi1(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.number as u32).to_le_bytes());
        out.extend_from_slice(&self.len_of_sectors().to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
        out.extend_from_slice(&self.scsi_command().to_le_bytes());
        out.extend_from_slice(&0x0100u16.to_le_bytes());
        out.extend_from_slice(&self.record.sector().to_le_bytes());
        out.extend_from_slice(&(self.clock / 1_000).to_le_bytes());
    }

    fn vscsi2(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.scsi_command().to_le_bytes());
        out.extend_from_slice(&0x0200u16.to_le_bytes());
        out.extend_from_slice(&(self.number as u32).to_le_bytes());
        out.extend_from_slice(&self.len_of_sectors().to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
        out.extend_from_slice(&self.record.sector().to_le_bytes());
        out.extend_from_slice(&(self.clock / 1_000).to_le_bytes());
        out.extend_from_slice(&(self.record.response.unwrap_or_default().0 / 1_000).to_le_bytes());
    }

    fn scsi_command(&self) -> u16 {
        match self.record.op {
            Op::Read => 0x28,
            Op::Write => 0x2a,
            Op::Trim => 0x93,
            Op::Flush => 0x35,
        }
    }

    fn blkparse(&self, out: &mut Vec<u8>) {
        let (r, name, number) = (self.record, self.name, self.number);
        let (s, ns) = (self.clock / 1_000_000_000, self.clock % 1_000_000_000);
        let letters = match (r.op, r.fua) {
            (Op::Flush, _) => {
                return line(out, format_args!("{name:>5} 0 {number:8} {s:5}.{ns:09}     0  Q  FN [trace]"));
            }
            (Op::Read, false) => "R",
            (Op::Read, true) => "RF",
            (Op::Write, false) => "W",
            (Op::Write, true) => "WF",
            (Op::Trim, _) => "D",
        };
        let (sector, sectors) = (r.sector(), self.sectors());
        line(
            out,
            format_args!(
                "{name:>5} 0 {number:8} {s:5}.{ns:09}     0  Q {letters:>3} {sector} + {sectors} [trace]"
            ),
        );
    }

    fn spc(&self, out: &mut Vec<u8>) {
        let r = self.record;
        let op = if r.op == Op::Read { 'R' } else { 'W' };
        let (s, ns) = (self.clock / 1_000_000_000, self.clock % 1_000_000_000);
        line(out, format_args!("{},{},{},{op},{s}.{ns:09}", r.disk, r.sector(), self.len_of_sectors()));
    }

    fn fio2(&self, waited_us: u64, origin: u64, out: &mut Vec<u8>) -> u64 {
        let now_us = (self.clock - origin) / 1_000;
        let name = self.name;
        if now_us > waited_us {
            line(out, format_args!("{name} wait {} 0", now_us - waited_us));
        }
        let (action, r) = (self.fio_action(), self.record);
        line(out, format_args!("{name} {action} {} {}", r.offset, r.len));
        now_us
    }

    fn fio3(&self, out: &mut Vec<u8>) {
        let (time, name, action, r) = (self.clock / 1_000, self.name, self.fio_action(), self.record);
        line(out, format_args!("{time} {name} {action} {} {}", r.offset, r.len));
    }

    fn fio_action(&self) -> &'static str {
        match self.record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
        }
    }

    fn alibaba(&self, out: &mut Vec<u8>) {
        let r = self.record;
        let op = if r.op == Op::Read { 'R' } else { 'W' };
        line(out, format_args!("{},{op},{},{},{}", r.disk, r.offset, r.len, self.clock / 1_000));
    }

    fn tencent(&self, out: &mut Vec<u8>) {
        let (r, is_write) = (self.record, u8::from(self.record.op != Op::Read));
        let seconds = self.clock / 1_000_000_000;
        line(out, format_args!("{seconds},{},{},{is_write},{}", r.sector(), self.sectors(), r.disk));
    }

    /// Sectors, at most what a reader takes (below 4 GiB).
    fn sectors(&self) -> u32 {
        self.record.sectors().min(8_388_607)
    }

    /// The size in bytes from the beginning of the first sector on.
    fn len_of_sectors(&self) -> u32 {
        self.record.len.saturating_add((self.record.offset % SECTOR_BYTES) as u32)
    }

    fn is_read(&self) -> u8 {
        u8::from(self.record.op == Op::Read)
    }
}

/// True when writing a record moves its beginning or its end to a sector boundary.
pub(super) fn is_widened(format: Format, record: &Record) -> bool {
    match format {
        // Formats with a size in bytes beside an address in sectors.
        Format::Vscsi1 | Format::Vscsi2 | Format::Spc => !record.offset.is_multiple_of(SECTOR_BYTES),
        format => format.in_sectors() && !record.is_whole_sectors(),
    }
}

/// fio requires a file to be announced before it is used.
fn introduce(format: Format, name: &str, clock: u64, out: &mut Vec<u8>) {
    for action in ["add", "open"] {
        match format {
            Format::Fio2 => line(out, format_args!("{name} {action}")),
            Format::Fio3 => line(out, format_args!("{} {name} {action}", clock / 1_000)),
            _ => {}
        }
    }
}

/// The name of a disk as a format has it, made from the one that it had.
fn name(format: Format, disk: u32, label: &str) -> String {
    match format {
        Format::Msr => {
            let parts = label.rsplit_once('.').filter(|(host, number)| {
                is_word(host)
                    && !number.is_empty()
                    && number.parse::<u32>().is_ok_and(|n| n.to_string() == *number)
            });
            parts.map_or_else(|| format!("disk,{disk}"), |(host, number)| format!("{host},{number}"))
        }
        Format::Blkparse => {
            let is_device = label.split(',').count() == 2
                && label.split(',').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
            if is_device { label.to_string() } else { format!("8,{disk}") }
        }
        Format::Fio2 | Format::Fio3 if label.starts_with('/') && is_path(label) => label.to_string(),
        Format::Fio2 | Format::Fio3 => format!("/dev/disk{disk}"),
        _ => String::new(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

fn is_path(text: &str) -> bool {
    !text.starts_with("//") && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    writeln!(out, "{text}").expect("memory takes what is written to it");
}
