//! The cost of each step of a key-value server beside those in [`crate::cpu::costs`]: one constant each,
//! with its source.
//!
//! Most are from Arrakis (Peter et al., OSDI 2014), which breaks Linux down on a Xeon of 2.2 GHz of the
//! years in which the servers of the studies were built: table 2 for one `get` of a server with one thread
//! and epoll (Redis), table 1 for the network stack's work per packet.

use crate::cpu::costs::{HARD_ENTRY, SOFT_ENTRY, SWITCH, WAKE};
use tailcut_base::Nanos;

/// One poll for all connections (`epoll_wait`; Arrakis, table 2).
pub const LOOK: Nanos = Nanos(2420);

/// Receiving from one connection (Arrakis, table 2).
pub const RECEIVE: Nanos = Nanos(980);

/// Reading a command, looking the key up, making the answer, and the rest of a server's work for it: 0.85,
/// 0.10, 0.60 and 0.55 µs (Arrakis, table 2).
pub const COMMAND: Nanos = Nanos(850 + 100 + 600 + 550);

/// Sending on one connection, with the way through the network stack (Arrakis, table 2).
pub const SEND: Nanos = Nanos(3170);

/// The network stack's work for a received packet (Arrakis, table 1, network stack in).
pub const PACKET: Nanos = Nanos(1260);

/// A client's work from the interrupt of its network card until its thread has the answer; its thread
/// sleeps, its core has other work.
pub const CLIENT_RECEIVE: Nanos =
    Nanos(HARD_ENTRY.0 + SOFT_ENTRY.0 + PACKET.0 + WAKE.0 + SWITCH.0 + RECEIVE.0);

/// Bytes of a message in one packet: 1500 (IEEE 802.3) less the headers of IP (20, RFC 791) and TCP (20,
/// RFC 9293) and its time stamps (12, RFC 7323).
pub const SEGMENT_BYTES: u64 = 1500 - 20 - 20 - 12;

/// Bytes on the wire for each packet in addition to these: its headers, and preamble, header, check
/// sequence and gap of Ethernet (8 + 14 + 4 + 12, IEEE 802.3).
pub const PACKET_BYTES: u64 = 52 + 38;

/// Packets of a message; there is one at least.
pub fn packets(bytes: u64) -> u64 {
    bytes.div_ceil(SEGMENT_BYTES).max(1)
}

/// Bytes on the wire for a message.
pub fn wire_bytes(bytes: u64) -> u64 {
    bytes + packets(bytes) * PACKET_BYTES
}

/// A server's work for a `get` that it answers from memory, if no other command is waiting.
pub const GET: Nanos = Nanos(LOOK.0 + RECEIVE.0 + COMMAND.0 + SEND.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_up_the_sum_of_the_source() {
        assert_eq!(GET, Nanos(8670));
    }

    #[test]
    fn a_gigabit_carries_what_the_standards_leave_of_it() {
        assert_eq!(wire_bytes(1), 91);
        assert_eq!(wire_bytes(1448), 1538, "1500 bytes and the 38 of Ethernet");
        assert_eq!(packets(1449), 2);
        let second = 125_000_000 / wire_bytes(1448) * 1448;
        assert!((117_600_000..117_800_000).contains(&second), "{second}: 941 Mbit/s");
    }
}
