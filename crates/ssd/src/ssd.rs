//! The drive as a machine: what it is made of, and the loop over its events.

use crate::behaviour::Tracker;
use crate::block_mapped::BlockMapped;
use crate::collection::Collection;
use crate::config::SsdConfig;
use crate::controller::buffer::Buffer;
use crate::controller::cache::ReadCache;
use crate::controller::commit::Scheduler;
use crate::controller::ftl::{Ftl, Mapping, MappingLevel};
use crate::controller::link::{Arrival, Direction, Link};
use crate::controller::pacing::{Pacing, PacingMode};
use crate::controller::streams::Streams;
use crate::controller::submission::SubmissionQueues;
use crate::controller::tags::{SECTORS_MAX, Tags};
use crate::figures::{Counters, Occupancy};
use crate::flash::bus::Buses;
use crate::flash::lun::Luns;
use crate::flash::nand::NandArray;
use crate::flash::timing::Phases;
use crate::flash::{ChannelId, Geometry, Layout, LogicalPage, LunId, PhysicalPage, PlaneId};
use crate::forecast::Forecast;
use crate::inference::Inference;
use crate::jitter::Jitter;
use crate::levelling::Levelling;
use crate::non_queued::NonQueued;
use crate::out_of_space::ReadOnly;
use crate::preemption::Preemption;
use crate::probe::Probe;
use crate::request::{EntryId, Requests, Tag};
use crate::sets::{SetId, Sets};
use crate::steering::Steering;
use crate::superblock::Superblocks;
use crate::woken::Woken;
use tailcut_base::config::Choice;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::ids::Id;
use tailcut_base::timers::Timers;
use tailcut_base::{Cause, Command, Completion, Device, Nanos, Op, Status, Submit, Time};

/// The timers: one for each direction of the link, then one for each channel, then one for each LUN, then
/// one for the end of reads (see [`crate::forecast`]) where that is waited for, and one for the windows of
/// collection (see [`crate::steering`]) once the host has configured them.
const FIRST_CHANNEL: usize = 2;

/// A simulated SSD.
///
/// Its events are one per LUN (its cells are done), one per channel (the bus is free again) and
/// one per direction of the link (something has arrived); see [`Timers`]. The cost of an event
/// does not depend on the size of the drive or the depth of its queue.
#[derive(Debug)]
pub struct Ssd<P: Probe = ()> {
    pub(crate) config: SsdConfig,
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
    pub(crate) phases: Phases,
    pub(crate) page_sectors: u32,
    /// User capacity in sectors.
    pub(crate) sectors: u64,
    pub(crate) places: u32,
    pub(crate) nand: NandArray,
    pub(crate) luns: Luns,
    pub(crate) buses: Buses,
    pub(crate) link: Link,
    pub(crate) tags: Tags,
    pub(crate) non_queued: NonQueued,
    pub(crate) submission: SubmissionQueues,
    pub(crate) requests: Requests,
    pub(crate) scheduler: Scheduler,
    pub(crate) buffer: Buffer,
    pub(crate) pacing: Pacing,
    pub(crate) cache: ReadCache,
    pub(crate) streams: Streams,
    pub(crate) ftl: Ftl,
    pub(crate) collection: Collection,
    pub(crate) sets: Sets,
    pub(crate) steering: Steering,
    pub(crate) read_only: ReadOnly,
    pub(crate) preemption: Preemption,
    pub(crate) inference: Inference,
    pub(crate) forecast: Forecast,
    pub(crate) levelling: Levelling,
    pub(crate) tracker: Tracker,
    pub(crate) jitter: Jitter,
    /// Present when the drive maps by block.
    pub(crate) block_mapped: Option<BlockMapped>,
    /// Present when the drive maps by superblock.
    pub(crate) superblocks: Option<Superblocks>,
    pub(crate) timers: Timers,
    pub(crate) completions: Vec<Completion>,
    pub(crate) counters: Counters,
    pub(crate) occupancy: Occupancy,
    /// A transaction is being composed: chips are woken when it has been.
    pub(crate) composing: bool,
    /// LUNs that have been given work, to be started at the end of the present step.
    pub(crate) woken: Woken,
    /// Flush commands that have just become complete; empty between events.
    pub(crate) flushed: Vec<Tag>,
    /// What watches this drive.
    pub probe: P,
}

