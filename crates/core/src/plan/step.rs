//! One step: what it does, with what, when, and what becomes of its output.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::{Node, Plan, SlotKind, StepId, Writes};
use crate::{Place, Value};

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
}
