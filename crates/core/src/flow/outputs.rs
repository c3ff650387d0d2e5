//! Labels of tool outputs, by field, as the policy states them.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;

use super::graph::Flags;

use super::policy::{FlowPolicy, FlowRule};
use super::report::{Confidentiality, Integrity};
use crate::schema::{Additional, PathLookup, Type};
use crate::{Hashing, Tool, ToolName, Value};

/// Maximum number of fields of an output that are labelled apart. Larger outputs get the join over all rules.
const MAX_FIELDS: usize = 1_000;

/// Maximum nesting of fields that are labelled apart.
const MAX_DEPTH: usize = 12;

/// The key of a field whose name is computed. Any rule may apply to it; only a rule for all names makes it trusted.
pub(super) const ANY_KEY: &str = "*";

/// The rules that apply to the outputs of one tool.
#[derive(Debug)]
pub(super) struct OutputRules<'a> {
    untrusted: Vec<&'a FlowRule>,
    trusted: Vec<&'a FlowRule>,
    private: Vec<&'a FlowRule>,
    /// True if the server states that the tool reaches beyond a closed domain.
    open_world: bool,
}

/// The labels of the fields of a value; one entry for the value itself if all of it has the same label.
type LabelTree = Vec<(Vec<Arc<str>>, Flags)>;

impl<'a> OutputRules<'a> {
    pub(super) fn of(policy: &'a FlowPolicy, tool: &Tool) -> Self {
        let covering = |rules: &'a [FlowRule]| -> Vec<&FlowRule> {
            let rules = rules.iter();
            rules
                .filter(|rule| rule.pattern.covers_tool(tool))
                .collect()
        };
        // Stated by the server; the default of MCP is not a statement.
        let open_world = tool.hints.open_world == Some(true);
        let mut trusted = covering(&policy.trusted);
        if open_world {
            trusted.retain(|rule| rule.pattern.is_specific());
        }
        Self {
            untrusted: covering(&policy.untrusted),
            trusted,
            private: covering(&policy.private),
            open_world,
        }
    }

    /// Returns the label of the field at `path`, without its inner fields.
    fn flags(&self, path: &[Arc<str>]) -> Flags {
        let may_cover =
            |rules: &[&FlowRule]| rules.iter().any(|rule| rule.pattern.may_cover_field(path));
        Flags {
            untrusted: (self.open_world || may_cover(&self.untrusted)) && !self.is_trusted(path),
            private: may_cover(&self.private),
        }
    }

    /// Returns the label that the rules for whole outputs state.
    pub(super) fn whole(&self) -> Flags {
        self.flags(&[])
    }

    /// Returns the text of the rule that makes the field at `path` untrusted, or trusted.
    fn integrity_rule(&self, path: &[Arc<str>], untrusted: bool) -> Option<Arc<str>> {
        if !untrusted {
            return first_rule(&self.trusted, path);
        }
        if self.open_world {
            return Some(Arc::from("openWorldHint"));
        }
        first_rule(&self.untrusted, path)
    }

    /// Returns true if a rule may distinguish fields inside the value at `path`.
    fn distinguishes(&self, path: &[Arc<str>]) -> bool {
        let mut rules = self
            .untrusted
            .iter()
            .chain(&self.trusted)
            .chain(&self.private);
        rules.any(|rule| rule.pattern.has_field() && rule.pattern.may_cover_inside(path))
    }

    /// Returns the label of fields inside `path` whose names are unknown: any field rule may apply, and no field is
    /// certainly trusted.
    fn unknown_fields(&self, path: &[Arc<str>]) -> Flags {
        let here = self.flags(path);
        let may_cover =
            |rules: &[&FlowRule]| rules.iter().any(|rule| rule.pattern.may_cover_inside(path));
        Flags {
            untrusted: here.untrusted || (!self.is_trusted(path) && may_cover(&self.untrusted)),
            private: here.private || may_cover(&self.private),
        }
    }

    fn is_trusted(&self, path: &[Arc<str>]) -> bool {
        let mut rules = self.trusted.iter();
        rules.any(|rule| rule.pattern.covers_field(path))
    }

    /// Returns the label of a value at `path` that is not an object according to its schema. If a rule names a path inside the
    /// value, it may be an object after all.
    fn scalar(&self, path: &[Arc<str>]) -> Flags {
        let here = self.flags(path);
        let leads_inside = |rules: &[&FlowRule]| {
            let mut rules = rules.iter();
            rules.any(|rule| rule.pattern.is_path() && rule.pattern.may_cover_inside(path))
        };
        Flags {
            untrusted: here.untrusted || (!self.is_trusted(path) && leads_inside(&self.untrusted)),
            private: here.private || leads_inside(&self.private),
        }
    }
}

