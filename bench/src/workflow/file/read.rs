//! Reads WfFormat, and reports all errors of a file.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use planwright_core::Value;

use super::{Task, VERSIONS, Workflow, WorkflowFault};

/// The longest time that a task may have taken, in seconds: some thirty years.
const LONGEST: f64 = 1e9;

pub(super) fn workflow(value: &Value) -> Result<Workflow, Vec<WorkflowFault>> {
    let mut reader = Reader::default();
    let workflow = reader.workflow(value);
    if reader.errors.is_empty() {
        Ok(workflow)
    } else {
        Err(reader.errors)
    }
}

/// The lists that hold the parts of a task: one list in WfFormat 1.4, two in later versions.
struct Layout {
    tasks: &'static str,
    times: &'static str,
    /// True if tasks may refer to parents by name.
    by_name: bool,
}

/// The position of a task in its list.
struct OrderSource<'a> {
    ids: HashMap<&'a str, usize>,
    /// Indices by name; names need not be unique.
    names: HashMap<&'a str, Vec<usize>>,
}

impl OrderSource<'_> {
    /// The positions of the task with the id `name`, or else of all tasks with that name.
    fn of(&self, name: &str) -> &[usize] {
        match (self.ids.get(name), self.names.get(name)) {
            (Some(position), _) => std::slice::from_ref(position),
            (None, Some(positions)) => positions,
            (None, None) => &[],
        }
    }
}

const ONE_LIST: Layout = Layout {
    tasks: "/workflow/tasks",
    times: "/workflow/tasks",
    by_name: true,
};

const TWO_LISTS: Layout = Layout {
    tasks: "/workflow/specification/tasks",
    times: "/workflow/execution/tasks",
    by_name: false,
};

#[derive(Default)]
struct Reader {
    errors: Vec<WorkflowFault>,
}

impl Reader {
    fn error(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.errors.push(WorkflowFault {
            pointer: pointer.into(),
            message: message.into(),
        });
    }

