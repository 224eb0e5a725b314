//! FEMU: the drive of a QEMU command line, in black-box mode.
//!
//! Names and defaults are those of `femu_props` (FEMU 10).

use super::draft::Draft;
use crate::failure::Failure;
use crate::scenario::nearest::nearest;
use std::collections::BTreeMap;
use tailcut_ssd::Preset;
use tailcut_ssd::config::SPARE_MOST;

/// Properties with their defaults that describe the drive.
const NUMBERS: [(&str, u64); 26] = [
    ("devsz_mb", 1024),
    ("femu_mode", 1),
    ("secsz", 512),
    ("secs_per_pg", 8),
    ("pgs_per_blk", 256),
    ("blks_per_pl", 256),
    ("pls_per_lun", 1),
    ("luns_per_ch", 8),
    ("nchs", 8),
    ("pg_rd_lat", 40_000),
    ("pg_wr_lat", 200_000),
    ("blk_er_lat", 2_000_000),
    ("ch_xfer_lat", 0),
    ("pg_xfer_lat", 0),
    ("cmd_addr_lat", 0),
    ("gc_thres_pcent", 75),
    ("gc_thres_pcent_high", 95),
    ("op_pcent", 0),
    ("buffer_size", 0),
    ("read_cache_mb", 0),
    ("nand_cell_type", 0),
    ("pe_suspend", 0),
    ("tsusp_ns", 0),
    ("pcie_bandwidth_mbps", 0),
    ("fw_cpu_ns", 0),
    ("pe_cycles_rated", 0),
];

/// The fastest bus and link of a scenario, bytes per second.
const FASTEST_BUS: u64 = 100_000_000_000;
const FASTEST_LINK: u64 = 1_000_000_000_000;

/// The properties of `-device femu,…`.
struct Properties {
    written: BTreeMap<String, String>,
}

/// The scenario of the first FEMU drive of a command line.
///
/// # Errors
/// A line without such a drive, a drive in another mode, or values that a scenario cannot have.
pub(super) fn translate(line: &str) -> Result<Draft, Failure> {
    let properties = Properties::parse(line)?;
    let mut draft =
        Draft::new(String::from("Imported from a FEMU command line; the load is the built-in one."));
    properties.compose(&mut draft)?;
    Ok(draft)
}

