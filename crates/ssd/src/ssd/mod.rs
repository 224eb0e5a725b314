//! The drive as a machine: what it is made of, and the loop over its events.

mod execution;
mod layers;
mod reads;
mod units;
mod writes;

use crate::backend::Backend;
use crate::config::{SECTORS_MAX, SsdConfig};
use crate::figures::Figures;
use crate::flash::{Geometry, Layout, LogicalPage, PhysicalPage, PlaneId};
use crate::frontend::Frontend;
use crate::frontend::behaviour::{Accuracy, Prediction, Service, WaitPrediction};
use crate::frontend::link::Arrival;
use crate::holder::HOLDERS;
use crate::mapping::Mapping;
use crate::mapping::precondition::Precondition;
use crate::probe::Probe;
use crate::request::{EntryId, Kind, Tag};
use crate::sets::{SetId, Sets};
use crate::ssd::layers::Layers;
use crate::timers::{Direction, DriveTimers, Timer};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::fdp::Event;
use tailcut_base::{BadValue, Command, CommandId, Completion, Device, Nanos, Op, Submit, Time};

/// A simulated SSD.
///
/// Three machines, and the loop that serves their timers and carries from one to another what each has
/// done. Its events are one per LUN (its cells are done), one per channel (the bus is free again) and one
/// per direction of the link (something has arrived). The cost of an event does not depend on the size of
/// the drive or the depth of its queue.
///
/// # Examples
/// ```
/// use tailcut_base::{Command, CommandId, Device, Op, Status, Submit, Time};
/// use tailcut_ssd::{Preset, Ssd};
///
/// let mut drive = Ssd::new(&Preset::G.config(), 1, false);
/// let read = Command { op: Op::Read, sectors: 8, ..Command::flush(CommandId(7)) };
/// assert_eq!(drive.submit(Time::ZERO, &read), Submit::Accepted);
/// let mut completions = Vec::new();
/// while completions.is_empty() {
///     drive.advance(drive.next_event(), &mut completions);
/// }
/// assert_eq!(completions[0].status, Status::Success);
/// // Every nanosecond of its latency has a cause.
/// assert_eq!(completions[0].spans.total(), completions[0].at.since(Time::ZERO));
/// ```
#[derive(Debug)]
pub struct Ssd<P: Probe = ()> {
    config: SsdConfig,
    geometry: Geometry,
    layout: Layout,
    /// Commands, the link, and the pages in DRAM.
    frontend: Frontend,
    /// Where each page is, and what flash holds.
    mapping: Mapping,
    /// The LUNs, and what they do when.
    backend: Backend,
    /// The observer of transactions and handovers; `()` observes nothing.
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

/// Where the completions of a call of [`Device::advance`] go.
type Completions = Vec<Completion>;

impl<P: Probe> Ssd<P> {
    /// A new, empty drive that `probe` watches. The configuration must be valid: see
    /// [`SsdConfig::check_space`].
    pub fn watched(config: &SsdConfig, seed: u64, content: bool, probe: P) -> Ssd<P> {
        let geometry = config.geometry.clone();
        let mapping = Mapping::new(config, Ssd::horizon_of(&geometry), seed, content);
        Ssd {
            layout: Layout::new(&geometry),
            frontend: Frontend::new(config, mapping.map().logical_pages(), *mapping.sets()),
            backend: Backend::new(config, *mapping.sets(), seed),
            config: config.clone(),
            geometry,
            mapping,
            probe,
        }
    }

    /// The layers above the backend, as they are now.
    #[inline(always)]
    fn layers(&self) -> Layers<&Mapping, &Frontend> {
        Layers::new(&self.mapping, &self.frontend)
    }

    /// Is there room for the data of [`Ssd::precondition`] beside the blocks that are bad from the factory?
    ///
    /// # Errors
    /// A message that names the plane with too few good blocks, and what would help.
    pub fn has_room_for(&self, how: &Precondition) -> Result<(), BadValue> {
        self.mapping.has_room_for(how)
    }

    /// Prepares a new drive that [`Ssd::has_room_for`] the data. Returns the number of logical pages that
    /// hold data, of a drive of one set from page 0 on, else as many of each set; their content is
    /// [`prepared_content`](crate::mapping::precondition::prepared_content).
    pub fn precondition(&mut self, how: &Precondition, seed: u64) -> u64 {
        self.mapping.precondition(how, seed)
    }

