//! Steps of other systems that call nothing themselves: branches, alternatives, attempts, and steps that ask, compute or wait.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Value;

use super::{MAX_ADDED, add_after, add_condition, condition_of, inside, steps_in};
use crate::document::{Item, ItemEntry, ItemKind};
use crate::native::foreign_expression::form_in;
use crate::native::guesses::texts::{
    UsedIds, bare_name, expression_of, with_roots, without_output_fields,
};
use crate::native::guesses::words::{
    ARGS, TOOL, Words, call_by_name, is_among, is_same, is_step, is_step_field, normal,
};
use crate::native::guesses::{field, get, has};

/// The meaning of a step of another system.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// The steps in its place.
    pub(super) steps: Vec<Item>,
    /// The conditions that it gives to other steps, by their ids.
    pub(super) conditions: Vec<(Arc<str>, String)>,
    /// True if it asks a person whether the steps after it run.
    pub(super) asks: bool,
    /// The reason for which nothing is in its place.
    pub(super) reason: &'static str,
}

/// The kinds of steps that call nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    If,
    Switch,
    Branches,
    Try,
    Parallel,
    Rounds,
    Asking,
    Waiting,
    Empty,
    Values,
    Expression,
    Filter,
    Prompt,
}

const THEN: &str = "then iftrue ontrue true yes truesteps truebranch thensteps truenext";
const ELSE: &str =
    "else otherwise iffalse onfalse false no falsesteps falsebranch elsesteps falsenext default";
const ELIF: &str = "elif elseif elsif elifs elseifs";
const CONDITIONS: &str = "if condition when expression test case cond unless ifnot";
const SWITCHED: &str = "switch on match expression value variable input field";
const BODIES: &str = "then steps do step next goto target tasks body actions";
const VALUES: &str = "values set assign variables vars data fields value assignments";

fn find<'e>(entries: &'e [ItemEntry], words: &str) -> Option<&'e ItemEntry> {
    // The first word counts, not the first field.
    let named = |word: &str| entries.iter().find(|entry| is_same(&entry.key, word));
    words.split(' ').find_map(named)
}

fn kind(entries: &[ItemEntry]) -> Option<Kind> {
    let is_call = ["tool", "plan", "extract"]
        .iter()
        .any(|word| has(entries, word));
    if is_call || !entries.iter().any(|entry| HEADS.contains(&entry.key)) {
        return None;
    }
    let is_text = |entry: &ItemEntry| entry.item.as_text().is_some();
    if find(entries, "try").is_some_and(|entry| has_steps(&entry.item)) {
        return Some(Kind::Try);
    }
    if find(entries, PARALLEL).is_some_and(|entry| are_lists(&entry.item)) {
        return Some(Kind::Parallel);
    }
    if rounds(entries).is_some() {
        return Some(Kind::Rounds);
    }
    if find(entries, "cases")
        .is_some_and(|entry| is_branch_list(&entry.item) || entry.item.as_object().is_some())
    {
        return Some(Kind::Switch);
    }
    if find(entries, "branches conditions choices rules")
        .is_some_and(|entry| is_branch_list(&entry.item))
    {
        return Some(Kind::Branches);
    }
    let is_branch = |entry: &ItemEntry| has_steps(&entry.item) || are_ids(&entry.item);
    if find(entries, CONDITIONS).is_some_and(is_text)
        && (find(entries, THEN).is_some_and(is_branch)
            || find(entries, ELSE).is_some_and(is_branch))
    {
        return Some(Kind::If);
    }
    let mark = ["type", "kind", "action", "op"]
        .iter()
        .find_map(|word| get(entries, word)?.as_text());
    let mark = normal(mark.map_or("", |mark| mark));
    let has_arguments = ARGS
        .iter()
        .any(|word| has(entries, word) && !matches!(*word, "input" | "fields"));
    let is_only = !TOOL
        .iter()
        .any(|word| has(entries, word) && *word != "action" && *word != "operation");
    if has_arguments || !is_only {
        return None;
    }
    let has_any = |words: &str| find(entries, words).is_some();
    let is_object = |word: &str| get(entries, word).is_some_and(|item| item.as_object().is_some());
    Some(match &*mark {
        "approval" | "humanapproval" | "manualapproval" | "confirm" | "confirmation" | "human"
        | "humaninput" | "humanreview" | "review" | "gate" | "waitforapproval" | "askuser"
        | "askhuman" | "approve" | "manual" => Kind::Asking,
        "wait" | "delay" | "sleep" | "pause" | "timer" => Kind::Waiting,
        "end" | "stop" | "start" | "noop" | "nooperation" | "pass" | "finish" | "begin"
        | "terminate" | "trigger" | "succeed" => Kind::Empty,
        "set" | "assign" | "setvariable" | "setvariables" | "variables" | "const"
            if has_any(VALUES) =>
        {
            Kind::Values
        }
        "transform" | "compute" | "expression" | "code" | "script" | "eval" | "calculate"
        | "function" | "js" | "javascript" | "python" | "jq" | "map"
            if has_any(CODE) =>
        {
            Kind::Expression
        }
        "filter" if has_any(LISTS) && has_any(CONDITIONS) => Kind::Filter,
        "llm" | "prompt" | "ai" | "model" | "completion" | "generate" | "summarize" | "agent"
            if has_any(PROMPTS) =>
        {
            Kind::Prompt
        }
        "" if is_object("set") => Kind::Values,
        "" if is_object("expression") => Kind::Expression,
        "" if has_any("waitforapproval requireapproval requiresapproval approval")
            && !has(entries, "value")
            && !entries.iter().any(|entry| has_steps(&entry.item)) =>
        {
            Kind::Asking
        }
        _ => return None,
    })
}