impl Ssd<()> {
    /// The latest moment that the timers of a drive of this geometry can hold.
    pub fn horizon_of(geometry: &Geometry) -> Time {
        timers(geometry, true).with_one_more().horizon()
    }

    /// A new, empty drive without a probe. With `content` its pages keep fingerprints.
    pub fn new(config: &SsdConfig, seed: u64, content: bool) -> Ssd<()> {
        Ssd::watched(config, seed, content, ())
    }
}

impl<P: Probe> Ssd<P> {
    /// A new, empty drive that `probe` watches. The configuration must be valid: see
    /// [`SsdConfig::check_space`].
    pub fn watched(config: &SsdConfig, seed: u64, content: bool, probe: P) -> Ssd<P> {
        let geometry = config.geometry.clone();
        let nand = NandArray::new(&geometry, &config.faults, seed, content);
        let sets = Sets::new(&config.sets, &config.ftl, &geometry);
        let ftl = Ftl::new(
            &config.ftl,
            &geometry,
            config.gc.victim,
            config.gc.choices,
            config.gc_reserve(),
            &nand,
            sets,
        );
        let luns = geometry.luns();
        Ssd {
            layout: Layout::new(&geometry),
            phases: Phases::new(&config.timing, &geometry).sensing(config.pages_per_sense()),
            page_sectors: geometry.page_sectors(),
            sectors: u64::from(ftl.logical_pages()) * u64::from(geometry.page_sectors()),
            places: geometry.places_per_lun(),
            luns: Luns::new(&geometry),
            buses: Buses::new(&geometry, &config.bus),
            link: Link::new(&config.link),
            non_queued: NonQueued::new(config.queue.protocol),
            submission: SubmissionQueues::new(config.queue.commands, config.queue.arbitration),
            tags: Tags::new(config.queue.depth, geometry.page_sectors()),
            requests: Requests::default(),
            scheduler: Scheduler::new(&config.schedule.commit_rules(), &geometry),
            buffer: Buffer::new(&config.buffer, geometry.page_bytes, sets.count()),
            pacing: Pacing::new(&config.pacing),
            cache: ReadCache::new(&config.cache, geometry.page_bytes, ftl.logical_pages(), sets.count()),
            streams: Streams::new(config.cache.streams, geometry.page_sectors(), config.cache.ahead),
            collection: Collection::new(&config.gc, &config.wear, &geometry, sets.count(), seed),
            sets,
            steering: Steering::new(sets.ids()),
            read_only: ReadOnly::none(sets.ids()),
            levelling: Levelling::new(&geometry, sets),
            tracker: Tracker::default(),
            jitter: Jitter::new(config.timing.read_jitter, seed),
            inference: Inference::new(),
            forecast: Forecast::new(&geometry, sets.count()),
            preemption: Preemption::new(&config.preempt, luns, geometry.pages, seed),
            timers: timers(&geometry, config.preempt.time_programs || config.pacing.mode != PacingMode::None),
            completions: Vec::new(),
            counters: Counters::default(),
            occupancy: Occupancy::default(),
            composing: false,
            woken: Woken::default(),
            flushed: Vec::new(),
            config: config.clone(),
            geometry,
            block_mapped: (config.ftl.mapping == MappingLevel::Block).then(|| BlockMapped::new(config, &ftl)),
            superblocks: Superblocks::new(config, seed),
            nand,
            ftl,
            probe,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// Why the drive, or a set of it, takes no more writes, once it does not.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.why()
    }

    /// The latest moment that the drive's timers can hold.
    pub fn horizon(&self) -> Time {
        self.timers.horizon()
    }

    /// The content of a logical page if the power went now: what flash has, and with a capacitor what is in
    /// the buffer. The mapping counts as known after a power cut; how a drive finds it again is not modelled.
    pub fn content_after_power_cut(&self, logical: LogicalPage) -> u32 {
        match self.ftl.lookup(logical) {
            Mapping::Buffer(entry) if !self.buffer.capacitor => match self.buffer[entry].old {
                PhysicalPage::NONE => 0,
                old => self.nand.content(old),
            },
            _ => self.peek(logical),
        }
    }

    /// The content of a logical page as a read submitted now would return it.
    pub fn peek(&self, logical: LogicalPage) -> u32 {
        match self.ftl.lookup(logical) {
            Mapping::Unmapped => 0,
            Mapping::Flash(physical) => self.nand.content(physical),
            Mapping::Buffer(entry) => self.buffer[entry].content(),
        }
    }

    /// Asserts that maps, valid pages and counts agree, beside [`Ssd::check_machines`]; walks the whole
    /// drive.
    pub fn check(&self) {
        let old = |entry: EntryId| Some(self.buffer[entry].old).filter(|&p| p != PhysicalPage::NONE);
        self.ftl.check(&self.nand, old);
        self.check_machines();
    }

    /// Asserts what holds of each machine between two events; walks what is in flight and in DRAM, not the
    /// flash.
    pub fn check_machines(&self) {
        self.steering.check();
        self.buffer.check();
        self.cache.check();
        let on_chips = self.luns.check(&self.requests);
        assert!(on_chips <= self.requests.in_flight(), "requests of LUNs are in flight");
    }

    /// What keeps a drive busy that has no event left: for the message of a run that is stuck.
    pub fn why_stuck(&self) -> String {
        let waiting: usize = self.luns.iter().filter(|u| u.has_work()).count();
        let fullest =
            self.geometry.plane_ids().min_by_key(|&p| self.ftl.free_blocks(p)).unwrap_or(PlaneId::new(0));
        format!(
            "{} memory requests are in flight, {waiting} chips have work that they cannot start; plane {fullest} has {} free blocks",
            self.requests.in_flight(),
            self.ftl.free_blocks(fullest)
        )
    }

    pub(crate) fn channel_timer(&self, channel: ChannelId) -> usize {
        FIRST_CHANNEL + channel.index()
    }

    #[inline]
    pub(crate) fn set_lun_timer(&mut self, lun: LunId, at: Time) {
        self.timers.set(FIRST_CHANNEL + self.geometry.channels as usize + lun.index(), at);
    }

    /// The LUN has no event until its timer is set again.
    pub(crate) fn clear_lun_timer(&mut self, lun: LunId) {
        self.timers.clear(FIRST_CHANNEL + self.geometry.channels as usize + lun.index());
    }

    /// Has the buffer looked at again at a moment, for drives that pace writes or wait for silence.
    pub(crate) fn set_silence_timer(&mut self, at: Time) {
        let slot = FIRST_CHANNEL + self.geometry.channels as usize + self.luns.len();
        self.timers.set(slot, at);
    }

    fn refusal(&self, command: &Command) -> Option<Status> {
        if command.op == Op::Flush {
            let names_no_set = self.sets.are_many() && command.sector >= self.sectors;
            return names_no_set.then_some(Status::InvalidField);
        }
        let end = command.sector.checked_add(u64::from(command.sectors));
        let fits = command.sectors > 0 && end.is_some_and(|end| end <= self.sectors);
        let is_good = fits && command.sectors <= SECTORS_MAX && self.stays_in_set(command);
        (!is_good).then_some(Status::InvalidField)
    }

    /// Sets are namespaces: no command is for two of them.
    #[inline]
    fn stays_in_set(&self, command: &Command) -> bool {
        let last = command.sector + u64::from(command.sectors) - 1;
        self.set_of_sector(command.sector) == self.set_of_sector(last)
    }

    /// The drive begins to work on a command.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, tag: Tag, op: Op) {
        match op {
            Op::Read => self.read(now, tag),
            Op::Write => self.write(now, tag),
            Op::Trim => self.trim(now, tag),
            Op::Flush => self.flush(now, tag),
        }
    }

