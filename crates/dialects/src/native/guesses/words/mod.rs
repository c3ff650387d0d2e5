//! The words that people, models and other systems use for the fields of a plan and of a step.

mod absent;
mod people;

pub(super) use self::absent::{
    ABOUT_PLANS, OF_PLANS, OF_STEPS, Words, absent, is_among, is_same, normal,
};
pub(super) use self::people::{FOR_PEOPLE, LOOSE_FOR_PEOPLE, is_format_mark};
use crate::document::{Item, ItemEntry, ItemKind};

/// A field, and other words for it.
pub(super) struct Synonyms {
    pub(super) field: &'static str,
    pub(super) words: &'static [&'static str],
    /// Returns true if a value can be meant for the field.
    pub(super) fits: fn(&Item) -> bool,
}

/// The fields of a plan.
pub(super) fn is_plan_field(key: &str) -> bool {
    matches!(
        key,
        "name"
            | "title"
            | "description"
            | "inputs"
            | "vars"
            | "slots"
            | "slot_schemas"
            | "instances"
            | "ordering"
            | "on_failure"
            | "sharing"
            | "mode"
            | "metadata"
            | "output"
            | "steps"
    )
}

/// The fields of a step.
pub(super) fn is_step_field(key: &str) -> bool {
    matches!(
        key,
        "id" | "title"
            | "tool"
            | "plan"
            | "value"
            | "extract"
            | "scopes"
            | "args"
            | "positional"
            | "after"
            | "when"
            | "with_item"
            | "for_each"
            | "max_parallel"
            | "repeat"
            | "writes"
            | "on_error"
            | "retry"
            | "timeout"
            | "approval"
            | "idempotent"
            | "alone"
            | "instance"
            | "note"
            | "undo"
    )
}

fn is_any(_: &Item) -> bool {
    true
}

fn is_text(item: &Item) -> bool {
    item.as_text().is_some()
}

fn is_text_or_number(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Text(_) | ItemKind::Number(_))
}

fn is_object(item: &Item) -> bool {
    item.as_object().is_some()
}

fn is_bool(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Bool(_))
}

/// Returns true for text without blanks, as names of tools are.
pub(super) fn is_word(item: &Item) -> bool {
    let text = item.as_text();
    text.is_some_and(|text| !text.is_empty() && !text.contains(char::is_whitespace))
}

/// Returns true for a list of steps, and for an object of them by id.
pub(super) fn are_steps(item: &Item) -> bool {
    match &item.kind {
        ItemKind::List(items) => !items.is_empty() && items.iter().all(is_step),
        ItemKind::Object(entries) => {
            !entries.is_empty() && entries.iter().all(|entry| is_step(&entry.item))
        }
        _ => false,
    }
}

/// Returns true if `item` has an action under any of its names.
pub(super) fn is_step(item: &Item) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| item.has(word));
    let has_steps = GROUPS
        .iter()
        .any(|word| item.get(word).is_some_and(|item| item.as_list().is_some()));
    let is_named_call = item.has("name") && has(ARGS);
    let switches = item.as_object().is_some_and(|entries| {
        entries
            .iter()
            .any(|entry| is_switch(entry) || is_branch(entry) || has_branches(entry))
    });
    has(&["tool", "plan", "value", "extract"])
        || has_loop_body(item)
        || item
            .as_object()
            .is_some_and(|entries| call_by_name(entries).is_some())
        || has(TOOL)
        || has_steps
        || switches
        || is_named_call
        || super::groups::is_control(item)
        || (item.has("type") && has(ARGS))
        || (item.has("id") && item.get("type").is_some_and(is_tool_name))
}

/// Returns true if `item` is a loop around a call: `{"for_each": {"in": …, "do": {"tool": …}}}`.
fn has_loop_body(item: &Item) -> bool {
    let bodies = ["do", "step", "body"];
    let calls = |item: &Item| {
        let body = bodies.iter().find_map(|word| item.get(word));
        body.is_some_and(|body| body.has("tool"))
    };
    let loops = ["for_each", "foreach", "forEach", "loop", "for"];
    item.has("id") && (calls(item) || loops.iter().any(|word| item.get(word).is_some_and(calls)))
}

