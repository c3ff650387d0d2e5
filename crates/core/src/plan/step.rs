//! One step: what it does, with what, when, and what becomes of its output.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{Node, Plan, SlotKind, Writes};
use crate::{Place, Value};

/// A step's id: unique within its plan, any text but a blank one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct StepId(Arc<str>);

impl StepId {
    /// The id that is written `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as shared text.
    pub fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for StepId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl std::borrow::Borrow<str> for StepId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The step's id.
    pub id: StepId,
    /// A line for people.
    pub title: Option<Arc<str>>,
    /// Where the step was written.
    pub place: Place,
    /// What it does.
    pub action: Action,
    /// The arguments by name: an object.
    pub args: Node,
    /// Arguments without names, in the order of what takes them. [`check`](crate::check()) gives each the name of a
    /// parameter, so that a checked plan has none.
    pub positional: Vec<Node>,
    /// Steps that must have ended before, though no data comes from them.
    pub after: Vec<Name>,
    /// A condition; when it gives `false` the step is skipped.
    pub when: Option<Node>,
    /// Runs the action once for each item of a list.
    pub for_each: Option<ForEach>,
    /// Runs the action again until a condition holds.
    pub repeat: Option<Repeat>,
    /// The slots that the output goes to.
    pub writes: Option<Writes>,
    /// What a failure means.
    pub on_error: OnError,
    /// Attempts and the pause between them, where they differ from the run's.
    pub retry: Option<Retry>,
    /// The time that the whole step may take, retries included.
    pub timeout: Option<Duration>,
    /// Whether a person must agree first.
    pub approval: Approval,
    /// Whether a second call does no harm.
    pub idempotency: Idempotency,
    /// Whether other calls may be under way at the same time.
    pub company: Company,
    /// The instance that the step runs for; all of them where it names none.
    pub instance: Option<Arc<str>>,
    /// Why the step is there, in its author's words.
    pub note: Option<Arc<str>>,
}

/// A name in the plan, with the place where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Where it was written.
    pub place: Place,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Calls a tool: `tool`, or `server.tool`.
    Tool(Name),
    /// Runs another plan.
    Plan(PlanCall),
    /// Calls nothing; the output is the value.
    Value(Node),
}

/// A plan run as one step. The arguments are its inputs; its output is the step's.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCall {
    /// Which plan.
    pub target: PlanTarget,
    /// The kinds of the caller's slots that the plan may read.
    pub scopes: Vec<SlotKind>,
}

/// Which plan a step runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanTarget {
    /// One from the library.
    Named(Name),
    /// One that stands in the step itself.
    Inline(Box<Plan>),
}

/// Once for each item of a list. The output is the list of outputs, in the order of the items.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// The list.
    pub over: Node,
    /// How many items may be under way at the same time.
    pub max_parallel: Option<NonZeroU32>,
}

/// Again and again, each round after the one before. The output is that of the last round.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// Ends the repetition when it gives `true`. It may refer to its own step: the round just ended.
    pub until: Node,
    /// The most rounds that are run; the step fails when the condition still does not hold then.
    pub max: NonZeroU32,
}

/// What a step's failure means.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnError {
    /// The step has failed, and so has the run.
    #[default]
    Fail,
    /// The step has failed, but the run has not: those that only come after it go on, those that need
    /// its data are skipped.
    Continue,
    /// The step counts as succeeded with this output instead.
    Output(Node),
}

/// How often and how fast a call is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all.
    pub attempts: NonZeroU32,
    /// The pause before the second attempt; it doubles from there, up to a minute, and varies by up to a fifth.
    pub delay: Option<Duration>,
}

/// Whether a person must agree before the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// As the tool and the policy say.
    #[default]
    AsTool,
    /// Always.
    Ask,
}

/// Whether a second call with the same arguments does no further harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// As the tool says.
    #[default]
    AsTool,
    /// The author says so.
    Idempotent,
}

/// Whether other calls may be under way at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Company {
    /// Any number of others, as the limits allow.
    #[default]
    Any,
    /// None: the step waits until nothing runs, and nothing starts before it has ended.
    Alone,
}

impl Step {
    /// A step that calls `tool` with `args`, an object, and has no further wishes. `null` says that it has no arguments.
    pub fn call(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, args: Node) -> Self {
        let args = match args.as_literal() {
            Some(Value::Null) => Node::literal(Value::empty_object(), args.place),
            _ => args,
        };
        let name = Name {
            text: tool.into(),
            place: Place::NOWHERE,
        };
        Self::new(StepId::new(id), Action::Tool(name), args)
    }

    /// A step with `action` and `args` and no further wishes.
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
            company: Company::Any,
            instance: None,
            note: None,
        }
    }

    /// The tool's name, where the step calls one.
    pub fn tool(&self) -> Option<&Name> {
        match &self.action {
            Action::Tool(name) => Some(name),
            _ => None,
        }
    }

    /// Calls `visit` with every node of the step that may hold references, and with whether the step may
    /// refer to itself there.
    pub(crate) fn each_node<'a>(&'a self, visit: &mut dyn FnMut(&'a Node, SelfReference)) {
        for argument in self.argument_nodes() {
            visit(argument, SelfReference::Forbidden);
        }
        self.each_other_node(visit);
    }

    /// The arguments of the step's action, those by name first.
    pub(crate) fn argument_nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.args).chain(&self.positional)
    }

    /// Calls `visit` with the nodes that [`each_node`](Self::each_node) visits, except the arguments.
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
            visit(&repeat.until, SelfReference::Allowed);
        }
        if let OnError::Output(output) = &self.on_error {
            visit(output, SelfReference::Allowed);
        }
    }

    /// The nodes of the step that may hold references, to change them.
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

/// Tells whether a part of a step may refer to the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SelfReference {
    Forbidden,
    Allowed,
}
