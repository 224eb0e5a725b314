//! Drives as block devices of this kernel. If it supports ublk, `.ci/ublk-vm` tests them.

use crate::support::Place;

#[test]
fn a_kernel_without_ublk_is_named_with_the_remedy() {
    if std::path::Path::new("/dev/ublk-control").exists() {
        println!("skipped: this kernel has ublk");
        return;
    }
    let place = Place::new();
    let error = place.refused(2, &["serve", "block", "--unix", "socket", "--size", "1MiB", "--ublk", "0"]);
    assert!(error.contains("modprobe ublk_drv") && error.contains("Linux 6.5"), "{error}");
    assert!(!place.path("socket").exists(), "nothing is left behind");
}

#[test]
fn a_device_has_a_number() {
    let place = Place::new();
    let error = place.refused(2, &["serve", "block", "--size", "1MiB", "--ublk", "/dev/ublkb0"]);
    assert!(error.contains("--ublk <N>"), "{error}");
}
