//! Type inference for expressions: the types of their values, and the parts that cannot have one.
//!
//! A type includes every value that an evaluation may give. A list is assumed to have items, as in
//! [`Type::at`](crate::schema::Type::at).

mod calls;
mod comparisons;
mod doubtful;
mod error;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

pub(crate) use self::comparisons::ConstantComparison;
pub(crate) use self::doubtful::MAY_DROP_FRACTION;
use self::error::{
    BOOLEAN_HELP, condition_help, describe, end_of_path, is_known_value, list_fields, number_help,
    operator_help, single_read, tests_presence,
};
pub(crate) use self::error::{DEFAULT_HELP, FailedPath, TypeError, TypeErrorKind, size_help};
use super::function::{Kinds, Search, item_type, numeric_of, union};
use super::operator::BinaryOperator;
use super::tree::{Accessor, Tree};
use crate::plan::{Alternative, Form, Missing, Path, Read, Segment, Source};
use crate::schema::{Additional, ObjectType, PathLookup, Property, Type};
use crate::{Expression, Hashing, Severity, Value};

/// Maximum number of parts and depth of the type of an expression; larger types become [`Type::Any`].
const MAX_PARTS: usize = 10_000;
const MAX_DEPTH: usize = 64;

/// Looks up the part at a path of a source in the types of a plan.
pub(crate) type LookUp<'a> = &'a dyn Fn(&Source, &[Segment]) -> PathLookup;

/// Returns the type of the value of `form`, and adds the mistakes in its expressions to `errors`.
pub(crate) fn form_type(
    form: &Form,
    look_up: LookUp<'_>,
    errors: Option<&mut Vec<TypeError>>,
) -> Type {
    form_type_within(form, look_up, errors, Surroundings::default())
}

/// The effect of a failure at a place in an expression.
#[derive(Clone, Copy, Debug, Default)]
struct Surroundings {
    /// The part is evaluated only in some cases, or its failure may be overridden.
    is_conditional: bool,
    /// A missing part is not a failure.
    is_guarded: bool,
    /// The part is evaluated only if an earlier alternative is missing.
    is_fallback: bool,
}

impl Surroundings {
    /// Returns the surroundings of an alternative of `??`.
    fn of_alternative(self, position: usize, last: usize) -> Self {
        Self {
            is_conditional: self.is_conditional || position > 0,
            is_guarded: self.is_guarded || position < last,
            is_fallback: self.is_fallback || position > 0,
        }
    }
}

fn form_type_within(
    form: &Form,
    look_up: LookUp<'_>,
    mut errors: Option<&mut Vec<TypeError>>,
    around: Surroundings,
) -> Type {
    let alternatives = match form {
        Form::All(reads) => {
            return reads
                .last()
                .map_or(Type::Any, |read| read_type(look_up, read));
        }
        Form::First(alternatives) => alternatives,
    };
    let last = alternatives.len().saturating_sub(1);
    union(
        alternatives
            .iter()
            .enumerate()
            .map(|(position, alternative)| match alternative {
                Alternative::Read(read) => read_type(look_up, read),
                Alternative::Literal(value) => Type::Literal(value.clone()),
                Alternative::Expression(expression) => {
                    let around = around.of_alternative(position, last);
                    Typing::new(expression, look_up, errors.as_deref_mut(), around).expression()
                }
            }),
    )
}

/// Returns the type of the value of `read`.
fn read_type(look_up: LookUp<'_>, read: &Read) -> Type {
    part_type(look_up, &read.source, &read.path, read.missing)
}

/// Returns the type of the part at `path` of `source`.
fn part_type(look_up: LookUp<'_>, source: &Source, path: &[Segment], missing: Missing) -> Type {
    match look_up(source, path) {
        PathLookup::Found(shape) => lenient(shape, path, missing),
        // `[*]` gives a list, whatever its items are.
        PathLookup::Unknown if missing == Missing::Fail && path.contains(&Segment::Each) => {
            Type::list_of(Type::Any)
        }
        _ => Type::Any,
    }
}

