//! Names, defaults and ranges of MQSim's parameters.

use super::elements::Parameters;
use super::{
    Caching, CachingMode, Device, Distribution, Dram, Flash, Flow, Interface, Priority, Requests, Scheduling,
    Share, Synthetic, TimeUnit, Trace, Victim,
};
use crate::scenario::{Place, Problem};
use roxmltree::Node;
use tailcut_base::config::Choice;
use tailcut_ssd::config::Order;
use tailcut_ssd::flash::timing::CellKind;

/// The largest time that a scenario can have: a day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

impl Default for Device {
    /// The program's own defaults.
    fn default() -> Device {
        Device {
            lane_bandwidth: 0.4,
            lanes: 4,
            sata_delay: 0,
            log_period: None,
            seed: 123,
            preconditioned: true,
            interface: Interface::Nvme,
            queue_depth: 1024,
            fetched: 512,
            caching: Caching::Advanced,
            cache_is_shared: true,
            cache: 512 << 20,
            dram: Dram { row: 8192, rate: 800, burst: 4, row_to_column: 13, column: 13, precharge: 13 },
            hybrid_mapping: false,
            ideal_map: false,
            map_cache: 2 << 20,
            map_cache_is_shared: true,
            order: Order::Cwdp,
            scheduling: Scheduling::OutOfOrder,
            spare: 0.07,
            gc_threshold: 0.05,
            gc_hard_threshold: 0.005,
            victim: Victim::Rga,
            copyback: false,
            preemptible: true,
            dynamic_levelling: true,
            static_levelling: true,
            levelling_spread: 100,
            suspension_thresholds: Vec::new(),
            channels: 8,
            channel_width: 1,
            transfer_rate: 300,
            chips: 4,
            flash: Flash::default(),
            unread: Vec::new(),
        }
    }
}

impl Default for Flash {
    fn default() -> Flash {
        Flash {
            cell: CellKind::Mlc,
            suspends_programs: false,
            suspends_erases: true,
            read: [75_000; 3],
            program: [750_000; 3],
            erase: 3_800_000,
            endurance: 10_000,
            suspend_erase: 700_000,
            suspend_program: 100_000,
            dies: 2,
            planes: 2,
            blocks: 2048,
            pages: 256,
            page: 8192,
            spare: 1872,
        }
    }
}

impl Device {
    /// Reads `Execution_Parameter_Set`.
    pub(super) fn read(mut root: Parameters<'_, '_>) -> Device {
        let mut device = Device::default();
        if let Some(host) = root.below("Host_Parameter_Set") {
            device.read_host(host);
        }
        if let Some(parameters) = root.below("Device_Parameter_Set") {
            device.read_device(parameters);
        }
        root.finish();
        device
    }

    fn read_host(&mut self, mut host: Parameters<'_, '_>) {
        self.lane_bandwidth = host.number("PCIe_Lane_Bandwidth", self.lane_bandwidth, 0.001..=1000.0);
        self.lanes = host.count("PCIe_Lane_Count", self.lanes, 1..=64);
        self.sata_delay = host.count("SATA_Processing_Delay", self.sata_delay, 0..=DAY);
        let is_logged = host.flag("Enable_ResponseTime_Logging", false);
        let period = host.count("ResponseTime_Logging_Period_Length", 400_000, 0..=DAY);
        self.log_period = is_logged.then_some(period);
        host.finish();
    }

    fn read_device(&mut self, mut p: Parameters<'_, '_>) {
        self.seed = p.count("Seed", self.seed, 0..=u64::from(u32::MAX));
        self.preconditioned = p.flag("Enabled_Preconditioning", self.preconditioned);
        p.choice("Memory_Type", (), &[("FLASH", ())]);
        let interfaces = [("NVME", Interface::Nvme), ("SATA", Interface::Sata)];
        self.interface = p.choice("HostInterface_Type", self.interface, &interfaces);
        self.queue_depth = p.count("IO_Queue_Depth", self.queue_depth, 2..=65_535);
        self.fetched = p.count("Queue_Fetch_Size", self.fetched, 1..=65_535);
        self.read_cache(&mut p);
        self.read_mapping(&mut p);
        let policies = [
            ("OUT_OF_ORDER", Scheduling::OutOfOrder),
            ("PRIORITY_OUT_OF_ORDER", Scheduling::Priority),
            ("FLIN", Scheduling::Flin),
        ];
        self.scheduling = p.choice("Transaction_Scheduling_Policy", self.scheduling, &policies);
        self.read_collection(&mut p);
        self.read_suspension(&mut p);
        self.channels = p.count("Flash_Channel_Count", self.channels, 1..=256);
        self.channel_width = p.count("Flash_Channel_Width", self.channel_width, 1..=64);
        self.transfer_rate = p.count("Channel_Transfer_Rate", self.transfer_rate, 1..=100_000);
        self.chips = p.count("Chip_No_Per_Channel", self.chips, 1..=256);
        p.choice("Flash_Comm_Protocol", (), &[("NVDDR2", ())]);
        if let Some(flash) = p.below("Flash_Parameter_Set") {
            self.flash = Flash::read(flash);
        }
        p.finish();
    }

