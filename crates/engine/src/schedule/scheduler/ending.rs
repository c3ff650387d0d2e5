//! The end of tasks: of single ones and of all below a group, with the effect on waiting tasks.

use super::super::task::{Command, SettledBy, TaskId, TaskState, Timer};
use super::Scheduler;
use super::packed_state::TaskFlag;

impl Scheduler {
    pub(super) fn stop(&mut self, scope: Option<TaskId>, out: &mut Vec<Command>) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.set_flag(TaskFlag::Stopping),
            None => self.stopping = true,
        }
        for id in self.unsettled_below(scope) {
            match self.state(id) {
                TaskState::Waiting
                | TaskState::Preparing
                | TaskState::AwaitingApproval
                | TaskState::Ready
                | TaskState::Backoff => self.settle(id, SettledBy::Stop, out),
                // Calls in flight may finish, and groups close after their children.
                TaskState::Running | TaskState::Group | TaskState::Settled => {}
            }
        }
    }

    /// Ends everything below `scope` at once, including running tasks.
    pub(super) fn end_all(&mut self, scope: Option<TaskId>, by: SettledBy, out: &mut Vec<Command>) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.set_flag(TaskFlag::Stopping),
            None => self.stopping = true,
        }
        // Children come after their group, so in reverse order no group closes by itself.
        for id in self.unsettled_below(scope).into_iter().rev() {
            self.end(id, by, out);
        }
    }

    pub(super) fn end(&mut self, id: TaskId, by: SettledBy, out: &mut Vec<Command>) {
        if self.state(id) == TaskState::Running {
            let attempt = self.attempt(id);
            out.push(Command::Abort { task: id, attempt });
            self.release_slot(id, out);
        }
        self.settle(id, by, out);
    }

    /// The unsettled tasks below `scope`, parents before children.
    fn unsettled_below(&self, scope: Option<TaskId>) -> Vec<TaskId> {
        let mut below = vec![scope.is_none(); self.tasks.len()];
        let mut found = Vec::new();
        for (id, state) in self.tasks.all() {
            let inside = scope.is_none()
                || self.tasks.tree().parent(id).is_some_and(|parent| {
                    Some(parent) == scope || below.get(parent.0 as usize) == Some(&true)
                });
            if let Some(mark) = below.get_mut(id.0 as usize) {
                *mark = inside;
            }
            if inside && state != TaskState::Settled {
                found.push(id);
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
        task.set_terms(None);
        let had_timer = task.has_flag(TaskFlag::StepTimer);
        let parent = self.tasks.tree().parent(id);
        // A timer that has fired needs no clearing.
        if had_timer && by != SettledBy::StepTimeout {
            out.push(Command::ClearTimer(id, Timer::Step));
        }
        out.push(Command::Settled(id, by));
        let mut free = std::mem::take(&mut self.free);
        self.tasks.release(id, &mut free);
        for id in free.drain(..) {
            self.enter(id, TaskState::Preparing);
            out.push(Command::Prepare(id));
        }
        self.free = free;
        if let Some(parent) = parent {
            self.child_settled(parent, id, out);
        }
    }

    fn child_settled(&mut self, group: TaskId, child: TaskId, out: &mut Vec<Command>) {
        self.tasks.tree_mut().count_settled(group);
        if self.state(group) != TaskState::Group {
            return;
        }
        if self
            .task(group)
            .is_some_and(|group| group.has_flag(TaskFlag::Sealed))
        {
            self.close_if_done(group, out);
        } else {
            out.push(Command::ChildSettled { group, child });
        }
    }

    pub(super) fn close_if_done(&mut self, group: TaskId, out: &mut Vec<Command>) {
        if let Some(entry) = self.task(group)
            && entry.state() == TaskState::Group
            && entry.has_flag(TaskFlag::Sealed)
            && self.tasks.tree().all_settled(group)
        {
            out.push(Command::Close(group));
        }
    }
}
