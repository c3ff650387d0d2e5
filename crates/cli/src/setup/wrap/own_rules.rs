//! Rules that are added to the user's own `planwright.toml`, and removed again.

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

/// The rules that `wrap` added, so that they can be removed again.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct RulesRecord {
    /// The previous content of the file; `None` if there was no file.
    before: Option<String>,
    /// The file after the change. If it is still the same, undoing restores the old file byte for byte.
    after: String,
    /// The added rules: the key below `[tools]`, and the pattern.
    added: Vec<(String, String)>,
}

impl RulesChange {
    /// Returns the change that adds `rules`; `None` if the file has them all.
    pub(crate) fn add_rules(
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
        let mut original = before.clone();
        if let Some(earlier) = parse_record(gateway_files, record_before.as_deref())? {
            original = if before.as_deref() == Some(&*earlier.after) {
                earlier.before
            } else {
                Some(remove(&text, &earlier.added).map_err(explain)?)
            };
            added.splice(..0, earlier.added);
        }
        let record = RulesRecord {
            before: original,
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
    pub(crate) fn remove_rules(gateway_files: &GatewayFiles) -> Result<Option<Self>, CommandError> {
        let record_before = place::read(&gateway_files.rules)?;
        let Some(record) = parse_record(gateway_files, record_before.as_deref())? else {
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

    /// Writes the file and its record.
    pub(crate) fn write(&self) -> Result<(), CommandError> {
        // The record is written first: unrecorded rules could not be removed.
        if self.record.is_some() {
            write_or_remove(&self.record_file, self.record.as_deref())?;
        }
        // An existing file may have been changed by another program in the meantime.
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => place::replace_client(&self.file, before, after)?,
            (_, after) => write_or_remove(&self.file, after.as_deref())?,
        }
        // Removed last, so that an interrupted removal can be repeated.
        if self.record.is_none() {
            write_or_remove(&self.record_file, None)?;
        }
        Ok(())
    }

    /// Restores the file and its record.
    pub(crate) fn revert(&self) -> Result<(), CommandError> {
        write_or_remove(&self.file, self.before.as_deref())?;
        write_or_remove(&self.record_file, self.record_before.as_deref())
    }
}

fn write_or_remove(file: &std::path::Path, text: Option<&str>) -> Result<(), CommandError> {
    match text {
        Some(text) => place::write_private(file, text),
        None => place::remove(file),
    }
}

fn parse_record(
    gateway_files: &GatewayFiles,
    record: Option<&str>,
) -> Result<Option<RulesRecord>, CommandError> {
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
    .hint("fix it, then try again: nothing was changed")
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
        // The new entry gets the line break and indentation of the previous one.
        let last = list.iter().last().map(Value::decor);
        let whitespace = last.and_then(|decor| decor.prefix()?.as_str());
        let whitespace =
            whitespace.filter(|whitespace| !list.is_empty() && whitespace.trim().is_empty());
        let whitespace = whitespace
            .filter(|whitespace| whitespace.contains('\n'))
            .map(str::to_owned);
        list.push(rule.pattern.as_str());
        let new = list.len().saturating_sub(1);
        if let (Some(whitespace), Some(new)) = (whitespace, list.get_mut(new)) {
            new.decor_mut().set_prefix(whitespace);
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
        // The new first member gets the whitespace of the old one.
        if let (Some(decor), Some(now_first)) = (first, list.get_mut(0))
            && let Some(whitespace) = decor.prefix().and_then(RawString::as_str)
            && whitespace.trim().is_empty()
        {
            now_first.decor_mut().set_prefix(whitespace);
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
        .ok_or("its `tools` is not a table")?;
    tools
        .entry(key)
        .or_insert_with(|| toml_edit::value(Array::new()))
        .as_array_mut()
        .ok_or_else(|| format!("its `tools.{key}` is not a list"))
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
    fn added_rules_can_be_removed_without_other_changes() {
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
    fn a_file_of_another_form_is_rejected() {
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