    /// The configuration that the drive was built from.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// Why the drive, or a set of it, takes no more writes, once it does not.
    pub fn read_only(&self) -> Option<&str> {
        self.mapping.why_read_only()
    }

    /// The latest moment that the drive's timers can hold.
    pub fn horizon(&self) -> Time {
        self.backend.horizon()
    }

    /// Asserts that maps, valid pages and counts agree, beside [`Ssd::check_machines`]; walks the whole
    /// drive.
    pub fn check(&self) {
        let old = |entry: EntryId| Some(self.frontend.entry(entry).old).filter(|&p| p != PhysicalPage::NONE);
        self.mapping.check(old);
        self.check_machines();
    }

    /// Asserts what holds of each machine between two events; walks what is in flight and in DRAM, not the
    /// flash.
    pub fn check_machines(&self) {
        self.mapping.steering.check();
        self.frontend.check();
        self.backend.check_between_events();
    }

    /// What keeps a drive busy that has no event left: for the message of a run that is stuck.
    pub fn why_stuck(&self) -> String {
        let (fullest, free) = self.mapping.fullest_plane();
        format!(
            "{} memory requests in flight, {} chips blocked; plane {fullest} has {free} free blocks",
            self.backend.in_flight(),
            self.backend.luns_with_work(),
        )
    }

    /// Turns predictions on: see [`crate::frontend::behaviour`].
    pub fn track_behaviour(&mut self) {
        self.frontend.track_behaviour();
    }

    /// Moves the predictions made since the last call to `predictions`.
    pub fn take_predictions(&mut self, predictions: &mut Vec<Prediction>) {
        predictions.append(self.frontend.predictions());
    }

    /// How well each kind of service has been predicted, in the order of [`Service::ALL`].
    pub fn prediction_accuracy(&self) -> [Accuracy; Service::ALL.len()] {
        self.frontend.prediction_accuracy()
    }

    /// Predicts when a write that found the buffer full gets space.
    pub fn wait_prediction(&mut self, now: Time, id: CommandId, sector: u64) -> WaitPrediction {
        self.frontend.wait_prediction(now, id, sector)
    }

    /// Free space of the write buffer in bytes, which every completion carries along.
    pub fn buffer_room(&self) -> u64 {
        self.frontend.room() * self.geometry.page_bytes
    }

    /// How long after it has been sent a command is known for what it is.
    pub fn time_to_know(&self) -> Nanos {
        self.frontend.time_to_know()
    }

    /// Pages that were or are being read ahead and were never requested; walks the cache.
    pub fn unasked(&self) -> u64 {
        self.frontend.cache.unasked()
    }

    /// The time of each LUN by holder, in the order of [`Holder::ALL`](crate::holder::Holder::ALL), up to
    /// `now`, which must not be before the last event served.
    pub fn lun_times(&self, now: Time) -> impl Iterator<Item = [u64; HOLDERS]> {
        self.backend.lun_times(now)
    }

    /// The figures up to `now`, which must not be before the last event served. Transactions under way are
    /// counted; of their time on cells and buses, and of what is reserved of the link, only what has passed.
    pub fn figures(&self, now: Time) -> Figures {
        let (g, f) = (&self.geometry, &self.frontend);
        let ways = [Direction::ToHost, Direction::ToDevice];
        Figures {
            erased_blocks: self.erased_blocks() as i64,
            buffer_read_hits: f.buffer_read_hits(),
            buffer_write_hits: f.buffer_write_hits(),
            cache: f.cache.counts,
            dies: u64::from(g.channels * g.chips * g.dies),
            planes: u64::from(g.plane_count()),
            channels: u64::from(g.channels),
            link_busy: ways.map(|way| f.link.busy(way, now)),
            link_bytes: ways.map(|way| f.link.bytes(way)),
            handles: self.mapping.handle_figures(),
            ..self.backend.figures(now, &self.mapping.counters)
        }
    }

    /// The spread of wear: fewest, mean and most erases of a block that is in service.
    pub fn wear(&self) -> (u32, f64, u32) {
        self.mapping.wear()
    }

    /// The valid pages of each block that is full, in the order of block numbers; walks all blocks.
    pub fn valid_pages_of_closed_blocks(&self) -> Vec<u32> {
        self.mapping.valid_pages_of_closed_blocks()
    }

