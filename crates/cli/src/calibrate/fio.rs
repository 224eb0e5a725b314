//! Measurements of a drive of one's own: the JSON output of fio (`--output-format=json`, fio 3; "JSON output"
//! in its manual, <https://fio.readthedocs.io>).
//!
//! A job is a row: random requests of 4 KiB at a fixed depth (`rw=randread`, `randwrite` or `randrw` with
//! `rwmixread`; `bs=4k`; `iodepth` times `numjobs` in flight, reported together with `group_reporting`).
//! Latencies are the percentiles of `lat_ns` where fio was asked for them (`lat_percentiles=1`), else of
//! `clat_ns`; `percentile_list` should have 50 to 99.99. Jobs whose names begin with `prepare` are no rows:
//! those of `tailcut probe --fio-jobs`.

use crate::probe::PREPARES;
use serde_json::Value;
use tailcut_base::BadValue;
use tailcut_study::drives::rows::LEAST_BEYOND;
use tailcut_study::drives::{Load, MeasuredRow, Mix, PERCENTILES};

/// The rows of a file, or everything that is wrong with it, a line for each.
pub(super) fn rows(text: &str) -> Result<Vec<MeasuredRow>, Vec<String>> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| vec![format!("this is no JSON: {error}")])?;
    let Some(jobs) = document["jobs"].as_array().filter(|jobs| !jobs.is_empty()) else {
        return Err(vec!["there are no jobs; write it with fio --output-format=json".into()]);
    };
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or("?");
        if name.starts_with(PREPARES) {
            continue;
        }
        match row(job, &document["global options"]) {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(format!("job '{name}': {error}")),
        }
    }
    if rows.is_empty() && errors.is_empty() {
        errors.push("there are only jobs that prepare a drive, and none that measures it".into());
    }
    if errors.is_empty() { Ok(rows) } else { Err(errors) }
}

fn row(job: &Value, global: &Value) -> Result<MeasuredRow, BadValue> {
    let option = |name: &str| job["job options"][name].as_str().or_else(|| global[name].as_str());
    if let Some(error) = job["error"].as_i64().filter(|&error| error != 0) {
        return Err(BadValue::new(format!("it failed with error {error}; repeat it, or leave it out")));
    }
    let is_direct = option("direct") == Some("1") || option("buffered") == Some("0");
    if !is_direct && option("ioengine").is_none_or(|engine| CACHED.contains(&engine)) {
        return Err(BadValue::new("it measured the page cache and not the drive; add direct=1"));
    }
    let number = |name: &str, default: u32| match option(name) {
        None => Ok(default),
        Some(text) => {
            text.parse::<u32>().map_err(|_| BadValue::new(format!("{name}={text} is not a whole number")))
        }
    };
    let reads_percent = match option("rw").or_else(|| option("readwrite")) {
        Some("randread") => 100,
        Some("randwrite") => 0,
        Some("randrw") => number("rwmixread", 50)?,
        other => {
            let rw = other.unwrap_or("read");
            return Err(BadValue::new(format!(
                "rw={rw}; only randread, randwrite and randrw can be compared"
            )));
        }
    };
    match option("bs").or_else(|| option("blocksize")) {
        None | Some("4k" | "4K" | "4096" | "4KiB" | "4ki") => {}
        Some(size) => return Err(BadValue::new(format!("bs={size}; only requests of 4k can be compared"))),
    }
    if let Some(rate) = option("rate_iops").or_else(|| option("rate")) {
        return Err(BadValue::new(format!("a rate of {rate}; only jobs at a fixed depth can be compared")));
    }
    let load = Mix { reads_percent, depth: number("iodepth", 1)? * number("numjobs", 1)? };
    let rate = |kind: &str| job[kind]["iops"].as_f64();
    Ok(MeasuredRow {
        drive: String::new(),
        load: Load::Mix(load),
        reads: latencies(&job["read"])?,
        writes: latencies(&job["write"])?,
        reads_per_s: rate("read").filter(|_| reads_percent > 0),
        writes_per_s: rate("write").filter(|_| reads_percent < 100),
        write_amplification: None,
        filled_ppm: None,
    })
}

