//! Plans as text: one statement for each setting or step, read back as it was written.

use super::{Metadata, Plan, PlanError, Step, SubjectKind};
use crate::drive::Backend;
use crate::fault::{Fault, FaultKind};
use std::fmt;
use std::str::FromStr;
use tailcut_base::Op;
use tailcut_base::config::Choice;

impl Plan {
    fn write_subject(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.subject == SubjectKind::Arrays {
            return Ok(());
        }
        let array = if self.has_array { "yes" } else { "no" };
        write!(f, "subject={} array={array} ", self.subject)?;
        match self.subject {
            SubjectKind::Kv => {
                let (keep, segment) = (self.keep, self.kv_segment);
                write!(f, "keep={keep} keys={} item={} kv_segment={segment} ", self.keys, self.item)?;
                if self.threads > 0 { write!(f, "threads={} ", self.threads) } else { Ok(()) }
            }
            SubjectKind::Block => write!(f, "cell={} connections={} ", self.cell, self.connections),
            SubjectKind::Ssd | SubjectKind::Arrays => Ok(()),
        }
    }

    fn write_epochs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let control = if self.control { "yes" } else { "no" };
        write!(f, "dirty={} mode={} ", self.dirty, self.mode)?;
        write!(f, "waits={}..{} control={control} ", self.waits.0, self.waits.1)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "subject" => self.subject = name(value)?,
            "array" => self.has_array = yes(value)?,
            "keys" => self.keys = number(value)?,
            "keep" => self.keep = name(value)?,
            "item" => self.item = number(value)?,
            "kv_segment" => self.kv_segment = number(value)?,
            "threads" => self.threads = number(value)?,
            "cell" => self.cell = number(value)?,
            "connections" => self.connections = number(value)?,
            "seed" => self.seed = number(value)?,
            "layout" => self.layout = name(value)?,
            "drives" => self.drives = number(value)?,
            "groups" => self.groups = number(value)?,
            "copies" => self.copies = number(value)?,
            "blocks" => self.blocks = number(value)?,
            "most" => self.most = number(value)?,
            "cache" => self.cache = yes(value)?,
            "drive" => self.backend = name(value)?,
            "weak" if value == "none" => self.weak = None,
            "weak" => self.weak = Some(number(value)?),
            "fail" => self.fail = number(value)?,
            "busy" => self.busy = number(value)?,
            "latency" => {
                let (least, most) = value.split_once("..").ok_or("write LEAST..MOST in ns")?;
                self.latency = (number(least)?, number(most)?);
            }
            "chunk" => self.chunk = number(value)?,
            "write_hole" => self.write_hole = name(value)?,
            "journal" => self.journal = number(value)?,
            "segment" => self.segment = number(value)?,
            "collect" => self.collect = number(value)?,
            "checkpoint" => self.checkpoint = number(value)?,
            "tokens" => self.tokens = yes(value)?,
            "sealed" => self.sealed = yes(value)?,
            "dirty" => self.dirty = number(value)?,
            "waits" => {
                let (delay, deadline) = value.split_once("..").ok_or("write DELAY..DEADLINE in ns")?;
                self.waits = (number(delay)?, number(deadline)?);
            }
            "mode" => self.mode = name(value)?,
            "control" => self.control = yes(value)?,
            "depth" => self.depth = number(value)?,
            "drive_depth" => self.drive_depth = number(value)?,
            "queue" => self.queue = number(value)?,
            "reads" => self.reads = name(value)?,
            "slow_after" => self.slow_after = number(value)?,
            _ => return Err(format!("there is no setting '{key}'")),
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = if self.cache { "yes" } else { "no" };
        self.write_subject(f)?;
        write!(f, "layout={} drives={} groups={} ", self.layout, self.drives, self.groups)?;
        write!(f, "blocks={} most={} cache={cache} ", self.blocks, self.most)?;
        write!(f, "latency={}..{} ", self.latency.0, self.latency.1)?;
        match (self.backend, self.weak) {
            (Backend::Model, _) => {}
            (Backend::SsdContent, _) => write!(f, "drive=ssd-content ")?,
            (Backend::Ssd, None) => write!(f, "drive=ssd ")?,
            (Backend::Ssd, Some(weak)) => write!(f, "drive=ssd weak={weak} fail={} ", self.fail)?,
        }
        if self.busy > 0 {
            write!(f, "busy={} ", self.busy)?;
        }
        if !self.sealed {
            write!(f, "sealed=no ")?;
        }
        if self.layout.is_mirrored() {
            write!(f, "chunk={} copies={} ", self.chunk, self.copies)?;
            self.write_epochs(f)?;
        } else if self.layout.is_in_place() {
            write!(f, "chunk={} write_hole={} journal={} ", self.chunk, self.write_hole, self.journal)?;
        } else {
            write!(f, "segment={} collect={} ", self.segment, self.collect)?;
            write!(f, "checkpoint={} ", self.checkpoint)?;
            if self.tokens {
                write!(f, "tokens=yes ")?;
                self.write_epochs(f)?;
            }
        }
        write!(f, "depth={} ", self.depth)?;
        write!(f, "drive_depth={} queue={} reads={} ", self.drive_depth, self.queue, self.reads)?;
        writeln!(f, "slow_after={} seed={}", self.slow_after, self.seed)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Io { op: Op::Flush, .. } => f.write_str("flush"),
            Step::Io { op, block, blocks, fua } => {
                write!(f, "{op} {block}+{blocks}{}", if *fua { " fua" } else { "" })
            }
            Step::Wait => f.write_str("wait"),
            Step::Fault(fault) => fault.fmt(f),
            Step::Replace => f.write_str("replace"),
            Step::Scrub => f.write_str("scrub"),
            Step::Rest => f.write_str("rest"),
            Step::Cut { after, again } => {
                write!(f, "cut {after}{}", if again.is_empty() { "" } else { " again" })?;
                again.iter().try_for_each(|after| write!(f, " {after}"))
            }
            Step::CutAfter { what, writes, after } => write!(f, "cut {after} after {writes} {what}"),
        }
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        let uncommented = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let statements = uncommented.flat_map(|line| line.split(';')).map(str::trim);
        let (mut last, mut statement) = (0, "");
        for (index, text) in statements.filter(|statement| !statement.is_empty()).enumerate() {
            (last, statement) = (index + 1, text);
            let read = if text.contains('=') {
                text.split_whitespace().try_for_each(|setting| {
                    let (key, value) = setting.split_once('=').ok_or("write KEY=VALUE")?;
                    plan.set(key, value)
                })
            } else {
                text.parse().map(|step| plan.steps.push(step))
            };
            read.map_err(|message| PlanError { number: last, statement: text.into(), message })?;
        }
        match plan.problem() {
            Some(message) => Err(PlanError { number: last, statement: statement.into(), message }),
            None => Ok(plan),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Step, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["flush"] => Ok(Step::Io { op: Op::Flush, block: 0, blocks: 0, fua: false }),
            ["wait"] => Ok(Step::Wait),
            ["replace"] => Ok(Step::Replace),
            ["scrub"] => Ok(Step::Scrub),
            ["rest"] => Ok(Step::Rest),
            ["write", range, "fua"] => io(Op::Write, range, true),
            ["write", range] => io(Op::Write, range, false),
            ["read", range] => io(Op::Read, range, false),
            ["trim", range, "fua"] => io(Op::Trim, range, true),
            ["trim", range] => io(Op::Trim, range, false),
            ["cut", after] => Ok(Step::Cut { after: number(after)?, again: Vec::new() }),
            ["cut", after, "again", ref again @ ..] => {
                let again = again.iter().map(|after| number(after)).collect::<Result<_, _>>()?;
                Ok(Step::Cut { after: number(after)?, again })
            }
            ["cut", after, "after", writes, what] => {
                let what: Metadata = name(what)?;
                Ok(Step::CutAfter { what, writes: number::<u32>(writes)?.max(1), after: number(after)? })
            }
            [kind, drive, ref rest @ ..] => fault(kind, drive, rest),
            _ => Err(String::from(STEPS)),
        }
    }
}

