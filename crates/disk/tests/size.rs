use super::{submit, write};
use tailcut_disk::{Disk, DiskConfig, Operation, Personality, Sector};

#[test]
fn an_idle_disk_is_smaller_than_a_kibibyte() {
    println!("a disk takes {} bytes", size_of::<Disk>());
    assert!(size_of::<Disk>() <= 1024);
    let disk = Disk::new(DiskConfig::new(Personality::Cm7R).capacity(1 << 40), 1);
    assert_eq!(disk.data_memory(), 0);
}

#[test]
fn data_takes_memory_where_it_is_not_zero() {
    let mut disk = Disk::new(Personality::Pm9a3, 1);
    for index in 0..100 {
        write(&mut disk, index * 8, 1, 8);
    }
    assert!((100 * 4096..120 * 4096).contains(&disk.data_memory()), "{}", disk.data_memory());
    submit(&mut disk, Operation::trim(Sector::new(0), 800));
    disk.advance(tailcut_disk::Time(u64::MAX >> 10));
    assert!(disk.data_memory() < 50_000, "{}", disk.data_memory());
}
