//! A trace converted to a format and back is unchanged, as far as the format can express it.

use proptest::prelude::*;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op};
use tailcut_workload::trace::{Converted, Format, Options, Record, Trace, TraceError, convert};

/// A request in the most expressive format, blkparse's: addresses in sectors.
#[derive(Clone, Debug)]
struct Item {
    gap_ns: u64,
    disk: u32,
    op: Op,
    fua: bool,
    sector: u64,
    sectors: u32,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let op =
        prop_oneof![4 => Just(Op::Read), 4 => Just(Op::Write), 1 => Just(Op::Trim), 1 => Just(Op::Flush)];
    let gap = prop_oneof![Just(0u64), 1u64..1000, 1u64..10_000_000_000];
    let item = (gap, 0u32..5, op, any::<bool>(), 0u64..1 << 40, 1u32..70_000)
        .prop_map(|(gap_ns, disk, op, fua, sector, sectors)| Item { gap_ns, disk, op, fua, sector, sectors });
    prop::collection::vec(item, 1..40)
}

fn blkparse(items: &[Item]) -> String {
    let mut text = String::new();
    let mut now = 1_700_000_000_000_000_000u64;
    for item in items {
        now += item.gap_ns;
        let fua = if item.fua && matches!(item.op, Op::Read | Op::Write) { "F" } else { "" };
        let time = format!("{}.{:09}", now / 1_000_000_000, now % 1_000_000_000);
        let what = match item.op {
            Op::Flush => "FN [x]".to_string(),
            Op::Read => format!("R{fua} {} + {} [x]", item.sector, item.sectors),
            Op::Write => format!("W{fua} {} + {} [x]", item.sector, item.sectors),
            Op::Trim => format!("D {} + {} [x]", item.sector, item.sectors),
        };
        text += &format!("8,{} 0 1 {time} 0 Q {what}\n", item.disk);
    }
    text
}

/// The fields of a trace record, with the disk by its order of appearance.
#[derive(Debug, PartialEq)]
struct Said {
    at: Nanos,
    place: usize,
    op: Op,
    fua: bool,
    offset: u64,
    len: u32,
    response: Option<Nanos>,
}

fn read(path: &Path, format: Format) -> Vec<Said> {
    let mut trace = Trace::open(path, &Options { format: Some(format), skip_bad_lines: false }).unwrap();
    let (mut disks, mut said) = (Vec::new(), Vec::new());
    while let Some(Record { at, disk, op, fua, offset, len, response }) = trace.next_record().unwrap() {
        let place = disks.iter().position(|&known| known == disk).unwrap_or_else(|| {
            disks.push(disk);
            disks.len() - 1
        });
        said.push(Said { at, place, op, fua, offset, len, response });
    }
    said
}

/// What `original` becomes in a format with these capabilities.
fn expected(original: &[Said], format: Format, origin: u64) -> Vec<Said> {
    let has_all_ops =
        [Format::Blkparse, Format::Fio2, Format::Fio3, Format::Vscsi1, Format::Vscsi2].contains(&format);
    let kept = |said: &&Said| has_all_ops || matches!(said.op, Op::Read | Op::Write);
    // fio 2 counts from its first record, which then falls on a microsecond.
    let origin = if format == Format::Fio2 { 0 } else { origin };
    let tick = format.tick_ns();
    let clock = |said: &Said| (origin + said.at.0) / tick * tick;
    let kept: Vec<&Said> = original.iter().filter(kept).collect();
    let start = kept.first().map_or(0, |first| clock(first));
    let mut places = Vec::new();
    kept.iter()
        .map(|said| {
            let place = places.iter().position(|&known| known == said.place).unwrap_or_else(|| {
                places.push(said.place);
                places.len() - 1
            });
            Said {
                at: Nanos(clock(said) - start),
                place: if matches!(format, Format::Vscsi1 | Format::Vscsi2) { 0 } else { place },
                fua: said.fua && format == Format::Blkparse,
                response: said.response.filter(|_| matches!(format, Format::Msr | Format::Vscsi2)),
                ..**said
            }
        })
        .collect()
}

