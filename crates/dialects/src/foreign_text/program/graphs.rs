//! Programs that declare a graph or a plan: nodes of LangGraph, operators of Airflow, constructors of steps.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::builder::{Builder, NameMeaning};
use super::syntax::{Expression, FunctionDefinition, ProgramArgument, Statement};

/// The plan that `statements` declare; `None` if they declare none.
pub(super) fn plan(statements: &[Statement]) -> Option<Value> {
    state_graph(statements)
        .or_else(|| operators(statements))
        .or_else(|| declared(statements))
}

/// The object and the method of a call such as `graph.add_node(…)`, and its arguments.
fn method(statement: &Statement) -> Option<(&str, &str, &[ProgramArgument])> {
    let Statement::Run(Expression::Call(function, arguments)) = statement else {
        return None;
    };
    let Expression::Field(of, method) = &**function else {
        return None;
    };
    let Expression::Name(of) = &**of else {
        return None;
    };
    Some((of, method, arguments))
}

/// The name of a node: a text, or a constant such as `START`.
fn node_name(argument: &ProgramArgument) -> Option<String> {
    match &argument.value {
        Expression::Name(name) => Some(name.clone()),
        other => other.as_text().map(str::to_owned),
    }
}

fn is_border(name: &str) -> bool {
    ["START", "END", "__start__", "__end__"].contains(&name)
}

/// The fields of the state with which `call` runs a graph: `app.invoke({…})`, `graph.compile().invoke({…})`.
fn started(call: &Expression) -> Option<&[(String, Expression)]> {
    let Expression::Call(function, arguments) = call else {
        return None;
    };
    if !matches!(&**function, Expression::Field(_, method) if method == "invoke") {
        return None;
    }
    Some(match arguments.first().map(|state| &state.value) {
        Some(Expression::Object(fields)) => fields,
        _ => &[],
    })
}

/// The input for a field of the state, with its first value as the default.
fn input((name, value): &(String, Expression)) -> Option<(String, Value)> {
    let Expression::Literal(value) = value else {
        return None;
    };
    Some((name.clone(), Value::object([("default", value.clone())])))
}

/// The plan in a graph of LangGraph: `graph.add_node(name, function)`, `graph.add_edge(from, to)`.
fn state_graph(statements: &[Statement]) -> Option<Value> {
    let mut functions: HashMap<&str, &FunctionDefinition> = HashMap::new();
    let mut nodes: Vec<(String, FunctionDefinition)> = Vec::new();
    let mut inputs: Vec<(String, Value)> = Vec::new();
    let mut edges: Vec<(String, String)> = Vec::new();
    for statement in statements {
        match statement {
            Statement::Define(name, function) => {
                functions.insert(name, function);
            }
            // `graph = StateGraph(State)`, `app = graph.compile()`
            Statement::Assign(..) => {}
            Statement::Run(call) if started(call).is_some() => {
                inputs.extend(started(call)?.iter().filter_map(input));
            }
            _ => match method(statement)? {
                (_, "add_node" | "addNode", [name, function]) => {
                    let function = match &function.value {
                        Expression::Function(function) => function.clone(),
                        Expression::Name(name) => (*functions.get(name.as_str())?).clone(),
                        _ => return None,
                    };
                    nodes.push((node_name(name)?, function));
                }
                (_, "add_node" | "addNode", [function]) => {
                    let name = node_name(function)?;
                    let function = (*functions.get(name.as_str())?).clone();
                    nodes.push((name, function));
                }
                (_, "add_edge" | "addEdge", [from, to]) => {
                    let from: Vec<String> = match &from.value {
                        Expression::List(items) => items
                            .iter()
                            .map(|item| item.as_text().map(str::to_owned))
                            .collect::<Option<_>>()?,
                        _ => vec![node_name(from)?],
                    };
                    let to = node_name(to)?;
                    edges.extend(from.into_iter().map(|from| (from, to.clone())));
                }
                (_, "set_entry_point" | "set_finish_point" | "compile", _) => {}
                _ => return None,
            },
        }
    }
    (!nodes.is_empty()).then_some(())?;
    let mut builder = Builder::default();
    builder.inputs = inputs;
    let mut steps: HashMap<String, Vec<String>> = HashMap::new();
    // A node is read after all nodes before it.
    for _ in 0..nodes.len() {
        let next = nodes.iter().find(|(name, _)| {
            let mut before = edges.iter().filter(|(_, to)| to == name);
            !steps.contains_key(name)
                && before.all(|(from, _)| is_border(from) || steps.contains_key(from))
        });
        let (name, function) = next?;
        let before: Vec<String> = edges
            .iter()
            .filter(|(from, to)| to == name && !is_border(from))
            .flat_map(|(from, _)| steps.get(from).cloned().unwrap_or_default())
            .collect();
        let first = builder.steps.len();
        builder.set_order((before, Vec::new()));
        node(&mut builder, name, function)?;
        let ids = builder.steps[first..].iter().map(|step| step.id.clone());
        steps.insert(name.clone(), ids.collect());
    }
    builder.is_ordered = false;
    (!builder.steps.is_empty()).then(|| builder.plan(None))
}

