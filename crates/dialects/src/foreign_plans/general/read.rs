//! The calls and groups in a value of any structure.

use std::sync::Arc;

use planwright_core::Value;

use super::forms::{
    arguments, condition_text, connections, edges, final_output, has_loop, holds_calls,
    holds_group, is_empty, is_mark, is_reference, is_trigger, names_in, retry_of, scalar,
    text_call, tool_in, tuple_call,
};
use super::tool::qualified_name;
use super::words::{self, Meaning, SEQUENCES, means, normal};

/// The maximum depth of groups.
pub(super) const MAX_DEPTH: usize = 24;

/// A call, or a group of calls.
#[derive(Debug)]
pub(super) enum ForeignNode {
    Call(Box<ForeignCall>),
    Group {
        nodes: Vec<ForeignNode>,
        is_sequence: bool,
    },
    Branches {
        condition: String,
        then: Vec<ForeignNode>,
        otherwise: Vec<ForeignNode>,
        is_sequence: bool,
    },
    Loop(Box<ForeignLoop>),
}

/// A call of a tool.
#[derive(Debug, Default)]
pub(super) struct ForeignCall {
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
pub(super) struct ForeignLoop {
    pub(super) id: Option<String>,
    pub(super) over: Value,
    pub(super) item: Option<String>,
    pub(super) body: Vec<ForeignNode>,
    pub(super) is_sequence: bool,
    pub(super) after: Vec<String>,
}

/// The reader of a plan, with the parts of the plan that are no nodes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The fields that have no meaning here.
    pub(super) left_out: Vec<String>,
    /// True if one of the omitted parts may change the effect of the plan.
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
    ) -> Option<Vec<ForeignNode>> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(call) = self.call(value, key) {
            if is_trigger(&call) {
                self.triggers.extend(call.id);
                return Some(Vec::new());
            }
            return Some(vec![ForeignNode::Call(Box::new(call))]);
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

    fn list(&mut self, items: &[Value], depth: usize) -> Option<Vec<ForeignNode>> {
        let mut nodes = Vec::new();
        for item in items {
            match self.nodes(item, None, depth + 1) {
                Some(found) => nodes.extend(found),
                None if is_empty(item) => {}
                None if let Some(output) = final_output(item) => {
                    self.plan.push((Meaning::Output, output));
                }
                None => self.leave_out(&item.to_json(), item),
            }
        }
        self.is_listed |= nodes.len() > 1;
        (!nodes.is_empty()).then_some(nodes)
    }

    /// The nodes of an object that is not a call.
    fn object(
        &mut self,
        fields: &[(&str, &Value)],
        key: Option<&str>,
        depth: usize,
    ) -> Option<Vec<ForeignNode>> {
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
                    then.extend(nodes);
                } else {
                    otherwise.extend(nodes);
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
            return Some(vec![ForeignNode::Branches {
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
                nodes.push(ForeignNode::Group {
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
    ) -> Option<Vec<ForeignNode>> {
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
                Some(Head::Loop(item, list)) => {
                    nodes.push(ForeignNode::Loop(Box::new(ForeignLoop {
                        id: None,
                        over: Value::text(list),
                        item: Some(item.to_owned()),
                        body: found,
                        is_sequence: true,
                        after: Vec::new(),
                    })));
                }
                Some(Head::Condition(condition)) => nodes.push(ForeignNode::Branches {
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

    /// The only call in `inner`, with the fields beside it, as in `{"try": …, "catch": {"retry": …}, "output": {"as": …}}`.
    fn tried(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        depth: usize,
    ) -> Option<ForeignNode> {
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
                    );
                }
                "catch" => {
                    retry = Some(retry_of(value.get("retry").filter(|_| {
                        value.as_object().is_some_and(|fields| fields.len() == 1)
                    })?)?);
                }
                _ => retry = Some(retry_of(value)?),
            }
        }
        let mut nodes = self.nodes(value, None, depth + 1)?;
        let [ForeignNode::Call(call)] = nodes.as_mut_slice() else {
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
    ) -> Option<ForeignNode> {
        // The loop may be a single object.
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
        Some(ForeignNode::Loop(Box::new(ForeignLoop {
            id: id.or_else(|| key.map(str::to_owned)),
            over: list,
            item,
            body: self.nodes(calls, None, depth + 1)?,
            is_sequence,
            after: after.unwrap_or_default(),
        })))
    }

    /// The branches of a list of conditions with their calls, `[{"conditions", "sequence"}]`: the first one that holds counts.
    fn choice(
        &mut self,
        inner: &[(&str, &Value)],
        others: &[(&str, &Value)],
        depth: usize,
    ) -> Option<ForeignNode> {
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
            let then: Vec<ForeignNode> = bodies
                .flat_map(|(_, value)| self.nodes(value, None, depth + 2).unwrap_or_default())
                .collect();
            let node = ForeignNode::Branches {
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
    pub(super) fn call(&mut self, value: &Value, key: Option<&str>) -> Option<ForeignCall> {
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
    ) -> Option<ForeignCall> {
        let mut call = ForeignCall {
            tool,
            ..ForeignCall::default()
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
                // An empty field has no meaning.
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
