//! The drive as a machine: what it is made of, and the loop over its events.

mod ahead;
mod control;
mod effects;
mod execution;
mod figures;
mod layers;
mod out_of_space;
mod programs;
mod quiet;
mod reads;
mod superblocks;
mod trims;
mod writes;

use crate::backend::Backend;
use crate::config::{SECTORS_MAX, SsdConfig};
use crate::flash::{Geometry, Layout, LogicalPage, PhysicalPage, PlaneId};
use crate::frontend::Frontend;
use crate::frontend::link::Arrival;
use crate::mapping::Mapping;
use crate::mapping::ftl::Location;
use crate::precondition::Precondition;
use crate::probe::Probe;
use crate::request::{EntryId, Tag};
use crate::sets::SetId;
use crate::ssd::layers::Layers;
use crate::timers::{Direction, DriveTimers, Timer};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Cause, Command, Completion, Device, Nanos, Op, Status, Submit, Time};

/// A simulated SSD.
///
/// Three machines, and the loop that serves their timers and carries from one to another what each has
/// done. Its events are one per LUN (its cells are done), one per channel (the bus is free again) and one
/// per direction of the link (something has arrived). The cost of an event does not depend on the size of
/// the drive or the depth of its queue.
#[derive(Debug)]
pub struct Ssd<P: Probe = ()> {
    pub(crate) config: SsdConfig,
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
    /// Commands, the link, and the pages in DRAM.
    pub(crate) frontend: Frontend,
    /// Where each page is, and what flash holds.
    pub(crate) mapping: Mapping,
    /// The LUNs, and what they do when.
    pub(crate) backend: Backend,
    /// What watches this drive.
    pub probe: P,
}

impl Ssd<()> {
    /// The latest moment that the timers of a drive of this geometry can hold.
    pub fn horizon_of(geometry: &Geometry) -> Time {
        let mut timers = DriveTimers::new(geometry, true);
        timers.add_windows();
        timers.horizon()
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
        let mapping = Mapping::new(config, Ssd::horizon_of(&geometry), seed, content);
        Ssd {
            layout: Layout::new(&geometry),
            frontend: Frontend::new(config, mapping.ftl.logical_pages(), mapping.sets),
            backend: Backend::new(config, mapping.sets, seed),
            config: config.clone(),
            geometry,
            mapping,
            probe,
        }
    }

    /// The layers above the backend, as they are now.
    #[inline(always)]
    pub(crate) fn layers(&self) -> Layers<&Mapping, &Frontend> {
        Layers::new(&self.mapping, &self.frontend)
    }

    /// Is there room for the data of [`Ssd::precondition`] beside the blocks that were bad from the
    /// factory?
    ///
    /// # Errors
    /// A message that names the plane with too few good blocks, and what would help.
    pub fn has_room_for(&self, how: &Precondition) -> Result<(), String> {
        self.mapping.has_room_for(how)
    }

    /// Prepares a new drive that [`Ssd::has_room_for`] the data. Returns the number of logical pages that
    /// hold data, of a drive of one set from page 0 on, else as many of each set; their content is
    /// [`prepared_content`](crate::precondition::prepared_content).
    pub fn precondition(&mut self, how: &Precondition, seed: u64) -> u32 {
        self.mapping.precondition(how, seed)
    }

    /// The configuration.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// Why the drive, or a set of it, takes no more writes, once it does not.
    pub fn read_only(&self) -> Option<&str> {
        self.mapping.read_only.why()
    }

    /// The latest moment that the drive's timers can hold.
    pub fn horizon(&self) -> Time {
        self.backend.horizon()
    }

    /// The content of a logical page if the power went now: what flash has, and with a capacitor what is in
    /// the buffer. The mapping counts as known after a power cut; how a drive finds it again is not modelled.
    pub fn content_after_power_cut(&self, logical: LogicalPage) -> u32 {
        match self.mapping.ftl.lookup(logical) {
            Location::Buffer(entry) if !self.frontend.buffer.capacitor => {
                match self.frontend.buffer[entry].old {
                    PhysicalPage::NONE => 0,
                    old => self.mapping.nand.content(old),
                }
            }
            _ => self.peek(logical),
        }
    }

    /// The content of a logical page as a read submitted now would return it.
    pub fn peek(&self, logical: LogicalPage) -> u32 {
        match self.mapping.ftl.lookup(logical) {
            Location::Unmapped => 0,
            Location::Flash(physical) => self.mapping.nand.content(physical),
            Location::Buffer(entry) => self.frontend.buffer[entry].content(),
        }
    }

