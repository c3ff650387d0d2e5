//! A plan and what it is checked against, as golden cases and pages write it, looked at through the library.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planwright::core::check::{CheckContext, CheckedPlan, Library, Limits, Policy, Release, check};
use planwright::core::flow::{FlowPattern, FlowPolicy, FlowRule};
use planwright::core::plan::ExternalValue;
use planwright::core::plan::{Action, PlanTarget};
use planwright::core::{
    Catalog, Code, Diagnostic, Diagnostics, Object, Plan, SeenAnswers, Tool, Value,
};
use planwright::dialects::{ParseResult, ReadOptions, dialect, document, parse};
use planwright::engine::Engine;
use planwright::engine::backend::Simulated;
use tokio::runtime;

/// The name of the plan in the texts of its diagnostics.
const NAME: &str = "plan";

/// A plan's text, and what it is checked against.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) text: Vec<u8>,
    /// The dialect; recognised by the shape where there is none.
    pub(crate) dialect: Option<String>,
    /// True if the plan is run as well, over the simulated tools.
    pub(crate) runs: bool,
    /// The dialect that the plan is printed in as well.
    pub(crate) printed_in: Option<String>,
    /// The `tools` of a script; every tool that the plans name where there is none.
    pub(crate) tools: Option<Value>,
    /// The plans of the library, by name.
    pub(crate) library: Object,
    /// The values that the run is given, by name.
    pub(crate) inputs: Object,
    /// `denied`, `allowed`, and bounds on text and plan, by name.
    pub(crate) policy: Object,
}

/// The diagnostics of a plan.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// The findings, in the order in which users see them.
    pub(crate) findings: Diagnostics,
    /// The texts that they point into, by name.
    texts: BTreeMap<String, String>,
}

impl Subject {
    /// Reads, checks and, where it is to be printed, prints the plan.
    pub(crate) fn inspect(&self) -> Inspection {
        let read = self.read(NAME, &self.text, self.dialect.as_deref());
        let mut texts = BTreeMap::from([(NAME.to_owned(), read.source.to_string())]);
        let mut findings = read.diagnostics;
        let mut library = Library::new();
        for (name, plan) in &self.library {
            let mut inner = self.read(name, plan.to_json().as_bytes(), None);
            if inner.dialect.is_none() {
                inner = self.read(name, plan.to_json().as_bytes(), read.dialect);
            }
            texts.insert(name.to_string(), inner.source.to_string());
            for mut finding in inner.diagnostics {
                finding.source = Some(name.clone());
                findings.push(finding);
            }
            if let Some(plan) = inner.plan {
                library.add(name.clone(), plan);
            }
        }
        if let Some(plan) = read.plan {
            if let Some(name) = &self.printed_in {
                findings.extend(dialect(name).unwrap().print(&plan).1);
            }
            let catalog = self.catalog(&plan, &library);
            let policy = self.policy();
            let context = CheckContext::new(&catalog)
                .with_library(&library)
                .with_policy(&policy)
                .with_inputs(&self.inputs);
            let (checked, found) = check(plan, &context);
            findings.extend(found);
            if self.runs {
                findings.extend(self.run(checked.unwrap()));
            }
        }
        findings.sort();
        Inspection { findings, texts }
    }

    fn read(&self, name: &str, text: &[u8], dialect: Option<&str>) -> ParseResult {
        let bound = |name: &str, default: usize| self.bound(name).unwrap_or(default);
        let default = document::ReadLimits::default();
        let options = ReadOptions {
            dialect,
            limits: document::ReadLimits {
                bytes: bound("max_bytes", default.bytes),
                depth: bound("max_nesting", default.depth),
                ..default
            },
            ..ReadOptions::new(name)
        };
        parse(text, &options)
    }

    fn catalog(&self, plan: &Plan, library: &Library) -> Catalog {
        let Some(tools) = &self.tools else {
            let mut names = BTreeSet::new();
            let named = library.names().filter_map(|name| library.get(name));
            for plan in named.map(AsRef::as_ref).chain([plan]) {
                collect_tools(plan, &mut names);
            }
            return names
                .iter()
                .map(|name| match name.split_once('.') {
                    Some((server, tool)) => Tool::new(server, tool),
                    None => Tool::new("tools", name.as_str()),
                })
                .collect();
        };
        let with_answers = |tool: &Tool| {
            let answers = tools.get(&tool.name).and_then(|tool| tool.get("seen"));
            let mut tool = tool.clone();
            tool.seen = answers.map(|answers| {
                let mut seen = SeenAnswers::default();
                for answer in answers.as_list().unwrap() {
                    seen.add(answer);
                }
                Arc::new(seen)
            });
            tool
        };
        simulated(tools).tools().map(with_answers).collect()
    }