    fn read_cache(&mut self, p: &mut Parameters<'_, '_>) {
        let mechanisms = [("SIMPLE", Caching::Simple), ("ADVANCED", Caching::Advanced)];
        self.caching = p.choice("Caching_Mechanism", self.caching, &mechanisms);
        let sharing = [("SHARED", true), ("EQUAL_PARTITIONING", false)];
        self.cache_is_shared = p.choice("Data_Cache_Sharing_Mode", self.cache_is_shared, &sharing);
        self.cache = p.count("Data_Cache_Capacity", self.cache, 0..=u64::from(u32::MAX));
        let dram = &mut self.dram;
        dram.row = p.count("Data_Cache_DRAM_Row_Size", dram.row, 1..=1 << 30);
        dram.rate = p.count("Data_Cache_DRAM_Data_Rate", dram.rate, 1..=1_000_000);
        dram.burst = p.count("Data_Cache_DRAM_Data_Busrt_Size", dram.burst, 1..=4096);
        dram.row_to_column = p.count("Data_Cache_DRAM_tRCD", dram.row_to_column, 0..=1_000_000);
        dram.column = p.count("Data_Cache_DRAM_tCL", dram.column, 0..=1_000_000);
        dram.precharge = p.count("Data_Cache_DRAM_tRP", dram.precharge, 0..=1_000_000);
    }

    fn read_mapping(&mut self, p: &mut Parameters<'_, '_>) {
        let levels = [("PAGE_LEVEL", false), ("HYBRID", true)];
        self.hybrid_mapping = p.choice("Address_Mapping", self.hybrid_mapping, &levels);
        self.ideal_map = p.flag("Ideal_Mapping_Table", self.ideal_map);
        self.map_cache = p.count("CMT_Capacity", self.map_cache, 0..=u64::from(u32::MAX));
        // MQSim writes the second name and reads the third.
        let sharing = [("SHARED", true), ("EQUAL_SIZE_PARTITIONING", false), ("EQUAL_PARTITIONING", false)];
        self.map_cache_is_shared = p.choice("CMT_Sharing_Mode", self.map_cache_is_shared, &sharing);
        let orders: Vec<(&str, Order)> = Order::all().iter().map(|&order| (order.name(), order)).collect();
        self.order = p.choice("Plane_Allocation_Scheme", self.order, &orders);
    }

    fn read_collection(&mut self, p: &mut Parameters<'_, '_>) {
        self.spare = p.number("Overprovisioning_Ratio", self.spare, 0.0..=0.9);
        self.gc_threshold = p.number("GC_Exec_Threshold", self.gc_threshold, 0.0..=1.0);
        let policies = [
            ("GREEDY", Victim::Greedy),
            ("RGA", Victim::Rga),
            ("RANDOM", Victim::Random),
            ("RANDOM_P", Victim::RandomP),
            ("RANDOM_PP", Victim::RandomPp),
            ("FIFO", Victim::Fifo),
        ];
        self.victim = p.choice("GC_Block_Selection_Policy", self.victim, &policies);
        self.copyback = p.flag("Use_Copyback_for_GC", self.copyback);
        self.preemptible = p.flag("Preemptible_GC_Enabled", self.preemptible);
        self.gc_hard_threshold = p.number("GC_Hard_Threshold", self.gc_hard_threshold, 0.0..=1.0);
        self.dynamic_levelling = p.flag("Dynamic_Wearleveling_Enabled", self.dynamic_levelling);
        self.static_levelling = p.flag("Static_Wearleveling_Enabled", self.static_levelling);
        let spread = p.count("Static_Wearleveling_Threshold", self.levelling_spread, 0..=1_000_000);
        self.levelling_spread = spread;
    }

    fn read_suspension(&mut self, p: &mut Parameters<'_, '_>) {
        // MQSim writes the first name and reads the second.
        for name in [
            "Preferred_suspend_erase_time_for_read",
            "Prefered_suspend_erase_time_for_read",
            "Preferred_suspend_erase_time_for_write",
            "Preferred_suspend_write_time_for_read",
        ] {
            let is_written = p.has(name);
            let time = p.count(name, 0, 0..=DAY);
            if is_written {
                self.suspension_thresholds.push((name, time));
            }
        }
    }
}

