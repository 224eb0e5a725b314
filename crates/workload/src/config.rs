//! A synthetic source as a part of a scenario.

use super::Schedule;
use super::address::{Pattern, WHOLE};
use super::address_config::{AddressConfig, Distribution};
use super::arrival::{ArrivalPlan, BurstEnd};
use super::lane::LanePlan;
use super::recipe::{Recipe, RequestClasses};
use super::size::{Sizes, sectors_of};
use super::streams::Streams;
use super::synthetic::Synthetic;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::quantity::exact_bytes;
use tailcut_base::{BadValue, Class, Nanos, Problem, SECTOR_BYTES, choice};

choice! {
    /// What makes a source issue its next request.
    pub enum PaceKind {
        /// A completion.
        Closed = "closed",
        /// The clock.
        Open = "open",
    }
}

choice! {
    /// How the requests of an open loop are spaced.
    pub enum ArrivalKind {
        /// Requests arrive at a constant interval.
        Uniform = "uniform",
        /// Requests arrive with independent, exponentially distributed gaps.
        Poisson = "poisson",
        /// Requests arrive in bursts with pauses between them.
        Bursts = "bursts",
    }
}

/// A synthetic source, as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticConfig {
    /// Number of requests in all, without flushes; 0 for no end.
    pub requests: u64,
    /// Share of reads, ppm; those that neither read nor trim write.
    pub read: u32,
    /// Share of the requests that trim, ppm.
    pub trim: u32,
    /// Sizes of reads: a size such as `4KiB`, or several with percentages such as `4KiB/60:64KiB/40`.
    pub read_size: String,
    /// Sizes of writes, in the form of `read_size`.
    pub write_size: String,
    /// Sizes of trims, in the form of `read_size`.
    pub trim_size: String,
    /// Alignment of random requests in bytes, from the start of the region; 0 for their smallest size.
    pub align: u64,
    /// First byte of the region that requests go to.
    pub region_offset: u64,
    /// Size of the region in bytes; 0 to use `region_share`.
    pub region_size: u64,
    /// Size of the region as a share of the device behind the offset, ppm.
    pub region_share: u32,
    /// Where reads go in the region.
    pub addresses: AddressConfig,
    /// Where writes and trims go in the region.
    pub write_addresses: AddressConfig,
    /// Share of the requests that start where the last one of their kind ended, ppm.
    pub sequential: u32,
    /// A flush after so many writes; 0 for never.
    pub flush_every: u64,
    /// Share of writes with force unit access, ppm.
    pub fua: u32,
    /// Latency class of reads, 1 … 5: 1 may reset, 2 may suspend a program or erase, 3 waits.
    pub read_class: u32,
    /// Latency class of writes and trims, 1 … 5.
    pub write_class: u32,
    /// Write stream of the writes, 0 … 255: data of one stream is expected to be invalidated together.
    pub stream: u32,
    /// Whether completions (closed loop) or the clock (open loop) determine when the next request is issued.
    pub pace: PaceKind,
    /// Maximum number of requests in flight, at least 1.
    pub depth: u32,
    /// Pause of a closed loop between a completion and the next request.
    pub think: Nanos,
    /// Requests per second of an open loop; within a burst where there are bursts.
    pub rate: u64,
    /// How an open loop spaces requests.
    pub arrivals: ArrivalKind,
    /// Length of a burst in requests; 0 to use `burst_time`.
    pub burst_requests: u64,
    /// Length of a burst in time.
    pub burst_time: Nanos,
    /// Pause between the end of a burst and the start of the next.
    pub idle: Nanos,
    /// Delay of the source's start after that of the workload.
    pub start: Nanos,
    /// How long it issues requests; 0 for no limit.
    pub runtime: Nanos,
}

