//! The table of all fuzz targets.

use planwright_dialects::dialects;

use crate::{binding, dates, dialect, expression, settings, soundness};

/// A named property.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its binary and of its folder of inputs.
    pub name: &'static str,
    /// The dialect of its input, if it is a text in one dialect.
    pub dialect: Option<&'static str>,
    property: Property,
}

#[derive(Clone, Copy, Debug)]
enum Property {
    Dialect,
    Bytes(Bytes),
}

type Bytes = fn(&[u8]);

const OTHERS: &[(&str, Bytes)] = &[
    ("any-dialect", dialect::detected),
    ("check", soundness::check_plan),
    ("bind", binding::bind),
    ("expression", expression::evaluate),
    ("servers", settings::servers),
    ("simulated", settings::simulated),
    ("dates", dates::find_all),
];

impl Target {
    /// Runs one input.
    ///
    /// # Panics
    ///
    /// If the property does not hold.
    pub fn try_input(&self, input: &[u8]) {
        match (self.property, self.dialect) {
            (Property::Bytes(property), _) => property(input),
            (Property::Dialect, Some(dialect)) => dialect::in_dialect(dialect, input),
            (Property::Dialect, None) => dialect::detected(input),
        }
    }
}

/// Returns all targets: one for each dialect, then the others.
pub fn targets() -> Vec<Target> {
    let by_dialect = dialects().iter().map(|dialect| Target {
        name: dialect.name(),
        dialect: Some(dialect.name()),
        property: Property::Dialect,
    });
    let others = OTHERS.iter().map(|(name, property)| Target {
        name,
        dialect: None,
        property: Property::Bytes(*property),
    });
    by_dialect.chain(others).collect()
}
