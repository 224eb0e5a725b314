//! A drive that panics ends its own export only.

use crate::serving::{BLOCKS, header, patient, use_it};
use std::convert::Infallible;
use tailcut_base::Time;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::serve::{Access, Address, Name, Server, Windows};
use tailcut_rt::{Answers, Client, Clock, Drive, MemoryDrive};

/// A drive in memory that panics on an access to its last block.
struct Broken(MemoryDrive);

impl Drive for Broken {
    fn identify(&self) -> Identify {
        self.0.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.0.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        assert!(request.block < BLOCKS - 1, "planted");
        self.0.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.0.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.0.poll(now, answers);
    }

    fn next_event(&self) -> Time {
        self.0.next_event()
    }
}

impl Steered for Broken {}

#[test]
fn a_panic_ends_its_export_and_no_other() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let address = Address::Unix(folder.path().join("socket"));
    let drives = ["first", "second"].map(|name| {
        let name = Name::new(name);
        (name, || Ok::<_, Infallible>(Broken(MemoryDrive::new(BLOCKS, 64))))
    });
    let server = Server::start(
        &address,
        Access::default(),
        drives.into(),
        Windows::default(),
        patient(),
        Clock::start(),
    )
    .expect("it listens");
    let connect = |export: &str| Client::connect(server.address(), export).expect("it takes connections");
    let (mut first, mut idle, mut second) = (connect("first"), connect("first"), connect("second"));
    use_it(&mut first, 0, 1);
    use_it(&mut idle, 0, 2);
    use_it(&mut second, 0, 3);
    let last = header(0, (BLOCKS - 1) * 4096, 4096);
    assert!(first.call(&last, &[]).is_err(), "the connection is closed");
    assert!(idle.call(&header(0, 0, 4096), &[]).is_err(), "so are the others of the export");
    // Later clients do not hang, and the other export continues.
    assert!(connect("first").call(&header(0, 0, 4096), &[]).is_err());
    use_it(&mut second, 4096, 4);
    use_it(&mut connect("second"), 8192, 5);
    // The watchdog of the service manager hears of both: the server as a whole is alive.
    for _ in 0..3 {
        while !server.beat() {
            std::thread::yield_now();
        }
    }
    let served = server.stop();
    assert_eq!(served.failed, ["first"]);
    assert_eq!(served.drives.len(), 1);
}
