//! The text of blkparse in its default format:
//! `  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]`.
//!
//! Source: blkparse(1), `%D %2c %8s %5T.%9t %5p %2a %3d` and the action's own part.

use super::{Parsed, sectors};
use crate::trace::disks::Disks;
use crate::trace::fields::Words;
use crate::trace::record::Raw;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use tailcut_base::{Nanos, Op};

/// The parser. A request passes several stages, each with a line of its own; one stage is taken.
#[derive(Debug)]
pub(crate) struct Blkparse {
    /// `Q` (queued: what the application asked for) or `D` (issued to the driver); `None` until
    /// the first of either has been seen.
    stage: Option<u8>,
    /// The totals at the end of the text have begun.
    in_totals: bool,
    /// Requests that have not completed, by disk, offset and length in bytes: when they passed the stage, in
    /// ns, and the number of their record, the first first.
    pending: BTreeMap<(u32, u64, u64), VecDeque<(u64, u64)>>,
    /// Number of requests in `pending`.
    awaited: usize,
    /// How long the request took whose completion was read last, with the number of its record.
    response: Option<(u64, Nanos)>,
    /// Completions of requests that had been merged or split.
    unmatched: u64,
}

/// Requests whose completion is waited for at most. A text without completions would keep all of them.
const PENDING: usize = 1 << 16;

impl Blkparse {
    /// For a text that begins with `start`: queue events are taken when there is one in it,
    /// issue events when there are only those.
    pub(crate) fn new(start: &[u8]) -> Blkparse {
        let begin = |stage| Blkparse {
            stage,
            in_totals: false,
            pending: BTreeMap::new(),
            awaited: 0,
            response: None,
            unmatched: 0,
        };
        let mut stage = None;
        for line in start.split(|&byte| byte == b'\n') {
            match action_of(line) {
                Some(b"Q") => return begin(Some(b'Q')),
                Some(b"D") => stage = Some(b'D'),
                _ => {}
            }
        }
        begin(stage)
    }

    /// How long the request took whose completion (`C`) the last line was, since it was queued, or issued
    /// where only that is recorded; at most once. A request that was merged with others or split has no
    /// completion of its own: see [`Blkparse::unmatched`].
    pub(crate) fn take_response(&mut self) -> Option<(u64, Nanos)> {
        self.response.take()
    }

    /// Completions whose place and length are those of no request that was waited for.
    pub(crate) fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// Reads one line. The record of its request, if it has one, is number `record` of the trace.
    #[inline]
    pub(crate) fn parse(&mut self, line: &[u8], disks: &mut Disks, record: u64) -> Parsed {
        if self.in_totals || self.begins_totals(line) {
            return Ok(None);
        }
        let mut words = Words::new(line);
        let device = words.text("major,minor")?;
        if !is_device(device) {
            return Err(words.fault_at(0, "device", "no major,minor pair"));
        }
        words.text("cpu")?;
        words.text("sequence")?;
        let clock = words.time("time in s", 1_000_000_000)?;
        words.text("pid")?;
        let action = words.text("action")?;
        let is_completion = action == b"C";
        if !is_completion && !self.takes(action) {
            return Ok(None);
        }
        let flags = Flags::read(words.text("RWBS")?);
        let disk = disks.number(device, |name| String::from_utf8_lossy(name).into_owned())?;
        if is_completion {
            self.complete(clock, disk, &mut words);
            return Ok(None);
        }
        let request = request(clock, disk, flags, &mut words)?;
        if let Some(raw) = &request {
            // The record of a flush comes first.
            self.await_completion(raw, record + u64::from(raw.preflush));
        }
        Ok(request)
    }

    #[inline]
    fn await_completion(&mut self, raw: &Raw, record: u64) {
        if raw.op != Op::Flush && self.awaited < PENDING {
            self.awaited += 1;
            self.pending.entry((raw.disk, raw.offset, raw.len)).or_default().push_back((raw.clock, record));
        }
    }

    /// A completion names the place and the length of what has completed: the first such request, since those
    /// of one place are served in order.
    #[inline]
    fn complete(&mut self, clock: u64, disk: u32, words: &mut Words<'_>) {
        let Ok(offset) = words.number("first sector").and_then(sectors) else { return };
        let is_data = words.text("+").is_ok_and(|plus| plus == b"+");
        let length = words.number("sectors").and_then(sectors).unwrap_or(0);
        if !is_data || length == 0 {
            return;
        }
        let Entry::Occupied(mut requests) = self.pending.entry((disk, offset, length)) else {
            self.unmatched += 1;
            return;
        };
        let since = requests.get_mut().pop_front();
        self.awaited -= usize::from(since.is_some());
        if requests.get().is_empty() {
            requests.remove();
        }
        self.response = since.and_then(|(since, record)| Some((record, Nanos(clock.checked_sub(since)?))));
    }

    #[inline]
    fn takes(&mut self, action: &[u8]) -> bool {
        match (action, self.stage) {
            ([stage], Some(taken)) => *stage == taken,
            ([stage @ (b'Q' | b'D')], None) => {
                self.stage = Some(*stage);
                true
            }
            _ => false,
        }
    }

    /// The totals begin with a line such as `CPU0 (8,0):` or `Total (8,0):`.
    #[inline]
    fn begins_totals(&mut self, line: &[u8]) -> bool {
        self.in_totals = line.starts_with(b"CPU") || line.starts_with(b"Total");
        self.in_totals
    }
}

/// The meaning of the letters of RWBS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    op: Option<Op>,
    preflush: bool,
    fua: bool,
}

impl Flags {
    /// `F` before the operation is a flush, behind it force unit access; `S`, `A`, `M`, `B`, `E` describe
    /// why it was done and change nothing here.
    #[inline]
    fn read(letters: &[u8]) -> Flags {
        let mut flags = Flags::default();
        for &letter in letters {
            match letter {
                b'R' => flags.op = Some(Op::Read),
                b'W' => flags.op = Some(Op::Write),
                b'D' => flags.op = Some(Op::Trim),
                b'F' if flags.op.is_none() => flags.preflush = true,
                b'F' => flags.fua = true,
                _ => {}
            }
        }
        flags
    }
}

/// The rest of a line: `sector + sectors [process]`, or only `[process]` without data.
#[inline]
fn request(clock: u64, disk: u32, flags: Flags, words: &mut Words<'_>) -> Parsed {
    let without_data = words.rest().first().is_none_or(|&byte| byte == b'[' || byte == b'(');
    if without_data {
        // Such as `N` (no operation, a pass-through command) or a pure flush, `FN` or `FWS`.
        return Ok(flags.preflush.then(|| Raw::flush(clock, disk)));
    }
    let sector = words.number("first sector")?;
    let place = words.place();
    if words.text("+")? != b"+" {
        return Err(words.fault_at(place, "+", "no plus sign between sector and count"));
    }
    let count = words.number("sectors")?;
    match flags.op {
        _ if count == 0 && flags.preflush => Ok(Some(Raw::flush(clock, disk))),
        None => Ok(None),
        Some(op) => {
            let raw = Raw::new(clock, disk, op, sectors(sector)?, sectors(count)?);
            Ok(Some(Raw { fua: flags.fua, preflush: flags.preflush, ..raw }))
        }
    }
}

/// The sixth word of a line that begins with a device.
fn action_of(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.next().filter(|device| is_device(device))?;
    words.nth(4)
}

fn is_device(text: &[u8]) -> bool {
    let mut parts = text.split(|&byte| byte == b',');
    let is_number =
        |part: Option<&[u8]>| part.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}
