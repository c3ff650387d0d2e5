//! The flow analysis compared with real runs: two runs whose tools differ in one field may differ only in the arguments,
//! and in the calls, that the analysis derives from that field.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, Policy, check};
use planwright_core::expression::parse_form;
use planwright_core::flow::{FlowPattern, FlowPolicy, FlowReport, FlowRule, Guard, OnViolation};
use planwright_core::plan::{
    Action, Field, ForEach, Input, InputKind, Method, Name, Node, OnError, OnFailure, Output,
    PlanCall, PlanTarget, Reference, Repeat, SlotKind, SlotPath, Targets, Writes,
};
use planwright_core::{Catalog, Place, Plan, Schema, Step, StepId, Tool, Value};

use planwright_engine::backend::{ErrorKind, ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, RunInput, RunMachine, StepSummary};
use planwright_engine::schedule::TaskId;
use planwright_engine::{RunOptions, StepStatus};

/// The number of random plans.
const PLANS: u64 = 300;

/// The minimum number of arguments and calls that differ in all of them, so that the comparison is not empty.
const MIN_DIFFERENCES: usize = 200;

/// The fields of the outputs of `src.a` and `src.b`, and the error of `src.fail`.
const LEAVES: [&str; 15] = [
    "a:x",
    "a:y",
    "a:n",
    "a:flag",
    "a:list.p",
    "a:list.q",
    "a:list.k",
    "b:x",
    "b:y",
    "b:n",
    "b:flag",
    "b:list.p",
    "b:list.q",
    "b:list.k",
    "fail:error",
];

