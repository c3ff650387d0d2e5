//! The table of all targets.

use planwright_dialects::dialects;

use crate::{binding, dates, expression, notation, settings, soundness};

/// A property, by name.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its binary and of its folder of inputs.
    pub name: &'static str,
    /// Where its input is a text in one notation: which.
    pub dialect: Option<&'static str>,
    property: Property,
}

#[derive(Clone, Copy, Debug)]
enum Property {
    Notation,
    Bytes(Bytes),
}

type Bytes = fn(&[u8]);

const OTHERS: &[(&str, Bytes)] = &[
    ("any-notation", notation::detected),
    ("check", soundness::check_plan),
    ("bind", binding::bind),
    ("expression", expression::evaluate),
    ("servers", settings::servers),
    ("simulated", settings::simulated),
    ("dates", dates::find_all),
];

impl Target {
    /// Tries one input.
    ///
    /// # Panics
    ///
    /// Where the property does not hold.
    pub fn try_input(&self, input: &[u8]) {
        match (self.property, self.dialect) {
            (Property::Bytes(property), _) => property(input),
            (Property::Notation, Some(dialect)) => notation::in_dialect(dialect, input),
            (Property::Notation, None) => notation::detected(input),
        }
    }
}

/// All targets: one for each dialect, then the others.
pub fn targets() -> Vec<Target> {
    let notations = dialects().iter().map(|dialect| Target {
        name: dialect.name(),
        dialect: Some(dialect.name()),
        property: Property::Notation,
    });
    let others = OTHERS.iter().map(|(name, property)| Target {
        name,
        dialect: None,
        property: Property::Bytes(*property),
    });
    notations.chain(others).collect()
}