/// Returns the type of the part at `path`, of type `shape` where it exists.
fn lenient(shape: Type, path: &[Segment], missing: Missing) -> Type {
    let in_items = || path.contains(&Segment::Each);
    match missing {
        _ if shape.is_never() => Type::Any,
        Missing::Fail => shape,
        Missing::NullInItems if !in_items() => shape,
        // Any item may be `null` then, which the type of the list does not say.
        Missing::Null | Missing::NullInItems if in_items() => Type::Any,
        Missing::Null | Missing::NullInItems => union([shape, Type::Null]),
    }
}

/// The variable of a loop.
struct Local<'t> {
    shape: Type,
    /// The value that the loop goes over: a tree and the accessors after it.
    base: &'t Tree,
    accessors: &'t [Accessor],
    /// The type of the object that the loop goes over the keys of.
    object: Option<Type>,
}

/// The inference of the types of one expression.
struct Typing<'a, 'f> {
    tree: &'a Tree,
    bindings: &'a [Form],
    look_up: LookUp<'a>,
    errors: Option<&'f mut Vec<TypeError>>,
    locals: Vec<Local<'a>>,
    around: Surroundings,
    /// True if the type may have more parts than those of the bindings.
    has_grown: bool,
    /// True in a part whose value is a whole number by intention, such as an index.
    takes_whole: bool,
}

impl<'a, 'f> Typing<'a, 'f> {
    fn new(
        expression: &'a Expression,
        look_up: LookUp<'a>,
        errors: Option<&'f mut Vec<TypeError>>,
        around: Surroundings,
    ) -> Self {
        Self {
            tree: expression.tree(),
            bindings: expression.bindings(),
            look_up,
            errors,
            locals: Vec::new(),
            around,
            has_grown: false,
            takes_whole: false,
        }
    }

    fn expression(mut self) -> Type {
        let shape = self.type_of(self.tree);
        // A type can grow exponentially with the length of the expression.
        if self.has_grown && !shape.is_within(MAX_PARTS, MAX_DEPTH) {
            return Type::Any;
        }
        shape
    }

    /// Returns the type of the value of `tree`; [`Type::Any`] if it has none.
    fn type_of(&mut self, tree: &'a Tree) -> Type {
        match tree {
            Tree::Literal(value) => Type::Literal(value.clone()),
            Tree::Read(_) => Type::Any,
            Tree::Bound(index) => match self.bindings.get(*index) {
                Some(form) => {
                    let errors = self.errors.as_deref_mut();
                    form_type_within(form, self.look_up, errors, self.around)
                }
                None => Type::Any,
            },
            Tree::LoopVariable(position) => {
                let local = self.locals.iter().rev().nth(*position);
                local.map_or(Type::Any, |local| local.shape.clone())
            }
            Tree::List(items) => {
                self.has_grown = true;
                Type::list(items.iter().map(|item| self.type_of(item)))
            }
            Tree::Object(fields) => self.object(fields),
            Tree::Not(part) => {
                self.condition(part, "`!`");
                Type::Boolean
            }
            Tree::Negate(part) => {
                let shape = self.type_of(part);
                if !Kinds::of(&shape).meets(Kinds::NUMBER) {
                    let is_boolean = Kinds::of(&shape) == Kinds::BOOLEAN;
                    let help = is_boolean.then(|| BOOLEAN_HELP.to_owned());
                    self.report_operation(format!("`-` cannot be applied to {shape}"), help);
                }
                numeric_of([&shape])
            }
            Tree::Chain(first, rest) => {
                let mut left = self.type_of(first);
                if let [(BinaryOperator::Divide, size), ..] = rest.as_slice() {
                    self.check_mean(&left, [first, size]);
                }
                for (operator, right) in rest {
                    let shape = self.type_of(right);
                    left = self.binary(*operator, &left, &shape, [first, right]);
                }
                left
            }
            Tree::And(parts) => self.connective(parts, "`&&`"),
            Tree::Or(parts) => self.connective(parts, "`||`"),
            Tree::Choice(cases, otherwise) => self.choice(cases, otherwise),
            Tree::FirstOf(alternatives) => {
                let before = self.around;
                let last = alternatives.len().saturating_sub(1);
                let mut types = Vec::with_capacity(alternatives.len());
                for (position, alternative) in alternatives.iter().enumerate() {
                    self.around = before.of_alternative(position, last);
                    types.push(self.type_of(&alternative.tree));
                }
                self.around = before;
                union(types)
            }
            Tree::Access(base, accessors) => self.access(base, accessors),
            Tree::Call(function, arguments) => {
                let before = self.takes_whole;
                self.takes_whole |= doubtful::takes_whole(function);
                let types = arguments.iter().map(|argument| self.type_of(argument));
                let types: Vec<Type> = types.collect();
                self.takes_whole = before;
                self.call(function, &types, arguments.iter().map(Some))
            }
            Tree::Has(path) => {
                let before = self.around;
                self.around.is_guarded = true;
                self.type_of(path);
                self.around = before;
                Type::Boolean
            }
        }
    }

