//! Shin, figure 3.11: a key-value server that reads a record from flash for every request.
//!
//! The dissertation has Aerospike 2 on the machine of chapter 3, its index in memory and its records on six
//! raw drives behind direct I/O, and YCSB's gets from another machine over two 1 Gb/s links. Here a client of
//! YCSB is a thread of the server that takes a request, looks its key up, reads the record and answers, and
//! is idle while its client and the network have the turn. What it costs is below; no figure is the
//! dissertation's, which gives none.

use super::shin_host::{DRIVES, run, sata};
use super::{Basis, Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};

/// Figure 3.11: operations per second by number of clients.
pub(crate) struct KeyValue;

/// The work of a server's thread for a get, except reading, part by part in [`costs`](tailcut_sim::kv::costs)
/// (Arrakis).
const WORK: Nanos = tailcut_sim::kv::costs::GET;

/// From an answer to the client's next request at the server. A round trip of one small TCP message over
/// Gigabit Ethernet takes some 50 µs (assumed; it is mostly interrupt coalescing); the client's own time is
/// not known and left out.
const ROUND_TRIP: Nanos = Nanos::micros(50);

/// A record of YCSB: ten fields of 100 bytes (Cooper et al., SoCC 2010), which lie in two sectors or three:
/// with Aerospike's header mostly in three.
const RECORD_BYTES: u64 = 1536;

/// The dissertation's names, and its operations per second with 32 clients.
const PATHS: [(&str, &str, Option<f64>); 4] = [
    ("SCSI", "scsi", Some(110_000.0)),
    ("IRQ I/O", "coop", Some(119_000.0)),
    ("Poll I/O", "coop-poll", Some(101_000.0)),
    ("hybrid", "hybrid", None),
];

impl Study for KeyValue {
    fn id(&self) -> &'static str {
        "shin-3.11"
    }

    fn title(&self) -> &'static str {
        "a key-value server on six SATA drives: gets per second by clients"
    }

    fn source(&self) -> &'static str {
        "Shin 2017, section 3.4, figure 3.11"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let one = |&clients: &u32| {
            PATHS.map(|(_, s, _)| run(format!("{s}/{clients}"), server(options, s, clients)))
        };
        let mut runs: Vec<Run> = clients(options).iter().flat_map(one).collect();
        let mut seldom = server(options, "coop-poll", 32);
        seldom.host.poll_interval = SELDOM;
        runs.push(run(SELDOM_LABEL, seldom));
        runs
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let gets = |strategy: &str, clients: u32| find(done, &format!("{strategy}/{clients}")).iops();
        let mut rows = Vec::new();
        for (name, strategy, paper) in PATHS {
            for &clients in clients(options) {
                let row =
                    Row::new(format!("{name}, {clients} clients"), "gets", "1/s", gets(strategy, clients));
                rows.push(row.paper(paper.filter(|_| clients == 32)).explain(PEAK));
            }
        }
        for (clients, paper) in [(32, 1.07), (256, 2.08)] {
            let gain = gets("coop", clients) / gets("scsi", clients);
            let row = Row::new(format!("IRQ I/O / SCSI, {clients} clients"), "gets", "x", gain);
            rows.push(row.paper(paper).effect().explain(COLLAPSE));
        }
        let slower = |polling: f64| {
            Row::new("Poll I/O / SCSI, 32 clients", "gets", "x", polling / gets("scsi", 32))
                .paper(101.0 / 110.0)
                .effect()
                .basis(Basis::Derived, "101k over 110k")
                .explain(SELDOM_POLLED)
        };
        rows.push(slower(gets("coop-poll", 32)));
        rows.push(slower(find(done, SELDOM_LABEL).iops()).of_reading("polled every 512 µs"));
        let falls = ["SCSI, 32 clients", "SCSI, 256 clients"];
        rows.push(Row::order(&rows, "gets", &falls).explain(COLLAPSE));
        for (name, strategy, _) in PATHS {
            let kept = gets(strategy, 256) / gets(strategy, 32);
            rows.push(Row::new(format!("{name}, 256 clients / 32 clients"), "gets", "x", kept));
        }
        rows
    }
}

fn clients(options: &Options) -> &'static [u32] {
    if options.quick { &[32, 256] } else { &[8, 16, 32, 64, 128, 256] }
}

fn server(options: &Options, strategy: &str, clients: u32) -> Scenario {
    let mut scenario = sata(options, strategy, DRIVES, RECORD_BYTES);
    scenario.host.threads = clients;
    scenario.host.application = WORK;
    scenario.workload.depth = clients;
    scenario.workload.think = ROUND_TRIP;
    scenario.host.window_feedback = true;
    scenario
}

/// The longest interval of figure 3.10's study.
const SELDOM: Nanos = Nanos::micros(512);
const SELDOM_LABEL: &str = "coop-poll/32/512us";

const SELDOM_POLLED: &str = "\
How seldom the drives are polled decides, and the dissertation names no interval: threads poll as they \
pass, some six µs apart, so that the poll thread's interval matters from 256 µs on (1.02 at 256 µs, 0.94 at \
400, 0.61 at 512). A poll thread alone (host.strategy = \"poll\") has 0.97 at 16 µs and 0.91 at 32. Not the \
lower rate, which the dissertation gives as the reason: clients that pause for 150 µs, with SCSI at 109k, \
have 1.01. Figures of the full form.";
const PEAK: &str = "\
Of the dissertation's server only the sum is known. 32 clients at 119k gets have 269 µs for one, of which \
drive and path take some 125; the rest is network, server and client, and the client's machine, as busy as \
the server, is not modelled.";
const COLLAPSE: &str = "\
SCSI's cores are saturated with 256 clients and stay there: nothing in the model makes a request dearer when \
more threads wait. The dissertation's SCSI path degrades beyond 128 clients; it does not say by what, and \
with fio it keeps 354k reads at 128 threads.";
