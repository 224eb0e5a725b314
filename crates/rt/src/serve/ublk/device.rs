//! A block device of this kernel, from creation to removal.

use super::control::{Call, Control, wrong};
use super::descriptor::{MOST_BYTES, MOST_TRIMMED};
use super::queue::Queue;
use super::standard::*;
use super::{CannotAttach, Shape};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::thread::sleep;
use std::time::Duration;
use tailcut_base::SECTOR_BYTES;
use tailcut_host::BLOCK_BYTES;

/// A device. Its requests are served by its [`Queue`], on another thread; dropping the device makes the
/// kernel write back its cache, removes the device and ends the queue.
#[derive(Debug)]
pub struct Device {
    number: u32,
    /// Taken by the last command.
    control: Option<Control>,
}

impl Device {
    /// Creates the device `number`, which is invisible until it is started. The queue belongs to the calling
    /// thread. A device left behind by a killed server is replaced.
    ///
    /// # Errors
    /// See [`CannotAttach`].
    pub fn attach(number: u32, shape: Shape) -> Result<(Device, Queue), CannotAttach> {
        let mut control = Control::open(number)?;
        clear(&mut control, number)?;
        let mut info = ublksrv_ctrl_dev_info {
            nr_hw_queues: 1,
            queue_depth: DEPTH,
            max_io_buf_bytes: MOST_BYTES,
            dev_id: number,
            flags: UBLK_F_USER_COPY | UBLK_F_CMD_IOCTL_ENCODE,
            ..ublksrv_ctrl_dev_info::default()
        };
        let failed = |error| wrong("make", number, error);
        control.call(call(UBLK_U_CMD_ADD_DEV, number), Some(&mut info)).map_err(failed)?;
        // From here on an error removes the device.
        let mut device = Device { number, control: Some(control) };
        let mut parameters = parameters(&shape);
        device.call(UBLK_U_CMD_SET_PARAMS, Some(&mut parameters), 0).map_err(failed)?;
        let queue = Queue::open(number, DEPTH, &shape)?;
        Ok((device, queue))
    }

    /// Makes the device visible. Its queue must be served meanwhile: the kernel reads the partition table.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(&mut self) -> Result<(), CannotAttach> {
        let process = u64::from(std::process::id());
        let started = self.call::<u64>(UBLK_U_CMD_START_DEV, None, process);
        started.map_err(|error| wrong("start", self.number, error))
    }

    fn call<T: bytemuck::Pod>(
        &mut self,
        command: u32,
        buffer: Option<&mut T>,
        data: u64,
    ) -> Result<(), Errno> {
        let control = self.control.as_mut().expect("only the end takes it");
        control.call(Call { command, number: self.number, data }, buffer)
    }
}

impl Drop for Device {
    /// Takes as long as the kernel needs to write back its cache. Users that have the device mounted or open
    /// find it gone; its number is free once they have closed it as well.
    fn drop(&mut self) {
        // Stopping a device that is gone already fails, which is harmless.
        let _ = self.call::<u64>(UBLK_U_CMD_STOP_DEV, None, 0);
        if let Some(control) = self.control.take() {
            let _ = control.call_within(call(UBLK_U_CMD_DEL_DEV, self.number), PATIENCE);
        }
    }
}

fn call(command: u32, number: u32) -> Call {
    Call { command, number, data: 0 }
}

/// Removes a device left behind by a server that has exited.
fn clear(control: &mut Control, number: u32) -> Result<(), CannotAttach> {
    let mut info = ublksrv_ctrl_dev_info::default();
    match control.call(call(UBLK_U_CMD_GET_DEV_INFO, number), Some(&mut info)) {
        Err(Errno::NODEV) => return Ok(()),
        found => found.map_err(|error| wrong("ask for", number, error))?,
    }
    if !is_abandoned(number) {
        return Err(CannotAttach::Taken(number));
    }
    let removed = Control::open(number)?.call_within(call(UBLK_U_CMD_DEL_DEV, number), PATIENCE);
    match removed {
        None => Err(CannotAttach::InUse(number)),
        Some(Ok(()) | Err(Errno::NODEV)) => Ok(()),
        Some(Err(error)) => Err(wrong("replace", number, error)),
    }
}

/// True if no server runs the device: its character device can be open only once, and is not. The kernel
/// closes the files of a killed server in the background, so this retries for a moment.
fn is_abandoned(number: u32) -> bool {
    for _ in 0..LOOKS {
        match open(number) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => sleep(BETWEEN_LOOKS),
            _ => return true,
        }
    }
    false
}

/// Opens the character device of a block device.
pub(super) fn open(number: u32) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/dev/ublkc{number}"))
}

/// Parameters of a drive for the kernel: blocks of 4 KiB, and no preferred request size, as for NBD clients.
fn parameters(shape: &Shape) -> ublk_params {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let attrs = flag(shape.is_read_only, UBLK_ATTR_READ_ONLY)
        | flag(shape.volatile_cache, UBLK_ATTR_VOLATILE_CACHE | UBLK_ATTR_FUA);
    let shift = BLOCK_BYTES.trailing_zeros() as u8;
    let sectors = |bytes: u32| bytes / SECTOR_BYTES as u32;
    ublk_params {
        len: size_of::<ublk_params>() as u32,
        types: UBLK_PARAM_TYPE_BASIC | UBLK_PARAM_TYPE_DISCARD,
        basic: ublk_param_basic {
            attrs,
            logical_bs_shift: shift,
            physical_bs_shift: shift,
            io_opt_shift: shift,
            io_min_shift: shift,
            max_sectors: sectors(MOST_BYTES),
            chunk_sectors: 0,
            dev_sectors: shape.bytes / SECTOR_BYTES,
            virt_boundary_mask: 0,
        },
        discard: ublk_param_discard {
            discard_granularity: BLOCK_BYTES as u32,
            max_discard_sectors: sectors(MOST_TRIMMED),
            max_write_zeroes_sectors: sectors(MOST_TRIMMED),
            max_discard_segments: 1,
            ..ublk_param_discard::default()
        },
        pad: 0,
    }
}

/// Queue depth of the only queue, since there is one thread: with the maximum bytes of each request that is
/// 64 MiB of data in flight.
const DEPTH: u16 = 128;
/// How long to wait for the removal of a device. It is immediate unless the device is open elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);
/// Number of checks whether a device is abandoned, and the interval between them: a second in all.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_told_what_a_drive_is_like() {
        let shape = Shape { bytes: 3 << 30, is_read_only: false, volatile_cache: true };
        let told = parameters(&shape);
        assert_eq!((told.len, told.types), (64, 0b11));
        let basic = told.basic;
        let shifts =
            [basic.logical_bs_shift, basic.physical_bs_shift, basic.io_opt_shift, basic.io_min_shift];
        assert_eq!((basic.attrs, shifts), (0b1100, [12; 4]));
        assert_eq!((basic.dev_sectors, basic.max_sectors), (6 << 20, 1024));
        let discard = told.discard;
        assert_eq!((discard.discard_granularity, discard.max_discard_segments), (4096, 1));
        assert_eq!((discard.max_discard_sectors, discard.max_write_zeroes_sectors), (2 << 20, 2 << 20));

        let plain = Shape { is_read_only: true, volatile_cache: false, ..shape };
        assert_eq!(parameters(&plain).basic.attrs, 0b0001);
    }
}
