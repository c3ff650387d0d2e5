//! The cost of a schema for one value without its parts, computed from the text. References can make a small schema
//! very costly.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/schemas.md#validation-has-a-budget).

use std::collections::HashMap;
use std::ptr;

use super::type_reader::resolve_pointer;
use crate::{Object, Value};

/// Maximum number of subschemas evaluated for one value.
const MAX_SUBSCHEMAS: u64 = 1 << 16;

/// Maximum length of a chain of subschemas for one value.
const MAX_HEIGHT: u32 = 128;

/// Maximum number of candidate targets of all references. Base URIs are not resolved, so a reference may have several
/// candidates.
const MAX_TARGETS: usize = 1_000_000;

/// Keywords whose value is a subschema for the same value.
const SCHEMA_KEYWORDS: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords whose value is a list of such subschemas.
const LIST_KEYWORDS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords whose value maps names to such subschemas.
const MAP_KEYWORDS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// The cost of a schema for any one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SchemaCost {
    /// The number of evaluated subschemas.
    pub(super) subschemas: u64,
    /// The length of the longest chain of subschemas.
    pub(super) height: u32,
}

impl SchemaCost {
    pub(super) const LEAF: Self = Self {
        subschemas: 1,
        height: 1,
    };

    /// Computes the maximum cost of the subschemas of `document`.
    ///
    /// # Errors
    ///
    /// Returns the reason if the cost exceeds a limit or is infinite.
    pub(super) fn of(document: &Value) -> Result<Self, String> {
        let mut index = SchemaIndex {
            resources: Vec::new(),
            owners: HashMap::new(),
            anchors: HashMap::new(),
            known: HashMap::new(),
            targets_left: MAX_TARGETS,
        };
        index.add(document, None);
        let mut max_cost = Self::LEAF;
        let mut objects = vec![document];
        // Any object may be a subschema, so the cost of each is computed.
        while let Some(value) = objects.pop() {
            if let Value::Object(fields) = value {
                let cost = index.cost(fields, 1)?;
                max_cost.subschemas = max_cost.subschemas.max(cost.subschemas);
                max_cost.height = max_cost.height.max(cost.height);
            }
            objects.extend(parts(value));
        }
        Ok(max_cost)
    }
}

/// Returns the direct children of `value`.
fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values()),
        Value::List(items) => Box::new(items.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// An index of a schema's text. Objects are identified by address; any of them may be a subschema.
struct SchemaIndex<'a> {
    /// The base of relative references: the whole document, and each part with an `$id`.
    resources: Vec<&'a Value>,
    /// The resource that each object belongs to.
    owners: HashMap<*const Object, usize>,
    /// The objects with an anchor.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// The computed costs; `None` while an object is being computed.
    known: HashMap<*const Object, Option<SchemaCost>>,
    targets_left: usize,
}