/// Adds the steps of a node, whose function gets the state and returns fields of it.
fn node(builder: &mut Builder, name: &str, function: &FunctionDefinition) -> Option<()> {
    let state = &function.parameters.first()?.name;
    let outer = builder.names.clone();
    let (last, body) = function.body.split_last()?;
    for statement in body {
        builder.statements(&[with_state(statement, state)?])?;
    }
    let mut fields: Vec<(String, NameMeaning)> = Vec::new();
    match with_state(last, state)? {
        Statement::Return(Some(Expression::Object(returned))) => {
            for (key, value) in returned {
                let meaning = match &value {
                    Expression::Call(function, arguments) if builder.calls_tool(&value) => {
                        let path = builder.call_of_tool(function, arguments, Some(name))?;
                        NameMeaning::Path(path)
                    }
                    Expression::Literal(value) => NameMeaning::Constant(value.clone()),
                    value => NameMeaning::Path(builder.expression(value)?),
                };
                fields.push((of_state(&key), meaning));
            }
        }
        Statement::Return(Some(value)) | Statement::Run(value) => match &value {
            Expression::Call(function, arguments) if builder.calls_tool(&value) => {
                builder.call_of_tool(function, arguments, Some(name))?;
            }
            Expression::Name(found) if found == state => {}
            _ => return None,
        },
        Statement::Return(None) => {}
        other => builder.statements(&[other])?,
    }
    builder.names = outer;
    builder.names.extend(fields);
    Some(())
}

/// Beginning of the name of a field of the state, so that no program has the same name.
pub(super) const STATE: &str = "state ";

/// The name under which a field of the state is known.
fn of_state(key: &str) -> String {
    format!("{STATE}{key}")
}

/// `statement` with names in place of the fields of `state`.
fn with_state(statement: &Statement, state: &str) -> Option<Statement> {
    Some(match statement {
        Statement::Assign(names, value) => {
            Statement::Assign(names.clone(), without_state(value, state))
        }
        Statement::Run(value) => Statement::Run(without_state(value, state)),
        Statement::Return(value) => {
            Statement::Return(value.as_ref().map(|value| without_state(value, state)))
        }
        // A text in quotes is a comment; blocks would need more.
        _ => return None,
    })
}

fn without_state(expression: &Expression, state: &str) -> Expression {
    let inner = |value: &Expression| without_state(value, state);
    let boxed = |value: &Expression| Box::new(without_state(value, state));
    let is_state = |value: &Expression| *value == Expression::Name(state.to_owned());
    match expression {
        Expression::Index(of, key) if is_state(of) && key.as_text().is_some() => {
            Expression::Name(of_state(key.as_text().unwrap_or_default()))
        }
        Expression::Field(of, key) if is_state(of) => Expression::Name(of_state(key)),
        Expression::Call(function, arguments) => {
            // `state.get("key")`
            if let (Expression::Field(of, method), [key]) = (&**function, arguments.as_slice())
                && is_state(of)
                && method == "get"
                && let Some(key) = key.value.as_text()
            {
                return Expression::Name(of_state(key));
            }
            let arguments = arguments.iter().map(|argument| ProgramArgument {
                name: argument.name.clone(),
                value: inner(&argument.value),
            });
            Expression::Call(boxed(function), arguments.collect())
        }
        Expression::Template(parts) => Expression::Template(parts.iter().map(inner).collect()),
        Expression::List(parts) => Expression::List(parts.iter().map(inner).collect()),
        Expression::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, field)| (key.clone(), inner(field)));
            Expression::Object(fields.collect())
        }
        Expression::Field(of, key) => Expression::Field(boxed(of), key.clone()),
        Expression::Index(of, key) => Expression::Index(boxed(of), boxed(key)),
        Expression::Binary(sign, left, right) => {
            Expression::Binary(sign, boxed(left), boxed(right))
        }
        Expression::Not(value) => Expression::Not(boxed(value)),
        Expression::Negative(value) => Expression::Negative(boxed(value)),
        Expression::Choice(condition, then, other) => {
            Expression::Choice(boxed(condition), boxed(then), boxed(other))
        }
        Expression::Literal(_)
        | Expression::Name(_)
        | Expression::Comprehension(_)
        | Expression::Function(_) => expression.clone(),
    }
}

