//! The hints about references that lead nowhere.

use std::path::Path;
use std::sync::Arc;

use super::super::meant::{
    HOLDERS, OUTPUT_FIELDS, ROOTS, field_in_text_advice, is_item_part, items_advice,
    position_advice, replaced, synonym,
};
use super::super::names::numbered_step;
use super::super::positional::text_advice;
use super::literals::step_path;
use super::{ReadPass, describe_failure};
use crate::check::reporter::Reporter;
use crate::check::type_inference::ReadTarget;
use crate::expression::function::foreign_word;
use crate::expression::print_path;
use crate::expression::typing::size_help;
use crate::plan::{InputKind, Node, NodeKind, Read, Segment, Source};
use crate::schema::{Compatibility, KnownFields, PathLookup, Type};
use crate::{StepId, Value};

/// Words of other systems for the step before.
const PREVIOUS: [&str; 6] = [
    "previous",
    "prev",
    "previous_step",
    "previous_output",
    "last_step",
    "last_output",
];

impl ReadPass<'_> {
    /// The hint for a word that stands for another root of references.
    pub(super) fn root_advice(&self, word: &str) -> Option<String> {
        // `outputs.a.b` is `a.b`, and `context.city` is the input of that name.
        if HOLDERS.contains(&word)
            && let Some((Segment::Key(name), rest)) = self.read.path.split_first()
        {
            let rest = print_path(rest);
            if self
                .resolved
                .ids
                .contains_key(&StepId::new(Arc::clone(name)))
            {
                return Some(self.written(word, &format!("{name}{rest}")));
            }
            if self
                .resolved
                .plan
                .inputs
                .iter()
                .any(|input| input.name == *name)
            {
                return Some(self.written(word, &format!("inputs.{name}{rest}")));
            }
        }
        let (_, root) = ROOTS.iter().find(|(written, _)| *written == word)?;
        let path = print_path(&self.read.path);
        Some(self.written(word, &format!("{root}{path}")))
    }

    /// The advice to write `meant` in place of this read, whose root is `word`.
    fn written(&self, word: &str, meant: &str) -> String {
        let read = format!("{word}{}", print_path(&self.read.path));
        format!("write `{}`", replaced(&self.text(), &read, meant))
    }

    /// The hint for a word of another language for a literal, `a ?? False`.
    pub(super) fn literal_advice(&self, word: &str) -> Option<String> {
        let here = foreign_word(word).filter(|_| self.read.path.is_empty())?;
        self.text().contains(' ').then(|| self.written(word, here))
    }

    /// The hint for the name of an input without its root.
    pub(super) fn input_advice(&self, word: &str) -> Option<String> {
        let mut inputs = self.resolved.plan.inputs.iter();
        let input = inputs.find(|input| &*input.name == word)?;
        let root = match input.kind {
            InputKind::Variable => "vars",
            InputKind::Input => "inputs",
        };
        let path = print_path(&self.read.path);
        Some(self.written(word, &format!("{root}.{word}{path}")))
    }

    /// The hint for a word that stands for the step before.
    pub(super) fn neighbour_advice(&self, word: &str) -> Option<String> {
        let (index, _) = self.usage.step.filter(|_| PREVIOUS.contains(&word))?;
        let before = usize::try_from(index).ok()?.checked_sub(1)?;
        let before = self.resolved.plan.steps.get(before)?;
        let path = print_path(&self.read.path);
        let advice = self.written(word, &format!("{}{path}", before.id));
        Some(format!("{advice} for the step before"))
    }

    /// The hint for a name of a loop's item that the step does not declare.
    pub(super) fn item_advice(&self, word: &str) -> Option<String> {
        let (_, step) = self.usage.step?;
        let over = step.for_each.as_ref()?;
        let item = over.item_name.as_deref().unwrap_or("item");
        if let Some(advice) = position_advice(&self.text(), word, &self.read.path) {
            return Some(advice);
        }
        // `each.value.name` is `item.name`.
        let path = match self.read.path.split_first() {
            Some((Segment::Key(part), rest)) if is_item_part(word, part) => print_path(rest),
            Some(_) | None => print_path(&self.read.path),
        };
        let advice = self.written(word, &format!("{item}{path}"));
        let advice = format!("{advice} for the item of `for_each`");
        Some(match over.item_name {
            None => format!("{advice}, or name it with `\"as\": \"{word}\"`"),
            Some(_) => advice,
        })
    }

    /// The hint for the second variable of a loop, `map(k, v, …)`, which is a condition here.
    pub(super) fn second_variable_advice(&self, word: &str) -> Option<String> {
        let text = self.text();
        let (before, _) = text.split_once(&format!(", {word}, "))?;
        let (list, first) = before.rsplit_once('(')?;
        let (_, name) = list.rsplit_once('.')?;
        let is_word = |text: &str| {
            text.chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_')
        };
        (is_word(first) && is_word(name) && self.read.path.is_empty()).then(|| {
            format!(
                "a loop has one variable, the item of a list or the key of an object: write `{name}({first}, …)`, and `object[{first}]` for the value of a key"
            )
        })
    }

    /// The hint for `step1`, if the steps have numbers as ids.
    pub(super) fn numbered_advice(&self, word: &str) -> Option<String> {
        let number = numbered_step(self.resolved, word)?;
        self.usage.reference.as_read()?;
        let path = match self.read.path.split_first() {
            Some((Segment::Key(field), rest)) if OUTPUT_FIELDS.contains(&&**field) => rest,
            _ => &self.read.path,
        };
        let path = print_path(path);
        Some(format!("write `${{steps['{number}']{path}}}`"))
    }

    /// The hint for a field between the step and its output, such as other systems use.
    pub(super) fn output_advice(&self, path: &[Segment], matched: usize) -> Option<String> {
        let (Segment::Key(word), rest) = path.split_first()? else {
            return None;
        };
        if matches!((&self.read.source, matched), (Source::Item, 0))
            && let Some((_, step)) = self.usage.step
            && let Some(over) = &step.for_each
        {
            let item = over.item_name.as_deref().unwrap_or("item");
            let path = print_path(rest);
            return match &**word {
                "value" | "item" => Some(format!("write `${{{item}{path}}}` for the item itself")),
                "index" | "key" if rest.is_empty() => {
                    Some("write `${index}` for the position of the item, from 0 on".to_owned())
                }
                _ => None,
            };
        }
        let (Source::Step(id), 0) = (&self.read.source, matched) else {
            return None;
        };
        if matches!(
            &**word,
            "success" | "succeeded" | "ok" | "failed" | "error" | "status"
        ) && rest.is_empty()
        {
            if let Some(advice) = self.outcome_advice(id, word, "") {
                return Some(advice);
            }
            let sign = if matches!(&**word, "failed" | "error") {
                "!"
            } else {
                ""
            };
            return Some(format!(
                "`${{{sign}results.{id}.success}}` is true if the step {}",
                if sign.is_empty() {
                    "succeeded"
                } else {
                    "failed"
                }
            ));
        }
        OUTPUT_FIELDS.contains(&&**word).then(|| {
            let (step, path) = (step_path(id.as_str()), print_path(rest));
            format!("the name of a step is its output: write `${{{step}{path}}}`")
        })
    }

    /// The hint for the segment `at` of the path, if one of the fields `known` is meant: another word for it, a near one, or the only
    /// one that has the rest of the path. If the argument does not take its value, the hint says what to write.
    pub(super) fn field_advice(
        &self,
        at: usize,
        known: &KnownFields,
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        let (Source::Step(id), Segment::Key(word)) = (&self.read.source, self.read.path.get(at)?)
        else {
            return None;
        };
        let step = self.usage.step.map(|(index, _)| index);
        let with = |field: &str| {
            let mut path = self.read.path.clone();
            *path.get_mut(at)? = Segment::key(field);
            let read = Read {
                path,
                ..self.read.clone()
            };
            match self.types.resolve_read(&read, step) {
                ReadTarget::Path(PathLookup::Found(shape)) => Some((read.path, shape)),
                ReadTarget::Path(_) | ReadTarget::EmptySlot => None,
            }
        };
        let names = || known.names().map(|name| &**name);
        let near = reporter.nearest(word, names());
        let is_last = at + 1 == self.read.path.len();
        let other = || {
            let mut fitting = names().filter(|_| !is_last && near.is_none());
            let mut fitting = fitting.by_ref().filter(|name| with(name).is_some());
            let only = fitting.next()?;
            fitting.next().is_none().then_some(only)
        };
        let certain = synonym(word, names()).or_else(other);
        let (path, shape) = with(certain.or(near)?)?;
        let meant = format!("{id}{}", print_path(&path));
        self.argument_advice(&format!("${{{meant}}}"), &shape)
            .or_else(|| certain.map(|_| self.written(id.as_str(), &meant)))
    }

    /// The hint for the reference `written`, whose value is `found`, in place of this one, if it is an argument that does not take such a
    /// value.
    fn argument_advice(&self, written: &str, found: &Type) -> Option<String> {
        let (index, step) = self.usage.step?;
        let NodeKind::Object(fields) = &step.args.kind else {
            return None;
        };
        let is_this = |node: &Node| match &node.kind {
            NodeKind::Reference(reference) => {
                std::ptr::eq(reference, self.usage.reference) && reference.as_read().is_some()
            }
            _ => false,
        };
        let field = fields.iter().find(|field| is_this(&field.value))?;
        let wanted = self.resolved.tool(index)?.input.property(&field.key)?;
        if wanted.accepts(found) != Compatibility::No {
            return None;
        }
        text_advice(&wanted, written, found)
    }

    /// The hint for `list.length`, `list.sum` and the like: a word of other systems for a function of a list or a text.
    pub(super) fn size_advice(&self, path: &[Segment], matched: usize) -> Option<String> {
        let (Some(Segment::Key(word)), Source::Step(id)) = (path.get(matched), &self.read.source)
        else {
            return None;
        };
        let (before, rest) = path.split_at_checked(matched)?;
        if self.read.path.len() != path.len() {
            return None;
        }
        let around = Read {
            path: before.to_vec(),
            ..self.read.clone()
        };
        let step = self.usage.step.map(|(index, _)| index);
        let ReadTarget::Path(PathLookup::Found(shape)) = self.types.resolve_read(&around, step)
        else {
            return None;
        };
        let list = format!("{id}{}", print_path(before));
        let behind = rest.get(1..)?;
        // A field of the items has its own advice.
        if let Type::List(items) = &shape
            && let Type::Object(object) = &items.items
            && object.properties.contains_key(&**word)
        {
            return None;
        }
        let written = format!("{list}{}", print_path(rest));
        if let (Type::List(items), "sum" | "total" | "avg" | "average" | "min" | "max") =
            (&shape, &**word)
            && let Some(names) = number_fields(&items.items)
        {
            let function = list_function(word)?;
            return Some(match names.as_slice() {
                [only] => {
                    let meant = format!("{function}({list}[*].{only})");
                    format!("write `{}`", replaced(&self.text(), &written, &meant))
                }
                [] => format!(
                    "`{list}` is a list of objects: write `${{{function}({list}[*].FIELD)}}`"
                ),
                _ => format!(
                    "`{list}` is a list of objects: write `${{{function}({list}[*].FIELD)}}` with one of the fields `{}`",
                    names.join("`, `")
                ),
            });
        }
        let has_function = matches!(shape, Type::List(_)) || shape == Type::Text && is_size(word);
        if !has_function {
            return None;
        }
        let meant = of_list(word, &list, behind)?;
        Some(format!(
            "write `{}`",
            replaced(&self.text(), &written, &meant)
        ))
    }

    /// The hint for the same in an output of an unknown form.
    pub(super) fn unknown_list_advice(&self, word: &str, rest: &[Segment]) -> Option<String> {
        let Source::Step(id) = &self.read.source else {
            return None;
        };
        let written = format!("{id}.{word}{}", print_path(rest));
        let meant = of_list(word, id.as_str(), rest)?;
        Some(format!(
            "if the output is a list, write `{}`",
            replaced(&self.text(), &written, &meant)
        ))
    }

    /// The hint for `content[0].text` and the like, the text of an answer in its own form, if the value before it is text.
    pub(super) fn text_advice(&self, path: &[Segment], matched: usize) -> Option<String> {
        let Source::Step(id) = &self.read.source else {
            return None;
        };
        let whole = self.read.path.as_slice();
        let is_holder =
            matches!(whole.first(), Some(Segment::Key(word)) if OUTPUT_FIELDS.contains(&&**word));
        let inner = if is_holder && matched == 0 {
            whole.get(1..)?
        } else {
            whole
        };
        let is_answer = matches!(
            inner,
            [Segment::Key(content), Segment::Index(_), Segment::Key(text)]
                if &**content == "content" && &**text == "text"
        );
        if !is_answer {
            return None;
        }
        if self.read.path.len() != path.len() {
            return None;
        }
        let with = |path: Vec<Segment>| {
            let read = Read {
                path,
                ..self.read.clone()
            };
            let step = self.usage.step.map(|(index, _)| index);
            match self.types.resolve_read(&read, step) {
                ReadTarget::Path(PathLookup::Found(shape)) => Some(shape),
                ReadTarget::Path(_) | ReadTarget::EmptySlot => None,
            }
        };
        let root = with(Vec::new())?;
        let content = || match with(vec![Segment::key("content")])? {
            Type::Text => Some(format!("{id}.content")),
            _ => None,
        };
        let meant = match &root {
            Type::Text => id.to_string(),
            _ => content().or_else(|| Some(format!("{id}.{}", root.only_text_field()?)))?,
        };
        let written = format!("{id}{}", print_path(whole));
        Some(format!(
            "write `{}`: a reference reads the text itself",
            replaced(&self.text(), &written, &meant)
        ))
    }

    /// The hint for a field of the items of a list, or for one that may stand in the only text.
    pub(super) fn parts_advice(&self, path: &[Segment], matched: usize) -> Option<String> {
        let Source::Step(id) = &self.read.source else {
            return None;
        };
        let (before, rest) = path.split_at_checked(matched)?;
        if before.contains(&Segment::Each) || self.read.path.len() != path.len() {
            return None;
        }
        let around = Read {
            path: before.to_vec(),
            ..self.read.clone()
        };
        let step = self.usage.step.map(|(index, _)| index);
        let ReadTarget::Path(PathLookup::Found(shape)) = self.types.resolve_read(&around, step)
        else {
            return None;
        };
        let written = format!("{id}{}", print_path(before));
        if let Type::List(list) = &shape {
            return matches!(list.items.at(rest), PathLookup::Found(_))
                .then(|| items_advice(&self.text(), &written, &print_path(rest)))?;
        }
        let [Segment::Key(word)] = rest else {
            return None;
        };
        let field = shape.only_text_field()?;
        if self.is_list_of_loop() {
            let whole = format!("{written}.{field}");
            return Some(format!(
                "the only field is `{field}`, which is text: write `${{{whole}.split('\\n')}}` for its lines, and `${{item}}` for each, which has no fields"
            ));
        }
        let is_json = self.reads_json_file(id);
        field_in_text_advice(&self.text(), &written, (field, is_json), word)
    }

    /// Returns true if an argument of the step `id` is the path of a file in JSON.
    fn reads_json_file(&self, id: &StepId) -> bool {
        let step = self.resolved.ids.get(id);
        let step = step.and_then(|index| self.resolved.step(*index));
        let Some(NodeKind::Literal(Value::Object(args))) = step.map(|step| &step.args.kind) else {
            return false;
        };
        args.iter().any(|(_, value)| {
            let extension = value.as_text().and_then(|path| Path::new(path).extension());
            extension.is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        })
    }

    /// Returns true if the reference is the list of a `for_each`.
    fn is_list_of_loop(&self) -> bool {
        let for_each = self.usage.step.and_then(|(_, step)| step.for_each.as_ref());
        for_each.is_some_and(|for_each| match &for_each.over.kind {
            NodeKind::Reference(reference) => std::ptr::eq(reference, self.usage.reference),
            _ => false,
        })
    }

    /// Describes the value at which the path fails.
    pub(super) fn describe_end(
        &self,
        what: &str,
        path: &[Segment],
        matched: usize,
    ) -> Option<String> {
        let moves = self.read.path.len() - path.len() + matched;
        let valid_path = self.read.path.get(..moves)?;
        // The path fails inside items, and the type of the list would not help.
        if valid_path.contains(&Segment::Each) {
            return None;
        }
        let around = Read {
            path: valid_path.to_vec(),
            ..self.read.clone()
        };
        match self
            .types
            .resolve_read(&around, self.usage.step.map(|(index, _)| index))
        {
            ReadTarget::Path(PathLookup::Found(shape)) => {
                let size = size_help(path.get(matched), &shape);
                let json = if shape == Type::Text && size.is_empty() {
                    Self::json_advice(&around, path.get(matched..)?)
                } else {
                    String::new()
                };
                Some(format!(
                    "{} is {shape}{size}{json}",
                    describe_failure(what, path.get(..matched)?, matched),
                ))
            }
            ReadTarget::Path(_) | ReadTarget::EmptySlot => None,
        }
    }

    /// The end of a hint about the text at `around`, which may be the JSON of an object with the path `rest`.
    fn json_advice(around: &Read, rest: &[Segment]) -> String {
        let Source::Step(id) = &around.source else {
            return String::new();
        };
        let whole = format!("{id}{}", print_path(&around.path));
        format!(
            "; if it is JSON, write `${{json({whole}){}}}`",
            print_path(rest)
        )
    }
}