/// Engines of fio that go through the page cache unless told otherwise.
const CACHED: [&str; 7] = ["io_uring", "libaio", "posixaio", "psync", "pvsync", "pvsync2", "sync"];

/// The percentiles of one direction that enough requests lie beyond, in microseconds.
fn latencies(direction: &Value) -> Result<[Option<f64>; PERCENTILES.len()], BadValue> {
    let requests = direction["total_ios"].as_u64().unwrap_or(0);
    if requests == 0 {
        return Ok(Default::default());
    }
    let of = ["lat_ns", "clat_ns"].into_iter().find(|kind| direction[kind]["percentile"].is_object());
    let of = of.ok_or_else(|| BadValue::new("there are no percentiles; leave clat_percentiles on"))?;
    Ok(PERCENTILES.map(|percentile| {
        let nanos = match percentile.percent {
            100.0 => direction[of]["max"].as_f64(),
            percent => direction[of]["percentile"][format!("{percent:.6}")].as_f64(),
        };
        nanos
            .filter(|_| percentile.requests_beyond(requests) >= LEAST_BEYOND || percentile.percent == 100.0)
            .map(|nanos| nanos / 1e3)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_study::drives::MEDIAN;

    fn output(rw: &str, bs: &str) -> String {
        format!(
            r#"{{"fio version": "fio-3.36",
                "global options": {{"bs": "{bs}", "iodepth": "16", "direct": "1"}}, "jobs": [{{
                "jobname": "mix", "job options": {{"rw": "{rw}", "rwmixread": "70", "numjobs": "2"}},
                "read": {{"iops": 70000.5, "total_ios": 20000, "clat_ns": {{"max": 2500000,
                    "percentile": {{"50.000000": 81000, "99.000000": 410000, "99.990000": 900000}}}}}},
                "write": {{"iops": 30000.0, "total_ios": 9000, "lat_ns": {{"max": 99000, "percentile": {{"50.000000": 13000}}}},
                    "clat_ns": {{"percentile": {{"50.000000": 11000}}}}}} }}]}}"#
        )
    }

    #[test]
    fn a_job_is_a_row() {
        let rows = rows(&output("randrw", "4k")).expect("good output");
        assert_eq!(rows[0].load, Load::Mix(Mix { reads_percent: 70, depth: 32 }));
        assert_eq!((rows[0].reads[MEDIAN], rows[0].reads[4]), (Some(81.0), Some(410.0)));
        assert_eq!(rows[0].reads[7], None, "two requests lie beyond p99.99");
        assert_eq!(rows[0].writes[MEDIAN], Some(13.0), "with submission where fio has it");
        assert_eq!((rows[0].reads_per_s, rows[0].writes_per_s), (Some(70_000.5), Some(30_000.0)));
    }

    #[test]
    fn jobs_that_cannot_be_compared_are_refused() {
        let error = |text: &str| rows(text).expect_err("bad output").join("\n");
        assert!(error(&output("read", "4k")).contains("job 'mix': rw=read; only randread"));
        assert!(error(&output("randrw", "128k")).contains("bs=128k; only requests of 4k"));
        assert!(error(&output("randrw", "4k").replace("direct", "odirect")).contains("add direct=1"));
        let failed = output("randrw", "4k").replace("\"jobname\"", "\"error\": 5, \"jobname\"");
        assert!(error(&failed).contains("it failed with error 5"));
        assert!(error(&output("write", "512k").replace("\"mix\"", "\"prepare-fill\"")).contains("only jobs"));
        assert!(error("{\"jobs\": []}").contains("--output-format=json"));
        assert!(error("drive,offered").contains("no JSON"));
    }
}
