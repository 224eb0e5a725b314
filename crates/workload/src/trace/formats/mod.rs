//! One parser per format: a line (or record) in, a request out.

mod alibaba;
mod blkparse;
mod fio;
mod five_words;
mod msr;
mod spc;
mod tencent;
pub(super) mod vscsi;

use super::disks::Disks;
use super::error::Fault;
use super::format::Format;
use super::record::Raw;
use tailcut_base::Nanos;

/// A parsed line: a request, nothing of interest, or a fault.
pub(super) type Parsed = Result<Option<Raw>, Box<Fault>>;

/// The parser of a format, with what it remembers from line to line.
pub(super) enum Parser {
    FiveWords(five_words::Shape),
    Msr(msr::Msr),
    Vscsi1,
    Vscsi2,
    Blkparse(blkparse::Blkparse),
    Spc,
    Fio(fio::Fio),
    Alibaba,
    Tencent,
}

impl Parser {
    /// The parser of `format`, for a trace that begins with `start`.
    pub(super) fn new(format: Format, start: &[u8]) -> Parser {
        match format {
            Format::Mqsim | Format::Ssdsim => Parser::FiveWords(five_words::Shape::Nanoseconds),
            Format::MsrCut => Parser::FiveWords(five_words::Shape::Bytes),
            Format::Disksim => Parser::FiveWords(five_words::Shape::Milliseconds),
            Format::Msr => Parser::Msr(msr::Msr::default()),
            Format::Vscsi1 => Parser::Vscsi1,
            Format::Vscsi2 => Parser::Vscsi2,
            Format::Blkparse => Parser::Blkparse(blkparse::Blkparse::new(start)),
            Format::Spc => Parser::Spc,
            Format::Fio2 => Parser::Fio(fio::Fio::new(2)),
            Format::Fio3 => Parser::Fio(fio::Fio::new(3)),
            Format::Alibaba => Parser::Alibaba,
            Format::Tencent => Parser::Tencent,
        }
    }

    /// Reads one line or record of a trace that had `records` before it.
    #[inline]
    pub(super) fn parse(&mut self, piece: &[u8], disks: &mut Disks, records: u64) -> Parsed {
        match self {
            Parser::FiveWords(shape) => five_words::parse(*shape, piece),
            Parser::Msr(msr) => msr.parse(piece, disks),
            Parser::Vscsi1 => vscsi::parse1(piece),
            Parser::Vscsi2 => vscsi::parse2(piece),
            Parser::Blkparse(blkparse) => blkparse.parse(piece, disks, records),
            Parser::Spc => spc::parse(piece),
            Parser::Fio(fio) => fio.parse(piece, disks),
            Parser::Alibaba => alibaba::parse(piece),
            Parser::Tencent => tencent::parse(piece),
        }
    }
}

impl Parser {
    /// How long a request took whose end the last piece was, with the number of its record: in blkparse's
    /// text that is a line of its own.
    #[inline]
    pub(super) fn take_response(&mut self) -> Option<(u64, Nanos)> {
        match self {
            Parser::Blkparse(blkparse) => blkparse.take_response(),
            _ => None,
        }
    }

    /// Completions that belong to no single request: of blkparse's text, where requests were merged or split.
    pub(super) fn unmatched(&self) -> u64 {
        match self {
            Parser::Blkparse(blkparse) => blkparse.unmatched(),
            _ => 0,
        }
    }
}

/// Sectors as bytes; a fault when they do not fit 64 bits.
#[inline]
fn sectors(count: u64) -> Result<u64, Box<Fault>> {
    count
        .checked_mul(tailcut_base::SECTOR_BYTES)
        .ok_or_else(|| Fault::new(format!("{count} sectors are beyond 16 EiB: is the unit right?")))
}

/// A count of `unit` nanoseconds as nanoseconds.
#[inline]
fn ticks(count: u64, unit: u64) -> Result<u64, Box<Fault>> {
    count
        .checked_mul(unit)
        .ok_or_else(|| Fault::new(format!("time {count} is beyond 584 years: is the unit right?")))
}

/// A response time; formats that always have the field contain 0 where it is not known.
#[inline]
fn known(response: u64) -> Option<Nanos> {
    (response > 0).then_some(Nanos(response))
}