/// Returns true if `word` is the number of items or characters in other systems.
fn is_size(word: &str) -> bool {
    matches!(word, "length" | "count" | "size" | "len")
}

/// The function of this dialect with the meaning of the field `word` of a list in other systems.
fn list_function(word: &str) -> Option<&'static str> {
    Some(match word {
        "sum" | "total" => "sum",
        "avg" | "average" => "avg",
        "min" => "min",
        "max" => "max",
        word if is_size(word) => "size",
        _ => return None,
    })
}

/// The expression of this dialect with the meaning of `list.word` in other systems, followed by the path `rest`.
fn of_list(word: &str, list: &str, rest: &[Segment]) -> Option<String> {
    let rest_text = print_path(rest);
    match word {
        "first" => return Some(format!("{list}[0]{rest_text}")),
        "last" => return Some(format!("{list}[-1]{rest_text}")),
        _ => {}
    }
    let function = list_function(word).filter(|_| rest.is_empty())?;
    Some(format!("{function}({list})"))
}

/// The fields of the objects `items` that are numbers, other than ids; `None` if they are no objects.
fn number_fields(items: &Type) -> Option<Vec<&str>> {
    let Type::Object(object) = items else {
        return None;
    };
    let is_number = |shape: &Type| matches!(shape, Type::Number | Type::Integer);
    let fields = object.properties.iter();
    let found = fields.filter(|(name, field)| is_number(&field.shape) && &***name != "id");
    Some(found.map(|(name, _)| &**name).collect())
}
