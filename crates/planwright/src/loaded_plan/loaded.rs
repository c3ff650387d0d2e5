//! A loaded plan: its text, the plans that it runs by name, and its inputs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::check::{
    CheckContext, CheckedPlan, Library, Limits, PlanInspection, Policy, check,
    check_without_inputs, inspect,
};
use planwright_core::flow::{RecalledLabels, StepLabels};
use planwright_core::plan::{
    Action, Field, Name, Node, NodeKind, Ordering, Output, PlanTarget, RECALLED_STEP, Sharing, Step,
};
use planwright_core::{
    Catalog, Code, Diagnostic, Diagnostics, Object, Place, Plan, StepId, Tool, Value,
};
use planwright_dialects::{ParseResult, ReadOptions, document};

use super::advice::{add_advised_edits, fixed_plan, proposed_plan};
#[cfg(feature = "store")]
use crate::format::ToolSourcesV1;
use crate::format::{LibraryPlanV1, PlanTextV1, RecalledLabelsV1};

/// The step that represents the results of earlier runs.
pub const RECALLED: &str = RECALLED_STEP;

/// Returns the step of `plan` that represents the results of earlier runs, if any: see [`LoadedPlan::with_recalled`].
pub fn recalled(plan: &CheckedPlan) -> Option<&StepId> {
    let step = plan.plan().steps.first()?;
    let is_recalled = step.id.as_str() == RECALLED && step.place == Place::NOWHERE;
    is_recalled.then_some(&step.id)
}

/// The declaration of the inputs of a plan, as a store has it for lists of plans.
pub fn declared_inputs(plan: &Plan) -> Value {
    Value::list(plan.inputs.iter().map(|input| {
        Value::object([
            ("name", Value::Text(input.name.clone())),
            ("required", Value::Bool(input.default.is_none())),
            ("schema", input.schema.clone()),
        ])
    }))
}

/// A plan that was read, with the plans that it runs, its inputs and its diagnostics.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedPlan {
    /// The plan; `None` once the check has consumed it.
    pub plan: Option<Plan>,
    /// The plan's name, also after the check.
    pub name: Option<Arc<str>>,
    /// The dialect that it is written in.
    pub dialect: Option<&'static str>,
    /// The diagnostics so far.
    pub diagnostics: Diagnostics,
    /// The plans that it runs by name.
    pub library: Library,
    /// The inputs.
    pub inputs: Object,
    /// The texts by name, for snippets; the plan's own first.
    pub texts: Vec<(String, String)>,
    /// The largest number of steps, if it is not that of the policy.
    max_steps: Option<usize>,
    has_library: bool,
    reorder: bool,
    share: bool,
    recalled: Object,
    labels: ResultLabels,
    /// The plan that the advice for an unreadable text spells.
    proposal: Option<Plan>,
}

/// The labels for the flow policy of results that a plan uses and does not compute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultLabels {
    /// The labels of results of earlier runs that the plan refers to.
    pub recalled: RecalledLabels,
    /// The labels of results of an earlier plan of the run, by step.
    pub retained: StepLabels,
}

impl LoadedPlan {
    /// The result of `parse` for a text that diagnostics call `name`, without inputs.
    pub fn new(name: impl Into<String>, result: ParseResult) -> Self {
        let ParseResult {
            plan,
            dialect,
            diagnostics,
            source,
        } = result;
        let proposal = proposed_plan(&diagnostics).or_else(|| match &plan {
            Some(_) => None,
            None => fixed_plan(&diagnostics, &source),
        });
        Self {
            proposal,
            name: plan.as_ref().and_then(|plan| plan.name.clone()),
            plan,
            dialect,
            diagnostics,
            library: Library::new(),
            inputs: Object::default(),
            texts: vec![(name.into(), source.to_string())],
            max_steps: None,
            has_library: false,
            reorder: false,
            share: false,
            recalled: Object::default(),
            labels: ResultLabels::default(),
        }
    }

