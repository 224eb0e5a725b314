//! Worlds of a scenario: drives, arrays, hosts and servers, prepared and ready to run.

use super::{InputError, Scenario, memory};
use crate::array::{Fill, Members, SimulatedArray, incidents};
use crate::kv::{Backing, ByteDisk, Path, SimulatedServer, load};
use crate::path::SimulatedHost;
use crate::world::{Checker, World};
use tailcut_base::timers::Timers;
use tailcut_base::{BadValue, Device, Nanos, Time};
use tailcut_host::{BLOCK_SECTORS, Disk, array};
use tailcut_ssd::config::{Protocol, QueueArbitration};
use tailcut_ssd::precondition::{PreparedState, prepared_content};
use tailcut_ssd::{Probe, Ssd};
use tailcut_workload::Source;

impl Scenario {
    /// The drive, prepared, and a checker that knows what is on it. It checks nothing where requests of
    /// several sources wait in submission queues that are fetched in turn: of commands in flight NVMe
    /// promises no order (base specification 2.0, 3.4.1), so a read may rightly return either of two
    /// versions.
    ///
    /// # Errors
    /// [`InputError::Drive`].
    pub fn prepare<P: Probe>(&self, probe: P) -> Result<(Ssd<P>, Checker), InputError> {
        let mut ssd = Ssd::watched(&self.device, self.seed, self.content, probe);
        ssd.has_room_for(&self.precondition).map_err(InputError::Drive)?;
        let mapped = ssd.precondition(&self.precondition, self.seed);
        let identity = ssd.identify();
        if !self.content || self.reorders_sources() {
            return Ok((ssd, Checker::off()));
        }
        let mut checker = Checker::new(identity.sectors, identity.page_sectors);
        checker.prepare(mapped, prepared_content);
        Ok((ssd, checker))
    }

    /// True if the drive may carry out requests of several sources in another order than they were submitted.
    fn reorders_sources(&self) -> bool {
        let queue = &self.device.queue;
        let has_one_source = self.is_synthetic() && self.synthetic().nth(1).is_none();
        queue.commands > 0 && queue.arbitration == QueueArbitration::RoundRobin && !has_one_source
    }

    /// The array over its drives, empty, each watched by a probe of its own.
    fn new_array<P: Probe>(&self, probe: impl Fn() -> P) -> Result<SimulatedArray<P>, InputError> {
        let drive = |number| Ssd::watched(&self.device, self.drive_seed(number), false, probe());
        let drives: Vec<Ssd<P>> = (0..Members::drives(&self.array)).map(drive).collect();
        let disks = Members::of(&self.array, &drives).disks(&drives);
        if let Some((key, mut message)) = self.array.validation_error(&disks) {
            if self.array.members == array::Members::Sets {
                message += "; the drives are here the sets of one, which are larger where there are fewer \
                    (device.sets.count)";
            }
            return Err(InputError::Array(vec![tailcut_workload::Problem { key, message }]));
        }
        let schedule = incidents::parse(&self.incidents, self.array.drives).map_err(|bad| {
            InputError::Array(vec![tailcut_workload::Problem { key: "incidents", message: bad.message }])
        })?;
        Ok(SimulatedArray::new(&self.array, drives).with_incidents(schedule))
    }

    /// Prepares an array; a checker that knows what is on it, and what is still to be written, if it is
    /// prepared by writing.
    fn prepare_array<P: Probe>(
        &self,
        array: &mut SimulatedArray<P>,
    ) -> Result<(Checker, Option<Fill>), InputError> {
        let identity = array.identify();
        let mut checker = match self.content {
            true => Checker::new(identity.sectors, identity.page_sectors),
            false => Checker::off(),
        };
        let how = &self.precondition;
        if !self.array.layout.is_in_place() {
            if how.state == PreparedState::Random {
                return Err(InputError::Drive(BadValue::new(
                    "precondition.state = \"random\" is not for an array that writes a log, which is \
                     prepared by writing to it; set it to \"steady\" or \"sequential\"",
                )));
            }
            let fill = (how.state != PreparedState::Empty).then(|| array.fill(how, self.seed));
            let loaded = self.loaded_last(identity.sectors);
            return Ok((checker, fill.map(|fill| fill.then_in_order(loaded))));
        }
        for drive in array.drives() {
            drive.has_room_for(how).map_err(InputError::Drive)?;
        }
        let blocks = array.prepare(how, |number| self.drive_seed(number));
        if self.content {
            checker.prepare(blocks, prepared_content);
        }
        Ok((checker, None))
    }