/// Returns true for a word with a sign that only names of tools have, `time.get_current_time`.
fn is_tool_name(item: &Item) -> bool {
    let text = item.as_text();
    is_word(item) && text.is_some_and(|text| text.contains(['_', '.', '/']))
}

/// Returns true if `key` is a word for the opposite of a condition.
pub(super) fn negates(key: &str) -> bool {
    matches!(key, "unless" | "if_not" | "skip_if" | "skipIf")
}

/// Returns true if `entry` is the single step of a `then`.
pub(super) fn is_branch(entry: &ItemEntry) -> bool {
    &*entry.key == "then" && entry.item.as_object().is_some() && is_step(&entry.item)
}

/// Returns true if `entry` is a condition with the steps of its branches, `"if": {"condition": …, "then": …}`.
pub(super) fn has_branches(entry: &ItemEntry) -> bool {
    &*entry.key == "if" && entry.item.has("then")
}

/// Returns true if `entry` holds the steps of each case of a `switch`.
pub(super) fn is_switch(entry: &ItemEntry) -> bool {
    &*entry.key == "cases"
        && entry.item.as_object().is_some_and(|cases| {
            !cases.is_empty()
                && cases
                    .iter()
                    .all(|case| is_step(&case.item) || are_steps(&case.item))
        })
}

/// The position of the call in a step such as `{"get_weather": {"city": "Oslo"}}`, which may have a name for its output as well.
pub(super) fn call_by_name(entries: &[ItemEntry]) -> Option<usize> {
    let is_call = |entry: &ItemEntry| {
        matches!(entry.item.kind, ItemKind::Object(_))
            && entry.key.contains(['_', '.'])
            && !is_step_field(&entry.key)
            && !stands_for_field(&entry.key)
    };
    let is_beside = |entry: &ItemEntry| {
        matches!(&*entry.key, "id" | "after" | "when" | "title" | "note")
            || OUTPUT_NAMES.contains(&entry.key)
            || FOR_PEOPLE.contains(&entry.key)
    };
    let at = entries.iter().position(is_call)?;
    let mut others = entries.iter().enumerate().filter(|(index, _)| *index != at);
    others.all(|(_, entry)| is_beside(entry)).then_some(at)
}

/// Returns true if `key` is a word for a field of a step, or for inner steps.
fn stands_for_field(key: &str) -> bool {
    STEP.iter().any(|group| group.words.contains(&key))
        || [ARGS, GROUPS].iter().any(|words| words.contains(&key))
        || [OUTPUT_NAMES, FOR_PEOPLE]
            .iter()
            .any(|words| words.contains(key))
}

/// Returns true if `key` is read as another field of a plan or of a step; a misspelt field is not.
pub(crate) fn is_word_of_others(key: &str) -> bool {
    let mut groups = [PLAN, STEP, RETRY, FOR_EACH].into_iter().flatten();
    groups.any(|group| group.words.contains(&key))
        || matches!(key, "name" | "type")
        || OUTPUT_NAMES.contains(key)
}

/// Words for the arguments of a call.
pub(super) const ARGS: &[&str] = &[
    "args",
    "arguments",
    "params",
    "parameters",
    "input",
    "inputs",
    "kwargs",
    "with",
    "tool_input",
    "toolInput",
    "action_input",
    "actionInput",
    "tool_args",
    "toolArgs",
    "tool_params",
    "tool_arguments",
    "input_data",
    "payload",
    "mapper",
    "fields",
    "inputParameters",
    "input_parameters",
    "config",
    "op_kwargs",
    "tool_kwargs",
    "input_args",
    "inputArgs",
    "action_params",
    "action_args",
    "toolParameters",
    "tool_parameters",
    "toolArguments",
    "function_args",
    "functionArguments",
];