/// The plan in operators of Airflow: `a = Operator(task_id=…, tool=…, arguments=…)`, `a >> b`.
fn operators(statements: &[Statement]) -> Option<Value> {
    let mut tasks: Vec<(String, Value)> = Vec::new();
    let mut edges: Vec<(String, String)> = Vec::new();
    for statement in statements {
        match statement {
            Statement::Assign(names, Expression::Call(function, arguments)) => {
                let [name] = names.as_slice() else {
                    return None;
                };
                let class = function.dotted().last().copied().unwrap_or_default();
                // `dag = DAG(…)`
                if !class.ends_with("Operator") && !class.ends_with("Task") {
                    continue;
                }
                let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
                for argument in arguments {
                    let key = match argument.name.as_deref()? {
                        "task_id" | "name" => "id",
                        "dag" => continue,
                        other => other,
                    };
                    fields.push((Arc::from(key), object(&argument.value)?));
                }
                tasks.push((name.clone(), Value::object(fields)));
            }
            Statement::Run(value @ Expression::Binary(">>" | "<<", ..)) => {
                chain(value, &mut edges)?;
            }
            Statement::Run(Expression::Literal(_)) => {}
            _ => match method(statement)? {
                (from, "set_downstream", [to]) => {
                    edges.extend(
                        names(&to.value)?
                            .into_iter()
                            .map(|to| (from.to_owned(), to)),
                    );
                }
                (to, "set_upstream", [from]) => {
                    edges.extend(
                        names(&from.value)?
                            .into_iter()
                            .map(|from| (from, to.to_owned())),
                    );
                }
                _ => return None,
            },
        }
    }
    (!tasks.is_empty()).then_some(())?;
    let ids: HashMap<String, Value> = tasks
        .iter()
        .map(|(name, task)| {
            let id = task.get("id").cloned();
            (
                name.clone(),
                id.unwrap_or_else(|| Value::text(name.as_str())),
            )
        })
        .collect();
    let steps = tasks.iter().map(|(name, task)| {
        let mut fields: Vec<(Arc<str>, Value)> = task
            .as_object()?
            .iter()
            .map(|(key, field)| (Arc::clone(key), without_pulls(field)))
            .collect();
        if task.get("id").is_none() {
            fields.insert(0, ("id".into(), Value::text(name.as_str())));
        }
        let before = edges.iter().filter(|(_, to)| to == name);
        let before = before.map(|(from, _)| ids.get(from).cloned());
        let before = before.collect::<Option<Vec<_>>>()?;
        if !before.is_empty() {
            fields.push(("after".into(), Value::list(before)));
        }
        Some(Value::object(fields))
    });
    let steps = steps.collect::<Option<Vec<_>>>()?;
    Some(Value::object([("steps", Value::list(steps))]))
}

/// Adds the edges of `a >> [b, c]`, and returns the tasks at its end.
fn chain(expression: &Expression, edges: &mut Vec<(String, String)>) -> Option<Vec<String>> {
    let Expression::Binary(sign @ (">>" | "<<"), left, right) = expression else {
        return names(expression);
    };
    let (left, right) = (chain(left, edges)?, chain(right, edges)?);
    for from in &left {
        for to in &right {
            edges.push(match *sign {
                ">>" => (from.clone(), to.clone()),
                _ => (to.clone(), from.clone()),
            });
        }
    }
    Some(right)
}

