//! A disk for tests of databases: `tailcut_disk` with offsets and lengths in bytes, and times in ns.

use pyo3::exceptions::{PyBlockingIOError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tailcut_disk::{
    Choice, Corruption, DiskConfig, Nanos, Operation, Personality, SECTOR_BYTES, Sector, Slowdown, Stream,
    Time,
};

/// A moment of a test, in ns.
#[derive(Clone, Copy, FromPyObject)]
struct Moment(u64);

/// Where a range begins, in bytes.
#[derive(Clone, Copy, FromPyObject)]
struct Offset(u64);

/// The length of a range, in bytes.
#[derive(Clone, Copy, FromPyObject)]
struct Length(u64);

const SECTOR: Length = Length(SECTOR_BYTES);

/// The end of an operation on a `Disk`.
#[pyclass(frozen, module = "tailcut")]
pub(crate) struct Completion(tailcut_disk::Completion);

#[pymethods]
impl Completion {
    /// The number that the operation got when it was submitted.
    #[getter]
    fn ticket(&self) -> u64 {
        self.0.ticket().number()
    }

    /// "read", "write", "trim" or "flush".
    #[getter]
    fn op(&self) -> &'static str {
        self.0.op().name()
    }

    /// Why the operation was not executed; None if it was.
    #[getter]
    fn error(&self) -> Option<String> {
        self.0.result().err().map(|error| error.to_string())
    }

    /// The data of a successful read; empty otherwise.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.data())
    }

    /// When the host saw the end, in ns.
    #[getter]
    fn at_ns(&self) -> u64 {
        self.0.at().0
    }

    /// The time from submission to completion, in ns.
    #[getter]
    fn latency_ns(&self) -> u64 {
        self.0.latency().0
    }

    /// The cause of the largest part of the latency.
    #[getter]
    fn cause(&self) -> &'static str {
        self.0.cause().label()
    }

    /// The latency by cause, in ns: the values add up to `latency_ns`.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let spans = PyDict::new(py);
        for (cause, time) in self.0.spans().iter() {
            spans.set_item(cause.label(), time.0)?;
        }
        Ok(spans)
    }

    fn __repr__(&self) -> String {
        let end =
            self.error().unwrap_or_else(|| format!("{} ns, mostly {}", self.latency_ns(), self.cause()));
        format!("<tailcut.Completion {} of {}: {end}>", self.op(), self.ticket())
    }
}

/// A disk of zeros with a simulated drive inside, for deterministic tests. It has no clock: every call that
/// takes time is given the moment, in ns, which never goes back. Offsets and lengths are in bytes, whole
/// sectors of 512. The personality is one of `personalities()`.
#[pyclass(module = "tailcut")]
pub(crate) struct Disk(tailcut_disk::Disk);