impl Default for SyntheticConfig {
    fn default() -> SyntheticConfig {
        SyntheticConfig {
            requests: 0,
            read: 700_000,
            trim: 0,
            read_size: "4KiB".to_string(),
            write_size: "4KiB".to_string(),
            trim_size: "4KiB".to_string(),
            align: 0,
            region_offset: 0,
            region_size: 0,
            region_share: WHOLE,
            addresses: AddressConfig::default(),
            write_addresses: AddressConfig { distribution: Distribution::Same, ..AddressConfig::default() },
            sequential: 0,
            flush_every: 0,
            fua: 0,
            read_class: 3,
            write_class: 4,
            stream: 0,
            pace: PaceKind::Closed,
            depth: 16,
            think: Nanos::ZERO,
            rate: 10_000,
            arrivals: ArrivalKind::Poisson,
            burst_requests: 0,
            burst_time: Nanos::millis(10),
            idle: Nanos::millis(90),
            start: Nanos::ZERO,
            runtime: Nanos::ZERO,
        }
    }
}

impl Configure for SyntheticConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        self.visit_mix(visit);
        self.visit_places(visit);
        self.visit_pace(visit);
        self.check(visit);
    }
}

impl SyntheticConfig {
    fn visit_mix(&mut self, visit: &mut dyn KeyVisitor) {
        visit.count(
            "requests",
            "Requests in all, not counting flushes; 0 for no end.",
            &mut self.requests,
            0..=u64::MAX,
        );
        visit.share(
            "read",
            "Share of the requests that read; the rest after reads and trims writes.",
            &mut self.read,
            0..=WHOLE,
        );
        visit.share("trim", "Share of the requests that trim.", &mut self.trim, 0..=WHOLE);
        visit.text(
            "read_size",
            "Size of reads: a multiple of 512 bytes, or several with percentages such as 4KiB/60:64KiB/40.",
            &mut self.read_size,
        );
        visit.text("write_size", "Size of writes, likewise.", &mut self.write_size);
        visit.text("trim_size", "Size of trims, likewise.", &mut self.trim_size);
        visit.count(
            "flush_every",
            "A flush follows every so many writes; 0 for never.",
            &mut self.flush_every,
            0..=u64::MAX,
        );
        visit.share("fua", "Share of the writes with force unit access.", &mut self.fua, 0..=WHOLE);
        count_u32(
            visit,
            "read_class",
            "Latency class of reads: 1 may reset, 2 may suspend a program or erase, 3 waits.",
            &mut self.read_class,
            1..=5,
        );
        count_u32(visit, "write_class", "Latency class of writes and trims.", &mut self.write_class, 1..=5);
        count_u32(
            visit,
            "stream",
            "Stream of the writes: data of one stream is expected to die together.",
            &mut self.stream,
            0..=255,
        );
    }

    fn visit_places(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes(
            "align",
            "Random requests start at multiples of this from the start of the region; 0 for \
            their smallest size.",
            &mut self.align,
            0..=1 << 30,
        );
        visit.bytes(
            "region_offset",
            "Where the region starts that requests go to.",
            &mut self.region_offset,
            0..=1 << 60,
        );
        visit.bytes(
            "region_size",
            "Size of the region; 0 to use region_share.",
            &mut self.region_size,
            0..=1 << 60,
        );
        visit.share(
            "region_share",
            "Size of the region as a share of the device behind region_offset; beyond precondition.fill \
                reads find nothing.",
            &mut self.region_share,
            0..=WHOLE,
        );
        visit.section("addresses", "Where reads go.", &mut self.addresses);
        visit.section("write_addresses", "Where writes and trims go.", &mut self.write_addresses);
        visit.share(
            "sequential",
            "Share of the requests that start where the last one of their kind ended.",
            &mut self.sequential,
            0..=WHOLE,
        );
    }

    fn visit_pace(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "pace",
            "Whether completions (closed) or the clock (open) let the next request go.",
            &mut self.pace,
        );
        count_u32(visit, "depth", "The most requests in flight.", &mut self.depth, 1..=1 << 20);
        visit.time(
            "think",
            "Of a closed loop: pause between a completion and the next request.",
            &mut self.think,
            Nanos::ZERO..=Nanos::secs(86_400),
        );
        visit.count(
            "rate",
            "Of an open loop: requests per second; within a burst where there are bursts.",
            &mut self.rate,
            1..=1_000_000_000,
        );
        choose(visit, "arrivals", "Of an open loop: how requests are spaced.", &mut self.arrivals);
        visit.count(
            "burst_requests",
            "Length of a burst in requests; 0 to use burst_time.",
            &mut self.burst_requests,
            0..=u64::MAX,
        );
        visit.time("burst_time", "Length of a burst.", &mut self.burst_time, Nanos(1)..=Nanos::secs(86_400));
        visit.time(
            "idle",
            "Pause between the end of a burst and the next.",
            &mut self.idle,
            Nanos::ZERO..=Nanos::secs(86_400),
        );
        visit.time(
            "start",
            "When the source starts.",
            &mut self.start,
            Nanos::ZERO..=Nanos::secs(86_400 * 365),
        );
        visit.time(
            "runtime",
            "How long the source issues requests; 0 for no limit.",
            &mut self.runtime,
            Nanos::ZERO..=Nanos::secs(86_400 * 365),
        );
    }
}