#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn pick(&mut self, from: &[String]) -> String {
        from[self.below(from.len())].clone()
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// The values that the tools give, by leaf. Lists have three items.
#[derive(Clone)]
struct World(BTreeMap<&'static str, Vec<Value>>);

impl World {
    fn random(random: &mut Random) -> Self {
        let values = LEAVES.iter().map(|leaf| {
            let count = if leaf.contains("list") { 3 } else { 1 };
            let values = (0..count).map(|_| value_of(leaf, random)).collect();
            (*leaf, values)
        });
        Self(values.collect())
    }

    /// Returns a world that differs in one leaf.
    fn changed(&self, leaf: &'static str, random: &mut Random) -> Self {
        let mut world = self.clone();
        let values = world.0.get_mut(leaf).unwrap();
        let position = random.below(values.len());
        let before = values[position].clone();
        while values[position] == before {
            values[position] = value_of(leaf, random);
        }
        world
    }

    fn answer(&self, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        let tool = &*call.tool.name;
        let at = |field: &str, position: usize| {
            let found = LEAVES
                .iter()
                .find(|leaf| **leaf == format!("{tool}:{field}"));
            self.0[found.unwrap()][position].clone()
        };
        match tool {
            "put" => Ok(ToolOutput::text("done")),
            "fail" => {
                let text = at("error", 0);
                Err(ToolError::new(ErrorKind::Tool, text.as_text().unwrap()))
            }
            _ => {
                let item = |position| {
                    let fields = ["p", "q", "k"]
                        .map(|field| (field, at(&format!("list.{field}"), position)));
                    Value::object(fields)
                };
                Ok(ToolOutput::value(Value::object([
                    ("x", at("x", 0)),
                    ("y", at("y", 0)),
                    ("n", at("n", 0)),
                    ("flag", at("flag", 0)),
                    ("list", Value::list((0..3).map(item))),
                ])))
            }
        }
    }
}

fn value_of(leaf: &str, random: &mut Random) -> Value {
    match leaf.rsplit([':', '.']).next().unwrap() {
        "n" | "k" => Value::from(random.below(3) as u64),
        "flag" => Value::from(random.one_in(2)),
        // Few texts, so that comparisons are true now and then.
        _ => Value::from(["u", "v", "w"][random.below(3)]),
    }
}

fn catalog() -> Catalog {
    let text = || Value::object([("type", Value::from("string"))]);
    let of_type = |name: &str| Value::object([("type", Value::from(name))]);
    let object = |fields: Vec<(&str, Value)>| {
        Value::object([
            ("type", Value::from("object")),
            ("properties", Value::object(fields)),
        ])
    };
    let item = object(vec![
        ("p", text()),
        ("q", text()),
        ("k", of_type("integer")),
    ]);
    let list = Value::object([("type", Value::from("array")), ("items", item)]);
    let output = object(vec![
        ("x", text()),
        ("y", text()),
        ("n", of_type("integer")),
        ("flag", of_type("boolean")),
        ("list", list),
    ]);
    ["a", "b", "fail"]
        .into_iter()
        .map(|name| {
            let mut tool = Tool::new("src", name);
            tool.output = Schema::from_value(output.clone());
            tool
        })
        .chain([Tool::new("out", "put")])
        .collect()
}

fn expression(text: &str) -> Node {
    let form = parse_form(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    Node::reference(Reference {
        text: format!("${{{text}}}").into(),
        place: Place::NOWHERE,
        form,
    })
}

fn object(fields: Vec<(&str, Node)>) -> Node {
    let fields = fields.into_iter().map(|(key, value)| Field {
        key: key.into(),
        value,
    });
    Node::object(fields.collect(), Place::NOWHERE)
}

fn literal(text: &str) -> Node {
    Node::literal(Value::from(text), Place::NOWHERE)
}

/// Writes random plans. Expressions fail only if a value is missing, since no analysis follows other failures.
struct Writer {
    random: Random,
    steps: Vec<Step>,
    /// Expressions of texts.
    texts: Vec<String>,
    /// Expressions of lists of objects with the fields `p`, `q` and `k`.
    lists: Vec<String>,
    /// Expressions of booleans.
    booleans: Vec<String>,
    /// Steps that read a slot must come after these.
    writers: Vec<Name>,
    prefix: &'static str,
}

impl Writer {
    fn new(random: Random, prefix: &'static str) -> Self {
        Self {
            random,
            steps: Vec::new(),
            texts: ["'u'", "'v'", "'w'"].map(String::from).to_vec(),
            lists: vec!["[{'p': 'u', 'q': 'v', 'k': 1}]".to_owned()],
            booleans: vec!["true".to_owned()],
            writers: Vec::new(),
            prefix,
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(4) {
            return self.random.pick(&self.texts.clone());
        }
        let depth = depth - 1;
        match self.random.below(19) {
            0 => format!("({} + {})", self.text(depth), self.text(depth)),
            1 => {
                let (condition, one) = (self.boolean(depth), self.text(depth));
                format!("({condition} ? {one} : {})", self.text(depth))
            }
            2 => format!("{}.map(m, m.p).join(',')", self.list(depth)),
            3 => {
                let list = self.list(depth);
                let within = self.within(depth);
                format!("{list}.map(m, {within}).join('-')")
            }
            4 => format!("({}.map(m, m.q) + ['z'])[0]", self.list(depth)),
            5 => format!("{{'a': {}, 'b': {}}}.a", self.text(depth), self.text(depth)),
            6 => format!("{{{}: 'v'}}.map(k, k)[0]", self.text(depth)),
            7 => format!("{}.split('v')[0]", self.text(depth)),
            8 => format!("{}.replace('u', {})", self.text(depth), self.text(depth)),
            9 => {
                let (one, other) = (self.text(depth), self.text(depth));
                format!("[{one}, {other}][{} ? 0 : 1]", self.boolean(depth))
            }
            10 => format!("string(size({}))", self.list(depth)),
            11 => format!("string({}.map(m, 1).size())", self.list(depth)),
            12 => format!("[[{}], ['t']].flatten().join('')", self.text(depth)),
            13 => format!("[{}, {}].sort()[0]", self.text(depth), self.text(depth)),
            14 => format!(
                "[{}, {}].distinct().map(x, 'l').join('')",
                self.text(depth),
                self.text(depth)
            ),
            15 => format!("({}.map(m, m.p) + ['y', 'z'])[1]", self.list(depth)),
            16 => format!("[{}][0].map(m, m.q).join('')", self.list(depth)),
            17 => format!("{}.split('v').map(x, 'l').join('')", self.text(depth)),
            _ => format!("({}.map(m, m.p).sort() + ['z'])[0]", self.list(depth)),
        }
    }

    /// Returns an expression of a text about the loop variable `m`.
    fn within(&mut self, depth: usize) -> String {
        match self.random.below(5) {
            0 => "m.p".to_owned(),
            1 => "m.q".to_owned(),
            2 => "(m.k > 1 ? 'u' : 'w')".to_owned(),
            3 => format!("(m.p == {} ? m.q : 'w')", self.text(depth)),
            _ => "'x'".to_owned(),
        }
    }

    fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(4) {
            return self.random.pick(&self.booleans.clone());
        }
        let depth = depth - 1;
        match self.random.below(7) {
            0 => format!("({} == {})", self.text(depth), self.text(depth)),
            1 => {
                let (list, text) = (self.list(depth), self.text(depth));
                format!("{list}.exists(m, m.p == {text})")
            }
            2 => format!("{}.all(m, m.k > 0)", self.list(depth)),
            3 => format!("(size({}) > 1)", self.list(depth)),
            4 => format!("(!{})", self.boolean(depth)),
            5 => format!("({} && {})", self.boolean(depth), self.boolean(depth)),
            _ => format!("({} in ['u', 'w'])", self.text(depth)),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(4) {
            return self.random.pick(&self.lists.clone());
        }
        let depth = depth - 1;
        let list = self.list(depth);
        match self.random.below(9) {
            0 => format!("{list}.filter(m, m.p == {})", self.text(depth)),
            1 => format!("{list}.filter(m, m.k > 0)"),
            2 => format!("{list}.sortBy(m, m.k)"),
            3 => format!("{list}.reverse()"),
            4 => format!("({list} + {})", self.list(depth)),
            5 => format!("({} ? {list} : {})", self.boolean(depth), self.list(depth)),
            6 => format!("{list}.map(m, {{'p': m.p, 'q': m.q, 'k': 1}}).distinct()"),
            7 => format!("{list}.distinct()"),
            _ => format!(
                "{list}.map(m, {{'p': m.q, 'q': {}, 'k': m.k}})",
                self.text(depth)
            ),
        }
    }

    fn next_id(&self) -> String {
        format!("{}{}", self.prefix, self.steps.len())
    }

    fn push(&mut self, mut step: Step) {
        step.after.clone_from(&self.writers);
        self.steps.push(step);
    }

    fn source(&mut self) {
        let id = self.next_id();
        let tool = ["src.a", "src.b"][self.random.below(2)];
        let mut step = Step::call(id.as_str(), tool, object(Vec::new()));
        if self.random.one_in(5) {
            step.when = Some(expression(&self.boolean(2)));
        }
        self.push(step);
        self.texts.extend([
            format!("{id}.x"),
            format!("{id}.y"),
            format!("string({id}.n)"),
            format!("({id}.x ?? 'd')"),
            format!("(results.{id}.data.y ?? 'd')"),
        ]);
        self.booleans.push(format!("{id}.flag"));
        self.lists.push(format!("{id}.list"));
    }

    fn failing(&mut self) {
        let id = self.next_id();
        let mut step = Step::call(id.as_str(), "src.fail", object(Vec::new()));
        if self.random.one_in(2) {
            let text = format!("results.{id}.error.message");
            step.on_error = OnError::Output(object(vec![
                ("x", expression(&text)),
                ("y", expression(&self.text(2))),
            ]));
            self.texts.extend([format!("{id}.x"), format!("{id}.y")]);
        } else {
            step.on_error = OnError::Continue;
            self.texts.extend([
                format!("results.{id}.error.message"),
                format!("(results.{id}.tool ?? 'd')"),
            ]);
        }
        self.push(step);
    }

    fn value(&mut self) {
        let id = self.next_id();
        let fields = object(vec![
            ("one", expression(&self.text(3))),
            ("other", expression(&self.text(2))),
            ("list", expression(&self.list(2))),
        ]);
        let mut step = Step::new(
            StepId::new(id.as_str()),
            Action::Value(fields),
            Node::default(),
        );
        if self.random.one_in(4) {
            step.when = Some(expression(&self.boolean(2)));
        }
        self.push(step);
        self.texts.extend([
            format!("{id}.one"),
            format!("{id}.other"),
            format!("({id}.one ?? 'd')"),
        ]);
        self.lists.push(format!("{id}.list"));
    }

    fn loop_of_values(&mut self) {
        let id = self.next_id();
        let fields = object(vec![
            ("p", expression("item.p")),
            (
                "q",
                expression(&format!("item.k > 0 ? item.q : {}", self.text(2))),
            ),
            ("k", expression("index")),
        ]);
        let mut step = Step::new(
            StepId::new(id.as_str()),
            Action::Value(fields),
            Node::default(),
        );
        step.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: expression(&self.list(2)),
            max_parallel: None,
        });
        self.push(step);
        self.lists.push(id);
    }

    fn repeated(&mut self) {
        let id = self.next_id();
        let fields = object(vec![
            ("n", expression("(last.n ?? 0) + 1")),
            ("x", expression("last.y ?? 'a'")),
            ("y", expression(&self.text(2))),
        ]);
        let mut step = Step::new(
            StepId::new(id.as_str()),
            Action::Value(fields),
            Node::default(),
        );
        step.repeat = Some(Repeat {
            until: expression(&format!("{id}.n > 2 || {}", self.boolean(1))),
            max: 5.try_into().unwrap(),
        });
        self.push(step);
        self.texts.extend([
            format!("{id}.x"),
            format!("{id}.y"),
            format!("string({id}.n)"),
        ]);
    }

    fn slot(&mut self) {
        let id = self.next_id();
        let name = ["s", "t"][self.random.below(2)];
        let method = [Method::Set, Method::Merge][self.random.below(2)];
        let fields = object(vec![
            ("one", expression(&self.text(2))),
            ("other", expression(&self.text(2))),
        ]);
        let mut step = Step::new(
            StepId::new(id.as_str()),
            Action::Value(fields),
            Node::default(),
        );
        step.writes = Some(Writes {
            targets: Targets::All(vec![SlotPath {
                kind: SlotKind::State,
                keys: vec![name.into()],
                place: Place::NOWHERE,
            }]),
            method,
            place: Place::NOWHERE,
        });
        if self.random.one_in(3) {
            step.when = Some(expression(&self.boolean(2)));
        }
        // The writers of a slot run in order, and no reader runs between them.
        self.push(step);
        self.writers.push(Name {
            text: id.into(),
            place: Place::NOWHERE,
        });
    }

    fn sink(&mut self) {
        let id = self.next_id();
        let text = self.text(3);
        let mut args = vec![
            ("to", expression(&text)),
            ("cc", object(vec![("deep", expression(&self.text(2)))])),
        ];
        let mut for_each = None;
        if self.random.one_in(3) {
            args.push(("item", expression("item.p")));
            args.push(("index", expression("index")));
            for_each = Some(ForEach {
                item_name: None,
                with_item: false,
                over: expression(&self.list(2)),
                max_parallel: None,
            });
        } else {
            args.push(("body", literal("x")));
        }
        let mut step = Step::call(id.as_str(), "out.put", object(args));
        step.for_each = for_each;
        if self.random.one_in(4) {
            step.when = Some(expression(&self.boolean(2)));
        }
        self.push(step);
    }

    fn inner(&mut self) {
        let id = self.next_id();
        let mut writer = Writer::new(self.random.clone(), "i");
        writer
            .texts
            .extend(["inputs.one".to_owned(), "inputs.other".to_owned()]);
        writer.lists.push("inputs.list".to_owned());
        writer.value();
        writer.sink();
        if writer.random.one_in(2) {
            writer.source();
        }
        writer.value();
        let output = object(vec![
            ("one", expression(&writer.text(2))),
            ("list", expression(&writer.list(2))),
        ]);
        self.random = writer.random.clone();
        let plan = Plan {
            inputs: ["one", "other", "list"]
                .map(|name| Input {
                    name: name.into(),
                    kind: InputKind::Input,
                    schema: Value::Null,
                    default: None,
                    place: Place::NOWHERE,
                })
                .to_vec(),
            steps: writer.steps,
            output: Output::Value(output),
            on_failure: OnFailure::KeepGoing,
            ..Plan::default()
        };
        let args = object(vec![
            ("one", expression(&self.text(2))),
            ("other", expression(&self.text(2))),
            ("list", expression(&self.list(1))),
        ]);
        let call = PlanCall {
            target: PlanTarget::Inline(Box::new(plan)),
            scopes: Vec::new(),
        };
        let mut step = Step::new(StepId::new(id.as_str()), Action::Plan(call), args);
        // It fails if a step is skipped that its output reads.
        step.on_error = OnError::Continue;
        self.push(step);
        self.texts.push(format!("{id}.one"));
        self.lists.push(format!("{id}.list"));
    }

    fn plan(mut self) -> Plan {
        self.source();
        for _ in 0..=self.random.below(2) {
            self.slot();
        }
        for name in ["s", "t"] {
            let is_written = self.steps.iter().any(|step| {
                let writes = step.writes.as_ref();
                writes.is_some_and(|writes| {
                    writes
                        .targets
                        .paths()
                        .iter()
                        .any(|path| *path.keys[0] == *name)
                })
            });
            if is_written {
                self.texts.extend([
                    format!("slots.state.{name}.one"),
                    format!("slots.state.{name}.other"),
                    format!("(slots.state.{name}.one ?? 'd')"),
                ]);
            }
        }
        for _ in 0..2 + self.random.below(5) {
            match self.random.below(9) {
                0 => self.source(),
                1 => self.failing(),
                2 | 3 => self.value(),
                4 => self.loop_of_values(),
                5 => self.repeated(),
                6 => self.inner(),
                _ => self.sink(),
            }
        }
        self.sink();
        Plan {
            steps: self.steps,
            on_failure: OnFailure::KeepGoing,
            ..Plan::default()
        }
    }
}

/// Returns the checked plan, with the flow of one untrusted leaf.
fn checked(plan: Plan, catalog: &Catalog, leaf: &str) -> CheckedPlan {
    let rule = |text: &str| FlowRule::from(FlowPattern::parse(text).unwrap());
    let untrusted = match leaf {
        // Errors are untrusted in any case.
        "fail:error" => Vec::new(),
        leaf => vec![rule(&format!("src.{leaf}"))],
    };
    let flow = FlowPolicy {
        untrusted,
        guard: vec![Guard::Rule(rule("out.put"))],
        decides: vec![rule("out.put")],
        violation: OnViolation::Warn,
        ..FlowPolicy::default()
    };
    let policy = Policy::new().with_flow(flow);
    let (checked, diagnostics) = check(plan, &CheckContext::new(catalog).with_policy(&policy));
    checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
}

/// A run: the steps and the arguments of its calls by their address, and the addresses that failed.
#[derive(Default)]
struct Calls {
    args: BTreeMap<String, (String, Value)>,
    failed: BTreeSet<String>,
}

fn run(plan: &CheckedPlan, world: &World) -> Calls {
    let mut run = RunMachine::new("run".parse().unwrap(), plan.clone(), RunOptions::default());
    let mut effects = Vec::new();
    let mut in_flight: Vec<(TaskId, ToolCall)> = Vec::new();
    let mut clock = 0;
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Call { task, call, .. } => in_flight.push((task, *call)),
                Effect::Abort(task) => in_flight.retain(|(other, _)| *other != task),
                _ => {}
            }
        }
        if run.is_done() || in_flight.is_empty() {
            break;
        }
        let (task, call) = in_flight.remove(0);
        clock += 1;
        let input = RunInput::AttemptEnded {
            task,
            attempt: call.context.attempt,
            result: world.answer(&call).map(with_own_texts),
        };
        run.handle(input, Duration::from_millis(clock), &mut effects);
    }
    assert!(run.is_done(), "the run is stuck");
    let mut calls = Calls::default();
    collect(&run.summary().steps, &mut calls);
    calls
}