/// Fields that a step which calls nothing has at least one of.
#[rustfmt::skip]
const HEADS: Words = Words(&[
    "try", "cases", "if", "condition", "when", "expression", "test", "case", "cond", "unless", "ifnot", "type", "kind", "action", "op",
    "set", "branches", "parallel", "concurrent", "tasks", "steps", "conditions", "choices", "rules", "while", "until", "loop", "repeat",
    "dowhile", "dountil", "repeatuntil", "waitforapproval", "requireapproval", "requiresapproval", "approval",
]);

const CODE: &str = "expression expr code script formula source transform";
const LISTS: &str = "list items input over from data source array collection";
const PROMPTS: &str = "prompt instruction instructions question message template";

const PARALLEL: &str = "branches parallel tasks steps concurrent";
const ROUNDS: &str = "while until loop repeat dowhile dountil repeatuntil";

/// Returns true if `item` is a list of lists of steps.
fn are_lists(item: &Item) -> bool {
    let is_branch = |item: &Item| {
        let list = item.as_list().is_some() || (item.has("steps") && !item.has("tool"));
        list && has_steps(item)
    };
    let items = item.as_list();
    items.is_some_and(|items| !items.is_empty() && items.iter().all(is_branch))
}

/// The fields of a loop until a condition holds, with its condition and its steps.
fn rounds(entries: &[ItemEntry]) -> Option<(&[ItemEntry], &ItemEntry, &[Item])> {
    let head = find(entries, ROUNDS)?;
    let fields = head.item.as_object().unwrap_or(entries);
    let stated = |entry: &&ItemEntry| {
        matches!(
            &*normal(&entry.key),
            "while" | "until" | "condition" | "dowhile" | "dountil" | "repeatuntil"
        ) && entry.item.as_text().is_some()
    };
    let condition = fields.iter().find(stated)?;
    let body = find(fields, "steps do body step tasks actions")
        .or_else(|| find(entries, "steps do body step tasks actions"))?;
    let steps = body.item.as_list();
    let steps = steps.unwrap_or(std::slice::from_ref(&body.item));
    (!steps.is_empty() && steps.iter().all(has_steps)).then_some((fields, condition, steps))
}

/// Returns true if `item` calls nothing, but has the form of a step of another system that is known.
pub(in crate::native::guesses) fn is_control(item: &Item) -> bool {
    let entries = item.as_object();
    entries.is_some_and(|entries| kind(entries).is_some())
}

/// Returns true if `item` has steps. Only its own fields and those of its items are looked at, so that the cost is linear.
fn has_steps(item: &Item) -> bool {
    let is_known = |item: &Item| {
        let words = "tool plan value extract type if switch try while until foreach loop steps parallel then condition";
        item.as_list().is_some()
            || item.as_object().is_some_and(|entries| {
                let is_word =
                    |entry: &ItemEntry| is_among(words, &entry.key) || TOOL.contains(&&*entry.key);
                entries.iter().any(is_word)
                    || call_by_name(entries).is_some()
                    || (has(entries, "name") && ARGS.iter().any(|word| has(entries, word)))
            })
    };
    match &item.kind {
        ItemKind::List(items) => !items.is_empty() && items.iter().all(is_known),
        ItemKind::Object(_) => is_known(item),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => false,
    }
}

