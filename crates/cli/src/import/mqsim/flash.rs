//! Geometry and times of the flash.

use super::partition::Resources;
use super::size::PageUnit;
use super::{Device, Flow};
use crate::import::draft::Draft;
use crate::scenario::spelling;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;

/// A command or address cycle whose multiples are the command phases of MQSim: seven are 322 ns, and it has
/// 290 ns and 30 ns for a read and 361 ns for a program; five are 230 ns, and it has 220 ns for an erase
/// (`ONFI_Channel_NVDDR2.cpp`).
const CYCLE: u64 = 46;

/// The fastest bus of a scenario, bytes per second.
const FASTEST_BUS: u64 = 100_000_000_000;

/// Translates the flash and its channels.
pub(super) fn translate(
    draft: &mut Draft,
    device: &Device,
    flows: &[Flow],
    resources: &Resources,
    unit: PageUnit,
) {
    let (flash, geometry) = (&device.flash, resources.geometry());
    for (key, value, origin) in [
        ("channels", geometry.channels, "Flash_Channel_Count"),
        ("chips", geometry.chips, "Chip_No_Per_Channel"),
        ("dies", geometry.dies, "Die_No_Per_Chip"),
        ("planes", geometry.planes, "Plane_No_Per_Die"),
        ("blocks", geometry.blocks, "Block_No_Per_Plane"),
        ("pages", geometry.pages, "Page_No_Per_Block"),
    ] {
        draft.set_plain(format!("device.geometry.{key}"), value, origin);
    }
    if resources.is_smaller() {
        draft.note(
            "Channel_IDs, Chip_IDs, Die_IDs, Plane_IDs",
            "no flow uses the other parts of the device: they are left out here",
        );
    }
    translate_page(draft, device, flows, unit);
    draft.set_text("device.geometry.ready_busy", "chip", "MQSim starts a command on an idle chip");
    draft.set_text("device.timing.cell", flash.cell.name(), "Flash_Technology");
    draft.set("device.timing.read", times(&flash.types(&flash.read)), "Page_Read_Latency_…");
    draft.set("device.timing.program", times(&flash.types(&flash.program)), "Page_Program_Latency_…");
    if flash.cell.bits() == 3 {
        draft.note(
            "Flash_Technology = TLC",
            "MQSim's blocks begin with six lower and two centre pages, then take the types two by two; here \
             the three types take turns from the first page on",
        );
    }
    draft.set_time("device.timing.erase", flash.erase, "Block_Erase_Latency");
    draft.set_plain("device.timing.endurance", flash.endurance.max(1), "Block_PE_Cycles_Limit");
    draft.set_time("device.timing.cycle", CYCLE, "NVDDR2: command phases of 290 to 361 ns");
    translate_bus(draft, device, unit.moved(flows));
    translate_suspension(draft, device);
}

fn translate_page(draft: &mut Draft, device: &Device, flows: &[Flow], unit: PageUnit) {
    let page = device.flash.page;
    if unit.is_part() {
        draft.set_bytes("device.geometry.page", unit.bytes(), "the part of Page_Capacity that is used");
        draft.note(
            format!("Page_Capacity = {page}"),
            format!(
                "every request lies at the beginning of a page and uses {} of it; MQSim moves only these \
                 over the bus and never reads the rest, so pages are as large here, and the drive has \
                 as many",
                spelling::bytes(unit.bytes())
            ),
        );
    } else {
        draft.set_bytes("device.geometry.page", page, "Page_Capacity");
        let is_partial = |flow: &Flow| {
            flow.synthetic().is_none_or(|flow| {
                let sectors = page / super::size::SECTOR;
                flow.deviation.is_some()
                    || !flow.size.is_multiple_of(sectors)
                    || flow.align.is_none_or(|align| !align.is_multiple_of(sectors))
            })
        };
        if flows.iter().any(is_partial) {
            draft.note(
                format!("Page_Capacity = {page}"),
                "MQSim reads the rest of a page that is written in part only if that was written before; \
                 here the rest of every page in use is read",
            );
        }
    }
    for flow in flows.iter().filter_map(Flow::synthetic) {
        if flow.uses_part(page) && unit.size(flow) != flow.size * super::size::SECTOR {
            draft.note(
                format!("Average_Request_Size = {}", flow.size),
                format!(
                    "MQSim moves {} bytes of each page; here a request is a whole page of {}",
                    flow.size * super::size::SECTOR,
                    spelling::bytes(unit.bytes())
                ),
            );
        }
    }
    draft.set_bytes("device.geometry.spare", 0, "MQSim moves no metadata over the bus");
    draft.note(
        format!("Page_Metadat_Capacity = {}", device.flash.spare),
        "MQSim reads it and moves only data over the bus: it changes nothing, there or here",
    );
}

