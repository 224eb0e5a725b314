//! Properties of requests, and parts of drives that are there for them, that have no effect.

use super::{Ineffective, add};
use crate::scenario::Scenario;
use tailcut_base::quantity::exact_bytes;
use tailcut_host::PlacementPolicy;
use tailcut_host::array::LayoutKind;
use tailcut_ssd::config::{ChipPolicy, Classes};
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::FurtherSources;

/// The sections of the first two synthetic sources.
const SECTIONS: [&str; 2] = ["workload", "beside"];

impl Scenario {
    /// Properties of requests that the storage has no use for.
    pub(super) fn add_idle_properties(&self, found: &mut Vec<Ineffective>) {
        self.add_idle_writes(found);
        self.add_idle_streams(found);
        self.add_idle_classes(found);
        self.add_idle_waiting(found);
        self.add_idle_loading(found);
        if self.is_synthetic() && self.array.drives == 0 && !self.has_trims() {
            let because = "there are no trims: raise workload.trim";
            add(found, "device.queue", &["trim"], because);
        }
    }

    /// A store whose files cannot have been written after the rest of a log.
    fn add_idle_loading(&self, found: &mut Vec<Ineffective>) {
        let is_log = self.array.drives > 0 && !self.array.layout.is_in_place();
        if !is_log || self.precondition.state == PreparedState::Empty {
            let because = "no log is prepared by writing: set array.drives and array.layout, and \
                           precondition.state other than \"empty\"";
            add(found, "lsm", &["loaded_last"], because);
        }
    }

    /// Requests of several pages, where there are none. An array and a server issue requests of their own.
    fn add_idle_waiting(&self, found: &mut Vec<Ineffective>) {
        if !self.is_synthetic() || self.array.drives > 0 || self.kv.enabled {
            return;
        }
        let page = self.device.geometry.page_bytes;
        if self.synthetic().all(|(_, source)| source.stays_within_pages(page)) {
            let because = format!("no request has more than one page of {}", exact_bytes(page));
            add(found, "device.schedule", &["whole_requests"], &because);
        }
    }

    fn has_trims(&self) -> bool {
        self.synthetic().any(|(_, source)| source.trim > 0)
    }

    /// Writes that are durable whatever they ask for.
    fn add_idle_writes(&self, found: &mut Vec<Ineffective>) {
        let (buffer, layout) = (&self.device.buffer, self.array.layout);
        let in_place = matches!(layout, LayoutKind::Raid0 | LayoutKind::Raid4 | LayoutKind::Raid5);
        if self.array.drives > 0 && !in_place {
            return;
        }
        if buffer.size > 0 && buffer.capacitor {
            let because =
                "a write is durable in the buffer, which survives power cuts (device.buffer.capacitor)";
            for source in SECTIONS.into_iter().chain(FurtherSources::NAMES) {
                add(found, source, &["fua"], because);
            }
        }
    }

