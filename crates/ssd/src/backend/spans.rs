//! Where the time of a host request went at its LUN, as spans.

use super::Backend;
use crate::flash::LunId;
use crate::holder::{Account, Holder};
use crate::request::{RequestId, ServedPage};
use crate::room::ProgramTime;
use tailcut_base::{Cause, Nanos, Spans, Time};

impl Backend {
    /// The intervals for which the transaction of a page, which ends now, held its LUN and bus.
    #[inline]
    pub(crate) fn served_page(&self, id: RequestId, end: Time) -> ServedPage {
        let lun = self.requests[id].lun;
        let t = &self.luns[lun].transaction;
        ServedPage::new(lun, (t.started, t.started + t.command), (t.out_start, end), t.gap)
    }

    /// Adds the spans of a memory request from the moment it could have begun to the end of its transaction,
    /// which is under way. `served` are the pages of the same command that were served before it; `link` is
    /// the part of its wait during which its own data was on the link.
    #[inline]
    pub(crate) fn add_spans(
        &self,
        (spans, served): (&mut Spans, &[ServedPage]),
        id: RequestId,
        link: Nanos,
        end: Time,
    ) {
        let (t, waited) = (&self.luns[self.requests[id].lun].transaction, self.requests.waited(id));
        let (mut waited, mut for_own_data) = (*waited, Nanos::ZERO);
        spans.hold_up(self.held_up(id));
        if !served.is_empty() {
            let for_chip = self.wait_for_own_pages(id, served, &mut waited);
            if t.kind.is_read() {
                for_own_data = self.bus_carried(id, served, (t.cell_end, t.out_start));
            }
            spans.add(Cause::OwnPages, for_chip + for_own_data);
        }
        let wait = |holder: Holder| Nanos(waited[holder as usize]);
        let idle = wait(Holder::Idle);
        let link = Nanos(link.0.min(idle.0));
        spans.add(Cause::Link, link);
        spans.add(Cause::CommitWait, idle - link);
        spans.add(Cause::ChipUserRead, wait(Holder::UserRead));
        spans.add(Cause::ChipUserWrite, wait(Holder::UserWrite));
        spans.add(Cause::ChipGcRead, wait(Holder::GcRead));
        spans.add(Cause::ChipGcProgram, wait(Holder::GcWrite));
        spans.add(Cause::ChipErase, wait(Holder::Erase));
        spans.add(Cause::ChipSuspend, wait(Holder::Suspend));
        spans.add(Cause::ChipReset, wait(Holder::Reset));
        spans.add(Cause::ChipReadAhead, wait(Holder::ReadAhead));
        spans.add(Cause::Space, wait(Holder::Space));
        spans.add(Cause::BusWait, wait(Holder::BusWait));
        let cell = t.cell_end.since(t.started + t.command);
        if t.kind.is_read() {
            spans.add(Cause::BusCommand, t.command);
            spans.add(Cause::Cell, cell);
            spans.add(Cause::BusWait, t.out_start.since(t.cell_end) + t.gap - for_own_data);
            spans.add(Cause::BusTransfer, end.since(t.out_start) - t.gap);
        } else {
            let on_bus = t.command - t.gap;
            let data = Nanos((self.phases.transfer * u64::from(t.pages())).0.min(on_bus.0));
            spans.add(Cause::BusTransfer, data);
            spans.add(Cause::BusCommand, on_bus - data);
            spans.add(Cause::BusWait, t.gap);
            spans.add(Cause::Cell, cell - t.suspended);
            spans.add(Cause::Suspended, t.suspended);
        }
    }

    /// The time that a memory request waited for its LUN, or for the bus for its command, while either served
    /// other pages of the same command. It is subtracted from `waited`.
    fn wait_for_own_pages(&self, id: RequestId, served: &[ServedPage], waited: &mut Account) -> Nanos {
        let request = &self.requests[id];
        let t = &self.luns[request.lun].transaction;
        let for_bus = waited[Holder::BusWait as usize];
        let mut take = |holder: Holder, own: Nanos| {
            // A program that was suspended did not hold its LUN all the time.
            let own = own.0.min(waited[holder as usize]);
            waited[holder as usize] -= own;
            Nanos(own)
        };
        let here = served.iter().filter(|page| page.lun() == request.lun);
        let by_lun = here.map(|page| page.on_lun((request.since, t.started))).sum();
        if !t.kind.is_read() {
            return take(Holder::UserWrite, by_lun);
        }
        let by_lun = take(Holder::UserRead, by_lun);
        // The wait for the bus is the last before a transaction starts.
        let asked = Time(t.started.0 - for_bus);
        by_lun + take(Holder::BusWait, self.bus_carried(id, served, (asked, t.started)))
    }

    /// The time within an interval that a read's bus carried other pages of the same command, or their bus
    /// commands.
    fn bus_carried(&self, id: RequestId, served: &[ServedPage], during: (Time, Time)) -> Nanos {
        let channel = self.layout.channel_of(self.requests[id].lun);
        let beside = served.iter().filter(|page| self.layout.channel_of(page.lun()) == channel);
        let carried: Nanos = beside.map(|page| page.on_bus(during)).sum();
        Nanos(carried.0.min(during.1.since(during.0).0))
    }

    /// How a program whose transaction ends now has spent its time.
    #[inline]
    pub(crate) fn program_time(&self, now: Time, id: RequestId) -> ProgramTime {
        ProgramTime::new(now.since(self.requests[id].since), self.requests.waited(id), self.held_up(id))
    }

    /// The time from `mark` until a memory request could have begun its only attempt; none if it could
    /// before, or has been repeated.
    pub(crate) fn wait_before(&self, id: RequestId, mark: Time) -> Option<Nanos> {
        let request = &self.requests[id];
        let started = self.luns[request.lun].transaction.started;
        let is_first = self.requests.waited(id).iter().sum::<u64>() == started.since(request.since).0;
        (is_first && request.since >= mark).then(|| request.since.since(mark))
    }

    /// The time that a program has spent since `mark` in attempts that failed, or waiting between them: what
    /// its present attempt does not account for.
    pub(crate) fn earlier_attempts(&self, id: RequestId, mark: Time) -> Nanos {
        let request = &self.requests[id];
        let started = self.luns[request.lun].transaction.started;
        let before = Nanos(self.requests.waited(id).iter().sum()) - started.since(request.since);
        request.since.since(mark) - before
    }

    /// Adds the spans of a read that has waited since `since` for the transaction of a LUN, which had begun
    /// before and ends now.
    pub(crate) fn add_rest_of_read(&self, spans: &mut Spans, lun: LunId, since: Time, end: Time) {
        let t = &self.luns[lun].transaction;
        let phases = [
            (t.started + t.command, Cause::BusCommand),
            (t.cell_end, Cause::Cell),
            (t.out_start, Cause::BusWait),
            (end, Cause::BusTransfer),
        ];
        let mut from = since;
        for (until, cause) in phases {
            let until = until.max(from);
            let gap = if cause == Cause::BusTransfer { t.gap.min(until.since(from)) } else { Nanos::ZERO };
            spans.add(Cause::BusWait, gap);
            spans.add(cause, until.since(from) - gap);
            from = until;
        }
    }
}
