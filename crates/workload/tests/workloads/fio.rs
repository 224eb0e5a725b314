//! fio job files: their parsed form, and the messages for invalid ones.

use proptest::prelude::*;
use tailcut_base::{Nanos, Op};
use tailcut_workload::address::Place;
use tailcut_workload::fio::{FioJob, FioJobs};
use tailcut_workload::recipe::Recipe;
use tailcut_workload::size::Sizes;
use tailcut_workload::{ArrivalPlan, Pace, Pattern, Request, Source};

/// 1 GiB.
const DEVICE: u64 = 1 << 21;

fn parse(text: &str) -> FioJobs {
    FioJobs::parse("test.fio", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn recipe(job: &FioJob) -> Recipe {
    job.recipe(DEVICE).unwrap_or_else(|errors| panic!("{errors}"))
}

fn requests(job: &FioJob) -> Vec<Request> {
    let mut source = job.source(DEVICE, 1).unwrap_or_else(|errors| panic!("{errors}"));
    std::iter::from_fn(|| source.next()).take(1_000_000).collect()
}

fn errors(text: &str) -> String {
    FioJobs::parse("test.fio", text).expect_err("a bad file").to_string()
}

#[test]
fn a_random_read_job_covers_every_block_once() {
    let jobs = parse(
        "; the usual first \
            job\n[first]\nrw=randread\nbs=4k\nsize=1m\nioengine=libaio\niodepth=32\ndirect=1\n",
    );
    assert_eq!((jobs.jobs.len(), jobs.notes.len()), (1, 0));
    let mut sectors: Vec<u64> = requests(&jobs.jobs[0]).iter().map(|r| r.sector).collect();
    assert!(!sectors.is_sorted());
    sectors.sort_unstable();
    assert_eq!(sectors, (0..256).map(|i| i * 8).collect::<Vec<_>>());
    let source = jobs.jobs[0].source(DEVICE, 1).expect("fits");
    assert_eq!(source.pace(), Pace::Closed { depth: 32, think: Nanos::ZERO });
    assert_eq!((source.name(), source.len_hint()), ("first", Some(256)));
}

#[test]
fn reads_and_writes_of_a_mixed_job_share_one_map_of_blocks() {
    let jobs = parse("[mix]\nrw=randrw\nrwmixread=70\nsize=16m\n");
    let drawn = requests(&jobs.jobs[0]);
    let mut sectors: Vec<u64> = drawn.iter().map(|r| r.sector).collect();
    sectors.sort_unstable();
    sectors.dedup();
    assert_eq!((drawn.len(), sectors.len()), (4096, 4096));
    let reads = drawn.iter().filter(|r| r.op == Op::Read).count() as f64 / 4096.0;
    assert!((reads - 0.7).abs() < 0.04, "{reads}");
}

#[test]
fn writes_name_the_placement_identifiers_of_their_job() {
    let streams = |text: &str| {
        let jobs = parse(&format!("[job]\nrw=randwrite\nsize=16m\n{text}"));
        requests(&jobs.jobs[0]).iter().map(|request| request.stream).collect::<Vec<_>>()
    };
    assert!(streams("plids=2\n").iter().all(|&stream| stream == 0), "they are not asked for");
    assert!(streams("fdp=1\nfdp_pli=2\n").iter().all(|&stream| stream == 2));
    assert_eq!(streams("dataplacement=fdp\nplids=1,3-4\n")[..5], [1, 3, 4, 1, 3]);
    let random = streams("dataplacement=streams\nplids=1,3-4\nplid_select=random\n");
    for wanted in [1, 3, 4] {
        let share = random.iter().filter(|&&stream| stream == wanted).count() as f64 / random.len() as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.03, "{share} of stream {wanted}");
    }
    let jobs = parse("[job]\nrw=write\nnumjobs=2\nfdp=1\nplids=1,3\n");
    let notes = jobs.beyond(3);
    assert_eq!((notes.len(), jobs.beyond(4)), (1, vec![]));
    assert!(notes[0].to_string().starts_with("line 5: plids: the drive has placement identifiers 0 to 2"));
    let jobs = parse("[job]\nrw=write\nfdp=1\n");
    assert!(jobs.notes[0].to_string().contains("line 3: fdp: all writes name placement identifier 0"));
    assert_eq!(
        errors("[job]\nrw=write\nfdp=1\nplids=1-\nplid_select=scheme\n"),
        "test.fio:4: plids: '' is no placement identifier from 0 to 255\n\
         test.fio:5: plid_select: scheme is not supported; write a job for each range of offsets"
    );
}

#[test]
fn an_enterprise_test_file_is_read_as_written() {
    let jobs = parse(
        "[global]
ioengine=io_uring
direct=1
bs=4k
iodepth=64
numjobs=4
group_reporting
time_based
runtime=2m
ramp_time=10   ; seconds
norandommap=1
randrepeat=0
size=100%

[oltp]
rw=randrw
rwmixread=70
random_distribution=zipf:0.9

[log]
stonewall
rw=write
bs=64k
iodepth=1
numjobs=1
fsync=1
startdelay=500ms
",
    );
    let names: Vec<_> = jobs.jobs.iter().map(|j| (j.name.as_str(), j.group)).collect();
    assert_eq!(names, [("oltp.0", 0), ("oltp.1", 0), ("oltp.2", 0), ("oltp.3", 0), ("log", 1)]);

    let oltp = recipe(&jobs.jobs[2]);
    assert_eq!((oltp.read_ppm, oltp.depth, oltp.region, oltp.sectors), (700_000, 64, DEVICE, None));
    assert_eq!(oltp.read.pattern, Pattern::Zipf { theta: 0.9, place: Place::Scattered });
    assert_eq!((oltp.schedule.ramp, oltp.schedule.until), (Nanos::secs(10), Some(Nanos::secs(130))));

    let log = recipe(&jobs.jobs[4]);
    assert_eq!((log.write_ppm(), log.depth, log.flush_every), (1_000_000, 1, 1));
    assert_eq!((&log.write.pattern, &log.write.sizes), (&Pattern::Sequential, &Sizes::Fixed(128)));
    assert_eq!((log.schedule.group, log.schedule.start), (1, Nanos::millis(500)));

    let notes: Vec<String> = jobs.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "line 7: group_reporting: ignored: it says how fio reports; this program reports in its own way",
            "line 12: randrepeat: ignored: it fixes fio's random numbers; here the seed of the run does",
            "line 18: random_distribution: drawn exactly; fio approximates it, with a small error at the \
                most popular blocks",
        ]
    );
}