    fn workflow(&mut self, value: &Value) -> Workflow {
        let mut workflow = Workflow {
            name: text(value, "name").unwrap_or("a workflow").to_owned(),
            tasks: Vec::new(),
        };
        let layout = match text(value, "schemaVersion") {
            Some("1.4") => ONE_LIST,
            Some(version) if VERSIONS.contains(&version) => TWO_LISTS,
            Some(other) => {
                let known = VERSIONS.join("`, `");
                let message = format!("WfFormat `{other}` is not one of `{known}`");
                self.error("/schemaVersion", message);
                return workflow;
            }
            None => {
                self.error(
                    "",
                    "the file does not say its `schemaVersion`, so it is not a WfFormat",
                );
                return workflow;
            }
        };
        let tasks = self.list(value, layout.tasks);
        let times = self.list(value, layout.times);
        let mut ids = HashMap::new();
        let mut names: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let at = format!("{}/{index}", layout.tasks);
            let id = text(task, "id").or_else(|| text(task, "name").filter(|_| layout.by_name));
            let Some(id) = id else {
                self.error(at, "a task has no `id`");
                continue;
            };
            let position = workflow.tasks.len();
            if ids.insert(id, position).is_some() {
                self.error(format!("{at}/id"), format!("the task `{id}` stands twice"));
            }
            if layout.by_name {
                let name = text(task, "name").unwrap_or(id);
                names.entry(name).or_default().push(position);
            }
            workflow.tasks.push(Task {
                id: id.to_owned(),
                ..Task::default()
            });
        }
        let found = OrderSource { ids, names };
        self.times(times, &layout, &found, &mut workflow);
        if self.errors.is_empty() {
            self.relatives(tasks, &layout, &found, &mut workflow);
        }
        if self.errors.is_empty() {
            self.circle(&workflow, &layout);
        }
        workflow
    }

    /// A required list that is not empty.
    fn list<'a>(&mut self, value: &'a Value, pointer: &str) -> &'a [Value] {
        let mut at = Some(value);
        for key in pointer.split('/').skip(1) {
            at = at.and_then(|value| value.get(key));
        }
        match at.and_then(Value::as_list) {
            Some([]) => self.error(pointer, "there are no tasks"),
            Some(list) => return list,
            None if self.errors.iter().any(|error| error.pointer == pointer) => {}
            None => self.error(pointer, "there is no list of tasks"),
        }
        &[]
    }

    /// Reads the run time of each task.
    fn times(
        &mut self,
        times: &[Value],
        layout: &Layout,
        positions: &OrderSource<'_>,
        workflow: &mut Workflow,
    ) {
        let mut timed = BTreeSet::new();
        for (index, entry) in times.iter().enumerate() {
            let at = format!("{}/{index}", layout.times);
            let id = text(entry, "id").or_else(|| text(entry, "name"));
            let found = id.map(|id| positions.of(id)).unwrap_or_default();
            let Some(position) = found.first().copied() else {
                let id = id.unwrap_or_default();
                self.error(
                    at,
                    format!("the run has a task `{id}` that the workflow has not"),
                );
                continue;
            };
            if !timed.insert(position) {
                let id = id.unwrap_or_default();
                self.error(at, format!("the run has the task `{id}` twice"));
                continue;
            }
            let at = format!("{at}/runtimeInSeconds");
            let seconds = entry.get("runtimeInSeconds").map(Value::as_f64);
            match (seconds, workflow.tasks.get_mut(position)) {
                (Some(Some(seconds)), Some(task)) if (0.0..=LONGEST).contains(&seconds) => {
                    task.micros = micros(seconds);
                }
                (Some(Some(seconds)), _) => {
                    let message = format!("a task cannot have taken `{seconds}` seconds");
                    self.error(at, message);
                }
                (Some(None), _) => self.error(at, "the time of a task must be a number"),
                (None, _) => self.error(at, "the time of a task is missing"),
            }
        }
        for (index, task) in workflow.tasks.iter().enumerate() {
            if !times.is_empty() && !timed.contains(&index) {
                let at = format!("{}/{index}", layout.tasks);
                self.error(at, format!("the run has no time of the task `{}`", task.id));
            }
        }
    }

    /// Reads the dependencies. `parents` and `children` state the same edges, and one of them is enough.
    fn relatives(
        &mut self,
        tasks: &[Value],
        layout: &Layout,
        positions: &OrderSource<'_>,
        workflow: &mut Workflow,
    ) {
        let mut parents = vec![BTreeSet::new(); workflow.tasks.len()];
        for (index, task) in tasks.iter().enumerate() {
            for (field, is_parent) in [("parents", true), ("children", false)] {
                let at = format!("{}/{index}/{field}", layout.tasks);
                let named = match task.get(field) {
                    None | Some(Value::Null) => &[],
                    Some(Value::List(named)) => named.as_slice(),
                    Some(_) => {
                        self.error(at, format!("`{field}` must be a list of tasks"));
                        continue;
                    }
                };
                for (nth, name) in named.iter().enumerate() {
                    let name = name.as_text().unwrap_or_default();
                    let other = match positions.of(name) {
                        [other] => *other,
                        [] => {
                            let message = format!("the task `{name}` does not exist");
                            self.error(format!("{at}/{nth}"), message);
                            continue;
                        }
                        _ => {
                            let message = format!("several tasks are called `{name}`");
                            self.error(format!("{at}/{nth}"), message);
                            continue;
                        }
                    };
                    let (parent, child) = if is_parent {
                        (other, index)
                    } else {
                        (index, other)
                    };
                    if let Some(parents) = parents.get_mut(child) {
                        parents.insert(u32::try_from(parent).unwrap_or(u32::MAX));
                    }
                }
            }
        }
        for (task, parents) in workflow.tasks.iter_mut().zip(parents) {
            task.parents = parents.into_iter().collect();
        }
    }

    /// A cycle of tasks that wait for each other.
    fn circle(&mut self, workflow: &Workflow, layout: &Layout) {
        let Some(circle) = circle(&workflow.tasks) else {
            return;
        };
        let names: Vec<String> = circle
            .iter()
            .map(|index| format!("`{}`", workflow.tasks[*index].id))
            .collect();
        let first = circle.first().copied().unwrap_or_default();
        let shown = if names.len() > 8 {
            format!("{} and {} more", names[..8].join(", "), names.len() - 8)
        } else {
            names.join(", ")
        };
        self.error(
            format!("{}/{first}/parents", layout.tasks),
            format!("tasks wait for each other in a circle: {shown}"),
        );
    }
}

/// Returns one cycle among the tasks, if there is any: each task waits for the next one, the last for the first.
fn circle(tasks: &[Task]) -> Option<Vec<usize>> {
    let mut open: Vec<usize> = tasks.iter().map(|task| task.parents.len()).collect();
    let mut children = vec![Vec::new(); tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        for parent in &task.parents {
            children[*parent as usize].push(index);
        }
    }
    let mut done: Vec<usize> = (0..tasks.len()).filter(|task| open[*task] == 0).collect();
    while let Some(task) = done.pop() {
        for child in &children[task] {
            open[*child] -= 1;
            if open[*child] == 0 {
                done.push(*child);
            }
        }
    }
    // Each remaining task waits for another remaining one, so following the dependencies finds a cycle.
    let mut at = (0..tasks.len()).find(|task| open[*task] > 0)?;
    let mut seen = Vec::new();
    let mut places = HashMap::new();
    while let Entry::Vacant(place) = places.entry(at) {
        place.insert(seen.len());
        seen.push(at);
        let mut parents = tasks[at].parents.iter().map(|parent| *parent as usize);
        at = parents.find(|parent| open[*parent] > 0)?;
    }
    Some(seen.split_off(places[&at]))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_text()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the time was found to lie between nothing and thirty years"
)]
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}
