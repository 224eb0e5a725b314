//! Translates requests of the kernel into those of NBD.
//!
//! Both have the same requests with the same meaning: a flush covers writes completed before it was
//! submitted, a write with FUA is durable when it completes, and written zeros allocate space if requested.
//! So later stages need not know where a request comes from.

use super::standard::*;
use tailcut_base::SECTOR_BYTES;
use tailcut_host::BLOCK_BYTES;
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::wire::nbd::{Command, Header, Refusal, Rules};

impl ublksrv_io_desc {
    /// The request of `tag`, which becomes its cookie. An unsupported operation gets a number that no command
    /// has.
    pub fn header(&self, tag: u16) -> Header {
        let command = match self.op_flags as u8 {
            UBLK_IO_OP_READ => NBD_CMD_READ,
            UBLK_IO_OP_WRITE => NBD_CMD_WRITE,
            UBLK_IO_OP_FLUSH => NBD_CMD_FLUSH,
            UBLK_IO_OP_DISCARD => NBD_CMD_TRIM,
            UBLK_IO_OP_WRITE_ZEROES => NBD_CMD_WRITE_ZEROES,
            _ => NO_COMMAND,
        };
        let has = |flag| self.op_flags & flag != 0;
        let fua = if has(UBLK_IO_F_FUA) { NBD_CMD_FLAG_FUA } else { 0 };
        let takes_room = has(UBLK_IO_F_NOUNMAP) && command == NBD_CMD_WRITE_ZEROES;
        let flags = fua | if takes_room { NBD_CMD_FLAG_NO_HOLE } else { 0 };
        // The driver leaves the offset of a flush undefined.
        let (offset, length) = if command == NBD_CMD_FLUSH { (0, 0) } else { self.range() };
        Header { flags, command, cookie: u64::from(tag), offset, length }
    }

