//! How tasks end: each by itself, all below a group, and what that means for those that waited.

use super::super::task::{Command, SettledBy, TaskId, TaskState, Timer};
use super::Scheduler;

impl Scheduler {
    pub(super) fn stop(&mut self, scope: Option<TaskId>, out: &mut Vec<Command>) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.stopping = true,
            None => self.stopping = true,
        }
        for id in self.unsettled_below(scope) {
            match self.state(id) {
                TaskState::Waiting
                | TaskState::Preparing
                | TaskState::Asking
                | TaskState::Ready
                | TaskState::Pausing => self.settle(id, SettledBy::Stop, out),
                TaskState::Running | TaskState::Group | TaskState::Settled => {}
            }
        }
    }

    /// Ends everything below `scope` at once, what runs included.
    pub(super) fn end_all(&mut self, scope: Option<TaskId>, by: SettledBy, out: &mut Vec<Command>) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.stopping = true,
            None => self.stopping = true,
        }
        // Children come after their group, so that going backwards no group closes by itself.
        for id in self.unsettled_below(scope).into_iter().rev() {
            self.end(id, by, out);
        }
    }

    pub(super) fn end(&mut self, id: TaskId, by: SettledBy, out: &mut Vec<Command>) {
        if self.state(id) == TaskState::Running {
            let attempt = self.attempt(id);
            out.push(Command::Abort { task: id, attempt });
            self.give_back(id, out);
        }
        self.settle(id, by, out);
    }

    /// The tasks below `scope` that have not settled, parents before children.
    fn unsettled_below(&self, scope: Option<TaskId>) -> Vec<TaskId> {
        let mut below = vec![scope.is_none(); self.tasks.len()];
        let mut found = Vec::new();
        for (index, task) in self.tasks.iter().enumerate() {
            let inside = scope.is_none()
                || task.parent.is_some_and(|parent| {
                    Some(parent) == scope || below.get(parent.0 as usize) == Some(&true)
                });
            if let Some(mark) = below.get_mut(index) {
                *mark = inside;
            }
            if inside && task.state != TaskState::Settled {
                found.push(TaskId(u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
        found
    }

    pub(super) fn settle(&mut self, id: TaskId, by: SettledBy, out: &mut Vec<Command>) {
        if self.state(id) == TaskState::Settled {
            return;
        }
        self.enter(id, TaskState::Settled);
        self.unsettled -= 1;
        let Some(task) = self.task_mut(id) else {
            return;
        };
        task.terms = None;
        let step_timer = std::mem::take(&mut task.step_timer);
        let dependents = std::mem::take(&mut task.dependents);
        let parent = task.parent;
        if step_timer && by != SettledBy::StepTimeout {
            out.push(Command::ClearTimer(id, Timer::Step));
        }
        out.push(Command::Settled(id, by));
        for dependent in dependents {
            self.one_less(dependent, out);
        }
        if let Some(parent) = parent {
            self.child_settled(parent, id, out);
        }
    }

    fn one_less(&mut self, id: TaskId, out: &mut Vec<Command>) {
        let Some(task) = self.task_mut(id) else {
            return;
        };
        task.open_waits = task.open_waits.saturating_sub(1);
        if task.open_waits == 0 && task.state == TaskState::Waiting {
            self.enter(id, TaskState::Preparing);
            out.push(Command::Prepare(id));
        }
    }

    fn child_settled(&mut self, group: TaskId, child: TaskId, out: &mut Vec<Command>) {
        let Some(entry) = self.task_mut(group) else {
            return;
        };
        entry.open_children = entry.open_children.saturating_sub(1);
        if entry.state != TaskState::Group {
            return;
        }
        if entry.sealed {
            self.close_if_done(group, out);
        } else {
            out.push(Command::ChildSettled { group, child });
        }
    }

    pub(super) fn close_if_done(&mut self, group: TaskId, out: &mut Vec<Command>) {
        if let Some(entry) = self.task(group)
            && entry.state == TaskState::Group
            && entry.sealed
            && entry.open_children == 0
        {
            out.push(Command::Close(group));
        }
    }
}
