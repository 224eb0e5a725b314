//! The keys of a job with their values: those of its section, added to those that it inherits.

use super::placement::Placement;
use super::value::{Extent, KiloBase, boolean, extent, integer, per_direction, time};
use crate::address::{Pattern, Place, WHOLE};
use crate::address_config::parse_zones;
use crate::size::{Split, parse_percent, sectors_of};
use std::collections::BTreeMap;
use tailcut_base::{BadValue, Nanos};

/// The directions of a job, `rw=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direction {
    pub read: bool,
    pub write: bool,
    pub trim: bool,
    pub random: bool,
}

/// Sizes of the requests of one direction, in sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockSize {
    Fixed(u32),
    Split(Split),
    Range(u32, u32),
}

/// How many requests an I/O engine keeps in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// One, regardless of `iodepth`.
    Synchronous,
    /// `iodepth`.
    Asynchronous,
}

/// Every key that is followed, with fio's default.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The line that set each key last.
    pub lines: BTreeMap<&'static str, u32>,
    pub kilo: KiloBase,
    pub direction: Direction,
    /// What follows the colon of `rw=`.
    pub rw_suffix: Option<u64>,
    pub repeat: bool,
    pub read_percent_ppm: u32,
    /// Reads, writes, trims, here and below.
    pub sizes: [BlockSize; 3],
    pub unaligned: bool,
    pub align: [Option<u32>; 3],
    pub iodepth: u32,
    pub engine: Option<Engine>,
    pub numjobs: u32,
    pub size: Extent,
    pub offset: Extent,
    pub offset_increment: Extent,
    pub io_size: Option<Extent>,
    pub number_ios: Option<u64>,
    pub loops: u64,
    pub patterns: [Pattern; 3],
    pub random_ppm: [u32; 3],
    pub random_map: bool,
    pub rate: Option<[Option<u64>; 3]>,
    pub rate_iops: Option<[Option<u64>; 3]>,
    pub poisson: bool,
    pub think: Nanos,
    pub think_blocks: u32,
    pub runtime: Option<Nanos>,
    pub time_based: bool,
    pub ramp: Nanos,
    pub start: Nanos,
    pub stonewall: bool,
    pub fsync: u64,
    pub fdatasync: u64,
    pub sync: bool,
    pub placement: Placement,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lines: BTreeMap::new(),
            kilo: KiloBase::Binary,
            direction: Direction { read: true, write: false, trim: false, random: false },
            rw_suffix: None,
            repeat: false,
            read_percent_ppm: WHOLE / 2,
            sizes: [BLOCK; 3],
            unaligned: false,
            align: [None; 3],
            iodepth: 1,
            engine: None,
            numjobs: 1,
            size: Extent::Share(WHOLE),
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            io_size: None,
            number_ios: None,
            loops: 1,
            patterns: [Pattern::Uniform, Pattern::Uniform, Pattern::Uniform],
            random_ppm: [WHOLE; 3],
            random_map: true,
            rate: None,
            rate_iops: None,
            poisson: false,
            think: Nanos::ZERO,
            think_blocks: 1,
            runtime: None,
            time_based: false,
            ramp: Nanos::ZERO,
            start: Nanos::ZERO,
            stonewall: false,
            fsync: 0,
            fdatasync: 0,
            sync: false,
            placement: Placement::default(),
        }
    }
}

impl Options {
    /// Sets `key`, a name out of [`super::key`]. `Ok` has a note for the user if there is one; the error
    /// explains what would be right.
    pub(super) fn set(
        &mut self,
        key: &'static str,
        value: Option<&str>,
        line: u32,
    ) -> Result<Option<String>, BadValue> {
        self.lines.insert(key, line);
        if let Some(flag) = self.flag(key) {
            *flag = boolean(value)?;
            return Ok(None);
        }
        match key {
            "norandommap" => {
                self.random_map = !boolean(value)?;
                return Ok(None);
            }
            "direct" | "buffered" => return boolean(value).map(|on| cache_note(key, on)),
            _ => {}
        }
        let text = value
            .filter(|text| !text.is_empty())
            .ok_or_else(|| BadValue::new("needs a value, like key=value"))?;
        match key {
            "filename" => return one_file(text),
            "random_distribution" => return self.set_distribution(text),
            "ioengine" => self.engine = Some(engine(text)?),
            "nrfiles" => one("nrfiles", integer(text, self.kilo)?)?,
            "sync" => self.sync = sync(text)?,
            _ if self.placement.set(key, text)? => {}
            _ if self.set_blocks(key, text)? => {}
            _ if self.set_time(key, text)? => {}
            _ => self.set_amount(key, text)?,
        }
        Ok(None)
    }