fn names(expression: &Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Name(name) => Some(vec![name.clone()]),
        Expression::List(items) => items
            .iter()
            .map(|item| match item {
                Expression::Name(name) => Some(name.clone()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// `value` with references in place of `{{ ti.xcom_pull(task_ids='a') }}`.
fn without_pulls(value: &Value) -> Value {
    match value {
        Value::Text(text) => {
            let mut written = String::new();
            let mut rest = &**text;
            while let Some(at) = rest.find("{{") {
                let (before, inside) = rest.split_at(at);
                written.push_str(before);
                let Some((inside, behind)) = inside[2..].split_once("}}") else {
                    written.push_str(inside);
                    rest = "";
                    break;
                };
                match pulled(inside.trim()) {
                    Some(path) => written.extend(["${", &path, "}"]),
                    None => written.extend(["{{", inside, "}}"]),
                }
                rest = behind;
            }
            written.push_str(rest);
            Value::text(written)
        }
        Value::List(items) => Value::list(items.iter().map(without_pulls)),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), without_pulls(field))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The path in `ti.xcom_pull(task_ids='a')['b']`.
fn pulled(written: &str) -> Option<String> {
    let rest = written
        .strip_prefix("ti.xcom_pull(")
        .or_else(|| written.strip_prefix("task_instance.xcom_pull("))?;
    let (inside, behind) = rest.split_once(')')?;
    let id = inside
        .trim()
        .strip_prefix("task_ids=")
        .unwrap_or(inside.trim());
    let id = id
        .split(',')
        .next()?
        .trim_matches(['\'', '"', '[', ']', ' ']);
    let behind = behind.trim().replace("['", ".").replace("']", "");
    let is_part = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
    let is_path = !id.is_empty() && behind.chars().all(is_part);
    is_path.then(|| format!("{}{behind}", crate::native::path_of(id)))
}

/// Constructors of steps.
const STEPS: [&str; 11] = [
    "step",
    "task",
    "tool",
    "call",
    "node",
    "toolcall",
    "tool_call",
    "action",
    "toolstep",
    "plan_step",
    "planstep",
];

/// Constructors of plans.
const PLANS: [&str; 8] = [
    "plan",
    "defineplan",
    "define_plan",
    "workflow",
    "defineworkflow",
    "createplan",
    "create_plan",
    "pipeline",
];

/// The plan in `Plan(steps=[Step(…), …])`, or in a plan to which steps are added.
fn declared(statements: &[Statement]) -> Option<Value> {
    let mut plan: Option<(String, Value)> = None;
    let mut steps: Vec<Value> = Vec::new();
    for statement in statements {
        match statement {
            Statement::Run(Expression::Literal(_)) => {}
            Statement::Assign(names, value) => {
                let [name] = names.as_slice() else {
                    return None;
                };
                plan.is_none().then_some(())?;
                plan = Some((name.clone(), constructed(value)?));
            }
            Statement::Run(value) => {
                match (method(statement), &plan) {
                    (
                        Some((of, "step" | "add_step" | "addStep" | "add" | "add_task", arguments)),
                        Some((name, _)),
                    ) if of == name => steps.push(step(arguments)?),
                    // Statements that run or print the plan are not part of it.
                    (Some((of, _, _)), Some((name, _))) if of == name => {}
                    (_, None) => plan = Some((String::new(), constructed(value)?)),
                    (_, Some((name, _))) if is_use(value, name) => {}
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    let (_, plan) = plan?;
    if steps.is_empty() {
        return plan.get("steps").is_some().then_some(plan);
    }
    let mut fields: Vec<(Arc<str>, Value)> = plan
        .as_object()?
        .iter()
        .map(|(key, field)| (Arc::clone(key), field.clone()))
        .collect();
    fields
        .iter()
        .all(|(key, _)| &**key != "steps")
        .then_some(())?;
    fields.push(("steps".into(), Value::list(steps)));
    Some(Value::object(fields))
}

/// Returns true if `value` runs or prints the plan `name`.
pub(super) fn is_use(value: &Expression, name: &str) -> bool {
    match value {
        Expression::Name(found) => found == name,
        Expression::Call(function, arguments) => {
            let of = function.dotted();
            of.first() == Some(&name)
                || arguments
                    .iter()
                    .any(|argument| is_use(&argument.value, name))
        }
        _ => false,
    }
}

/// The value of a constructor of a plan, `definePlan({…})` or `Plan("name").step(…).step(…)`.
fn constructed(value: &Expression) -> Option<Value> {
    let Expression::Call(function, arguments) = value else {
        return None;
    };
    if let Expression::Field(of, method) = &**function
        && let Expression::Call(..) = &**of
    {
        let plan = constructed(of)?;
        let mut fields: Vec<(Arc<str>, Value)> = plan
            .as_object()?
            .iter()
            .map(|(key, field)| (Arc::clone(key), field.clone()))
            .collect();
        match method.as_str() {
            "step" | "add_step" | "addStep" | "add" => {
                let mut steps = plan
                    .get("steps")
                    .and_then(Value::as_list)
                    .unwrap_or_default()
                    .to_vec();
                steps.push(step(arguments)?);
                fields.retain(|(key, _)| &**key != "steps");
                fields.push(("steps".into(), Value::list(steps)));
            }
            "build" | "run" | "execute" | "end" if arguments.is_empty() => {}
            _ => return None,
        }
        return Some(Value::object(fields));
    }
    let name = function.dotted().last()?.to_lowercase();
    PLANS.contains(&&*name).then_some(())?;
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    for argument in arguments {
        match (&argument.name, object(&argument.value)?) {
            (Some(name), value) => fields.push((Arc::from(name.as_str()), value)),
            (None, Value::Object(inner)) => {
                let inner = inner.iter();
                fields.extend(inner.map(|(key, field)| (Arc::clone(key), field.clone())));
            }
            (None, Value::List(items)) => fields.push(("steps".into(), Value::List(items))),
            (None, Value::Text(name)) => fields.push(("name".into(), Value::Text(name))),
            (None, _) => return None,
        }
    }
    Some(Value::object(fields))
}

/// The step that a constructor with `arguments` makes: its fields by name; or its id, its tool and its arguments.
fn step(arguments: &[ProgramArgument]) -> Option<Value> {
    // `plan.add(Step(…))`
    if let [
        ProgramArgument {
            name: None,
            value: value @ (Expression::Call(..) | Expression::Object(_)),
        },
    ] = arguments
    {
        return object(value);
    }
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    let mut texts: Vec<Value> = Vec::new();
    for argument in arguments {
        match (&argument.name, object(&argument.value)?) {
            (Some(name), value) => fields.push((Arc::from(name.as_str()), value)),
            (None, text @ Value::Text(_)) => texts.push(text),
            (None, value @ Value::Object(_)) => fields.push(("args".into(), value)),
            (None, _) => return None,
        }
    }
    let named = |name: &str| fields.iter().any(|(key, _)| &**key == name);
    match (texts.as_slice(), named("id"), named("tool")) {
        ([], ..) => {}
        ([tool], _, false) => fields.insert(0, ("tool".into(), tool.clone())),
        ([id], false, true) => fields.insert(0, ("id".into(), id.clone())),
        ([id, tool], false, false) => {
            fields.insert(0, ("tool".into(), tool.clone()));
            fields.insert(0, ("id".into(), id.clone()));
        }
        _ => return None,
    }
    Some(Value::object(fields))
}

/// `expression` as a value, in which constructors of steps are objects and `ref("a")` is a reference.
fn object(expression: &Expression) -> Option<Value> {
    Some(match expression {
        Expression::Literal(value) => value.clone(),
        Expression::List(items) => {
            Value::list(items.iter().map(object).collect::<Option<Vec<_>>>()?)
        }
        Expression::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, field)| Some((Arc::from(key.as_str()), object(field)?)));
            Value::object(fields.collect::<Option<Vec<_>>>()?)
        }
        Expression::Template(parts) => {
            let parts = parts
                .iter()
                .map(|part| object(part)?.as_text().map(ToString::to_string));
            Value::text(parts.collect::<Option<String>>()?)
        }
        Expression::Binary("+", left, right) => {
            let (left, right) = (object(left)?, object(right)?);
            Value::text(format!("{}{}", left.as_text()?, right.as_text()?))
        }
        Expression::Call(function, arguments) => {
            let name = function.dotted().last()?.to_lowercase();
            let is_reference = [
                "ref",
                "reference",
                "output",
                "result",
                "outputof",
                "output_of",
                "from_step",
                "fromstep",
                "step_output",
            ]
            .contains(&&*name);
            if is_reference {
                let texts: Option<Vec<&str>> = arguments
                    .iter()
                    .map(|argument| argument.value.as_text())
                    .collect();
                let path = match texts?.as_slice() {
                    [id] => (*id).to_owned(),
                    [id, path] => format!("{id}.{path}"),
                    _ => return None,
                };
                return Some(Value::text(format!("${{{path}}}")));
            }
            STEPS.contains(&&*name).then_some(())?;
            step(arguments)?
        }
        _ => return None,
    })
}