    /// Streams of writes that a drive does not keep apart, and streams of a drive that no write names.
    fn add_idle_streams(&self, found: &mut Vec<Ineffective>) {
        let because = match (self.array.drives, self.kv.enabled) {
            (_, true) => Some("a server names the handles of its writes (kv.enabled)"),
            (1.., _) if self.handles_of_host() == 1 => Some(
                "the array has no handle to spare for its host (array.layout): raise device.fdp.handles, \
                 to 2 with raid0, 3 with epochs and 4 with raid5; a log has one always",
            ),
            _ if self.placement.policy != PlacementPolicy::Named => {
                Some("the host chooses the handles of all writes (placement.policy)")
            }
            _ if self.device.ftl.streams == 1 && !self.device.fdp.is_on() => Some(
                "the drive has one write stream: raise device.ftl.streams, or device.fdp.handles of a drive \
                 that maps by superblock",
            ),
            _ => None,
        };
        if let Some(because) = because {
            for source in SECTIONS.into_iter().chain(FurtherSources::NAMES) {
                add(found, source, &["stream"], because);
            }
            add(found, "lsm", &["streams"], because);
            add(found, "trace", &["streams"], because);
        }
        let handles = self.handles_of_host();
        if because.is_none() && self.device.fdp.is_on() {
            let of = if self.array.drives > 0 {
                "array.layout leaves as many of device.fdp.handles to the host"
            } else {
                "device.fdp.handles × groups"
            };
            let last = handles - 1;
            let because = format!(
                "there are streams 0 to {last}, and what names another is placed by the first ({of})"
            );
            let beyond = format!("beyond {handles}: {because}");
            if self.is_synthetic() {
                for (section, _) in self.synthetic().filter(|(_, source)| source.stream >= handles) {
                    add(found, section, &["stream"], &because);
                }
            } else if self.lsm.enabled && self.lsm.streams > handles {
                add(found, "lsm", &["streams"], &beyond);
            } else if !self.trace.file.is_empty() && self.trace.streams > handles {
                add(found, "trace", &["streams"], &beyond);
            }
        }
        let names_one = match (self.is_synthetic(), self.lsm.enabled) {
            (true, _) => self.synthetic().any(|(_, source)| source.stream > 0),
            (_, true) => self.lsm.streams > 1,
            _ if !self.trace.file.is_empty() => self.trace.streams > 1 && self.trace.disk.is_empty(),
            // A job of fio may name one.
            _ => !self.fio.file.is_empty(),
        };
        let (has_array, has_server) = (self.array.drives > 0, self.kv.enabled);
        let is_placed = self.places_writes();
        let because = match (has_array, self.array.layout) {
            (true, LayoutKind::Raid0) if !names_one && !is_placed => {
                Some("raid0 writes nothing but data, which names no handle (array.layout)")
            }
            _ if has_array || has_server || names_one || is_placed => None,
            _ => Some(
                "no write names a stream but the first: set workload.stream, beside.stream, lsm.streams, \
                 trace.streams or placement.policy",
            ),
        };
        if let Some(because) = because {
            // A handle that nothing names takes an open superblock all the same.
            add(found, "device.fdp", &["isolation"], because);
        }
        if has_array || has_server || !names_one {
            let because = "no write names a stream but the first: set workload.stream, beside.stream, \
                           lsm.streams or trace.streams, without an array and a server";
            add(found, "device.ftl", &["streams"], because);
        }
        if let Some(because) = self.placement_is_idle() {
            add(found, "placement", &["policy"], because);
        }
    }

    /// Classes of requests that nothing distinguishes.
    fn add_idle_classes(&self, found: &mut Vec<Ineffective>) {
        let (schedule, preempt) = (&self.device.schedule, &self.device.preempt);
        let because = match (self.array.drives, self.array.layout) {
            (0, _) => Some("a drive serves writes and trims of all classes alike"),
            (_, LayoutKind::Epochs) => {
                Some("the array writes in its epochs, all classes alike (array.layout)")
            }
            _ => None,
        };
        if let Some(because) = because {
            for source in SECTIONS.into_iter().chain(FurtherSources::NAMES) {
                add(found, source, &["write_class"], because);
            }
            let classes = &["compaction_write_class", "flush_class", "log_class"];
            add(found, "lsm", classes, because);
        }
        let (class, key) = self.most_urgent_reads();
        // Reads of classes 1 and 2 are committed to their chip when they arrive, whatever the scheduler.
        let is_urgent = class <= 2 || schedule.classes == Classes::Inferred;
        let is_used = schedule.chip != ChipPolicy::Fifo || preempt.is_on() || preempt.predicts_reads();
        if !is_used && !is_urgent {
            let because = "reads of all classes wait in one line: set device.schedule.chip = \
                           \"reads-first\", device.preempt.program or device.preempt.erase";
            add(found, "device.schedule", &["classes"], because);
        }
        if schedule.classes == Classes::Told && class > 2 && !self.kv.enabled {
            let because = format!(
                "only reads that may preempt are expected, and those of class {class} wait: set {key} = 2"
            );
            add(found, "device.preempt", &["time_erases"], &because);
        }
        let is_split = self.synthetic().any(|(_, source)| source.read_class != self.workload.read_class);
        if schedule.classes != Classes::Told && !is_split {
            let because = format!("device.schedule.classes is \"{}\": set it to \"told\"", schedule.classes);
            for source in SECTIONS.into_iter().chain(FurtherSources::NAMES) {
                add(found, source, &["read_class"], &because);
            }
        }
    }
}