    /// Reads a stored plan again.
    pub fn from_stored(stored: &PlanTextV1, inputs: Object) -> Self {
        // The plan was within all limits when it was read for the first time.
        let limits = document::ReadLimits {
            bytes: usize::MAX,
            depth: usize::MAX,
            ..document::ReadLimits::default()
        };
        let options = ReadOptions {
            dialect: Some(&stored.dialect),
            limits,
            ..ReadOptions::new(&stored.source)
        };
        let result = planwright_dialects::parse(stored.text.as_bytes(), &options);
        let mut loaded = Self::new(stored.source.as_str(), result)
            .with_inputs(inputs)
            .with_max_steps(stored.max_steps)
            .with_recalled(
                stored.recalled.clone(),
                RecalledLabelsV1::decode(&stored.recalled_labels),
            );
        if stored.reorder {
            loaded = loaded.reordered();
        }
        if stored.share {
            loaded = loaded.shared();
        }
        let find = |name: &str| {
            let mut plans = stored.library.iter();
            let found = plans.find(|plan| plan.name == name);
            Ok::<_, std::convert::Infallible>(found.map(|plan| plan.text.clone().into_bytes()))
        };
        let Ok(mut loaded) = loaded.with_library(limits, find);
        loaded.has_library = !stored.library.is_empty();
        loaded
    }

    /// The same plan with these inputs.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Object) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the maximum number of steps.
    #[must_use]
    pub fn with_max_steps(mut self, max_steps: usize) -> Self {
        self.max_steps = Some(max_steps);
        self
    }

    /// Lets independent steps run concurrently, even if the dialect lists them in order.
    #[must_use]
    pub fn reordered(mut self) -> Self {
        if let Some(plan) = &mut self.plan {
            plan.ordering = Ordering::Dataflow;
        }
        self.reorder = true;
        self
    }

    /// Allows references in all parameters, even if the dialect requires tools to mark those that take them.
    #[must_use]
    pub fn shared(mut self) -> Self {
        if let Some(plan) = &mut self.plan {
            plan.sharing = Sharing::Open;
        }
        self.share = true;
        self
    }

    /// Sets the name of the plan.
    #[must_use]
    pub fn called(mut self, name: Arc<str>) -> Self {
        if let Some(plan) = &mut self.plan {
            plan.name = Some(Arc::clone(&name));
        }
        self.name = Some(name);
        self
    }

    /// Lets the plan refer to results of earlier runs as `${runs.RUN.STEP}`. `results` has the results of each run by the ids of steps, and
    /// `labels` their labels for the flow policy. In the plan, they are the output of an additional step `runs`.
    #[must_use]
    pub fn with_recalled(mut self, results: Object, labels: RecalledLabels) -> Self {
        if let Some(plan) = &mut self.plan
            && !results.is_empty()
        {
            // Results of earlier runs are not results of this plan.
            if plan.output == Output::All {
                let names = plan.steps.iter().map(|step| Name {
                    text: Arc::clone(step.id.text()),
                    place: Place::NOWHERE,
                });
                plan.output = Output::Steps(names.collect());
            }
            let value = Node::literal(Value::from(results.clone()), Place::NOWHERE);
            let nothing = Node::literal(Value::empty_object(), Place::NOWHERE);
            let step = Step::new(StepId::new(RECALLED), Action::Value(value), nothing);
            plan.steps.insert(0, step);
        }
        self.recalled = results;
        self.labels.recalled = labels;
        self
    }

    /// The same plan for a run with results of an earlier plan that have the labels `retained`, by step.
    #[must_use]
    pub fn with_retained(mut self, retained: StepLabels) -> Self {
        self.labels.retained = retained;
        self
    }

    /// Returns the labels of the results that the plan uses and does not compute.
    pub fn labels(&self) -> &ResultLabels {
        &self.labels
    }

    /// Names another plan that this one may run, so that diagnostics distinguish a misspelt name from a missing plan.
    #[must_use]
    pub fn with_known_plan(mut self, name: &str) -> Self {
        if is_plan_name(name) {
            self.library.mention(name);
        }
        self
    }

    /// Returns a new stored run of this plan with tools from these sources, begun at `now`.
    #[cfg(feature = "store")]
    pub fn new_run(
        &self,
        tools: ToolSourcesV1,
        now: std::time::SystemTime,
    ) -> crate::stored::NewStoredRun {
        crate::stored::NewStoredRun {
            source: self.to_stored(),
            tools,
            client: None,
            reverts: None,
            approved_plan: None,
            beginning: None,
            now,
        }
    }

