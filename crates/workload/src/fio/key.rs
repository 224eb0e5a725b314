//! The keys that fio knows, and what becomes of each here. After fio's HOWTO.

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It is followed; the name is the one that [`super::options`] uses.
    Followed(&'static str),
    /// It does not matter here, for this reason.
    Ignored(&'static str),
    /// It would change the load and cannot be followed; what to do instead.
    Refused(&'static str),
}

/// What becomes of `key`; `None` when fio does not know it either.
pub(super) fn treatment(key: &str) -> Option<Treatment> {
    if let Some(names) = FOLLOWED.iter().find(|names| names.contains(&key)) {
        return Some(Treatment::Followed(names[0]));
    }
    let of = |table: &'static [(&'static str, &'static [&'static str])]| {
        table.iter().find(|(_, keys)| keys.contains(&key)).map(|(text, _)| *text)
    };
    of(IGNORED).map(Treatment::Ignored).or_else(|| of(REFUSED).map(Treatment::Refused))
}

/// The known key that is most like `key`, when one is close.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    // A long text is no misspelt key, and would be slow to compare.
    if key.len() > 40 {
        return None;
    }
    let followed = FOLLOWED.iter().flat_map(|names| names.iter());
    let others = IGNORED.iter().chain(REFUSED).flat_map(|(_, keys)| keys.iter());
    let (distance, name) = followed.chain(others).map(|name| (distance(key, name), *name)).min()?;
    (distance <= 1 + key.len() / 4).then_some(name)
}

/// How many letters must be changed, added or dropped (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Each with its other spellings; the first is ours.
const FOLLOWED: &[&[&str]] = &[
    &["rw", "readwrite"],
    &["rw_sequencer"],
    &["rwmixread"],
    &["rwmixwrite"],
    &["bs", "blocksize"],
    &["bssplit"],
    &["bsrange", "blocksize_range"],
    &["ba", "blockalign"],
    &["bs_unaligned", "blocksize_unaligned"],
    &["kb_base"],
    &["iodepth"],
    &["ioengine"],
    &["numjobs"],
    &["size"],
    &["offset"],
    &["offset_increment"],
    &["io_size", "io_limit"],
    &["number_ios"],
    &["loops"],
    &["random_distribution"],
    &["percentage_random"],
    &["norandommap"],
    &["randommap"],
    &["rate"],
    &["rate_iops"],
    &["rate_process"],
    &["thinktime"],
    &["thinktime_blocks"],
    &["runtime", "timeout"],
    &["time_based"],
    &["ramp_time"],
    &["startdelay", "start_delay"],
    &["stonewall", "wait_for_previous"],
    &["fsync"],
    &["fdatasync"],
    &["sync"],
    &["direct"],
    &["buffered"],
    &["filename"],
    &["nrfiles"],
    &["fdp"],
    &["dataplacement"],
    &["plids", "fdp_pli"],
    &["plid_select", "fdp_pli_select"],
];

