//! Prints what a simulated drive does under SSD-iq's random writes, beside what was measured on a real one.
//!
//! ```text
//! cargo run --release -p tailcut-study --example real_drive -- DRIVE.toml OFFERED SECONDS \
//!     [--warm-up SECONDS] [--seed N] [--client MICROSECONDS] [--measured random-writes.csv --drive s0]
//! ```
//!
//! DRIVE.toml has the keys of a scenario's `[device]`; OFFERED are requests per second.

#![allow(clippy::disallowed_types, reason = "a measurement in real time")]

use std::error::Error;
use std::time::Instant;
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::keys::{self, KeyValue};
use tailcut_study::drives::{
    Load, MeasuredRow, Measurement, PERCENTILES, RandomWrites, RequestRate, TestRun, rows,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1))
    };
    let [file, offered, seconds, ..] = &arguments[..] else {
        return Err("usage: real_drive DRIVE.toml OFFERED SECONDS [--warm-up SECONDS] [--seed N] [--client MICROSECONDS] [--measured CSV --drive ID]".into());
    };
    let mut scenario = Scenario::default();
    let settings = settings(&std::fs::read_to_string(file)?.parse()?);
    let values: Vec<(&str, KeyValue<'_>)> =
        settings.iter().map(|(key, value)| (key.as_str(), KeyValue::Text(value))).collect();
    keys::set(&mut scenario, &values)?;
    let number = |name: &str| option(name).map(|text| text.parse::<f64>()).transpose();
    let base = TestRun::default();
    let test = TestRun {
        measured: Nanos((seconds.parse::<f64>()? * 1e9) as u64),
        warm_up: number("--warm-up")?.map_or(base.warm_up, |seconds| Nanos((seconds * 1e9) as u64)),
        seed: option("--seed").map_or(Ok(base.seed), |seed| seed.parse())?,
        client_cost: number("--client")?.map_or(base.client_cost, |micros| Nanos((micros * 1e3) as u64)),
        ..base
    };
    let load = Load::RandomWrites(RandomWrites { offered: RequestRate(offered.parse()?) });
    let measured = match option("--measured").zip(option("--drive")) {
        Some((file, drive)) => {
            let all = rows::measured(&std::fs::read_to_string(file)?)?;
            all.into_iter().find(|row| row.drive == *drive && row.load == load)
        }
        None => None,
    };
    let started = Instant::now();
    let found = load.run(&scenario.device, &test, &|| false)?;
    print(&found, measured.as_ref());
    let seconds = started.elapsed().as_secs_f64();
    let per_million = seconds / (found.simulated as f64 / 1e6);
    println!(
        "\n{} requests in {seconds:.1} s: {per_million:.2} s per million, preparation included",
        found.simulated
    );
    Ok(())
}

/// The keys of a document with their values as texts.
fn settings(document: &toml::Table) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    flatten("", document, &mut settings);
    settings
}

fn flatten(path: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (name, value) in table {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            toml::Value::Table(below) => flatten(&key, below, settings),
            toml::Value::String(text) => settings.push((key, text.clone())),
            toml::Value::Array(list) => {
                let texts: Vec<String> =
                    list.iter().map(|one| one.as_str().map_or(one.to_string(), str::to_owned)).collect();
                settings.push((key, texts.join(",")));
            }
            other => settings.push((key, other.to_string())),
        }
    }
}

fn print(found: &Measurement, measured: Option<&MeasuredRow>) {
    println!(
        "{:<10}{:>12}{:>12}{:>8}{:>12}{:>12}{:>8}",
        "us", "reads", "measured", "ratio", "writes", "measured", "ratio"
    );
    for (index, percentile) in PERCENTILES.iter().enumerate() {
        let side = |ours: f64, theirs: Option<f64>| match theirs {
            Some(theirs) => format!("{ours:>12.1}{theirs:>12.1}{:>8.2}", ours / theirs),
            None => format!("{ours:>12.1}{:>12}{:>8}", "-", "-"),
        };
        let theirs = |micros: fn(&MeasuredRow) -> &[Option<f64>; PERCENTILES.len()]| {
            measured.and_then(|row| micros(row)[index])
        };
        println!(
            "{:<10}{}{}",
            percentile.name,
            side(found.reads.micros[index], theirs(|row| &row.reads)),
            side(found.writes.micros[index], theirs(|row| &row.writes))
        );
    }
    let rate = |theirs: Option<f64>| theirs.map_or(String::new(), |rate| format!(" (measured {rate:.0})"));
    println!("reads/s  {:.0}{}", found.reads_per_s, rate(measured.and_then(|row| row.reads_per_s)));
    println!("writes/s {:.0}{}", found.writes_per_s, rate(measured.and_then(|row| row.writes_per_s)));
    println!(
        "requests behind the percentiles: {} reads, {} writes",
        found.reads.requests, found.writes.requests
    );
    if let Some(amplification) = found.write_amplification {
        println!("write amplification {amplification:.3}");
    }
}