    /// The valid pages of each block that is programmed to its end, by block number; walks all blocks.
    pub fn valid_pages_of_full_blocks(&self) -> Vec<u32> {
        self.mapping.valid_pages_of_full_blocks()
    }

    /// The plane in which a logical page lies; `None` while it is in the buffer, or not written.
    pub fn plane_of_page(&self, logical: LogicalPage) -> Option<PlaneId> {
        self.mapping.plane_of_page(logical)
    }

    /// Pages that can still be programmed in each block of a plane that is programmed in part, in the order
    /// of block numbers.
    pub fn pages_left_in_open_blocks(&self, plane: PlaneId) -> Vec<u32> {
        self.mapping.pages_left_in_open_blocks(plane)
    }

    /// Number of planes of the whole drive.
    pub fn planes(&self) -> u32 {
        self.geometry.plane_count()
    }

    /// The name of each kind of transaction, for the arrays of [`Figures`].
    pub fn kinds() -> [&'static str; Kind::ALL.len()] {
        Kind::ALL.map(Kind::label)
    }

    /// The sets that the drive is divided into.
    pub fn sets(&self) -> Sets {
        *self.mapping.sets()
    }

    /// Identifies a set as a device of its own. Its sector 0 is sector `set` × its sectors of the drive.
    ///
    /// # Panics
    /// If the drive has no set with this number.
    pub fn identify_set(&self, set: SetId) -> Identify {
        let (whole, count) = (self.identify(), self.mapping.sets().count());
        assert!(set.get() < count, "the drive has {count} sets");
        let (sectors, queue_depth) = (whole.sectors / u64::from(count), whole.queue_depth / count);
        Identify { sectors, queue_depth, ..whole }
    }

    /// A call of the control interface that concerns one set; see [`Device::control`]. A drive without the
    /// interface (`control_api`) knows no call.
    ///
    /// # Panics
    /// If the drive has no set with this number.
    pub fn control_set(&mut self, now: Time, set: SetId, call: Control) -> ControlReply {
        let count = self.mapping.sets().count();
        assert!(set.get() < count, "the drive has {count} sets");
        if !self.config.control_api && !call.is_of_placement() {
            return ControlReply::Unsupported;
        }
        let reply = match call {
            Control::IsReadyForRead => self.is_ready_for_read(now, set),
            Control::PredictableLatencyLog => self.predictable_latency_log(now, set),
            _ => self.steer(now, set, call),
        };
        self.set_timers();
        reply
    }

    /// Answers a call about a set that the mapping can answer, with what follows from it for its planes.
    fn steer(&mut self, now: Time, set: SetId, call: Control) -> ControlReply {
        if let Control::RunGc { until } = call
            && let Some(high) = self.mapping.runs_at_once(now, set, until)
        {
            for plane in self.mapping.sets().planes(set) {
                self.mapping.collect_at_once(now, plane, high);
                self.carry_out(now);
            }
            self.mapping.end_quiet(now, set);
        }
        let reply = self.mapping.control(now, set, call, self.backend.horizon());
        self.carry_out(now);
        if matches!(call, Control::SetThresholds(_)) && reply == ControlReply::Done {
            for plane in self.mapping.sets().planes(set) {
                self.collect_if_short(now, plane);
            }
        }
        reply
    }

    /// The latest events of data placement, the oldest first: those that the host caused, or the controller.
    pub fn placement_events(&self, of_host: bool) -> Vec<Event> {
        self.mapping.placement_events(of_host).collect()
    }

    /// Erased blocks of the whole drive, for observers; a host asks by [`Control::FreeBlocks`].
    pub fn erased_blocks(&self) -> u64 {
        self.mapping.erased_blocks()
    }

    /// True while any plane or superblock of the drive is being collected.
    pub fn collects(&self) -> bool {
        self.mapping.collects()
    }

    /// The drive begins to work on a command.
    #[inline(always)]
    fn begin(&mut self, now: Time, tag: Tag, op: Op) {
        match op {
            Op::Read => self.read(now, tag),
            Op::Write => self.write(now, tag),
            Op::Trim => self.trim(now, tag),
            Op::Flush => self.flush(now, tag),
        }
    }

