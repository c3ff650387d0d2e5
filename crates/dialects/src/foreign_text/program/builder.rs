//! The steps of a program in the order in which they run, and the meaning of its names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::Value;

use super::activities::{ACTIVITIES, OPTION, activity_option, operator_option};
use super::data::without_classes;
use super::graphs::STATE;
use super::names::{
    FUNCTIONS, OF_ALL, RESERVED, TIME_FUNCTIONS, bracketed_names, only_reads, referenced_names,
};
use super::statements::LOOP_INDEX;
use super::syntax::{Expression, ProgramArgument, Statement};
use super::values::reference;
use crate::foreign_text::calls::{calls_tool, invoked, without_client};
use crate::native::{UsedIds, path_of};

/// The maximum number of steps in advice.
const MAX_STEPS: usize = 100;

/// The maximum depth of loops in loops.
const MAX_LOOPS: usize = 3;

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NameMeaning {
    Constant(Value),
    /// An expression of the plan: a step, an input, the item of a loop.
    Path(String),
    /// A list that a loop adds items to.
    Items,
}

/// A step of the plan.
#[derive(Clone, Debug)]
pub(super) struct ProgramStep {
    pub(super) id: String,
    pub(super) fields: Vec<(Arc<str>, Value)>,
    /// The steps that it waits for, through data or `after`.
    before: HashSet<String>,
    /// True if its tool only reads, by its name.
    only_reads: bool,
}

/// The result of a loop.
pub(super) struct LoopResult {
    /// The list of its outputs.
    pub(super) output: String,
    /// The lists that the loop adds to, by name, with their values.
    pub(super) lists: Vec<(String, String)>,
}

/// The state of building a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Builder {
    pub(super) steps: Vec<ProgramStep>,
    pub(super) names: HashMap<String, NameMeaning>,
    /// Names that are functions or tools, and no data.
    pub(super) tools: HashSet<String>,
    /// The parameters of the program, with their schemas.
    pub(super) inputs: Vec<(String, Value)>,
    pub(super) used_inputs: HashSet<String>,
    pub(super) output: Option<Value>,
    /// True if the output is the printed value, which a later `return` replaces.
    pub(super) is_printed: bool,
    /// The conditions of the open blocks.
    pub(super) conditions: Vec<String>,
    /// The fields of steps in the open `try`.
    pub(super) handler: Option<Value>,
    /// The paths of the outer plan that the steps read, by the names of the inputs that pass them in.
    captured: Option<Vec<(String, String)>>,
    /// The meanings of the names of the plan around this one.
    outer: HashMap<String, NameMeaning>,
    /// The items that a loop adds to lists.
    pub(super) added: Vec<(String, String)>,
    /// The steps that may write, which a later one waits for, and those that read since.
    writers: Vec<String>,
    readers: Vec<String>,
    /// True while the steps are independent of each other.
    is_parallel: bool,
    /// True if steps wait for others without their data.
    pub(super) is_ordered: bool,
    /// True if `{a}`, `<a>` and `$a` in texts become references.
    has_names_in_texts: bool,
    loops: usize,
    /// The items of the open loops.
    items: Vec<String>,
}

impl ProgramStep {
    /// The condition, as a reference.
    pub(super) fn when(&self) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields.find_map(|(key, value)| (&**key == "when").then_some(value))
    }
}

impl Builder {
    /// The state for a text where `{a}`, `<a>` and `$a` in texts become references.
    pub(super) fn with_names_in_texts() -> Self {
        Self {
            has_names_in_texts: true,
            ..Self::default()
        }
    }

    /// Runs `build`, whose steps run only if `condition` holds.
    pub(super) fn guarded<T>(
        &mut self,
        condition: String,
        build: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        self.conditions.push(condition);
        let found = build(self);
        self.conditions.pop();
        found
    }

    /// The path of the input `key`, which the plan declares.
    pub(super) fn input(&mut self, key: &str) -> String {
        if !self.inputs.iter().any(|(known, _)| known == key) {
            self.inputs.push((key.to_owned(), Value::empty_object()));
        }
        self.used_inputs.insert(key.to_owned());
        format!("inputs.{key}")
    }

    /// Returns true if `name` is the object with the inputs of a plan.
    pub(super) fn is_inputs(&self, name: &str) -> bool {
        name == "inputs" && !self.is_known(name)
    }

