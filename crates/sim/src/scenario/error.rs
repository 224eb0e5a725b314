//! Why a scenario cannot run.

use tailcut_base::{BadValue, Problem, Time};
use tailcut_workload::fio::FioErrors;
use tailcut_workload::trace::TraceError;

/// Why a scenario cannot run.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The fio job file cannot be read.
    #[error("{file}: {error}")]
    FioFile {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The fio job file has errors.
    #[error(transparent)]
    Fio(#[from] FioErrors),
    /// The limits of the run do not bound it: key and message of each problem.
    #[error("the run has no end")]
    Run(Vec<Problem>),
    /// The synthetic workload does not fit the device: key and message of each problem.
    #[error("the workload does not fit the device")]
    Workload(Vec<Problem>),
    /// A source beside it, by the name of its section, does not fit the device: key and message of each
    /// problem.
    #[error("the source beside the workload does not fit the device")]
    Beside(&'static str, Vec<Problem>),
    /// The data-centre workload does not fit the device: key and message of each problem.
    #[error("the data-centre workload does not fit the device")]
    Datacenter(Vec<Problem>),
    /// The store does not fit the device: key and message of each problem.
    #[error("the store does not fit the device")]
    Lsm(Vec<Problem>),
    /// The array does not fit its drives: key and message of each problem.
    #[error("the array does not fit its drives")]
    Array(Vec<Problem>),
    /// The key-value server does not fit its storage: key and message of each problem.
    #[error("the key-value server does not fit its storage")]
    Kv(Vec<Problem>),
    /// There is no memory for the drives: path of the key to change, and message.
    #[error("the drives do not fit into memory")]
    Memory(Vec<Problem>),
    /// The drive cannot be prepared as asked: too many blocks were bad from the factory.
    #[error(transparent)]
    Drive(BadValue),
    /// Requests are due later than the clock of a run goes.
    #[error(
        "{name}: its last request is due after {due}, beyond the {horizon} that a run of this drive can \
         last; lower trace.stretch_ppm, replay with trace.timing = \"closed\", or set run.duration"
    )]
    BeyondHorizon {
        /// The source.
        name: String,
        /// When its last request is due.
        due: Time,
        /// The latest moment that a run can hold.
        horizon: Time,
    },
}

impl InputError {
    /// The whole message: with every problem, where there are several.
    pub fn in_full(&self) -> String {
        let problems = match self {
            InputError::Run(problems)
            | InputError::Workload(problems)
            | InputError::Beside(_, problems)
            | InputError::Datacenter(problems)
            | InputError::Lsm(problems)
            | InputError::Array(problems)
            | InputError::Memory(problems)
            | InputError::Kv(problems) => problems,
            _ => return self.to_string(),
        };
        let each: Vec<String> = problems.iter().map(|p| format!("{}: {}", p.key, p.message)).collect();
        format!("{self}: {}", each.join("; "))
    }
}