#[pymethods]
impl Disk {
    #[new]
    #[pyo3(signature = (
        personality = "fresh",
        seed = 0,
        *,
        capacity = None,
        volatile_cache = None,
        atomic_unit = None,
        queue_depth = None
    ))]
    fn new(
        personality: &str,
        seed: u64,
        capacity: Option<u64>,
        volatile_cache: Option<u64>,
        atomic_unit: Option<u64>,
        queue_depth: Option<u32>,
    ) -> PyResult<Disk> {
        let known = Personality::by_name(personality).ok_or_else(|| {
            let names = Personality::NAMES.join(", ");
            PyValueError::new_err(format!(
                "'{personality}' is no personality of a disk: write one of {names}"
            ))
        })?;
        let mut config = DiskConfig::new(known);
        if let Some(bytes) = capacity {
            let is_valid = bytes.is_multiple_of(4096) && (64 << 10..=1 << 40).contains(&bytes);
            needs(is_valid, || {
                format!("a capacity is a multiple of 4096 bytes from 64 KiB to 1 TiB, not {bytes}")
            })?;
            config = config.capacity(bytes);
        }
        if let Some(bytes) = volatile_cache {
            config = config.volatile_cache(bytes);
        }
        if let Some(bytes) = atomic_unit {
            let is_valid = bytes.is_power_of_two() && (SECTOR_BYTES..=1 << 20).contains(&bytes);
            needs(is_valid, || {
                format!("an atomic unit is a power of two from 512 bytes to 1 MiB, not {bytes}")
            })?;
            config = config.atomic_unit(bytes);
        }
        if let Some(depth) = queue_depth {
            needs((1..=4096).contains(&depth), || format!("a queue has 1 to 4096 operations, not {depth}"))?;
            config = config.queue_depth(depth);
        }
        Ok(Disk(tailcut_disk::Disk::new(config, seed)))
    }

    /// The names of the personalities.
    #[staticmethod]
    fn personalities() -> Vec<&'static str> {
        Personality::NAMES.to_vec()
    }

    /// The capacity in bytes.
    #[getter]
    fn capacity(&self) -> u64 {
        self.0.config().capacity_bytes()
    }

    /// The latest moment of a call, in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now().0
    }

    /// Operations in flight, including those whose completion has not been returned yet.
    #[getter]
    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    /// Bytes of writes that a power cut could undo now.
    #[getter]
    fn unflushed_bytes(&self) -> u64 {
        self.0.unflushed_bytes()
    }

    /// True if the disk has died.
    #[getter]
    fn is_dead(&self) -> bool {
        self.0.is_dead()
    }

    /// Submits a read; returns its ticket. A full queue raises BlockingIOError.
    fn read(&mut self, now_ns: Moment, offset: Offset, length: Length) -> PyResult<u64> {
        let (sector, sectors) = range(offset, length)?;
        self.submit(now_ns, Operation::read(sector, sectors))
    }

    /// Submits a write, which is durable when it completes with `fua` (force unit access).
    #[pyo3(signature = (now_ns, offset, data, fua = false))]
    fn write(&mut self, now_ns: Moment, offset: Offset, data: Vec<u8>, fua: bool) -> PyResult<u64> {
        let (sector, _) = range(offset, Length(data.len() as u64))?;
        self.submit(now_ns, Operation::Write { sector, data, fua })
    }

    /// Submits a trim: whole pages of 4 KiB read as zeros from then on.
    fn trim(&mut self, now_ns: Moment, offset: Offset, length: Length) -> PyResult<u64> {
        let (sector, sectors) = range(offset, length)?;
        self.submit(now_ns, Operation::trim(sector, sectors))
    }

    /// Submits a flush: makes durable what had completed before.
    fn flush(&mut self, now_ns: Moment) -> PyResult<u64> {
        self.submit(now_ns, Operation::flush())
    }

    /// When to call `advance` at the latest, in ns; None if nothing is in flight.
    fn next_event(&self) -> Option<u64> {
        Some(self.0.next_event()).filter(|&at| at != Time::NEVER).map(|at| at.0)
    }

    /// Lets the time pass; returns the completions since the last call, in their order.
    fn advance(&mut self, now_ns: Moment) -> PyResult<Vec<Completion>> {
        let now = self.moment(now_ns)?;
        Ok(self.0.advance(now).into_iter().map(Completion).collect())
    }

    /// What a read would return now, without taking time.
    fn peek<'py>(&self, py: Python<'py>, offset: Offset, length: Length) -> PyResult<Bound<'py, PyBytes>> {
        let (sector, sectors) = self.inside(offset, length)?;
        Ok(PyBytes::new(py, &self.0.peek(sector, sectors)))
    }

    /// Cuts the power: of the writes that were not flushed, a legal subset survives, which the seed decides.
    /// Returns the tickets that never complete, and how many pieces of writes survived and were lost, and how
    /// many writes were torn.
    fn power_cut<'py>(&mut self, py: Python<'py>, now_ns: Moment, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let now = self.moment(now_ns)?;
        let cut = self.0.power_cut(now, &mut Stream::new(seed, "power cut"));
        let found = PyDict::new(py);
        found.set_item("aborted", cut.aborted().iter().map(|ticket| ticket.number()).collect::<Vec<_>>())?;
        found.set_item("survived", cut.survived())?;
        found.set_item("lost", cut.lost())?;
        found.set_item("torn", cut.torn())?;
        Ok(found)
    }

    /// Replaces stored data by bytes that the seed decides; reads return them without an error.
    fn corrupt(&mut self, offset: Offset, length: Length, seed: u64) -> PyResult<()> {
        let (sector, sectors) = self.inside(offset, length)?;
        self.0.corrupt(sector, sectors, Corruption::Garbage(seed));
        Ok(())
    }

    /// Changes a bit of stored data, 0 being the lowest of the byte at `offset`.
    fn flip_bit(&mut self, offset: Offset, bit: u64) -> PyResult<()> {
        let at = offset.0.saturating_add(bit / 8);
        let first = at / SECTOR_BYTES * SECTOR_BYTES;
        let (sector, _) = self.inside(Offset(first), SECTOR)?;
        self.0.corrupt(sector, 1, Corruption::FlipBit((at - first) * 8 + bit % 8));
        Ok(())
    }

    /// The next write goes to `offset` instead, and completes as if nothing had happened.
    fn misdirect_write(&mut self, offset: Offset) -> PyResult<()> {
        let (sector, _) = self.inside(offset, SECTOR)?;
        self.0.misdirect_write(sector);
        Ok(())
    }

    /// The next read returns the data at `offset` instead.
    fn misdirect_read(&mut self, offset: Offset) -> PyResult<()> {
        let (sector, _) = self.inside(offset, SECTOR)?;
        self.0.misdirect_read(sector);
        Ok(())
    }

    /// Reads of these bytes fail until they have been written again, durably.
    fn fail_reads(&mut self, offset: Offset, length: Length) -> PyResult<()> {
        let (sector, sectors) = self.inside(offset, length)?;
        self.0.fail_reads(sector, sectors);
        Ok(())
    }

    /// The drive stops for `length_ns`: everything in flight completes that much later.
    fn stall(&mut self, now_ns: Moment, length_ns: u64) -> PyResult<()> {
        let now = self.moment(now_ns)?;
        self.0.stall(now, Nanos(length_ns));
        Ok(())
    }

    /// Everything in the drive takes `percent` of its time from now on; 100 ends it.
    fn slow_by(&mut self, now_ns: Moment, percent: u32) -> PyResult<()> {
        needs((100..=1_000_000).contains(&percent), || {
            format!("a drive takes 100 to 1,000,000 % of its time, not {percent} %")
        })?;
        let now = self.moment(now_ns)?;
        self.0.slow_by(now, Slowdown::percent(percent));
        Ok(())
    }

    /// The disk dies: everything in flight, and everything submitted from now on, fails.
    fn die(&mut self, now_ns: Moment) -> PyResult<()> {
        let now = self.moment(now_ns)?;
        self.0.die(now);
        Ok(())
    }
}