/// A part of the outputs of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PartId(u32);

impl PartId {
    /// The whole output.
    pub(super) const WHOLE: Self = Self(0);
}

/// The parts of a tool's outputs that a plan reads. All calls of the tool share them, since a plan may call it many times.
#[derive(Debug)]
pub(super) struct ToolOutputs<'a> {
    pub(super) tool: &'a Tool,
    /// The tool, as `server.tool`.
    pub(super) name: ToolName,
    pub(super) rules: OutputRules<'a>,
    parts: Vec<Part>,
    /// The fields of parts with many of them.
    fields: HashMap<(PartId, Arc<str>), PartId, Hashing>,
}

/// The number of parts of a tool's outputs that a plan usually reads.
const TYPICAL_PARTS: usize = 4;

/// Maximum number of fields of a part that are compared one by one.
const MAX_COMPARED: usize = 8;

#[derive(Debug)]
struct Part {
    path: Vec<Arc<str>>,
    shape: Type,
    labels: OnceCell<Rc<[FieldLabels]>>,
    /// The first fields of the part that were read.
    few: Vec<(Arc<str>, PartId)>,
}

/// The labels of a field, by its path with dots.
pub(super) type FieldLabels = (Arc<str>, Flags);

impl<'a> ToolOutputs<'a> {
    pub(super) fn of(policy: &'a FlowPolicy, tool: &'a Tool) -> Self {
        let mut parts = Vec::with_capacity(TYPICAL_PARTS);
        parts.push(Part {
            path: Vec::new(),
            shape: tool.output.structure().clone(),
            labels: OnceCell::new(),
            few: Vec::new(),
        });
        Self {
            tool,
            name: tool.qualified_name(),
            rules: OutputRules::of(policy, tool),
            parts,
            fields: HashMap::default(),
        }
    }

    /// Returns the field `key` of a part, which a plan reads if `is_read`. The type of a part that is read is known at any depth of
    /// a recursive schema; a search for names sees a few levels, since it would not end.
    pub(super) fn field(&mut self, part: PartId, key: &Arc<str>, is_read: bool) -> PartId {
        let field = self.field_of(part, key);
        let has_type = !self.shape(PartId::WHOLE).is_any();
        if let Some(part) = self.parts.get_mut(field.0 as usize)
            && is_read
            && has_type
            && part.shape.is_any()
        {
            part.shape = self.tool.output.part(&part.path);
        }
        field
    }

    fn field_of(&mut self, part: PartId, key: &Arc<str>) -> PartId {
        let next = PartId(u32::try_from(self.parts.len()).unwrap_or(u32::MAX));
        let Some(whole) = self.parts.get_mut(part.0 as usize) else {
            return part;
        };
        if let Some((_, known)) = whole.few.iter().find(|(name, _)| name == key) {
            return *known;
        }
        if whole.few.len() < MAX_COMPARED {
            whole.few.push((Arc::clone(key), next));
        } else {
            let known = *self.fields.entry((part, Arc::clone(key))).or_insert(next);
            if known != next {
                return known;
            }
        }
        let path = self.path(part).iter().chain([key]).cloned().collect();
        let shape = part_at(self.shape(part), std::slice::from_ref(key));
        self.parts.push(Part {
            path,
            shape,
            labels: OnceCell::new(),
            few: Vec::new(),
        });
        next
    }

    /// Returns the path of a part.
    pub(super) fn path(&self, part: PartId) -> &[Arc<str>] {
        self.parts
            .get(part.0 as usize)
            .map_or(&[], |part| &part.path)
    }

