//! Throttles password guessing: by address, in memory of a fixed size, and without a sleeping thread.

use rustix::net::sockopt::socket_peercred;
use rustix::net::{SocketAddrAny, getpeername};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use tailcut_base::{Nanos, Time};

/// The peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A client on the network.
    Network(SocketAddr),
    /// A process of this machine, over a unix socket.
    Process {
        /// User ID.
        user: u32,
        /// Process ID.
        process: i32,
    },
    /// The system does not report the peer.
    Unknown,
}

impl Peer {
    /// The peer of a connected socket.
    pub fn of(socket: impl AsFd) -> Peer {
        let address = getpeername(&socket).ok().flatten();
        match address.map(|address: SocketAddrAny| SocketAddr::try_from(address)) {
            Some(Ok(address)) => Peer::Network(address),
            _ => socket_peercred(socket).map_or(Peer::Unknown, |peer| Peer::Process {
                user: peer.uid.as_raw(),
                process: peer.pid.as_raw_nonzero().get(),
            }),
        }
    }

    /// The slot in which its attempts are counted: by address without the port, for IPv6 by the /64 network
    /// that a user has.
    fn slot(&self) -> usize {
        let mut hasher = DefaultHasher::new();
        match self {
            Peer::Network(address) => match address.ip() {
                IpAddr::V4(ip) => ip.octets().hash(&mut hasher),
                IpAddr::V6(ip) => ip.octets()[..8].hash(&mut hasher),
            },
            Peer::Process { user, .. } => user.hash(&mut hasher),
            Peer::Unknown => {}
        }
        hasher.finish() as usize % SLOTS
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Network(address) => address.fmt(f),
            Peer::Process { user, process } => write!(f, "process {process} of user {user}"),
            Peer::Unknown => f.write_str("an unknown address"),
        }
    }
}

/// Limits failed logins by address: a few at once, then one in every [`INTERVAL`] (a leaky bucket, as in the
/// generic cell rate algorithm of ITU-T I.371). Addresses in the same slot are counted together.
#[derive(Debug)]
pub struct Throttle {
    /// When the failures counted in a slot have expired.
    forgotten: Vec<Time>,
}

impl Default for Throttle {
    /// No failure is counted.
    fn default() -> Throttle {
        Throttle { forgotten: vec![Time::ZERO; SLOTS] }
    }
}

impl Throttle {
    /// When the next login of a peer is accepted.
    pub fn opens(&self, peer: &Peer) -> Time {
        Time(self.forgotten[peer.slot()].0.saturating_sub(TOLERATED.0))
    }

    /// Counts a failed login of a peer.
    pub fn note_failure(&mut self, peer: &Peer, now: Time) {
        let forgotten = &mut self.forgotten[peer.slot()];
        *forgotten = (*forgotten).max(now) + INTERVAL;
    }
}

/// Number of slots for addresses: 2 KiB for each thread.
const SLOTS: usize = 256;
/// Interval at which logins are accepted from an address with too many failures.
const INTERVAL: Nanos = Nanos::secs(1);
/// Four failures in a row cause no delay, as users mistype.
const TOLERATED: Nanos = Nanos::secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::Network(address.parse().expect("an address"))
    }

    #[test]
    fn who_fails_again_and_again_is_looked_at_once_a_second() {
        let mut throttle = Throttle::default();
        let (guesser, other) = (peer("192.0.2.1:1000"), peer("192.0.2.9:1000"));
        let (mut now, mut attempts) = (Time(5_000_000_000), 0);
        let end = now + Nanos::secs(60);
        while now < end {
            match throttle.opens(&guesser) {
                opens if opens <= now => {
                    attempts += 1;
                    throttle.note_failure(&guesser, now);
                }
                opens => now = opens,
            }
        }
        assert_eq!(attempts, 5 + 60 - 1, "five at once, then one a second");
        assert!(throttle.opens(&peer("192.0.2.1:2000")) >= now, "by address, not by port");
        assert_eq!(throttle.opens(&other), Time::ZERO);
        // The failures expire in the end.
        assert!(throttle.opens(&guesser) <= now + Nanos::secs(1));
    }

    #[test]
    fn networks_of_ipv6_and_users_of_this_machine_count_as_one() {
        let mut throttle = Throttle::default();
        let now = Time(1);
        (0..5).for_each(|_| throttle.note_failure(&peer("[2001:db8::1]:1"), now));
        assert!(throttle.opens(&peer("[2001:db8::ffff:2]:9")) > now);
        let (one, other) = (Peer::Process { user: 7, process: 1 }, Peer::Process { user: 7, process: 2 });
        (0..5).for_each(|_| throttle.note_failure(&one, now));
        assert!(throttle.opens(&other) > now);
    }
}
