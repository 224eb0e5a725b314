//! The flash behind a drive: a small simulated SSD that determines how long each command takes, whether it
//! would rather not serve, and when nothing can be written any more. The stored content, and what a power
//! cut leaves of it, are in the [`drive`](super).
//!
//! Programs and erases fail as its flash does ([`Faults`]): blocks go
//! bad, what was in them is programmed elsewhere, which takes its time, and when the spare blocks are used up
//! the drive answers writes with "write protected" for ever.

use super::Model;
use std::collections::BTreeMap;
use tailcut_base::device::content::{self, Change};
use tailcut_base::digest::Digest;
use tailcut_base::fdp::HandleId;
use tailcut_base::fdp::Isolation;
use tailcut_base::{Class, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_host::{BLOCK_SECTORS, Bytes, Mirror, Request};
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::flash::LogicalPage;
use tailcut_ssd::flash::nand::Faults;
use tailcut_ssd::{Preset, Ssd, SsdConfig};

tailcut_base::choice! {
    /// What times and failures of a drive come from.
    pub enum Backend {
        /// Times are drawn, and what fails stands in the plan.
        Model = "model",
        /// A small simulated SSD that is nearly full.
        Ssd = "ssd",
        /// The same with its content: what reads return, and what a power cut leaves, is what that SSD has in
        /// its buffer and on its flash.
        SsdContent = "ssd-content",
    }
}

/// The flash of a drive.
#[derive(Debug)]
pub struct Flash {
    ssd: Ssd,
    /// The SSD's clock is this much ahead of all others: after a power cut it is left to quiesce first.
    lead: Nanos,
    /// The last moment that was reported to the SSD.
    clock: Time,
    completions: Vec<Completion>,
    /// If it keeps its content: the written blocks, by page and by their fingerprint there.
    written: Option<Written>,
    /// Of reads in flight: slot and the fingerprint that must come.
    expected: Vec<(u32, u64)>,
    /// Blocks that the drive offers.
    blocks: u64,
    config: SsdConfig,
    seed: u64,
    /// Counts of SSDs that a power cut has ended.
    past: (u64, u64),
}

/// The data behind the fingerprints of pages.
#[derive(Debug, Default)]
struct Written {
    /// Blocks that the drive offers.
    blocks: u64,
    contents: BTreeMap<(u64, u32), Bytes>,
    commands: u32,
}

impl Written {
    fn content(&self, block: u64, fingerprint: u32) -> Bytes {
        match fingerprint {
            0 => Bytes::default(),
            _ => {
                self.contents.get(&(block, fingerprint)).cloned().expect("a page has what was written to it")
            }
        }
    }

    /// Names a write, and notes what it writes.
    fn note(&mut self, block: u64, data: &[Bytes]) -> u32 {
        self.commands += 1;
        for (block, content) in (block..).zip(data) {
            let change = Change::write(block, self.commands, ALL_SECTORS, true);
            self.contents.insert((block, change.apply(0)), content.clone());
        }
        self.commands
    }
}

/// The end of a command.
#[derive(Clone, Copy, Debug)]
pub struct FlashCompletion {
    /// The slot in which the drive keeps the command.
    pub slot: u32,
    /// Whether the command succeeded, or why it failed.
    pub status: Status,
    /// For a command that was declined: how long the SSD expects to be busy.
    pub busy_for: Nanos,
}

impl Flash {
    /// Of a new drive, whose programs and erases fail with the chance `fail`, in parts per million.
    pub fn new(model: &Model, fail: u32, seed: u64) -> Flash {
        let mut config = config(model, fail);
        let has_content = model.backend == Backend::SsdContent;
        if has_content && seed.is_multiple_of(4) {
            // Writes complete when they are on flash.
            config.buffer.size = 0;
        }
        if has_content && fail == 0 && !model.has_control && seed % 8 == 5 {
            map_by_superblock(&mut config);
            if seed % 16 == 13 {
                place_by_handle(&mut config, model, seed);
            }
        }
        let written = has_content.then(|| Written { blocks: model.blocks, ..Written::default() });
        Flash {
            ssd: Ssd::new(&config, seed, has_content),
            lead: Nanos::ZERO,
            clock: Time::ZERO,
            completions: Vec::new(),
            written,
            expected: Vec::new(),
            blocks: model.blocks,
            config,
            seed,
            past: (0, 0),
        }
    }

    /// A digest of the drive's figures since its last power cut.
    pub fn digest_of_figures(&self) -> u64 {
        let mut figures = format!("{:?}", self.ssd.figures(self.clock));
        let handles = figures.find(", handles: ").filter(|_| !self.config.fdp.is_on());
        // A drive without data placement has none.
        figures.truncate(handles.unwrap_or(figures.len()));
        let mut digest = Digest::new();
        digest.add_numbers(&format!("{figures} {:?}", self.ssd.wear()));
        digest.value()
    }

    /// The data that a read submitted now returns; `None` if the flash keeps no content.
    pub fn content(&self, block: u64, blocks: u32) -> Option<Vec<Bytes>> {
        let written = self.written.as_ref()?;
        let content = |block: u64| written.content(block, self.ssd.peek(LogicalPage::new(block)));
        Some((block..block + u64::from(blocks)).map(content).collect())
    }

    /// The content of its blocks if the power goes now; `None` if it keeps none.
    pub fn content_after_power_cut(&self) -> Option<Vec<Bytes>> {
        let written = self.written.as_ref()?;
        let content =
            |block: u64| written.content(block, self.ssd.content_after_power_cut(LogicalPage::new(block)));
        Some((0..written.blocks).map(content).collect())
    }

    /// A command has come.
    ///
    /// # Panics
    /// If the SSD refuses the command: it is beyond the depth or the size of the drive.
    pub fn submit(&mut self, now: Time, slot: u32, request: &Request<Bytes>) {
        let Request { op, fua, class, fail_fast, block, blocks, .. } = *request;
        let (sector, sectors) = (block * BLOCK_SECTORS, blocks * BLOCK_SECTORS as u32);
        let id = CommandId(slot);
        let content = match (&mut self.written, op) {
            (Some(written), Op::Write) => written.note(block, &request.data),
            _ => 0,
        };
        if self.written.is_some() && op == Op::Read {
            let page = |index: u32| self.ssd.peek(LogicalPage::new(block + u64::from(index)));
            let folded =
                (0..request.blocks).fold(0, |folded, index| content::fold(folded, index, page(index)));
            self.expected.push((slot, folded));
        }
        // Neighbours on the drive share a handle; a fourth handle does not exist.
        let fdp = &self.config.fdp;
        let stream = match u64::from(fdp.groups) {
            1 => (block / 16 % 4) as u8,
            // Equal parts of the addresses in each reclaim group: then none can be full.
            groups => {
                let (group, handle) = (block * groups / self.blocks, block / 16 % u64::from(fdp.handles));
                (group * u64::from(fdp.handles) + handle) as u8
            }
        };
        let command = Command { id, op, fua, class, fail_fast, stream, queue: 0, sector, sectors, content };
        self.clock = now + self.lead;
        let answer = self.ssd.submit(self.clock, &command);
        assert_eq!(answer, Submit::Accepted, "the drive keeps to the depth and the size of its SSD");
    }

    /// When the SSD's next event is due; [`Time::NEVER`] if none is.
    pub fn next_event(&self) -> Time {
        match self.ssd.next_event() {
            Time::NEVER => Time::NEVER,
            at => Time(at.0 - self.lead.0),
        }
    }

    /// What ends now.
    ///
    /// # Panics
    /// If a read returned something else than what was in the SSD when it came: the SSD is broken.
    pub fn advance(&mut self, now: Time) -> Vec<FlashCompletion> {
        self.clock = now + self.lead;
        while !self.ssd.advance(self.clock, &mut self.completions) {}
        self.ssd.check_machines();
        let expected = &mut self.expected;
        let ended = |end: Completion| {
            if let Some(at) = expected.iter().position(|&(slot, _)| slot == end.id.0) {
                let (_, folded) = expected.swap_remove(at);
                let is_right = end.status != Status::Success || end.content == folded;
                assert!(is_right, "the SSD returned something else than was in it when the read came");
            }
            FlashCompletion { slot: end.id.0, status: end.status, busy_for: end.busy_for }
        };
        self.completions.drain(..).map(ended).collect()
    }

    /// The power has gone, and comes back now: nothing is in flight any more. An SSD without content is
    /// left to finish its commands without reporting them, since it keeps no data that could be torn. One
    /// with content is made anew from what the power cut has left.
    pub fn power_cycle(&mut self, now: Time) {
        self.expected.clear();
        if let Some(content) = self.content_after_power_cut() {
            self.seed += 1;
            self.past = self.counts();
            self.ssd = Ssd::new(&self.config, self.seed, true);
            for (block, content) in (0..).zip(content).filter(|(_, content)| !content.is_hole()) {
                self.restore(block, content);
            }
        }
        self.come_to_rest(now);
    }

    /// Writes a block again that has survived.
    fn restore(&mut self, block: u64, content: Bytes) {
        let (op, class) = (Op::Write, Class::DEFAULT);
        let data = vec![content];
        let mirror = Mirror::Any;
        let request = Request {
            id: 0,
            op,
            fua: true,
            class,
            fail_fast: false,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks: 1,
            data,
        };
        let now = Time(self.clock.0 - self.lead.0);
        self.submit(now, 0, &request);
        self.come_to_rest(now);
    }

    fn come_to_rest(&mut self, now: Time) {
        while self.ssd.next_event() != Time::NEVER {
            self.clock = self.ssd.next_event();
            self.ssd.advance(self.clock, &mut self.completions);
            self.lead = self.lead.max(Nanos(self.clock.0.saturating_sub(now.0)));
        }
        self.completions.clear();
    }

    /// True if the SSD takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.ssd.read_only().is_some()
    }

    /// Blocks that have gone bad, and blocks that were emptied to be erased.
    pub fn counts(&self) -> (u64, u64) {
        let counts = self.ssd.figures(self.clock).counts;
        (self.past.0 + counts.bad_blocks, self.past.1 + counts.collections)
    }
}

