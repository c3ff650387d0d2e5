//! Types of calls of functions, of loops and of computed positions.

use std::sync::Arc;

use super::{Local, Typing, list_fields};
use crate::Value;
use crate::expression::function::{
    self, BuiltinFunction, Kinds, Parameter, SORTABLE, field_type, item_type, union,
};
use crate::expression::tree::{Accessor, Loop, Tree, add};
use crate::schema::{Additional, ObjectType, Property, Type};

impl<'a> Typing<'a, '_> {
    /// Infers a call with arguments of these types. `trees` has the syntax tree of each argument, unless it is the value of an
    /// accessor.
    pub(super) fn call(
        &mut self,
        function: &'static BuiltinFunction,
        types: &[Type],
        trees: impl IntoIterator<Item = Option<&'a Tree>>,
    ) -> Type {
        let last = function.parameters.last();
        let trees: Vec<Option<&Tree>> = trees.into_iter().collect();
        let pattern = trees.get(1).copied().flatten();
        for (position, (shape, tree)) in types.iter().zip(trees).enumerate() {
            let Some(&parameter) = function.parameters.get(position).or(last) else {
                continue;
            };
            if takes(parameter, shape, tree) {
                continue;
            }
            if function::moves_time(function) {
                let message = format!("`{}` cannot combine a time and {shape}", function.name);
                let help = "`date(…)` converts a text to a time, `duration(…)` a number of seconds";
                self.report_operation(message, Some(help.to_owned()));
                break;
            }
            let found: Vec<String> = types.iter().map(Type::to_string).collect();
            let message = format!(
                "`{}` does not work on {}",
                function.name,
                found.join(" and ")
            );
            let help = call_help(function, position, parameter, shape);
            self.report_operation(message, help);
            break;
        }
        self.check_pattern(function, pattern);
        (function.result)(types)
    }

    /// Infers a loop over a value of type `over`, which is that of `base` after `accessors`.
    pub(super) fn run_loop(
        &mut self,
        kind: Loop,
        over: Type,
        trees: &'a [Tree],
        base: &'a Tree,
        accessors: &'a [Accessor],
    ) -> Type {
        let kinds = Kinds::of(&over);
        let name = kind.name();
        let takes_objects = kind.takes_objects();
        let in_list = kinds.meets(Kinds::LIST);
        let in_object = takes_objects && kinds.meets(Kinds::OBJECT);
        if !in_list && !in_object {
            let message = format!("`{name}` needs a list, not {over}");
            self.report_operation(message, list_fields(&over));
        }
        let items = in_list.then(|| item_type(&over));
        let keys = in_object.then_some(Type::Text);
        let item = union(items.into_iter().chain(keys));
        let local = Local {
            shape: item.clone(),
            base,
            accessors,
            object: (kinds == Kinds::OBJECT).then_some(over),
        };
        add(&mut self.locals, local);
        let result = self.loop_body(kind, item, trees);
        self.locals.pop();
        result
    }

    fn loop_body(&mut self, kind: Loop, item: Type, trees: &'a [Tree]) -> Type {
        match (kind, trees) {
            (Loop::All | Loop::Exists | Loop::ExistsOne, [condition]) => {
                self.loop_condition(kind, condition);
                Type::Boolean
            }
            (Loop::Filter, [condition]) => {
                self.loop_condition(kind, condition);
                Type::list_of(item)
            }
            (Loop::Map, [value]) => Type::list_of(self.type_of(value)),
            (Loop::Map, [condition, value]) => {
                self.loop_condition(kind, condition);
                let before = self.around;
                // No item may fulfil the condition.
                self.around.is_conditional = true;
                let value = self.type_of(value);
                self.around = before;
                Type::list_of(value)
            }
            (Loop::SortBy, [key]) => {
                let key = self.type_of(key);
                if !is_sortable(&key) {
                    let message = format!("`sortBy` cannot compare {key} with {key}");
                    self.report_operation(message, None);
                }
                Type::list_of(item)
            }
            (Loop::GroupBy, [key]) => {
                let key = self.type_of(key);
                if Kinds::of(&key) == Kinds::OBJECT {
                    self.report_operation(format!("`groupBy` has no groups for {key}"), None);
                }
                self.has_grown = true;
                Type::list_of(group(key, item))
            }
            _ => Type::Any,
        }
    }

    fn loop_condition(&mut self, kind: Loop, condition: &'a Tree) {
        self.condition(
            condition,
            format_args!("the condition of `{}`", kind.name()),
        );
    }

    /// Infers the part of a value of type `whole` that `index` selects.
    pub(super) fn item(&mut self, whole: &Type, index: &'a Tree) -> Type {
        let before = std::mem::replace(&mut self.takes_whole, true);
        let selector = self.type_of(index);
        self.takes_whole = before;
        let (selected, kinds) = (Kinds::of(&selector), Kinds::of(whole));
        if !selected.meets(Kinds::TEXT.or(Kinds::NUMBER)) {
            let message = format!("{selector} cannot be an index");
            self.report_operation(message, None);
            return Type::Any;
        }
        let in_list = kinds.meets(Kinds::LIST);
        let in_object = kinds.meets(Kinds::OBJECT) && selected.meets(Kinds::TEXT);
        if !in_list && !in_object && !self.around.is_guarded {
            let message = format!("{selector} selects nothing in {whole}");
            self.report_operation(message, list_fields(whole));
        }
        let items = in_list.then(|| item_type(whole));
        let fields = in_object.then(|| field_type(whole));
        union(items.into_iter().chain(fields))
    }
}