impl Flash {
    fn read(mut p: Parameters<'_, '_>) -> Flash {
        let d = Flash::default();
        let cells = [("SLC", CellKind::Slc), ("MLC", CellKind::Mlc), ("TLC", CellKind::Tlc)];
        let suspension = [
            ("NONE", (false, false)),
            ("ERASE", (false, true)),
            ("PROGRAM", (true, false)),
            ("PROGRAM_ERASE", (true, true)),
        ];
        let cell = p.choice("Flash_Technology", d.cell, &cells);
        let (suspends_programs, suspends_erases) =
            p.choice("CMD_Suspension_Support", (false, true), &suspension);
        let mut time = |name, default| p.count(name, default, 1..=1_000_000_000);
        let read = [
            time("Page_Read_Latency_LSB", d.read[0]),
            time("Page_Read_Latency_CSB", d.read[1]),
            time("Page_Read_Latency_MSB", d.read[2]),
        ];
        let program = [
            time("Page_Program_Latency_LSB", d.program[0]),
            time("Page_Program_Latency_CSB", d.program[1]),
            time("Page_Program_Latency_MSB", d.program[2]),
        ];
        let erase = time("Block_Erase_Latency", d.erase);
        let flash = Flash {
            cell,
            suspends_programs,
            suspends_erases,
            read,
            program,
            erase,
            endurance: p.count("Block_PE_Cycles_Limit", d.endurance, 0..=u64::from(u32::MAX)),
            suspend_erase: p.count("Suspend_Erase_Time", d.suspend_erase, 0..=DAY),
            suspend_program: p.count("Suspend_Program_Time", d.suspend_program, 0..=DAY),
            dies: p.count("Die_No_Per_Chip", d.dies, 1..=16),
            planes: p.count("Plane_No_Per_Die", d.planes, 1..=8),
            blocks: p.count("Block_No_Per_Plane", d.blocks, 4..=1 << 20),
            pages: p.count("Page_No_Per_Block", d.pages, 1..=65_536),
            page: p.count("Page_Capacity", d.page, 512..=32_768),
            spare: p.count("Page_Metadat_Capacity", d.spare, 0..=1 << 20),
        };
        if !flash.page.is_power_of_two() {
            let message = format!("Page_Capacity is {}, which is no power of two", flash.page);
            p.refuse(Problem::at(p.place(), message).remedy("write 4096, 8192 or 16384, say"));
        }
        p.finish();
        flash
    }
}

impl Flow {
    /// Reads one flow of a scenario.
    pub(super) fn read(element: Node<'_, '_>, device: &Device, problems: &mut Vec<Problem>) -> Option<Flow> {
        let name = element.tag_name().name();
        let mut p = Parameters::new(1, element, problems);
        let is_synthetic = match name {
            "IO_Flow_Parameter_Set_Synthetic" => true,
            "IO_Flow_Parameter_Set_Trace_Based" => false,
            _ => {
                let message = format!("there is no kind of flow {name}");
                let remedy = "write IO_Flow_Parameter_Set_Synthetic or IO_Flow_Parameter_Set_Trace_Based";
                p.refuse(Problem::at(p.place(), message).remedy(remedy));
                return None;
            }
        };
        let modes = [
            ("TURNED_OFF", CachingMode::Off),
            ("WRITE_CACHE", CachingMode::Write),
            ("READ_CACHE", CachingMode::Read),
            ("WRITE_READ_CACHE", CachingMode::WriteRead),
        ];
        let priorities = [
            ("URGENT", Priority::Urgent),
            ("HIGH", Priority::High),
            ("MEDIUM", Priority::Medium),
            ("LOW", Priority::Low),
        ];
        let caching = p.choice("Device_Level_Data_Caching_Mode", CachingMode::Write, &modes);
        let priority = p.choice("Priority_Class", Priority::High, &priorities);
        let share = Share {
            channels: p.numbers("Channel_IDs", device.channels),
            chips: p.numbers("Chip_IDs", device.chips),
            dies: p.numbers("Die_IDs", device.flash.dies),
            planes: p.numbers("Plane_IDs", device.flash.planes),
        };
        let occupancy = p.count("Initial_Occupancy_Percentage", 0, 0..=100);
        let requests = match is_synthetic {
            true => Requests::Synthetic(Synthetic::read(&mut p)),
            false => Requests::Trace(Trace::read(&mut p)),
        };
        let unread = p.unread("Intensity").map(|text| ("Intensity", text.to_string()));
        let flow =
            Flow { caching, priority, share, occupancy, requests, unread: unread.into_iter().collect() };
        p.finish();
        Some(flow)
    }
}