/// An SSD just large enough that it collects garbage, and that bad blocks matter.
fn config(model: &Model, fail: u32) -> SsdConfig {
    let mut config = Preset::G.config();
    let geometry = &mut config.geometry;
    (geometry.channels, geometry.chips, geometry.planes, geometry.pages) =
        (PLANES as u32, 1, 1, PAGES as u32);
    config.queue.depth = model.depth;
    (config.buffer.size, config.buffer.capacitor) = (BUFFER, !model.volatile_cache);
    let fail = f64::from(fail) / 1e6;
    (config.faults.factory_bad, config.faults.program_fail, config.faults.erase_fail) =
        (FACTORY_BAD, fail, fail);
    set_size(&mut config, model.blocks);
    config
}

/// Makes a drive one that writes and collects a block of every die as one. None of its flash fails.
fn map_by_superblock(config: &mut SsdConfig) {
    config.faults = Faults { factory_bad: 0.0, program_fail: 0.0, erase_fail: 0.0 };
    (config.ftl.mapping, config.control_api) = (MappingLevel::Superblock, false);
    config.schedule.readdressing = false;
    config.superblock.sense = 2;
    config.superblock.program = config.superblock.sense * config.timing.cell.bits();
    config.timing.program.truncate(1);
    assert_eq!(config.check_superblocks(), Ok(()), "a drive with superblocks");
}