#[test]
fn clones_draw_their_own_requests_and_take_their_offsets() {
    let jobs = parse("[job]\nrw=randread\nnumjobs=3\noffset=1m\noffset_increment=10m\nsize=10m\n");
    let firsts: Vec<u64> = jobs.jobs.iter().map(|j| recipe(j).first).collect();
    assert_eq!(firsts, [2048, 2048 + 20480, 2048 + 40960]);
    let relative =
        |i: usize| requests(&jobs.jobs[i]).iter().map(|r| r.sector - firsts[i]).collect::<Vec<_>>();
    assert_ne!(relative(0), relative(1));
    assert_eq!(jobs.sources(DEVICE, 1).expect("fits").len(), 3);
}

#[test]
fn block_sizes_take_every_form() {
    let jobs = parse(
        "[global]
rw=randrw
[a]
bs=8k,32k
[b]
bssplit=4k/10:64k/50:32k/40,4k/90:8k/10
[c]
bsrange=1k-4k,2k-9k
[d]
bsrange=1k-4k
blocksize_unaligned
[e]
bs=3k
ba=512
",
    );
    let recipes: Vec<Recipe> = jobs.jobs.iter().map(recipe).collect();
    assert_eq!((&recipes[0].read.sizes, &recipes[0].write.sizes), (&Sizes::Fixed(16), &Sizes::Fixed(64)));
    let split = &recipes[1].read.sizes;
    assert_eq!((split.smallest(), split.largest(), split.mean()), (8, 128, 0.8 + 64.0 + 25.6));
    assert_eq!(recipes[1].write.sizes.mean(), 7.2 + 1.6);
    assert_eq!(recipes[2].read.sizes, Sizes::Range { smallest: 2, largest: 8, step: 2 });
    assert_eq!(recipes[2].write.sizes, Sizes::Range { smallest: 4, largest: 16, step: 4 });
    assert_eq!(recipes[3].read.sizes, Sizes::Range { smallest: 2, largest: 8, step: 1 });
    assert_eq!((recipes[4].read.align, &recipes[4].read.pattern), (1, &Pattern::Uniform));
}

#[test]
fn rates_open_the_loop() {
    let jobs = parse(
        "[a]
rw=randread
rate_iops=1000
[b]
rw=randrw
rate_iops=3000,1000
rate_process=poisson
[c]
rw=randrw
bs=4k,8k
rate=8m,8m
",
    );
    let recipes: Vec<Recipe> = jobs.jobs.iter().map(recipe).collect();
    assert_eq!(recipes[0].arrivals, ArrivalPlan::Uniform { rate: 1000 });
    assert_eq!((recipes[1].arrivals, recipes[1].read_ppm), (ArrivalPlan::Poisson { rate: 4000 }, 750_000));
    assert_eq!(
        (recipes[2].arrivals, recipes[2].read_ppm),
        (ArrivalPlan::Bandwidth { rate: 16 << 20 }, 666_667)
    );
}

