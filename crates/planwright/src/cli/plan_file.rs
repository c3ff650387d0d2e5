//! Reads the plan, the plans that it runs by name, and what it is given.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::{CheckContext, CheckedPlan, Library, Limits, Policy, check};
use planwright::core::plan::{Action, Field, Node, NodeKind, Ordering, PlanTarget};
use planwright::core::{Catalog, Code, Diagnostics, Object, Plan, Value};
use planwright::dialects::{ParseResult, ReadOptions, document};
use planwright::wire::{LibraryPlanV1, PlanTextV1};

use super::args::{PlanArguments, TextArguments};
use super::error::CommandError;
use super::stored;

/// A plan as it was read, with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) plan: Option<Plan>,
    /// The plan's name, also once it has become a checked plan.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) dialect: Option<&'static str>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) library: Library,
    pub(crate) given: Object,
    /// The texts by name, for snippets; the plan's own first.
    pub(crate) texts: Vec<(String, String)>,
    policy: Policy,
    has_library: bool,
    reorder: bool,
}

/// A plan's text, read.
#[derive(Debug)]
pub(crate) struct PlanText {
    /// What findings call the text.
    pub(crate) name: String,
    pub(crate) result: ParseResult,
}

/// Reads the plan alone.
pub(crate) fn parse(arguments: &TextArguments) -> Result<PlanText, CommandError> {
    let saved = stored::find(arguments)?;
    let dialect = saved.as_ref().and_then(|plan| plan.dialect.clone());
    let (name, text) = match saved {
        Some(plan) => (stored::called(&plan), plan.text.into_bytes()),
        None => read_text(&arguments.plan, arguments.max_size)?,
    };
    let options = ReadOptions {
        dialect: arguments.dialect.as_deref().or(dialect.as_deref()),
        limits: limits(arguments),
        ..ReadOptions::new(&name)
    };
    let result = planwright::dialects::parse(&text, &options);
    Ok(PlanText { name, result })
}

fn limits(arguments: &TextArguments) -> document::Limits {
    document::Limits {
        bytes: arguments.max_size,
        depth: arguments.max_depth,
        ..document::Limits::default()
    }
}

/// Reads everything that the arguments name.
pub(crate) fn read(arguments: &PlanArguments) -> Result<Reading, CommandError> {
    let PlanText { name, result } = parse(&arguments.text)?;
    let ParseResult {
        mut plan,
        dialect,
        diagnostics,
        source,
    } = result;
    if let (true, Some(plan)) = (arguments.reorder, &mut plan) {
        plan.ordering = Ordering::Dataflow;
    }
    let mut reading = Reading {
        name: plan.as_ref().and_then(|plan| plan.name.clone()),
        plan,
        dialect,
        diagnostics,
        library: Library::new(),
        given: given(arguments)?,
        texts: vec![(name, source.to_string())],
        policy: Policy::new().with_limits(Limits {
            max_steps: arguments.max_steps,
            ..Limits::default()
        }),
        has_library: arguments.library.is_some(),
        reorder: arguments.reorder,
    };
    if let Some(folder) = &arguments.library {
        reading.mention_plans(folder)?;
        reading.read_library(limits(&arguments.text), |name| {
            let path = folder.join(format!("{name}.json"));
            match std::fs::read(&path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(CommandError::unreadable(&path, &error)),
            }
        })?;
    }
    Ok(reading)
}

/// Reads a plan again that was kept, with what it is given.
pub(crate) fn read_kept(kept: &PlanTextV1, given: Object) -> Result<Reading, CommandError> {
    // It was within all limits when it was read for the first time.
    let limits = document::Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
        ..document::Limits::default()
    };
    let options = ReadOptions {
        dialect: Some(&kept.dialect),
        limits,
        ..ReadOptions::new(&kept.source)
    };
    let ParseResult {
        mut plan,
        dialect,
        diagnostics,
        source,
    } = planwright::dialects::parse(kept.text.as_bytes(), &options);
    if let (true, Some(plan)) = (kept.reorder, &mut plan) {
        plan.ordering = Ordering::Dataflow;
    }
    let mut reading = Reading {
        name: plan.as_ref().and_then(|plan| plan.name.clone()),
        plan,
        dialect,
        diagnostics,
        library: Library::new(),
        given,
        texts: vec![(kept.source.clone(), source.to_string())],
        policy: Policy::new().with_limits(Limits {
            max_steps: kept.max_steps,
            ..Limits::default()
        }),
        has_library: !kept.library.is_empty(),
        reorder: kept.reorder,
    };
    reading.read_library(limits, |name| {
        let mut plans = kept.library.iter();
        let found = plans.find(|plan| plan.name == name);
        Ok(found.map(|plan| plan.text.clone().into_bytes()))
    })?;
    Ok(reading)
}