impl Synthetic {
    fn read(p: &mut Parameters<'_, '_>) -> Synthetic {
        for name in [
            "Synthetic_Generator_Type",
            "Read_Percentage",
            "Address_Distribution",
            "Request_Size_Distribution",
            "Average_Request_Size",
        ] {
            require(p, name, "MQSim would use whatever is in memory");
        }
        // 100 % where it is out of range, as MQSim corrects it.
        let working_set = p.count("Working_Set_Percentage", 100, 0..=u64::from(u32::MAX));
        let generators = [("QUEUE_DEPTH", true), ("BANDWIDTH", false)];
        let is_closed = p.choice("Synthetic_Generator_Type", true, &generators);
        let needed = if is_closed { "Average_No_of_Reqs_in_Queue" } else { "Bandwidth" };
        require(p, needed, "the generator takes its load from it");
        let depth = p.count("Average_No_of_Reqs_in_Queue", 1, 1..=1 << 20);
        let distributions = [
            ("STREAMING", Distribution::Streaming),
            ("RANDOM_HOTCOLD", Distribution::HotCold),
            ("RANDOM_UNIFORM", Distribution::Uniform),
        ];
        let distribution = p.choice("Address_Distribution", Distribution::Uniform, &distributions);
        let is_aligned = p.flag("Generated_Aligned_Addresses", false);
        let unit = p.count("Address_Alignment_Unit", 1, 1..=1 << 21);
        let is_normal = p.choice("Request_Size_Distribution", false, &[("FIXED", false), ("NORMAL", true)]);
        let synthetic = Synthetic {
            working_set: if (1..=100).contains(&working_set) { working_set } else { 100 },
            depth: is_closed.then_some(depth),
            bandwidth: p.count("Bandwidth", 0, 0..=1 << 40),
            read: p.count("Read_Percentage", 100, 0..=100),
            distribution,
            hot: p.count("Percentage_of_Hot_Region", 0, 0..=100),
            align: is_aligned.then_some(unit),
            size: p.count("Average_Request_Size", 8, 1..=65_536),
            deviation: Some(p.count("Variance_Request_Size", 0, 0..=65_536)).filter(|&s| is_normal && s > 0),
            seed: p.count("Seed", 0, 0..=u64::from(u32::MAX)),
            stop: p.count("Stop_Time", 0, 0..=DAY * 30),
            total: p.count("Total_Requests_To_Generate", 0, 0..=u64::from(u32::MAX)),
        };
        synthetic.check(p);
        synthetic
    }

    fn check(&self, p: &mut Parameters<'_, '_>) {
        if self.stop == 0 && self.total == 0 {
            let message = "the flow has no end: Stop_Time and Total_Requests_To_Generate are 0";
            p.refuse(Problem::at(p.place(), message).remedy("set one of them"));
        }
        if self.depth.is_none() && self.requests_per_second() == 0 {
            let message = format!(
                "Bandwidth is {} bytes per second: less than a request of {} sectors",
                self.bandwidth, self.size
            );
            p.refuse(Problem::at(p.place(), message).remedy("MQSim would divide by zero: raise Bandwidth"));
        }
        if self.distribution == Distribution::HotCold && !(1..=99).contains(&self.hot) {
            let message =
                format!("Percentage_of_Hot_Region is {}: there is no hot or no cold part", self.hot);
            let remedy = "write 1 to 99, or RANDOM_UNIFORM as Address_Distribution";
            p.refuse(Problem::at(p.place(), message).remedy(remedy));
        }
    }

    /// Whole requests per second of a flow with a bandwidth, rounded down twice as in MQSim.
    pub(super) fn requests_per_second(&self) -> u64 {
        self.bandwidth / 512 / self.size
    }
}

impl Trace {
    fn read(p: &mut Parameters<'_, '_>) -> Trace {
        require(p, "File_Path", "there is no trace to replay");
        let units = [
            ("PICOSECOND", TimeUnit::Picoseconds),
            ("NANOSECOND", TimeUnit::Nanoseconds),
            ("MICROSECOND", TimeUnit::Microseconds),
        ];
        Trace {
            file: p.text("File_Path").unwrap_or_default().to_string(),
            percentage: p.count("Percentage_To_Be_Executed", 100, 0..=u64::from(u32::MAX)).min(100),
            times: p.count("Relay_Count", 1, 1..=1_000_000),
            unit: p.choice("Time_Unit", TimeUnit::Nanoseconds, &units),
        }
    }
}

/// Refuses a flow without a parameter.
fn require(p: &mut Parameters<'_, '_>, name: &'static str, why: &str) {
    if !p.has(name) {
        let place: Place = p.place();
        p.refuse(Problem::at(place, format!("{name} is missing: {why}")).remedy(format!("write <{name}>")));
    }
}
