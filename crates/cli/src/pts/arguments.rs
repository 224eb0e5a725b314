//! The command line of `tailcut pts`.

use crate::scenario::nearest::{enumerate, nearest};
use crate::value_parsers::positive_time;
use clap::Args;
use std::path::PathBuf;
use tailcut_base::Nanos;
use tailcut_base::quantity::parse_bytes;
use tailcut_host::BLOCK_BYTES;
use tailcut_pts::{Form, Settings, Test};

/// `tailcut pts`.
#[derive(Debug, Args)]
pub struct PtsArguments {
    /// Tests: iops, tp, lat, wsat, hir, xsr, cbw (or ecw), dirth, or all; default: iops, tp, lat and wsat
    #[arg(value_name = "TEST", value_parser = tests)]
    pub tests: Vec<Tests>,
    /// Test as a client drive: write cache enabled, 75 % of the addresses, 2 threads with 16 I/Os each
    #[arg(long, conflicts_with = "enterprise")]
    pub client: bool,
    /// Test as an enterprise drive (default): write cache disabled, all addresses, 4 threads with 32 I/Os
    /// each
    #[arg(long)]
    pub enterprise: bool,
    /// Scenario (TOML) with the drive to simulate; default: the built-in one
    #[arg(long, value_name = "SCENARIO.toml", conflicts_with = "device")]
    pub scenario: Option<PathBuf>,
    /// Override a scenario key, such as device.preset=g-1g
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with = "device")]
    pub sets: Vec<String>,
    /// Emulate the drive in real time instead of simulating it in virtual time
    #[arg(long, conflicts_with = "device")]
    pub real_time: bool,
    /// Test this file or block device; its content is lost
    #[arg(long, value_name = "PATH")]
    pub device: Option<PathBuf>,
    /// Allow the test to destroy the content of the device
    #[arg(long, requires = "device")]
    pub destroy_data: bool,
    /// Run a short, non-conforming form: a minute lasts 50ms, long series are cut to a sixtieth, and 64MiB
    /// are used (1GiB in virtual time)
    #[arg(long)]
    pub quick: bool,
    /// Length of a minute, such as 1s; other than 60s does not conform
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub minute: Option<Nanos>,
    /// Use only this much of the drive from its start, such as 4GiB; less than all does not conform
    #[arg(long, value_name = "SIZE", value_parser = range)]
    pub range: Option<u64>,
    /// Stop after this many rounds without a steady state
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000), default_value_t = Settings::ROUNDS)]
    pub rounds: u32,
    /// Seed of addresses and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Compare the results with a file: JSON of 'tailcut pts', or CSV with the columns test, case, quantity,
    /// unit, value
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Write the results as JSON to a file, updated during the tests, or with '-' to standard output instead
    /// of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the results as CSV to a file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// One test, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tests(Vec<Test>);

/// The tests that run by default: those of every report.
const USUAL: [Test; 4] = [Test::Iops, Test::Throughput, Test::Latency, Test::WriteSaturation];

impl PtsArguments {
    /// A test of the built-in scenario's drive in virtual time, of which nothing is written to files.
    pub fn simulated(test: Test, quick: bool, seed: u64) -> PtsArguments {
        PtsArguments {
            tests: vec![Tests(vec![test])],
            client: false,
            enterprise: false,
            scenario: None,
            sets: Vec::new(),
            real_time: false,
            device: None,
            destroy_data: false,
            quick,
            minute: None,
            range: None,
            rounds: Settings::ROUNDS,
            seed,
            against: None,
            json: None,
            csv: None,
            quiet: false,
        }
    }

    /// The tests in the order in which they were named, each once.
    pub fn tests(&self) -> Vec<Test> {
        let mut tests = Vec::new();
        for &test in self.tests.iter().flat_map(|Tests(tests)| tests) {
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
        if tests.is_empty() { USUAL.to_vec() } else { tests }
    }

    /// The device class whose form of the tests is run; enterprise unless `--client` is given.
    pub fn form(&self) -> Form {
        if self.client { Form::Client } else { Form::Enterprise }
    }

    /// The number of bytes used of a drive of `capacity` bytes.
    pub fn range(&self, capacity: u64) -> u64 {
        let is_real = self.real_time || self.device.is_some();
        let usual = match (self.quick, is_real) {
            (false, _) => capacity,
            (true, true) => QUICK_RANGE,
            (true, false) => QUICK_VIRTUAL_RANGE,
        };
        self.range.unwrap_or(usual).min(capacity)
    }

    /// The test settings for a drive of `capacity` bytes.
    pub fn settings(&self, capacity: u64) -> Settings {
        let (form, range) = (self.form(), self.range(capacity));
        let settings = match self.quick {
            true => Settings::quick(form, range),
            false => Settings::conforming(form, range),
        };
        Settings { minute: self.minute.unwrap_or(settings.minute), rounds: self.rounds, ..settings }
    }
}

/// Bytes that a short form uses, in real time and in virtual time, where they cost less.
const QUICK_RANGE: u64 = 64 << 20;
const QUICK_VIRTUAL_RANGE: u64 = 1 << 30;

fn tests(text: &str) -> Result<Tests, String> {
    let mut names: Vec<&str> = Test::ALL.iter().map(|test| test.name()).collect();
    names.extend(["ecw", "all"]);
    match text {
        "all" => return Ok(Tests(Test::ALL.to_vec())),
        "ecw" => return Ok(Tests(vec![Test::CompositeBlockSize])),
        _ => {}
    }
    if let Some(&test) = Test::ALL.iter().find(|test| test.name() == text) {
        return Ok(Tests(vec![test]));
    }
    let meant =
        nearest(text, names.iter().copied()).map_or(String::new(), |near| format!("did you mean '{near}'? "));
    Err(format!("{meant}the tests are {}", enumerate(&names)))
}

fn range(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|bad| bad.message)?;
    // Large enough for an I/O of 1 MiB at either form.
    let is_enough = bytes >= 2 << 20 && bytes.is_multiple_of(BLOCK_BYTES);
    if is_enough {
        Ok(bytes)
    } else {
        Err(String::from("write a multiple of 4KiB from 2MiB on, such as 4GiB"))
    }
}

#[cfg(test)]
mod tests_of_names {
    use super::*;

    #[test]
    fn tests_are_named_as_the_specification_does() {
        assert_eq!(tests("ecw"), tests("cbw"));
        assert_eq!(tests("all").map(|Tests(all)| all.len()), Ok(8));
        assert!(tests("wsta").is_err_and(|why| why.contains("did you mean 'wsat'")));
        assert!(range("1MiB").is_err() && range("2MiB").is_ok() && range("3000000B").is_err());
    }
}