const IGNORED: &[(&str, &[&str])] = &[
    (
        "it says how fio reports; this program reports in its own way",
        &[
            "description",
            "name",
            "group_reporting",
            "new_group",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "disable_bw_measurement",
            "gtod_reduce",
            "gtod_cpu",
            "clocksource",
            "percentile_list",
            "lat_percentiles",
            "clat_percentiles",
            "slat_percentiles",
            "significant_figures",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "per_job_logs",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_offset",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_entries",
            "log_prio",
            "bwavgtime",
            "iopsavgtime",
            "unified_rw_reporting",
            "disk_util",
            "unit_base",
            "stats",
            "unlink_each_loop",
            "status_interval",
            "thread_stats",
            "json_stats",
            "block_error_percentiles",
            "error_dump",
        ],
    ),
    (
        "it fixes fio's random numbers; here the seed of the run does",
        &["randrepeat", "allrandrepeat", "randseed", "use_os_rand", "random_generator", "softrandommap"],
    ),
    (
        "it is about the host's files, processes or memory, which are not part of the simulated load",
        &[
            "thread",
            "invalidate",
            "directory",
            "filename_format",
            "lockfile",
            "create_serialize",
            "create_fsync",
            "create_on_open",
            "create_only",
            "fallocate",
            "fadvise_hint",
            "fadvise",
            "overwrite",
            "unlink",
            "mem",
            "iomem",
            "iomem_align",
            "mem_align",
            "hugepage-size",
            "hugepage_size",
            "lockmem",
            "nice",
            "cpus_allowed",
            "cpus_allowed_policy",
            "cpumask",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "uid",
            "gid",
            "exec_prerun",
            "exec_postrun",
            "ioscheduler",
            "cgroup",
            "cgroup_weight",
            "cgroup_nodelete",
            "allow_mounted_write",
            "allow_file_create",
            "pre_read",
            "size_hint",
            "opendir",
            "unique_filename",
            "mem_prefault",
            "end_fsync",
            "fsync_on_close",
            "write_hint",
            "fdp_verbose",
        ],
    ),
    (
        "it is about what the blocks contain, which changes no timing here",
        &[
            "zero_buffers",
            "refill_buffers",
            "scramble_buffers",
            "buffer_pattern",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "dedupe_percentage",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
        ],
    ),
    (
        "every read is checked here anyway; fio's additional reads of what was written are not issued",
        &[
            "verify",
            "do_verify",
            "verifysort",
            "verifysort_nr",
            "verify_offset",
            "verify_interval",
            "verify_pattern",
            "verify_pattern_interval",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_only",
            "verify_state_save",
            "verify_state_load",
            "verify_write_sequence",
            "verify_header_seed",
            "experimental_verify",
            "continue_on_error",
            "ignore_error",
            "trim_verify_zero",
        ],
    ),
    (
        "it is about how fio hands requests to the kernel; only the depth matters here",
        &[
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "io_submit_mode",
            "serialize_overlap",
            "hipri",
            "hipri_percentage",
            "registerfiles",
            "fixedbufs",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
            "uncached",
            "nowait",
            "force_async",
            "userspace_reap",
            "readfua",
            "thinktime_spin",
            "rate_ignore_thinktime",
            "rate_cycle",
            "ratecycle",
            "rate_min",
            "ratemin",
            "rate_iops_min",
            "prio",
            "prioclass",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
            "cmd_type",
            "md_per_io_size",
            "job_start_clock_id",
            "exitall_on_error",
            "max_latency",
        ],
    ),
];

const REFUSED: &[(&str, &[&str])] = &[
    (
        "is not supported; replay the log as a trace instead",
        &[
            "read_iolog",
            "replay_no_stall",
            "replay_redirect",
            "replay_scale",
            "replay_align",
            "replay_skip",
            "replay_time_scale",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
            "read_iolog_chunked",
            "write_iolog",
        ],
    ),
    (
        "is not supported: there is one device and no files; use size and offset",
        &[
            "openfiles",
            "filesize",
            "file_append",
            "file_service_type",
            "fill_device",
            "fill_fs",
            "filetype",
            "filecreate",
            "sync_file_range",
            "write_barrier",
            "offset_align",
        ],
    ),
    (
        "is not supported: zoned devices are not simulated; leave it out",
        &[
            "zonemode",
            "zonesize",
            "zonerange",
            "zoneskip",
            "zonecapacity",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
            "recover_zbd_write_error",
        ],
    ),
    (
        "is not supported: a load that changes with its own result; state a rate or a depth",
        &[
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
            "steadystate",
            "ss",
            "steadystate_duration",
            "ss_dur",
            "steadystate_ramp_time",
            "ss_ramp",
            "steadystate_check_interval",
            "exitall",
            "exit_what",
        ],
    ),
    (
        "is not supported; leave it out, or order jobs with stonewall and startdelay",
        &["wait_for", "flow", "flow_watermark", "flow_sleep", "flow_id"],
    ),
    (
        "is not supported; leave it out",
        &[
            "thinktime_blocks_type",
            "thinktime_iotime",
            "trim_percentage",
            "trim_backlog",
            "trim_backlog_batch",
            "bs_is_seq_rand",
            "sprandom",
            "num_range",
            "cpuload",
            "cpuchunks",
            "cpumode",
            "profile",
            "inject_slow",
            "dp_scheme",
            "atomic",
            "write_mode",
            "verify_mode",
            "deac",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_stands_in_one_place_only() {
        let mut keys: Vec<&str> = FOLLOWED.iter().flat_map(|n| n.iter().copied()).collect();
        keys.extend(IGNORED.iter().chain(REFUSED).flat_map(|(_, keys)| keys.iter().copied()));
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn misspelt_keys_find_their_neighbour() {
        assert_eq!(nearest("io_depth"), Some("iodepth"));
        assert_eq!(nearest("block_size"), Some("blocksize"));
        assert_eq!(nearest("rwmixreads"), Some("rwmixread"));
        assert_eq!(nearest("entirely_different_thing"), None);
    }
}