    /// Sectors of a store that are written after the rest of an array's preparation.
    fn loaded_last(&self, sectors: u64) -> u64 {
        if !self.lsm.enabled || !self.lsm.loaded_last {
            return 0;
        }
        let plan = self.lsm.plan(sectors, Nanos::ZERO);
        plan.made_blocks() * plan.block_sectors()
    }

    /// The world of this scenario's array, ready to run; every drive is watched by a probe of its own.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn array_world<P: Probe>(
        &self,
        probe: impl Fn() -> P,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedArray<P>>, InputError> {
        self.check_memory()?;
        let mut array = self.new_array(probe)?;
        let mut sources = self.sources(array.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (checker, fill) = self.prepare_array(&mut array)?;
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        array.start();
        Ok(self.placed(World::new(array, checker, sources, self.run.clone())))
    }

    /// The world of this scenario's key-value server, ready to run; every drive is watched by a probe of its
    /// own.
    ///
    /// # Errors
    /// As [`Scenario::world`]; [`InputError::Kv`].
    pub fn kv_world<P: Probe>(
        &self,
        probe: impl Fn() -> P,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedServer<Backing<P>>>, InputError> {
        self.check_memory()?;
        let sectors = self.kv.items * BLOCK_SECTORS;
        let mut sources = self.sources(sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (ramp, has_host) = (self.run.ramp, self.host.is_on());
        // A host checks what is below it: only it knows the order in which requests reach that.
        let (backing, checker, fill) = if self.array.drives > 0 {
            let mut array = self.new_array(probe)?;
            let (checker, fill) = self.prepare_array(&mut array)?;
            if has_host {
                let host =
                    SimulatedHost::with_array(&self.host, array.into_parts(), checker, ramp, self.seed);
                (Backing::Host(host), Checker::off(), fill)
            } else {
                array.start();
                (Backing::Array(array), checker, fill)
            }
        } else {
            let (drive, checker) = self.prepare(probe())?;
            if has_host {
                let host = SimulatedHost::new(&self.host, vec![drive], vec![checker], ramp, self.seed);
                (Backing::Host(host), Checker::off(), None)
            } else {
                (Backing::Drive(drive), checker, None)
            }
        };
        let is_prepared = fill.is_none();
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        let disk = Disk::of(&backing.identify());
        let prepared = match self.precondition.state {
            PreparedState::Empty => 0,
            _ => disk.blocks * u64::from(self.precondition.fill) / 1_000_000,
        };
        let blocks = self.kv.blocks(prepared, &disk).map_err(|problem| InputError::Kv(vec![problem]))?;
        memory::check_server(&self.kv, blocks)?;
        let mut loaded = load(&self.kv, &Disk { blocks, ..disk }, self.seed);
        let disk = ByteDisk::new(backing, checker, std::mem::take(&mut loaded.blocks));
        let path = match self.device.queue.protocol {
            _ if has_host => Path::Thread,
            Protocol::Ahci => Path::Scsi,
            Protocol::Nvme => Path::Direct,
        };
        let server = SimulatedServer::new(&self.kv, loaded, disk, path, is_prepared, ramp);
        // The server checks every value: only it knows what was acknowledged when.
        Ok(World::new(server, Checker::off(), sources, self.run.clone()))
    }

    /// The world of this scenario's host and its drives, or its array of drives, ready to run; every drive is
    /// watched by a probe of its own.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn host_world<P: Probe>(
        &self,
        probe: impl Fn() -> P,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedHost<P>>, InputError> {
        self.check_memory()?;
        if self.array.drives > 0 {
            return self.host_array_world(probe, skip_bad_lines);
        }
        let (mut drives, mut checkers) = (Vec::new(), Vec::new());
        for number in 0..self.host.drives {
            let seed = self.drive_seed(number);
            let mut drive = Ssd::watched(&self.device, seed, self.content, probe());
            drive.has_room_for(&self.precondition).map_err(InputError::Drive)?;
            let mapped = drive.precondition(&self.precondition, seed);
            let identity = drive.identify();
            let mut checker = Checker::off();
            if self.content {
                checker = Checker::new(identity.sectors, identity.page_sectors);
                checker.prepare(mapped, prepared_content);
            }
            drives.push(drive);
            checkers.push(checker);
        }
        let host = SimulatedHost::new(&self.host, drives, checkers, self.run.ramp, self.seed);
        let sources = self.sources(host.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        // The host checks each of its drives: only it knows the order in which requests reach them.
        Ok(self.placed(World::new(host, Checker::off(), sources, self.run.clone())))
    }

    fn host_array_world<P: Probe>(
        &self,
        probe: impl Fn() -> P,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedHost<P>>, InputError> {
        let mut array = self.new_array(probe)?;
        let mut sources = self.sources(array.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (checker, fill) = self.prepare_array(&mut array)?;
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        let host =
            SimulatedHost::with_array(&self.host, array.into_parts(), checker, self.run.ramp, self.seed);
        // The host checks the array: only it knows the order in which requests reach it.
        Ok(self.placed(World::new(host, Checker::off(), sources, self.run.clone())))
    }

    /// Equal drives have random streams of their own.
    fn drive_seed(&self, number: u32) -> u64 {
        self.seed.wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The latest moment that a run can reach, with an hour left for the requests in flight.
    pub fn horizon(&self) -> Time {
        Time(Ssd::horizon_of(&self.device.geometry).0.saturating_sub(Nanos::secs(3600).0))
    }

    /// Refuses sources whose requests are due later than the timers of a run can hold.
    fn check_horizon(&self, sources: &[Box<dyn Source>]) -> Result<(), InputError> {
        let horizon = self.horizon();
        let limited = self.run.duration > Nanos::ZERO && self.run.duration.0 < horizon.0;
        // The issue queue also holds requests behind the end of the run, so it has a horizon of its own.
        let most = if limited { Timers::new(sources.len()).horizon() } else { horizon };
        for source in sources {
            let due = source.last_due().map_or(0, |due| due.0).saturating_add(source.schedule().start.0);
            if due >= most.0 {
                let name = source.name().to_string();
                return Err(InputError::BeyondHorizon { name, due: Time(due), horizon: most });
            }
        }
        Ok(())
    }

    /// Sectors that the workload sees: of the drive, the drives of a host, the array, or all items of a
    /// server.
    ///
    /// # Errors
    /// [`InputError::Array`].
    pub fn sectors(&self) -> Result<u64, InputError> {
        let drive = self.device.ftl.logical_pages(&self.device.geometry)
            * u64::from(self.device.geometry.page_sectors());
        Ok(match (self.kv.enabled, self.array.drives) {
            (true, _) => self.kv.items * BLOCK_SECTORS,
            (false, 0) => drive * u64::from(self.host.drives.max(1)),
            (false, _) => self.new_array(|| ())?.identify().sectors,
        })
    }

    /// What keeps this scenario from running, as far as that shows without preparing a drive or looking
    /// through a file.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn check(&self) -> Result<(), InputError> {
        let sectors = self.sectors()?;
        if self.is_synthetic() {
            let sources = self.synthetic_sources(sectors)?;
            self.check_horizon(&sources)?;
        }
        Ok(())
    }

    /// The world of this scenario, ready to run.
    ///
    /// # Errors
    /// As [`Scenario::sources`] and [`Scenario::prepare`]; [`InputError::BeyondHorizon`].
    pub fn world<P: Probe>(&self, probe: P, skip_bad_lines: bool) -> Result<World<Ssd<P>>, InputError> {
        self.check_memory()?;
        let sectors = self.device.ftl.logical_pages(&self.device.geometry)
            * u64::from(self.device.geometry.page_sectors());
        // Bad input is found before seconds are spent on preparing the drive.
        let sources = self.sources(sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (ssd, checker) = self.prepare(probe)?;
        Ok(self.placed(World::new(ssd, checker, sources, self.run.clone())))
    }
}
