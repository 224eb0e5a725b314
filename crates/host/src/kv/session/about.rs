//! What a server tells of itself, under the names that memcached's tools expect (`protocol.txt`).

use super::service::ServiceSettings;
use super::statistics::Statistics;
use crate::kv::{Engine, Keep};
use crate::wire::memcached::{Stats, reply};

/// What `stats` tells beside what is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub unix: u64,
    pub started: u64,
    pub clients: u64,
    pub connections: u64,
    pub settings: ServiceSettings,
}

impl About {
    /// Answers one of the `stats` commands.
    pub fn tell(&self, stats: Stats, statistics: &Statistics, engine: &Engine, out: &mut Vec<u8>) {
        match stats {
            Stats::General => self.tell_all(statistics, engine, out),
            Stats::Settings => self.tell_settings(engine, out),
            _ => {}
        }
        reply::end(out);
    }

    fn tell_all(&self, statistics: &Statistics, engine: &Engine, out: &mut Vec<u8>) {
        let figures = engine.figures();
        reply::stat_number(out, "pid", u64::from(self.settings.process));
        reply::stat_number(out, "uptime", self.unix - self.started);
        reply::stat_number(out, "time", self.unix);
        reply::stat(out, "version", super::VERSION);
        reply::stat_number(out, "pointer_size", u64::from(usize::BITS));
        let recovered = engine.recovered();
        let (known, segments) = recovered.unwrap_or_default();
        let lines: [(&str, u64); 37] = [
            ("curr_connections", self.clients),
            ("total_connections", self.connections),
            ("cmd_get", statistics.cmd_get),
            ("cmd_set", statistics.cmd_set),
            ("cmd_flush", statistics.cmd_flush),
            ("cmd_touch", statistics.cmd_touch),
            ("get_hits", statistics.get_hits),
            ("get_misses", statistics.get_misses),
            ("get_expired", figures.expired),
            ("delete_misses", statistics.delete_misses),
            ("delete_hits", statistics.delete_hits),
            ("incr_misses", statistics.incr_misses),
            ("incr_hits", statistics.incr_hits),
            ("decr_misses", statistics.decr_misses),
            ("decr_hits", statistics.decr_hits),
            ("cas_misses", statistics.cas_misses),
            ("cas_hits", statistics.cas_hits),
            ("cas_badval", statistics.cas_badval),
            ("touch_hits", statistics.touch_hits),
            ("touch_misses", statistics.touch_misses),
            ("store_too_large", statistics.store_too_large),
            ("store_no_memory", statistics.store_no_memory),
            ("bytes_read", statistics.bytes_read),
            ("limit_maxbytes", engine.settings().memory),
            ("threads", 1),
            ("hash_bytes", engine.index_bytes()),
            ("curr_items", engine.items()),
            ("total_items", figures.puts),
            ("evictions", figures.evicted),
            ("get_extstore", figures.hits_on_flash),
            ("extstore_objects_written", figures.moved_to_flash),
            ("extstore_bytes_written", figures.written),
            ("extstore_page_reclaims", figures.reclaimed),
            ("extstore_bytes_copied", figures.copied),
            ("recovering", u64::from(recovered.is_some())),
            ("recovering_segments", u64::from(segments)),
            ("recovering_segments_known", u64::from(known)),
        ];
        lines.iter().for_each(|(name, value)| reply::stat_number(out, name, *value));
    }

    fn tell_settings(&self, engine: &Engine, out: &mut Vec<u8>) {
        reply::stat_number(out, "maxbytes", engine.settings().memory);
        reply::stat_number(out, "item_size_max", self.settings.most_item);
        let keeps = engine.settings().keep == Keep::Everything;
        reply::stat(out, "evictions", if keeps { "off" } else { "on" });
        reply::stat(out, "binding_protocol", "ascii");
        reply::stat(out, "durable", if self.settings.is_durable { "yes" } else { "no" });
    }
}
