//! `--run`: a command that a server runs as its client, and with which it ends.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;
use tailcut_rt::serve::Address;

/// A command that runs beside the server.
#[derive(Debug)]
pub(super) struct Captive {
    id: u32,
    /// It has ended by itself, which stops the server.
    has_ended: Arc<AtomicBool>,
    waits: JoinHandle<io::Result<ExitStatus>>,
}

impl Captive {
    /// Starts a command of the shell, to which `$uri` is the export, `$unixsocket` the socket of a server
    /// that has one, and `$exportname` the name, as nbdkit has them. When it ends, the server is asked to
    /// stop.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub(super) fn start(
        command: &str,
        address: &Address,
        export: &str,
        interrupt: &Interrupt,
    ) -> Result<Captive, Failure> {
        let cannot = |error: io::Error| Failure::Operation(format!("--run: cannot start a shell: {error}"));
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("uri", address.uri(export)).env("exportname", export);
        if let Address::Unix(path) = address {
            shell.env("unixsocket", path);
        }
        // What it starts ends with it.
        let mut child = shell.process_group(0).spawn().map_err(cannot)?;
        let (id, interrupt, has_ended) = (child.id(), interrupt.clone(), Arc::new(AtomicBool::new(false)));
        let noted = Arc::clone(&has_ended);
        let wait = move || {
            let status = child.wait();
            noted.store(true, Ordering::Release);
            interrupt.stop();
            status
        };
        let waits = Builder::new().name("run".into()).spawn(wait).map_err(cannot)?;
        Ok(Captive { id, has_ended, waits })
    }

    /// Ends the command and what it has started, if it still runs: by SIGTERM, and after five seconds by
    /// SIGKILL.
    ///
    /// # Errors
    /// How it ended, if it was by itself and not with success.
    pub(super) fn end(self) -> Result<(), Failure> {
        let signal = |signal| {
            if let Some(group) = i32::try_from(self.id).ok().and_then(Pid::from_raw) {
                // One that ended meanwhile needs no signal.
                let _ = kill_process_group(group, signal);
            }
        };
        let is_ended_here = !self.has_ended.load(Ordering::Acquire);
        if is_ended_here {
            signal(Signal::TERM);
            for _ in 0..PATIENCE.as_millis() / GLANCE.as_millis() {
                if self.has_ended.load(Ordering::Acquire) {
                    break;
                }
                sleep(GLANCE);
            }
            signal(Signal::KILL);
        }
        match self.waits.join().expect("waiting does not panic") {
            Ok(status) if status.success() || is_ended_here => Ok(()),
            Ok(status) => Err(Failure::Operation(format!("--run: the command ended with {status}"))),
            Err(error) => Err(Failure::Operation(format!("--run: {error}"))),
        }
    }
}

/// How long a command may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often that is looked at.
const GLANCE: Duration = Duration::from_millis(10);