impl Properties {
    fn parse(line: &str) -> Result<Properties, Failure> {
        let words = line.split(|c: char| c.is_whitespace() || c == '\'' || c == '"');
        let device = words.filter(|word| !word.is_empty()).find_map(|word| {
            let word = word.trim_start_matches("-device=").trim_start_matches("--device=");
            let rest = word.strip_prefix("femu")?;
            if rest.is_empty() { Some("") } else { rest.strip_prefix(',') }
        });
        let Some(device) = device else {
            return Err(Failure::Input(String::from(
                "the line has no '-device femu,…'; give QEMU's command line as the script prints it, with \
                 its variables expanded",
            )));
        };
        let mut written = BTreeMap::new();
        for part in device.split(',').filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(Failure::Input(format!("'{part}' has no value; write {part}=VALUE")));
            };
            written.insert(name.trim().to_string(), value.trim().to_string());
        }
        Ok(Properties { written })
    }

    /// The value of a property of [`NUMBERS`].
    fn number(&self, name: &'static str) -> Result<u64, Failure> {
        let default = NUMBERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, default)| *default);
        match self.written.get(name) {
            None => Ok(default),
            Some(text) if text == "on" => Ok(1),
            Some(text) if text == "off" => Ok(0),
            Some(text) => text.parse().map_err(|_| {
                Failure::Input(format!(
                    "{name}={text}: it is not a whole number; write it like {name}={default}"
                ))
            }),
        }
    }

    fn compose(&self, draft: &mut Draft) -> Result<(), Failure> {
        let mode = self.number("femu_mode")?;
        if mode != 1 {
            return Err(Failure::Input(format!(
                "femu_mode={mode} is no black-box SSD: only femu_mode=1 describes a drive with its own \
                 translation layer, which is what is simulated here"
            )));
        }
        draft.set_text("device.preset", "femu-16g", "what the line leaves open");
        let page = self.number("secsz")?.saturating_mul(self.number("secs_per_pg")?);
        for (key, name) in [
            ("channels", "nchs"),
            ("chips", "luns_per_ch"),
            ("planes", "pls_per_lun"),
            ("blocks", "blks_per_pl"),
            ("pages", "pgs_per_blk"),
        ] {
            draft.set_plain(format!("device.geometry.{key}"), self.number(name)?, name);
        }
        draft.set_plain("device.geometry.dies", 1, "a LUN is a chip");
        draft.set_bytes("device.geometry.page", page, "secsz × secs_per_pg");
        draft.set_bytes("device.geometry.spare", 0, "no metadata moves over the bus");
        self.compose_times(draft, page)?;
        self.compose_space(draft, page)?;
        self.compose_collection(draft)?;
        self.compose_caches(draft, page)?;
        self.note_others(draft);
        Ok(())
    }

    fn compose_times(&self, draft: &mut Draft, page: u64) -> Result<(), Failure> {
        draft.set_time("device.timing.read", self.number("pg_rd_lat")?, "pg_rd_lat");
        draft.set_time("device.timing.program", self.number("pg_wr_lat")?, "pg_wr_lat");
        draft.set_time("device.timing.erase", self.number("blk_er_lat")?, "blk_er_lat");
        let transfer = self.number("pg_xfer_lat")?.max(self.number("ch_xfer_lat")?);
        let rate = match transfer {
            0 => FASTEST_BUS,
            nanos => {
                (u128::from(page) * 1_000_000_000 / u128::from(nanos)).min(u128::from(FASTEST_BUS)) as u64
            }
        };
        draft.set_rate("device.timing.bus", rate, "pg_xfer_lat or ch_xfer_lat; 0 takes no time");
        draft.set_time("device.timing.cycle", self.number("cmd_addr_lat")? / 7, "cmd_addr_lat, seven cycles");
        let link = self.number("pcie_bandwidth_mbps")?;
        let rate = if link == 0 { FASTEST_LINK } else { link.saturating_mul(1_000_000).min(FASTEST_LINK) };
        draft.set_rate("device.link.rate", rate, "pcie_bandwidth_mbps; 0 takes no time");
        draft.set_time("device.queue.firmware", self.number("fw_cpu_ns")?, "fw_cpu_ns");
        if self.number("pe_cycles_rated")? > 0 {
            draft.set_plain("device.timing.endurance", self.number("pe_cycles_rated")?, "pe_cycles_rated");
        }
        if self.number("nand_cell_type")? > 0 {
            draft.note(
                format!("nand_cell_type={}", self.number("nand_cell_type")?),
                "FEMU takes built-in times for each type of page instead of pg_rd_lat and pg_wr_lat: set \
                 device.timing.cell, read and program",
            );
        }
        if self.number("pe_suspend")? > 0 {
            draft.set_text("device.schedule.chip", "reads-first", "pe_suspend");
            draft.set_text("device.schedule.classes", "equal", "pe_suspend");
            for operation in ["program", "erase"] {
                draft.set_text(format!("device.preempt.{operation}"), "suspend", "pe_suspend");
                let key = format!("device.timing.{operation}_suspend");
                draft.set_time(key, self.number("tsusp_ns")?, "tsusp_ns");
            }
        }
        Ok(())
    }

    fn compose_space(&self, draft: &mut Draft, page: u64) -> Result<(), Failure> {
        let mut raw = page;
        for name in ["pgs_per_blk", "blks_per_pl", "pls_per_lun", "luns_per_ch", "nchs"] {
            raw = raw.saturating_mul(self.number(name)?);
        }
        let (spare, origin) = match self.number("op_pcent")? {
            0 => {
                let seen = self.number("devsz_mb")?.saturating_mul(1 << 20);
                (1.0 - seen as f64 / raw.max(1) as f64, "devsz_mb of the raw flash")
            }
            percent => (1.0 - 100.0 / (100.0 + percent as f64), "op_pcent"),
        };
        if spare < 0.0 {
            return Err(Failure::Input(format!(
                "devsz_mb is {} and the flash has {} MiB: lower devsz_mb, or set op_pcent",
                self.number("devsz_mb")?,
                raw >> 20
            )));
        }
        let ppm = (spare * 1e6).round() as u32;
        if ppm > SPARE_MOST {
            draft.note(
                "devsz_mb",
                format!("FEMU leaves {:.0} % of the flash spare; here it is at most 90 %", spare * 100.0),
            );
        }
        draft.set_share("device.ftl.spare", ppm.min(SPARE_MOST), origin);
        Ok(())
    }

    fn compose_collection(&self, draft: &mut Draft) -> Result<(), Failure> {
        let blocks = self.number("blks_per_pl")?;
        let free = |percent: u64| (blocks * 100_u64.saturating_sub(percent) / 100).max(2);
        let low = free(self.number("gc_thres_pcent_high")?);
        let high = free(self.number("gc_thres_pcent")?).max(low);
        draft.set_plain("device.gc.low", low, "gc_thres_pcent_high: blocks that are free");
        draft.set_plain("device.gc.high", high, "gc_thres_pcent: blocks that are free");
        draft.set_plain("device.gc.background", true, "FEMU collects from gc_thres_pcent on");
        let policy = self.written.get("gc_policy").map_or("greedy", String::as_str);
        let victim = match policy {
            "greedy" | "random" | "fifo" | "cost-benefit" => policy,
            "d-choice" => "d-choices",
            _ => {
                let known = ["greedy", "random", "fifo", "cost-benefit", "d-choice"];
                let meant =
                    nearest(policy, known).map_or(String::new(), |near| format!("did you mean {near}? "));
                return Err(Failure::Input(format!(
                    "gc_policy={policy}: {meant}the policies are {}",
                    known.join(", ")
                )));
            }
        };
        draft.set_text("device.gc.victim", victim, "gc_policy");
        draft.set_plain("device.gc.choices", 4, "FEMU samples 4");
        draft.note(
            "lines",
            "FEMU writes and collects a line, a block of every LUN, as one; here each plane has its own open \
             block and collects by itself (ftl.mapping = \"superblock\" is the other way)",
        );
        Ok(())
    }

    fn compose_caches(&self, draft: &mut Draft, page: u64) -> Result<(), Failure> {
        let buffer = self.number("buffer_size")?.saturating_mul(page);
        draft.set_bytes("device.buffer.size", buffer, "buffer_size in pages");
        draft.set_bytes("device.cache.size", self.number("read_cache_mb")? << 20, "read_cache_mb");
        draft.set_text("device.schedule.commit", "sos", "each LUN serves its own queue");
        Ok(())
    }

    /// Properties that describe something else, or are not known.
    fn note_others(&self, draft: &mut Draft) {
        const MACHINE: [&str; 9] =
            ["id", "serial", "namespaces", "queues", "entries", "multipoller_enabled", "vid", "did", "meta"];
        for (name, value) in &self.written {
            let is_known = NUMBERS.iter().any(|(known, _)| known == name) || name == "gc_policy";
            if is_known || MACHINE.contains(&name.as_str()) {
                continue;
            }
            let meant = nearest(name, NUMBERS.iter().map(|(known, _)| *known));
            let effect = match meant {
                Some(near) => format!("it is not translated; did you mean {near}?"),
                None => String::from("it is not translated: the drive here is one without it"),
            };
            draft.note(format!("{name}={value}"), effect);
        }
        debug_assert_eq!(Preset::Femu.config().geometry.dies, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ColorMode;

    /// The line of FEMU's own script.
    const LINE: &str = "sudo ./qemu-system-x86_64 -name FEMU-BBSSD-VM -smp 4 -m 4G -device \
        femu,devsz_mb=12288,namespaces=1,femu_mode=1,secsz=512,secs_per_pg=8,pgs_per_blk=256,blks_per_pl=256,\
        pls_per_lun=1,luns_per_ch=8,nchs=8,pg_rd_lat=40000,pg_wr_lat=200000,blk_er_lat=2000000,ch_xfer_lat=0,\
        gc_thres_pcent=75,gc_thres_pcent_high=95 -net user,hostfwd=tcp::8080-:22 -nographic";

    fn text(line: &str) -> String {
        let draft = translate(line).unwrap_or_else(|error| panic!("{}", error.render(ColorMode::Plain)));
        draft.scenario().unwrap_or_else(|error| panic!("{}", error.render(ColorMode::Plain)))
    }

    fn refusal(line: &str) -> String {
        translate(line).map(|_| ()).expect_err("refused").render(ColorMode::Plain)
    }

    #[test]
    fn the_drive_of_the_script_is_a_scenario() {
        let text = text(LINE);
        for line in
            ["channels = 8", "chips = 8", "read = \"40us\"", "spare = \"25%\"", "low = 12", "high = 64"]
        {
            assert!(text.contains(&format!("\n{line}")), "{line}\n{text}");
        }
    }

    #[test]
    fn what_is_not_translated_is_listed() {
        let draft = translate("-device femu,devsz_mb=12288,mapping=dftl,femu_mode=1").expect("a drive");
        assert!(draft.notes(ColorMode::Plain).contains("mapping=dftl: "), "{draft:?}");
    }

    #[test]
    fn lines_without_a_drive_or_with_another_kind_are_refused() {
        assert!(refusal("qemu-system-x86_64 -m 4G").contains("-device femu"));
        assert!(refusal("-device femu,femu_mode=3").contains("femu_mode=3"));
        assert!(refusal("-device femu,devsz_mb=99999999,femu_mode=1").contains("lower devsz_mb"));
        assert!(refusal("-device femu,devsz_mb=12288,gc_policy=gredy").contains("did you mean greedy?"));
        assert!(refusal("-device femu,nchs=many").contains("nchs=many"));
        assert!(refusal("-device femu,nchs").contains("nchs=VALUE"));
    }
}