    /// Returns the data with which the plan can be loaded again; `None` if it was not read in a dialect.
    pub fn to_stored(&self) -> Option<PlanTextV1> {
        let (own, library) = self.texts.split_first()?;
        Some(PlanTextV1 {
            source: own.0.clone(),
            text: own.1.clone(),
            dialect: self.dialect?.to_owned(),
            reorder: self.reorder,
            share: self.share,
            is_unfinished: false,
            recalled: self.recalled.clone(),
            recalled_labels: RecalledLabelsV1::encode(&self.labels.recalled),
            max_steps: self.max_steps.unwrap_or(Limits::default().max_steps),
            library: library
                .iter()
                .map(|(name, text)| LibraryPlanV1 {
                    name: name.clone(),
                    text: text.clone(),
                })
                .collect(),
        })
    }

    /// Checks the plan against the tools under a policy. The diagnostics of the result are those of the text, then those of the check.
    pub fn check(mut self, catalog: &Catalog, policy: &Policy) -> (Option<CheckedPlan>, Self) {
        let Some(plan) = self.plan.take() else {
            self.check_proposal(catalog, policy);
            return (None, self);
        };
        let is_unreadable = self.diagnostics.has_errors();
        let (checked, found) = check(plan, &self.context(catalog, &self.limited(policy)));
        self.add(found, is_unreadable);
        self.check_proposal(catalog, policy);
        (checked.filter(|_| !is_unreadable), self)
    }

    /// Like [`check`](Self::check), for a plan whose inputs are provided when it runs.
    #[must_use]
    pub fn check_without_inputs(mut self, catalog: &Catalog, policy: &Policy) -> Self {
        if let Some(plan) = self.plan.take() {
            let is_unreadable = self.diagnostics.has_errors();
            let policy = self.limited(policy);
            let found = check_without_inputs(plan, &self.context(catalog, &policy));
            self.add(found, is_unreadable);
        }
        self.check_proposal(catalog, policy);
        self
    }

    /// Like [`check_without_inputs`](Self::check_without_inputs), and returns everything that is known about the plan as well: `None` for a
    /// text that is not a plan.
    pub fn inspect(mut self, catalog: &Catalog, policy: &Policy) -> (Self, Option<PlanInspection>) {
        let inspection = self.plan.clone().map(|plan| {
            let policy = self.limited(policy);
            inspect(plan, &self.context(catalog, &policy))
        });
        if let Some(inspection) = &inspection {
            let is_unreadable = self.diagnostics.has_errors();
            self.add(inspection.diagnostics.clone(), is_unreadable);
        }
        self.check_proposal(catalog, policy);
        (self, inspection)
    }

    /// Checks the plan that the advice spells, and adds its diagnostics, so that a reader finds all of them at once.
    fn check_proposal(&mut self, catalog: &Catalog, policy: &Policy) {
        let Some(plan) = self.proposal.take() else {
            return;
        };
        let found = check_without_inputs(plan, &self.context(catalog, &self.limited(policy)));
        if found.has_problems() {
            // A proposal with problems is only advice.
            for advice in &mut self.diagnostics {
                advice.fixes = Arc::default();
            }
        }
        let of_proposal = found.into_iter().map(|found| Diagnostic {
            message: format!("in the proposed plan, {}", found.message),
            // There is no such place in the text.
            span: None,
            fix: None,
            ..found.fixes([])
        });
        self.diagnostics.extend(of_proposal.collect());
    }

