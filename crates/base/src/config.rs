//! How a component declares its configuration keys, once for all uses.
//!
//! A component implements [`Configure`] by visiting its keys. Depending on the [`KeyVisitor`], the same walk
//! reads a scenario, prints the resolved one, lists the keys for the manual, or finds the nearest key to a
//! misspelt one. This crate does no file I/O; the scenario reader is part of the command.

use crate::time::Nanos;
use std::ops::RangeInclusive;

/// A component with configuration keys.
pub trait Configure {
    /// Visits every key of this component, in reading order. May check relations between values at the end
    /// and report violations with [`KeyVisitor::problem`].
    fn configure(&mut self, visit: &mut dyn KeyVisitor);
}

/// The action at each key. `doc` is one sentence: meaning, unit, and peculiarities.
pub trait KeyVisitor {
    /// A table of keys below this one.
    fn section(&mut self, key: &'static str, doc: &'static str, part: &mut dyn Configure);
    /// A table of keys that a part may have, one of several alike: visited only where `is_used` is true, or
    /// where a reader finds that it is written.
    fn optional_section(
        &mut self,
        key: &'static str,
        doc: &'static str,
        part: &mut dyn Configure,
        is_used: bool,
    ) {
        if is_used {
            self.section(key, doc, part);
        }
    }
    /// A duration.
    fn time(&mut self, key: &'static str, doc: &'static str, value: &mut Nanos, range: RangeInclusive<Nanos>);
    /// One or more durations; a single value may be written without brackets.
    fn times(
        &mut self,
        key: &'static str,
        doc: &'static str,
        value: &mut Vec<Nanos>,
        range: RangeInclusive<Nanos>,
    );
    /// A size in bytes.
    fn bytes(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>);
    /// A rate in bytes per second.
    fn rate(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>);
    /// A share in parts per million.
    fn share(&mut self, key: &'static str, doc: &'static str, value: &mut u32, range: RangeInclusive<u32>);
    /// A probability or another non-integer number.
    fn number(&mut self, key: &'static str, doc: &'static str, value: &mut f64, range: RangeInclusive<f64>);
    /// A whole number.
    fn count(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>);
    /// A Boolean.
    fn flag(&mut self, key: &'static str, doc: &'static str, value: &mut bool);
    /// One of several names; the value is an index of `names.shown`.
    fn choice(&mut self, key: &'static str, doc: &'static str, value: &mut usize, names: Names);
    /// Free text.
    fn text(&mut self, key: &'static str, doc: &'static str, value: &mut String);
    /// A removed key, and the full path of its replacement: setting it is an error that names the
    /// replacement.
    fn replaced(&mut self, _key: &'static str, _by: &'static str) {}
    /// Reports inconsistent values of this component: the offending key, what is wrong, and what would be
    /// right.
    fn problem(&mut self, key: &'static str, message: String);
}

/// An enum that a configuration selects by name.
pub trait Choice: Copy + Sized + 'static {
    /// The names, in the order of [`Choice::all`].
    const NAMES: &'static [&'static str];
    /// Aliases, each with the name that it is equivalent to.
    const ALIASES: &'static [(&'static str, &'static str)];
    /// Every variant.
    fn all() -> &'static [Self];
    /// The index of this variant in [`Choice::all`].
    fn index(self) -> usize;
    /// The name of this variant.
    fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }
    /// The variant of that name.
    fn by_name(name: &str) -> Option<Self> {
        Names::of::<Self>().position(name).map(|i| Self::all()[i])
    }
}

/// The names that a configuration can choose from.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The names that messages print and suggest, one for each variant, in the order of the variants.
    pub shown: &'static [&'static str],
    aliases: &'static [(&'static str, &'static str)],
}

impl Names {
    /// The names of an enum.
    pub fn of<C: Choice>() -> Names {
        Names { shown: C::NAMES, aliases: C::ALIASES }
    }

    /// The names `shown`, none of which has an alias.
    pub const fn without_aliases(shown: &'static [&'static str]) -> Names {
        Names { shown, aliases: &[] }
    }

    /// The aliases of `name`, which is one of `shown`.
    pub fn aliases_of(self, name: &str) -> impl Iterator<Item = &'static str> {
        self.aliases.iter().filter(move |(_, of)| *of == name).map(|&(alias, _)| alias)
    }

    /// The index in `shown` of a name or alias.
    pub fn position(self, name: &str) -> Option<usize> {
        let name = self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |&(_, name)| name);
        self.shown.iter().position(|shown| *shown == name)
    }
}

/// Visits an enum by name.
pub fn choose<C: Choice>(visit: &mut dyn KeyVisitor, key: &'static str, doc: &'static str, value: &mut C) {
    let mut index = value.index();
    visit.choice(key, doc, &mut index, Names::of::<C>());
    *value = C::all()[index];
}

/// Visits a `u32`.
///
/// # Panics
/// If `visit` leaves a value outside of `range`, which its contract forbids.
pub fn count_u32(
    visit: &mut dyn KeyVisitor,
    key: &'static str,
    doc: &'static str,
    value: &mut u32,
    range: RangeInclusive<u32>,
) {
    let mut wide = u64::from(*value);
    visit.count(key, doc, &mut wide, u64::from(*range.start())..=u64::from(*range.end()));
    *value = u32::try_from(wide).expect("the visitor keeps the range");
}

/// Declares an enum whose variants are named in configurations and reports: `Variant = "name"`, or
/// `Variant = "name" | "alias" | …` where users know the variant by other names as well.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $label:literal $(| $alias:literal)*,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        impl $crate::config::Choice for $name {
            const NAMES: &'static [&'static str] = &[$($label),+];
            const ALIASES: &'static [(&'static str, &'static str)] = &[$($(($alias, $label),)*)+];
            fn all() -> &'static [Self] {
                &[$($name::$variant),+]
            }
            fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::config::Choice::name(*self))
            }
        }
    };
}