    /// Asserts that maps, valid pages and counts agree, beside [`Ssd::check_machines`]; walks the whole
    /// drive.
    pub fn check(&self) {
        let old = |entry: EntryId| Some(self.frontend.buffer[entry].old).filter(|&p| p != PhysicalPage::NONE);
        self.mapping.ftl.check(&self.mapping.nand, old);
        self.check_machines();
    }

    /// Asserts what holds of each machine between two events; walks what is in flight and in DRAM, not the
    /// flash.
    pub fn check_machines(&self) {
        self.mapping.steering.check();
        self.frontend.buffer.check();
        self.frontend.cache.check();
        self.backend.check_between_events();
    }

    /// What keeps a drive busy that has no event left: for the message of a run that is stuck.
    pub fn why_stuck(&self) -> String {
        let waiting: usize = self.backend.luns().iter().filter(|u| u.has_work()).count();
        let fullest = self
            .geometry
            .plane_ids()
            .min_by_key(|&p| self.mapping.ftl.free_blocks(p))
            .unwrap_or(PlaneId::new(0));
        format!(
            "{} memory requests are in flight, {waiting} chips have work that they cannot start; plane {fullest} has {} free blocks",
            self.backend.in_flight(),
            self.mapping.ftl.free_blocks(fullest)
        )
    }

    fn refusal(&self, command: &Command) -> Option<Status> {
        if command.op == Op::Flush {
            let names_no_set = self.mapping.sets.are_many() && command.sector >= self.frontend.sectors;
            return names_no_set.then_some(Status::InvalidField);
        }
        let end = command.sector.checked_add(u64::from(command.sectors));
        let fits = command.sectors > 0 && end.is_some_and(|end| end <= self.frontend.sectors);
        let is_good = fits && command.sectors <= SECTORS_MAX && self.stays_in_set(command);
        (!is_good).then_some(Status::InvalidField)
    }

    /// Sets are namespaces: no command is for two of them.
    #[inline]
    fn stays_in_set(&self, command: &Command) -> bool {
        let last = command.sector + u64::from(command.sectors) - 1;
        self.frontend.set_of_sector(command.sector) == self.frontend.set_of_sector(last)
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

    /// Commands in line begin, as many as may.
    #[cold]
    pub(crate) fn begin_waiting(&mut self, now: Time) {
        while let Some((tag, op)) = self.frontend.non_queued.next(|tag| self.frontend.tags[tag].command.op) {
            let t = &mut self.frontend.tags[tag];
            t.spans.add(Cause::QueueDrain, now.since(t.mark));
            t.mark = now;
            self.begin(now, tag, op);
        }
    }

    /// Fetches commands that wait in submission queues, as far as the pool has room.
    #[cold]
    pub(crate) fn fetch_commands(&mut self, now: Time) {
        while let Some(tag) = self.frontend.submission.fetch() {
            let t = &mut self.frontend.tags[tag];
            t.spans.add(Cause::Tag, now.since(t.mark));
            t.mark = now;
            let op = t.command.op;
            self.begin(now, tag, op);
        }
    }

    /// Serves the event of a timer.
    #[inline]
    fn serve(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Link(direction) => self.serve_link(now, direction),
            Timer::Channel(channel) => self.serve_bus(now, channel),
            Timer::Lun(lun) => self.serve_lun(now, lun),
            Timer::Windows => {
                self.mapping.window_timer_expires(now);
                self.carry_out(now);
            }
            Timer::Buffer if self.frontend.pacing.is_on() => {
                self.frontend.admit_waiting(now, &self.mapping.ftl)
            }
            Timer::Buffer => self.look_for_silence(now),
        }
        self.set_timers();
    }

    /// Sets the timers that the frontend wants set.
    #[inline(always)]
    pub(crate) fn set_timers(&mut self) {
        for direction in [Direction::ToHost, Direction::ToDevice] {
            if let Some(at) = self.frontend.take_due(direction) {
                self.backend.set_timer(Timer::Link(direction), at);
            }
        }
        if let Some(at) = self.frontend.take_buffer_due() {
            self.backend.set_timer(Timer::Buffer, at);
        }
    }