impl Reading {
    /// A native plan of our own that was found sound.
    pub(crate) fn builtin(text: &str) -> Self {
        Self {
            plan: None,
            name: None,
            dialect: Some("native"),
            diagnostics: Diagnostics::new(),
            library: Library::new(),
            given: Object::default(),
            texts: vec![("demo".to_owned(), text.to_owned())],
            policy: Policy::new(),
            has_library: false,
            reorder: false,
        }
    }

    /// What is needed to read it again; nothing for what was not read in any dialect.
    pub(crate) fn kept(&self) -> Option<PlanTextV1> {
        let (own, library) = self.texts.split_first()?;
        Some(PlanTextV1 {
            source: own.0.clone(),
            text: own.1.clone(),
            dialect: self.dialect?.to_owned(),
            reorder: self.reorder,
            max_steps: self.policy.limits.max_steps,
            library: library
                .iter()
                .map(|(name, text)| LibraryPlanV1 {
                    name: name.clone(),
                    text: text.clone(),
                })
                .collect(),
        })
    }

    /// Adds the rules of the configuration.
    pub(crate) fn govern(&mut self, config: &Config) {
        self.policy = config.restrict(std::mem::take(&mut self.policy));
    }

    /// Asks no question about values from outside, for a plan that is only looked at.
    pub(crate) fn release_anything(&mut self) {
        self.policy = std::mem::take(&mut self.policy).release_anything();
    }

    /// Checks the plan against the tools. What was found while reading comes first.
    pub(crate) fn check(&mut self, catalog: &Catalog) -> Option<CheckedPlan> {
        let unreadable = self.diagnostics.has_errors();
        let plan = self.plan.take()?;
        let context = CheckContext::new(catalog)
            .with_library(&self.library)
            .with_policy(&self.policy)
            .with_given(&self.given);
        let (checked, found) = check(plan, &context);
        self.diagnostics.extend(found);
        self.diagnostics.sort();
        if !self.has_library {
            for finding in &mut self.diagnostics {
                if finding.code == Code::UnknownPlan {
                    finding.help = Some("name the folder of plans with `--library DIR`".to_owned());
                }
            }
        }
        checked.filter(|_| !unreadable)
    }

    /// The tools that the plan names, inner plans included.
    pub(crate) fn tool_names(&self) -> BTreeSet<String> {
        let library = self
            .library
            .names()
            .filter_map(|name| self.library.get(name));
        tool_names(self.plan.iter().chain(library.map(AsRef::as_ref)))
    }

    /// Calls arguments without names by their number, for where no tool is known that could name them.
    pub(crate) fn number_arguments(&mut self) {
        for step in self.plan.iter_mut().flat_map(|plan| &mut plan.steps) {
            let mut fields = match std::mem::take(&mut step.args.kind) {
                NodeKind::Object(fields) => fields,
                NodeKind::Literal(Value::Object(fields)) => fields
                    .iter()
                    .map(|(key, value)| Field {
                        key: Arc::clone(key),
                        value: Node::literal(value.clone(), step.args.place),
                    })
                    .collect(),
                _ => Vec::new(),
            };
            let positional = std::mem::take(&mut step.positional).into_iter();
            fields.extend(positional.enumerate().map(|(index, value)| Field {
                key: format!("#{}", index + 1).into(),
                value,
            }));
            step.args = Node::object(fields, step.args.place);
        }
    }

    /// Reads the plans that the plan runs by name, and those that these run.
    fn read_library(
        &mut self,
        limits: document::Limits,
        find: impl Fn(&str) -> Result<Option<Vec<u8>>, CommandError>,
    ) -> Result<(), CommandError> {
        let mut wanted = BTreeSet::new();
        if let Some(plan) = &self.plan {
            collect_plans(plan, &mut wanted);
        }
        let mut seen = BTreeSet::new();
        while let Some(name) = wanted.pop_first() {
            if !seen.insert(name.clone()) || !is_plan_name(&name) {
                continue;
            }
            let Some(text) = find(&name)? else {
                continue;
            };
            let options = ReadOptions {
                dialect: self.dialect,
                limits,
                ..ReadOptions::new(&name)
            };
            // A library may hold plans in several dialects: the shape decides, and where it does not, the caller's.
            let mut result = planwright::dialects::parse(
                &text,
                &ReadOptions {
                    dialect: None,
                    ..options
                },
            );
            if result.dialect.is_none() {
                result = planwright::dialects::parse(&text, &options);
            }
            self.texts.push((name.clone(), result.source.to_string()));
            for mut finding in result.diagnostics {
                finding.source = Some(name.as_str().into());
                self.diagnostics.push(finding);
            }
            match result.plan {
                Some(plan) => {
                    collect_plans(&plan, &mut wanted);
                    self.library.add(name, plan);
                }
                None => self.library.add_unreadable(name),
            }
        }
        Ok(())
    }

