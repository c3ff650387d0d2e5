//! Expressions of other systems in markers: operators, and the filters of templates.

use std::borrow::Cow;

use super::markers::{OUTPUT_CALLS, ReferenceNames};
use super::paths::{path_length, split_name};
use crate::native::{Language, expression_in, form_in};

/// The certainty of the meaning of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    /// The marker has a reference and more, which has no counterpart.
    Partial,
    /// The marker may be plain text.
    Doubtful,
}

impl ReferenceNames<'_> {
    /// The native expression for one of another system, if it names a step or an input, and the certainty of that.
    pub(super) fn expression(&self, written: &str) -> Option<(String, Certainty)> {
        let written = &*without_pulls(written);
        let signs = |c: char| c.is_whitespace() || "-~#{}.=$@(!".contains(c);
        if let Some(meaning) = self.output_call(written) {
            return Some((meaning, Certainty::Certain));
        }
        if let Some(meaning) = self.of_nodes(written) {
            return Some((meaning, Certainty::Certain));
        }
        // The output of a node of n8n: `$('a').item.json.x`, `$('a').first().json.x`
        let node = written.trim().strip_prefix("$('");
        let node = node
            .and_then(|node| node.split_once("')"))
            .and_then(|(name, rest)| {
                let items = [".item.json", ".first().json", ".last().json"];
                let fields = items.iter().find_map(|item| rest.strip_prefix(item))?;
                (path_length(fields) == fields.len()).then(|| format!("{name}{fields}"))
            });
        if let Some(meaning) = node.and_then(|path| self.path(&path)) {
            return Some((meaning, Certainty::Certain));
        }
        if let Some(meaning) = self.time(written) {
            return Some((meaning, Certainty::Certain));
        }
        let trimmed = written.trim_matches(signs);
        if !has_operator(trimmed)
            && let Some(meaning) = self.path(trimmed)
        {
            // `a.length`, `a.[0]`
            let form = form_in(&meaning).filter(|_| !meaning.contains(['"', '\'']));
            return Some((form.unwrap_or(meaning), Certainty::Certain));
        }
        let has_sign = written.contains(['=', '<', '>', '&', '|', '+', '?', '.', '[']);
        if let Some(meaning) = self
            .operation(written)
            .filter(|meaning| has_sign || meaning.contains('('))
        {
            return Some((meaning, Certainty::Certain));
        }
        let mut found = self.paths(written, true).next();
        if found.is_none() {
            found = self.paths(written, false).next();
        }
        let (_, path, meaning) = found?;
        let certainty = if has_sign && has_operator(trimmed) {
            Certainty::Partial
        } else if path.contains(['.', '[']) {
            Certainty::Certain
        } else {
            Certainty::Doubtful
        };
        Some((meaning, certainty))
    }

    /// The native expression for one of n8n, whose outputs are `$('a').item.json`, `$node["a"].json` and `$json`; `None` if it has none of
    /// them, or a part without a counterpart.
    fn of_nodes(&self, written: &str) -> Option<String> {
        let mut expression = String::new();
        let mut rest = written.trim();
        let mut is_found = false;
        while let Some(at) = rest.find('$').filter(|_| self.is_native()) {
            let (before, after) = rest.split_at(at);
            let (output, length) = self.output_of_node(after)?;
            expression.extend([before, &*output]);
            rest = &after[length..];
            is_found = true;
        }
        expression.push_str(rest);
        is_found
            .then(|| form_in(&expression).or_else(|| expression_in(&expression, Language::Value)))?
    }

    /// The path of the output of a node of n8n at the start of `text`, with its length there.
    fn output_of_node(&self, text: &str) -> Option<(String, usize)> {
        let of_previous = [
            "$json",
            "$input.item.json",
            "$input.first().json",
            "$input.last().json",
        ];
        let root = of_previous.iter().find(|root| {
            let after = text.strip_prefix(**root);
            after.is_some_and(|after| !after.starts_with(|sign: char| sign.is_alphanumeric()))
        });
        if let Some(root) = root {
            return Some((self.previous_path()?.to_owned(), root.len()));
        }
        let (open, close) = [
            ("$('", "')"),
            ("$(\"", "\")"),
            ("$node['", "']"),
            ("$node[\"", "\"]"),
        ]
        .into_iter()
        .find(|(open, _)| text.starts_with(open))?;
        let (name, after) = text.strip_prefix(open)?.split_once(close)?;
        let fields = [".item.json", ".first().json", ".last().json", ".json"];
        let field = fields.iter().find(|field| after.starts_with(**field))?;
        let length = text.len() - after.len() + field.len();
        Some((self.path(name)?, length))
    }

    /// The path in this dialect of `body('a')?['field']`, the output of a step of Logic Apps.
    pub(super) fn output_call(&self, written: &str) -> Option<String> {
        let single = written.trim().replace('"', "'");
        let mut calls = OUTPUT_CALLS.iter();
        let (name, rest) = calls.find_map(|call| single.strip_prefix(call)?.split_once("')"))?;
        self.path(&format!("{name}{}", rest.replace('?', "")))
    }

    /// The paths in an expression of another system, with the bytes at which they begin and their meanings; without those in texts
    /// if it `skips_texts`.
    fn paths<'w>(
        &self,
        written: &'w str,
        skips_texts: bool,
    ) -> impl Iterator<Item = (usize, &'w str, String)> {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut before = ' ';
        let mut end = 0;
        let mut quote = None;
        written.char_indices().filter_map(move |(at, sign)| {
            let begins = is_of_name(sign) && !is_of_name(before) && !".-".contains(before);
            before = sign;
            if at < end {
                return None;
            }
            match quote {
                Some(open) if sign == open => quote = None,
                None if matches!(sign, '"' | '\'') => quote = Some(sign),
                Some(_) | None => {}
            }
            if !begins || (skips_texts && quote.is_some()) {
                return None;
            }
            let rest = &written[at..];
            let is_of_path = |c: char| is_of_name(c) || "-.[]'\"".contains(c);
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            let path = rest[..length].trim_end_matches(['.', '-', '\'', '"']);
            let path = if path.matches('[').count() < path.matches(']').count() {
                path.trim_end_matches(']')
            } else {
                path
            };
            // `json x` of Handlebars is a call.
            if path == "json" && rest[path.len()..].starts_with(' ') {
                return None;
            }
            let meaning = self.path(path)?;
            end = at + path.len();
            Some((at, path, meaning))
        })
    }

    /// The native expression for one with operators or filters, `a.x != b.y` or `a | join(', ')`; `None` if a part of it has no
    /// counterpart.
    fn operation(&self, written: &str) -> Option<String> {
        let expression = |is_quoted: bool| {
            let mut expression = String::new();
            let mut rest = 0;
            for (at, path, meaning) in self.paths(written, true) {
                expression.push_str(written.get(rest..at)?);
                // An id such as `new` is a word of the language.
                let (name, behind) = split_name(&meaning);
                if is_quoted && self.steps.contains_key(name) && !name.contains('\'') {
                    expression.extend(["steps['", name, "']", behind]);
                } else {
                    expression.push_str(&meaning);
                }
                rest = at + path.len();
            }
            expression.push_str(written.get(rest..)?);
            form_in(&expression)
                .or_else(|| expression_in(&expression, Language::Value))
                .or_else(|| expression_in(&expression, Language::Condition))
                .or_else(|| expression_in(&expression, Language::Own))
        };
        self.paths(written, true).next()?;
        expression(false).or_else(|| expression(true))
    }
}

