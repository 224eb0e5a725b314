//! The host interface: link, queues, seeds.

use super::partition::Resources;
use super::{Device, Flow, Interface};
use crate::import::draft::Draft;

/// Bytes of headers of a packet on PCI Express, as MQSim counts them: transaction, link and physical layer.
const OVERHEAD: u64 = 20 + 6 + 2;
/// The most data of a packet.
const PAYLOAD: u64 = 128;
/// Bytes of MQSim's structure of a submission queue entry, of a completion queue entry and of a doorbell.
const SUBMISSION: u64 = 72;
const COMPLETION: u64 = 16;
const DOORBELL: u64 = 2;
/// Bytes of a request to read memory, beside the headers.
const READ_REQUEST: u64 = 4;

/// Translates `Host_Parameter_Set` and the host interface of the device.
pub(super) fn translate(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    draft.set_plain("seed", device.seed, "Seed of the device");
    if flows.iter().any(|flow| flow.synthetic().is_some()) {
        let seeds: Vec<String> =
            flows.iter().filter_map(|flow| Some(flow.synthetic()?.seed.to_string())).collect();
        draft.note(
            format!("Seed = {}", seeds.join(", ")),
            "MQSim draws the requests of each flow from its own seed; here all random streams derive from \
             the key 'seed', so single requests differ",
        );
    }
    if let Some(period) = device.log_period {
        draft.note(
            "Enable_ResponseTime_Logging = true",
            format!(
                "MQSim logs the mean response time of every {} µs; here 'tailcut run --timeline' records the \
                 run, and run.round reports rounds",
                period / 1000
            ),
        );
    }
    translate_link(draft, device);
    translate_queue(draft, device, flows.len() as u64, resources);
    for (name, text) in device.unread.iter().chain(flows.iter().flat_map(|flow| &flow.unread)) {
        draft.note(format!("{name} = {text}"), "MQSim does not read it; it changes nothing, there or here");
    }
}

fn translate_link(draft: &mut Draft, device: &Device) {
    let origin = "PCIe_Lane_Bandwidth × PCIe_Lane_Count × 128 ÷ 156 (headers)";
    let rate =
        device.lane_bandwidth * device.lanes as f64 * 1e9 * PAYLOAD as f64 / (PAYLOAD + OVERHEAD) as f64;
    draft.set_rate("device.link.rate", rate.round() as u64, origin);
    // Each part of the protocol is a packet of its own.
    let time = |bytes: u64| (bytes.div_ceil(device.lanes) as f64 / device.lane_bandwidth) as u64;
    let request = time(OVERHEAD + READ_REQUEST);
    let before = time(SUBMISSION + OVERHEAD) + time(DOORBELL + OVERHEAD);
    let after = 2 * request + time(COMPLETION + OVERHEAD);
    match device.interface {
        Interface::Nvme => {
            draft.set_time("device.link.command", before, "doorbell and submission queue entry");
            draft.set_time("device.queue.firmware", after, "requests to read them, completion queue entry");
        }
        Interface::Sata => {
            // One message at a time, in each direction: a server before the device and one behind it.
            let delay = device.sata_delay;
            draft.set_time("device.link.command", delay + before, "SATA_Processing_Delay of the command");
            draft.set_time("device.queue.firmware", delay + after, "SATA_Processing_Delay of the completion");
            draft.set_plain("device.link.half_duplex", true, "SATA_Processing_Delay is one server for all");
        }
    }
}

fn translate_queue(draft: &mut Draft, device: &Device, flows: u64, resources: &Resources) {
    match device.interface {
        Interface::Nvme => {
            let depth = device.fetched.min(device.queue_depth - 1) * flows;
            draft.set_text("device.queue.protocol", "nvme", "HostInterface_Type");
            draft.set_plain("device.queue.depth", depth, "Queue_Fetch_Size of each flow");
        }
        Interface::Sata => {
            let depth = (device.queue_depth - 1).min(32);
            draft.set_text("device.queue.protocol", "ahci", "HostInterface_Type");
            draft.set_plain("device.queue.depth", depth, "IO_Queue_Depth; AHCI has 32 tags");
            if device.queue_depth > 33 {
                draft.note(
                    format!("IO_Queue_Depth = {}", device.queue_depth),
                    "MQSim's queue of a SATA device is as long as it is set; AHCI has 32 tags here",
                );
            }
        }
    }
    if resources.is_divided() {
        draft.note(
            "Channel_IDs, Chip_IDs, Die_IDs, Plane_IDs",
            "MQSim gives each flow its channels, chips, dies and planes; here all flows share the whole \
             device",
        );
    }
}