impl SyntheticConfig {
    /// Reports what can be known to be wrong without a device.
    fn check(&self, visit: &mut dyn KeyVisitor) {
        // Large enough for every region that has been given in bytes, and for the largest request.
        let region = self.region_offset.saturating_add(self.region_size) / SECTOR_BYTES;
        let device = region.saturating_add(1).max(1 << 40);
        for problem in self.recipe(device).err().into_iter().flatten() {
            // The sections of addresses have reported their own problems, at the very key.
            let told = ["addresses", "write_addresses"].contains(&problem.key);
            if !told || self.addresses.distribution == Distribution::Same {
                visit.problem(problem.key, problem.message);
            }
        }
    }

    /// The recipe for a device of `sectors` sectors of 512 bytes.
    ///
    /// # Errors
    /// Every value that does not fit the device or the other values, with its key.
    pub fn recipe(&self, sectors: u64) -> Result<Recipe, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut recipe = Recipe::new(0);
        let begins_beyond =
            self.region_offset / SECTOR_BYTES >= sectors || !self.region_offset.is_multiple_of(SECTOR_BYTES);
        let key = if begins_beyond && self.region_offset > 0 { "region_offset" } else { self.region_key() };
        (recipe.first, recipe.region) = keep(&mut problems, key, self.region(sectors), (0, 1));
        recipe.read_ppm = self.read;
        recipe.trim_ppm = self.trim;
        let reads = keep(&mut problems, "addresses", self.read_pattern(), Pattern::Uniform);
        let writes = keep(&mut problems, "write_addresses", self.write_addresses.pattern(), None);
        let writes = writes.unwrap_or_else(|| reads.clone());
        recipe.read = self.lane(&mut problems, "read_size", &self.read_size, reads, self.read_class);
        recipe.write =
            self.lane(&mut problems, "write_size", &self.write_size, writes.clone(), self.write_class);
        recipe.trim = self.lane(&mut problems, "trim_size", &self.trim_size, writes, self.write_class);
        recipe.flush_every = self.flush_every;
        recipe.fua_ppm = self.fua;
        recipe.streams = Streams::One(u8::try_from(self.stream).unwrap_or_else(|_| {
            problems.push(Problem { key: "stream", message: format!("{} is above 255", self.stream) });
            0
        }));
        recipe.depth = self.depth;
        recipe.think = self.think;
        recipe.arrivals = self.arrivals();
        recipe.requests = (self.requests > 0).then_some(self.requests);
        recipe.schedule = Schedule {
            start: self.start,
            until: (self.runtime > Nanos::ZERO).then_some(self.runtime),
            ..Schedule::default()
        };
        if problems.is_empty() {
            problems = recipe.problems();
            // A recipe has a region, and no keys for it.
            problems.iter_mut().filter(|p| p.key == "region_size").for_each(|p| p.key = self.region_key());
        }
        if problems.is_empty() { Ok(recipe) } else { Err(problems) }
    }

    /// The classes of its requests.
    pub fn classes(&self) -> RequestClasses {
        let class = |number: u32| u8::try_from(number).ok().and_then(Class::new).unwrap_or_default();
        RequestClasses { reads: class(self.read_class), others: class(self.write_class) }
    }

    /// The source called `name` on a device of `sectors` sectors, in the run with `seed`.
    ///
    /// # Errors
    /// Every value that does not fit the device or the other values, with its key.
    pub fn source(&self, name: &str, sectors: u64, seed: u64) -> Result<Synthetic, Vec<Problem>> {
        Synthetic::new(name, &self.recipe(sectors)?, seed)
    }

    /// The key that decides how large the region is.
    fn region_key(&self) -> &'static str {
        if self.region_size > 0 { "region_size" } else { "region_share" }
    }

    /// True if all requests of a kind have one size that divides a page of `page_bytes` bytes, and begin at
    /// its multiples: none has more than one page.
    pub fn stays_within_pages(&self, page_bytes: u64) -> bool {
        let bytes = |sectors: u32| u64::from(sectors) * SECTOR_BYTES;
        let places = [page_bytes, self.align, self.region_offset];
        let stays = |size: &String| match Sizes::parse(size) {
            Ok(Sizes::Fixed(sectors)) => places.iter().all(|place| place.is_multiple_of(bytes(sectors))),
            _ => false,
        };
        let kinds = [
            (self.read > 0, &self.read_size),
            (self.read.saturating_add(self.trim) < WHOLE, &self.write_size),
            (self.trim > 0, &self.trim_size),
        ];
        kinds.into_iter().filter(|(is_there, _)| *is_there).all(|(_, size)| stays(size))
    }

    /// First sector and number of sectors of the region.
    fn region(&self, device: u64) -> Result<(u64, u64), BadValue> {
        for bytes in [self.region_offset, self.region_size] {
            if !bytes.is_multiple_of(SECTOR_BYTES) {
                return Err(BadValue::new(format!("{} is no multiple of 512 bytes", exact_bytes(bytes))));
            }
        }
        let (first, size) = (self.region_offset / SECTOR_BYTES, self.region_size / SECTOR_BYTES);
        let room = device.saturating_sub(first);
        let of_room = (u128::from(room) * u128::from(self.region_share) / u128::from(WHOLE)) as u64;
        let region = if size > 0 { size } else { of_room };
        if room == 0 || region > room {
            return Err(BadValue::new(format!(
                "the region ends beyond the device, which has {}",
                exact_bytes(device.saturating_mul(SECTOR_BYTES))
            )));
        }
        Ok((first, region))
    }

    fn read_pattern(&self) -> Result<Pattern, BadValue> {
        let same = "'same' is for write_addresses; reads need a distribution of their own";
        self.addresses.pattern()?.ok_or_else(|| BadValue::new(same.to_string()))
    }

    fn lane(
        &self,
        problems: &mut Vec<Problem>,
        key: &'static str,
        sizes: &str,
        pattern: Pattern,
        class: u32,
    ) -> LanePlan {
        let sizes = keep(problems, key, Sizes::parse(sizes), Sizes::Fixed(1));
        let align = if self.align == 0 { Ok(sizes.smallest()) } else { sectors_of(self.align) };
        let class = u8::try_from(class).ok().and_then(Class::new);
        LanePlan {
            align: keep(problems, "align", align, 1),
            random_ppm: WHOLE.saturating_sub(self.sequential),
            class: class.unwrap_or_default(),
            ..LanePlan::new(pattern, sizes)
        }
    }

    fn arrivals(&self) -> ArrivalPlan {
        let rate = self.rate;
        match (self.pace, self.arrivals) {
            (PaceKind::Closed, _) => ArrivalPlan::Closed,
            (PaceKind::Open, ArrivalKind::Uniform) => ArrivalPlan::Uniform { rate },
            (PaceKind::Open, ArrivalKind::Poisson) => ArrivalPlan::Poisson { rate },
            (PaceKind::Open, ArrivalKind::Bursts) => {
                let by_count = self.burst_requests > 0;
                let end = if by_count {
                    BurstEnd::Requests(self.burst_requests)
                } else {
                    BurstEnd::After(self.burst_time)
                };
                ArrivalPlan::Bursts { rate, end, idle: self.idle }
            }
        }
    }
}

/// The value, or a substitute after a problem, so that one pass finds them all.
fn keep<T>(problems: &mut Vec<Problem>, key: &'static str, value: Result<T, BadValue>, stand_in: T) -> T {
    value.unwrap_or_else(|bad| {
        problems.push(bad.of(key));
        stand_in
    })
}
