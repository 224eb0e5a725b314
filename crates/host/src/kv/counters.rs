//! Structures of counters that can be added up.

/// Gives a structure `add`, which adds another one field by field. A field that is left out does not compile.
macro_rules! counters {
    ($name:ident: $($field:ident),+) => {
        impl $name {
            /// Those of another, too.
            pub fn add(&mut self, other: &$name) {
                let $name { $($field),+ } = other;
                $(self.$field += *$field;)+
            }
        }
    };
}