    /// Notes which plans there are, so that a misspelt name is told from one that is missing.
    fn mention_plans(&mut self, folder: &Path) -> Result<(), CommandError> {
        let unreadable = |error| CommandError::unreadable(folder, &error);
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let file = PathBuf::from(entry.map_err(unreadable)?.file_name());
            let name = file.file_stem().and_then(|name| name.to_str());
            if let (Some(name), Some("json")) =
                (name, file.extension().and_then(|all| all.to_str()))
                && is_plan_name(name)
            {
                self.library.mention(name);
            }
        }
        Ok(())
    }
}

/// The tools that `plans` name, inner plans included.
pub(crate) fn tool_names<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for plan in plans {
        collect_tools(plan, &mut names);
    }
    names
}

/// Reads a plan's text: a file, or standard input for `-`. One byte more than `most` is enough to refuse it.
fn read_text(path: &Path, most: usize) -> Result<(String, Vec<u8>), CommandError> {
    let enough = (most as u64).saturating_add(1);
    let mut text = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .take(enough)
            .read_to_end(&mut text)
            .map_err(|error| CommandError::unreadable(Path::new("standard input"), &error))?;
        return Ok(("stdin".to_owned(), text));
    }
    std::fs::File::open(path)
        .and_then(|file| file.take(enough).read_to_end(&mut text))
        .map_err(|error| {
            CommandError::unreadable(path, &error)
                .hint("a plan is a JSON file, `-` for standard input, or one that `planwright list` lists")
        })?;
    Ok((path.display().to_string(), text))
}

/// What the plan is given: the file first, then the single values over it.
fn given(arguments: &PlanArguments) -> Result<Object, CommandError> {
    let mut given = Object::default();
    if let Some(path) = &arguments.vars_file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CommandError::unreadable(path, &error))?;
        let value = Value::from_json(&text).map_err(|error| {
            CommandError::new(format!("`{}` is not JSON: {error}", path.display()))
        })?;
        let Value::Object(fields) = value else {
            return Err(CommandError::new(format!(
                "`{}` holds a {}, not an object",
                path.display(),
                value.kind()
            ))
            .hint("write it as {\"NAME\": VALUE, …}"));
        };
        given.extend(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    add_vars(&mut given, &arguments.vars)?;
    Ok(given)
}

/// Adds what `--var` says.
pub(crate) fn add_vars(given: &mut Object, vars: &[String]) -> Result<(), CommandError> {
    for pair in vars {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CommandError::new(format!("`--var {pair}` has no `=`"))
                .hint("write it as --var NAME=VALUE"));
        };
        let name = name.trim();
        if name.is_empty() {
            return Err(CommandError::new(format!("`--var {pair}` has no name"))
                .hint("write it as --var NAME=VALUE"));
        }
        let value = Value::from_json(value).unwrap_or_else(|_| Value::from(value));
        given.insert(name.into(), value);
    }
    Ok(())
}

/// Whether a name can be a plan's: a name is never a path.
fn is_plan_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0', ':'])
}

fn collect_plans(plan: &Plan, names: &mut BTreeSet<String>) {
    for step in &plan.steps {
        if let Action::Plan(call) = &step.action {
            match &call.target {
                PlanTarget::Named(name) => {
                    names.insert(name.text.to_string());
                }
                PlanTarget::Inline(plan) => collect_plans(plan, names),
            }
        }
    }
}

fn collect_tools(plan: &Plan, names: &mut BTreeSet<String>) {
    for step in &plan.steps {
        match &step.action {
            Action::Tool(name) => {
                names.insert(name.text.to_string());
            }
            Action::Plan(call) => {
                if let PlanTarget::Inline(plan) = &call.target {
                    collect_tools(plan, names);
                }
            }
            Action::Value(_) => {}
        }
    }
}