/// `moved` is the share of a page that crosses the bus.
fn translate_bus(draft: &mut Draft, device: &Device, moved: f64) {
    // Nanoseconds of a transfer, which MQSim rounds down.
    let transfer = 1000 / device.transfer_rate;
    let origin = "Flash_Channel_Width × Channel_Transfer_Rate, as rounded in MQSim";
    let rate = match transfer {
        0 => FASTEST_BUS,
        _ => device.channel_width * 1_000_000_000 / transfer,
    };
    let scaled = (rate as f64 / moved).round() as u64;
    draft.set_rate("device.timing.bus", scaled.min(FASTEST_BUS), origin);
    if moved < 0.995 {
        draft.note(
            format!(
                "Flash_Channel_Width = {}, Channel_Transfer_Rate = {}",
                device.channel_width, device.transfer_rate
            ),
            format!(
                "requests use {:.0} % of each page that they touch on average, and MQSim moves only these; \
                 whole pages cross the bus here, at a rate that makes them as quick, copies of \
                 collection as well",
                100.0 * moved
            ),
        );
    }
    // A third of a per cent, as of 333 MT/s, is not worth a note.
    if (device.transfer_rate * transfer).abs_diff(1000) > 10 {
        let effect = match transfer {
            0 => {
                "MQSim rounds the time of a transfer down to 0 ns: its bus takes no time for data".to_string()
            }
            _ => format!(
                "MQSim rounds the time of a transfer down to {transfer} ns: its bus carries {}",
                spelling::rate(rate)
            ),
        };
        draft.note(format!("Channel_Transfer_Rate = {}", device.transfer_rate), effect);
    }
    draft.set_text("device.bus.arbitration", "data-first", "MQSim schedules when no chip has data to send");
}

fn translate_suspension(draft: &mut Draft, device: &Device) {
    let flash = &device.flash;
    draft.set_text("device.preempt.program", "none", "MQSim never suspends: see above");
    draft.set_text("device.preempt.erase", "none", "MQSim never suspends: see above");
    draft.set_time("device.timing.program_suspend", flash.suspend_program, "Suspend_Program_Time");
    draft.set_time("device.timing.erase_suspend", flash.suspend_erase, "Suspend_Erase_Time");
    if !flash.suspends_programs && !flash.suspends_erases {
        return;
    }
    let mut remedy = vec!["--set device.gc.preemptible=true"];
    if flash.suspends_programs {
        remedy.push("--set device.preempt.program=suspend");
    }
    if flash.suspends_erases {
        remedy.push("--set device.preempt.erase=suspend");
    }
    let mut parameters = vec![String::from("CMD_Suspension_Support")];
    parameters.extend(device.suspension_thresholds.iter().map(|(name, time)| format!("{name} = {time}")));
    draft.note(
        parameters.join(", "),
        format!(
            "MQSim reads them, but its scheduler falls through to 'return false' once it has decided to \
             suspend (TSU_OutofOrder.cpp, TSU_Priority_OutOfOrder.cpp): no command is ever suspended, nor is \
             one here; to see suspension: {} --set workload.read_class=2",
            remedy.join(" ")
        ),
    );
}

impl super::Flash {
    /// The times of the page types that a cell has, from the times of lower, centre and upper pages.
    fn types(&self, times: &[u64; 3]) -> Vec<u64> {
        let [lower, centre, upper] = *times;
        match self.cell.bits() {
            1 => vec![lower],
            2 => vec![lower, upper],
            _ => vec![lower, centre, upper],
        }
    }
}

/// Times as TOML: one where all are equal.
fn times(nanos: &[u64]) -> String {
    let quoted: Vec<String> =
        nanos.iter().map(|&time| spelling::quoted(&spelling::time(Nanos(time)))).collect();
    match quoted.iter().all(|time| *time == quoted[0]) {
        true => quoted[0].clone(),
        false => format!("[{}]", quoted.join(", ")),
    }
}