fn lossy(from: &Path, to: &Path, format: Format) -> Result<Converted, TraceError> {
    convert(from, &Options::default(), to, format, &mut |_| true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_format_keeps_what_it_can_say(items in items()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.blkparse");
        std::fs::write(&source, blkparse(&items)).unwrap();
        let original = read(&source, Format::Blkparse);
        let origin = 1_700_000_000_000_000_000 + items[0].gap_ns;
        for (i, &format) in Format::all().iter().enumerate() {
            let target = folder.path().join(format!("target{}", ["", ".gz", ".zst"][i % 3]));
            let want = expected(&original, format, origin);
            match lossy(&source, &target, format) {
                Ok(converted) => {
                    prop_assert_eq!(converted.written as usize, want.len());
                    prop_assert_eq!(converted.dropped as usize, original.len() - want.len());
                    prop_assert_eq!(read(&target, format), want, "{}", format);
                }
                Err(_) => {
                    prop_assert!(want.is_empty());
                    prop_assert!(!target.exists());
                }
            }
        }
    }

    #[test]
    fn bytes_and_responses_survive_where_they_can(
        lines in prop::collection::vec((0u64..1 << 40, 1u32..1 << 30, 1u64..1 << 30, any::<bool>()), 1..30)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.csv");
        let text: String = lines.iter().enumerate().map(|(i, (offset, len, response, is_read))| {
            let op = if *is_read { "Read" } else { "Write" };
            format!("{},host,{},{op},{offset},{len},{}\n", 128_166_481_075_232_270 + i * 10, i % 3, response * 10)
        }).collect();
        std::fs::write(&source, text).unwrap();
        let original = read(&source, Format::Msr);
        for format in [Format::Msr, Format::MsrCut, Format::Alibaba, Format::Fio2, Format::Fio3] {
            let target = folder.path().join("target");
            lossy(&source, &target, format).unwrap();
            let want = expected(&original, format, 12_816_648_107_523_227_000);
            prop_assert_eq!(read(&target, format), want, "{}", format);
        }
        // vscsi 2 holds response times in whole microseconds; its addresses are sectors.
        let target = folder.path().join("target.vscsi");
        lossy(&source, &target, Format::Vscsi2).unwrap();
        for (got, want) in read(&target, Format::Vscsi2).iter().zip(&original) {
            prop_assert_eq!(got.response, want.response);
            let shift = want.offset % 512;
            prop_assert_eq!((got.offset, u64::from(got.len)), (want.offset - shift, u64::from(want.len) + shift));
        }
    }
}

#[test]
fn losses_are_counted_and_names_kept() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let text =
        "8,0 0 1 0.000000001 0 Q WF 1 + 1 [x]\n8,16 0 2 0.5 0 Q D 1 + 1 [x]\n8,16 0 2 0.6 0 Q R 1 + 1 [x]\n";
    std::fs::write(&source, text).unwrap();
    let target = folder.path().join("target");
    let converted = lossy(&source, &target, Format::Msr).unwrap();
    assert_eq!(
        (converted.written, converted.dropped, converted.rounded, converted.without_fua),
        (2, 1, 1, 1)
    );
    assert_eq!(
        std::fs::read_to_string(&target).unwrap(),
        "0,disk,0,Write,512,512,0\n6000000,disk,1,Read,512,512,0\n"
    );
    let converted = lossy(&source, &target, Format::Vscsi1).unwrap();
    assert_eq!((converted.written, converted.without_disk), (3, 2));
    lossy(&source, &target, Format::Blkparse).unwrap();
    assert!(std::fs::read_to_string(&target).unwrap().contains(" 8,16 "));
}

#[test]
fn a_conversion_never_overwrites_its_input_nor_leaves_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, "0 0 8 8 1\nbroken\n").unwrap();
    let error = lossy(&source, &source, Format::Spc).unwrap_err();
    assert!(error.to_string().contains("another file"), "{error}");
    assert!(std::fs::read_to_string(&source).unwrap().contains("broken"));
    let target = folder.path().join("target");
    assert!(matches!(lossy(&source, &target, Format::Spc), Err(TraceError::BadRecords { .. })));
    assert!(!target.exists());
    let nowhere = folder.path().join("no/such/folder");
    assert!(matches!(lossy(&source, &nowhere, Format::Spc), Err(TraceError::Write { .. })));
}