/// The output with texts that no other output shares, as from a server.
fn with_own_texts(mut output: ToolOutput) -> ToolOutput {
    output.value = Value::from_json(&output.value.to_json()).unwrap();
    output
}

fn collect(steps: &[StepSummary], calls: &mut Calls) {
    for step in steps {
        // A text whose source the analysis has not named would be one.
        let error = step.error.as_ref().map(|error| error.kind);
        assert_ne!(error, Some(ErrorKind::Internal), "{:?}", step.error);
        collect(&step.parts, calls);
        if step.status == StepStatus::Failed {
            calls.failed.insert(step.at.to_string());
        }
        if step.tool.as_deref() == Some("out.put")
            && step.attempts > 0
            && step.parts.is_empty()
            && let Some(args) = &step.args
        {
            let path = step.at.steps();
            calls.args.insert(step.at.to_string(), (path, args.clone()));
        }
    }
}

/// Returns true if the report has a violation of the step, in the parameter if one is named.
fn is_found(report: &FlowReport, path: &str, parameter: Option<&str>) -> bool {
    report
        .parameters_of(path)
        .filter(|found| found.code.is_some())
        .any(|found| parameter.is_none_or(|parameter| *found.parameter == *parameter))
}

#[test]
fn a_value_that_differs_names_the_field_that_differs() {
    let catalog = catalog();
    let mut differences = 0;
    for seed in 0..PLANS {
        let mut random = Random(seed);
        let plan = Writer::new(random.clone(), "s").plan();
        let world = World::random(&mut random);
        for _ in 0..4 {
            let leaf = LEAVES[random.below(LEAVES.len())];
            let plan = checked(plan.clone(), &catalog, leaf);
            let (one, other) = (
                run(&plan, &world),
                run(&plan, &world.changed(leaf, &mut random)),
            );
            let report = plan.flow().unwrap();
            let context =
                |at: &str| format!("seed {seed}, {leaf}, {at}: {:#?}", shown(plan.plan()));
            // A missing value may fail a step that computes more than it uses; no analysis follows failures.
            let follows_calls = one.failed == other.failed;
            for (at, (path, args)) in &one.args {
                let Some((_, others)) = other.args.get(at) else {
                    differences += 1;
                    let is_found = !follows_calls || is_found(report, path, None);
                    assert!(is_found, "vanishes: {}", context(at));
                    continue;
                };
                for (key, value) in args.as_object().unwrap() {
                    if others.get(key) != Some(value) {
                        differences += 1;
                        assert!(is_found(report, path, Some(key)), "{key}: {}", context(at));
                    }
                }
            }
            for (at, (path, _)) in &other.args {
                if !one.args.contains_key(at) && follows_calls {
                    differences += 1;
                    assert!(is_found(report, path, None), "appears: {}", context(at));
                }
            }
        }
    }
    assert!(differences >= MIN_DIFFERENCES, "{differences}");
}

/// The expressions of a plan, for messages.
fn shown(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for step in &plan.steps {
        let mut nodes = vec![&step.args];
        nodes.extend(&step.when);
        nodes.extend(step.for_each.as_ref().map(|for_each| &for_each.over));
        nodes.extend(step.repeat.as_ref().map(|repeat| &repeat.until));
        match &step.action {
            Action::Value(value) => nodes.push(value),
            Action::Plan(call) => {
                if let PlanTarget::Inline(inner) = &call.target {
                    lines.extend(shown(inner));
                    if let Output::Value(node) = &inner.output {
                        nodes.push(node);
                    }
                }
            }
            Action::Tool(_) => {}
        }
        let mut texts = Vec::new();
        for node in nodes {
            node.each_reference(&mut |reference| texts.push(reference.text.to_string()));
        }
        lines.push(format!("{}: {}", step.id, texts.join("  ")));
    }
    lines
}