impl<'a> SchemaIndex<'a> {
    fn add(&mut self, value: &'a Value, resource: Option<usize>) {
        let mut resource = resource;
        if let Value::Object(fields) = value {
            let is_resource = fields.get("$id").is_some_and(|id| id.as_text().is_some());
            let number = match resource {
                Some(number) if !is_resource => number,
                // The root and each `$id` start a new schema resource.
                _ => {
                    self.resources.push(value);
                    self.resources.len() - 1
                }
            };
            resource = Some(number);
            self.owners.insert(ptr::from_ref::<Object>(fields), number);
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = fields.get(keyword).and_then(Value::as_text) {
                    self.anchors.entry(name).or_default().push(value);
                }
            }
        }
        for part in parts(value) {
            self.add(part, resource);
        }
    }

    fn cost(&mut self, fields: &'a Object, depth: u32) -> Result<SchemaCost, String> {
        let identity = ptr::from_ref(fields);
        match self.known.get(&identity) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err("a subschema leads back to itself for the same value".to_owned());
            }
            None => {}
        }
        if depth > MAX_HEIGHT {
            return Err(too_high_error());
        }
        self.known.insert(identity, None);
        let mut cost = SchemaCost::LEAF;
        for subschema in same_value_subschemas(fields) {
            let inner = self.cost(subschema, depth + 1)?;
            cost.subschemas = cost.subschemas.saturating_add(inner.subschemas);
            cost.height = cost.height.max(inner.height + 1);
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(target) = fields.get(keyword).and_then(Value::as_text) else {
                continue;
            };
            let mut max_cost = SchemaCost::LEAF;
            // Only one candidate is the target, so the costliest one is an upper bound.
            for target in self.targets(fields, keyword, target)? {
                if ptr::eq(target, fields) {
                    continue;
                }
                let inner = self.cost(target, depth + 1)?;
                max_cost.subschemas = max_cost.subschemas.max(inner.subschemas);
                max_cost.height = max_cost.height.max(inner.height);
            }
            cost.subschemas = cost.subschemas.saturating_add(max_cost.subschemas);
            cost.height = cost.height.max(max_cost.height + 1);
        }
        if cost.subschemas > MAX_SUBSCHEMAS {
            return Err(format!(
                "more than {MAX_SUBSCHEMAS} subschemas have to be looked at for one value"
            ));
        }
        if cost.height > MAX_HEIGHT {
            return Err(too_high_error());
        }
        self.known.insert(identity, Some(cost));
        Ok(cost)
    }

    /// Returns the candidate targets of the reference `target` in `fields`.
    fn targets(
        &mut self,
        fields: &Object,
        keyword: &str,
        target: &str,
    ) -> Result<Vec<&'a Object>, String> {
        let (base, fragment) = target.split_once('#').unwrap_or((target, ""));
        let named = self.anchors.get(fragment).map_or(&[][..], Vec::as_slice);
        // Each reference may have to be compared with all resources, which would be quadratic without a bound.
        let candidates = named.len() + self.resources.len();
        self.targets_left = self
            .targets_left
            .checked_sub(candidates)
            .ok_or("its references may lead to too many places")?;
        let owner = self.owners.get(&ptr::from_ref(fields));
        let resource = owner
            .and_then(|number| self.resources.get(*number))
            .copied();
        // The target depends on how validation arrived here, so every resource is a candidate.
        let resources: Vec<&'a Value> = if keyword == "$recursiveRef" {
            self.resources.clone()
        } else if base.is_empty() {
            resource.into_iter().collect()
        } else {
            let named = self
                .resources
                .iter()
                .filter(|resource| has_id(resource, base));
            named.copied().collect()
        };
        let found = resources
            .into_iter()
            .filter_map(|resource| resolve_pointer(resource, fragment));
        Ok(found
            .chain(named.iter().copied())
            .filter_map(Value::as_object)
            .collect())
    }
}

/// Returns true if `base` may refer to the resource. Only the last path segments are compared, since the base URI is
/// unknown.
fn has_id(resource: &Value, base: &str) -> bool {
    let last = |id: &str| {
        id.trim_end_matches('#')
            .rsplit('/')
            .next()
            .map(str::to_owned)
    };
    let id = resource.get("$id").and_then(Value::as_text);
    id.is_some_and(|id| last(id) == last(base))
}

/// Returns the subschemas in `fields` that apply to the same value.
fn same_value_subschemas(fields: &Object) -> impl Iterator<Item = &Object> {
    let of = |keyword: &&str| fields.get(*keyword);
    let one = SCHEMA_KEYWORDS.iter().filter_map(of);
    let listed = LIST_KEYWORDS
        .iter()
        .filter_map(of)
        .filter_map(Value::as_list);
    let named = MAP_KEYWORDS
        .iter()
        .filter_map(of)
        .filter_map(Value::as_object);
    one.chain(listed.flat_map(|list| list.iter()))
        .chain(named.flat_map(Object::values))
        .filter_map(Value::as_object)
}

fn too_high_error() -> String {
    format!("more than {MAX_HEIGHT} subschemas lead to one another for the same value")
}

#[cfg(test)]
mod tests {
    use super::SchemaCost;
    use crate::Value;

    fn check(schema: &str, expected: Result<(u64, u32), &str>) {
        let schema = Value::from_json(schema).unwrap();
        let found = SchemaCost::of(&schema).map(|it| (it.subschemas, it.height));
        assert_eq!(
            found,
            expected.map_err(str::to_owned),
            "{}",
            schema.to_json()
        );
    }

