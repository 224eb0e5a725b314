//! What holds of the engine.

use super::engine::Engine;
use super::place::Place;
use crate::check::ensure;

impl Engine {
    /// What holds between any two calls: index, memory and log agree on where every item is, and on what is
    /// dead; each segment has one owner. Walks all items.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn check(&self) -> Result<(), String> {
        self.index.check()?;
        let in_memory = || {
            let units = self.index.places();
            units.filter_map(|place| if let Place::Front { unit } = place { Some(unit) } else { None })
        };
        self.front.check(in_memory())?;
        let Some(flash) = &self.flash else { return Ok(()) };
        flash.log.check()?;
        // Until recovery is complete, records of later items are not counted yet.
        if self.recovery.is_some() {
            return Ok(());
        }
        let unit_of = |place| if let Place::Log { unit, .. } = place { Some(unit) } else { None };
        // The newest version of an item in memory may be on flash as well.
        let homes = in_memory().map(|unit| self.front.header(unit).home).filter(|&home| home != 0);
        let on_flash = self.index.places().chain(homes.map(Place::decode)).filter_map(unit_of);
        flash.log.check_valid(on_flash)
    }

    /// What holds, beyond [`Engine::check`], while the engine is idle ([`Engine::is_idle`]): no request is
    /// queued or in flight, and nothing is held for one.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn check_at_rest(&self) -> Result<(), String> {
        self.check()?;
        let Some(flash) = &self.flash else { return Ok(()) };
        ensure!(flash.jobs.is_idle(), "requests of the engine are in flight");
        ensure!(!flash.is_flushing, "a flush is in flight");
        flash.log.check_at_rest()
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::{Change, Content, Put};
    use super::super::hash::KeyHash;
    use super::super::index::Entry;
    use super::super::place::FrontUnit;
    use super::super::settings::Settings;
    use super::*;
    use crate::kv::record::State;

    fn engine() -> Engine {
        let mut engine = Engine::in_memory(Settings::default(), 1);
        for number in 0..100u32 {
            let put = Put {
                content: Content::New(b"value"),
                flags: 0,
                expires: 0,
                state: State::default(),
                cas: None,
            };
            engine.change(&number.to_le_bytes(), None, Change::Put(put)).expect("there is room");
        }
        engine.check().expect("all invariants hold");
        engine
    }

    #[test]
    fn an_item_that_two_entries_refer_to_is_found() {
        let mut engine = engine();
        let place = engine.index.places().next().expect("there are items");
        engine.index.set(KeyHash(77), Entry { place, heat: 0 });
        assert!(engine.check().expect_err("it counts twice").contains("live bytes"));
    }

    #[test]
    fn a_record_that_is_dead_and_referred_to_is_found() {
        let mut engine = engine();
        let Some(Place::Front { unit }) = engine.index.places().next() else { panic!("it is in memory") };
        engine.front.discard(unit);
        assert!(engine.check().expect_err("it is not dead").contains("live bytes"));
        let outside = Entry { place: Place::Front { unit: FrontUnit::new(4096) }, heat: 0 };
        engine.index.set(KeyHash(77), outside);
        assert!(engine.check().is_err());
    }
}
