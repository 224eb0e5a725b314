//! Help of the commands that measure drives, servers and this machine, and of `tailcut generate`.

use super::{ANY, CommandHelp, RUNS};

/// The commands that measure, and `tailcut generate`.
pub(super) const ALL: &[CommandHelp] = &[
    CommandHelp {
        path: "probe",
        examples: &[
            ("Measure a drive, only reading", "tailcut probe /dev/nvme0n1"),
            ("Derive a simulated drive and run it", "tailcut probe /dev/nvme0n1 --preset mine.toml"),
            ("Measure writes too; the data is lost", "tailcut probe /dev/nvme1n1 --destroy-data"),
            ("Check the method on a known drive", "tailcut probe --simulated tlc-nvme --quick"),
            ("Let fio measure it for calibrate", "tailcut probe /dev/nvme1n1 --fio-jobs mine.fio"),
        ],
        exit_status: RUNS,
        see_also: &["calibrate", "pts", "run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "calibrate",
        examples: &[
            (
                "Fit a drive and run it",
                "tailcut calibrate measured.csv -o mine.toml && tailcut run mine.toml",
            ),
            (
                "Fit one of several drives, with its data sheet",
                "tailcut calibrate rows.csv --data-sheet sheets.csv --drive s0 --minutes 30",
            ),
            ("Fit a drive to jobs of fio", "tailcut calibrate fio-output.json --quick"),
        ],
        exit_status: &[
            ("0", "success"),
            ("1", "failure during the search, or results that could not be written"),
            ("2", "invalid arguments or input; nothing was run"),
            ("130", "interrupted by SIGINT or SIGTERM; the same command continues"),
        ],
        files: &[
            ("drive.toml", "the fitted drive as a scenario, written when complete"),
            ("drive.toml.state.json", "the unfinished search; removed at its end"),
        ],
        see_also: &["probe", "study run", "run"],
    },
    CommandHelp {
        path: "pts",
        examples: &[
            ("Test a simulated drive in short form", "tailcut pts --quick --set device.preset=tlc-nvme"),
            (
                "Test a real drive; its data is lost",
                "tailcut pts iops lat --device /dev/nvme1n1 --destroy-data --json drive.json",
            ),
            (
                "Compare a simulated drive with that result",
                "tailcut pts iops lat --scenario mine.toml --against drive.json",
            ),
        ],
        exit_status: RUNS,
        see_also: &["probe", "study run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "bench",
        examples: &[
            ("Measure the block server on tailcut.sock", "tailcut bench block"),
            ("Measure the key-value server on port 11211", "tailcut bench kv --load"),
        ],
        exit_status: RUNS,
        see_also: &["serve block", "serve kv"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "bench path",
        examples: &[
            ("Compare all strategies", "tailcut bench path --quick"),
            (
                "Measure one with 8 and 32 threads",
                "tailcut bench path --strategy coop-poll/idle --threads 8,32",
            ),
        ],
        exit_status: RUNS,
        see_also: &["run"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "bench block",
        examples: &[("Read from the server on tailcut.sock", "tailcut bench block --depth 128 --time 10s")],
        exit_status: RUNS,
        files: &[("tailcut.sock", "the server's unix socket")],
        see_also: &["serve block"],
    },
    CommandHelp {
        path: "bench kv",
        examples: &[
            ("Store all items, then measure", "tailcut bench kv --load --clients 8 --depth 16"),
            ("Measure a server on a unix socket", "tailcut bench kv --unix kv.sock --gets 99"),
            (
                "Run a production load of CacheBench, misses stored",
                "tailcut bench kv --cachebench cdn/config.json --items 100000 --fill",
            ),
        ],
        exit_status: RUNS,
        see_also: &["serve kv"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "generate",
        examples: &[
            ("Print completions for bash", "tailcut generate completions bash"),
            ("Write the man pages of all commands", "tailcut generate man man1"),
        ],
        see_also: &["generate completions", "generate man", "generate keys"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "generate completions",
        examples: &[
            (
                "Install completions for bash",
                "tailcut generate completions bash > /etc/bash_completion.d/tailcut",
            ),
            (
                "Install completions for fish",
                "tailcut generate completions fish > ~/.config/fish/completions/tailcut.fish",
            ),
        ],
        see_also: &["generate man"],
        ..CommandHelp::NONE
    },
    CommandHelp {
        path: "generate man",
        examples: &[
            ("Install the man pages of all commands", "tailcut generate man ~/.local/share/man/man1"),
            ("Read the first page", "tailcut generate man | man -l -"),
        ],
        exit_status: ANY,
        files: &[("DIR/tailcut*.1", "the pages, one for each command")],
        see_also: &["generate completions"],
    },
    CommandHelp {
        path: "generate keys",
        examples: &[("Write the manual of scenario keys", "tailcut generate keys > keys.md")],
        see_also: &["run"],
        ..CommandHelp::NONE
    },
];
