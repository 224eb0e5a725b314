//! Numbers and structures of ublk, under the names of `include/uapi/linux/ublk_cmd.h` (Linux 6.5 to 6.12).
//! Only what is used here.

use bytemuck::{Pod, Zeroable};

/// The control device, for all commands but the requests themselves.
pub const CONTROL_PATH: &str = "/dev/ublk-control";

/// Returns the information on an existing device.
pub const UBLK_U_CMD_GET_DEV_INFO: u32 = command(READ, 0x02, size_of::<ublksrv_ctrl_cmd>());
/// Creates `/dev/ublkcN`.
pub const UBLK_U_CMD_ADD_DEV: u32 = command(READ | WRITE, 0x04, size_of::<ublksrv_ctrl_cmd>());
/// Removes `/dev/ublkcN`.
pub const UBLK_U_CMD_DEL_DEV: u32 = command(READ | WRITE, 0x05, size_of::<ublksrv_ctrl_cmd>());
/// Creates `/dev/ublkbN`.
pub const UBLK_U_CMD_START_DEV: u32 = command(READ | WRITE, 0x06, size_of::<ublksrv_ctrl_cmd>());
/// Removes `/dev/ublkbN`.
pub const UBLK_U_CMD_STOP_DEV: u32 = command(READ | WRITE, 0x07, size_of::<ublksrv_ctrl_cmd>());
/// Sets the parameters of a device.
pub const UBLK_U_CMD_SET_PARAMS: u32 = command(READ | WRITE, 0x08, size_of::<ublksrv_ctrl_cmd>());
/// Returns the features of the driver (since Linux 6.5).
pub const UBLK_U_CMD_GET_FEATURES: u32 = command(READ, 0x13, size_of::<ublksrv_ctrl_cmd>());

/// Fetches the first request of a tag.
pub const UBLK_U_IO_FETCH_REQ: u32 = command(READ | WRITE, 0x20, size_of::<ublksrv_io_cmd>());
/// Commits the result of a tag's request, and fetches the next one.
pub const UBLK_U_IO_COMMIT_AND_FETCH_REQ: u32 = command(READ | WRITE, 0x21, size_of::<ublksrv_io_cmd>());

/// A request has arrived.
pub const UBLK_IO_RES_OK: i32 = 0;
/// No more requests will arrive for this tag.
pub const UBLK_IO_RES_ABORT: i32 = -libc::ENODEV;

/// Offset of the descriptors of the first queue in `/dev/ublkcN`, for `mmap`.
pub const UBLKSRV_CMD_BUF_OFFSET: u64 = 0;
/// Offset of the data of requests in `/dev/ublkcN`, for reads and writes.
pub const UBLKSRV_IO_BUF_OFFSET: u64 = 0x8000_0000;
/// Logarithm of the distance in bytes between the data of consecutive tags.
pub const UBLK_TAG_OFF: u32 = 25;

/// Commands are numbered by the `_IO…` macros.
pub const UBLK_F_CMD_IOCTL_ENCODE: u64 = 1 << 6;
/// Data is copied by reads and writes of `/dev/ublkcN`.
pub const UBLK_F_USER_COPY: u64 = 1 << 7;

/// `/dev/ublkbN` does not exist.
pub const UBLK_S_DEV_DEAD: u16 = 0;

/// Read.
pub const UBLK_IO_OP_READ: u8 = 0;
/// Write.
pub const UBLK_IO_OP_WRITE: u8 = 1;
/// Make completed writes durable.
pub const UBLK_IO_OP_FLUSH: u8 = 2;
/// Discard.
pub const UBLK_IO_OP_DISCARD: u8 = 3;
/// Write zeros.
pub const UBLK_IO_OP_WRITE_ZEROES: u8 = 5;

/// Force unit access: durable when it completes.
pub const UBLK_IO_F_FUA: u32 = 1 << 13;
/// Written zeros must stay allocated.
pub const UBLK_IO_F_NOUNMAP: u32 = 1 << 15;

/// The device is read-only.
pub const UBLK_ATTR_READ_ONLY: u32 = 1 << 0;
/// The device has a volatile cache and needs flushes.
pub const UBLK_ATTR_VOLATILE_CACHE: u32 = 1 << 2;
/// The device supports force unit access.
pub const UBLK_ATTR_FUA: u32 = 1 << 3;

/// [`ublk_params::basic`] is valid.
pub const UBLK_PARAM_TYPE_BASIC: u32 = 1 << 0;
/// [`ublk_params::discard`] is valid.
pub const UBLK_PARAM_TYPE_DISCARD: u32 = 1 << 1;