    /// The meaning of `name`; `None` if it is unknown.
    pub(super) fn resolve(&mut self, name: &str) -> Option<NameMeaning> {
        // A part of the state that no node of the graph has written existed at the start.
        if let Some(key) = name.strip_prefix(STATE)
            && self.captured.is_none()
            && !self.is_known(name)
        {
            return Some(NameMeaning::Path(self.input(key)));
        }
        if let Some(found) = self.names.get(name) {
            if let NameMeaning::Path(path) = found
                && path.strip_prefix("inputs.") == Some(name)
            {
                self.used_inputs.insert(name.to_owned());
            }
            return Some(found.clone());
        }
        match self.outer.get(name)?.clone() {
            NameMeaning::Path(path) => {
                let captured = self.captured.as_mut()?;
                if !captured.iter().any(|(known, _)| known == name) {
                    captured.push((name.to_owned(), path));
                }
                Some(NameMeaning::Path(format!("inputs.{name}")))
            }
            other => Some(other),
        }
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.outer.contains_key(name)
    }

    /// Returns true if `path` is the whole output of a step.
    pub(super) fn is_output(&self, path: &str) -> bool {
        self.steps.iter().any(|step| step.id == path)
    }

    /// Returns true if `expression` is a value and no module, client or tool.
    pub(super) fn is_data(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Name(name) => {
                self.is_known(name) || name.starts_with(STATE) || self.is_inputs(name)
            }
            Expression::Field(of, _) | Expression::Index(of, _) => self.is_data(of),
            Expression::Call(function, _) => match &**function {
                Expression::Field(of, _) => self.is_data(of) || self.calls_tool(expression),
                Expression::Name(_) => true,
                _ => false,
            },
            Expression::Literal(_)
            | Expression::Template(_)
            | Expression::List(_)
            | Expression::Object(_)
            | Expression::Binary(..)
            | Expression::Choice(..)
            | Expression::Comprehension(_) => true,
            Expression::Not(_) | Expression::Negative(_) | Expression::Function(_) => false,
        }
    }

    /// Returns true if `expression` calls a tool.
    pub(super) fn calls_tool(&self, expression: &Expression) -> bool {
        let Expression::Call(function, arguments) = expression else {
            return false;
        };
        let is_method = matches!(&**function, Expression::Field(of, _) if self.is_data(of));
        !is_method && self.tool(function, arguments).is_some()
    }

    /// The tool that a call of `function` calls, and its other arguments.
    fn tool<'e>(
        &self,
        function: &Expression,
        arguments: &'e [ProgramArgument],
    ) -> Option<(String, &'e [ProgramArgument])> {
        let names = function.dotted();
        let (first, last) = (names.first()?, names.last()?);
        if self.is_known(first) && !self.tools.contains(*first) {
            return None;
        }
        if ACTIVITIES.contains(last) {
            let (activity, arguments) = arguments.split_first()?;
            let name = activity.value.dotted();
            let tool = activity.value.as_text().or_else(|| name.last().copied())?;
            return Some((tool.to_owned(), arguments));
        }
        let is_caller = calls_tool(last)
            || matches!(*last, "call" | "invoke" | "execute" | "tool")
                && arguments
                    .first()
                    .is_some_and(|first| first.value.as_text().is_some());
        if is_caller {
            let texts = arguments
                .iter()
                .take_while(|argument| argument.value.as_text().is_some())
                .filter(|argument| {
                    let name = argument.name.as_deref();
                    name.is_none_or(|name| matches!(name, "name" | "tool" | "tool_name" | "server"))
                });
            let texts: Vec<&str> = texts
                .filter_map(|argument| argument.value.as_text())
                .collect();
            let tool = match texts.as_slice() {
                [tool] => (*tool).to_owned(),
                [server, tool] => format!("{server}.{tool}"),
                _ => return None,
            };
            let is_name = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
            return tool
                .chars()
                .all(is_name)
                .then(|| (tool.replace('/', "."), &arguments[texts.len()..]));
        }
        let is_of_language = names.len() > 1
            && (RESERVED.contains(first) || *first == "time" && TIME_FUNCTIONS.contains(last));
        if is_of_language || FUNCTIONS.contains(first) {
            return None;
        }
        let written = names.join(".");
        let written = without_client(&written);
        let is_object = matches!(
            arguments,
            [ProgramArgument {
                value: Expression::Object(_),
                ..
            }]
        );
        let tool = invoked(written).filter(|_| is_object).unwrap_or(written);
        Some((tool.to_owned(), arguments))
    }

    /// The output of a call of a tool, whose step has the id `name` if that is free.
    pub(super) fn call_of_tool(
        &mut self,
        function: &Expression,
        arguments: &[ProgramArgument],
        name: Option<&str>,
    ) -> Option<String> {
        let (tool, arguments) = self.tool(function, arguments)?;
        let is_activity = function
            .dotted()
            .last()
            .is_some_and(|last| ACTIVITIES.contains(last));
        // The options of an activity are calls of classes, too.
        let is_object = |argument: &ProgramArgument| {
            let name = argument.name.as_deref().unwrap_or_default();
            !is_activity && !name.starts_with(OPTION)
        };
        let arguments: Vec<ProgramArgument> = arguments
            .iter()
            .map(|argument| {
                let written = is_object(argument).then(|| without_classes(&argument.value, &tool));
                ProgramArgument {
                    name: argument.name.clone(),
                    value: written.flatten().unwrap_or_else(|| argument.value.clone()),
                }
            })
            .collect();
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        let mut positional = Vec::new();
        let mut options = Vec::new();
        let own: Vec<&ProgramArgument> = arguments
            .iter()
            .filter(|argument| !is_activity || argument.name.is_none())
            .filter(|argument| argument.name.as_deref() != Some("wait_for"))
            .collect();
        let mut name = name.map(str::to_owned);
        let (of_operator, own): (Vec<&ProgramArgument>, Vec<&ProgramArgument>) =
            own.into_iter().partition(|argument| {
                argument
                    .name
                    .as_deref()
                    .is_some_and(|name| name.starts_with(OPTION))
            });
        for option in of_operator {
            match option.name.as_deref()?.strip_prefix(OPTION)? {
                "task_id" | "task_run_name" => name = Some(option.value.as_text()?.to_owned()),
                other => options.push(operator_option(other, &option.value)?),
            }
        }
        let waits_for = arguments
            .iter()
            .find(|argument| argument.name.as_deref() == Some("wait_for"));
        if let Some(Expression::List(names)) = waits_for.map(|argument| &argument.value) {
            for name in names {
                let path = self.expression(name)?;
                self.has_run_before(&path)?;
            }
        } else if waits_for.is_some() {
            return None;
        }
        for argument in arguments
            .iter()
            .filter(|argument| is_activity && argument.name.is_some())
        {
            options.extend(activity_option(argument)?);
        }
        for (index, argument) in own.iter().enumerate() {
            match (&argument.name, &argument.value) {
                // The object of all arguments.
                (name, Expression::Object(object))
                    if own.len() == 1
                        && index == 0
                        && name.as_deref().is_none_or(|name| OF_ALL.contains(&name)) =>
                {
                    for (key, field) in object {
                        fields.push((key.as_str().into(), self.value(field)?));
                    }
                }
                (Some(name), value) => {
                    if fields.iter().any(|(known, _)| **known == **name) {
                        return None;
                    }
                    fields.push((name.as_str().into(), self.value(value)?));
                }
                (None, value) => positional.push(self.value(value)?),
            }
        }
        let mut step = vec![(Arc::from("tool"), Value::text(tool.as_str()))];
        if !fields.is_empty() {
            step.push(("args".into(), Value::object(fields)));
        }
        if !positional.is_empty() {
            step.push(("positional".into(), Value::list(positional)));
        }
        step.extend(options);
        self.push(name.as_deref(), &tool, step)
    }

    /// Makes the next steps wait for the step whose output is at `path`.
    fn has_run_before(&mut self, path: &str) -> Option<()> {
        let step = self.steps.iter().find(|step| path_of(&step.id) == path)?;
        let id = step.id.clone();
        self.readers.retain(|reader| *reader != id);
        if !self.writers.contains(&id) {
            self.writers.push(id);
        }
        Some(())
    }

    /// Adds a step with `fields`, and returns its path.
    pub(super) fn push(
        &mut self,
        name: Option<&str>,
        tool: &str,
        mut fields: Vec<(Arc<str>, Value)>,
    ) -> Option<String> {
        if self.steps.len() >= MAX_STEPS {
            return None;
        }
        let is_word = |name: &&str| {
            let others = [
                "item", "index", "last", "new", "inputs", "vars", "steps", "results", "state",
                "data", "env",
            ];
            !others.contains(name)
        };
        // An id must not be the name of an item, which would hide it.
        let taken = self.steps.iter().map(|step| &step.id).chain(&self.items);
        let mut taken: UsedIds = taken.cloned().collect();
        let id = taken.add_for(name.filter(is_word).unwrap_or(tool));
        fields.extend(self.when().map(|when| ("when".into(), when)));
        if let Some(handler) = &self.handler {
            fields.push(("on_error".into(), handler.clone()));
        }
        let only_reads = only_reads(tool);
        let mut before = self.dependencies(&fields);
        let waits: Vec<String> = self
            .writers
            .iter()
            .chain(self.readers.iter().filter(|_| !only_reads))
            .filter(|id| !before.contains(*id))
            .cloned()
            .collect();
        if !waits.is_empty() {
            // A step that a later one already waits for is superfluous.
            let last: Vec<&String> = waits
                .iter()
                .filter(|id| {
                    let is_before = |other: &String| {
                        let step = self.steps.iter().find(|step| step.id == *other);
                        step.is_some_and(|step| step.before.contains(*id))
                    };
                    !waits.iter().any(is_before)
                })
                .collect();
            let ids = last.iter().map(|id| Value::text(id.as_str()));
            fields.push(("after".into(), Value::list(ids)));
            self.is_ordered = true;
            before.extend(waits.iter().cloned());
        }
        for id in waits {
            let step = self.steps.iter().find(|step| step.id == id);
            before.extend(step.into_iter().flat_map(|step| step.before.clone()));
        }
        fields.insert(0, ("id".into(), Value::text(id.as_str())));
        self.steps.push(ProgramStep {
            id: id.clone(),
            fields,
            before,
            only_reads,
        });
        if !self.is_parallel {
            self.has_run(&id);
        }
        Some(path_of(&id))
    }

    /// The condition of all open blocks.
    pub(super) fn when(&self) -> Option<Value> {
        match self.conditions.as_slice() {
            [] => None,
            [only] => Some(reference(only)),
            several => {
                let all: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
                Some(reference(&all.join(" && ")))
            }
        }
    }

    /// Lets later steps wait for the step `id`.
    fn has_run(&mut self, id: &str) {
        let Some(step) = self.steps.iter().find(|step| step.id == id) else {
            return;
        };
        if step.only_reads {
            self.readers.push(id.to_owned());
        } else {
            // The step waits for all before it.
            self.readers.clear();
            self.writers.clear();
            self.writers.push(id.to_owned());
        }
    }

    /// The steps that the references in `fields` wait for, directly or not.
    fn dependencies(&self, fields: &[(Arc<str>, Value)]) -> HashSet<String> {
        // The names in an inner plan are those of its own steps.
        let own = fields.iter().filter(|(key, _)| &**key != "plan");
        let written: String = own.map(|(_, field)| field.to_json()).collect();
        let mut names = referenced_names(&written);
        if self.has_names_in_texts {
            names.extend(bracketed_names(&written));
        }
        let found = self.steps.iter().filter(|step| names.contains(&*step.id));
        found
            .flat_map(|step| step.before.iter().cloned().chain([step.id.clone()]))
            .collect()
    }

    /// Runs `build`, whose steps are independent of each other.
    pub(super) fn together<T>(&mut self, build: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let outer = std::mem::replace(&mut self.is_parallel, true);
        let first = self.steps.len();
        let found = build(self);
        self.is_parallel = outer;
        if !outer {
            let ids: Vec<String> = self.steps[first.min(self.steps.len())..]
                .iter()
                .map(|step| step.id.clone())
                .collect();
            if self.steps[first.min(self.steps.len())..]
                .iter()
                .all(|step| step.only_reads)
            {
                self.readers.extend(ids);
            } else {
                // One that only reads has waited for the writers before, and not for those beside it.
                self.readers.clear();
                self.writers = ids;
            }
        }
        found
    }

    /// Runs `build` with `name` as the item of a loop.
    pub(super) fn inside<T>(
        &mut self,
        name: &str,
        build: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let before = self
            .names
            .insert(name.to_owned(), NameMeaning::Path(name.to_owned()));
        self.items.push(name.to_owned());
        let steps = self.steps.len();
        let found = build(self);
        self.items.pop();
        match before {
            Some(meaning) => self.names.insert(name.to_owned(), meaning),
            None => self.names.remove(name),
        };
        // A step cannot run in an expression over items.
        found.filter(|_| self.steps.len() == steps)
    }

    /// The loop over `list` that runs `body` for each item: a step with `for_each`, or one that runs an inner plan.
    pub(super) fn loop_over(
        &mut self,
        name: &str,
        list: &str,
        body: &[Statement],
    ) -> Option<LoopResult> {
        // The condition around a loop is not a condition of its items.
        if self.loops >= MAX_LOOPS || !self.conditions.is_empty() {
            return None;
        }
        let is_parallel = self.is_parallel;
        let over = |fields: &mut Vec<(Arc<str>, Value)>, only_reads: bool| {
            fields.push(("for_each".into(), reference(list)));
            // A program handles one item after the other. The order matters only if calls write.
            if !only_reads && !is_parallel {
                fields.push(("max_parallel".into(), Value::from(1_u64)));
            }
            if name != "item" {
                fields.push(("as".into(), Value::text(name)));
            }
        };
        // Any other value of an item is computed beside its call, in an inner plan.
        let is_part = |value: &str, of_item: &str| {
            value.strip_prefix(of_item).is_some_and(|rest| {
                let is_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
                rest.is_empty() || rest.starts_with(['.', '[']) && rest.chars().all(is_path)
            })
        };
        let single = self.single(name, body).filter(|(inner, of_item)| {
            let mut added = inner.added.iter();
            added.all(|(_, value)| is_part(value, of_item))
        });
        if let Some((mut inner, of_item)) = single {
            let step = inner.steps.pop()?;
            let tool = step.fields.iter().find(|(key, _)| &**key == "tool")?;
            let tool = tool.1.as_text()?.to_string();
            let common = ["id", "after", "when", "on_error"];
            let mut fields: Vec<(Arc<str>, Value)> = step.fields.clone();
            fields.retain(|(key, _)| !common.contains(&&**key));
            // A condition of the item is one of the loop's step.
            let outer = std::mem::take(&mut self.conditions);
            self.conditions = Self::conditions_of(&step);
            over(&mut fields, only_reads(&tool));
            let output = self.push(Some(&step.id), &tool, fields);
            self.conditions = outer;
            let output = output?;
            let lists = inner.added.into_iter().map(|(list, value)| {
                let value = if value == of_item {
                    output.clone()
                } else {
                    let rest = value.strip_prefix(&of_item)?;
                    rest.starts_with(['.', '['])
                        .then(|| format!("{output}.map({name}, {name}{rest})"))?
                };
                Some((list, value))
            });
            return Some(LoopResult {
                lists: lists.collect::<Option<Vec<_>>>()?,
                output,
            });
        }
        let mut outer = self.outer.clone();
        outer.extend(self.names.clone());
        let mut inner = Self {
            captured: Some(Vec::new()),
            tools: self.tools.clone(),
            loops: self.loops + 1,
            ..Self::default()
        };
        inner.outer = outer;
        let index = NameMeaning::Path("index".to_owned());
        inner.outer.insert(LOOP_INDEX.to_owned(), index);
        inner
            .outer
            .insert(name.to_owned(), NameMeaning::Path(name.to_owned()));
        inner.statements(body)?;
        let (captured, [] | [_]) = (inner.captured.take()?, inner.added.as_slice()) else {
            return None;
        };
        if inner.steps.is_empty() || inner.output.is_some() {
            return None;
        }
        if let Some((_, value)) = inner.added.first() {
            inner.output = Some(reference(value));
        }
        // The plan around must know what its own loops give.
        let mut args = Vec::new();
        for (input, path) in &captured {
            let path = match self.resolve(input) {
                Some(NameMeaning::Path(path)) if input != name => path,
                _ => path.clone(),
            };
            args.push((Arc::from(input.as_str()), reference(&path)));
        }
        inner.inputs = captured
            .iter()
            .map(|(input, _)| (input.clone(), Value::empty_object()))
            .collect();
        inner.used_inputs = captured.into_iter().map(|(input, _)| input).collect();
        let added = inner.added.clone();
        let only_read = inner.steps.iter().all(|step| step.only_reads);
        let mut fields = Vec::new();
        over(&mut fields, only_read);
        fields.push(("plan".into(), inner.plan(None)));
        if !args.is_empty() {
            fields.push(("args".into(), Value::object(args)));
        }
        let id = format!("each_{name}");
        // Its name says whether it only reads.
        let kind = if only_read { "read_each" } else { "each" };
        let output = self.push(Some(&id), kind, fields)?;
        Some(LoopResult {
            lists: added
                .into_iter()
                .map(|(list, _)| (list, output.clone()))
                .collect(),
            output,
        })
    }

    /// The state after `body` has run for one item, and the output of its step, if the body has a single independent step.
    fn single(&self, name: &str, body: &[Statement]) -> Option<(Self, String)> {
        let mut inner = Self {
            names: self.names.clone(),
            outer: self.outer.clone(),
            captured: self.captured.clone(),
            tools: self.tools.clone(),
            loops: self.loops + 1,
            items: self.items.clone(),
            ..Self::default()
        };
        let index = NameMeaning::Path("index".to_owned());
        inner.names.insert(LOOP_INDEX.to_owned(), index);
        inner
            .names
            .insert(name.to_owned(), NameMeaning::Path(name.to_owned()));
        inner.items.push(name.to_owned());
        inner.statements(body)?;
        let [step] = inner.steps.as_slice() else {
            return None;
        };
        let is_call = step.fields.iter().any(|(key, _)| &**key == "tool");
        let is_loop = step.fields.iter().any(|(key, _)| &**key == "for_each");
        let has_more = inner.output.is_some() || inner.captured != self.captured;
        // An item that a condition excludes is not part of the list.
        let is_partial =
            !inner.added.is_empty() && step.fields.iter().any(|(key, _)| &**key == "when");
        let output = path_of(&step.id);
        (is_call && !is_loop && !has_more && !is_partial).then_some((inner, output))
    }

    /// The condition of `step`.
    fn conditions_of(step: &ProgramStep) -> Vec<String> {
        let condition = step.when().and_then(|when| {
            let text = when.as_text()?;
            Some(text.strip_prefix("${")?.strip_suffix('}')?.to_owned())
        });
        condition.into_iter().collect()
    }

    /// The plan of all steps.
    pub(super) fn plan(&self, name: Option<&str>) -> Value {
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        if let Some(name) = name {
            fields.push(("name".into(), Value::text(name)));
        }
        let inputs: Vec<(Arc<str>, Value)> = self
            .inputs
            .iter()
            .filter(|(name, _)| self.used_inputs.contains(name))
            .map(|(name, schema)| (Arc::from(name.as_str()), schema.clone()))
            .collect();
        if !inputs.is_empty() {
            fields.push(("inputs".into(), Value::object(inputs)));
        }
        // A program ends with its first failure.
        if self.is_ordered {
            fields.push(("on_failure".into(), Value::text("stop")));
        }
        let steps = self
            .steps
            .iter()
            .map(|step| Value::object(step.fields.clone()));
        fields.push(("steps".into(), Value::list(steps)));
        if let Some(output) = &self.output {
            fields.push(("output".into(), output.clone()));
        }
        Value::object(fields)
    }
}

/// The steps that later ones wait for.
pub(super) type Order = (Vec<String>, Vec<String>);

impl Builder {
    pub(super) fn outer_meaning(&self, name: &str) -> Option<&NameMeaning> {
        self.outer.get(name)
    }

    pub(super) fn order(&self) -> Order {
        (self.writers.clone(), self.readers.clone())
    }

    pub(super) fn set_order(&mut self, (writers, readers): Order) {
        (self.writers, self.readers) = (writers, readers);
    }

    /// Lets later steps wait for those of `order` as well.
    pub(super) fn add_order(&mut self, (writers, readers): Order) {
        for (all, more) in [(&mut self.writers, writers), (&mut self.readers, readers)] {
            for id in more {
                if !all.contains(&id) {
                    all.push(id);
                }
            }
        }
    }
}
