//! A step: its action and arguments, its conditions and loops, and the handling of its output.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::{Node, Plan, Retry, SlotKind, Writes};
use crate::{Place, StepId, Value};

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The step's id.
    pub id: StepId,
    /// A one-line title for people.
    pub title: Option<Arc<str>>,
    /// The source place of the step.
    pub place: Place,
    /// The action of the step.
    pub action: Action,
    /// The named arguments, an object.
    pub args: Node,
    /// Arguments without names, in the order of the parameters. [`check`](crate::check()) assigns
    /// parameter names to them, so a checked plan has none.
    pub positional: Vec<Node>,
    /// Steps that must finish first although this step reads no data from them.
    pub after: Vec<Name>,
    /// A condition. The step is skipped if it evaluates to `false`.
    pub when: Option<Node>,
    /// A list over which the action runs once for each item.
    pub for_each: Option<ForEach>,
    /// A repetition of the action until a condition holds.
    pub repeat: Option<Repeat>,
    /// The slots that the output goes to.
    pub writes: Option<Writes>,
    /// The effect of a failure.
    pub on_error: OnError,
    /// The retry policy, if it differs from that of the run.
    pub retry: Option<Retry>,
    /// The time limit of the whole step, retries included.
    pub timeout: Option<Duration>,
    /// The approval rule for the call.
    pub approval: Approval,
    /// The idempotency of the call.
    pub idempotency: Idempotency,
    /// The concurrency of the step with other calls.
    pub concurrency: Concurrency,
    /// The instance that the step runs for; `None` means all instances.
    pub instance: Option<Arc<str>>,
    /// The call that undoes the effect of the step's call.
    pub undo: Option<Box<Undo>>,
    /// The author's reason for the step.
    pub note: Option<Arc<str>>,
}

/// A call that undoes the effect of another one. A run never makes it; a run that reverts another one does.
#[derive(Clone, Debug, PartialEq)]
pub struct Undo {
    /// The tool to call.
    pub tool: Name,
    /// The named arguments, an object. References read the step [`OUTPUT`](Self::OUTPUT), the output of the call to undo, and the
    /// step [`ARGUMENTS`](Self::ARGUMENTS), its arguments; nothing else, so that the record of one call suffices to undo it.
    pub args: Node,
}

impl Undo {
    /// The name of the output of the call to undo, in references.
    pub const OUTPUT: &str = "output";
    /// The name of the arguments of the call to undo, in references.
    pub const ARGUMENTS: &str = "arguments";
}

/// A name in the plan, with its source place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// The source place of the name.
    pub place: Place,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A call of a tool, named `tool` or `server.tool`.
    Tool(Name),
    /// Runs another plan.
    Plan(PlanCall),
    /// A computed value; no call is made.
    Value(Node),
}

/// A plan run as one step. The arguments become its inputs; its output becomes the step's output.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCall {
    /// The plan to run.
    pub target: PlanTarget,
    /// The kinds of the caller's slots that the plan may read.
    pub scopes: Vec<SlotKind>,
}

/// The plan that a step runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanTarget {
    /// A plan of the library, by name.
    Named(Name),
    /// A plan written in the step itself.
    Inline(Box<Plan>),
}

/// An iteration of a step over a list. The output is the list of outputs, in the order of the items; with
/// [`with_item`](Self::with_item) each is beside its item.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// The list.
    pub over: Node,
    /// Maximum number of items processed at the same time.
    pub max_parallel: Option<NonZeroU32>,
    /// The name of the item in references of the step, beside `item`. References name their source already, so it matters only when
    /// the plan is printed.
    pub item_name: Option<Arc<str>>,
    /// True if the output has each item beside its output: `[{"item", "output"}]`.
    pub with_item: bool,
}

impl ForEach {
    /// The field of an item, in the output of a loop with [`with_item`](Self::with_item).
    pub const ITEM: &str = "item";
    /// The field of the output for the item.
    pub const OUTPUT: &str = "output";
}

/// A repetition of a step. Each round starts after the previous one; the output is that of the last round.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The condition that ends the repetition when it evaluates to `true`. It may refer to the
    /// output of the round that just ended.
    pub until: Node,
    /// Maximum number of rounds. The step fails if the condition still does not hold after the last one.
    pub max: NonZeroU32,
}