/// A command to the control device, in its submission entry.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ublksrv_ctrl_cmd {
    /// Number of the device that the command is about.
    pub dev_id: u32,
    /// All ones if the command concerns no queue.
    pub queue_id: u16,
    /// Size of the command's buffer in bytes.
    pub len: u16,
    /// Address of the command's buffer.
    pub addr: u64,
    /// For a start: id of the serving process.
    pub data: [u64; 1],
    /// Length of the device's path, for devices of users other than root; 0 otherwise.
    pub dev_path_len: u16,
    /// Padding: must be zero.
    pub pad: u16,
    /// Reserved by the driver: must be zero.
    pub reserved: u32,
}

/// Information on a device.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ublksrv_ctrl_dev_info {
    /// Number of hardware queues of the device.
    pub nr_hw_queues: u16,
    /// Number of tags of each queue.
    pub queue_depth: u16,
    /// State of the device, one of `UBLK_S_DEV_…`.
    pub state: u16,
    /// Padding: zero.
    pub pad0: u16,
    /// Maximum number of bytes of one request.
    pub max_io_buf_bytes: u32,
    /// Number of the device.
    pub dev_id: u32,
    /// ID of the process that serves the device.
    pub ublksrv_pid: i32,
    /// Padding: zero.
    pub pad1: u32,
    /// Features of the device, a bit mask of `UBLK_F_…`.
    pub flags: u64,
    /// Free for the server: not used by the driver.
    pub ublksrv_flags: u64,
    /// User ID of the device's owner, filled in by the driver.
    pub owner_uid: u32,
    /// Group ID of the device's owner, filled in by the driver.
    pub owner_gid: u32,
    /// Reserved by the driver: zero.
    pub reserved1: u64,
    /// Reserved by the driver: zero.
    pub reserved2: u64,
}

/// Descriptor of a request; filled in by the driver.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ublksrv_io_desc {
    /// Operation (the low eight bits), and `UBLK_IO_F_…`.
    pub op_flags: u32,
    /// Length in sectors of 512 bytes.
    pub nr_sectors: u32,
    /// First sector of the request, of 512 bytes.
    pub start_sector: u64,
    /// Address of the request's data; not used with [`UBLK_F_USER_COPY`].
    pub addr: u64,
}

/// A command of a queue, in its submission entry.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ublksrv_io_cmd {
    /// Number of the queue.
    pub q_id: u16,
    /// Tag of the request within its queue.
    pub tag: u16,
    /// For a commit: bytes transferred, or a negative error.
    pub result: i32,
    /// Address of the request's data; zero with [`UBLK_F_USER_COPY`].
    pub addr: u64,
}

/// Basic parameters of a device.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ublk_param_basic {
    /// Attributes of the device, a bit mask of `UBLK_ATTR_…`.
    pub attrs: u32,
    /// Logarithm of the logical block size in bytes.
    pub logical_bs_shift: u8,
    /// Logarithm of the physical block size in bytes.
    pub physical_bs_shift: u8,
    /// Logarithm of the optimal I/O size in bytes.
    pub io_opt_shift: u8,
    /// Logarithm of the minimum efficient I/O size in bytes.
    pub io_min_shift: u8,
    /// Maximum number of sectors of a read or write.
    pub max_sectors: u32,
    /// Requests do not cross multiples of this, in sectors; 0 for no limit.
    pub chunk_sectors: u32,
    /// Size of the device in sectors of 512 bytes.
    pub dev_sectors: u64,
    /// Boundary mask of memory segments; 0 for none.
    pub virt_boundary_mask: u64,
}

/// Parameters of discards and of writes of zeros.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ublk_param_discard {
    /// Offset of the first discard unit in bytes.
    pub discard_alignment: u32,
    /// Size of a discard unit in bytes.
    pub discard_granularity: u32,
    /// Maximum number of sectors of a discard.
    pub max_discard_sectors: u32,
    /// Maximum number of sectors of a request that writes zeros.
    pub max_write_zeroes_sectors: u32,
    /// Maximum segments per discard; the driver supports 1.
    pub max_discard_segments: u16,
    /// Reserved by the driver: zero.
    pub reserved0: u16,
}

/// All parameters. The driver has more kinds after these, which are ignored unless `types` includes them.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ublk_params {
    /// Size of this structure in bytes.
    pub len: u32,
    /// Which of the parameters below are valid, a bit mask of `UBLK_PARAM_TYPE_…`.
    pub types: u32,
    /// Block sizes, limits and size of the device; always valid.
    pub basic: ublk_param_basic,
    /// Limits of discards and of writes of zeros; valid with [`UBLK_PARAM_TYPE_DISCARD`].
    pub discard: ublk_param_discard,
    /// Zero: fields that later versions have here are unused.
    pub pad: u32,
}