    fn flag(&mut self, key: &str) -> Option<&mut bool> {
        Some(match key {
            "bs_unaligned" => &mut self.unaligned,
            "randommap" => &mut self.random_map,
            "time_based" => &mut self.time_based,
            "stonewall" => &mut self.stonewall,
            "fdp" => self.placement.flag(),
            _ => return None,
        })
    }

    /// The keys that select what is read and written, and in which blocks.
    fn set_blocks(&mut self, key: &str, text: &str) -> Result<bool, BadValue> {
        let kilo = self.kilo;
        let sectors = |text: &str| block(text, kilo);
        match key {
            "rw" => (self.direction, self.rw_suffix) = direction(text, kilo)?,
            "rw_sequencer" => {
                self.repeat = match text {
                    "sequential" => false,
                    "identical" => true,
                    _ => return Err(BadValue::new(format!("'{text}' is neither sequential nor identical"))),
                }
            }
            "rwmixread" => self.read_percent_ppm = percent(text)?,
            "rwmixwrite" => self.read_percent_ppm = WHOLE - percent(text)?,
            "bs" => self.set_sizes(per_direction(text, |t| sectors(t).map(BlockSize::Fixed))?),
            "bssplit" => self.set_sizes(per_direction(text, |t| split(t, kilo).map(BlockSize::Split))?),
            "bsrange" => self.set_sizes(per_direction(text, |t| range(t, kilo))?),
            "ba" => self.align = per_direction(text, sectors)?,
            "percentage_random" => {
                self.random_ppm = per_direction(text, percent)?.map(|p| p.unwrap_or(WHOLE))
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_sizes(&mut self, sizes: [Option<BlockSize>; 3]) {
        self.sizes = sizes.map(|size| size.unwrap_or(BLOCK));
    }

    fn set_time(&mut self, key: &str, text: &str) -> Result<bool, BadValue> {
        match key {
            "thinktime" => self.think = time(text, Nanos::micros(1))?,
            // A runtime of 0 is no limit.
            "runtime" => self.runtime = Some(time(text, Nanos::secs(1))?).filter(|t| *t > Nanos::ZERO),
            "ramp_time" => self.ramp = time(text, Nanos::secs(1))?,
            "startdelay" => {
                if text.contains('-') {
                    return Err(BadValue::new("a random delay is not supported; write one length of time"));
                }
                self.start = time(text, Nanos::secs(1))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_amount(&mut self, key: &str, text: &str) -> Result<(), BadValue> {
        let kilo = self.kilo;
        let number = |least: u64, most: u64| {
            let value = integer(text, kilo)?;
            let range = || format!("{text} is out of range; it must be {least} to {most}");
            if (least..=most).contains(&value) { Ok(value) } else { Err(range()) }
        };
        match key {
            // Read before all others, see `base`.
            "kb_base" => self.kilo = base(text)?,
            "iodepth" => self.iodepth = number(1, 1 << 20)? as u32,
            "numjobs" => self.numjobs = number(1, MOST_JOBS)? as u32,
            "size" => self.size = some_extent(text, kilo, "leave size out for the whole device")?,
            "io_size" => self.io_size = Some(some_extent(text, kilo, "leave io_size out")?),
            "offset" => self.offset = extent(text, kilo)?,
            "offset_increment" => self.offset_increment = extent(text, kilo)?,
            "number_ios" => self.number_ios = Some(number(1, u64::MAX)?),
            "loops" => self.loops = number(1, 1 << 32)?,
            "rate" => self.rate = Some(rates(text, kilo)?),
            "rate_iops" => self.rate_iops = Some(rates(text, kilo)?),
            "rate_process" => self.poisson = process(text)?,
            "thinktime_blocks" => self.think_blocks = number(1, 1 << 20)? as u32,
            "fsync" => self.fsync = integer(text, kilo)?,
            "fdatasync" => self.fdatasync = integer(text, kilo)?,
            _ => unreachable!("{key} is in the table of followed keys and is followed nowhere"),
        }
        Ok(())
    }

    /// `random_distribution`, with a note where fio's own formula differs.
    fn set_distribution(&mut self, text: &str) -> Result<Option<String>, BadValue> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        if kind == "zoned" {
            let zones = per_direction(rest, |t| parse_zones(t).map(Pattern::Zoned))?;
            self.patterns = zones.map(|zones| zones.unwrap_or(Pattern::Uniform));
        } else {
            let pattern = pattern(kind, rest)?;
            self.patterns = [pattern.clone(), pattern.clone(), pattern];
        }
        if let Some(complaint) = self.patterns.iter().find_map(Pattern::complaint) {
            return Err(complaint.into());
        }
        Ok((kind == "zipf").then(|| {
            "drawn exactly; fio approximates it, with a small error at the most popular blocks".to_string()
        }))
    }
}

/// What `k` means in a section, given what it inherits. fio reads this key before all others.
pub(super) fn base(text: &str) -> Result<KiloBase, BadValue> {
    match text {
        "1024" => Ok(KiloBase::Binary),
        "1000" => Ok(KiloBase::Decimal),
        _ => Err(BadValue::new(format!("'{text}' is neither 1024 nor 1000"))),
    }
}

fn direction(text: &str, kilo: KiloBase) -> Result<(Direction, Option<u64>), BadValue> {
    let (name, suffix) = match text.split_once(':') {
        Some((name, suffix)) => (name.trim(), Some(suffix.trim())),
        None => (text, None),
    };
    let of = |read, write, trim, random| Direction { read, write, trim, random };
    let direction = match name {
        "read" => of(true, false, false, false),
        "write" => of(false, true, false, false),
        "trim" => of(false, false, true, false),
        "randread" => of(true, false, false, true),
        "randwrite" => of(false, true, false, true),
        "randtrim" => of(false, false, true, true),
        "rw" | "readwrite" => of(true, true, false, false),
        "randrw" => of(true, true, false, true),
        "trimwrite" | "randtrimwrite" => {
            return Err(BadValue::new(format!("{name} is not supported; use a trim job and a write job")));
        }
        _ => {
            return Err(BadValue::new(format!(
                "'{name}' is unknown; use read, write, trim, randread, randwrite, randtrim, rw or randrw"
            )));
        }
    };
    if suffix.is_some_and(|s| s.starts_with('-')) {
        return Err(BadValue::new("going backwards is not supported; leave out the part after the colon"));
    }
    let suffix = suffix.map(|s| integer(s, kilo)).transpose()?;
    Ok((direction, suffix))
}

fn block(text: &str, kilo: KiloBase) -> Result<u32, BadValue> {
    let hint = |bad: BadValue| {
        let marked = text.to_ascii_lowercase().contains('i') && kilo == KiloBase::Binary;
        let ki = "; with fio's default kb_base=1024, Ki means 1000, so write 4k for 4096 bytes";
        if marked { BadValue::new(format!("{bad}{ki}")) } else { bad }
    };
    sectors_of(integer(text, kilo)?).map_err(hint)
}

fn split(text: &str, kilo: KiloBase) -> Result<Split, BadValue> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (size, weight) = part.split_once('/').unwrap_or((part, ""));
        parts.push((block(size, kilo)?, parse_percent(weight)?));
    }
    Split::new(&parts)
}

fn range(text: &str, kilo: KiloBase) -> Result<BlockSize, BadValue> {
    let (low, high) = text
        .split_once('-')
        .ok_or_else(|| BadValue::new(format!("'{text}' is no range; write it like 4k-64k")))?;
    let (low, high) = (block(low, kilo)?, block(high, kilo)?);
    if low > high {
        Err(BadValue::new(format!("'{text}' ends below its start")))
    } else {
        Ok(BlockSize::Range(low, high))
    }
}

fn percent(text: &str) -> Result<u32, BadValue> {
    parse_percent(text)?.ok_or_else(|| BadValue::new("needs a percentage from 0 to 100"))
}

fn some_extent(text: &str, kilo: KiloBase, otherwise: &str) -> Result<Extent, BadValue> {
    match extent(text, kilo)? {
        Extent::Bytes(0) | Extent::Share(0) => {
            Err(BadValue::new(format!("a size of 0 holds no request; {otherwise}")))
        }
        some => Ok(some),
    }
}

fn rates(text: &str, kilo: KiloBase) -> Result<[Option<u64>; 3], BadValue> {
    // A rate of 0 is no limit.
    Ok(per_direction(text, |t| integer(t, kilo))?.map(|rate| rate.filter(|&r| r > 0)))
}

fn process(text: &str) -> Result<bool, BadValue> {
    match text {
        "linear" => Ok(false),
        "poisson" => Ok(true),
        _ => Err(BadValue::new(format!("'{text}' is neither linear nor poisson"))),
    }
}

fn sync(text: &str) -> Result<bool, BadValue> {
    match text {
        "0" | "none" => Ok(false),
        "1" | "sync" | "dsync" => Ok(true),
        _ => Err(BadValue::new(format!("'{text}' is none of none, sync and dsync"))),
    }
}

fn engine(text: &str) -> Result<Engine, BadValue> {
    match text {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => Ok(Engine::Synchronous),
        "libaio" | "linuxaio" | "io_uring" | "io_uring_cmd" | "posixaio" | "solarisaio" | "windowsaio"
        | "sg" | "null" | "xnvme" | "libblkio" => Ok(Engine::Asynchronous),
        _ => Err(BadValue::new(format!(
            "'{text}' does not read and write a block device; use libaio, io_uring or psync"
        ))),
    }
}

fn pattern(kind: &str, rest: &str) -> Result<Pattern, BadValue> {
    if kind.starts_with("zoned_abs") {
        return Err(BadValue::new("zoned_abs is not supported; use zoned with percentages"));
    }
    let mut parts = rest.split(':').map(str::trim);
    let number = |text: &str, what: &str| {
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite());
        value.ok_or_else(|| BadValue::new(format!("'{text}' is no number; write {kind}:{what}")))
    };
    let first = parts.next().unwrap_or("");
    let centre = parts.next().map(|text| number(text, "value:centre")).transpose()?;
    if centre.is_some_and(|c| !(0.0..=1.0).contains(&c)) {
        return Err(BadValue::new("the centre must be between 0 and 1"));
    }
    if parts.next().is_some() {
        return Err(BadValue::new(format!("too many values; write {kind}:value or {kind}:value:centre")));
    }
    let centre = centre.map(|c| (c * f64::from(WHOLE)) as u32);
    let place = centre.map_or(Place::Scattered, Place::From);
    match kind {
        "random" => Ok(Pattern::Uniform),
        "zipf" => {
            let theta = if first.is_empty() { DEFAULT_THETA } else { number(first, "theta")? };
            Ok(Pattern::Zipf { theta, place })
        }
        "pareto" => {
            let h = if first.is_empty() { DEFAULT_H } else { number(first, "power")? };
            Ok(Pattern::Pareto { h, place })
        }
        "normal" => {
            let deviation = if first.is_empty() { 0.0 } else { number(first, "deviation")? };
            if !(0.0..=100.0).contains(&deviation) {
                return Err(BadValue::new("the deviation must be a percentage from 0 to 100"));
            }
            Ok(Pattern::Normal {
                width_ppm: (deviation * 1e4) as u32,
                centre_ppm: centre.unwrap_or(WHOLE / 2),
            })
        }
        _ => Err(BadValue::new(format!("'{kind}' is unknown; use random, zipf, pareto, normal or zoned"))),
    }
}

fn one(key: &str, value: u64) -> Result<(), BadValue> {
    if value == 1 {
        Ok(())
    } else {
        Err(BadValue::new(format!("{key}={value} is not supported: there is one device and no files")))
    }
}

fn one_file(text: &str) -> Result<Option<String>, BadValue> {
    // A colon separates files, unless a backslash stands before it.
    if text.replace("\\:", "").contains(':') {
        return Err(BadValue::new("several files are not supported; write one job for each device"));
    }
    Ok(Some("every job uses the simulated device".to_string()))
}

fn cache_note(key: &str, on: bool) -> Option<String> {
    let cached = (key == "buffered") == on;
    cached.then(|| "there is no page cache: requests go straight to the device".to_string())
}

/// fio's default block, 4096 bytes.
const BLOCK: BlockSize = BlockSize::Fixed(8);

/// The most clones of a job; fio's own limit.
pub(super) const MOST_JOBS: u64 = 4096;

/// fio's default exponent and power.
const DEFAULT_THETA: f64 = 1.1;
const DEFAULT_H: f64 = 0.2;