#[test]
fn pauses_limit_the_depth_as_in_fio() {
    let jobs = parse("[a]\nthinktime=100\nthinktime_blocks=4\niodepth=16\nioengine=libaio\n");
    let source = jobs.jobs[0].source(DEVICE, 1).expect("fits");
    assert_eq!(source.pace(), Pace::Closed { depth: 4, think: Nanos::micros(100) });
    assert_eq!(source.think_every(), 4);
    assert_eq!(jobs.notes.len(), 1);
}

#[test]
fn limits_end_a_job() {
    let count = |text: &str| requests(&parse(text).jobs[0]).len();
    assert_eq!(count("[a]\nrw=randwrite\nsize=1m\nio_size=2m\n"), 512);
    assert_eq!(count("[a]\nrw=randwrite\nsize=1m\nloops=3\n"), 768);
    assert_eq!(count("[a]\nrw=randwrite\nsize=1m\nnumber_ios=100\n"), 100);
    assert_eq!(count("[a]\nrw=read\nsize=1m\nio_size=50%\n"), 128);
    assert_eq!(count("[a]\nrw=write\nsize=1m\nfsync=16\n"), 256 + 16);
}

#[test]
fn runs_and_gaps_behind_the_colon_of_rw() {
    let starts = |text: &str| requests(&parse(text).jobs[0]).iter().map(|r| r.sector).collect::<Vec<_>>();
    assert_eq!(starts("[a]\nrw=read:4k\nsize=32k\nnumber_ios=5\n"), [0, 16, 32, 48, 0]);
    let runs = starts("[a]\nrw=randread:4\nnorandommap\nnumber_ios=400\n");
    let follows = runs.windows(2).filter(|w| w[1] == w[0] + 8).count();
    assert_eq!(follows, 300);
    let same = starts("[a]\nrw=randread:4\nnorandommap\nrw_sequencer=identical\nnumber_ios=400\n");
    assert_eq!(same.windows(2).filter(|w| w[1] == w[0]).count(), 300);
}

#[test]
fn distributions_take_every_form() {
    let pattern = |text: &str| {
        recipe(&parse(&format!("[a]\nrw=randread\nrandom_distribution={text}\n")).jobs[0]).read.pattern
    };
    assert_eq!(pattern("zipf:1.2:0.25"), Pattern::Zipf { theta: 1.2, place: Place::From(250_000) });
    assert_eq!(pattern("pareto:0.2"), Pattern::Pareto { h: 0.2, place: Place::Scattered });
    assert_eq!(pattern("normal:5"), Pattern::Normal { width_ppm: 50_000, centre_ppm: 500_000 });
    let Pattern::Zoned(zones) = pattern("zoned:60/10:30/20:8/30:2/40") else { panic!("zoned") };
    assert_eq!((zones.len(), zones[1].access_ppm, zones[1].space_ppm), (4, 300_000, 200_000));
    assert_eq!(pattern("random"), Pattern::Cover);
}

#[test]
fn synchronous_writes_have_force_unit_access_and_synchronous_engines_no_queue() {
    let jobs = parse("[a]\nrw=write\nsync=dsync\nioengine=psync\niodepth=8\n");
    let recipe = recipe(&jobs.jobs[0]);
    assert_eq!((recipe.fua_ppm, recipe.depth), (1_000_000, 1));
    assert_eq!(jobs.notes[0].line, 5);
}

