//! Gets what a plan is given from outside: variables of the environment, secrets.

use std::path::Path;

use planwright::config::{Config, Place};
use planwright::core::check::CheckedPlan;
use planwright::engine::SecretValues;
use planwright::engine::run::MIN_SECRET_BYTES;

use crate::environment;
use crate::error::{CommandError, reason};

/// All that the plan reads from outside. What is not there is said at once, before anything is called.
pub(crate) fn get(plan: &CheckedPlan, config: &Config) -> Result<SecretValues, CommandError> {
    let mut found = SecretValues::new();
    let mut faults = Vec::new();
    for (what, name) in plan.outside() {
        let text = config
            .place_of(what, &name)
            .ok_or_else(|| "nothing says where it is".to_owned())
            .and_then(|place| read(&place));
        match text {
            Ok(text) => found = found.with(what, name, text),
            Err(fault) => faults.push(format!("`{what}.{name}`: {fault}")),
        }
    }
    if faults.is_empty() {
        return Ok(found);
    }
    let error = CommandError::new("the plan cannot be given what it needs from outside");
    Err(faults.into_iter().fold(error, CommandError::hint))
}

/// All that plans may read from outside, as far as it is there: for a plan that is not there yet.
pub(crate) fn all(config: &Config) -> SecretValues {
    let mut found = SecretValues::new();
    for (what, name) in config.given_out() {
        let text = config.place_of(what, &name).map(|place| read(&place));
        if let Some(Ok(text)) = text {
            found = found.with(what, name, text);
        }
    }
    found
}

/// The text at a place; one clause where it is not there.
pub(crate) fn read(place: &Place) -> Result<String, String> {
    let (text, place) = match place {
        Place::Variable(name) => {
            let place = format!("the variable `{name}`");
            let text =
                environment::variable(name).ok_or_else(|| format!("{place} is not set to text"))?;
            (text, place)
        }
        Place::File(path) => {
            let path = match environment::settings_folder() {
                Some(folder) => folder.join(&**path),
                None => Path::new(&**path).to_owned(),
            };
            let place = format!("the file `{}`", path.display());
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {place}: {}", reason(&error)))?;
            (without_line_break(text), place)
        }
    };
    if text.len() < MIN_SECRET_BYTES {
        return Err(format!(
            "{place} holds fewer than {MIN_SECRET_BYTES} bytes, too few to be distinguished from other text and redacted"
        ));
    }
    Ok(text)
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}
