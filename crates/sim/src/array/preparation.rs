//! How an array is prepared: one that writes in place by constructing what writing would lead to, a
//! log by writing to it before anything counts.

use super::{Member, SimulatedArray};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Device, Nanos, Op, Spans, Status, Time};
use tailcut_host::{Fingerprint, Mirror, Request as BlockRequest, Response};
use tailcut_ssd::precondition::{PreparedState, prepared_content};
use tailcut_ssd::{Precondition, Probe};
use tailcut_workload::{Pace, Request, Source};

/// Blocks that are prepared at a time.
const BLOCKS_AT_A_TIME: u64 = 1024;

impl<P: Probe> SimulatedArray<P> {
    /// Prepares an array that writes in place, whose drives have room for it. Returns the number
    /// of blocks, from block 0 on, that hold data; their content is [`prepared_content`].
    pub fn prepare(&mut self, how: &Precondition, seed: impl Fn(u32) -> u64) -> u64 {
        if how.state == PreparedState::Empty {
            return 0;
        }
        let of_drive = Precondition { state: how.state, fill: self.fill_of_drives(how.fill) };
        for (drive, number) in self.drives.iter_mut().zip(0..) {
            drive.precondition(&of_drive, seed(number));
        }
        // The array's control commands are not meant for the stand-ins of the drives.
        let calls = std::mem::take(self.volume.array.controls());
        let blocks = self.volume.array.disk().blocks * u64::from(how.fill) / 1_000_000;
        let mut block = 0;
        while block < blocks {
            let count = BLOCKS_AT_A_TIME.min(blocks - block);
            let data = (block..block + count).map(|b| Fingerprint(prepared_content(b))).collect();
            self.write_at_once(block, data);
            block += count;
        }
        self.volume.array.controls().splice(0..0, calls);
        blocks
    }

    /// The fill of each drive, in ppm, for a fill of the array, in ppm: data follow the metadata.
    fn fill_of_drives(&self, fill: u32) -> u32 {
        let all = self.volume.array.core().drive_blocks();
        let data = self.volume.array.data_blocks().expect("the layout writes in place");
        let end = data.start + ((data.end - data.start) * u64::from(fill)).div_ceil(1_000_000);
        fill.max((end * 1_000_000).div_ceil(all) as u32).min(1_000_000)
    }

    /// Writes to the array over drives that take no time, and are otherwise left as they are.
    fn write_at_once(&mut self, block: u64, data: Vec<Fingerprint>) {
        let (blocks, op, class) = (data.len() as u32, Op::Write, Class::DEFAULT);
        // Data that is acknowledged in a cache would not be on the drives.
        let request = BlockRequest {
            id: 0,
            op,
            fua: true,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        let taken = self.volume.array.submit(Time::ZERO, request);
        assert!(taken.is_ok(), "an array without requests takes one");
        while !self.volume.array.sent().is_empty() || !self.volume.array.controls().is_empty() {
            for (member, call) in std::mem::take(self.volume.array.controls()) {
                let reply = self.reply_at_once(member.index(), call);
                self.volume.array.control_answered(Time::ZERO, member, call, reply);
            }
            for (member, request) in std::mem::take(self.volume.array.sent()) {
                let id = request.id;
                self.volume.contents[member.index()].submitted(request);
                let data = self.volume.contents[member.index()].completed(tailcut_base::CommandId(id));
                let (status, busy_for, spans) = (Status::Success, Nanos::ZERO, Spans::new());
                self.volume.array.answered(
                    Time::ZERO,
                    member,
                    Response { id, status, data, busy_for, spans },
                );
            }
        }
        let answers = std::mem::take(self.volume.array.answers());
        assert!(matches!(&answers[..], [answer] if answer.status == Status::Success));
    }

    /// A drive that takes no time is always ready, and has nothing to say of its blocks.
    fn reply_at_once(&mut self, member: usize, call: Control) -> ControlReply {
        let Member { drive, set, .. } = self.volume.members.get(member);
        let mut ask = |call| self.drives[drive].control_set(Time::ZERO, set, call);
        match (call, ask(Control::FreeBlocks)) {
            (_, ControlReply::Unsupported) => ControlReply::Unsupported,
            (Control::IsReadyForRead, _) => ControlReply::Answer(true),
            (Control::EraseBlockSize, _) => ask(call),
            _ => ControlReply::Invalid,
        }
    }

    /// What prepares an array that writes a log: its region is written in order and, for the steady
    /// state, then at random, by as much as all drives have room for together.
    pub fn fill(&self, how: &Precondition, seed: u64) -> Fill {
        let identity = self.identify();
        let block = u64::from(identity.block_sectors);
        let region = identity.sectors * u64::from(how.fill) / 1_000_000 / block * block;
        let all: u64 = self.drives.iter().map(|drive| drive.identify().sectors).sum();
        Fill::new(region, if how.state == PreparedState::Steady { all } else { 0 }, seed)
    }
}

/// Writes a region once in order, and then some of it again at random: what SWAN calls ageing
/// (section 5). It ends before the sources that count begin.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Sectors of the region, from sector 0 on, a multiple of [`AT_A_TIME`] but for the last request.
    region: u64,
    at: u64,
    /// Random writes of [`BLOCK`] sectors still to come.
    overwrites: u64,
    random: Stream,
    /// Sectors from sector 0 on that are written once more at the end, in order.
    last: u64,
    at_last: u64,
}

