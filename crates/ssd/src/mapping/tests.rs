//! The mapping by itself: a test carries out its effects, and flash takes no time.

use super::ftl::Location;
use super::*;
use crate::config::Preset;
use crate::flash::{BlockId, LogicalPage};
use crate::request::Kind;
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;

/// A small drive without a backend.
struct Flash {
    mapping: Mapping,
    /// What was written last to each logical page.
    model: Vec<u32>,
    reads: u64,
    erases: u64,
}

impl Flash {
    fn new(change: impl FnOnce(&mut SsdConfig)) -> Flash {
        let mut config = Preset::M.config();
        let g = &mut config.geometry;
        (g.channels, g.chips, g.blocks, g.pages) = (2, 1, 24, 16);
        config.ftl.spare = 250_000;
        change(&mut config);
        let mapping = Mapping::new(&config, Time(1 << 50), 1, true);
        let pages = mapping.ftl.logical_pages() as usize;
        Flash { mapping, model: vec![0; pages], reads: 0, erases: 0 }
    }

    fn write(&mut self, now: Time, logical: LogicalPage, content: u32) {
        let mapping = &mut self.mapping;
        let plane = mapping.ftl.plane_for(logical, 0);
        let physical = mapping.ftl.allocate(plane, 0);
        assert!(mapping.nand.program(physical, logical, content));
        mapping.counters.programmed_user += 1;
        if let Location::Flash(old) = mapping.ftl.lookup(logical) {
            mapping.ftl.invalidate(old, now);
        }
        mapping.ftl.validate(physical);
        mapping.ftl.set(logical, Location::Flash(physical));
        mapping.settle_block(now, physical);
        mapping.collect_if_short(now, plane);
        self.model[logical.index()] = content;
        self.carry_out(now);
    }

    fn carry_out(&mut self, now: Time) {
        while let Some(effect) = self.mapping.next_effect() {
            match effect {
                Effect::Issue(request) => self.serve(now, request),
                Effect::Wake(_) | Effect::StartLuns | Effect::EraseCompleted => {}
                Effect::ReleaseEmptied(block) => self.mapping.release_emptied(block),
                Effect::CollectAtOnce { plane, wanted } => self.mapping.collect_at_once(now, plane, wanted),
                Effect::WakeIfWaiting(_) => {}
                effect => panic!("{effect:?} has no cause here"),
            }
        }
    }

    fn serve(&mut self, now: Time, mut request: MemoryRequest) {
        match request.kind() {
            Kind::GcRead => {
                self.reads += 1;
                self.mapping.copy_read(now, request);
            }
            Kind::GcWrite => {
                request.physical = self.mapping.ftl.allocate(request.plane(), request.frontier);
                self.mapping.copy_programmed(now, request);
            }
            Kind::Erase => {
                self.erases += 1;
                self.mapping.victim_erased(now, request.plane());
            }
            kind => panic!("collection has no {kind:?}"),
        }
    }

    fn check(&self) {
        self.mapping.ftl.check(&self.mapping.nand, |_| None);
        let is_erased = |&block: &BlockId| self.mapping.nand.next_page(block) == 0;
        let erased = self.mapping.geometry.block_ids().filter(is_erased).count();
        assert_eq!(self.mapping.erased_blocks(), erased as u64);
        for (page, &content) in self.model.iter().enumerate() {
            let found = match self.mapping.ftl.lookup(LogicalPage::at(page)) {
                Location::Flash(physical) => self.mapping.nand.content(physical),
                _ => 0,
            };
            assert_eq!(found, content, "page {page}");
        }
    }
}

fn written_over(change: impl FnOnce(&mut SsdConfig)) -> Flash {
    let mut flash = Flash::new(change);
    let mut random = Stream::new(1, "test.mapping");
    let pages = flash.model.len() as u64;
    for step in 0..5 * pages {
        let logical = LogicalPage::at(random.below(pages) as usize);
        flash.write(Time(step), logical, step as u32 + 1);
        if step % 97 == 0 {
            flash.check();
        }
    }
    flash.check();
    flash
}

#[test]
fn collection_keeps_what_was_written_last_and_every_erase_frees_a_block() {
    let flash = written_over(|_| ());
    let counts = &flash.mapping.counters;
    assert!(flash.erases > 0 && counts.erases == flash.erases);
    assert!(counts.programmed_gc <= flash.reads, "what is programmed has been read");
    // Every page that was programmed is in a block that was erased since, or still there.
    let programmed = counts.programmed_user + counts.programmed_gc;
    let there: u64 =
        flash.mapping.geometry.block_ids().map(|b| u64::from(flash.mapping.nand.next_page(b))).sum();
    let pages = u64::from(flash.mapping.geometry.pages);
    assert_eq!(programmed, there + pages * flash.erases);
}

#[test]
fn collection_that_takes_no_time_issues_nothing_and_amplifies_as_much() {
    let (real, ideal) = (written_over(|_| ()), written_over(|config| config.gc.ideal = true));
    assert_eq!((ideal.reads, ideal.erases), (0, 0), "no operation");
    let copied = |flash: &Flash| flash.mapping.counters.programmed_gc as f64;
    let ratio = copied(&ideal) / copied(&real);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_program_goes_to_the_chip_that_expects_its_next_read_last() {
    let mut flash = Flash::new(|config| config.geometry.dies = 1);
    let mapping = &mut flash.mapping;
    let (now, logical) = (Time(1_000_000), LogicalPage::new(0));
    for before in [200, 100, 0] {
        mapping.forecast.read(Time(now.0 - before), SetId::FIRST, LunId::new(1));
    }
    let chosen = |mapping: &mut Mapping| {
        let plane = mapping.plane_with_silence(now, logical, 0);
        mapping.layout.lun_of_plane(plane).0
    };
    // The planes in turn are one of each chip, in either order.
    let orders = [0, 1].map(|_| {
        let first = mapping.ftl.plane_for(logical, 0);
        assert_eq!(chosen(mapping), LunId::new(0));
        mapping.layout.lun_of_plane(first).0
    });
    assert_ne!(orders[0], orders[1], "the order was the same");
}
