//! Help of the commands that simulate.

use super::{CommandHelp, RUNS};

/// Exit codes of a command that translates files.
const TRANSLATES: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "results could not be written"),
    ("2", "invalid arguments or input; nothing was written"),
];

/// `tailcut` and the commands around runs, comparisons and studies.
pub(super) const ALL: &[CommandHelp] = &[
    CommandHelp {
        path: "",
        examples: &[
            ("Replay a trace on another drive", "tailcut run --trace trace.csv --set device.preset=tlc-nvme"),
            (
                "Attribute the slowest 0.01 % to their causes",
                "tailcut explain tailcut-out --percentile 99.99",
            ),
            ("Serve memcached clients from DRAM and flash", "tailcut serve kv"),
        ],
        exit_status: RUNS,
        files: &[("tailcut-out/", "the results of the built-in scenario; see 'tailcut run --help'")],
        see_also: &["run", "explain", "compare", "advise", "serve block", "serve kv"],
    },
    CommandHelp {
        path: "run",
        examples: &[
            (
                "Simulate another drive, reads first",
                "tailcut run --set device.preset=tlc-nvme \\\n      --set device.schedule.chip=reads-first",
            ),
            ("Replay a trace and write a page with charts", "tailcut run --trace trace.csv --html run.html"),
            ("Run a fio job file", "tailcut run --fio jobs.fio"),
            ("List the settings about erases", "tailcut run --keys erase"),
            ("Print the whole scenario as a file to edit", "tailcut run --resolved > mine.toml"),
        ],
        exit_status: RUNS,
        files: &[
            ("tailcut-out/report.json", "the report and the scenario"),
            ("tailcut-out/scenario.toml", "the scenario, ready to be run again"),
            ("tailcut-out/curve.csv", "the latency curve"),
            ("tailcut-out/slowest.csv", "the slowest requests, span by span"),
            ("tailcut-out/attribution.csv", "causes by latency"),
            ("tailcut-out/elapsed.txt", "wall-clock time of the run in seconds"),
        ],
        see_also: &["explain", "compare", "report", "generate keys"],
    },
    CommandHelp {
        path: "explain",
        examples: &[
            ("Attribute the slowest 0.01 % of requests", "tailcut explain tailcut-out --percentile 99.99"),
            ("Attribute the slowest 1 % of writes", "tailcut explain tailcut-out --kind write"),
            ("Follow one request through the drive", "tailcut explain tailcut-out --request 56233"),
            (
                "Export 10 ms for https://ui.perfetto.dev",
                "tailcut explain tailcut-out --perfetto slow.json --from 1.5s",
            ),
        ],
        exit_status: RUNS,
        files: &[("tailcut-out/report.json", "the run, as 'tailcut run' writes it")],
        see_also: &["run", "report"],
    },
    CommandHelp {
        path: "compare",
        examples: &[
            ("Compare two loads", "tailcut compare --vary workload.rate=20000,40000"),
            (
                "Measure a technique under two mixes, against the noise of three seeds",
                "tailcut compare --seeds 3 --vary workload.read=70%,90% \\\n      \
                 --on-off reads-first=device.schedule.chip=reads-first",
            ),
            (
                "Rank by write amplification and show lifetimes",
                "tailcut compare --vary device.gc.victim=greedy,fifo --by waf --show life",
            ),
            ("List the points without running them", "tailcut compare --grid grid.toml --dry-run"),
        ],
        exit_status: RUNS,
        files: &[
            ("tailcut-compare/compare.json", "ranking and effects"),
            ("tailcut-compare/compare.csv", "one line for each point"),
            ("tailcut-compare/points.jsonl", "finished runs; the next comparison reuses them"),
        ],
        see_also: &["run", "advise", "report"],
    },
    CommandHelp {
        path: "advise",
        examples: &[
            (
                "Find the cheapest configuration for a latency and a rate",
                "tailcut advise --promise \"p99(read) < 500us, iops >= 60k\"",
            ),
            (
                "Choose between two drives, tolerating the loss of one",
                "tailcut advise --promise \"p99.99(read) < 1ms, life >= 3y\" --survive \\\n      \
                 --drive tlc-nvme --drive qlc-nvme",
            ),
        ],
        exit_status: &[
            ("0", "a configuration keeps the promise"),
            ("1", "no evaluated configuration keeps it, or results could not be written"),
            ("2", "invalid arguments or input; nothing was run"),
            ("130", "interrupted by SIGINT or SIGTERM, after the results so far were printed"),
        ],
        files: &[
            ("tailcut-advise/advise.toml", "the advised scenario, for 'tailcut run'"),
            ("tailcut-advise/advise.json", "every configuration that was evaluated"),
            ("tailcut-advise/points.jsonl", "finished runs; the next search reuses them"),
        ],
        see_also: &["size", "compare", "run"],
    },
    CommandHelp {
        path: "study",
        examples: &[
            ("List the studies", "tailcut study list"),
            ("Reproduce one figure", "tailcut study run sprinkler-10"),
        ],
        see_also: &["run", "report"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "study list",
        examples: &[("List the studies", "tailcut study list")],
        see_also: &["study run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "study run",
        examples: &[
            ("Reproduce one figure in its quick form", "tailcut study run shin-5.4 --quick"),
            ("Reproduce all and write a page with charts", "tailcut study run --all --html studies.html"),
            ("Test the built-in drive as SNIA specifies", "tailcut study run pts-iops"),
            (
                "Predict real drives at the points of a file",
                "tailcut study run real-drives --points points.csv --json rows.json",
            ),
        ],
        exit_status: &[
            ("0", "success"),
            ("1", "a failure, or a claim of a paper that fails without an explanation"),
            ("2", "invalid arguments or input; nothing was run"),
            ("130", "interrupted by SIGINT or SIGTERM, after finished studies were printed"),
        ],
        see_also: &["study list", "study show", "report"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "study show",
        examples: &[
            ("List the runs of a study", "tailcut study show sprinkler-10"),
            ("Print one run as a scenario", "tailcut study show sprinkler-10 --case LABEL > run.toml"),
        ],
        see_also: &["study run", "run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "report",
        examples: &[
            ("Make a page of the last run", "tailcut report tailcut-out"),
            ("Draw the picture of the tail", "tailcut report tailcut-out --svg tail"),
            ("Make a page of a server's history", "tailcut report history.jsonl --html server.html"),
            ("List the papers' claims", "tailcut report rows.json --markdown claims.md"),
        ],
        files: &[
            ("report.html, report.json", "the page and its data, in the folder of the results"),
            ("tail-read.svg", "a chart as a picture, in the same folder"),
        ],
        see_also: &["run", "compare", "study run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "trace",
        examples: &[
            ("Characterise a trace", "tailcut trace info trace.csv"),
            ("Convert a trace for fio", "tailcut trace convert trace.csv out.log --to fio3"),
        ],
        see_also: &["run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "trace info",
        examples: &[
            ("Characterise a trace", "tailcut trace info trace.csv"),
            (
                "Read an SPC trace and skip damaged lines",
                "tailcut trace info trace.csv --from spc --skip-bad-lines",
            ),
        ],
        exit_status: RUNS,
        see_also: &["trace convert", "run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "trace convert",
        examples: &[("Convert a trace for fio", "tailcut trace convert trace.csv out.log --to fio3")],
        exit_status: RUNS,
        see_also: &["trace info", "run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "import",
        examples: &[
            (
                "Run what MQSim runs",
                "tailcut import mqsim ssdconfig.xml workload.xml -o s.toml\n    tailcut run s.toml",
            ),
            ("Translate memcached's flags", "tailcut import memcached -m 1024 -t 4"),
        ],
        see_also: &["run", "serve kv"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "import mqsim",
        examples: &[
            (
                "Translate the first scenario and run it",
                "tailcut import mqsim ssdconfig.xml workload.xml -o s.toml\n    tailcut run s.toml",
            ),
            (
                "Translate the third",
                "tailcut import mqsim ssdconfig.xml workload.xml --scenario 3 -o s3.toml",
            ),
        ],
        exit_status: TRANSLATES,
        see_also: &["run", "compare"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "import fio",
        examples: &[("Write the scenario of a job file", "tailcut import fio jobs.fio -o s.toml")],
        exit_status: TRANSLATES,
        see_also: &["run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "import femu",
        examples: &[(
            "Translate the drive of a command line",
            "tailcut import femu '-device femu,devsz_mb=12288,femu_mode=1' -o s.toml",
        )],
        exit_status: TRANSLATES,
        see_also: &["run", "serve block"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "import memcached",
        examples: &[(
            "Translate a cache with a flash tier",
            "tailcut import memcached -m 1024 -o ext_path=/data/file:64G",
        )],
        exit_status: TRANSLATES,
        see_also: &["serve kv"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "size",
        examples: &[
            (
                "Saturate a network with SATA drives that are 60 % full",
                "tailcut size --network 10GB/s --drive swan-sata --fill 60%",
            ),
            (
                "With a parity drive per group",
                "tailcut size --network 5GB/s --drive swan-sata --fill 80% --raid 4",
            ),
        ],
        see_also: &["advise", "run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "torture",
        examples: &[
            ("Run seeds for a minute", "tailcut torture --time 60s"),
            ("Run 1000 seeds of one layout", "tailcut torture --subject raid5 --seeds 1000"),
            ("Run one seed again", "tailcut torture --subject kv --seed 42"),
            ("Cut the power at every event of a plan", "tailcut torture --plan plan.txt --every-step"),
        ],
        exit_status: &[
            ("0", "no violation was found"),
            ("1", "a violation was found, or results could not be written"),
            ("2", "invalid arguments or input; nothing was run"),
            ("130", "interrupted by SIGINT or SIGTERM, after the results so far were printed"),
        ],
        see_also: &["serve block", "serve kv"],
        ..CommandHelp::NONE
    },
];
