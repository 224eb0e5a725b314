//! The trace formats by name.

use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// A format of block traces. Sectors are 512 bytes everywhere.
    pub enum Format {
        /// The simulator MQSim's text.
        Mqsim = "mqsim",
        /// SSDsim's text: the same fields as MQSim's.
        Ssdsim = "ssdsim",
        /// Windows of MSR Cambridge volumes as replayers take them.
        MsrCut = "msr-cut",
        /// DiskSim's ASCII traces.
        Disksim = "disksim",
        /// MSR Cambridge volumes in the original CSV (SNIA IOTTA 388).
        Msr = "msr",
        /// VMware's vscsi traces, version 1, as CloudPhysics published them.
        Vscsi1 = "vscsi1",
        /// VMware's vscsi traces, version 2: with response times.
        Vscsi2 = "vscsi2",
        /// The text of blkparse in its default format.
        Blkparse = "blkparse",
        /// The Storage Performance Council's trace format, as in the UMass repository.
        Spc = "spc",
        /// fio's I/O log, version 2: without times, but with waits.
        Fio2 = "fio2",
        /// fio's I/O log, version 3.
        Fio3 = "fio3",
        /// Alibaba Cloud block traces.
        Alibaba = "alibaba",
        /// Tencent Cloud block storage traces.
        Tencent = "tencent",
    }
}

impl Format {
    /// The layout of a record, with units, for messages.
    pub const fn layout(self) -> &'static str {
        match self {
            Format::Mqsim | Format::Ssdsim => "time_ns device first_sector sectors op(0=write, 1=read)",
            Format::MsrCut => "time_ms device offset_bytes size_bytes op(0=write, 1=read)",
            Format::Disksim => "time_ms device first_sector sectors op(0=write, 1=read)",
            Format::Msr => "filetime_100ns,host,disk,Read|Write,offset_bytes,size_bytes,response_100ns",
            Format::Vscsi1 => {
                "32 bytes little-endian: u32 serial, u32 bytes, u32 segments, u16 command, u16 version \
                 0x01xx, u64 sector, u64 time_us"
            }
            Format::Vscsi2 => {
                "40 bytes little-endian: u16 command, u16 version 0x02xx, u32 serial, u32 bytes, u32 \
                 segments, u64 sector, u64 time_us, u64 response_us"
            }
            Format::Blkparse => {
                "major,minor cpu sequence time_s pid action rwbs first_sector + sectors [process]"
            }
            Format::Spc => "asu,first_sector,size_bytes,R|W,time_s",
            Format::Fio2 => {
                "file read|write|trim|sync|datasync|wait offset_bytes length_bytes (wait: microseconds)"
            }
            Format::Fio3 => "time_us file read|write|trim|sync|datasync offset_bytes length_bytes",
            Format::Alibaba => "device,R|W,offset_bytes,length_bytes,time_us",
            Format::Tencent => "time_s,first_sector,sectors,0(read)|1(write),volume",
        }
    }

    /// The smallest step of the format's clock in nanoseconds.
    pub const fn tick_ns(self) -> u64 {
        match self {
            Format::Mqsim
            | Format::Ssdsim
            | Format::MsrCut
            | Format::Disksim
            | Format::Blkparse
            | Format::Spc => 1,
            Format::Msr => 100,
            Format::Vscsi1 | Format::Vscsi2 | Format::Fio2 | Format::Fio3 | Format::Alibaba => 1_000,
            Format::Tencent => 1_000_000_000,
        }
    }

    /// True when addresses are given in sectors, so that a request cannot begin within one.
    pub const fn in_sectors(self) -> bool {
        matches!(self, Format::Mqsim | Format::Ssdsim | Format::Disksim | Format::Blkparse | Format::Tencent)
            || matches!(self, Format::Vscsi1 | Format::Vscsi2 | Format::Spc)
    }

    /// True when a line of column names may come first.
    pub(super) const fn may_have_header(self) -> bool {
        !matches!(self, Format::Blkparse | Format::Fio2 | Format::Fio3 | Format::Vscsi1 | Format::Vscsi2)
    }

    /// The size of a record for formats of records of bytes; `None` for formats of lines.
    pub(super) const fn record_bytes(self) -> Option<usize> {
        match self {
            Format::Vscsi1 => Some(32),
            Format::Vscsi2 => Some(40),
            _ => None,
        }
    }

    /// The format that a file of this name probably has; compression suffixes are ignored. A
    /// hint only: content decides first.
    pub fn by_file_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        if let Some(format) = name.rsplit('.').find_map(Format::by_name) {
            return Some(format);
        }
        let hints = [
            (".ascii", Format::Ssdsim),
            ("mqsim", Format::Mqsim),
            ("ssdsim", Format::Ssdsim),
            ("msr_cut", Format::MsrCut),
            ("vscsi2", Format::Vscsi2),
            ("vscsi", Format::Vscsi1),
            ("blkparse", Format::Blkparse),
            (".blktrace.txt", Format::Blkparse),
            (".spc", Format::Spc),
            ("iolog", Format::Fio3),
            ("alibaba", Format::Alibaba),
            ("tencent", Format::Tencent),
            ("msr", Format::Msr),
        ];
        hints.iter().find(|(part, _)| name.contains(part)).map(|&(_, format)| format)
    }
}