    /// Returns the type of a part.
    pub(super) fn shape(&self, part: PartId) -> &Type {
        self.parts
            .get(part.0 as usize)
            .map_or(&Type::Any, |part| &part.shape)
    }

    /// Returns the labels of a part, by field.
    pub(super) fn labels(&self, part: PartId) -> Rc<[FieldLabels]> {
        let Some(part) = self.parts.get(part.0 as usize) else {
            return Rc::from([]);
        };
        Rc::clone(part.labels.get_or_init(|| {
            // The usual case: no rule is about a field of the part.
            if !self.rules.distinguishes(&part.path) {
                return Rc::from([(dotted(&part.path), self.rules.flags(&part.path))]);
            }
            let tree = label_tree(&self.rules, self.tool, &part.path);
            tree.into_iter()
                .map(|(field, flags)| (dotted(&field), flags))
                .collect()
        }))
    }

    /// Returns whether a part is a list by its schema, so that a number selects an item.
    pub(super) fn list(&self, part: PartId) -> IsList {
        let members = self.shape(part).members();
        let all = |test: fn(&Type) -> bool| !members.is_empty() && members.iter().all(test);
        if all(|member| matches!(member, Type::List(_))) {
            IsList::Always
        } else if all(|member| matches!(member, Type::Object(_))) {
            IsList::Never
        } else {
            IsList::Maybe
        }
    }

    /// Returns true if a part may be a text, or contain one.
    pub(super) fn may_contain_text(&self, part: PartId) -> bool {
        has_text(self.tool, self.path(part), &|_, _| true)
    }

    /// Returns true if a part may be an untrusted text, or contain one.
    pub(super) fn may_be_untrusted_text(&self, part: PartId) -> bool {
        may_be_untrusted_text(&self.rules, self.tool, self.path(part))
    }
}

/// Returns the part of a path with known names, with dots: a computed key may be any name.
fn dotted(path: &[Arc<str>]) -> Arc<str> {
    let mut names = path.iter().take_while(|name| ***name != *ANY_KEY);
    match (names.next(), names.next()) {
        (None, _) => Arc::from(""),
        (Some(only), None) => Arc::clone(only),
        (Some(first), Some(second)) => {
            let mut text = [&**first, ".", second].concat();
            for name in names {
                text.extend([".", &**name]);
            }
            text.into()
        }
    }
}

/// A statement of a schema about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsList {
    Always,
    Maybe,
    Never,
}

/// Returns the labels of the part of `tool`'s output at `path`.
fn label_tree(rules: &OutputRules<'_>, tool: &Tool, path: &[Arc<str>]) -> LabelTree {
    if !rules.distinguishes(path) {
        return vec![(path.to_vec(), rules.flags(path))];
    }
    let shape = part_at(tool.output.structure(), path);
    // The usual case: a plan reads fields without parts.
    if is_scalar(&shape) {
        return vec![(path.to_vec(), rules.scalar(path))];
    }
    let mut tree = LabelTree::new();
    let mut walk = FieldWalk {
        rules,
        tree: &mut tree,
    };
    walk.visit(&shape, &mut path.to_vec(), 0);
    if tree.len() > MAX_FIELDS {
        return vec![(path.to_vec(), rules.unknown_fields(path))];
    }
    merged(rules, tree, path)
}

/// Replaces fields with equal labels by the value around them.
fn merged(rules: &OutputRules<'_>, mut tree: LabelTree, path: &[Arc<str>]) -> LabelTree {
    match tree.split_first() {
        Some(((_, first), rest)) if rest.iter().all(|(_, flags)| flags == first) => {
            vec![(path.to_vec(), *first)]
        }
        Some(_) => {
            // An output that does not fit its schema is used as it is, with fields that a closed schema excludes.
            if tree.iter().all(|(field, _)| field != path) {
                tree.push((path.to_vec(), Flags::default()));
            }
            tree
        }
        None => vec![(path.to_vec(), rules.flags(path))],
    }
}

struct FieldWalk<'a> {
    rules: &'a OutputRules<'a>,
    tree: &'a mut LabelTree,
}