    fn object(&mut self, fields: &'a [(Tree, Tree)]) -> Type {
        self.has_grown = true;
        let mut properties = IndexMap::with_capacity_and_hasher(fields.len(), Hashing::default());
        let mut computed = Vec::new();
        for (key, value) in fields {
            let key_type = self.type_of(key);
            let shape = self.type_of(value);
            if let Tree::Literal(Value::Text(key)) = key {
                let required = true;
                properties.insert(Arc::clone(key), Property { shape, required });
                continue;
            }
            if !Kinds::of(&key_type).meets(Kinds::TEXT) {
                self.report_operation(format!("a key must be text, not {key_type}"), None);
            }
            computed.push(shape);
        }
        let additional = if computed.is_empty() {
            Additional::Closed
        } else {
            Additional::Open(union(computed))
        };
        Type::Object(Arc::new(ObjectType {
            properties,
            additional,
        }))
    }

    /// Infers an operand that must be a boolean.
    fn condition(&mut self, tree: &'a Tree, sign: impl fmt::Display) {
        let shape = self.type_of(tree);
        if !Kinds::of(&shape).meets(Kinds::BOOLEAN) {
            let help = condition_help(&shape);
            self.report_operation(format!("{sign} needs true or false, not {shape}"), help);
        }
    }

    fn connective(&mut self, parts: &'a [Tree], sign: &str) -> Type {
        let before = self.around;
        // The types of plain operands are known beforehand, which costs nothing.
        let are_plain = parts.iter().all(is_plain);
        let errors = self.errors.take();
        let plain = parts.iter().filter(|_| are_plain);
        let kinds: Vec<Kinds> = plain.map(|part| Kinds::of(&self.type_of(part))).collect();
        self.errors = errors;
        // Another operand may be decisive, if it can be a boolean at all.
        let is_hopeless = are_plain && !kinds.iter().any(|kinds| kinds.meets(Kinds::BOOLEAN));
        self.around.is_conditional |= parts.len() > 1 && !is_hopeless;
        // A value that is not a condition has a default behind it.
        let has_default = sign == "`||`" && matches!(*kinds, [first, _] if first != Kinds::BOOLEAN);
        for part in parts {
            let shape = self.type_of(part);
            if !Kinds::of(&shape).meets(Kinds::BOOLEAN) {
                let default = Some(DEFAULT_HELP.to_owned()).filter(|_| has_default);
                let help = default.or_else(|| condition_help(&shape));
                self.report_operation(format!("{sign} needs true or false, not {shape}"), help);
            }
        }
        self.around = before;
        Type::Boolean
    }