/// Sectors of a request in order: 256 KiB.
const AT_A_TIME: u64 = 512;

/// Sectors of a random write: 8 KiB, as in SWAN, section 5.1.
const BLOCK: u64 = 16;

/// Requests in flight.
const DEPTH: u32 = 64;

impl Fill {
    /// Writes `region` sectors in order, then random places within them until `overwritten` sectors
    /// have been written so.
    pub fn new(region: u64, overwritten: u64, seed: u64) -> Fill {
        let overwrites = if region >= BLOCK { overwritten / BLOCK } else { 0 };
        let random = Stream::new(seed, "array preparation");
        Fill { region, at: 0, overwrites, random, last: 0, at_last: 0 }
    }

    /// Writes the first `sectors` sectors of the region once more at the end, in order: data that was written
    /// after the rest.
    #[must_use]
    pub fn then_in_order(mut self, sectors: u64) -> Fill {
        self.last = sectors.min(self.region);
        self
    }

    fn place(&mut self) -> Option<(u64, u64)> {
        if let Some(place) = in_order(&mut self.at, self.region) {
            return Some(place);
        }
        if let Some(left) = self.overwrites.checked_sub(1) {
            self.overwrites = left;
            return Some((self.random.below(self.region / BLOCK) * BLOCK, BLOCK));
        }
        in_order(&mut self.at_last, self.last)
    }
}

/// The next request of a pass over the sectors before `end`, which has come to `at`.
fn in_order(at: &mut u64, end: u64) -> Option<(u64, u64)> {
    let sector = *at;
    let sectors = AT_A_TIME.min(end - sector);
    *at += sectors;
    (sectors > 0).then_some((sector, sectors))
}

impl Source for Fill {
    fn name(&self) -> &str {
        "preparation"
    }

    fn pace(&self) -> Pace {
        Pace::Closed { depth: DEPTH, think: Nanos::ZERO }
    }

    fn next(&mut self) -> Option<Request> {
        let (sector, sectors) = self.place()?;
        let class = Class::new(4).expect("4 is a class");
        let sectors = sectors as u32;
        Some(Request { due: Time::ZERO, op: Op::Write, fua: false, class, stream: 0, sector, sectors })
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.region.div_ceil(AT_A_TIME) + self.overwrites + self.last.div_ceil(AT_A_TIME))
    }

    fn prepares(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_written_once_and_then_as_much_again_as_asked() {
        let mut fill = Fill::new(1000, 320, 1);
        let requests: Vec<Request> = std::iter::from_fn(|| fill.next()).collect();
        let sectors: Vec<(u64, u32)> = requests.iter().map(|r| (r.sector, r.sectors)).collect();
        assert_eq!(sectors[..2], [(0, 512), (512, 488)]);
        assert_eq!(requests.len(), 2 + 20);
        assert!(sectors[2..].iter().all(|&(sector, sectors)| sector + u64::from(sectors) <= 1000));
    }

    #[test]
    fn what_was_loaded_last_is_written_last() {
        let fill = Fill::new(2000, 320, 1).then_in_order(600);
        assert_eq!(fill.len_hint(), Some(4 + 20 + 2));
        let mut fill = fill;
        let requests: Vec<Request> = std::iter::from_fn(|| fill.next()).collect();
        let sectors: Vec<(u64, u32)> = requests.iter().map(|r| (r.sector, r.sectors)).collect();
        assert_eq!(sectors.len(), 26);
        assert_eq!(sectors[24..], [(0, 512), (512, 88)]);
    }
}