/// The effect of a step's failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnError {
    /// The step fails, and so does the run.
    #[default]
    Fail,
    /// The step fails, but the run does not: steps that only run after it continue, and steps that
    /// need its data are skipped.
    Continue,
    /// The step succeeds with this output instead.
    Output(Node),
}

/// The approval rule for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// The tool and the policy decide.
    #[default]
    AsTool,
    /// A person must always approve.
    Ask,
}

/// The idempotency of a call: the absence of further effects of a second call with the same arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// The tool declares it.
    #[default]
    AsTool,
    /// The author declares the call idempotent.
    Idempotent,
}

/// The concurrency of a step with other calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// Other calls may run at the same time, as the limits allow.
    #[default]
    Any,
    /// The step waits until nothing else runs, and nothing starts before it has finished.
    Alone,
}

impl Step {
    /// Creates a step that calls `tool` with `args`, an object, and has defaults otherwise. `null` means no arguments.
    pub fn call(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, args: Node) -> Self {
        let args = match args.as_literal() {
            // Tools take an object, also without arguments.
            Some(Value::Null) => Node::literal(Value::empty_object(), args.place),
            _ => args,
        };
        let name = Name {
            text: tool.into(),
            place: Place::NOWHERE,
        };
        Self::new(StepId::new(id), Action::Tool(name), args)
    }

    /// Creates a step with `action` and `args`, and defaults otherwise.
    pub fn new(id: StepId, action: Action, args: Node) -> Self {
        Self {
            id,
            title: None,
            place: Place::NOWHERE,
            action,
            args,
            positional: Vec::new(),
            after: Vec::new(),
            when: None,
            for_each: None,
            repeat: None,
            writes: None,
            on_error: OnError::Fail,
            retry: None,
            timeout: None,
            approval: Approval::AsTool,
            idempotency: Idempotency::AsTool,
            concurrency: Concurrency::Any,
            instance: None,
            undo: None,
            note: None,
        }
    }

    /// Returns the tool's name if the step calls one.
    pub fn tool(&self) -> Option<&Name> {
        match &self.action {
            Action::Tool(name) => Some(name),
            Action::Plan(_) | Action::Value(_) => None,
        }
    }

    /// Calls `visit` with every node of the step that may contain references, and with whether the
    /// step may refer to itself there.
    pub(crate) fn each_node<'a>(&'a self, visit: &mut dyn FnMut(&'a Node, SelfReference)) {
        for argument in self.argument_nodes() {
            visit(argument, SelfReference::Forbidden);
        }
        self.each_other_node(visit);
    }

    /// Returns the nodes of the arguments, named ones first.
    pub(crate) fn argument_nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.args).chain(&self.positional)
    }

    /// Calls `visit` with every node that [`each_node`](Self::each_node) visits except the arguments.
    pub(crate) fn each_other_node<'a>(&'a self, visit: &mut dyn FnMut(&'a Node, SelfReference)) {
        if let Action::Value(value) = &self.action {
            visit(value, SelfReference::Forbidden);
        }
        if let Some(when) = &self.when {
            visit(when, SelfReference::Forbidden);
        }
        if let Some(for_each) = &self.for_each {
            visit(&for_each.over, SelfReference::Forbidden);
        }
        if let Some(repeat) = &self.repeat {
            // The condition is about the round that just ended.
            visit(&repeat.until, SelfReference::Allowed);
        }
        if let OnError::Output(output) = &self.on_error {
            // The replacement may use the error of its own step.
            visit(output, SelfReference::Allowed);
        }
    }

    /// Returns every node of the step that may contain references, mutably.
    pub(crate) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        let value = match &mut self.action {
            Action::Value(value) => Some(value),
            Action::Tool(_) | Action::Plan(_) => None,
        };
        let on_error = match &mut self.on_error {
            OnError::Output(output) => Some(output),
            OnError::Fail | OnError::Continue => None,
        };
        std::iter::once(&mut self.args)
            .chain(&mut self.positional)
            .chain(value)
            .chain(&mut self.when)
            .chain(self.for_each.as_mut().map(|for_each| &mut for_each.over))
            .chain(self.repeat.as_mut().map(|repeat| &mut repeat.until))
            .chain(on_error)
    }
}

/// Permission of a part of a step to refer to the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SelfReference {
    Forbidden,
    Allowed,
}
