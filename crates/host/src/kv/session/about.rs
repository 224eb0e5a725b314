//! The server's `stats` output, with the names that memcached's tools expect (`protocol.txt`).

use super::clients::Tally;
use super::shard::ServiceSettings;
use super::statistics::Sums;
use crate::wire::memcached::{Stats, reply};

/// Server properties in `stats` that are not counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerProperties {
    pub unix: u64,
    pub tally: Tally,
    pub settings: ServiceSettings,
}

impl ServerProperties {
    /// Adds the clients of other threads.
    pub fn with(&self, elsewhere: &Tally) -> ServerProperties {
        let mut tally = self.tally;
        tally.clients += elsewhere.clients;
        tally.connections += elsewhere.connections;
        tally.bytes_read += elsewhere.bytes_read;
        tally.client_memory += elsewhere.client_memory;
        tally.most_client_memory += elsewhere.most_client_memory;
        ServerProperties { tally, ..*self }
    }

    /// Writes the reply to one of the `stats` commands.
    pub fn write_stats(
        &self,
        stats: Stats,
        sums: &Sums,
        tell_of_disk: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        match stats {
            Stats::General => {
                self.tell_all(sums, out);
                tell_of_disk(out);
            }
            Stats::Settings => self.tell_settings(sums, out),
            _ => {}
        }
        reply::end(out);
    }

    fn tell_all(&self, sums: &Sums, out: &mut Vec<u8>) {
        let (statistics, figures) = (&sums.statistics, &sums.engine);
        reply::stat_number(out, "pid", u64::from(self.settings.process));
        reply::stat_number(out, "uptime", self.unix - self.tally.started);
        reply::stat_number(out, "time", self.unix);
        reply::stat(out, "version", super::VERSION);
        reply::stat_number(out, "pointer_size", u64::from(usize::BITS));
        let (known, segments) = sums.recovered.unwrap_or_default();
        let lines: [(&str, u64); 44] = [
            ("curr_connections", self.tally.clients),
            ("total_connections", self.tally.connections),
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
            ("bytes_read", self.tally.bytes_read),
            ("limit_maxbytes", sums.memory),
            ("client_memory", self.tally.client_memory),
            ("client_memory_max", self.tally.most_client_memory),
            ("client_memory_limit", self.settings.most_client_memory(self.tally.threads as u32)),
            ("threads", self.tally.threads),
            ("hash_bytes", sums.index_bytes),
            ("curr_items", sums.items),
            ("total_items", figures.puts),
            ("evictions", figures.evicted),
            ("get_extstore", figures.hits_on_flash),
            ("extstore_objects_written", figures.moved_to_flash),
            ("extstore_bytes_written", figures.written),
            ("extstore_page_reclaims", figures.reclaimed),
            ("extstore_bytes_copied", figures.copied),
            ("badcrc_from_extstore", figures.damaged),
            ("flash_failed_reads", figures.failed_reads),
            ("flash_damaged_segments", figures.damaged_segments),
            ("flash_repaired", figures.repaired),
            ("recovering", u64::from(sums.recovered.is_some())),
            ("recovering_segments", u64::from(segments)),
            ("recovering_segments_known", u64::from(known)),
        ];
        lines.iter().for_each(|(name, value)| reply::stat_number(out, name, *value));
    }

    fn tell_settings(&self, sums: &Sums, out: &mut Vec<u8>) {
        reply::stat_number(out, "maxbytes", sums.memory);
        reply::stat_number(out, "item_size_max", self.settings.most_item);
        reply::stat(out, "evictions", if sums.keeps_everything { "off" } else { "on" });
        reply::stat(out, "binding_protocol", "ascii");
        reply::stat(out, "durable", if self.settings.is_durable { "yes" } else { "no" });
    }
}