/// Marks structures as plain bytes for the driver.
macro_rules! bytes {
    ($($name:ident)*) => {$(
        // SAFETY: all fields are integers, for which zeros are valid.
        unsafe impl Zeroable for $name {}
        // SAFETY: all fields are integers, without padding between or after them (the tests add up their
        // sizes), and there are no pointers.
        unsafe impl Pod for $name {}
    )*};
}

bytes!(ublksrv_ctrl_cmd ublksrv_ctrl_dev_info ublksrv_io_desc ublksrv_io_cmd ublk_params);

/// A command number as by `_IOC` (`include/uapi/asm-generic/ioctl.h`), of type 'u'.
const fn command(direction: u32, number: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | (b'u' as u32) << 8 | number
}

const WRITE: u32 = 1;
const READ: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// Values that a C compiler computes from the header.
    #[test]
    fn structures_lie_in_memory_as_those_of_the_header() {
        assert_eq!(size_of::<ublksrv_ctrl_cmd>(), 32);
        assert_eq!(offset_of!(ublksrv_ctrl_cmd, queue_id), 4);
        assert_eq!(offset_of!(ublksrv_ctrl_cmd, len), 6);
        assert_eq!(offset_of!(ublksrv_ctrl_cmd, addr), 8);
        assert_eq!(offset_of!(ublksrv_ctrl_cmd, data), 16);

        assert_eq!(size_of::<ublksrv_ctrl_dev_info>(), 64);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, state), 4);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, max_io_buf_bytes), 8);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, dev_id), 12);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, ublksrv_pid), 16);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, flags), 24);
        assert_eq!(offset_of!(ublksrv_ctrl_dev_info, ublksrv_flags), 32);

        assert_eq!(size_of::<ublksrv_io_desc>(), 24);
        assert_eq!(offset_of!(ublksrv_io_desc, nr_sectors), 4);
        assert_eq!(offset_of!(ublksrv_io_desc, start_sector), 8);
        assert_eq!(offset_of!(ublksrv_io_desc, addr), 16);

        assert_eq!(size_of::<ublksrv_io_cmd>(), 16);
        assert_eq!(offset_of!(ublksrv_io_cmd, tag), 2);
        assert_eq!(offset_of!(ublksrv_io_cmd, result), 4);
        assert_eq!(offset_of!(ublksrv_io_cmd, addr), 8);
    }

    #[test]
    fn parameters_lie_in_memory_as_those_of_the_header() {
        assert_eq!(size_of::<ublk_param_basic>(), 32);
        assert_eq!(offset_of!(ublk_param_basic, logical_bs_shift), 4);
        assert_eq!(offset_of!(ublk_param_basic, max_sectors), 8);
        assert_eq!(offset_of!(ublk_param_basic, chunk_sectors), 12);
        assert_eq!(offset_of!(ublk_param_basic, dev_sectors), 16);
        assert_eq!(offset_of!(ublk_param_basic, virt_boundary_mask), 24);

        assert_eq!(size_of::<ublk_param_discard>(), 20);
        assert_eq!(offset_of!(ublk_param_discard, discard_granularity), 4);
        assert_eq!(offset_of!(ublk_param_discard, max_discard_sectors), 8);
        assert_eq!(offset_of!(ublk_param_discard, max_write_zeroes_sectors), 12);
        assert_eq!(offset_of!(ublk_param_discard, max_discard_segments), 16);

        assert_eq!(size_of::<ublk_params>(), 64);
        assert_eq!(offset_of!(ublk_params, types), 4);
        assert_eq!(offset_of!(ublk_params, basic), 8);
        assert_eq!(offset_of!(ublk_params, discard), 40);
    }

    #[test]
    fn commands_have_the_numbers_of_the_macros() {
        assert_eq!(UBLK_U_CMD_GET_DEV_INFO, 0x8020_7502);
        assert_eq!(UBLK_U_CMD_ADD_DEV, 0xc020_7504);
        assert_eq!(UBLK_U_CMD_DEL_DEV, 0xc020_7505);
        assert_eq!(UBLK_U_CMD_START_DEV, 0xc020_7506);
        assert_eq!(UBLK_U_CMD_STOP_DEV, 0xc020_7507);
        assert_eq!(UBLK_U_CMD_SET_PARAMS, 0xc020_7508);
        assert_eq!(UBLK_U_CMD_GET_FEATURES, 0x8020_7513);
        assert_eq!(UBLK_U_IO_FETCH_REQ, 0xc010_7520);
        assert_eq!(UBLK_U_IO_COMMIT_AND_FETCH_REQ, 0xc010_7521);
    }
}
