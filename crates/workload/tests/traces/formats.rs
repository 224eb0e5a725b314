//! Each format is detected from its content and parsed correctly; errors name the place and the remedy.

use std::io::{Cursor, Write};
use tailcut_base::{Nanos, Op};
use tailcut_workload::trace::{Format, Options, Place, Record, Tally, Trace, TraceError, scan};

fn open(name: &str, bytes: &[u8], options: &Options) -> Result<Trace, TraceError> {
    Trace::from_reader(name, Box::new(Cursor::new(bytes.to_vec())), options)
}

fn all(trace: &mut Trace) -> Result<Vec<Record>, TraceError> {
    let mut records = Vec::new();
    while let Some(record) = trace.next_record()? {
        records.push(record);
    }
    Ok(records)
}

/// Parses a text, which must be detected as `format`; records as `at disk op offset len`.
fn read(format: Format, text: &str) -> Vec<String> {
    let mut trace = open("trace", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(trace.format(), format);
    all(&mut trace).unwrap().iter().map(show).collect()
}

fn show(r: &Record) -> String {
    let fua = if r.fua { " fua" } else { "" };
    let response = r.response.map_or(String::new(), |response| format!(" took {}", response.0));
    format!("{} {} {} {} {}{fua}{response}", r.at.0, r.disk, r.op, r.offset, r.len)
}

fn error(name: &str, bytes: &[u8]) -> TraceError {
    match open(name, bytes, &Options::default()) {
        Err(error) => error,
        Ok(mut trace) => all(&mut trace).unwrap_err(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn mqsim_and_ssdsim_have_sectors_and_nanoseconds() {
    let text = "938513000 4 264719034 16 0\n938828000 3 8 32 1\n";
    assert_eq!(read(Format::Mqsim, text), ["0 4 write 135536145408 8192", "315000 3 read 4096 16384"]);
    let trace = open("x.ssdsim.ascii", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(trace.format(), Format::Ssdsim);
}

#[test]
fn msr_cuts_have_bytes_and_disksim_has_sectors() {
    let cut = "0.000 0 3242508288 4096 0\n22.810 0 2205343744 4096 1\n";
    assert_eq!(read(Format::MsrCut, cut), ["0 0 write 3242508288 4096", "22810000 0 read 2205343744 4096"]);
    let disksim = "0.5 1 1000 8 1\n1.25 0 17 3 0\n";
    assert_eq!(read(Format::Disksim, disksim), ["0 1 read 512000 4096", "750000 0 write 8704 1536"]);
}

#[test]
fn msr_csv_has_hosts_and_responses() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n\
                128166481075232275,rsrch,1,Write,281358336,45056,94872\r\n\
                128166481075232285,web,0,Read,512,512,0\r\n\
                128166481075232295,rsrch,1,Read,0,512,1\r\n";
    let mut trace = open("t.csv", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(trace.format(), Format::Msr);
    let records = all(&mut trace).unwrap();
    let shown: Vec<_> = records.iter().map(show).collect();
    assert_eq!(
        shown,
        ["0 0 write 281358336 45056 took 9487200", "1000 1 read 512 512", "2000 0 read 0 512 took 100"]
    );
    assert_eq!((trace.disk_label(0), trace.disk_label(1)), ("rsrch.1".into(), "web.0".into()));
    assert_eq!(trace.origin(), 12_816_648_107_523_227_500);
}

#[test]
fn spc_alibaba_and_tencent_are_told_apart() {
    assert_eq!(
        read(Format::Spc, "0,20941264,8192,W,0.551706\n1,8,512,r,0.554041,7,x\n"),
        ["0 0 write 10721927168 8192", "2335000 1 read 4096 512"]
    );
    assert_eq!(
        read(Format::Alibaba, "0,R,126703661056,4096,1577808000000046\n9,W,5,3,1577808000000047\n"),
        ["0 0 read 126703661056 4096", "1000 9 write 5 3"]
    );
    assert_eq!(
        read(
            Format::Tencent,
            "Timestamp,Offset,Size,IOType,VolumeID\n1538323200,12910952,128,0,1063\n1538323201,1,2,1,7\n"
        ),
        ["0 1063 read 6610407424 65536", "1000000000 7 write 512 1024"]
    );
}

const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223490
  8,0    3        2     0.000000697   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000001000   697  G   W 223490 + 8 [kjournald]
  8,0    3        4     0.000002000   697  I   W 223490 + 8 [kjournald]
  8,0    3        5     0.000003000   697  D   W 223490 + 8 [kjournald]
  8,0    3        0     0.000003500     0  m   N cfq697 dispatch a request
  8,16   1        1     0.000004697     9  Q  RA 100 + 16 [cat]
  8,0    1        2     0.000005697     9  Q  FN [jbd2]
  8,0    1        3     0.000005697     9  Q FWFS 300 + 8 [jbd2]
  8,0    1        4     0.000006697     9  Q  DS 4096 + 2048 [fstrim]
  8,0    1        5     0.000007697     9  Q  WM 7 + 1 [my process + x]
  8,0    3        6     0.000009000     0  C   W 223490 + 8 [0]
CPU0 (8,0):
 Reads Queued:           1,        8KiB  Writes Queued:           3,       12KiB

Total (8,0):
 Reads Queued:           1,        8KiB  Writes Queued:           3,       12KiB
Throughput (R/W): 0KiB/s / 0KiB/s
";

#[test]
fn blkparse_takes_what_was_queued() {
    assert_eq!(
        read(Format::Blkparse, BLKPARSE),
        [
            "0 0 write 114426880 4096",
            "4000 1 read 51200 8192",
            "5000 0 flush 0 0",
            "5000 0 flush 0 0",
            "5000 0 write 153600 4096 fua",
            "6000 0 trim 2097152 1048576",
            "7000 0 write 3584 512",
        ]
    );
}

#[test]
fn blkparse_takes_what_was_issued_where_nothing_was_queued() {
    let was_queued = |line: &&str| line.split_whitespace().nth(5) == Some("Q");
    let issued: Vec<&str> = BLKPARSE.lines().filter(|line| !was_queued(line)).collect();
    let issued = issued.join("\n");
    assert_eq!(read(Format::Blkparse, &issued), ["0 0 write 114426880 4096"]);
}

#[test]
fn blkparse_responses_come_from_completions() {
    let mut trace = open("t.blkparse", BLKPARSE.as_bytes(), &Options::default()).unwrap();
    all(&mut trace).unwrap();
    let response = trace.late_responses();
    assert_eq!((response.count(), response.max()), (1, tailcut_base::Nanos(9000 - 697)), "one is completed");
    let text = "\
8,0 0 1 0.000000000 7 Q R 100 + 8 [x]
8,0 0 2 0.000001000 7 D R 100 + 8 [x]
8,0 0 3 0.000002000 7 Q W 300 + 8 [x]
8,0 0 4 0.000090000 0 C R 100 + 8 [0]
8,0 0 5 0.000902000 0 C W 300 + 8 [0]
8,0 0 6 0.000990000 0 C W 900 + 8 [0]
";
    let mut trace = open("t.blkparse", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(all(&mut trace).unwrap().len(), 2);
    let responses = trace.late_responses();
    assert_eq!(responses.count(), 2, "the last was never queued");
    assert_eq!(trace.unmatched_completions(), 1);
    assert_eq!(responses.max(), tailcut_base::Nanos::micros(900));
    // Two reads of one place at a time, and a write that was split.
    let text = "\
8,0 0 1 0.000000000 7 Q R 1000 + 8 [x]
8,0 0 2 0.001000000 7 Q R 1000 + 8 [x]
8,0 0 3 0.001500000 0 C R 1000 + 8 [0]
8,0 0 4 0.001700000 0 C R 1000 + 8 [0]
8,0 0 5 0.004000000 7 Q W 4096 + 2048 [x]
8,0 0 6 0.005000000 0 C W 4096 + 1024 [0]
8,0 0 7 0.006000000 0 C W 5120 + 1024 [0]
";
    let mut trace = open("t.blkparse", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(all(&mut trace).unwrap().len(), 3);
    let responses = trace.late_responses();
    assert_eq!((responses.count(), responses.max()), (2, tailcut_base::Nanos::micros(1500)));
    assert_eq!(trace.unmatched_completions(), 2);
}

#[test]
fn a_line_with_more_fields_than_spc_has_is_not_guessed_to_be_spc() {
    let line = b"3,128,4096,R,0.5,7,9\n3,256,4096,W,0.6,7,9\n";
    assert!(matches!(error("t.csv", line), TraceError::UnknownFormat { .. }));
    let named = Options { format: Some(Format::Spc), skip_bad_lines: false };
    assert_eq!(all(&mut open("t.csv", line, &named).unwrap()).unwrap().len(), 2);
    let five = b"3,128,4096,R,0.5\n3,256,4096,W,0.6\n";
    assert_eq!(open("t.csv", five, &Options::default()).unwrap().format(), Format::Spc);
}

#[test]
fn fio_logs_have_waits_or_times() {
    let version2 = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 512\n\
                    /dev/sda wait 100 0\n/dev/sdb write 0 1024\n/dev/sda wait 50 0\n/dev/sda sync 0 0\n\
                    /dev/sda trim 8192 4096\n/dev/sda close\n";
    assert_eq!(
        read(Format::Fio2, version2),
        ["0 0 read 4096 512", "100000 1 write 0 1024", "150000 0 flush 0 0", "150000 0 trim 8192 4096"]
    );
    let version3 =
        "fio version 3 iolog\n0 f add\n0 f open\n17 f read 4096 512\n20 f datasync 0 0\n21 f close\n";
    assert_eq!(read(Format::Fio3, version3), ["0 0 read 4096 512", "3000 0 flush 0 0"]);
}

fn vscsi(version: u8, command: u16, len: u32, sector: u64, us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    let command_and_version = [command.to_le_bytes(), (u16::from(version) << 8 | 7).to_le_bytes()].concat();
    if version == 2 {
        record.extend(&command_and_version);
    }
    for word in [1u32, len, 1] {
        record.extend(word.to_le_bytes());
    }
    if version == 1 {
        record.extend(&command_and_version);
    }
    record.extend(sector.to_le_bytes());
    record.extend(us.to_le_bytes());
    if version == 2 {
        record.extend(250u64.to_le_bytes());
    }
    record
}

#[test]
fn vscsi_records_of_both_versions_are_read() {
    for (version, format, took) in [(1, Format::Vscsi1, ""), (2, Format::Vscsi2, " took 250000")] {
        let bytes = [
            vscsi(version, 0x2a, 512, 9, 5_000_000),
            vscsi(version, 0x12, 96, 0, 5_000_001),
            vscsi(version, 0x88, 8192, 1 << 33, 5_000_002),
            vscsi(version, 0x35, 0, 0, 5_000_003),
        ]
        .concat();
        let mut trace = open("x", &bytes, &Options::default()).unwrap();
        assert_eq!(trace.format(), format);
        let shown: Vec<_> = all(&mut trace).unwrap().iter().map(show).collect();
        let want = ["0 0 write 4608 512", "2000 0 read 4398046511104 8192", "3000 0 flush 0 0"];
        assert_eq!(shown, want.map(|line| format!("{line}{took}")));
        let message = error("x.vscsi", &bytes[..bytes.len() - 3]).to_string();
        assert!(message.contains("record 4 at byte") && message.contains("within a record"), "{message}");
    }
}

#[test]
fn blank_lines_comments_and_carriage_returns_are_passed_over() {
    let text = "# a comment\r\n\r\n0 0 8 8 1\r\n\n   \n// another\n 10 0 8 8 1 \r\n20\t1 8 8 0";
    assert_eq!(
        read(Format::Mqsim, text),
        ["0 0 read 4096 4096", "10 0 read 4096 4096", "20 1 write 4096 4096"]
    );
}

#[test]
fn a_byte_order_mark_hides_no_record_and_column_names_are_no_record() {
    assert_eq!(read(Format::Alibaba, "\u{feff}3,R,0,4096,7\n"), ["0 3 read 0 4096"]);
    let text = "\u{feff}device_id,opcode,offset,length,timestamp\n3,R,0,4096,7\n";
    assert_eq!(read(Format::Alibaba, text), ["0 3 read 0 4096"]);
    let twice = error("t.csv", b"a,b,c,d,e\na,b,c,d,e\n3,R,0,4096,7\n3,R,0,4096,7\n3,R,0,4096,7\n");
    assert!(twice.to_string().contains("line 2"), "{twice}");
}

#[test]
fn a_log_of_another_version_of_fio_is_not_misread() {
    let error = error("t.log", b"fio version 4 iolog\n0 f add\n0 f open\n1 f read 0 512\n2 f read 0 512\n");
    assert!(error.to_string().contains("fio version 3 iolog"), "{error}");
}

#[test]
fn times_that_run_backwards_are_clamped_and_counted() {
    let text = "100 0 0 8 1\n90 0 8 8 1\n120 0 0 8 1\n110 0 0 8 1\n130 0 0 8 1\n";
    let mut trace = open("t", text.as_bytes(), &Options::default()).unwrap();
    let times: Vec<_> = all(&mut trace).unwrap().iter().map(|record| record.at).collect();
    assert_eq!(times, [0, 0, 20, 20, 30].map(Nanos));
    assert_eq!(trace.tally().backwards, 2);
}

#[test]
fn gzip_and_zstd_are_told_by_their_content() {
    let text = b"0 0 8 8 1\n1 0 8 8 0\n";
    let twice = [gzip(text), gzip(text)].concat();
    let zstd = zstd::encode_all(&text[..], 1).unwrap();
    for (bytes, count) in [(gzip(text), 2), (twice, 4), (zstd, 2)] {
        let mut trace = open("t", &bytes, &Options::default()).unwrap();
        assert_eq!(all(&mut trace).unwrap().len(), count);
    }
}

fn long_trace() -> Vec<u8> {
    (0..100_000u64)
        .flat_map(|i| format!("{i} 0 {} 8 1\n", i.wrapping_mul(7919) % 100_003).into_bytes())
        .collect()
}

#[test]
fn cut_off_and_damaged_compression_is_an_error_with_its_place() {
    let text = long_trace();
    for (compression, mut bytes) in [("gzip", gzip(&text)), ("zstd", zstd::encode_all(&text[..], 1).unwrap())]
    {
        for cut in [bytes.len() - 1, bytes.len() / 2, 20] {
            let error = error("cut.mqsim", &bytes[..cut]);
            let TraceError::Corrupt { file, compression: which, .. } = &error else { panic!("{error}") };
            assert_eq!((file.as_str(), *which), ("cut.mqsim", compression));
            assert!(error.to_string().contains("line "), "{error}");
        }
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        let error = error("bad.mqsim", &bytes);
        // Bytes damaged before the checksum is verified may look like a bad line.
        assert!(matches!(error, TraceError::Corrupt { .. } | TraceError::BadRecords { .. }), "{error}");
    }
}

#[test]
fn a_bad_line_is_an_error_or_skipped_with_a_count() {
    let text = b"0,R,0,4096,10\n0,R,zero,4096,11\n0,W,0,4096,12\n0,W,0,4096\n";
    let error = error("bad.csv", text);
    let TraceError::BadRecords { shown, total: 1, .. } = &error else { panic!("{error}") };
    assert_eq!(shown[0].place, Place::Line(2));
    assert!(shown[0].what.contains("field 3 (offset in bytes) is 'zero'"), "{error}");
    assert!(error.to_string().starts_with("bad.csv, line 2: "), "{error}");
    assert!(error.to_string().contains("device,R|W,offset_bytes"), "{error}");
    let options = Options { skip_bad_lines: true, format: None };
    let mut trace = open("bad.csv", text, &options).unwrap();
    assert_eq!(all(&mut trace).unwrap().len(), 2);
    assert_eq!((trace.tally().bad, trace.tally().first_bad.len()), (2, 2));
    assert_eq!(trace.tally().first_bad[1].place, Place::Line(4));
}

#[test]
fn a_survey_finds_all_bad_lines_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.csv");
    let text: String =
        (0..100).map(|i| if i % 3 == 1 { "0,R,x,4096,1\n" } else { "0,R,0,4096,1\n" }).collect();
    std::fs::write(&path, text).unwrap();
    let error = scan(&path, &Options::default()).unwrap_err();
    let TraceError::BadRecords { shown, total: 33, .. } = &error else { panic!("{error}") };
    assert_eq!(shown.len(), Tally::SHOWN);
    assert!(error.to_string().contains("and 23 more"), "{error}");
    let scan = scan(&path, &Options { skip_bad_lines: true, format: None }).unwrap();
    assert_eq!((scan.tally.records, scan.tally.bad), (67, 33));
}

#[test]
fn requests_of_no_bytes_and_impossible_ones_are_bad_lines() {
    for (line, what) in [
        ("0,R,0,0,1\n", "a read of 0 bytes"),
        ("0,W,0,4294967296,1\n", "shorter than 4 GiB"),
        ("0,W,18446744073709551615,4096,1\n", "beyond 16 EiB"),
        ("0,W,0,18446744073709551616,1\n", "too large"),
        ("0,W,0,4096,18446744073709551615\n", "beyond 584 years"),
        ("4294967296,W,0,4096,1\n", "at most 4294967295"),
        ("0,W,0,4096,1,2\n", "more than the 5 fields"),
        ("0,X,0,4096,1\n", "neither R nor W"),
        ("0,W,-1,4096,1\n", "'-1': not a whole number"),
    ] {
        let error = error("t.csv", format!("0,R,0,512,0\n0,R,0,512,0\n{line}").as_bytes());
        assert!(error.to_string().contains(what) && error.to_string().contains("line 3"), "{error}");
    }
}

#[test]
fn a_trace_without_requests_is_an_error() {
    for text in ["", "\n\n", "# nothing\n"] {
        let error = error("empty.csv", text.as_bytes());
        assert!(matches!(error, TraceError::Empty { format: None, .. }), "{error}");
    }
    assert!(matches!(error("e", b"fio version 2 iolog\n/x add\n/x close\n"), TraceError::Empty { .. }));
    assert!(matches!(error("e.gz", &gzip(b"")), TraceError::Empty { .. }));
    let alone = "time,\"operation\",offset\n";
    assert!(matches!(error("h.csv", alone.as_bytes()), TraceError::Empty { format: None, .. }));
    let more = format!("{alone}{alone}");
    assert!(matches!(error("h.csv", more.as_bytes()), TraceError::UnknownFormat { .. }));
    let header = b"Timestamp,Offset,Size,IOType,VolumeID\n";
    assert!(matches!(error("tencent.csv", header), TraceError::Empty { .. }));
    let options = Options { skip_bad_lines: true, format: Some(Format::Spc) };
    let mut trace = open("e", b"1,2\n3,4\n", &options).unwrap();
    let error = all(&mut trace).unwrap_err();
    assert!(matches!(error, TraceError::Empty { bad: 2, .. }), "{error}");
    assert!(trace.next_record().unwrap().is_none());
}

#[test]
fn what_is_no_trace_is_refused_with_the_known_formats() {
    let text = b"op_time,key,key_size,op\n604038471,82131353f9ddc8c6,48,GET\n604038471,a54f88,24,GET\n";
    let message = error("kv.csv", text).to_string();
    for name in ["mqsim", "msr-cut", "vscsi2", "blkparse", "fio3", "tencent"] {
        assert!(message.contains(name), "{message}");
    }
    assert!(message.contains("op_time,key"), "{message}");
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(error("t.tgz", &gzip(&tar)).to_string().contains("tar -xf"));
    assert!(error("t.xz", b"\xfd7zXZ\x00abc").to_string().contains("xz -d"));
    assert!(error("t", &[&b"0 0 8 8 1\n"[..], &[b'7'; 600_000]].concat()).to_string().contains("64 KiB"));
    assert!(matches!(
        Trace::open("/does/not/exist".as_ref(), &Options::default()),
        Err(TraceError::Read { .. })
    ));
}

#[test]
fn a_named_format_is_taken_at_its_word() {
    let options = Options { format: Some(Format::MsrCut), skip_bad_lines: false };
    let mut trace = open("t", b"1 0 4096 512 1\n", &options).unwrap();
    let record = all(&mut trace).unwrap()[0];
    assert_eq!((record.offset, record.len, record.op), (4096, 512, Op::Read));
}

#[test]
fn widening_covers_every_byte() {
    let record = |offset, len| Record {
        at: Nanos::ZERO,
        disk: 0,
        op: Op::Read,
        fua: false,
        offset,
        len,
        response: None,
    };
    assert_eq!((record(511, 2).sector(), record(511, 2).sectors()), (0, 2));
    assert_eq!((record(512, 512).sector(), record(512, 512).sectors()), (1, 1));
    assert_eq!((record(1000, 1).sector(), record(1000, 1).sectors()), (1, 1));
    assert_eq!((record(1, u32::MAX).sector(), record(1, u32::MAX).sectors()), (0, 1 << 23));
}
