//! The command line of `tailcut import`.

use clap::Subcommand;
use std::path::PathBuf;

/// `tailcut import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Translate a device and a workload of MQSim into a scenario
    ///
    /// Every parameter is translated, or listed with its effect in MQSim: on standard error, and as comments
    /// of the scenario. The scenario does what MQSim (commit 7ec40e3) does, where that differs from the name
    /// of a parameter as well.
    Mqsim {
        /// Device: MQSim's file after -i, such as ssdconfig.xml
        #[arg(value_name = "SSDCONFIG")]
        device: PathBuf,
        /// Workload: MQSim's file after -w, such as workload.xml
        #[arg(value_name = "WORKLOAD")]
        workload: PathBuf,
        /// Which IO_Scenario of the workload, counted from 1
        #[arg(long, value_name = "N", default_value_t = 1)]
        scenario: usize,
        /// File to write; default: standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Write the scenario of a fio job file: the one that 'run --fio' runs
    Fio {
        /// The job file
        #[arg(value_name = "JOBFILE")]
        job: PathBuf,
        /// File to write; default: standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Translate the drive of a FEMU command line into a scenario
    ///
    /// The drive is the first '-device femu,…' in black-box mode (femu_mode=1); everything else on the line
    /// is about the virtual machine and is left out.
    Femu {
        /// The command line in quotes, or its '-device femu,…' alone
        #[arg(value_name = "LINE", allow_hyphen_values = true)]
        line: String,
        /// File to write; default: standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print the 'tailcut serve kv' command with the effect of memcached's flags
    Memcached {
        /// The flags in memcached's own words, such as -m 1024 -o ext_path=/data/file:64G
        #[arg(num_args = 0.., value_name = "FLAGS", allow_hyphen_values = true, trailing_var_arg = true)]
        flags: Vec<String>,
    },
}
