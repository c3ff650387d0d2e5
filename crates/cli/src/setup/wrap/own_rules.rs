//! Rules that are added to the user's own `planwright.toml`, and taken out of it again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml_edit::{Array, DocumentMut, Item, RawString, TableLike, Value};

use super::place::{self, GatewayFiles};
use super::rules::ClientRule;
use crate::error::CommandError;

/// A change of the user's file that is not written yet.
#[derive(Clone, Debug)]
pub(crate) struct RulesChange {
    pub(crate) file: PathBuf,
    /// The present content of the file; `None` if it does not exist.
    pub(crate) before: Option<String>,
    /// The new content; `None` if the file is deleted.
    pub(crate) after: Option<String>,
    record_file: PathBuf,
    record_before: Option<String>,
    record: Option<String>,
}

/// The rules that were added for one list of servers, to take them back.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Record {
    /// The file before; `None` if there was none.
    before: Option<String>,
    /// The file after the change. If it is still the same, undoing restores the old file byte for byte.
    after: String,
    /// The added rules: the key below `[tools]`, and the pattern.
    added: Vec<(String, String)>,
}

impl RulesChange {
    /// Returns the change that adds `rules`; `None` if the file has them all.
    pub(crate) fn adding(
        gateway_files: &GatewayFiles,
        rules: &[&ClientRule],
    ) -> Result<Option<Self>, CommandError> {
        let before = place::read(&gateway_files.settings)?;
        let record_before = place::read(&gateway_files.rules)?;
        let text = before.clone().unwrap_or_default();
        let explain = |message| unusable(gateway_files, message);
        let (after, mut added) = add(&text, rules).map_err(explain)?;
        if added.is_empty() {
            return Ok(None);
        }
        let mut as_it_was = before.clone();
        if let Some(earlier) = read(gateway_files, record_before.as_deref())? {
            as_it_was = if before.as_deref() == Some(&*earlier.after) {
                earlier.before
            } else {
                Some(remove(&text, &earlier.added).map_err(explain)?)
            };
            added.splice(..0, earlier.added);
        }
        let record = Record {
            before: as_it_was,
            after: after.clone(),
            added,
        };
        let record = serde_json::to_string(&record);
        let record = record.map_err(|error| CommandError::new(error.to_string()))?;
        Ok(Some(Self {
            file: gateway_files.settings.clone(),
            before,
            after: Some(after),
            record_file: gateway_files.rules.clone(),
            record_before,
            record: Some(record),
        }))
    }

    /// Returns the change that removes the added rules; `None` if there are none.
    pub(crate) fn undoing(gateway_files: &GatewayFiles) -> Result<Option<Self>, CommandError> {
        let record_before = place::read(&gateway_files.rules)?;
        let Some(record) = read(gateway_files, record_before.as_deref())? else {
            return Ok(None);
        };
        let before = place::read(&gateway_files.settings)?;
        let after = match &before {
            Some(text) if *text != record.after => {
                let rest = remove(text, &record.added);
                Some(rest.map_err(|message| unusable(gateway_files, message))?)
            }
            Some(_) => record.before,
            None => None,
        };
        Ok(Some(Self {
            file: gateway_files.settings.clone(),
            before,
            after,
            record_file: gateway_files.rules.clone(),
            record_before,
            record: None,
        }))
    }

    /// Makes it.
    pub(crate) fn write(&self) -> Result<(), CommandError> {
        // The record is written first: unrecorded rules could not be removed.
        if self.record.is_some() {
            put(&self.record_file, self.record.as_deref())?;
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => place::replace_client(&self.file, before, after)?,
            (_, after) => put(&self.file, after.as_deref())?,
        }
        if self.record.is_none() {
            put(&self.record_file, None)?;
        }
        Ok(())
    }

    /// Makes it undone.
    pub(crate) fn revert(&self) -> Result<(), CommandError> {
        put(&self.file, self.before.as_deref())?;
        put(&self.record_file, self.record_before.as_deref())
    }
}

fn put(file: &std::path::Path, text: Option<&str>) -> Result<(), CommandError> {
    match text {
        Some(text) => place::write_private(file, text),
        None => place::remove(file),
    }
}

fn read(
    gateway_files: &GatewayFiles,
    record: Option<&str>,
) -> Result<Option<Record>, CommandError> {
    let record = record.map(serde_json::from_str).transpose();
    record.map_err(|error| {
        CommandError::new(format!(
            "`{}` cannot be read: {error}",
            gateway_files.rules.display()
        ))
        .hint("remove it: the rules that it lists then stay in your planwright.toml")
    })
}

