//! The context of a request to a model: the time, the date phrases, the memory and the state schema; and `planwright dates PHRASE`.

use std::path::Path;

use planwright::config::{Config, FiscalYearNumber};
use planwright::core::Value;
use planwright::dialects::native::PlanDialect;
use planwright::planner::dates::{Calendar, FiscalCalendar, Now, TimeError, Zone, find, resolve};
use planwright::planner::prompt::{Memory, TimeContext, TimePhrase};
use serde::Serialize;

use crate::args::{DatesArguments, Format, PlanningArguments, RunFormat, TimeArguments};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::{environment, text_file};
use crate::view::output;
use crate::view::printer::Printer;

/// The document of `--format json`: the first day and the last day.
#[derive(Serialize)]
struct Dates {
    from: String,
    to: String,
}

pub(crate) fn dates(arguments: &DatesArguments, printer: Printer) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let now = now(&arguments.moment, &config)?;
    let range = resolve(&arguments.phrase.join(" "), &now)
        .map_err(|error| CommandError::new(error.to_string()).hint(error.help()))?;
    match arguments.format {
        Format::Text => {
            let days = match range.days() {
                1 => "1 day".to_owned(),
                days => format!("{days} days"),
            };
            printer.data_line(&format!("{range} ({days})"));
        }
        Format::Json => {
            let dates = Dates {
                from: range.from.to_string(),
                to: range.to.to_string(),
            };
            output::json(&dates, RunFormat::Json, printer)?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the time to which date phrases are relative.
pub(crate) fn now(arguments: &TimeArguments, config: &Config) -> Result<Now, CommandError> {
    let zone = zone(arguments)?;
    let now = match &arguments.now {
        Some(text) => Now::parse(text, &zone),
        None => Now::at(store::since_1970(), &zone),
    };
    let now = now.map_err(refused)?;
    Ok(now.with_calendar(calendar(config)))
}

/// Returns the first day of the week and the fiscal year of the configuration.
pub(crate) fn calendar(config: &Config) -> Calendar {
    let dates = config.dates();
    let mut calendar = Calendar::default();
    if let Some(number) = dates.first_weekday {
        calendar = calendar.with_first_weekday(number);
    }
    let is_named_by_start = dates.fiscal_year_number == FiscalYearNumber::Start;
    let fiscal_year = dates
        .fiscal_month
        .and_then(|month| FiscalCalendar::new(month, is_named_by_start));
    match fiscal_year {
        Some(fiscal_year) => calendar.with_fiscal_year(fiscal_year),
        None => calendar,
    }
}

/// Returns the time zone that dates are in.
pub(crate) fn zone(arguments: &TimeArguments) -> Result<Zone, CommandError> {
    match &arguments.tz {
        Some(name) => Zone::named(name).map_err(refused),
        None => environment::zone(),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "errors are handed over where they are mapped"
)]
fn refused(error: TimeError) -> CommandError {
    CommandError::new(error.to_string())
}

/// The hint about a file that is not JSON Schema.
pub(crate) const SCHEMA_FORM: &str =
    "write it as a JSON Schema: {\"type\": \"object\", \"properties\": {NAME: {…}}}";

/// The context of a goal: the files and settings that the arguments name.
#[derive(Debug)]
pub(crate) struct PlanningFacts {
    pub(super) now: Now,
    pub(super) memory: Option<Memory>,
    pub(super) state: Option<Value>,
    pub(super) dialect: Option<PlanDialect>,
}

impl PlanningFacts {
    /// The JSON Schema of the state to fill.
    pub(crate) fn state(&self) -> Option<&Value> {
        self.state.as_ref()
    }

    /// Reads the files that the arguments name.
    pub(crate) fn read(
        arguments: &PlanningArguments,
        config: &Config,
    ) -> Result<Self, CommandError> {
        let memory = match &arguments.context {
            Some(path) => {
                let form = "write it as {\"semantic\": [{\"text\", \"score\"}], \"episodic\": [{\"query\"}], \"entities\": [\"kind:name\"]}";
                let value = text_file::json(path, form)?;
                Some(Memory::read(&value).map_err(|error| {
                    CommandError::new(format!("`{}` cannot be used: {error}", path.display()))
                        .hint(form)
                })?)
            }
            None => None,
        };
        let state = arguments.state.as_deref();
        let state = state.map(|path| text_file::json(path, SCHEMA_FORM));
        let state = state.transpose()?;
        if let (Some(state), Some(path)) = (&state, &arguments.state)
            && state.get("properties").and_then(Value::as_object).is_none()
        {
            return Err(
                CommandError::new(format!("`{}` describes no state", path.display()))
                    .hint(SCHEMA_FORM),
            );
        }
        Ok(Self {
            now: now(&arguments.moment, config)?,
            memory,
            state,
            dialect: arguments.plan_dialect,
        })
    }
}

impl PlanningFacts {
    /// Returns the current day, and the meanings of the date phrases in `text`.
    pub(crate) fn day(&self, text: &str) -> PlanningDay {
        PlanningDay::of(text, &self.now, &self.now)
    }

    /// Prints a warning for each date phrase that cannot be resolved, so the model interprets it.
    pub(crate) fn mention_unclear_times(&self, goal: &str, printer: Printer) {
        for mention in find(goal, &self.now) {
            if let Err(error) = mention.meaning {
                printer.quote(&format!("warning: {error}; {}", error.help()));
            }
        }
    }
}

/// The current date and the resolved date phrases of a question, for the prompt of a model.
#[derive(Clone, Debug)]
pub(crate) struct PlanningDay {
    today: String,
    times: Vec<TimePhrase>,
}

impl PlanningDay {
    /// Creates the day of `now` with the date phrases of `text`, which are relative to `asked`, the moment at which it was written.
    pub(crate) fn of(text: &str, asked: &Now, now: &Now) -> Self {
        Self {
            today: now.to_string(),
            times: TimePhrase::all(text, asked),
        }
    }

    pub(crate) fn moment(&self) -> TimeContext<'_> {
        TimeContext {
            today: &self.today,
            times: &self.times,
        }
    }
}
