//! A drive with a fixed latency per request, whatever is in flight, for `tailcut bench path`.

use std::collections::VecDeque;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Spans, Status, Time};
use tailcut_host::{BLOCK_SECTORS, Bytes, Request, Response};
use tailcut_rt::{Announcement, Answers, Drive};

/// A drive of zeros with a fixed latency.
///
/// # Examples
/// ```
/// use tailcut_base::fdp::HandleId;
/// use tailcut_base::{Class, Nanos, Op, Time};
/// use tailcut_host::{Mirror, Request};
/// use tailcut_path::FixedDrive;
/// use tailcut_rt::{Answers, Drive};
///
/// let mut drive = FixedDrive::new(Nanos::micros(10), 8);
/// let (op, class, mirror, data) = (Op::Read, Class::DEFAULT, Mirror::Any, Vec::new());
/// let (fua, fail_fast, handle) = (false, false, HandleId::FIRST);
/// let read = Request { id: 7, op, fua, class, fail_fast, mirror, handle, block: 9, blocks: 1, data };
/// drive.submit(Time(500), read);
/// let mut answers = Answers::default();
/// drive.poll(Time(10_499), &mut answers);
/// assert!(answers.responses.is_empty());
/// drive.poll(Time(10_500), &mut answers);
/// assert_eq!(answers.responses[0].id, 7);
/// ```
#[derive(Debug)]
pub struct FixedDrive {
    latency: Nanos,
    depth: u32,
    /// In order of completion.
    under_way: VecDeque<(Time, Request<Bytes>)>,
    /// Number of requests at the end of the queue that have not been announced.
    unannounced: usize,
    replies: Vec<(Control, ControlReply)>,
    late: LatencyHistogram,
}

impl FixedDrive {
    /// A drive with queue depth `depth` that completes each request after `latency`.
    pub fn new(latency: Nanos, depth: u32) -> FixedDrive {
        FixedDrive {
            latency,
            depth,
            under_way: VecDeque::with_capacity(depth as usize),
            unannounced: 0,
            replies: Vec::new(),
            late: LatencyHistogram::new(),
        }
    }

    /// How long after its completion time each completion was polled.
    pub fn late(&self) -> &LatencyHistogram {
        &self.late
    }
}

impl Drive for FixedDrive {
    fn identify(&self) -> Identify {
        Identify {
            model: "fixed latency".into(),
            sectors: (1 << 20) * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: self.depth,
            max_sectors: 8192 * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: false,
            handles: 1,
        }
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        let ends = now + self.latency;
        self.under_way.push_back((ends, request));
        self.unannounced += 1;
    }

    fn control(&mut self, _: Time, call: Control) {
        self.replies.push((call, ControlReply::Unsupported));
    }

    #[inline]
    fn poll(&mut self, now: Time, answers: &mut Answers) {
        answers.replies.append(&mut self.replies);
        while let Some(&(ends, _)) = self.under_way.front()
            && ends <= now
        {
            let (_, Request { id, mut data, blocks, op, .. }) =
                self.under_way.pop_front().expect("it is first");
            self.late.record(now.since(ends));
            if op == tailcut_base::Op::Read {
                data.clear();
                data.resize(blocks as usize, Bytes::default());
            }
            let (status, busy_for, spans) = (Status::Success, Nanos::ZERO, Spans::new());
            answers.responses.push(Response { id, status, data, busy_for, spans });
        }
    }

    fn next_event(&self) -> Time {
        if !self.replies.is_empty() {
            return Time::ZERO;
        }
        self.under_way.front().map_or(Time::NEVER, |&(ends, _)| ends)
    }

    fn announce(&mut self, announcements: &mut Vec<Announcement>) {
        let known = self.under_way.len().saturating_sub(std::mem::take(&mut self.unannounced));
        let news = self.under_way.range(known..);
        announcements.extend(news.map(|(ends, request)| Announcement { id: request.id, ends: *ends }));
    }
}
