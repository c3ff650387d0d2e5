//! The calls and groups in a value, whatever it is made of.

use std::sync::Arc;

use planwright_core::Value;

use super::tool::{qualified_name, tool_name};
use super::words::{self, CERTAIN_TOOLS, Meaning, SEQUENCES, TOOLS, is_kind, means, normal};
use crate::foreign_text::calls;

/// The maximum depth of groups.
const MAX_DEPTH: usize = 24;

/// A call, or a group of calls.
#[derive(Debug)]
pub(super) enum Node {
    Call(Box<Call>),
    Group {
        nodes: Vec<Node>,
        is_sequence: bool,
    },
    Branches {
        condition: String,
        then: Vec<Node>,
        otherwise: Vec<Node>,
        is_sequence: bool,
    },
    Loop(Box<Loop>),
}

/// A call of a tool.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    /// Another name of the result.
    pub(super) alias: Option<String>,
    pub(super) tool: String,
    pub(super) args: Vec<(Arc<str>, Value)>,
    pub(super) after: Vec<String>,
    pub(super) has_after: bool,
    pub(super) when: Option<String>,
    pub(super) over: Option<Value>,
    pub(super) item: Option<String>,
    pub(super) note: Option<Value>,
    /// Fields that the native dialect reads or guesses.
    pub(super) options: Vec<(Arc<str>, Value)>,
}

/// A loop over several calls.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) id: Option<String>,
    pub(super) over: Value,
    pub(super) item: Option<String>,
    pub(super) body: Vec<Node>,
    pub(super) is_sequence: bool,
    pub(super) after: Vec<String>,
}

/// What is not in the nodes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The fields that have no meaning here.
    pub(super) left_out: Vec<String>,
    /// True if one of them may change what the plan does.
    pub(super) is_uncertain: bool,
    /// The names at both ends of edges.
    pub(super) edges: Vec<(String, String)>,
    /// The names of the starts of a workflow, for which no call waits.
    pub(super) triggers: Vec<String>,
    /// The fields of the plan, by their meaning.
    pub(super) plan: Vec<(Meaning, Value)>,
    /// True if a list has calls that say nothing about their order.
    pub(super) is_listed: bool,
}