impl FieldWalk<'_> {
    fn visit(&mut self, shape: &Type, path: &mut Vec<Arc<str>>, depth: usize) {
        // Too many fields are replaced as a whole.
        if self.tree.len() > MAX_FIELDS {
            return;
        }
        if depth > MAX_DEPTH {
            self.unknown(path);
            return;
        }
        if !self.rules.distinguishes(path) {
            self.add(path);
            return;
        }
        for member in shape.members() {
            match member {
                Type::Object(object) => {
                    for (name, property) in &object.properties {
                        path.push(Arc::clone(name));
                        self.visit(&property.shape, path, depth + 1);
                        path.pop();
                    }
                    // An answer is not compared with its schema, so it may have fields that a closed one excludes.
                    self.unknown(path);
                }
                Type::List(list) => self.visit(&list.any_item(), path, depth + 1),
                Type::Any | Type::Literal(Value::Object(_) | Value::List(_)) => self.unknown(path),
                Type::Null
                | Type::Boolean
                | Type::Integer
                | Type::Number
                | Type::Text
                | Type::Literal(_) => {
                    let flags = self.rules.scalar(path);
                    self.tree.push((path.clone(), flags));
                }
                Type::Never | Type::Union(_) => {}
            }
        }
    }

    fn add(&mut self, path: &[Arc<str>]) {
        self.tree.push((path.to_vec(), self.rules.flags(path)));
    }

    fn unknown(&mut self, path: &[Arc<str>]) {
        self.tree
            .push((path.to_vec(), self.rules.unknown_fields(path)));
    }
}

/// Returns true for a type of single values that are neither objects nor lists.
fn is_scalar(shape: &Type) -> bool {
    matches!(
        shape,
        Type::Null | Type::Boolean | Type::Integer | Type::Number | Type::Text
    )
}

/// Returns false if values of the type `shape` certainly have no fields at any depth.
pub(super) fn may_have_fields(shape: &Type) -> bool {
    shape.members().iter().any(|member| match member {
        Type::Any | Type::Object(_) | Type::Literal(Value::Object(_) | Value::List(_)) => true,
        Type::List(list) => may_have_fields(&list.any_item()),
        Type::Literal(_)
        | Type::Never
        | Type::Null
        | Type::Boolean
        | Type::Integer
        | Type::Number
        | Type::Text
        | Type::Union(_) => false,
    })
}

/// Returns the fields that a type lists, or the items of its lists.
pub(super) fn fields_of(shape: &Type) -> Vec<Arc<str>> {
    let fields = shape.members().iter().map(|member| match member {
        Type::Object(object) => object.properties.keys().cloned().collect(),
        // The union of all items would be of any type if one is.
        Type::List(list) => {
            let items = list.prefix.iter().chain([&list.items]);
            items.flat_map(fields_of).collect()
        }
        _ => Vec::new(),
    });
    fields.collect::<Vec<_>>().concat()
}

/// Returns true if the part of `tool`'s output at `path` may be an untrusted text, or contain one.
fn may_be_untrusted_text(rules: &OutputRules<'_>, tool: &Tool, path: &[Arc<str>]) -> bool {
    has_text(tool, path, &|path, is_unknown| {
        let flags = if is_unknown {
            rules.unknown_fields(path)
        } else {
            rules.flags(path)
        };
        flags.untrusted
    })
}

/// Returns true if the part of `tool`'s output at `path` may be a text that `counts`, or contain one. Constants of the schema
/// do not count: no stranger chooses them. `counts` gets the path of a text, and true if the fields below are unknown.
fn has_text(tool: &Tool, path: &[Arc<str>], counts: &dyn Fn(&[Arc<str>], bool) -> bool) -> bool {
    fn visit(
        counts: &dyn Fn(&[Arc<str>], bool) -> bool,
        shape: &Type,
        path: &mut Vec<Arc<str>>,
        depth: usize,
    ) -> bool {
        if depth > MAX_DEPTH {
            return counts(path, true);
        }
        shape.members().iter().any(|member| match member {
            Type::Any => counts(path, true),
            Type::Text => counts(path, false),
            Type::List(list) => visit(counts, &list.any_item(), path, depth + 1),
            Type::Object(object) => {
                let in_listed = object.properties.iter().any(|(name, property)| {
                    path.push(Arc::clone(name));
                    let found = visit(counts, &property.shape, path, depth + 1);
                    path.pop();
                    found
                });
                in_listed || object.additional != Additional::Closed && counts(path, true)
            }
            Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Literal(_)
            | Type::Union(_) => false,
        })
    }
    let shape = part_at(tool.output.structure(), path);
    visit(counts, &shape, &mut path.to_vec(), 0)
}