/// Returns true if `item` is an id of a step, or a list of them.
fn are_ids(item: &Item) -> bool {
    let is_id = |item: &Item| item.as_text().is_some_and(|text| bare_name(text).is_some());
    match item.as_list() {
        Some(items) => !items.is_empty() && items.iter().all(is_id),
        None => is_id(item),
    }
}

/// Returns true if every item of a list has what is done in a case.
fn is_branch_list(item: &Item) -> bool {
    let is_branch = |item: &Item| {
        item.as_object().is_some_and(|entries| {
            find(entries, BODIES).is_some_and(|body| has_steps(&body.item) || are_ids(&body.item))
                && !has(entries, "tool")
        })
    };
    let items = item.as_list();
    items.is_some_and(|items| !items.is_empty() && items.iter().all(is_branch))
}

/// The state of writing the steps that a control step stands for.
struct Writer<'w> {
    ids: &'w HashSet<Arc<str>>,
    used: &'w mut UsedIds,
    out: Control,
}

/// The steps that `item` stands for in a plan with the steps `ids`; `None` if it is no control step, or a part of it has no
/// counterpart.
pub(super) fn control(item: &Item, ids: &HashSet<Arc<str>>, used: &mut UsedIds) -> Option<Control> {
    kind(item.as_object()?)?;
    let mut writer = Writer {
        ids,
        used,
        out: Control::default(),
    };
    writer.step(item, None)?;
    Some(writer.out)
}

/// Returns true if a step that holds others has a field that would have to be written for each of them.
fn has_other_fields(entries: &[ItemEntry], kind: Kind) -> bool {
    let holds = matches!(
        kind,
        Kind::If | Kind::Switch | Kind::Branches | Kind::Try | Kind::Parallel | Kind::Rounds
    );
    let is_other = |entry: &&ItemEntry| match super::meaning_of(entry) {
        Some("when") => kind != Kind::If,
        Some("id" | "title" | "after") => false,
        Some(_) => {
            !(is_among(SWITCHED, &entry.key)
                || (kind == Kind::Rounds && is_among(ROUNDS, &entry.key)))
        }
        None => {
            let is_handler = kind == Kind::Try && is_among(HANDLERS, &entry.key);
            let is_own = is_step_field(&entry.key) && !matches!(&*entry.key, "note" | "repeat");
            let of_failure =
                normal(&entry.key).contains("error") || normal(&entry.key).contains("fail");
            (is_own || of_failure) && !is_handler
        }
    };
    let conditions = entries
        .iter()
        .filter(|entry| super::meaning_of(entry) == Some("when"));
    holds && (entries.iter().any(|entry| is_other(&entry)) || conditions.count() > 1)
}

/// Returns true if `entry` is a part of a step with branches.
pub(super) fn is_part(entry: &ItemEntry) -> bool {
    [ELSE, ELIF, SWITCHED]
        .iter()
        .any(|words| is_among(words, &entry.key))
}

/// Words for what is done if an attempt fails.
const HANDLERS: &str = "catch except onerror rescue";

/// Both conditions; the first may be absent.
fn both(outer: Option<&str>, own: &str) -> String {
    match outer {
        Some(outer) => format!("{outer} && {}", bracketed(own)),
        None => own.to_owned(),
    }
}

fn bracketed(condition: &str) -> String {
    let is_single = condition.starts_with("!(")
        && condition.ends_with(')')
        && condition.matches('(').count() == 1;
    if is_single || !condition.contains([' ', '?']) {
        condition.to_owned()
    } else {
        format!("({condition})")
    }
}