fn unusable(gateway_files: &GatewayFiles, message: String) -> CommandError {
    CommandError::new(format!(
        "`{}` cannot be changed: {message}",
        gateway_files.settings.display()
    ))
    .hint("mend it, then try again: nothing was changed")
}

/// Returns the text with the rules, and the rules that were missing.
fn add(text: &str, rules: &[&ClientRule]) -> Result<(String, Vec<(String, String)>), String> {
    let mut document = parse(text)?;
    let mut added = Vec::new();
    for rule in rules {
        let list = array(&mut document, rule.list.key())?;
        if list
            .iter()
            .any(|known| known.as_str() == Some(&*rule.pattern))
        {
            continue;
        }
        // Formatted like the previous one, perhaps on a separate line.
        let last = list.iter().last().map(Value::decor);
        let blanks = last.and_then(|decor| decor.prefix()?.as_str());
        let blanks = blanks.filter(|blanks| !list.is_empty() && blanks.trim().is_empty());
        let blanks = blanks
            .filter(|blanks| blanks.contains('\n'))
            .map(str::to_owned);
        list.push(rule.pattern.as_str());
        let new = list.len().saturating_sub(1);
        if let (Some(blanks), Some(new)) = (blanks, list.get_mut(new)) {
            new.decor_mut().set_prefix(blanks);
        }
        added.push((rule.list.key().to_owned(), rule.pattern.clone()));
    }
    Ok((document.to_string(), added))
}

/// The text without the rules.
fn remove(text: &str, rules: &[(String, String)]) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(tools) = document.get_mut("tools").and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    for (key, pattern) in rules {
        let Some(list) = tools.get_mut(key).and_then(Item::as_array_mut) else {
            continue;
        };
        let first = list.iter().next().map(|first| first.decor().clone());
        list.retain(|known| known.as_str() != Some(pattern));
        // The new first member takes the blanks of the old one.
        if let (Some(decor), Some(now_first)) = (first, list.get_mut(0))
            && let Some(blanks) = decor.prefix().and_then(RawString::as_str)
            && blanks.trim().is_empty()
        {
            now_first.decor_mut().set_prefix(blanks);
        }
        if list.is_empty() {
            tools.remove(key);
        }
    }
    if tools.is_empty() {
        document.remove("tools");
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>()
        .map_err(|error| format!("it is not TOML: {}", error.message()))
}

/// Returns the list below `[tools]`; creates it if there is none.
fn array<'d>(document: &'d mut DocumentMut, key: &str) -> Result<&'d mut Array, String> {
    let tools: &mut dyn TableLike = document
        .entry("tools")
        .or_insert_with(toml_edit::table)
        .as_table_like_mut()
        .ok_or("its `tools` is no table")?;
    tools
        .entry(key)
        .or_insert_with(|| toml_edit::value(Array::new()))
        .as_array_mut()
        .ok_or_else(|| format!("its `tools.{key}` is no list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::wrap::rules::RuleList;

    #[track_caller]
    fn check(text: &str, expected: &str, without: &str) {
        let rule = |list, pattern: &str| ClientRule {
            list,
            pattern: pattern.to_owned(),
            written: String::new(),
            file: String::new(),
            is_own: true,
        };
        let rules = [
            rule(RuleList::NoAsk, "git.status"),
            rule(RuleList::Deny, "git.push"),
        ];
        let (with, added) = add(text, &rules.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(with, expected);
        assert_eq!(remove(&with, &added).unwrap(), without);
    }

    #[test]
    fn rules_come_and_go_and_all_else_stays() {
        check(
            "",
            "[tools]\nno_ask = [\"git.status\"]\ndeny = [\"git.push\"]\n",
            "",
        );
        let mine = "# Mine.\n[limits]\ncalls = 3 # a few\n";
        let with = format!("{mine}\n[tools]\nno_ask = [\"git.status\"]\ndeny = [\"git.push\"]\n");
        check(mine, &with, mine);
        check(
            "[tools]\n# Those.\nno_ask = [\n  \"a.b\", # one\n  \"git.status\",\n]\ndeny = [\n  \"c\",\n]\n",
            "[tools]\n# Those.\nno_ask = [\n  \"a.b\", # one\n  \"git.status\",\n]\ndeny = [\n  \"c\",\n  \"git.push\",\n]\n",
            "[tools]\n# Those.\nno_ask = [\n  \"a.b\", # one\n  \"git.status\",\n]\ndeny = [\n  \"c\",\n]\n",
        );
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        let rule = ClientRule {
            list: RuleList::Ask,
            pattern: "git.push".to_owned(),
            written: String::new(),
            file: String::new(),
            is_own: true,
        };
        for text in ["tools = 1", "[tools]\nask = \"x\"", "[tools"] {
            assert!(add(text, &[&rule]).is_err(), "{text}");
        }
    }
}
