//! A drive whose flush fails once and drops its cache.

use crate::serving::{Harness, header, patient};
use crate::volatile::Volatile;
use std::sync::atomic::Ordering;
use tailcut_host::wire::nbd::Header;
use tailcut_rt::FailStop;
use tailcut_rt::serve::Access;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const FUA: u16 = 1;
const EIO: u32 = 5;

#[test]
fn after_a_flush_that_failed_none_succeeds_and_reads_go_on() {
    for durable_write_fails in [false, true] {
        let (drive, fails) = Volatile::new(1024);
        let harness = Harness::over(FailStop::new(drive), patient(), Access::default());
        let (mut one, mut other) = (harness.client(), harness.client());
        let (old, new) = (vec![1; 8192], vec![2; 8192]);
        let write = || header(WRITE, 4096, 8192);
        let flush = || header(FLUSH, 0, 0);
        assert_eq!(one.call(&write(), &old).expect("a reply").0, 0);
        assert_eq!(one.call(&flush(), &[]).expect("a reply").0, 0);
        assert_eq!(one.call(&write(), &new).expect("a reply").0, 0);
        fails.store(true, Ordering::SeqCst);
        let durable = Header { flags: FUA, ..header(WRITE, 16384, 4096) };
        let failed = match durable_write_fails {
            true => other.call(&durable, &vec![3; 4096]),
            false => other.call(&flush(), &[]),
        };
        assert_eq!(failed.expect("a reply").0, EIO);
        // From now on the drive would succeed, without the data written before.
        for client in [&mut one, &mut other] {
            assert_eq!(client.call(&flush(), &[]).expect("a reply").0, EIO);
            assert_eq!(client.call(&write(), &new).expect("a reply").0, EIO);
            let durable = Header { flags: FUA, ..write() };
            assert_eq!(client.call(&durable, &new).expect("a reply").0, EIO);
            assert_eq!(client.call(&header(READ, 4096, 8192), &[]).expect("a reply"), (0, old.clone()));
        }
    }
}