impl Disk {
    fn submit(&mut self, now_ns: Moment, operation: Operation) -> PyResult<u64> {
        let now = self.moment(now_ns)?;
        let ticket = self.0.submit(now, operation);
        ticket.map(|ticket| ticket.number()).map_err(|busy| PyBlockingIOError::new_err(busy.to_string()))
    }

    fn moment(&self, Moment(now): Moment) -> PyResult<Time> {
        let before = self.now_ns();
        needs(now >= before, || format!("time runs backwards: from {before} ns to {now} ns"))?;
        Ok(Time(now))
    }

    /// A range that the disk has.
    fn inside(&self, offset: Offset, length: Length) -> PyResult<(Sector, u32)> {
        let (capacity, Offset(first), Length(bytes)) = (self.capacity(), offset, length);
        let end = first.checked_add(bytes);
        needs(bytes > 0 && end.is_some_and(|end| end <= capacity), || {
            format!("a disk of {capacity} bytes has no {bytes} bytes at {first}")
        })?;
        range(offset, length)
    }
}

/// First sector and number of sectors of a range in bytes.
fn range(Offset(first): Offset, Length(bytes): Length) -> PyResult<(Sector, u32)> {
    let sectors = u32::try_from(bytes / SECTOR_BYTES).ok().filter(|_| bytes.is_multiple_of(SECTOR_BYTES));
    match (Sector::at_byte(first), sectors) {
        (Some(sector), Some(sectors)) => Ok((sector, sectors)),
        _ => Err(PyValueError::new_err(format!("{bytes} bytes at {first} are not whole sectors of 512"))),
    }
}

fn needs(is_valid: bool, message: impl Fn() -> String) -> PyResult<()> {
    if is_valid { Ok(()) } else { Err(PyValueError::new_err(message())) }
}
