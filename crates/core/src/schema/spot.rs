//! What a schema says about one place inside of the values that fit.

use super::Schema;
use super::read::resolve;
use crate::Value;

/// The most schemas that are looked at in one place: references may lead in circles.
const MAX_SCHEMAS: usize = 64;

/// The schemas that may hold in one place: those that a `$ref` leads to and the branches of
/// `allOf`, `anyOf` and `oneOf` included.
#[derive(Clone, Debug)]
pub(crate) struct Spot<'a> {
    document: &'a Value,
    schemas: Vec<&'a Value>,
}

impl Schema {
    /// The place of the whole value.
    pub(crate) fn spot(&self) -> Spot<'_> {
        let document = self.as_value();
        Spot::new(document, vec![document])
    }
}

impl<'a> Spot<'a> {
    fn new(document: &'a Value, mut schemas: Vec<&'a Value>) -> Self {
        let mut at = 0;
        while let Some(schema) = schemas.get(at).copied() {
            at += 1;
            let target = schema
                .get("$ref")
                .and_then(Value::as_text)
                .and_then(|target| resolve(document, target.strip_prefix('#')?));
            let branches = ["allOf", "anyOf", "oneOf"]
                .into_iter()
                .filter_map(|keyword| schema.get(keyword)?.as_list())
                .flatten();
            let left = MAX_SCHEMAS.saturating_sub(schemas.len());
            schemas.extend(target.into_iter().chain(branches).take(left));
        }
        Self { document, schemas }
    }

    /// The place of the field `name`.
    pub(crate) fn field(&self, name: &str) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// The place of the item at `index`.
    pub(crate) fn item(&self, index: usize) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("prefixItems")
                .and_then(|items| items.as_list()?.get(index))
                .or_else(|| schema.get("items"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// Whether one of the schemas says `true` under `keyword`, or one `false` and none `true`;
    /// nothing where none says either.
    pub(crate) fn says(&self, keyword: &str) -> Option<bool> {
        self.schemas
            .iter()
            .filter_map(|schema| schema.get(keyword)?.as_bool())
            .max()
    }
}