impl Writer<'_> {
    fn condition(&self, entry: &ItemEntry) -> Option<String> {
        let own = condition_of(entry)?;
        Some(without_output_fields(&own, self.ids))
    }

    /// Writes a step of any kind under a condition.
    fn step(&mut self, item: &Item, outer: Option<&str>) -> Option<()> {
        if self.out.steps.len() * outer.map_or(0, str::len) > MAX_ADDED {
            return None;
        }
        let entries = item.as_object()?;
        let Some(kind) = kind(entries) else {
            let mut step = item.clone();
            if let Some(outer) = outer {
                add_condition(&mut step, outer)?;
            }
            self.named(&mut step);
            self.out.steps.push(step);
            return Some(());
        };
        if has_other_fields(entries, kind) {
            return None;
        }
        let before = self.out.steps.len();
        match kind {
            Kind::If => self.alternatives(entries, outer)?,
            Kind::Switch => self.cases(entries, outer)?,
            Kind::Branches => {
                let branches = find(entries, "branches conditions choices rules")?;
                let otherwise = find(entries, ELSE);
                self.branches(&branches.item, None, otherwise, outer)?;
            }
            Kind::Try => self.attempt(entries, outer)?,
            Kind::Parallel => {
                for branch in find(entries, PARALLEL)?.item.as_list()? {
                    self.sequence(branch.get("steps").unwrap_or(branch), outer)?;
                }
            }
            Kind::Rounds => self.rounds(entries, outer)?,
            Kind::Asking => self.out.asks = true,
            Kind::Waiting => {
                self.out.reason = "since a plan has no pauses, and a step starts as soon as the steps that it needs have ended";
            }
            Kind::Empty => {
                self.out.reason = "since a plan begins with the steps that need no other, and ends with the last one";
            }
            Kind::Values | Kind::Expression | Kind::Filter | Kind::Prompt => {
                let mut step = computed(item, entries, kind)?;
                if let Some(outer) = outer {
                    add_condition(&mut step, outer)?;
                }
                self.out.steps.push(step);
            }
        }
        // What the control step waits for, its first steps wait for.
        let after = entries
            .iter()
            .find(|entry| super::meaning_of(entry) == Some("after"));
        if let Some(ids) = after.and_then(|entry| super::ids_of(&entry.item)) {
            for step in self.out.steps.iter_mut().skip(before) {
                add_after(step, &ids)?;
            }
        }
        Some(())
    }

    /// Writes steps where each waits for the one before it.
    fn sequence(&mut self, steps: &Item, outer: Option<&str>) -> Option<()> {
        let mut before: Option<Item> = None;
        for step in steps_in(steps) {
            let start = self.out.steps.len();
            self.step(&step, outer)?;
            if let (Some(id), Some(step)) = (before.take(), self.out.steps.get_mut(start)) {
                add_after(step, &[id])?;
            }
            before = self
                .out
                .steps
                .last()
                .and_then(|step| step.get("id").cloned());
        }
        Some(())
    }

    /// Writes a step that runs until a condition holds, or while it does.
    fn rounds(&mut self, entries: &[ItemEntry], outer: Option<&str>) -> Option<()> {
        let (fields, condition, steps) = rounds(entries)?;
        let start = self.out.steps.len();
        let mut until = self.condition(condition)?;
        match steps {
            [only] => self.step(only, outer)?,
            several => until = self.inner_plan(several, entries, &until, outer)?,
        }
        let pause = "interval delay wait every pause sleep backoff seconds";
        if find(fields, pause)
            .or_else(|| find(entries, pause))
            .is_some()
        {
            self.out.reason =
                "without the pause: a round begins as soon as the one before it has ended";
        }
        let is_until = normal(&condition.key).contains("until");
        let until = if is_until {
            until
        } else {
            format!("!({until})")
        };
        let words = "max maxiterations maxrounds maxloops times limit maxattempts";
        let max = find(fields, words).or_else(|| find(entries, words));
        let step = self.out.steps.get_mut(start)?;
        let place = step.place;
        let mut repeat = vec![field(
            "until",
            ItemKind::Text(format!("${{{until}}}").into()),
            place,
        )];
        repeat.extend(max.map(|max| field("max", max.item.kind.clone(), place)));
        let ItemKind::Object(step) = &mut step.kind else {
            return None;
        };
        step.push(field("repeat", ItemKind::Object(repeat), place));
        Some(())
    }

    /// Writes a step whose plan has the `steps` of a loop. Returns the condition `until` with the output of that plan in place of those
    /// of its steps; `None` if the steps refer to others.
    fn inner_plan(
        &mut self,
        steps: &[Item],
        entries: &[ItemEntry],
        until: &str,
        outer: Option<&str>,
    ) -> Option<String> {
        let place = steps.first()?.place;
        let text = |text: &str| ItemKind::Text(text.into());
        let ids = steps.iter().map(|step| step.get("id")?.as_text().cloned());
        let ids: Vec<Arc<str>> = ids.collect::<Option<_>>()?;
        let is_plain = |step: &Item| step.has("tool") && !is_control(step);
        let written = Value::list(steps.iter().map(Item::to_value)).to_json();
        let inner: HashSet<Arc<str>> = ids.iter().cloned().collect();
        let is_part = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
        let mut words = written.split(|sign| !is_part(sign));
        let names_other = words.any(|word| self.ids.contains(word) && !inner.contains(word));
        if !steps.iter().all(is_plain) || names_other || written.contains("${inputs.") {
            return None;
        }
        let id = match get(entries, "id").and_then(Item::as_text) {
            Some(id) => Arc::clone(id),
            None => self.used.add_for("rounds").into(),
        };
        let is_used = |inner: &&Arc<str>| until.contains(&***inner);
        let output = ids.iter().filter(is_used);
        let output = output.map(|inner| field(inner, text(&format!("${{{inner}}}")), place));
        let item = |kind: ItemKind| Item { kind, place };
        let plan = vec![
            field("ordering", text("listed"), place),
            field("steps", ItemKind::List(steps.to_vec()), place),
            field("output", ItemKind::Object(output.collect()), place),
        ];
        let fields = vec![
            field("id", text(&id), place),
            field("plan", ItemKind::Object(plan), place),
        ];
        let mut step = item(ItemKind::Object(fields));
        if let Some(outer) = outer {
            add_condition(&mut step, outer)?;
        }
        self.out.steps.push(step);
        Some(with_roots(until, &inner, &format!("{id}.")))
    }

    /// Gives an id to a step without one.
    fn named(&mut self, step: &mut Item) {
        let place = step.place;
        let words = ["tool", "tool_name", "action", "function", "name", "uses"];
        let tool = words
            .iter()
            .find_map(|word| step.get(word)?.as_text())
            .cloned();
        if let ItemKind::Object(fields) = &mut step.kind
            && !fields
                .iter()
                .any(|entry| super::meaning_of(entry) == Some("id"))
            && let Some(tool) = tool
        {
            let id = self.used.add_for(&tool);
            fields.insert(0, field("id", ItemKind::Text(id.into()), place));
        }
    }

    /// Writes what is done under a condition: steps, or the ids of steps elsewhere.
    fn body(&mut self, item: &Item, condition: &str) -> Option<()> {
        if are_ids(item) {
            for id in item.as_list().unwrap_or(std::slice::from_ref(item)) {
                let id = id.as_text()?;
                let is_end = ["end", "stop", "continue", "skip", "none", "exit", "noop"];
                if self.ids.contains(id) {
                    self.out
                        .conditions
                        .push((Arc::clone(id), condition.to_owned()));
                } else if !is_end.contains(&&*normal(id)) {
                    return None;
                }
            }
            return Some(());
        }
        match &item.kind {
            ItemKind::Null => Some(()),
            ItemKind::Object(entries) if kind(entries).is_none() && !is_step(item) => None,
            ItemKind::Object(_) if !is_control(item) && item.has("steps") && !item.has("tool") => {
                self.body(item.get("steps")?, condition)
            }
            _ => steps_in(item)
                .iter()
                .try_for_each(|step| self.step(step, Some(condition))),
        }
    }

    /// Writes `if`, `then`, `elif` and `else`.
    fn alternatives(&mut self, entries: &[ItemEntry], outer: Option<&str>) -> Option<()> {
        let condition = self.condition(find(entries, CONDITIONS)?)?;
        if let Some(then) = find(entries, THEN) {
            self.body(&then.item, &both(outer, &condition))?;
        }
        let mut remaining = both(outer, &format!("!({condition})"));
        let words = find(entries, ELIF);
        if let Some(elif) = words {
            // A condition alone has no steps of its own.
            let alternatives = match &elif.item.kind {
                ItemKind::List(items) => items.clone(),
                ItemKind::Object(_) => vec![elif.item.clone()],
                _ => return None,
            };
            for alternative in alternatives {
                let fields = alternative.as_object()?;
                let condition = self.condition(find(fields, CONDITIONS)?)?;
                let body = find(fields, BODIES)?;
                self.body(
                    &body.item,
                    &format!("{remaining} && {}", bracketed(&condition)),
                )?;
                remaining = format!("{remaining} && !({condition})");
            }
        }
        match find(entries, ELSE) {
            Some(otherwise) => self.body(&otherwise.item, &remaining),
            None => Some(()),
        }
    }

    /// Writes the cases of a `switch`.
    fn cases(&mut self, entries: &[ItemEntry], outer: Option<&str>) -> Option<()> {
        let value = find(entries, SWITCHED).filter(|entry| entry.item.as_text().is_some());
        let value = value.and_then(|entry| expression_of(inside(entry.item.as_text()?)));
        let value = value.map(|value| bracketed(&without_output_fields(&value, self.ids)));
        let cases = find(entries, "cases")?;
        let otherwise = find(entries, ELSE);
        let ItemKind::Object(by_value) = &cases.item.kind else {
            return self.branches(&cases.item, value.as_deref(), otherwise, outer);
        };
        let value = value?;
        let is_default = |entry: &&ItemEntry| matches!(&*entry.key, "default" | "else" | "_" | "*");
        let inner = by_value.iter().find(is_default);
        let mut passed = Vec::new();
        for case in by_value.iter().filter(|case| !is_default(case)) {
            let text = ItemKind::Text(Arc::clone(&case.key));
            let condition = format!("{value} == {}", literal(&text)?);
            self.body(&case.item, &both(outer, &condition))?;
            passed.push(condition);
        }
        match inner.or(otherwise) {
            Some(entry) => self.body(
                &entry.item,
                &both(outer, &format!("!({})", passed.join(" || "))),
            ),
            None => Some(()),
        }
    }

    /// Writes a list of cases, each with a condition or with the `value` that it is for.
    fn branches(
        &mut self,
        list: &Item,
        value: Option<&str>,
        otherwise: Option<&ItemEntry>,
        outer: Option<&str>,
    ) -> Option<()> {
        let mut passed: Vec<String> = Vec::new();
        let others = |passed: &[String]| {
            let [only] = passed else {
                let passed: Vec<String> = passed
                    .iter()
                    .map(|condition| bracketed(condition))
                    .collect();
                return format!("!({})", passed.join(" || "));
            };
            format!("!({only})")
        };
        for branch in list.as_list()? {
            let fields = branch.as_object()?;
            let body = find(fields, BODIES)?;
            let stated = fields.iter().find(|entry| {
                let key = normal(&entry.key);
                is_among(CONDITIONS, &key)
                    || matches!(&*key, "value" | "equals" | "is" | "match" | "default")
            });
            let word = stated
                .and_then(|entry| entry.item.as_text())
                .map(|text| normal(text));
            let is_default = stated.is_none_or(|entry| &*entry.key == "default")
                || word.is_some_and(|word| {
                    matches!(&*word, "default" | "else" | "otherwise" | "true" | "")
                });
            let condition = match (stated, value) {
                _ if is_default => others(&passed),
                (Some(entry), Some(value)) => match self
                    .condition(entry)
                    .filter(|own| own.contains([' ', '.', '(']))
                {
                    Some(own) => own,
                    None => format!("{value} == {}", literal(&entry.item.kind)?),
                },
                (Some(entry), None) => self.condition(entry)?,
                (None, _) => return None,
            };
            // The first case that fits is the one that runs.
            let alone = if passed.is_empty() || is_default || value.is_some() {
                condition.clone()
            } else {
                format!("{} && {}", others(&passed), bracketed(&condition))
            };
            self.body(&body.item, &both(outer, &alone))?;
            passed.push(condition);
        }
        match otherwise {
            Some(entry) => self.body(&entry.item, &both(outer, &others(&passed))),
            None => Some(()),
        }
    }

    /// Writes `try`, `catch` and `finally`, whose steps run one after the other.
    fn attempt(&mut self, entries: &[ItemEntry], outer: Option<&str>) -> Option<()> {
        let start = self.out.steps.len();
        let tried = find(entries, "try")?;
        let caught = find(entries, HANDLERS);
        let mut passed: Vec<String> = Vec::new();
        for step in steps_in(&tried.item) {
            let first = self.out.steps.len();
            let success = passed.join(" && ");
            match caught.filter(|_| !passed.is_empty()) {
                Some(_) => self.step(&step, Some(&both(outer, &success)))?,
                None => self.step(&step, outer)?,
            }
            for step in self.out.steps.get_mut(first..)? {
                let place = step.place;
                if let ItemKind::Object(fields) = &mut step.kind
                    && !has(fields, "on_error")
                    && caught.is_some()
                {
                    fields.push(field("on_error", ItemKind::Text("continue".into()), place));
                }
                if caught.is_some() {
                    let id = bare_name(step.get("id")?.as_text()?)?;
                    passed.push(format!("results.{id}.success"));
                }
            }
        }
        let tried = start..self.out.steps.len();
        let mut before: Vec<Item> = Vec::new();
        if let Some(caught) = caught {
            let handler = caught.item.get("steps").unwrap_or(&caught.item);
            let failure = match passed.as_slice() {
                [only] => format!("!{only}"),
                _ => format!("!({})", passed.join(" && ")),
            };
            let failure = both(outer, &failure);
            let first = self.out.steps.len();
            if handler.as_list().is_some() && !are_ids(handler) {
                self.sequence(handler, Some(&failure))?;
            } else {
                self.body(handler, &failure)?;
            }
            let added = self.out.steps.get(first..)?;
            before.extend(added.last().and_then(|step| step.get("id").cloned()));
        }
        if let Some(last) = find(entries, "finally ensure always") {
            if before.is_empty() {
                let tried = self.out.steps.get(tried)?.iter();
                before.extend(tried.filter_map(|step| step.get("id").cloned()));
            }
            let first = self.out.steps.len();
            self.sequence(&last.item, outer)?;
            if let Some(step) = self.out.steps.get_mut(first) {
                add_after(step, &before)?;
            }
        }
        Some(())
    }
}