fn io(op: Op, range: &str, fua: bool) -> Result<Step, String> {
    let (block, blocks) = range.split_once('+').ok_or("write BLOCK+COUNT, such as 12+3")?;
    let blocks = number(blocks)?;
    if blocks == 0 {
        return Err(String::from("a request has at least one block"));
    }
    Ok(Step::Io { op, block: number(block)?, blocks, fua })
}

fn fault(kind: &str, drive: &str, rest: &[&str]) -> Result<Step, String> {
    let kind = FaultKind::by_name(kind).ok_or(STEPS)?;
    let drive = number(drive)?;
    let (pick, factor) = match (kind, rest) {
        (FaultKind::Kill | FaultKind::Pull | FaultKind::ReadOnly | FaultKind::FailFlush, []) => (0, 1),
        (FaultKind::Slow | FaultKind::SlowSuperblock, rest) => {
            let right = || format!("write {kind} DRIVE COMMANDS xFACTOR");
            let [pick, factor] = rest else { return Err(right()) };
            (number(pick)?, number(factor.strip_prefix('x').ok_or_else(right)?)?)
        }
        (_, [pick]) => (number(pick)?, 1),
        _ => return Err(format!("write {kind} DRIVE, and a number where it strikes a block or some writes")),
    };
    Ok(Step::Fault(Fault { kind, drive, pick, factor }))
}

fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("'{text}' is no number that fits here"))
}

fn name<C: Choice>(text: &str) -> Result<C, String> {
    C::by_name(text).ok_or_else(|| format!("'{text}' is none of {}", C::NAMES.join(", ")))
}

fn yes(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(String::from("write yes or no")),
    }
}

const STEPS: &str = "a step is write, read, trim, flush, wait, replace, scrub, rest, cut, or a fault: kill, \
                     pull, slow, slow-superblock, flip, unreadable, fail-write, read-only, misdirect, \
                     fail-flush, twin, grow, shrink, return, halves, corrupt, corrupt-superblock";
