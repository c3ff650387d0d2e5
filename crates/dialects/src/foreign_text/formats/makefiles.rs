//! Makefiles: a target is a step that waits for its prerequisites.

use std::collections::HashMap;

use planwright_core::Value;

use super::{Draft, plan_of, shell};

/// Words before a colon that open a block of a program.
const BLOCKS: [&str; 5] = ["try", "except", "else", "finally", "default"];

/// The plan in a makefile.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut targets: Vec<Target> = Vec::new();
    let mut constants: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with(".PHONY") {
            continue;
        }
        if line.starts_with(['\t', ' ']) {
            let target = targets.last_mut()?;
            target.commands.push(trimmed.trim_start_matches(['@', '-']));
            continue;
        }
        let assignment = [":=", "?=", "="]
            .iter()
            .find_map(|sign| line.split_once(sign));
        if let Some((name, value)) = assignment.filter(|(name, _)| is_name(name.trim())) {
            constants.insert(name.trim().to_owned(), value.trim().to_owned());
            continue;
        }
        let (name, needs) = line.split_once(':')?;
        let needs: Vec<&str> = needs.split_whitespace().collect();
        let is_rule = is_name(name.trim())
            && !BLOCKS.contains(&name.trim())
            && needs.iter().all(|need| is_name(need));
        is_rule.then_some(())?;
        targets.push(Target {
            name: name.trim(),
            needs,
            commands: Vec::new(),
        });
    }
    // A rule has a recipe; other texts have lines with a colon as well.
    targets
        .iter()
        .any(|target| !target.commands.is_empty())
        .then_some(())?;
    let mut drafts = Vec::new();
    for target in &targets {
        let command = match target.commands.as_slice() {
            [] => continue,
            [command] => *command,
            _ => return None,
        };
        let mut command = command.to_owned();
        for (name, value) in &constants {
            command = command.replace(&format!("$({name})"), value);
        }
        drafts.push(Draft {
            id: target.name.to_owned(),
            fields: shell::call(&command)?,
            after: before(&targets, target, 0)?,
        });
    }
    plan_of(drafts)
}

struct Target<'t> {
    name: &'t str,
    needs: Vec<&'t str>,
    commands: Vec<&'t str>,
}

/// The steps that `target` waits for; a target without a recipe is replaced by its prerequisites.
fn before(targets: &[Target<'_>], target: &Target<'_>, depth: usize) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for need in &target.needs {
        let inner = targets.iter().find(|target| target.name == *need)?;
        match inner.commands.is_empty() {
            true if depth < 8 => found.extend(before(targets, inner, depth + 1)?),
            true => return None,
            false => found.push((*need).to_owned()),
        }
    }
    Some(found)
}

fn is_name(text: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
    text.starts_with(|sign: char| sign.is_alphabetic() || sign == '_') && text.chars().all(is_part)
}
