//! `--run`: a command that a server runs as its client, and with which it ends.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::process::{Command, ExitStatus};
use std::thread::{Builder, JoinHandle};
use tailcut_rt::serve::Address;

/// A command that runs beside the server.
#[derive(Debug)]
pub(super) struct Captive {
    id: u32,
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
        let mut child = shell.spawn().map_err(cannot)?;
        let (id, interrupt) = (child.id(), interrupt.clone());
        let wait = move || {
            let status = child.wait();
            interrupt.stop();
            status
        };
        let waits = Builder::new().name("run".into()).spawn(wait).map_err(cannot)?;
        Ok(Captive { id, waits })
    }

    /// Ends the command if it still runs.
    ///
    /// # Errors
    /// How it ended, if it was not with success.
    pub(super) fn end(self) -> Result<(), Failure> {
        if !self.waits.is_finished()
            && let Some(id) = i32::try_from(self.id).ok().and_then(Pid::from_raw)
        {
            // One that ended meanwhile needs no signal.
            let _ = kill_process(id, Signal::TERM);
        }
        match self.waits.join().expect("waiting does not panic") {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::Operation(format!("--run: the command ended with {status}"))),
            Err(error) => Err(Failure::Operation(format!("--run: {error}"))),
        }
    }
}