/// Returns true if keys of `sortBy` of type `key` may have an order: a list has one criterion after the other.
fn is_sortable(key: &Type) -> bool {
    let kinds = Kinds::of(key);
    let items = match key {
        Type::List(list) if list.min_items > 0 => list.prefix.iter(),
        _ => [].iter(),
    };
    let mut items = items.take(match key {
        Type::List(list) => list.min_items,
        _ => 0,
    });
    kinds.meets(SORTABLE.or(Kinds::LIST)) && items.all(|item| Kinds::of(item).meets(SORTABLE))
}

/// Returns the type of the groups of `groupBy`.
fn group(key: Type, item: Type) -> Type {
    let fields = [("key", key), ("items", Type::list_of(item))];
    let required = true;
    let properties = fields.map(|(name, shape)| (Arc::from(name), Property { shape, required }));
    Type::Object(Arc::new(ObjectType {
        properties: properties.into_iter().collect(),
        additional: Additional::Closed,
    }))
}

/// Returns true if `parameter` accepts some value of type `shape`. `tree` is the syntax tree of the argument.
fn takes(parameter: Parameter, shape: &Type, tree: Option<&Tree>) -> bool {
    let kinds = Kinds::of(shape);
    if !kinds.meets(parameter.kinds) {
        return false;
    }
    if kinds != Kinds::LIST || parameter.items == Kinds::ANY {
        return true;
    }
    let takes_item = |item: &Type| Kinds::of(item).meets(parameter.items);
    match (tree, shape) {
        // The list has exactly these items.
        (Some(Tree::List(_)), Type::List(list)) => list.prefix.iter().all(takes_item),
        (_, Type::Literal(Value::List(items))) => items
            .iter()
            .all(|item| takes_item(&Type::Literal(item.clone()))),
        _ => takes_item(&item_type(shape)),
    }
}

fn call_help(
    function: &BuiltinFunction,
    position: usize,
    parameter: Parameter,
    shape: &Type,
) -> Option<String> {
    let kinds = Kinds::of(shape);
    if position == 0
        && parameter.kinds == Kinds::TEXT
        && let Some(field) = shape.only_text_field()
    {
        let name = function.name;
        return Some(format!(
            "its only field `{field}` is text: `.{field}.{name}(…)` in place of `.{name}(…)`"
        ));
    }
    let help = if parameter.items == Kinds::TEXT && kinds == Kinds::LIST {
        "`.map(x, string(x))` before it converts the items to texts"
    } else if function.name == "contains" && position == 0 && kinds == Kinds::LIST {
        "`item in list` tests if a list has an item"
    } else if parameter.kinds == Kinds::TEXT && !kinds.meets(Kinds::TEXT) {
        "`string(…)` converts a value to text"
    } else if parameter.kinds == Kinds::NUMBER && kinds == Kinds::TEXT {
        "`int(…)` and `double(…)` convert texts to numbers"
    } else {
        return list_fields(shape).filter(|_| parameter.kinds.meets(Kinds::LIST));
    };
    Some(help.to_owned())
}
