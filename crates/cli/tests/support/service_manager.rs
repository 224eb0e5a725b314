//! What a server tells systemd.

use crate::support::{Place, uninterrupted};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The receiver of sd_notify messages.
pub(crate) struct ServiceManager(UnixDatagram);

impl ServiceManager {
    /// Listens at `notify` in the folder.
    pub(crate) fn at(place: &Place) -> ServiceManager {
        let socket = UnixDatagram::bind(place.path("notify")).expect("a socket");
        // A test that would hang fails.
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
        ServiceManager(socket)
    }

    /// The messages up to this line.
    pub(crate) fn hear(&self, wanted: &str) -> Vec<String> {
        let (mut lines, mut room) = (Vec::new(), [0; 4096]);
        while !lines.iter().any(|line| line == wanted) {
            let bytes = uninterrupted(|| self.0.recv(&mut room)).expect("something is said");
            let text = std::str::from_utf8(&room[..bytes]).expect("it is text");
            lines.extend(text.lines().map(String::from));
        }
        lines
    }
}
