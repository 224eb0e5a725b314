//! Structures of counters that can be summed.

/// Defines `add` for a structure of counters. A field that is left out is a compile error.
macro_rules! counters {
    ($name:ident: $($field:ident),+) => {
        impl $name {
            /// Adds the counters of `other` field by field.
            pub fn add(&mut self, other: &$name) {
                let $name { $($field),+ } = other;
                $(self.$field += *$field;)+
            }
        }
    };
}
