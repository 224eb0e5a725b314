//! The control device of ublk.
//!
//! A command blocks its caller until the kernel has executed it.

use super::CannotAttach;
use super::standard::*;
use bytemuck::Pod;
use io_uring::squeue::Entry128;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The control device, and a ring to send it commands.
pub(super) struct Control {
    ring: IoUring<Entry128, cqueue::Entry>,
    file: File,
}

/// A command about a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Number of the command, one of `UBLK_U_CMD_…`.
    pub command: u32,
    /// Number of the device.
    pub number: u32,
    /// Data passed besides the buffer.
    pub data: u64,
}

impl Control {
    /// Opens the control device, and checks that its driver has the required features.
    pub(super) fn open(number: u32) -> Result<Control, CannotAttach> {
        let file = OpenOptions::new().read(true).write(true).open(CONTROL_PATH);
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::NotFound => CannotAttach::NoDriver,
            ErrorKind::PermissionDenied => CannotAttach::NotAllowed,
            _ => CannotAttach::System { what: "ask for", number, error },
        })?;
        let ring = IoUring::builder().build(ENTRIES);
        let ring = ring.map_err(|error| CannotAttach::System { what: "use io_uring for", number, error })?;
        let mut control = Control { ring, file };
        let mut features = 0u64;
        let asked =
            control.call(Call { command: UBLK_U_CMD_GET_FEATURES, number, data: 0 }, Some(&mut features));
        match asked {
            Ok(()) if features & NEEDED == NEEDED => Ok(control),
            Err(Errno::PERM | Errno::ACCESS) => Err(CannotAttach::NotAllowed),
            // A driver that does not know the command rejects it with one error or another.
            _ => Err(CannotAttach::TooOld),
        }
    }

    /// Executes a command, and waits for its completion. The driver reads and writes `buffer`.
    pub(super) fn call<T: Pod>(&mut self, call: Call, mut buffer: Option<&mut T>) -> Result<(), Errno> {
        loop {
            let (addr, len) = match &mut buffer {
                Some(buffer) => ((&raw mut **buffer) as u64, size_of::<T>() as u16),
                None => (0, 0),
            };
            self.push(call, addr, len);
            match self.wait() {
                // A command that waits in the kernel can be interrupted before it has any effect.
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    }

    /// Executes a command without a buffer, waiting for at most `patience`; None if it is not complete by
    /// then. The control device is not usable afterwards.
    pub(super) fn call_within(mut self, call: Call, patience: Duration) -> Option<Result<(), Errno>> {
        self.push(call, 0, 0);
        let time = Timespec::from(patience);
        let arguments = SubmitArgs::new().timespec(&time);
        // The completion shows whether the wait ended by timeout.
        let _ = self.ring.submitter().submit_with_args(1, &arguments);
        self.ring.completion().next().map(|completion| outcome(completion.result()))
    }

    fn push(&mut self, call: Call, addr: u64, len: u16) {
        let command = ublksrv_ctrl_cmd {
            dev_id: call.number,
            queue_id: u16::MAX,
            len,
            addr,
            data: [call.data],
            ..ublksrv_ctrl_cmd::default()
        };
        let mut bytes = [0; 80];
        bytes[..size_of::<ublksrv_ctrl_cmd>()].copy_from_slice(bytemuck::bytes_of(&command));
        let entry = opcode::UringCmd80::new(Fd(self.file.as_raw_fd()), call.command).cmd(bytes).build();
        // SAFETY: the file is open as long as the ring; the buffer, if there is one, is borrowed by `call`,
        // which does not return before the completion has been seen.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("one command is under way at a time");
    }

    /// Waits for the completion of the command despite signals: its buffer is lent to the kernel.
    fn wait(&mut self) -> Result<(), Errno> {
        loop {
            let waited = self.ring.submit_and_wait(1);
            if let Some(completion) = self.ring.completion().next() {
                return outcome(completion.result());
            }
            if let Err(error) = waited
                && error.kind() != ErrorKind::Interrupted
            {
                panic!("waiting for a command has failed: {error}");
            }
        }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Result of a completion.
pub(super) fn outcome(result: i32) -> Result<(), Errno> {
    if result < 0 { Err(Errno::from_raw_os_error(-result)) } else { Ok(()) }
}

/// An error of the driver as ours.
pub(super) fn wrong(what: &'static str, number: u32, error: Errno) -> CannotAttach {
    match error {
        Errno::PERM | Errno::ACCESS => CannotAttach::NotAllowed,
        error => CannotAttach::System { what, number, error: io::Error::from(error) },
    }
}

/// Features that the driver must have.
const NEEDED: u64 = UBLK_F_USER_COPY | UBLK_F_CMD_IOCTL_ENCODE;
const ENTRIES: u32 = 4;