/// Returns true if an answer of `tool` may contain an untrusted text, which exposes its reader.
pub fn may_expose(policy: &FlowPolicy, tool: &Tool) -> bool {
    may_be_untrusted_text(&OutputRules::of(policy, tool), tool, &[])
}

/// Returns true if an answer of `tool` may contain an untrusted value.
pub fn may_be_untrusted(policy: &FlowPolicy, tool: &Tool) -> bool {
    let tree = label_tree(&OutputRules::of(policy, tool), tool, &[]);
    tree.iter().any(|(_, flags)| flags.untrusted)
}

/// Returns the type of the field at `path`, through lists.
pub(super) fn part_at(shape: &Type, path: &[Arc<str>]) -> Type {
    let mut shape = shape.clone();
    for key in path {
        if let Some(known) = property_of(&shape, key) {
            shape = known.clone();
            continue;
        }
        let mut below = Vec::new();
        for member in shape.members() {
            let mut member = member.clone();
            // Positions in lists are left out of paths.
            while let Type::List(list) = &member {
                member = list.any_item();
            }
            for member in member.members() {
                match member.at(&[crate::plan::Segment::Key(Arc::clone(key))]) {
                    PathLookup::Found(found) => below.push(found),
                    PathLookup::Impossible { .. } => {}
                    PathLookup::Unknown | PathLookup::Unlisted { .. } => return Type::Any,
                }
            }
        }
        shape = Type::union(below);
        if shape.is_never() {
            return Type::Any;
        }
    }
    shape
}

/// Returns the type of a field that an object lists, or the objects of a list: the usual case, without unions.
fn property_of<'t>(shape: &'t Type, key: &str) -> Option<&'t Type> {
    match shape {
        Type::Object(object) => {
            let property = object.properties.get(key)?;
            Some(&property.shape).filter(|shape| !shape.is_never())
        }
        Type::List(list) if list.prefix.is_empty() => property_of(&list.items, key),
        _ => None,
    }
}

/// A field of a tool's output, with the rules that label it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputField {
    /// The path of the field, with dots; empty for the whole output.
    pub field: String,
    /// The integrity of the field.
    pub integrity: Integrity,
    /// The rule that calls it untrusted, or trusted; `None` if no rule covers it.
    pub integrity_rule: Option<Arc<str>>,
    /// The confidentiality of the field.
    pub confidentiality: Confidentiality,
    /// The rule that calls it private.
    pub confidentiality_rule: Option<Arc<str>>,
}

/// Returns the labels of the output of `tool`: one entry if all of it has the same label, else one for each field that
/// the output schema lists. The entry of a field that is not a leaf stands for the fields in it that are not listed.
pub fn output_fields(policy: &FlowPolicy, tool: &Tool) -> Vec<OutputField> {
    let rules = OutputRules::of(policy, tool);
    let tree = label_tree(&rules, tool, &[]);
    tree.into_iter()
        .map(|(path, flags)| OutputField {
            field: path.join("."),
            integrity: Integrity::of(flags.untrusted),
            integrity_rule: rules.integrity_rule(&path, flags.untrusted),
            confidentiality: Confidentiality::of(flags.private),
            confidentiality_rule: flags
                .private
                .then(|| first_rule(&rules.private, &path))
                .flatten(),
        })
        .collect()
}

/// Returns the text of the first rule that applies to the field at `path`, or to a field in it.
fn first_rule(rules: &[&FlowRule], path: &[Arc<str>]) -> Option<Arc<str>> {
    let covers =
        |rule: &&&FlowRule| rule.pattern.covers_field(path) || rule.pattern.may_cover_inside(path);
    let rule = rules.iter().find(covers)?;
    Some(rule.pattern.as_str().into())
}
