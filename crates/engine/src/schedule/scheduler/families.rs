//! Which tasks belong to which groups. Most runs have no groups, and then nothing is kept.

use super::super::task::TaskId;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// By task: as many as are needed for the last that belongs to a group.
    all: Vec<Family>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Family {
    parent: Option<TaskId>,
    open_children: u32,
}

impl Families {
    /// Makes `child` belong to `group`, which has one more child that has not settled.
    pub(super) fn add(&mut self, child: TaskId, group: TaskId) {
        let needed = child.0.max(group.0) as usize + 1;
        let count = self.all.len().max(needed);
        self.all.resize(count, Family::default());
        if let Some(family) = self.all.get_mut(child.0 as usize) {
            family.parent = Some(group);
        }
        if let Some(family) = self.all.get_mut(group.0 as usize) {
            family.open_children += 1;
        }
    }

    /// The group that a task belongs to.
    pub(super) fn parent(&self, task: TaskId) -> Option<TaskId> {
        self.all.get(task.0 as usize)?.parent
    }

    /// Whether all children of `group` that were added have settled.
    pub(super) fn are_settled(&self, group: TaskId) -> bool {
        let family = self.all.get(group.0 as usize);
        family.is_none_or(|family| family.open_children == 0)
    }

    /// Another child of `group` has settled.
    pub(super) fn settle_one(&mut self, group: TaskId) {
        if let Some(family) = self.all.get_mut(group.0 as usize) {
            family.open_children = family.open_children.saturating_sub(1);
        }
    }
}
