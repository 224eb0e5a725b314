//! Requests of the kernel, for a drive that is a block device: they are processed like all others, but have
//! no connection.

use super::super::ublk::{Queue, errno};
use super::{Pending, Service, THE_KERNEL};
use crate::ctl::Steered;
use tailcut_base::{Class, Status, Time};
use tailcut_host::Bytes;
use tailcut_host::wire::nbd::{Command, Header, Incoming};

impl<D: Steered> Service<D> {
    /// Receives requests of the kernel. They need no admission, since their number and size are bounded by
    /// the parameters of the device.
    pub(super) fn receive_from_kernel(&mut self, now: Time) {
        let Some(queue) = &mut self.kernel else { return };
        queue.look_if_told();
        while let Some(queue) = &mut self.kernel
            && let Some(incoming) = queue.next(&mut self.pool)
        {
            self.take_from_kernel(incoming, now);
        }
        if self.kernel.as_ref().is_some_and(Queue::is_finished) {
            self.kernel = None;
        }
    }

    fn take_from_kernel(&mut self, incoming: Incoming, now: Time) {
        let Incoming { header, command, data } = incoming;
        match command {
            Ok(command) => {
                let pending = Pending { slot: THE_KERNEL, header, command, charge: 0, since: now };
                self.hand_in(pending, Class::DEFAULT, data);
            }
            Err(refusal) => {
                self.figures.refused += 1;
                // NBD error numbers are those of Linux.
                self.commit(&header, -(refusal.error as i32));
            }
        }
    }

    /// A request of the kernel has completed. Returns the bytes that it transferred.
    pub(super) fn finish_for_kernel(
        &mut self,
        header: &Header,
        command: Command,
        status: Status,
        data: Vec<Bytes>,
    ) -> u64 {
        let is_taken = |queue: &Queue| command != Command::Read || queue.fill(header.cookie, &data);
        let error = match errno(status) {
            None if self.kernel.as_ref().is_some_and(is_taken) => None,
            None => errno(Status::Gone),
            error => error,
        };
        self.commit(header, error.map_or(header.length as i32, |error| -error.raw_os_error()));
        self.pool.recycle(data);
        if error.is_none() { u64::from(header.length) } else { 0 }
    }

    fn commit(&mut self, header: &Header, result: i32) {
        let queue = self.kernel.as_mut().expect("a device stays until its requests are answered");
        queue.commit(header.cookie, result);
    }

    /// True if a request of the kernel is pending.
    pub(super) fn kernel_asks(&mut self) -> bool {
        self.kernel.as_mut().is_some_and(Queue::has_more)
    }

    /// Arms the kernel's queue to wake the service; false if a request is pending.
    pub(super) fn arm_for_kernel(&mut self) -> bool {
        self.kernel.as_mut().is_none_or(Queue::arm)
    }
}