/// Gives a drive with superblocks three reclaim unit handles.
fn place_by_handle(config: &mut SsdConfig, model: &Model, seed: u64) {
    config.fdp.handles = 3;
    config.fdp.isolation =
        [Isolation::Initially, Isolation::Persistently][usize::from(seed.is_multiple_of(3))];
    config.fdp.superblocks = [1, 1, 2, 4][(seed / 32 % 4) as usize];
    config.fdp.groups = [1, 2][(seed / 128 % 2) as usize];
    let parts = config.fdp.streams() + 1;
    config.buffer.size = config.buffer.size.max(u64::from(parts * config.superblock.program) * 4096);
    set_size(config, model.blocks);
    assert_eq!(config.check_fdp(), Ok(()), "a drive with handles");
}

/// Gives a drive room for `blocks` blocks of 4 KiB beside what collection needs, and offers no more of it.
fn set_size(config: &mut SsdConfig, blocks: u64) {
    let blocks_each = blocks.div_ceil(PLANES * PAGES) as u32 + config.blocks_kept() + SPARE_BLOCKS;
    config.geometry.blocks = blocks_each.next_multiple_of(config.fdp.superblocks);
    let pages = PLANES * PAGES * u64::from(config.geometry.blocks);
    let offered = blocks.next_multiple_of(PLANES);
    config.ftl.spare = (1_000_000 - (offered * 1_000_000).div_ceil(pages)) as u32;
}

