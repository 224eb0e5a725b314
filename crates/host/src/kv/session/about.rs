//! The server's `stats` output, with the names that memcached's tools expect (`protocol.txt`).

use super::Group;
use super::clients::Tally;
use super::dispatch::ServerNews;
use super::shard::{Permissions, ServiceSettings};
use super::statistics::Sums;
use crate::kv::FlashUse;
use crate::wire::memcached::{Stats, reply};
use tailcut_base::cast::to_u32;

/// Server properties in `stats` that are not counters of shards.
#[derive(Debug)]
pub(super) struct ServerProperties<'a> {
    unix: u64,
    tally: Tally,
    settings: ServiceSettings,
    permissions: Permissions,
    /// Lines about the disk and the process.
    lines: &'a [u8],
}

impl<'a> ServerProperties<'a> {
    /// Of the server that has told this news.
    pub(super) fn new(group: &Group, news: &'a ServerNews) -> ServerProperties<'a> {
        let (elsewhere, lines) = news.read();
        let mut tally = group.tally();
        tally.add(elsewhere);
        let &Group { unix, settings, permissions, .. } = group;
        ServerProperties { unix, tally, settings, permissions, lines }
    }

    /// Writes the reply to one of the `stats` commands.
    pub(super) fn write_stats(&self, stats: Stats, sums: &Sums, out: &mut Vec<u8>) {
        match stats {
            Stats::General => {
                self.tell_all(sums, out);
                out.extend_from_slice(self.lines);
            }
            Stats::Connections => out.extend_from_slice(self.lines),
            Stats::Settings => self.tell_settings(sums, out),
            // As with memcached's defaults: it counts sizes only with an option.
            Stats::Sizes => reply::stat(out, "sizes_status", "disabled"),
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
        let sockets = &self.tally.sockets;
        let lines = [
            ("max_connections", sockets.most_connections),
            ("curr_connections", self.tally.clients),
            ("total_connections", self.tally.connections),
            ("rejected_connections", sockets.rejected),
            ("cmd_get", statistics.cmd_get),
            ("cmd_set", statistics.cmd_set),
            ("cmd_flush", statistics.cmd_flush),
            ("cmd_touch", statistics.cmd_touch),
            ("get_hits", statistics.get_hits),
            ("get_misses", statistics.get_misses),
            ("get_expired", figures.expired - sums.tiers.expired_evicted),
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
            ("auth_cmds", sockets.logins),
            ("auth_errors", sockets.wrong_logins),
            ("idle_kicks", sockets.idle),
            ("bytes_read", sockets.received),
            ("bytes_written", sockets.sent),
            ("limit_maxbytes", sums.memory),
            ("client_memory", self.tally.client_memory),
            ("client_memory_max", self.tally.most_client_memory),
            ("client_memory_limit", self.settings.most_client_memory(to_u32(self.tally.threads))),
            ("listen_disabled_num", sockets.accept_pauses),
            ("conn_yields", sockets.yields),
            ("threads", self.tally.threads),
            ("hash_bytes", sums.index_bytes),
            ("bytes", sums.memory_used),
            ("curr_items", sums.items),
            ("total_items", figures.puts),
            ("evictions", figures.evicted),
            ("evicted_unfetched", sums.tiers.evicted_unfetched),
            ("reclaimed", sums.tiers.expired_evicted),
            ("expired_unfetched", sums.tiers.expired_unfetched),
            ("get_extstore", figures.hits_on_flash),
            ("miss_from_extstore", figures.strangers),
            ("badcrc_from_extstore", figures.damaged),
            ("flash_failed_reads", figures.failed_reads),
            ("flash_damaged_segments", figures.damaged_segments),
            ("flash_repaired", figures.repaired),
            ("recovering", u64::from(sums.recovered.is_some())),
            ("recovering_segments", u64::from(segments)),
            ("recovering_segments_known", u64::from(known)),
        ];
        lines.iter().for_each(|(name, value)| reply::stat_number(out, name, *value));
        if let Some(flash) = &sums.flash {
            Self::tell_flash(flash, sums, out);
        }
    }

    /// The flash tier, with the names of memcached's flash tier. Its pages are our segments.
    fn tell_flash(flash: &FlashUse, sums: &Sums, out: &mut Vec<u8>) {
        let figures = &sums.engine;
        let lines = [
            ("extstore_page_reclaims", figures.reclaimed),
            ("extstore_pages_free", flash.free_segments),
            ("extstore_pages_used", flash.used_segments),
            ("extstore_objects_evicted", sums.tiers.evicted_on_flash),
            ("extstore_objects_read", figures.hits_on_flash),
            ("extstore_objects_written", figures.moved_to_flash),
            ("extstore_objects_used", flash.items),
            ("extstore_bytes_written", figures.written),
            ("extstore_bytes_read", sums.tiers.read_bytes),
            ("extstore_bytes_copied", figures.copied),
            ("extstore_bytes_used", flash.used_segments * flash.segment_bytes),
            ("flash_refused_size", sums.tiers.refused_small),
            ("flash_refused_ttl", sums.tiers.refused_expiring),
            ("flash_refused_write_budget", sums.tiers.refused_over_budget),
            ("extstore_limit_maxbytes", (flash.free_segments + flash.used_segments) * flash.segment_bytes),
        ];
        lines.iter().for_each(|(name, value)| reply::stat_number(out, name, *value));
    }

    fn tell_settings(&self, sums: &Sums, out: &mut Vec<u8>) {
        reply::stat_number(out, "maxbytes", sums.memory);
        reply::stat_number(out, "maxconns", self.tally.sockets.most_connections);
        reply::stat_number(out, "num_threads", self.tally.threads);
        reply::stat_number(out, "item_size_max", self.settings.most_item);
        reply::stat(out, "evictions", if sums.keeps_everything { "off" } else { "on" });
        reply::stat(out, "binding_protocol", "ascii");
        let yes = |is_so: bool| if is_so { "yes" } else { "no" };
        reply::stat(out, "cas_enabled", yes(self.permissions.cas));
        reply::stat(out, "flush_enabled", yes(self.permissions.flush_all));
        reply::stat(out, "shutdown_command", yes(self.permissions.shutdown));
        reply::stat(out, "durable", yes(self.settings.is_durable));
    }
}