#[test]
fn all_errors_of_a_file_come_at_once_with_their_lines() {
    let text = "rw=read
[global]
bs=5
iodepht=4
include other.fio
filename=${DEVICE}
[a
rw=trimwrite
size=0
iodepth=0
[b]
rw=randrw
random_distribution=zoned_abs:60/20G:40/1G
bssplit=4k/60:8k/60
read_iolog=trace.log
time_based
frobnicate_all=1
ioengine=net
bs=4KiB
";
    assert_eq!(
        errors(text),
        "test.fio:1: rw: stands before the first section; put it under [global] or the name of a job in \
         brackets
test.fio:3: bs: 5 bytes is no multiple of 512, the sector of the interface
test.fio:4: \
         iodepht: is no key of fio; did you mean 'iodepth'?
test.fio:5: include: other files are not read; \
         copy the lines of that file here
test.fio:6: filename: environment variables are not replaced; \
         write the value itself in place of '${DEVICE}'
test.fio:7: [a: the bracket is not closed; write \
         [name]
test.fio:8: rw: trimwrite is not supported; use a trim job and a write job
test.fio:9: size: \
         a size of 0 holds no request; leave size out for the whole device
test.fio:10: iodepth: 0 is out of \
         range; it must be 1 to 1048576
test.fio:13: random_distribution: zoned_abs is not supported; use \
         zoned with percentages
test.fio:14: bssplit: the shares add up to 120 %, not to 100 %
test.fio:15: \
         read_iolog: is not supported; replay the log as a trace instead
test.fio:16: time_based: needs a \
         runtime; add runtime=60, for example
test.fio:17: frobnicate_all: is no key of fio that is known \
         here; leave it out
test.fio:18: ioengine: 'net' does not read and write a block device; use libaio, \
         io_uring or psync
test.fio:19: bs: 4000 bytes is no multiple of 512, the sector of the interface; \
         with fio's default kb_base=1024, Ki means 1000, so write 4k for 4096 bytes"
    );
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    assert_eq!(
        errors("[a]\nrw=rw\nrate=1m\nrate_iops=,5\nthinktime=1\n"),
        "test.fio:3: rate: cannot be combined with rate_iops; keep one of them
test.fio:5: thinktime: cannot be combined with a rate here; keep one of them"
    );
    assert!(errors("[a]\nrw=rw\nrate_iops=,5\n").contains("limits one direction only"));
    assert!(errors("[global]\nrw=read\n").contains("the file has no job"));
    assert!(errors("").contains("test.fio:1: [job]: the file has no job"));
    assert!(errors("[a]\nnumjobs=4096\n[b]\n").contains("more than 4096 jobs"));
}

#[test]
fn what_does_not_fit_the_device_names_the_line() {
    let jobs = parse("[a]\nsize=2g\nnumjobs=2\n[b]\nbs=1m\nsize=64k\n[c]\noffset=1g\n");
    let errors = jobs.sources(DEVICE, 1).expect_err("does not fit").to_string();
    assert_eq!(
        errors,
        "test.fio:2: size: a.0 ends beyond the device of 1073741824 bytes; use size=100% for all that there is
test.fio:2: size: a.1 ends beyond the device of 1073741824 bytes; use size=100% for all that there is
test.fio:5: bs: a request of 1MiB does not fit into the region of 64KiB
test.fio:8: offset: c starts at or beyond the end of the device of 1073741824 bytes"
    );
}

/// Lines that resemble those of a job file.
fn lines() -> impl Strategy<Value = String> {
    let keys = [
        "rw",
        "bs",
        "bssplit",
        "bsrange",
        "ba",
        "size",
        "offset",
        "offset_increment",
        "io_size",
        "iodepth",
        "random_distribution",
        "rate",
        "rate_iops",
        "percentage_random",
        "thinktime",
        "runtime",
        "loops",
        "number_ios",
        "rwmixwrite",
        "fsync",
        "kb_base",
        "startdelay",
        "norandommap",
        "time_based",
        "stonewall",
        "nrfiles",
        "sync",
        "filename",
        "numjobs",
        "rate_process",
        "thinktime_blocks",
    ];
    let values = prop_oneof![
        "[0-9a-z:/,%.-]{0,12}",
        "(0|1|2|7|4k|1m|50%|18446744073709551615|1g)(,(0|8k|1t|))?",
        "(rand)?(rw|read|write|trim)(:[0-9]{1,4})?",
        "(zipf|pareto|normal|zoned|random):[0-9./:]{0,10}",
        "(poisson|1000|1024|identical|dsync)",
    ];
    prop_oneof![
        8 => (prop::sample::select(keys.to_vec()), values).prop_map(|(key, value)| format!("{key}={value}")),
        2 => "\\[[a-c]{0,2}\\]|\\[global\\]",
        1 => ".{0,20}",
    ]
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(\\[|\\]|=|#|;|\\$|\n|.){0,200}") {
        let _ = FioJobs::parse("test.fio", &text);
    }

    #[test]
    fn likely_text_never_panics_and_what_is_taken_stays_in_the_device(
        lines in prop::collection::vec(lines(), 0..12),
        device in prop_oneof![0u64..64, Just(DEVICE)],
    ) {
        let text = format!("[a]\n{}", lines.join("\n"));
        let Ok(jobs) = FioJobs::parse("test.fio", &text) else { return Ok(()) };
        for job in jobs.jobs.iter().take(3) {
            let Ok(mut source) = job.source(device, 1) else { continue };
            for request in std::iter::from_fn(|| source.next()).take(50) {
                prop_assert!(request.sector + u64::from(request.sectors) <= device, "{}", text);
                prop_assert!(request.sectors > 0 || request.op == Op::Flush);
            }
        }
    }

    #[test]
    fn one_line_never_panics_and_always_says_where(line in lines()) {
        if let Err(errors) = FioJobs::parse("test.fio", &format!("[a]\n{line}")) {
            prop_assert!(errors.0.iter().all(|e| (1..=2).contains(&e.line) && !e.message.is_empty()));
        }
    }
}