    /// Serves the event of a timer.
    #[inline]
    fn serve(&mut self, now: Time, slot: usize) {
        if slot < FIRST_CHANNEL {
            let direction =
                if slot == Direction::ToHost as usize { Direction::ToHost } else { Direction::ToDevice };
            return self.serve_link(now, direction);
        }
        let first_lun = FIRST_CHANNEL + self.geometry.channels as usize;
        if slot < first_lun {
            self.serve_bus(now, ChannelId::at(slot - FIRST_CHANNEL));
        } else if slot - first_lun < self.luns.len() {
            self.cells_done(now, LunId::at(slot - first_lun));
        } else {
            self.serve_drive(now, slot);
        }
    }

    /// Serves a timer of the drive as a whole.
    #[cold]
    fn serve_drive(&mut self, now: Time, slot: usize) {
        if self.steering.is_on() && slot + 1 == self.timers.slots() {
            return self.window_timer_expires(now);
        }
        if self.pacing.is_on() {
            return self.admit_waiting(now);
        }
        self.look_for_silence(now);
    }

    /// Serves what has arrived over the link.
    #[inline]
    fn serve_link(&mut self, now: Time, direction: Direction) {
        while let Some(arrival) = self.link.arrived(direction, now) {
            match arrival {
                Arrival::Completion(tag) => self.complete(now, tag),
                Arrival::Data { tag, first, pages } => self.data_arrived(now, tag, first, pages),
                Arrival::Page(request) => self.page_arrived(now, request),
            }
        }
        if let Some(next) = self.link.next_arrival(direction) {
            self.timers.set(direction as usize, next);
        }
    }