    fn choice(&mut self, cases: &'a [(Tree, Tree)], otherwise: &'a Tree) -> Type {
        let before = self.around;
        let mut types = Vec::with_capacity(cases.len() + 1);
        for (condition, value) in cases {
            self.condition(condition, "`?`");
            self.around.is_conditional = true;
            types.push(self.type_of(value));
        }
        types.push(self.type_of(otherwise));
        self.around = before;
        self.has_grown = true;
        union(types)
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &Type,
        right: &Type,
        trees: [&'a Tree; 2],
    ) -> Type {
        use BinaryOperator as Operator;
        let (one, other) = (Kinds::of(left), Kinds::of(right));
        let both = |kind: Kinds| one.meets(kind) && other.meets(kind);
        let (applies, result) = match operator {
            Operator::Equal | Operator::Unequal => (true, Type::Boolean),
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => {
                let kinds = [Kinds::NUMBER, Kinds::TEXT, Kinds::BOOLEAN];
                (kinds.into_iter().any(both), Type::Boolean)
            }
            Operator::In => {
                let key = Kinds::TEXT.or(Kinds::NUMBER).or(Kinds::BOOLEAN);
                let in_list = other.meets(Kinds::LIST);
                let in_object = other.meets(Kinds::OBJECT) && one.meets(key);
                (in_list || in_object || both(Kinds::TEXT), Type::Boolean)
            }
            Operator::Add => {
                let number = both(Kinds::NUMBER).then(|| numeric_of([left, right]));
                let text = both(Kinds::TEXT).then_some(Type::Text);
                let list = both(Kinds::LIST)
                    .then(|| Type::list_of(union([item_type(left), item_type(right)])));
                let applies = number.is_some() || text.is_some() || list.is_some();
                (applies, union([number, text, list].into_iter().flatten()))
            }
            // Integers may be written as doubles, whose quotient has a fraction.
            Operator::Divide => (both(Kinds::NUMBER), Type::Number),
            Operator::Subtract | Operator::Multiply | Operator::Remainder => {
                (both(Kinds::NUMBER), numeric_of([left, right]))
            }
        };
        if !applies {
            let message = format!("`{}` cannot combine {left} and {right}", operator.sign());
            let help = self
                .key_help(trees)
                .or_else(|| number_help(operator, [left, right]))
                .or_else(|| operator_help(operator, one, other));
            self.report_operation(message, help);
        } else if self.errors.is_some() {
            self.check_comparison(operator, [left, right], trees);
            if operator == Operator::Divide {
                self.check_quotient(left, right);
            }
        }
        result
    }

    fn access(&mut self, base: &'a Tree, accessors: &'a [Accessor]) -> Type {
        let (mut shape, done) = match (base, accessors) {
            // The reference pass checks paths that begin at a source.
            (Tree::Bound(index), [Accessor::Part(path, missing), ..]) => {
                let read = self.bindings.get(*index).and_then(single_read);
                match read.filter(|read| read.path.is_empty()) {
                    Some(root) => (part_type(self.look_up, &root.source, path, *missing), 1),
                    None => (self.type_of(base), 0),
                }
            }
            _ => (self.type_of(base), 0),
        };
        for (position, next) in accessors.iter().enumerate().skip(done) {
            let before = accessors.get(..position).unwrap_or_default();
            shape = match next {
                Accessor::Part(path, missing) => self.part(&shape, path, *missing, base, before),
                Accessor::Item(index) => self.item(&shape, index),
                Accessor::Call(function, arguments) => {
                    let mut types = Vec::with_capacity(arguments.len() + 1);
                    types.push(shape);
                    let outside = self.takes_whole;
                    self.takes_whole |= doubtful::takes_whole(function);
                    types.extend(arguments.iter().map(|argument| self.type_of(argument)));
                    self.takes_whole = outside;
                    let receiver = before.is_empty().then_some(base);
                    let trees = [receiver].into_iter().chain(arguments.iter().map(Some));
                    self.call(function, &types, trees)
                }
                Accessor::Search(search, _) => {
                    if !Kinds::of(&shape).meets(Kinds::TEXT) {
                        let name = search.name();
                        self.report_operation(format!("`{name}` does not work on {shape}"), None);
                    }
                    match search {
                        Search::Matches => Type::Boolean,
                        Search::Extract => Type::Text,
                        Search::ExtractAll => Type::list_of(Type::Text),
                    }
                }
                Accessor::Loop(kind, trees) => self.run_loop(*kind, shape, trees, base, before),
            };
        }
        shape
    }

    /// Infers the part at a constant path of a value of type `whole`, which is that of `base` after `accessors`.
    fn part(
        &mut self,
        whole: &Type,
        path: &Path,
        missing: Missing,
        base: &'a Tree,
        accessors: &'a [Accessor],
    ) -> Type {
        let found = whole.at(path);
        let is_null = missing == Missing::Null
            || missing == Missing::NullInItems && path.contains(&Segment::Each);
        let (known, matched, is_listed) = match found {
            PathLookup::Found(shape) => return lenient(shape, path, missing),
            PathLookup::Unknown => return Type::Any,
            PathLookup::Impossible { known, matched } => (known, matched, true),
            PathLookup::Unlisted { known, matched } => (known, matched, false),
        };
        if self.errors.is_none() || self.around.is_guarded {
            return Type::Any;
        }
        let failed = FailedPath {
            base: describe(base, accessors, self.bindings, &self.locals),
            path: path.clone(),
            matched,
            known,
        };
        let is_tested = tests_presence(self.tree);
        if is_listed {
            let may_be_excluded = self.around.is_conditional && is_known_value(whole);
            let may_succeed = is_null || is_tested || self.around.is_fallback || may_be_excluded;
            let help = self.key_help([base, base]);
            self.report(TypeError {
                severity: severity(may_succeed),
                help: help.or_else(|| end_of_path(whole, &failed)),
                kind: TypeErrorKind::Impossible(failed),
            });
        } else if !is_tested {
            self.report(TypeError {
                severity: Severity::Warning,
                kind: TypeErrorKind::Unlisted(failed),
                help: None,
            });
        }
        Type::Any
    }

    fn report_operation(&mut self, message: String, help: Option<String>) {
        self.report(TypeError {
            // Only an operation that is always evaluated fails for certain; a missing operand selects an alternative.
            severity: severity(self.around.is_conditional || self.around.is_guarded),
            kind: TypeErrorKind::Operation(message),
            help,
        });
    }

    fn report(&mut self, error: TypeError) {
        if let Some(errors) = &mut self.errors
            // A binding that occurs twice is inferred twice.
            && !errors.contains(&error)
        {
            errors.push(error);
        }
    }

    /// Explains that a variable among `trees` is a key of an object.
    fn key_help(&self, trees: [&Tree; 2]) -> Option<String> {
        trees.into_iter().find_map(|tree| {
            let Tree::LoopVariable(position) = tree else {
                return None;
            };
            let local = self.locals.iter().rev().nth(*position)?;
            let lists = list_fields(local.object.as_ref()?);
            let help = "a loop over an object goes over its keys";
            Some(lists.map_or_else(|| help.to_owned(), |lists| format!("{help}; {lists}")))
        })
    }
}

/// Returns true for a literal and for a path without computed parts.
fn is_plain(tree: &Tree) -> bool {
    let is_part = |accessor: &Accessor| matches!(accessor, Accessor::Part(..));
    match tree {
        Tree::Literal(_) | Tree::Read(_) | Tree::Bound(_) | Tree::LoopVariable(_) => true,
        Tree::Access(base, accessors) => is_plain(base) && accessors.iter().all(is_part),
        _ => false,
    }
}

fn severity(may_succeed: bool) -> Severity {
    if may_succeed {
        Severity::Warning
    } else {
        Severity::Error
    }
}
