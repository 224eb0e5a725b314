//! The runs in which the keys of a scenario are tried.

/// A drive of four chips with some hundred requests: a few milliseconds.
pub(super) const DRIVE: &[&str] = &[
    "device.preset=g-1g",
    "device.geometry.channels=2",
    "device.geometry.chips=2",
    "device.geometry.blocks=32",
    "device.geometry.pages=16",
    "precondition.state=steady",
    "precondition.fill=90%",
    "run.ramp=2ms",
    "run.duration=0s",
    "run.requests=1200",
    "run.round=20ms",
    "workload.pace=closed",
    "workload.depth=16",
    "workload.read=60%",
    "workload.flush_every=100",
    "workload.region_share=90%",
];
const OPEN: &[&str] = &["workload.pace=open", "workload.rate=30000", "run.requests=600"];
const MIXED: &[&str] = &[
    "workload.read_size=4KiB/50:16KiB/50",
    "workload.write_size=2KiB/50:8KiB/50",
    "workload.trim=10%",
    "workload.stream=1",
    "device.ftl.streams=2",
    "device.buffer.size=128KiB",
    "device.cache.size=256KiB",
    "device.cache.ahead=4",
    "workload.sequential=50%",
];
const PREEMPTING: &[&str] = &[
    "device.schedule.chip=reads-first",
    "device.preempt.program=reset",
    "device.preempt.erase=suspend",
    "workload.read_class=1",
    "workload.read=70%",
    "workload.depth=48",
];
const CHIP_DIES: &[&str] = &[
    "device.geometry.dies=2",
    "device.geometry.planes=2",
    "device.geometry.ready_busy=chip",
    "device.schedule.commit=sprinkler",
    "device.timing.cell=mlc",
    "device.timing.program=[\"200us\", \"2200us\"]",
    "workload.depth=64",
];

/// An array in which the reads of a write may preempt, by their class.
const PREEMPTING_ARRAY: &[&str] = &[
    "array.drives=3",
    "array.layout=raid5",
    "array.raid.journal=1MiB",
    "device.schedule.chip=reads-first",
    "device.preempt.program=suspend",
    "device.preempt.erase=suspend",
    "workload.read_class=1",
];
/// A small drive with data placement.
const PLACED: &[&str] = &[
    "device.preset=pm9a3-960",
    "device.superblock.erases=1",
    "device.geometry.channels=2",
    "device.geometry.chips=2",
    "device.geometry.blocks=64",
    "device.geometry.pages=24",
    "device.buffer.size=2MiB",
    "device.ftl.spare=40%",
    "device.fdp.handles=2",
];
const STORE: &[&str] =
    &["lsm.enabled=true", "lsm.scale=0.001", "device.geometry.blocks=128", "run.requests=0"];