impl Reader {
    /// The nodes in `value`, which is the value of `key`; `None` if there are none.
    pub(super) fn nodes(
        &mut self,
        value: &Value,
        key: Option<&str>,
        depth: usize,
    ) -> Option<Vec<Node>> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(call) = self.call(value, key) {
            if is_trigger(&call) {
                self.triggers.extend(call.id);
                return Some(Vec::new());
            }
            return Some(vec![Node::Call(Box::new(call))]);
        }
        match value {
            Value::List(items) => self.list(items, depth),
            Value::Object(fields) => {
                let fields: Vec<(&str, &Value)> =
                    fields.iter().map(|(key, field)| (&**key, field)).collect();
                self.object(&fields, key, depth)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
        }
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Option<Vec<Node>> {
        let mut nodes = Vec::new();
        for item in items {
            match self.nodes(item, None, depth + 1) {
                Some(found) => nodes.extend(found),
                None if is_empty(item) => {}
                None if let Some(output) = final_output(item) => {
                    self.plan.push((Meaning::Output, output))
                }
                None => self.leave_out(&item.to_json(), item),
            }
        }
        self.is_listed |= nodes.len() > 1;
        (!nodes.is_empty()).then_some(nodes)
    }

    /// The nodes of an object that is no call.
    fn object(
        &mut self,
        fields: &[(&str, &Value)],
        key: Option<&str>,
        depth: usize,
    ) -> Option<Vec<Node>> {
        let holds = |value: &Value| holds_calls(value, depth);
        let (inner, others): (Vec<_>, Vec<_>) = fields.iter().copied().partition(|(key, value)| {
            holds(value) || qualified_name(key).is_some_and(|_| matches!(value, Value::Object(_)))
        });
        if inner.is_empty() {
            return None;
        }
        if let Some(nodes) = self.with_heads(&inner, &others, depth) {
            return Some(nodes);
        }
        // `{"repeat": {"for_each": …, "sequence": …}}` is a loop, and so is `{"for": {…}, "do": […]}`.
        let find = |meaning: Meaning| others.iter().find(|(key, _)| means(key, meaning));
        let is_body = |key: &str| !means(key, Meaning::Otherwise);
        if let Some(looped) = self.looped(&inner, &others, key, depth) {
            return Some(vec![looped]);
        }
        if let Some(node) = self.tried(&inner, &others, depth) {
            return Some(vec![node]);
        }
        let condition = find(Meaning::When).and_then(|(_, value)| condition_text(value));
        if let Some(condition) = condition {
            let mut then = Vec::new();
            let mut otherwise = Vec::new();
            let mut is_sequence = false;
            for (key, value) in &inner {
                let nodes = self.nodes(value, None, depth + 1).unwrap_or_default();
                is_sequence |= SEQUENCES.contains(&&*normal(key)) || means(key, Meaning::Then);
                if is_body(key) {
                    then.extend(nodes)
                } else {
                    otherwise.extend(nodes)
                }
            }
            for (key, value) in &others {
                let is_known = means(key, Meaning::When)
                    || means(key, Meaning::Id)
                    || means(key, Meaning::Title);
                if !is_known && !is_mark(key, value) {
                    self.leave_out(key, value);
                }
            }
            return Some(vec![Node::Branches {
                condition,
                then,
                otherwise,
                is_sequence,
            }]);
        }
        if let Some(choice) = self.choice(&inner, &others, depth) {
            return Some(vec![choice]);
        }
        let mut nodes = Vec::new();
        for (key, value) in &inner {
            let is_group = value.as_list().is_some() || holds_group(value);
            let found = self.nodes(value, Some(*key), depth + 1).unwrap_or_default();
            let word = normal(key);
            let is_sequence = SEQUENCES.contains(&&*word);
            let is_parallel =
                ["parallel", "concurrent", "branches", "concurrently"].contains(&&*word);
            if is_group && (is_sequence || is_parallel) && found.len() > 1 {
                nodes.push(Node::Group {
                    nodes: found,
                    is_sequence,
                });
            } else {
                nodes.extend(found);
            }
        }
        for (key, value) in &others {
            self.beside(key, value, depth == 0);
        }
        (!nodes.is_empty()).then_some(nodes)
    }

    /// The nodes of an object with keys such as `for each x in list` and `if x is empty`.
    fn with_heads(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        depth: usize,
    ) -> Option<Vec<Node>> {
        if !inner.iter().any(|(key, _)| head(key).is_some()) {
            return None;
        }
        let mut nodes = Vec::new();
        for (key, value) in inner {
            let found = self.nodes(
                value,
                Some(*key).filter(|key| head(key).is_none()),
                depth + 1,
            )?;
            match head(key) {
                Some(Head::Loop(item, list)) => nodes.push(Node::Loop(Box::new(Loop {
                    id: None,
                    over: Value::text(list),
                    item: Some(item.to_owned()),
                    body: found,
                    is_sequence: true,
                    after: Vec::new(),
                }))),
                Some(Head::Condition(condition)) => nodes.push(Node::Branches {
                    condition: condition.to_owned(),
                    then: found,
                    otherwise: Vec::new(),
                    is_sequence: true,
                }),
                None => nodes.extend(found),
            }
        }
        for (key, value) in others {
            // The field `plan` of a text is its title.
            if normal(key) == "plan" && value.as_text().is_some() {
                self.plan.push((Meaning::Title, (*value).clone()));
            } else {
                self.beside(key, value, depth == 0);
            }
        }
        Some(nodes)
    }

    /// The call in `inner`, the only one, with what stands beside it in `{"try": …, "catch": {"retry": …}, "output": {"as": …}}`.
    fn tried(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        depth: usize,
    ) -> Option<Node> {
        let [(body, value)] = inner else { return None };
        matches!(&*normal(body), "try").then_some(())?;
        let is_known = |key: &str| matches!(&*normal(key), "catch" | "output" | "export" | "retry");
        others.iter().all(|(key, _)| is_known(key)).then_some(())?;
        let mut retry = None;
        let mut alias = None;
        for (key, value) in others {
            match &*normal(key) {
                "output" | "export" => {
                    alias = Some(
                        value
                            .get("as")?
                            .as_text()?
                            .trim_start_matches(['.', '$'])
                            .to_owned(),
                    )
                }
                "catch" => {
                    retry = Some(retry_of(value.get("retry").filter(|_| {
                        value.as_object().is_some_and(|fields| fields.len() == 1)
                    })?)?)
                }
                _ => retry = Some(retry_of(value)?),
            }
        }
        let mut nodes = self.nodes(value, None, depth + 1)?;
        let [Node::Call(call)] = nodes.as_mut_slice() else {
            return None;
        };
        call.options
            .extend(retry.map(|retry| (Arc::from("retry"), retry)));
        call.alias = alias.or_else(|| call.alias.take());
        nodes.pop()
    }

    /// A loop over the calls in `inner`.
    fn looped(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        key: Option<&str>,
        depth: usize,
    ) -> Option<Node> {
        // The loop itself may be one object.
        if let [(word, Value::Object(fields))] = inner
            && (means(word, Meaning::Over) || normal(word) == "repeat")
        {
            let fields: Vec<(&str, &Value)> =
                fields.iter().map(|(key, field)| (&**key, field)).collect();
            let (inner, own): (Vec<_>, Vec<_>) = fields
                .into_iter()
                .partition(|(_, value)| holds_calls(value, depth + 1));
            let all: Vec<_> = own.into_iter().chain(others.iter().copied()).collect();
            return self.looped(&inner, &all, key, depth + 1);
        }
        let [(body, calls)] = inner else { return None };
        let (over_key, over) = others
            .iter()
            .find(|(key, _)| means(key, Meaning::Over) && normal(key) != "in")?;
        let mut item = others
            .iter()
            .find(|(key, _)| {
                means(key, Meaning::ItemName) || matches!(&*normal(key), "as" | "var" | "variable")
            })
            .and_then(|(_, name)| name.as_text());
        let mut list = (*over).clone();
        // `{"each": "x", "in": …}`
        if let Some(inside) = over.as_object() {
            item = inside
                .iter()
                .find(|(key, _)| matches!(&*normal(key), "each" | "item" | "as" | "var"))
                .and_then(|(_, name)| name.as_text())
                .or(item);
            list = inside
                .iter()
                .find(|(key, _)| matches!(&*normal(key), "in" | "items" | "over" | "list"))?
                .1
                .clone();
        }
        let item = item.map(|name| name.trim_start_matches('$').to_owned());
        let is_sequence = SEQUENCES.contains(&&*normal(body));
        let id = others
            .iter()
            .find(|(key, _)| means(key, Meaning::Id))
            .and_then(|(_, id)| scalar(id));
        let after = others
            .iter()
            .find(|(key, _)| means(key, Meaning::After))
            .map(|(_, ids)| names_in(ids));
        for (key, value) in others {
            let is_known = key == over_key
                || [
                    Meaning::ItemName,
                    Meaning::Id,
                    Meaning::After,
                    Meaning::Title,
                    Meaning::Note,
                ]
                .iter()
                .any(|meaning| means(key, *meaning))
                || matches!(&*normal(key), "as" | "var" | "variable" | "name");
            if !is_known && !is_mark(key, value) {
                self.leave_out(key, value);
            }
        }
        Some(Node::Loop(Box::new(Loop {
            id: id.or_else(|| key.map(str::to_owned)),
            over: list,
            item,
            body: self.nodes(calls, None, depth + 1)?,
            is_sequence,
            after: after.unwrap_or_default(),
        })))
    }

    /// The branches of a list of conditions with their calls, `[{"conditions", "sequence"}]`, of which the first that holds counts.
    fn choice(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        depth: usize,
    ) -> Option<Node> {
        let (list, rest): (Vec<_>, Vec<_>) = inner.iter().partition(|(key, _)| {
            matches!(
                &*normal(key),
                "choose" | "switch" | "cases" | "choices" | "branches"
            )
        });
        let ([(_, Value::List(cases))], true) = (list.as_slice(), rest.len() <= 1) else {
            return None;
        };
        let is_case = |case: &Value| {
            case.as_object()
                .is_some_and(|fields| fields.keys().any(|key| means(key, Meaning::When)))
        };
        cases.iter().all(is_case).then_some(())?;
        let mut otherwise = match rest.first() {
            Some((key, value)) if means(key, Meaning::Otherwise) => {
                self.nodes(value, None, depth + 1)?
            }
            Some(_) => return None,
            None => Vec::new(),
        };
        for case in cases.iter().rev() {
            let fields: Vec<(&str, &Value)> = case
                .as_object()?
                .iter()
                .map(|(key, field)| (&**key, field))
                .collect();
            let (_, condition) = fields.iter().find(|(key, _)| means(key, Meaning::When))?;
            let bodies = fields
                .iter()
                .filter(|(_, value)| holds_calls(value, depth + 1));
            let then: Vec<Node> = bodies
                .flat_map(|(_, value)| self.nodes(value, None, depth + 2).unwrap_or_default())
                .collect();
            let node = Node::Branches {
                condition: condition_text(condition)?,
                then,
                otherwise: std::mem::take(&mut otherwise),
                is_sequence: true,
            };
            otherwise.push(node);
        }
        for (key, value) in others {
            self.beside(key, value, false);
        }
        otherwise.pop()
    }

    /// A field beside calls.
    fn beside(&mut self, key: &str, value: &Value, is_top: bool) {
        let meanings = [
            Meaning::Output,
            Meaning::Inputs,
            Meaning::Constants,
            Meaning::Edges,
            Meaning::Title,
            Meaning::Note,
        ];
        let meaning = meanings.into_iter().find(|meaning| means(key, *meaning));
        match meaning {
            _ if is_empty(value) => {}
            Some(Meaning::Edges) => match edges(value) {
                Some(edges) => self.edges.extend(edges),
                None => self.leave_out(key, value),
            },
            Some(Meaning::Title | Meaning::Note) if value.as_text().is_some() => {
                if is_top && let Some(meaning) = meaning {
                    self.plan.push((meaning, value.clone()));
                }
            }
            Some(meaning @ (Meaning::Output | Meaning::Inputs | Meaning::Constants))
                if !self.plan.iter().any(|(found, _)| *found == meaning) =>
            {
                self.plan.push((meaning, value.clone()));
            }
            _ if normal(key) == "name" && value.as_text().is_some() => {
                if is_top {
                    self.plan.push((Meaning::Title, value.clone()));
                }
            }
            _ if means(key, Meaning::Id) || is_mark(key, value) => {}
            _ if normal(key) == "connections" && connections(value).is_some() => {
                self.edges.extend(connections(value).unwrap_or_default());
            }
            _ => self.leave_out(key, value),
        }
    }

    /// Leaves out the part `value`, called `name`.
    fn leave_out(&mut self, name: &str, value: &Value) {
        let is_flag = matches!(value, Value::Bool(_) | Value::Number(_) | Value::Text(_));
        let is_harmless = words::is_harmless(name) || (is_flag && words::is_about_the_file(name));
        self.is_uncertain |= !is_harmless;
        let end = name.floor_char_boundary(40);
        self.left_out
            .push(name.get(..end).unwrap_or_default().to_owned());
    }

    /// The call that `value` is, the value of `key`.
    fn call(&mut self, value: &Value, key: Option<&str>) -> Option<Call> {
        match value {
            Value::Text(text) => text_call(text, key),
            Value::List(items) => tuple_call(items, key),
            Value::Object(fields) => {
                let mut fields: Vec<(&str, &Value)> =
                    fields.iter().map(|(key, field)| (&**key, field)).collect();
                // `{"type": "tool", "data": {"tool": …}}`
                if tool_in(&fields).is_none()
                    && let Some(at) = fields.iter().position(|(key, _)| {
                        matches!(
                            &*normal(key),
                            "data"
                                | "function"
                                | "params"
                                | "spec"
                                | "config"
                                | "toolcall"
                                | "call"
                        )
                    })
                    && let Some(inside) = fields[at].1.as_object()
                {
                    let inner: Vec<(&str, &Value)> =
                        inside.iter().map(|(key, field)| (&**key, field)).collect();
                    if tool_in(&inner).is_some() {
                        fields.remove(at);
                        fields.retain(|(key, _)| !inner.iter().any(|(other, _)| other == key));
                        fields.extend(inner);
                    }
                }
                let (at, tool) = tool_in(&fields)?;
                self.call_with(&fields, at, tool, key)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn call_with(
        &mut self,
        fields: &[(&str, &Value)],
        at: usize,
        tool: String,
        key: Option<&str>,
    ) -> Option<Call> {
        let mut call = Call {
            tool,
            ..Call::default()
        };
        let (tool_key, tool_value) = fields[at];
        let is_key = qualified_name(tool_key).is_some();
        let mut loose: Vec<(Arc<str>, Value)> = Vec::new();
        if is_key {
            call.args = arguments(tool_value)?;
        }
        let has_args = is_key
            || fields.iter().enumerate().any(|(index, (key, value))| {
                index != at && means(key, Meaning::Args) && arguments(value).is_some()
            });
        let mut name = None;
        for (index, (key, value)) in fields.iter().enumerate() {
            if index == at {
                continue;
            }
            if is_key
                && let Some(result) = value
                    .as_text()
                    .filter(|_| matches!(&*normal(key), "name" | "label"))
            {
                // Beside `{"server.tool": …}`, a name is the title.
                call.note = Some(Value::text(result));
                continue;
            }
            if normal(key) == "name" {
                name = value.as_text().map(str::to_owned);
            } else if means(key, Meaning::Id) {
                call.id = call.id.or_else(|| scalar(value));
            } else if means(key, Meaning::Server) && value.as_text().is_some() {
                // It is a part of the tool's name.
            } else if means(key, Meaning::After) {
                call.has_after = true;
                call.after = names_in(value);
            } else if has_args && means(key, Meaning::Args) {
                call.args.extend(arguments(value)?);
            } else if means(key, Meaning::When) && condition_text(value).is_some() {
                call.when = condition_text(value);
            } else if means(key, Meaning::ItemName) || (normal(key) == "as" && has_loop(fields)) {
                call.item = value
                    .as_text()
                    .map(|name| name.trim_start_matches('$').to_owned());
            } else if means(key, Meaning::Result) && value.as_text().is_some() {
                call.alias = value
                    .as_text()
                    .map(|name| name.trim_matches(['$', '{', '}']).to_owned());
            } else if means(key, Meaning::Over) && (has_args || is_reference(value)) {
                call.over = Some((*value).clone());
            } else if means(key, Meaning::Option)
                && (has_args || !value.as_text().is_some_and(|text| text.contains(' ')))
            {
                call.options.push(((*key).into(), (*value).clone()));
            } else if means(key, Meaning::Note) || means(key, Meaning::Title) {
                call.note = Some((*value).clone());
            } else if is_empty(value) || (is_mark(key, value) && has_args) {
                // It says nothing.
            } else if !has_args {
                loose.push(((*key).into(), (*value).clone()));
            } else {
                self.leave_out(key, value);
            }
        }
        call.args.extend(loose);
        // A name beside an id is a title.
        match (&call.id, name) {
            (None, Some(name)) => call.id = Some(name),
            (Some(_), Some(name)) if call.note.is_none() => call.note = Some(Value::text(name)),
            _ => {}
        }
        if call.id.is_none() {
            let name = call.alias.as_ref().map(|name| {
                name.trim_start_matches(['#', '@', '&', '%', '$'])
                    .to_owned()
            });
            call.id = name.or_else(|| key.map(str::to_owned));
        }
        Some(call)
    }
}

/// A control structure in a key.
enum Head<'k> {
    Loop(&'k str, &'k str),
    Condition(&'k str),
}

/// The control structure that `key` is, `then for each x in list` or `if x is empty`; `None` for other keys.
fn head(key: &str) -> Option<Head<'_>> {
    let key = key.trim();
    let key = key.strip_prefix("then ").unwrap_or(key);
    let looped = ["for each ", "foreach ", "for "]
        .iter()
        .find_map(|word| key.strip_prefix(word));
    if let Some((item, list)) = looped.and_then(|rest| rest.split_once(" in ")) {
        let (item, list) = (item.trim(), list.trim());
        return (!item.contains(' ') && !list.is_empty()).then_some(Head::Loop(item, list));
    }
    key.strip_prefix("if ")
        .map(|condition| Head::Condition(condition.trim()))
}

/// The further attempts of `{"limit": {"attempt": {"count": 3}}, "delay": {"seconds": 5}}`; `None` if it says more.
fn retry_of(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let mut found = Vec::new();
    for (key, value) in fields.iter() {
        match &*normal(key) {
            "limit" => found.push(("attempts", value.get("attempt")?.get("count")?.clone())),
            "delay" => {
                let units = [("milliseconds", "ms"), ("seconds", "s"), ("minutes", "m")];
                let number = units
                    .iter()
                    .find_map(|(name, unit)| Some((value.get(name)?, unit)));
                let delay = match (number, value) {
                    (Some((number, unit)), _) => format!("{}{unit}", number.as_u64()?),
                    (None, Value::Text(text)) => text.to_string(),
                    _ => return None,
                };
                found.push(("delay", Value::text(delay)));
            }
            _ => return None,
        }
    }
    Some(Value::object(found))
}

/// Returns true if the call with `fields` has a list of a loop.
fn has_loop(fields: &[(&str, &Value)]) -> bool {
    fields
        .iter()
        .any(|(key, value)| means(key, Meaning::Over) && !is_empty(value))
}

/// Returns true if `value` can be the list of a loop.
fn is_reference(value: &Value) -> bool {
    match value {
        Value::List(_) => true,
        Value::Text(text) => text.starts_with(['$', '{', '<', '@', '#']),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The position of the tool among `fields`, and its name.
fn tool_in(fields: &[(&str, &Value)]) -> Option<(usize, String)> {
    let server = fields
        .iter()
        .find(|(key, _)| means(key, Meaning::Server))
        .and_then(|(_, server)| server.as_text());
    let has_args = fields.iter().any(|(key, value)| {
        means(key, Meaning::Args) && matches!(value, Value::Object(_) | Value::List(_))
    });
    for word in TOOLS {
        let Some(at) = fields.iter().position(|(key, _)| normal(key) == word) else {
            continue;
        };
        let value = fields[at].1;
        let named = |text: &str| {
            let qualified = qualified_name(text);
            let is_certain =
                CERTAIN_TOOLS.contains(&word) || server.is_some() || (word == "name" && has_args);
            let name = qualified
                .or_else(|| tool_name(text).filter(|name| is_certain && !is_kind(name)))?;
            Some(match server {
                Some(server) if !name.contains('.') => format!("{server}.{name}"),
                _ => name,
            })
        };
        let name = match value {
            Value::Text(text) => named(text),
            Value::Object(inner) => {
                let name = ["name", "tool", "id"]
                    .iter()
                    .find_map(|key| inner.get(*key)?.as_text());
                name.and_then(qualified_name)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) => None,
        };
        if let Some(name) = name {
            return Some((at, name));
        }
    }
    // `{"server.tool": {…}}`
    let mut keys = fields.iter().enumerate().filter_map(|(at, (key, value))| {
        let is_call = matches!(value, Value::Object(_) | Value::Null | Value::List(_))
            && !holds_calls(value, 0);
        Some((
            at,
            qualified_name(key).filter(|_| is_call && arguments(value).is_some())?,
        ))
    });
    let (Some(found), None) = (keys.next(), keys.next()) else {
        return None;
    };
    Some(found)
}

/// Returns true if `value` is a call or holds one.
pub(super) fn holds_calls(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let mut probe = Reader::default();
    match value {
        Value::Text(text) => text_call(text, None).is_some(),
        Value::List(items) => {
            tuple_call(items, None).is_some()
                || items.iter().any(|item| holds_calls(item, depth + 1))
        }
        Value::Object(fields) => {
            probe.call(value, None).is_some()
                || fields
                    .iter()
                    .any(|(key, field)| !means(key, Meaning::Note) && holds_calls(field, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if `value` is a group of calls by name.
fn holds_group(value: &Value) -> bool {
    let mut probe = Reader::default();
    value.as_object().is_some() && probe.call(value, None).is_none()
}

/// `value` as arguments by name; `None` if it is none.
pub(super) fn arguments(value: &Value) -> Option<Vec<(Arc<str>, Value)>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(fields) => match fields.get("parameters") {
            Some(inner @ Value::List(_)) if fields.len() == 1 => arguments(inner),
            _ => Some(
                fields
                    .iter()
                    .map(|(key, field)| (Arc::clone(key), field.clone()))
                    .collect(),
            ),
        },
        Value::List(items) => {
            let fields = items.iter().map(|item| {
                let name = ["name", "key", "parameter"]
                    .iter()
                    .find_map(|key| item.get(key)?.as_text())?;
                let is_pair = item.as_object().is_some_and(|fields| fields.len() == 2);
                Some((
                    Arc::from(name),
                    item.get("value").filter(|_| is_pair)?.clone(),
                ))
            });
            fields.collect()
        }
        Value::Text(text) if text.trim_start().starts_with('{') => {
            arguments(&Value::from_json(text).ok()?)
        }
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

/// The call in a text: `server.tool name=value` or `server.tool(name="value")`.
fn text_call(text: &str, key: Option<&str>) -> Option<Call> {
    let text = text.trim();
    let end = text
        .find(|sign: char| sign.is_whitespace() || sign == '(')
        .unwrap_or(text.len());
    let tool = qualified_name(&text[..end])?;
    let rest = text[end..].trim();
    let args = if rest.is_empty() {
        // A word alone may be anything.
        return None;
    } else if rest.starts_with('(') {
        let plan = calls::plan(&format!("a = {text}"))?;
        let step = plan.get("steps")?.as_list()?.first()?.clone();
        arguments(step.get("args")?)?
    } else {
        pairs(rest)?
    };
    Some(Call {
        id: key.map(str::to_owned),
        tool,
        args,
        ..Call::default()
    })
}

/// The arguments in `name=value name="a b"` or `--name value`.
fn pairs(text: &str) -> Option<Vec<(Arc<str>, Value)>> {
    let mut pairs: Vec<(Arc<str>, Value)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix("--") {
            Some(flag) => flag.split_at(flag.find(['=', ' '])?),
            None => rest.split_at(rest.find('=')?),
        };
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_');
        is_name.then_some(())?;
        let after = after[1..].trim_start();
        let quote = after
            .chars()
            .next()
            .filter(|sign| matches!(sign, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => {
                let length = crate::native::quoted_length(after, quote)?;
                (Value::text(&after[1..length - 1]), &after[length..])
            }
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                let word = &after[..end];
                let is_number = word.parse::<f64>().is_ok()
                    && word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '-');
                let value = Value::from_json(word).ok().filter(|_| is_number);
                (value.unwrap_or_else(|| Value::text(word)), &after[end..])
            }
        };
        pairs.push((name.into(), value));
        rest = behind.trim_start_matches([',', ';']).trim_start();
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// The call in `["id", "server.tool", {…}, ["other"]]`, or `["server", "tool", {…}]`.
fn tuple_call(items: &[Value], key: Option<&str>) -> Option<Call> {
    let texts = items
        .iter()
        .take_while(|item| item.as_text().is_some())
        .count();
    let (words, rest) = items.split_at(texts);
    let (args, rest) = rest.split_first()?;
    args.as_object()?;
    let words: Vec<&str> = words.iter().filter_map(Value::as_text).collect();
    let (id, tool) = match words.as_slice() {
        [tool] => (None, qualified_name(tool)?),
        [id, tool] if qualified_name(tool).is_some() => (Some(*id), qualified_name(tool)?),
        [server, tool] => (None, qualified_name(&format!("{server}.{tool}"))?),
        _ => return None,
    };
    let after = match rest {
        [] => None,
        [ids @ Value::List(_)] => Some(names_in(ids)),
        _ => return None,
    };
    Some(Call {
        id: id.or(key).map(str::to_owned),
        tool,
        args: arguments(args)?,
        has_after: after.is_some(),
        after: after.unwrap_or_default(),
        ..Call::default()
    })
}

/// The names in a list, in one text, or in the keys of an object; a negative number is none.
fn names_in(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().flat_map(names_in).collect(),
        Value::Object(fields) => fields.keys().map(|key| key.to_string()).collect(),
        Value::Text(text) => text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        Value::Number(_) => scalar(value)
            .filter(|number| !number.starts_with('-'))
            .into_iter()
            .collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// The text of a name, which may be a number.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::Number(_) => Some(value.to_json()),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// The condition in a text, or in a list with one.
fn condition_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::List(items) => match items.as_slice() {
            [only] => condition_text(only),
            _ => None,
        },
        Value::Object(fields) => {
            let inner = ["expression", "value_template", "condition"]
                .iter()
                .find_map(|key| fields.get(*key));
            condition_text(inner?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The names at both ends of `[{"source": …, "target": …}]`; `None` if an edge says more.
fn edges(value: &Value) -> Option<Vec<(String, String)>> {
    let edges = value.as_list()?.iter().map(|edge| {
        let get = |words: &[&str]| words.iter().find_map(|word| scalar(edge.get(word)?));
        let ends = match edge {
            Value::List(ends) => match ends.as_slice() {
                [from, to] => (scalar(from), scalar(to)),
                _ => return None,
            },
            _ => (get(&["source", "from"]), get(&["target", "to"])),
        };
        let known = ["id", "source", "from", "target", "to", "type"];
        let is_plain = edge
            .as_object()
            .is_none_or(|fields| fields.keys().all(|key| known.contains(&&**key)));
        Some((ends.0.filter(|_| is_plain)?, ends.1?))
    });
    edges.collect()
}

/// The output in `{"action": "finish", "output": …}`, the end of a plan.
fn final_output(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let ends = [
        "finish",
        "return",
        "end",
        "final",
        "finalanswer",
        "answer",
        "done",
        "respond",
    ];
    let is_end = |(key, value): (&Arc<str>, &Value)| {
        let is_kind = matches!(&*normal(key), "action" | "type" | "op" | "tool" | "kind");
        is_kind
            && value
                .as_text()
                .is_some_and(|text| ends.contains(&&*normal(text)))
    };
    fields.iter().any(is_end).then_some(())?;
    let output = |(key, value): (&Arc<str>, &Value)| {
        (means(key, Meaning::Output) || normal(key) == "value").then(|| value.clone())
    };
    fields.iter().find_map(output)
}

/// The edges of n8n, `{"a": {"main": [[{"node": "b"}]]}}`; `None` if they say more.
fn connections(value: &Value) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (from, outputs) in value.as_object()?.iter() {
        let main = outputs
            .get("main")
            .filter(|_| outputs.as_object().is_some_and(|fields| fields.len() == 1))?;
        for target in main
            .as_list()?
            .iter()
            .flat_map(|list| list.as_list().unwrap_or_default())
        {
            found.push((from.to_string(), target.get("node")?.as_text()?.to_owned()));
        }
    }
    Some(found)
}

/// Returns true for the start of a workflow, which calls nothing.
fn is_trigger(call: &Call) -> bool {
    call.args.is_empty() && call.tool.to_lowercase().ends_with("trigger")
}

/// Returns true if `value` says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Text(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if the field `key` is a mark of a format, which says nothing about a run.
fn is_mark(key: &str, value: &Value) -> bool {
    match &*normal(key) {
        "type" | "kind" | "action" | "op" => value.as_text().is_some_and(is_kind),
        _ => means(key, Meaning::Mark) || (means(key, Meaning::Note) && value.as_text().is_some()),
    }
}