    /// First byte and length. A range beyond any drive stays beyond it.
    fn range(&self) -> (u64, u32) {
        let bytes = u64::from(self.nr_sectors) * SECTOR_BYTES;
        (self.start_sector.saturating_mul(SECTOR_BYTES), u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

/// The command of a kernel request, or why it is refused. The block layer keeps to the parameters of the
/// device, so this only contains the damage of a bug there.
///
/// # Errors
/// `Invalid` for a range that is not whole blocks or longer than [`MOST_BYTES`]; otherwise the refusal of
/// [`Rules::check`].
pub fn check(rules: &Rules, header: &Header) -> Result<Command, Refusal> {
    let is_whole = |bytes: u64| bytes.is_multiple_of(BLOCK_BYTES);
    if !is_whole(header.offset) || !is_whole(header.length.into()) {
        return Err(Refusal { error: Error::Invalid, text: "it does not begin and end on blocks" });
    }
    let command = rules.check(header)?;
    if matches!(command, Command::Read | Command::Write) && header.length > MOST_BYTES {
        return Err(Refusal { error: Error::Invalid, text: "more data at once than was agreed on" });
    }
    Ok(command)
}

/// Maximum bytes of a read or write; the block layer splits larger ones. Together with the number of tags, it
/// bounds the memory in flight.
pub const MOST_BYTES: u32 = 512 << 10;

/// Maximum bytes of a discard, or of a request for zeros: 1 GiB.
pub const MOST_TRIMMED: u32 = 1 << 30;

/// A number that no command of NBD has.
const NO_COMMAND: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        bytes: 1 << 30,
        is_read_only: false,
        zeroes_fast: true,
        has_structured_replies: false,
        has_allocation: false,
    };

    fn descriptor(op: u8, flags: u32, start_sector: u64, nr_sectors: u32) -> ublksrv_io_desc {
        ublksrv_io_desc { op_flags: u32::from(op) | flags, nr_sectors, start_sector, addr: 0 }
    }

    fn checked(rules: &Rules, descriptor: ublksrv_io_desc) -> Result<Command, Error> {
        check(rules, &descriptor.header(7)).map_err(|refusal| refusal.error)
    }

    #[test]
    fn each_operation_has_its_command() {
        for (op, number, command) in [
            (UBLK_IO_OP_READ, NBD_CMD_READ, Command::Read),
            (UBLK_IO_OP_WRITE, NBD_CMD_WRITE, Command::Write),
            (UBLK_IO_OP_DISCARD, NBD_CMD_TRIM, Command::Trim),
            (UBLK_IO_OP_WRITE_ZEROES, NBD_CMD_WRITE_ZEROES, Command::Zero),
        ] {
            let descriptor = descriptor(op, 0, 16, 24);
            let header = Header { flags: 0, command: number, cookie: 7, offset: 8192, length: 12288 };
            assert_eq!(descriptor.header(7), header);
            assert_eq!(checked(&RULES, descriptor), Ok(command));
        }
    }

    #[test]
    fn a_flush_is_of_the_whole_drive_wherever_it_points_to() {
        let flush = descriptor(UBLK_IO_OP_FLUSH, 0, u64::MAX, 0);
        assert_eq!(flush.header(3), Header { command: NBD_CMD_FLUSH, cookie: 3, ..Header::default() });
        assert_eq!(checked(&RULES, flush), Ok(Command::Flush));
    }

    #[test]
    fn flags_that_mean_something_are_kept_and_others_are_not() {
        let flags = |op, flags| descriptor(op, flags, 0, 8).header(0).flags;
        let all = 0xffff_ff00;
        assert_eq!(flags(UBLK_IO_OP_WRITE, UBLK_IO_F_FUA), NBD_CMD_FLAG_FUA);
        assert_eq!(flags(UBLK_IO_OP_WRITE, all), NBD_CMD_FLAG_FUA);
        assert_eq!(flags(UBLK_IO_OP_WRITE, all & !UBLK_IO_F_FUA), 0);
        assert_eq!(flags(UBLK_IO_OP_WRITE_ZEROES, UBLK_IO_F_NOUNMAP), NBD_CMD_FLAG_NO_HOLE);
        assert_eq!(flags(UBLK_IO_OP_WRITE_ZEROES, all), NBD_CMD_FLAG_FUA | NBD_CMD_FLAG_NO_HOLE);
        for op in [UBLK_IO_OP_READ, UBLK_IO_OP_WRITE, UBLK_IO_OP_DISCARD, UBLK_IO_OP_WRITE_ZEROES] {
            assert!(checked(&RULES, descriptor(op, all, 0, 8)).is_ok(), "operation {op}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let sectors = (RULES.bytes / SECTOR_BYTES) as u32;
        for (op, sector, length, error) in [
            (UBLK_IO_OP_READ, u64::from(sectors) - 8, 16, Error::Invalid),
            (UBLK_IO_OP_WRITE, u64::from(sectors), 8, Error::NoSpace),
            (UBLK_IO_OP_WRITE, u64::MAX, 8, Error::Invalid),
            (UBLK_IO_OP_DISCARD, 8, u32::MAX, Error::Invalid),
            (UBLK_IO_OP_READ, 0, 0, Error::Invalid),
            (UBLK_IO_OP_READ, 1, 8, Error::Invalid),
            (UBLK_IO_OP_WRITE, 0, 9, Error::Invalid),
            (UBLK_IO_OP_WRITE, 0, MOST_BYTES / 512 + 8, Error::Invalid),
            // Opening a zone, and an undefined operation.
            (10, 0, 8, Error::Invalid),
            (255, 0, 8, Error::Invalid),
        ] {
            let refused = checked(&RULES, descriptor(op, 0, sector, length));
            assert_eq!(refused, Err(error), "operation {op} of {length} at {sector}");
        }
    }

    #[test]
    fn nothing_is_changed_on_a_drive_that_is_only_read() {
        let rules = Rules { is_read_only: true, ..RULES };
        for op in [UBLK_IO_OP_WRITE, UBLK_IO_OP_DISCARD, UBLK_IO_OP_WRITE_ZEROES] {
            assert_eq!(checked(&rules, descriptor(op, 0, 0, 8)), Err(Error::NotPermitted));
        }
        assert_eq!(checked(&rules, descriptor(UBLK_IO_OP_READ, 0, 0, 8)), Ok(Command::Read));
        assert_eq!(checked(&rules, descriptor(UBLK_IO_OP_FLUSH, 0, 0, 0)), Ok(Command::Flush));
    }

    #[test]
    fn the_largest_requests_are_let_in() {
        let largest = MOST_BYTES / SECTOR_BYTES as u32;
        assert_eq!(checked(&RULES, descriptor(UBLK_IO_OP_WRITE, 0, 0, largest)), Ok(Command::Write));
        let trimmed = MOST_TRIMMED / SECTOR_BYTES as u32;
        assert_eq!(checked(&RULES, descriptor(UBLK_IO_OP_DISCARD, 0, 0, trimmed)), Ok(Command::Trim));
    }
}