/// What the runs differ in beside the drive: a name, and settings. `FILE` is a trace, `JOBS` a file of fio
/// jobs.
pub(super) const BASES: &[(&str, &[&[&str]])] = &[
    ("closed loop", &[]),
    ("open loop", &[OPEN]),
    ("bursts", &[OPEN, &["workload.arrivals=bursts", "workload.idle=3ms", "workload.burst_time=3ms"]]),
    ("mixed sizes", &[MIXED]),
    ("pages without data", &[&["precondition.fill=30%"]]),
    ("preemption", &[PREEMPTING]),
    ("dies of a chip", &[CHIP_DIES]),
    ("short queue", &[&["device.queue.depth=32", "workload.read=10%"]]),
    ("suspended programs", &[PREEMPTING, &["device.preempt.program=suspend", "device.preempt.erase=reset"]]),
    ("d-choices", &[&["device.gc.victim=d-choices", "workload.read=20%", "device.wear.levelling=true"]]),
    (
        "fifo",
        &[&[
            "device.schedule.chip=fifo",
            "workload.read_class=1",
            "beside.read_class=3",
            "beside.enabled=true",
        ]],
    ),
    (
        "timed erases",
        &[&[
            "device.preempt.time_erases=true",
            "device.schedule.classes=equal",
            "device.gc.low=6",
            "device.gc.high=9",
            "device.gc.background=true",
            "device.wear.levelling=true",
            "device.wear.spread=2",
            "workload.read=40%",
            "workload.trim=10%",
            "workload.pace=open",
            "workload.rate=3000",
        ]],
    ),
    ("zipf", &[&["workload.addresses.distribution=zipf", "workload.write_addresses.distribution=zipf"]]),
    (
        "pareto",
        &[&["workload.addresses.distribution=pareto", "workload.write_addresses.distribution=pareto"]],
    ),
    (
        "normal",
        &[&["workload.addresses.distribution=normal", "workload.write_addresses.distribution=normal"]],
    ),
    (
        "hot and cold",
        &[&["workload.addresses.distribution=hot-cold", "workload.write_addresses.distribution=hot-cold"]],
    ),
    ("zones", &[&["workload.addresses.distribution=zoned", "workload.write_addresses.distribution=zoned"]]),
    (
        "open loop beside",
        &[OPEN, &["beside.enabled=true", "beside.pace=open", "beside.rate=9000", "beside.arrivals=bursts"]],
    ),
    (
        "zipf beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=zipf",
            "beside.write_addresses.distribution=zipf",
        ]],
    ),
    (
        "pareto beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=pareto",
            "beside.write_addresses.distribution=pareto",
        ]],
    ),
    (
        "normal beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=normal",
            "beside.write_addresses.distribution=normal",
        ]],
    ),
    (
        "hot and cold beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=hot-cold",
            "beside.write_addresses.distribution=hot-cold",
        ]],
    ),
    (
        "zones beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=zoned",
            "beside.write_addresses.distribution=zoned",
        ]],
    ),
    (
        "durable writes",
        &[&["device.buffer.capacitor=false", "beside.enabled=true", "device.buffer.size=128KiB"]],
    ),
    ("paced", &[OPEN, &["device.pacing.mode=even", "device.pacing.most=3000", "device.pacing.growth=50%"]]),
    ("until steady", &[&["run.until_steady=true", "run.round=20ms", "run.requests=30000"]]),
    (
        "beside",
        &[
            MIXED,
            &[
                "beside.enabled=true",
                "beside.requests=300",
                "beside.depth=4",
                "beside.trim=10%",
                "beside.read_class=1",
            ],
        ],
    ),
    (
        "superblocks",
        &[&[
            "device.preset=pm9a3-960",
            "device.superblock.erases=1",
            "device.geometry.channels=2",
            "device.geometry.chips=2",
            "device.geometry.blocks=64",
            "device.geometry.pages=24",
            "device.buffer.size=512KiB",
        ]],
    ),
    ("block mapping", &[&["device.ftl.mapping=block", "device.geometry.blocks=64"]]),
    ("sets", &[&["device.sets.count=2", "array.members=sets", "array.drives=2", "array.layout=raid0"]]),
    (
        "raid5",
        &[&[
            "array.drives=3",
            "array.layout=raid5",
            "array.reads=fail-fast",
            "array.raid.journal_always=true",
            "array.raid.journal=1MiB",
        ]],
    ),
    (
        "raid4",
        &[&[
            "array.drives=3",
            "array.layout=raid4",
            "array.raid.journal=1MiB",
            "array.checksums=on",
            "array.checksums_idle=1ms",
            "array.reads=around-collection",
            "array.turns=5ms",
        ]],
    ),
    (
        "swan",
        &[&[
            "array.drives=6",
            "array.groups=2",
            "array.layout=swan4",
            "array.log.segment=256KiB",
            "run.requests=3000",
        ]],
    ),
    (
        "log",
        &[&["array.drives=4", "array.layout=log-raid5", "array.log.segment=256KiB", "run.requests=3000"]],
    ),
    (
        "epochs",
        &[&[
            "array.drives=4",
            "array.groups=2",
            "array.layout=epochs",
            "array.epoch.cache=1MiB",
            "run.requests=3000",
        ]],
    ),
    ("host", &[&["host.strategy=coop", "host.background=cpu", "host.cores=2", "run.requests=600"]]),
    ("polling host", &[&["host.strategy=poll", "host.background=io", "run.requests=600"]]),
    ("precompleting host", &[&["host.strategy=precomplete", "host.drives=2", "run.requests=600"]]),
    (
        "host of an array",
        &[&[
            "host.strategy=coop",
            "array.drives=3",
            "array.layout=raid5",
            "array.raid.journal=1MiB",
            "host.cores=2",
            "run.requests=600",
        ]],
    ),
    (
        "host of an array that copies",
        &[&[
            "host.strategy=coop",
            "host.array_block=20us",
            "array.drives=3",
            "array.layout=raid5",
            "array.raid.journal=1MiB",
            "host.cores=2",
            "workload.read=20%",
            "run.requests=600",
        ]],
    ),
    (
        "store in streams",
        &[
            STORE,
            &["lsm.gets=500", "lsm.puts=4000", "lsm.keys=5000", "device.ftl.streams=4", "lsm.streams=2"],
        ],
    ),
    (
        "store on a log",
        &[
            STORE,
            &["lsm.gets=500", "lsm.puts=4000", "lsm.keys=5000"],
            &["array.drives=4", "array.layout=log-raid5", "array.log.segment=256KiB"],
        ],
    ),
    (
        "reclaim unit handles",
        &[
            PLACED,
            &[
                "precondition.fill=100%",
                "workload.region_share=100%",
                "workload.read=5%",
                "workload.stream=1",
                "beside.enabled=true",
                "run.requests=20000",
            ],
        ],
    ),
    (
        "cache",
        &[&[
            "kv.enabled=true",
            "kv.items=4000",
            "kv.memory=1MiB",
            "kv.segment=256KiB",
            "kv.keep=what-is-used",
            "kv.write_budget=1GiB",
        ]],
    ),
    ("server", &[&["kv.enabled=true", "kv.items=2000", "kv.memory=1MiB", "kv.segment=256KiB"]]),
    (
        "store",
        &[&[
            "lsm.enabled=true",
            "lsm.gets=500",
            "lsm.puts=4000",
            "lsm.scale=0.001",
            "lsm.keys=5000",
            "device.geometry.blocks=128",
            "run.requests=0",
        ]],
    ),
    (
        "YCSB",
        &[&[
            "lsm.enabled=true",
            "lsm.mix=ycsb-a",
            "lsm.operations=2000",
            "lsm.scale=0.001",
            "lsm.keys=5000",
            "device.geometry.blocks=128",
            "run.requests=0",
        ]],
    ),
    ("trace", &[&["trace.file=FILE"]]),
    ("closed trace", &[&["trace.file=FILE", "trace.timing=closed"]]),
    ("disks of a trace", &[PLACED, &["trace.file=FILE", "trace.times=40", "run.requests=0"]]),
    ("fio", &[&["fio.file=JOBS"]]),
    ("data centre", &[&["datacenter.workload=cfs0"]]),
    ("open data centre", &[&["datacenter.workload=cfs0", "datacenter.pace=open"]]),
    (
        "a drive that comes back",
        &[&[
            "array.drives=3",
            "array.layout=raid5",
            "array.raid.journal=1MiB",
            "array.incidents=1ms remove 1; 2ms return 1",
            "run.requests=3000",
        ]],
    ),
    // Each of the following is there for the few keys that none of the others reaches.
    (
        "three copies",
        &[&[
            "array.drives=6",
            "array.groups=3",
            "array.layout=epochs",
            "array.epoch.cache=1MiB",
            "run.requests=3000",
        ]],
    ),
    (
        "GC control",
        &[&[
            "array.drives=4",
            "array.groups=2",
            "array.layout=epochs",
            "array.epoch.cache=1MiB",
            "array.epoch.mode=gc-control",
            "run.requests=3000",
        ]],
    ),
    (
        "turns of drives",
        &[&[
            "array.drives=3",
            "array.layout=raid4",
            "array.raid.journal=1MiB",
            "array.reads=around-collection",
            "array.turns=5ms",
            "workload.read=30%",
            "run.requests=3000",
        ]],
    ),
    (
        "classes of writes",
        &[
            PREEMPTING_ARRAY,
            &["beside.enabled=true", "beside.read=20%", "beside.read_class=1", "run.requests=3000"],
        ],
    ),
    (
        "an idle drive",
        &[&[
            "device.gc.low=6",
            "device.gc.high=9",
            "device.gc.background=true",
            "workload.read=20%",
            "workload.pace=open",
            "workload.rate=300",
            "run.requests=3000",
        ]],
    ),
    (
        "wear",
        &[&[
            "device.wear.spread=2",
            "device.buffer.size=64KiB",
            "workload.region_share=30%",
            "workload.read=0%",
            "workload.pace=open",
            "workload.rate=2000",
            "run.requests=20000",
        ]],
    ),
    (
        "submission queues",
        &[&[
            "device.queue.commands=4",
            "device.ftl.streams=2",
            "workload.depth=64",
            "beside.enabled=true",
            "beside.stream=1",
        ]],
    ),
    ("AHCI", &[&["device.queue.protocol=ahci", "device.queue.depth=32", "workload.trim=10%"]]),
    (
        "pages that move",
        &[&[
            "device.schedule.commit=sprinkler",
            "precondition.fill=100%",
            "workload.region_share=100%",
            "workload.depth=256",
            "workload.read=50%",
            "run.requests=4000",
        ]],
    ),
    (
        "full superblocks",
        &[&[
            "device.preset=pm9a3-960",
            "device.superblock.erases=1",
            "device.geometry.channels=2",
            "device.geometry.chips=2",
            "device.geometry.blocks=64",
            "device.geometry.pages=24",
            "device.buffer.size=512KiB",
            "precondition.fill=100%",
            "workload.region_share=100%",
            "workload.read=5%",
            "run.requests=20000",
        ]],
    ),
    (
        "erases that are reset",
        &[
            PREEMPTING,
            &[
                "device.preempt.program=suspend",
                "device.preempt.erase=reset",
                "workload.read=60%",
                "run.requests=8000",
            ],
        ],
    ),
    (
        "an array's thread on a core with others",
        &[&[
            "host.strategy=coop",
            "host.cores=1",
            "array.drives=3",
            "array.layout=raid5",
            "array.raid.journal=1MiB",
            "run.requests=1500",
        ]],
    ),
    (
        "classes of a store",
        &[STORE, PREEMPTING_ARRAY, &["lsm.gets=500", "lsm.puts=20000", "lsm.keys=5000", "lsm.sync_every=10"]],
    ),
    (
        "a store that makes puts wait",
        &[STORE, &["lsm.readers=0", "lsm.puts=40000", "lsm.keys=5000", "lsm.l0_slowdown=4", "lsm.l0_stop=6"]],
    ),
    (
        "a store in its own proportions",
        &[
            STORE,
            &[
                "lsm.gets=500",
                "lsm.puts=4000",
                "lsm.keys=5000",
                "lsm.scale=1",
                "lsm.write_buffer=64KiB",
                "lsm.target_file=64KiB",
                "lsm.base_level=256KiB",
                "lsm.block_cache=64KiB",
            ],
        ],
    ),
    ("a store that fills its region", &[STORE, &["lsm.gets=500", "lsm.puts=4000"]]),
];