/// `written` with the name of the task in place of each `ti.xcom_pull(task_ids='a')`, the output of a task of Airflow.
fn without_pulls(written: &str) -> Cow<'_, str> {
    const PULL: &str = "xcom_pull(";
    let mut found = Cow::from(written);
    while let Some(at) = found.find(PULL) {
        let inside = at + PULL.len();
        let Some((name, end)) = found[inside..].find(')').and_then(|length| {
            let mut arguments = found[inside..inside + length].split(',').map(str::trim);
            let name = arguments.next()?;
            let name = name
                .trim_start_matches("task_ids")
                .trim_start_matches([' ', '=']);
            let name = name.trim_matches(['\'', '"', '[', ']']);
            // Another key is another value of the task.
            let is_output = arguments.all(|other| {
                let (key, value) = other.split_once('=').unwrap_or(("key", other));
                let value = value.trim().trim_matches(['\'', '"']);
                key.trim() == "key" && value == "return_value"
            });
            let is_name = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
            let is_named = !name.is_empty() && name.chars().all(is_name) && is_output;
            is_named.then(|| (name.to_owned(), inside + length + 1))
        }) else {
            break;
        };
        let holders = ["ti.", "task_instance."];
        let holder = holders
            .iter()
            .find(|holder| found[..at].ends_with(**holder));
        let start = at - holder.map_or(0, |holder| holder.len());
        found.to_mut().replace_range(start..end, &name);
    }
    found
}

/// Returns true if an expression of another system is more than a path.
pub(super) fn has_operator(written: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for sign in written.trim().chars() {
        match quote {
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            None if matches!(
                sign,
                '=' | '<' | '>' | '!' | '+' | '*' | '/' | '&' | '|' | '~' | '?'
            ) =>
            {
                return true;
            }
            None if sign == ' ' && before != ' ' => return true,
            Some(_) | None => {}
        }
        before = sign;
    }
    false
}