/// Words for the tool of a call, besides `name` and `type`.
pub(super) const TOOL: &[&str] = &[
    "tool_name",
    "toolName",
    "mcp_tool",
    "mcpTool",
    "tool_call",
    "toolCall",
    "function",
    "function_name",
    "functionName",
    "function_call",
    "action",
    "uses",
    "use",
    "call",
    "operation",
    "command",
    "method",
    "run",
    "recipient_name",
    "tool_id",
    "capability",
    "resource",
    "module",
    "operationId",
    "operation_id",
    "operator",
    "activity",
    "skill",
    "action_name",
    "actionName",
    "task",
    "fn",
    "func",
    "tool_ref",
    "toolRef",
];

/// Words for a list of steps inside of a step.
pub(super) const GROUPS: &[&str] = &[
    "parallel",
    "concurrent",
    "concurrently",
    "group",
    "sequence",
    "sequential",
    "steps",
    "tasks",
    "children",
    "substeps",
    "sub_steps",
    "branches",
    "then",
    "do",
];

/// Words for the fields of a plan.
pub(super) const PLAN: &[Synonyms] = &[
    Synonyms {
        field: "steps",
        words: &[
            "tasks",
            "actions",
            "plan",
            "nodes",
            "jobs",
            "stages",
            "workflow",
            "pipeline",
            "calls",
            "tool_calls",
            "sequence",
            "operations",
            "flow",
            "dag",
            "subtasks",
            "stepList",
            "step_list",
            "taskList",
            "task_list",
            "plan_steps",
            "workflow_steps",
            "commands",
            "execution_plan",
            "step",
            "task",
            "toolCalls",
            "instructions",
            "todo",
            "todos",
        ],
        fits: are_steps,
    },
    Synonyms {
        field: "output",
        words: &[
            "outputs",
            "return",
            "returns",
            "result",
            "results",
            "final_output",
            "finalOutput",
            "final_result",
            "final",
            "final_answer",
            "answer",
            "response",
            "output_steps",
            "return_value",
            "answer_from",
            "answerFrom",
            "final_step",
            "finalStep",
            "output_from",
            "outputFrom",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "inputs",
        words: &[
            "input",
            "parameters",
            "params",
            "args",
            "arguments",
            "input_schema",
            "inputSchema",
        ],
        fits: is_object,
    },
    Synonyms {
        field: "vars",
        words: &[
            "variables",
            "constants",
            "context",
            "env",
            "environment",
            "locals",
        ],
        fits: is_object,
    },
    Synonyms {
        field: "name",
        words: &[
            "id",
            "plan",
            "plan_name",
            "plan_id",
            "planId",
            "planName",
            "workflow_name",
            "workflowName",
        ],
        fits: is_text,
    },
];

/// Words for the fields of a step. `name` and fields in other units have separate rules.
pub(super) const STEP: &[Synonyms] = &[
    Synonyms {
        field: "tool",
        words: TOOL,
        fits: is_word,
    },
    Synonyms {
        field: "args",
        words: ARGS,
        fits: is_any,
    },
    Synonyms {
        field: "id",
        words: &[
            "step_id",
            "stepId",
            "task_id",
            "taskId",
            "node_id",
            "call_id",
            "step",
            "key",
            "label",
            "index",
            "number",
            "order",
            "step_number",
            "stepNumber",
            "step_name",
            "taskReferenceName",
            "alias",
            "uid",
        ],
        fits: is_text_or_number,
    },
    Synonyms {
        field: "title",
        words: &[
            "label",
            "heading",
            "caption",
            "headline",
            "task_name",
            "step_title",
        ],
        fits: is_text,
    },
    Synonyms {
        field: "after",
        words: &[
            "depends_on",
            "dependsOn",
            "depends-on",
            "dependencies",
            "dependency",
            "depends",
            "needs",
            "requires",
            "wait_for",
            "waitFor",
            "waits_for",
            "run_after",
            "runAfter",
            "prerequisites",
            "parents",
            "deps",
            "dep",
            "upstream",
            "predecessors",
            "follows",
            "blocked_by",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "after",
        words: &["context"],
        fits: |item| {
            let items = item.as_list();
            items.is_some_and(|items| items.iter().all(is_text_or_number))
        },
    },
    Synonyms {
        field: "when",
        words: &[
            "if",
            "condition",
            "only_if",
            "onlyIf",
            "run_if",
            "runIf",
            "when_condition",
            "guard",
            "unless",
            "if_not",
            "skip_if",
            "skipIf",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "for_each",
        words: &[
            "foreach",
            "forEach",
            "for-each",
            "loop",
            "loop_over",
            "loopOver",
            "with_items",
            "withItems",
            "items",
            "each",
            "iterate",
            "iterate_over",
            "iterateOver",
            "over",
            "map",
            "map_over",
            "for",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "approval",
        words: &[
            "requires_approval",
            "requiresApproval",
            "needs_approval",
            "require_approval",
            "confirm",
            "ask",
            "human_approval",
            "humanApproval",
            "approval_required",
            "approvalRequired",
            "ask_user",
            "askUser",
            "user_confirmation",
            "requires_confirmation",
            "requiresConfirmation",
            "needs_confirmation",
            "human_in_the_loop",
            "confirmation",
            "requireApproval",
            "needsApproval",
            "wait_for_approval",
        ],
        fits: is_bool,
    },
    Synonyms {
        field: "max_parallel",
        words: &[
            "concurrency",
            "max_concurrency",
            "maxConcurrency",
            "maxParallel",
            "parallelism",
        ],
        fits: |item| matches!(item.kind, ItemKind::Number(_)),
    },
    Synonyms {
        field: "retry",
        words: &["attempts", "max_attempts", "maxAttempts"],
        fits: is_any,
    },
    Synonyms {
        field: "retry",
        words: &[
            "retry_policy",
            "retryPolicy",
            "retry_config",
            "retryConfig",
            "retry_options",
            "retryOptions",
            "retry_strategy",
            "retryStrategy",
            "retries",
        ],
        fits: is_object,
    },
    Synonyms {
        field: "timeout",
        words: &["time_limit", "timeLimit", "max_duration", "deadline"],
        fits: is_text_or_number,
    },
];

/// Words for the call inside of a loop.
pub(super) const FOR_EACH_BODIES: &[&str] = &[
    "do", "step", "steps", "body", "task", "tasks", "action", "call", "run", "each", "template",
];

/// Words for fields of a step that are as often arguments of a call.
pub(super) const LOOSE: Words = Words(&[
    "items", "key", "order", "number", "index", "label", "alias", "uid", "map", "over", "context",
    "parents",
]);

/// Words for the inner fields of `retry`.
pub(super) const RETRY: &[Synonyms] = &[
    Synonyms {
        field: "attempts",
        words: &[
            "max_attempts",
            "maxAttempts",
            "max",
            "count",
            "times",
            "tries",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "delay",
        words: &["wait", "interval", "backoff", "initial_delay", "pause"],
        fits: is_text,
    },
];

/// Words for the inner fields of `for_each`.
pub(super) const FOR_EACH: &[Synonyms] = &[
    Synonyms {
        field: "items",
        words: &[
            "in",
            "over",
            "list",
            "collection",
            "array",
            "from",
            "values",
        ],
        fits: is_any,
    },
    Synonyms {
        field: "max_parallel",
        words: &["parallel", "concurrency", "max_concurrency", "maxParallel"],
        fits: |item| matches!(item.kind, ItemKind::Number(_)),
    },
];

/// Words for the name of an item in a loop.
pub(super) const ITEM_NAMES: &[&str] = &[
    "as",
    "item",
    "item_name",
    "itemName",
    "item_var",
    "item_variable",
    "loop_var",
    "loop_variable",
    "var",
    "variable",
    "iterator",
    "it",
    "name",
];

/// Words for a name of the output of a step.
#[rustfmt::skip]
pub(super) const OUTPUT_NAMES: Words = Words(&[
    "as", "saveas", "saveto", "storeas", "storein", "storeresultas", "resultvariable", "resultname", "result", "output", "outputs",
    "outputas", "outputname", "outputkey", "outputvar", "outputvariable", "assign", "assignto", "register", "returns", "var", "variable",
    "bind", "out", "observationname", "resultkey", "saveoutputas", "saveresultas",
]);