    /// Commands in line begin, as many as may.
    #[cold]
    fn begin_waiting(&mut self, now: Time) {
        while let Some((tag, op)) = self.frontend.next_in_line(now) {
            self.begin(now, tag, op);
        }
    }

    /// Fetches commands that wait in submission queues, as far as the pool has room.
    #[cold]
    fn fetch_commands(&mut self, now: Time) {
        while let Some((tag, op)) = self.frontend.fetch_command(now) {
            self.begin(now, tag, op);
        }
    }

    /// Serves the event of a timer.
    #[inline]
    fn serve(&mut self, now: Time, timer: Timer, completions: &mut Completions) {
        match timer {
            Timer::Link(direction) => self.serve_link(now, direction, completions),
            Timer::Channel(channel) => self.serve_bus(now, channel),
            Timer::Lun(lun) => self.serve_lun(now, lun),
            Timer::Windows => {
                self.mapping.window_timer_expires(now);
                self.carry_out(now);
            }
            Timer::Buffer if self.frontend.pacing.is_on() => {
                self.frontend.admit_waiting(now, self.mapping.map())
            }
            Timer::Buffer => self.look_for_silence(now),
        }
    }

    /// Sets the timers that the frontend wants set.
    #[inline(always)]
    fn set_timers(&mut self) {
        if !self.frontend.take_has_due() {
            return;
        }
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
    fn serve_link(&mut self, now: Time, direction: Direction, completions: &mut Completions) {
        while let Some(arrival) = self.frontend.link.arrived(direction, now) {
            match arrival {
                Arrival::Completion(tag) => self.complete(now, tag, completions),
                Arrival::Data { tag, first, pages } => {
                    self.data_arrived(now, tag, first..first + pages, completions);
                }
                Arrival::Page(request) => self.page_arrived(now, request),
            }
        }
        if let Some(next) = self.frontend.link.next_arrival(direction) {
            self.backend.set_timer(Timer::Link(direction), next);
        }
    }

    /// The host sees the end of a command now: all of its time must be accounted for.
    #[inline(always)]
    fn complete(&mut self, now: Time, tag: Tag, completions: &mut Completions) {
        completions.push(self.frontend.complete(now, tag));
        let command = &self.frontend.tags[tag].command;
        self.mapping.counters.count(command, self.frontend.page_sectors);
        if matches!(command.op, Op::Write | Op::Flush) {
            let set = self.frontend.set_of_tag(tag);
            self.mapping.steering.write_ends(set);
        }
        self.frontend.leave(tag);
        self.backend.command_leaves(now);
    }
}

impl<P: Probe> Device for Ssd<P> {
    fn identify(&self) -> Identify {
        Identify {
            model: self.config.model_name(),
            sectors: self.frontend.sectors(),
            page_sectors: self.frontend.page_sectors,
            queue_depth: self.config.queue.depth,
            max_sectors: SECTORS_MAX,
            block_sectors: 1,
            volatile_cache: self.config.buffer.size > 0 && !self.config.buffer.capacitor,
            handles: self.config.fdp.handles,
        }
    }

    #[inline(always)]
    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        if let Some(status) = self.frontend.refusal(command) {
            return Submit::Refused(status);
        }
        let Some(tag) = self.frontend.tags.bind(now, command) else { return Submit::Busy };
        self.backend.command_enters(now);
        if matches!(command.op, Op::Write | Op::Flush) {
            // It ends a quiet period of its set.
            self.mapping.write_begins(now, self.frontend.set_of_sector(command.sector));
            self.carry_out(now);
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
        let before = completions.len();
        while let Some((timer, due)) = self.backend.due_timer(until) {
            let now = due.at();
            self.serve(now, timer, completions);
            self.backend.expire_timer(due);
            if self.frontend.non_queued.is_due() {
                self.begin_waiting(now);
            }
            if self.frontend.submission.is_due() {
                self.fetch_commands(now);
            }
            self.set_timers();
            if completions.len() > before {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn expect(&self, commands: &[Command]) -> u64 {
        self.mapping.touch(commands)
    }

    /// Applies to drives with one set. A drive of several sets needs [`Ssd::control_set`]; here it answers
    /// `Unsupported`.
    fn control(&mut self, now: Time, call: Control) -> ControlReply {
        if self.mapping.sets().are_many() {
            ControlReply::Unsupported
        } else {
            self.control_set(now, SetId::FIRST, call)
        }
    }
}