    /// Serves arrivals over the link.
    #[inline]
    fn serve_link(&mut self, now: Time, direction: Direction) {
        while let Some(arrival) = self.frontend.link.arrived(direction, now) {
            match arrival {
                Arrival::Completion(tag) => self.complete(now, tag),
                Arrival::Data { tag, first, pages } => self.data_arrived(now, tag, first..first + pages),
                Arrival::Page(request) => self.page_arrived(now, request),
            }
        }
        if let Some(next) = self.frontend.link.next_arrival(direction) {
            self.backend.set_timer(Timer::Link(direction), next);
        }
    }

    /// The host sees the end of a command now: all of its time must be accounted for.
    #[inline(always)]
    pub(crate) fn complete(&mut self, now: Time, tag: Tag) {
        let t = &self.frontend.tags[tag];
        assert_eq!(t.mark, now, "a span of the command is missing or counted twice");
        debug_assert_eq!(t.spans.total(), now.since(t.arrived));
        if self.frontend.tracker.is_on() {
            self.frontend.track_end(now, tag);
        }
        let t = &self.frontend.tags[tag];
        self.frontend.completions.push(Completion {
            id: t.command.id,
            status: t.status,
            at: now,
            content: t.content,
            busy_for: if t.status == Status::Contended { t.busy_for(now) } else { Nanos::ZERO },
            spans: t.spans,
        });
        self.mapping.counters.count(&t.command, self.frontend.page_sectors);
        if matches!(t.command.op, Op::Write | Op::Flush) {
            let set = self.frontend.set_of_tag(tag);
            self.mapping.steering.write_ends(set);
        }
        self.frontend.tags.release(tag);
        self.frontend.non_queued.leave();
        self.frontend.submission.leave();
        self.backend.command_leaves(now);
    }
}

impl<P: Probe> Device for Ssd<P> {
    fn identify(&self) -> Identify {
        Identify {
            model: self.config.model_name(),
            sectors: self.frontend.sectors,
            page_sectors: self.frontend.page_sectors,
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
        let Some(tag) = self.frontend.tags.bind(now, command) else { return Submit::Busy };
        self.backend.command_enters(now);
        if matches!(command.op, Op::Write | Op::Flush) {
            self.write_begins(now, self.frontend.set_of_sector(command.sector));
        }
        if self.frontend.non_queued.enter(tag, command.op)
            && self.frontend.submission.enter(tag, command.queue)
        {
            self.begin(now, tag, command.op);
        }
        self.set_timers();
        Submit::Accepted
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.backend.next_event()
    }

    #[inline(always)]
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        std::mem::swap(&mut self.frontend.completions, completions);
        let before = self.frontend.completions.len();
        let mut done = true;
        while let Some((now, timer)) = self.backend.first_timer() {
            if now > until {
                break;
            }
            self.serve(now, timer);
            self.backend.expire_timer(timer, now);
            if self.frontend.non_queued.is_due() {
                self.begin_waiting(now);
            }
            if self.frontend.submission.is_due() {
                self.fetch_commands(now);
            }
            self.set_timers();
            if self.frontend.completions.len() > before {
                done = false;
                break;
            }
        }
        std::mem::swap(&mut self.frontend.completions, completions);
        done
    }

    #[inline(always)]
    fn expect(&self, commands: &[Command]) -> u64 {
        // Independent loads overlap in the processor, as far as its window reaches: so one short
        // loop for each table rather than one long loop for all.
        let last = self.mapping.ftl.logical_pages().saturating_sub(1);
        let shift = self.frontend.page_sectors.trailing_zeros();
        let logical = |c: &Command| LogicalPage::new(((c.sector >> shift) as u32).min(last));
        let mut sum = commands.iter().fold(0, |sum, c| sum ^ self.mapping.ftl.touch(logical(c)));
        let on_flash = |c: &Command| match self.mapping.ftl.lookup(logical(c)) {
            Location::Flash(physical) => physical,
            _ => PhysicalPage::new(0),
        };
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.mapping.nand.touch(on_flash(c)));
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.mapping.ftl.touch_block(on_flash(c)));
        u64::from(sum)
    }

    /// Applies to drives with one set. A drive of several sets needs [`Ssd::control_set`]; here it answers
    /// `Unsupported`.
    fn control(&mut self, now: Time, call: Control) -> ControlReply {
        if self.mapping.sets.are_many() {
            ControlReply::Unsupported
        } else {
            self.answer(now, SetId::FIRST, call)
        }
    }
}
