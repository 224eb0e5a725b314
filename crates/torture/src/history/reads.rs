//! What reads return: whether they may, and what that shows.

use super::version::{Version, decide};
use super::{History, Moment, Pending, Shown};
use crate::stamp::{Content, Stamp};
use crate::wrong::{Violation, ViolationKind};
use tailcut_host::Bytes;

impl History {
    /// A read has returned `data`.
    ///
    /// # Errors
    /// When it may not have.
    pub fn read(&mut self, pending: &Pending, data: &[Bytes]) -> Result<Shown, Violation> {
        let now = self.tick();
        if data.len() != pending.blocks as usize {
            let message = format!("a read of {} blocks returned {}", pending.blocks, data.len());
            return Err(Violation { kind: ViolationKind::Invented, message });
        }
        let mut shown = Shown::default();
        for (block, content) in (pending.block..).zip(data) {
            self.seen(block, Stamp::read(content), pending.submitted, now, &mut shown)?;
        }
        Ok(shown)
    }

    fn seen(
        &mut self,
        block: u64,
        content: Content,
        since: Moment,
        now: Moment,
        shown: &mut Shown,
    ) -> Result<(), Violation> {
        if self.may_miss && content == Content::Zeros {
            shown.missed += 1;
            return Ok(());
        }
        let versions = &self.blocks[block as usize];
        let number = match content {
            Content::Foreign { claims, differs_at } => {
                let message = format!(
                    "block {block} holds bytes that begin like version {} of block {} and differ at byte \
                        {differs_at}",
                    claims.version, claims.block
                );
                return Err(Violation { kind: ViolationKind::Invented, message });
            }
            Content::Written(stamp) if stamp.block != block => {
                let message =
                    format!("block {block} holds version {} of block {}", stamp.version, stamp.block);
                return Err(Violation { kind: ViolationKind::Misplaced, message });
            }
            Content::Written(stamp) => Some(stamp.version),
            Content::Zeros => None,
        };
        let is_it = |version: &Version| match number {
            Some(number) => version.number == number,
            None => version.is_zeros,
        };
        let is_possible = |version: &Version| is_it(version) && self.possible(versions, version, since);
        if !versions.iter().any(is_possible) {
            if self.may_be_stale && number.is_none_or(|number| number <= self.versions) {
                return Ok(());
            }
            return Err(self.explain(block, number, since));
        }
        shown.contested += u64::from(versions.iter().any(|version| version.answered == Moment::MAX));
        shown.decided += u64::from(versions.iter().filter(|version| version.is_carried).count() > 1);
        shown.trimmed += u64::from(number.is_none() && versions.iter().any(|v| v.is_zeros && v.number > 0));
        self.learn(block, is_it, since, now);
        Ok(())
    }

    /// Learns from a read: earlier versions are gone, and which version a power cut has left.
    fn learn(&mut self, block: u64, is_it: impl Fn(&Version) -> bool, since: Moment, now: Moment) {
        let versions = &mut self.blocks[block as usize];
        let mut shown = versions.iter().filter(|version| is_it(version));
        if let (Some(number), None) = (shown.next().map(|version| version.number), shown.next()) {
            for version in versions.iter_mut().filter(|version| version.number != number) {
                if version.answered < since && version.past.is_none() {
                    version.past = Some((now, number));
                }
            }
        }
        // Zeros may also come from a trim since.
        let mut shown = versions.iter().filter(|version| is_it(version)).peekable();
        if shown.peek().is_some() && shown.all(|version| version.is_carried) {
            versions.retain(|version| !version.is_carried || is_it(version));
            decide(versions);
        }
    }

    /// True when a read that was submitted at `since` may return `version` now.
    fn possible(&self, versions: &[Version], version: &Version, since: Moment) -> bool {
        let is_over = |later: &Version| {
            let has_ended = later.is_certain && version.answered < later.submitted && later.answered < since;
            has_ended || self.hides(later, version, since)
        };
        version.past.is_none_or(|(shown, _)| shown >= since) && !versions.iter().any(is_over)
    }

    /// True when requests take effect in order and `later` comes between `version` and a read that was
    /// submitted at `since`.
    fn hides(&self, later: &Version, version: &Version, since: Moment) -> bool {
        let happens = later.is_certain || later.answered == Moment::MAX && !self.writes_may_fail;
        self.keeps_order && happens && version.submitted < later.submitted && later.submitted < since
    }

    fn explain(&self, block: u64, number: Option<u32>, since: Moment) -> Violation {
        let versions = &self.blocks[block as usize];
        let name = |version: &&Version| match (version.is_zeros, version.number) {
            (true, 0) => String::from("zeros (never written)"),
            (true, number) => format!("zeros (trim {number})"),
            (false, number) => format!("version {number}"),
        };
        let allowed: Vec<&Version> =
            versions.iter().filter(|version| self.possible(versions, version, since)).collect();
        let names: Vec<String> = allowed.iter().map(name).collect();
        let found = number.map_or(String::from("zeros"), |number| format!("version {number}"));
        let message = format!("block {block} holds {found}; allowed: {}", names.join(", "));
        let durable = versions.iter().filter(|version| version.is_durable).map(|version| version.number);
        let durable = durable.fold(self.durable[block as usize], u32::max);
        let kind = match number {
            Some(number) if number > self.versions => ViolationKind::Invented,
            Some(_) if allowed.iter().all(|version| version.is_zeros && version.number > 0) => {
                ViolationKind::Resurrected
            }
            number if number.unwrap_or(0) < durable => ViolationKind::Lost,
            _ => ViolationKind::Stale,
        };
        Violation { kind, message }
    }
}