    /// The policy with the maximum number of steps.
    fn limited<'a>(&self, policy: &'a Policy) -> Cow<'a, Policy> {
        match self.max_steps {
            None => Cow::Borrowed(policy),
            Some(max_steps) => Cow::Owned(policy.clone().with_limits(Limits {
                max_steps,
                ..policy.limits
            })),
        }
    }

    /// The context of a check.
    fn context<'a>(&'a self, catalog: &'a Catalog, policy: &'a Policy) -> CheckContext<'a> {
        CheckContext::new(catalog)
            .with_library(&self.library)
            .with_policy(policy)
            .with_inputs(&self.inputs)
            .with_recalled(&self.labels.recalled)
            .with_retained(&self.labels.retained)
    }

    /// Adds the diagnostics of a check. The order of the steps of an unreadable plan is not known.
    fn add(&mut self, found: Diagnostics, is_unreadable: bool) {
        let is_known = |found: &Diagnostic| !is_unreadable || found.code != Code::UnorderedCalls;
        self.diagnostics
            .extend(found.into_iter().filter(is_known).collect());
        self.diagnostics.sort();
        if let Some((_, text)) = self.texts.first() {
            add_advised_edits(&mut self.diagnostics, text);
        }
        if !self.has_library {
            for diagnostic in &mut self.diagnostics {
                if diagnostic.code == Code::UnknownPlan {
                    diagnostic.help =
                        Some("name the folder of plans with `--library DIR`".to_owned());
                }
            }
        }
    }

    /// The tools that the plan names, inner plans included.
    pub fn tool_names(&self) -> BTreeSet<String> {
        let library = self
            .library
            .names()
            .filter_map(|name| self.library.get(name));
        tool_names(
            self.plan
                .iter()
                .chain(&self.proposal)
                .chain(library.map(AsRef::as_ref)),
        )
    }

    /// The same plan with positional arguments named by their number, for a check without the tools that could name them.
    #[must_use]
    pub fn with_numbered_arguments(mut self) -> Self {
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
                NodeKind::Literal(_)
                | NodeKind::Reference(_)
                | NodeKind::Text(_)
                | NodeKind::List(_) => Vec::new(),
            };
            let positional = std::mem::take(&mut step.positional).into_iter();
            fields.extend(positional.enumerate().map(|(index, value)| Field {
                key: format!("#{}", index + 1).into(),
                value,
            }));
            step.args = Node::object(fields, step.args.place);
        }
        self
    }

    /// The same plan with the plans that it runs by name, and those that these run, as returned by `find`.
    ///
    /// # Errors
    ///
    /// Those of `find`.
    pub fn with_library<E>(
        mut self,
        limits: document::ReadLimits,
        find: impl Fn(&str) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Self, E> {
        self.has_library = true;
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
            // A library may hold plans in several dialects: the form decides, otherwise the caller's dialect.
            let mut result = planwright_dialects::parse(
                &text,
                &ReadOptions {
                    dialect: None,
                    ..options
                },
            );
            if result.dialect.is_none() {
                result = planwright_dialects::parse(&text, &options);
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
        Ok(self)
    }
}

/// The tools that `plans` name, inner plans included.
pub fn tool_names<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for plan in plans {
        collect_tools(plan, &mut names);
    }
    names
}

/// Returns a plan whose only step calls `tool` of `catalog` with these arguments.
pub fn single_call(catalog: &Catalog, tool: &Tool, arguments: &Value) -> Plan {
    call_of(&tool.name, catalog.unambiguous_name(tool), arguments)
}

/// Returns a plan whose only step calls the tool of this name with these arguments. The tool need not exist: the check of the plan reports it.
pub fn named_call(name: &str, arguments: &Value) -> Plan {
    call_of(&Arc::from(name), name, arguments)
}

fn call_of(name: &Arc<str>, qualified: impl Into<Arc<str>>, arguments: &Value) -> Plan {
    let id = name.replace(|letter: char| !letter.is_alphanumeric(), "_");
    let arguments = match arguments {
        Value::Null => Value::empty_object(),
        other => other.clone(),
    };
    let step = Step::call(
        format!("call_{id}"),
        qualified,
        Node::literal(arguments, Place::NOWHERE),
    );
    Plan {
        name: Some(Arc::clone(name)),
        output: Output::Steps(vec![Name {
            text: step.id.text().clone(),
            place: Place::NOWHERE,
        }]),
        steps: vec![step],
        ..Plan::default()
    }
}

/// Returns true if a name can be a plan's: a name is never a path.
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
        // It is checked with the plan, so its definition is needed.
        names.extend(step.undo.iter().map(|undo| undo.tool.text.to_string()));
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