    /// Returns a schema with `count` definitions; each refers to the previous one through `step`, and the first one is `last`.
    fn doubled(count: usize, step: &str, last: &str) -> String {
        let steps: Vec<String> = (1..count)
            .map(|n| {
                let reference = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, n - 1);
                format!(r#""d{n}": {}"#, step.replace('?', &reference))
            })
            .collect();
        let top = count - 1;
        let steps = steps.join(",");
        format!(r##"{{"$defs": {{"d0": {last}, {steps}}}, "$ref": "#/$defs/d{top}"}}"##)
    }

    #[test]
    fn subschemas_for_one_value_are_counted() {
        check("true", Ok((1, 1)));
        check(r#"{"properties": {"a": {"items": {}}}}"#, Ok((1, 1)));
        check(
            r#"{"allOf": [{}, {"not": {}}], "if": {}, "then": true}"#,
            Ok((5, 3)),
        );
        check(
            r#"{"dependentSchemas": {"a": {}, "b": {"anyOf": [{}, {}]}}}"#,
            Ok((5, 3)),
        );
        check(
            r##"{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##,
            Ok((2, 2)),
        );
        check(&doubled(5, r#"{"allOf": [?, ?]}"#, "{}"), Ok((62, 10)));
        check(
            &doubled(5, r#"{"properties": {"l": ?, "r": ?}}"#, "{}"),
            Ok((2, 2)),
        );
    }

    #[test]
    fn references_lead_where_they_are_meant_to() {
        check(
            r##"{"$ref": "#b", "$defs": {"b": {"$anchor": "b", "not": {}}}}"##,
            Ok((3, 3)),
        );
        check(
            r##"{"$defs": {"a": {"$id": "http://x/a", "$ref": "#/$defs/b", "$defs": {"b": {"not": {}}}}, "b": {}}}"##,
            Ok((3, 3)),
        );
        check(
            r#"{"$defs": {"a": {"$id": "http://x/a", "not": {}}}, "$ref": "a"}"#,
            Ok((3, 3)),
        );
        check(
            r#"{"$ref": "http://json-schema.org/draft-07/schema#"}"#,
            Ok((2, 2)),
        );
        check(r##"{"$ref": "#/$defs/nowhere"}"##, Ok((2, 2)));
        check(r##"{"$ref": "#"}"##, Ok((2, 2)));
    }

    #[test]
    fn endless_references_are_refused() {
        let endless = Err("a subschema leads back to itself for the same value");
        check(r##"{"anyOf": [{"$ref": "#"}, {}]}"##, endless);
        check(
            r##"{"$dynamicAnchor": "a", "not": {"$dynamicRef": "#a"}}"##,
            endless,
        );
        check(r##"{"allOf": [{"$recursiveRef": "#"}]}"##, endless);
        for step in [
            r#"{"allOf": [?, ?]}"#,
            r#"{"anyOf": [?, ?]}"#,
            r#"{"if": ?, "then": ?}"#,
            r#"{"not": {"dependentSchemas": {"a": ?, "b": ?}}}"#,
        ] {
            check(
                &doubled(40, step, "{}"),
                Err("more than 65536 subschemas have to be looked at for one value"),
            );
        }
        let many: Vec<String> = (0..1_100)
            .map(|n| format!(r##""d{n}": {{"$id": "http://x/{n}", "$recursiveRef": "#"}}"##))
            .collect();
        check(&format!(r#"{{"$defs": {{{}}}}}"#, many.join(",")), endless);
        let many: Vec<String> = (0..1_100)
            .map(|n| {
                format!(r##""d{n}": {{"$anchor": "a", "properties": {{"a": {{"$ref": "#a"}}}}}}"##)
            })
            .collect();
        check(
            &format!(r#"{{"$defs": {{{}}}}}"#, many.join(",")),
            Err("its references may lead to too many places"),
        );
        check(
            &doubled(200, "?", "{}"),
            Err("more than 128 subschemas lead to one another for the same value"),
        );
    }
}