const PLANES: u64 = 2;
const PAGES: u64 = 16;

/// Of a page of 4 KiB.
const ALL_SECTORS: u64 = 0xFF;

/// Bytes of the write buffer: a few writes fill it.
const BUFFER: u64 = 16 * 4096;

/// Of each plane, beside those that collection needs.
const SPARE_BLOCKS: u32 = 8;

/// Share of the blocks that are bad from the beginning; that more than [`SPARE_BLOCKS`] of a plane are has a
/// chance below one in a million.
const FACTORY_BAD: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::{Class, Op};
    use tailcut_host::Mirror;

    fn model(blocks: u64) -> Model {
        let latency = (Nanos(1), Nanos(1));
        Model {
            blocks,
            depth: 8,
            most_blocks: 32,
            volatile_cache: true,
            latency,
            backend: Backend::Ssd,
            sealed: true,
            has_control: false,
            busy: 0,
        }
    }

    fn write(flash: &mut Flash, now: Time, block: u64) -> (Time, Status) {
        let (op, class) = (Op::Write, Class::DEFAULT);
        let request = Request {
            id: 0,
            op,
            fua: true,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks: 1,
            data: vec![],
        };
        flash.submit(now, 3, &request);
        loop {
            let at = flash.next_event();
            if let [ended] = flash.advance(at)[..] {
                assert_eq!(ended.slot, 3);
                return (at, ended.status);
            }
        }
    }

    #[test]
    fn every_size_has_room_to_collect() {
        for blocks in [100, 160, 200, 352, 400, 480, 720, 5000] {
            let config = config(&model(blocks), 20_000);
            assert_eq!(config.check_space(), Ok(()));
            let offered = config.ftl.logical_pages(&config.geometry);
            assert!((blocks..blocks + 20).contains(&offered), "{offered} of {blocks}");
        }
    }

    #[test]
    fn it_collects_and_lasts() {
        let mut flash = Flash::new(&model(200), 0, 1);
        let mut now = Time::ZERO;
        for index in 0..3000 {
            let (at, status) = write(&mut flash, now, index * 77 % 200);
            (now, _) = (at, assert_eq!(status, Status::Success));
        }
        assert!(flash.counts().1 > 100 && !flash.is_read_only());
    }

    #[test]
    fn failing_programs_use_up_its_spare_blocks() {
        let mut flash = Flash::new(&model(200), 30_000, 1);
        let mut now = Time::ZERO;
        let ended = (0..3000).find_map(|index| {
            let (at, status) = write(&mut flash, now, index * 77 % 200);
            now = at;
            (status != Status::Success).then_some(status)
        });
        assert_eq!(ended, Some(Status::WriteProtected));
        assert!(flash.is_read_only() && flash.counts().0 > 10);
    }

    #[test]
    fn time_goes_on_after_a_power_cut() {
        let mut flash = Flash::new(&model(200), 0, 1);
        let (now, _) = write(&mut flash, Time::ZERO, 1);
        flash.submit(
            now,
            0,
            &Request {
                id: 0,
                op: Op::Write,
                fua: true,
                class: Class::DEFAULT,
                fail_fast: false,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block: 5,
                blocks: 8,
                data: vec![],
            },
        );
        flash.power_cycle(now + Nanos(1));
        assert_eq!(flash.next_event(), Time::NEVER);
        let (at, status) = write(&mut flash, now + Nanos(1), 2);
        assert!(at > now + Nanos(1) && status == Status::Success);
    }
}