    /// Announces an arrival over the link.
    #[inline]
    pub(crate) fn announce(&mut self, direction: Direction, end: Time, arrival: Arrival) {
        if let Some(at) = self.link.announce(direction, end, arrival) {
            self.timers.set(direction as usize, at);
        }
    }

    /// The host sees the end of a command now: all of its time must be accounted for.
    #[inline(always)]
    pub(crate) fn complete(&mut self, now: Time, tag: Tag) {
        let t = &self.tags[tag];
        assert_eq!(t.mark, now, "a span of the command is missing or counted twice");
        debug_assert_eq!(t.spans.total(), now.since(t.arrived));
        if self.tracker.is_on() {
            self.track_end(now, tag);
        }
        let t = &self.tags[tag];
        self.completions.push(Completion {
            id: t.command.id,
            status: t.status,
            at: now,
            content: t.content,
            busy_for: if t.status == Status::Contended { t.busy_for(now) } else { Nanos::ZERO },
            spans: t.spans,
        });
        self.counters.count(&t.command, self.page_sectors);
        if matches!(t.command.op, Op::Write | Op::Flush) {
            let set = self.set_of_tag(tag);
            self.steering.write_ends(set);
        }
        self.tags.release(tag);
        self.non_queued.leave();
        self.submission.leave();
        self.occupancy.leave(now, self.luns.held(now));
    }