    /// The notifications about the plan while it runs.
    fn run(&self, plan: CheckedPlan) -> Diagnostics {
        let backend = simulated(self.tools.as_ref().unwrap());
        let engine = Engine::new(backend);
        let runtime = runtime::Builder::new_current_thread().enable_time().build();
        let summary = runtime
            .unwrap()
            .block_on(engine.run("r".parse().unwrap(), plan));
        summary.warnings.into_iter().collect()
    }

    fn policy(&self) -> Policy {
        let default = Limits::default();
        let narrow = |name: &str, default: u32| {
            self.bound(name)
                .map_or(default, |bound| bound.try_into().unwrap())
        };
        let limits = Limits {
            max_steps: self.bound("max_steps").unwrap_or(default.max_steps),
            max_depth: self.bound("max_depth").unwrap_or(default.max_depth),
            max_expression_length: self
                .bound("max_expression_length")
                .unwrap_or(default.max_expression_length),
            max_repeat: narrow("max_repeat", default.max_repeat),
            max_attempts: narrow("max_attempts", default.max_attempts),
        };
        let rules = |name: &str| {
            let rules = self.policy.get(name)?.as_list()?.iter();
            Some(rules.map(|rule| rule.as_text().unwrap()))
        };
        let mut policy = Policy::new().with_limits(limits);
        if let Some(flow) = self.policy.get("flow") {
            policy = policy.with_flow(flow_policy(flow));
        }
        if let Some(list) = rules("allowed") {
            policy = policy.allow_only(list.collect());
        }
        for (released, tools) in self
            .policy
            .get("releases")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let (what, name) = released.split_once('.').unwrap();
            let tools = tools
                .as_list()
                .unwrap()
                .iter()
                .map(|tool| tool.as_text().unwrap());
            policy = policy.release(Release {
                what: if what == "env" {
                    ExternalValue::Environment
                } else {
                    ExternalValue::Secrets
                },
                name: name.into(),
                tools: vec![tools.collect()],
            });
        }
        let denied = rules("denied").into_iter().flatten();
        denied.fold(policy, Policy::deny)
    }

    fn bound(&self, name: &str) -> Option<usize> {
        let bound = self.policy.get(name)?;
        Some(bound.as_u64().unwrap().try_into().unwrap())
    }
}

impl Inspection {
    /// The codes that were found, each once.
    pub(crate) fn codes(&self) -> BTreeSet<Code> {
        self.findings.iter().map(|finding| finding.code).collect()
    }

    /// Returns the source text that `finding` points to.
    pub(crate) fn text_at(&self, finding: &Diagnostic) -> Option<&str> {
        let span = finding.span?;
        let text = self.text_of(finding);
        Some(text.get(span.start..span.end).unwrap_or_else(|| {
            panic!("{finding} points out of the text: {span:?}");
        }))
    }

    /// The text that `finding` is about.
    pub(crate) fn text_of(&self, finding: &Diagnostic) -> &str {
        let name = finding.source.as_deref().unwrap_or(NAME);
        &self.texts[name]
    }
}

/// The simulated tools. Their field `seen`, a list of answers that they gave before, is not part of a script.
fn simulated(tools: &Value) -> Simulated {
    let tools = tools.as_object().unwrap().iter().map(|(name, tool)| {
        let fields = tool.as_object().unwrap().iter();
        let fields = fields.filter(|(field, _)| &***field != "seen");
        let fields: Object = fields
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect();
        (name.clone(), Value::from(fields))
    });
    let tools: Object = tools.collect();
    Simulated::from_script(&Value::object([("tools", Value::from(tools))])).unwrap()
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

/// The flow policy with the lists of `rules`.
fn flow_policy(rules: &Value) -> FlowPolicy {
    let list = |name: &str| -> Vec<FlowRule> {
        let patterns = rules.get(name).and_then(Value::as_list).unwrap_or_default();
        let patterns = patterns.iter().map(|text| text.as_text().unwrap());
        patterns
            .map(|text| FlowPattern::parse(text).unwrap().into())
            .collect()
    };
    FlowPolicy {
        trusted: list("trusted"),
        private: list("private"),
        leaves: list("leaves"),
        decides: list("decides"),
        ..FlowPolicy::default()
    }
}