/// The value of a case as an expression.
fn literal(kind: &ItemKind) -> Option<String> {
    match kind {
        ItemKind::Text(text)
            if matches!(&**text, "true" | "false") || text.parse::<f64>().is_ok() =>
        {
            Some(text.to_string())
        }
        ItemKind::Text(text) if !text.contains(['\'', '\\', '\n', '`']) => {
            Some(format!("'{text}'"))
        }
        ItemKind::Number(number) => Some(number.to_string()),
        ItemKind::Bool(value) => Some(value.to_string()),
        ItemKind::Null | ItemKind::Text(_) | ItemKind::List(_) | ItemKind::Object(_) => None,
    }
}

/// The step with a `value` or an `extract` that a step without a call stands for.
fn computed(item: &Item, entries: &[ItemEntry], kind: Kind) -> Option<Item> {
    let place = item.place;
    let text = |text: String| ItemKind::Text(text.into());
    let of_text = |entry: &ItemEntry| {
        let code = entry.item.as_text()?.trim().trim_end_matches(';');
        let code = code.strip_prefix("return ").unwrap_or(code);
        form_in(inside(code)).or_else(|| expression_of(inside(code)))
    };
    let (name, value) = match kind {
        Kind::Values => ("value", find(entries, VALUES)?.item.kind.clone()),
        Kind::Expression => {
            let code = find(entries, CODE)?;
            match &code.item.kind {
                ItemKind::Object(_) => ("value", code.item.kind.clone()),
                _ => ("value", text(format!("${{{}}}", of_text(code)?))),
            }
        }
        Kind::Filter => {
            let list = of_text(find(entries, LISTS)?)?;
            let condition = of_text(find(entries, CONDITIONS)?)?;
            (
                "value",
                text(format!("${{{list}.filter(item, {condition})}}")),
            )
        }
        _ => {
            let prompt = find(entries, PROMPTS)?.item.as_text()?;
            let (before, rest) = prompt.split_once("${")?;
            let (reference, after) = rest.split_once('}')?;
            let ask = format!("{}{}", before.trim(), after.trim_end());
            let ask = ask.trim().trim_end_matches(':').to_owned();
            let answer = field(
                "text",
                ItemKind::Object(vec![field("type", text("string".to_owned()), place)]),
                place,
            );
            let schema = vec![
                field("type", text("object".to_owned()), place),
                field("properties", ItemKind::Object(vec![answer]), place),
            ];
            let fields = vec![
                field("from", text(format!("${{{reference}}}")), place),
                field("schema", ItemKind::Object(schema), place),
                field("ask", text(ask), place),
            ];
            ("extract", ItemKind::Object(fields))
        }
    };
    let id = get(entries, "id")
        .or_else(|| get(entries, "name"))
        .cloned()?;
    let mut fields = vec![field("id", id.kind, place), field(name, value, place)];
    let kept = |entry: &&ItemEntry| {
        matches!(super::meaning_of(entry), Some("for_each" | "when")) && kind != Kind::Filter
    };
    fields.extend(entries.iter().filter(kept).cloned());
    Some(Item {
        kind: ItemKind::Object(fields),
        place,
    })
}