    /// Sends the completion of a command that has no data for the host and whose work has ended.
    /// The cost of the command on the link was paid already if its data came over it.
    pub(crate) fn complete_over_link(&mut self, now: Time, tag: Tag) {
        let trim = if self.tags[tag].command.op == Op::Trim { self.config.queue.trim } else { Nanos::ZERO };
        let firmware = self.config.queue.firmware + trim;
        let ready = now + firmware;
        let has_no_data = self.tags[tag].command.op != Op::Write;
        let transfer = self.link.reserve(Direction::ToHost, now, ready, 0, has_no_data);
        let t = &mut self.tags[tag];
        assert_eq!(t.mark, now, "the account of a command stands where its work ended");
        t.spans.add(Cause::Controller, firmware);
        t.spans.add(Cause::LinkWait, transfer.start.since(ready));
        t.spans.add(Cause::Link, transfer.end.since(transfer.start));
        t.mark = transfer.end;
        self.announce(Direction::ToHost, transfer.end, Arrival::Completion(tag));
    }
}

/// One timer for each LUN and channel, one for each direction of the link and, for drives that wait for
/// the end of reads, one for that.
fn timers(geometry: &Geometry, waits_for_silence: bool) -> Timers {
    let first_lun = FIRST_CHANNEL + geometry.channels as usize;
    let slots = first_lun + geometry.luns() as usize + usize::from(waits_for_silence);
    Timers::with_small_tree(first_lun, slots)
}

impl<P: Probe> Device for Ssd<P> {
    fn identify(&self) -> Identify {
        Identify {
            model: self.config.preset.name().to_string(),
            sectors: self.sectors,
            page_sectors: self.page_sectors,
            queue_depth: self.config.queue.depth,
            max_sectors: SECTORS_MAX,
            block_sectors: 1,
            volatile_cache: self.config.buffer.size > 0 && !self.config.buffer.capacitor,
        }
    }

    #[inline(always)]
    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        if let Some(status) = self.refusal(command) {
            return Submit::Refused(status);
        }
        let Some(tag) = self.tags.bind(now, command) else { return Submit::Busy };
        self.occupancy.enter(now, self.luns.held(now));
        if matches!(command.op, Op::Write | Op::Flush) {
            self.write_begins(now, self.set_of_sector(command.sector));
        }
        if self.non_queued.enter(tag, command.op) && self.submission.enter(tag, command.queue) {
            self.begin(now, tag, command.op);
        }
        Submit::Accepted
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.timers.next()
    }

    #[inline(always)]
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        std::mem::swap(&mut self.completions, completions);
        let before = self.completions.len();
        let mut done = true;
        while let Some((now, slot)) = self.timers.first() {
            if now > until {
                break;
            }
            self.serve(now, slot);
            self.timers.expire(slot, now);
            if self.non_queued.is_due() {
                self.begin_waiting(now);
            }
            if self.submission.is_due() {
                self.fetch_commands(now);
            }
            if self.completions.len() > before {
                done = false;
                break;
            }
        }
        std::mem::swap(&mut self.completions, completions);
        done
    }

    #[inline(always)]
    fn expect(&self, commands: &[Command]) -> u64 {
        // Independent loads overlap in the processor, as far as its window reaches: so one short
        // loop for each table rather than one long loop for all.
        let last = self.ftl.logical_pages().saturating_sub(1);
        let shift = self.page_sectors.trailing_zeros();
        let logical = |c: &Command| LogicalPage::new(((c.sector >> shift) as u32).min(last));
        let mut sum = commands.iter().fold(0, |sum, c| sum ^ self.ftl.touch(logical(c)));
        let on_flash = |c: &Command| match self.ftl.lookup(logical(c)) {
            Mapping::Flash(physical) => physical,
            _ => PhysicalPage::new(0),
        };
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.nand.touch(on_flash(c)));
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.ftl.touch_block(on_flash(c)));
        u64::from(sum)
    }

    /// Applies to drives with one set. A drive of several sets needs [`Ssd::control_set`]; here it answers
    /// `Unsupported`.
    fn control(&mut self, now: Time, call: Control) -> ControlReply {
        if self.sets.are_many() { ControlReply::Unsupported } else { self.answer(now, SetId::FIRST, call) }
    }
}
