//! The state of a task packed into one number: with a million tasks each byte counts, since data beyond the
//! processor's caches must be waited for.

use super::super::task::TaskState;

/// The state of a task, its current attempt and three flags. The state takes the lowest three bits, each flag one, the
/// attempt the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PackedState(u32);

/// A flag of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum TaskFlag {
    /// The group is complete: no further children are added.
    Sealed = 1 << 3,
    /// The scope is stopped: nothing new may start below.
    Stopping = 1 << 4,
    /// The timer of the whole task is set.
    StepTimer = 1 << 5,
}

impl PackedState {
    const STATE: u32 = 0b111;
    const ATTEMPT_SHIFT: u32 = 6;

    /// The last attempt that can be represented.
    pub(super) const LAST_ATTEMPT: u32 = u32::MAX >> Self::ATTEMPT_SHIFT;

    pub(super) fn state(self) -> TaskState {
        match self.0 & Self::STATE {
            0 => TaskState::Waiting,
            1 => TaskState::Preparing,
            2 => TaskState::AwaitingApproval,
            3 => TaskState::Ready,
            4 => TaskState::Running,
            5 => TaskState::Backoff,
            6 => TaskState::Group,
            _ => TaskState::Settled,
        }
    }

    pub(super) fn set_state(&mut self, state: TaskState) {
        self.0 = self.0 & !Self::STATE | state as u32;
    }

    /// The attempt; 0 before the first.
    pub(super) fn attempt(self) -> u32 {
        self.0 >> Self::ATTEMPT_SHIFT
    }

    pub(super) fn set_attempt(&mut self, attempt: u32) {
        let attempt = attempt.min(Self::LAST_ATTEMPT);
        self.0 = self.0 & ((1 << Self::ATTEMPT_SHIFT) - 1) | attempt << Self::ATTEMPT_SHIFT;
    }

    pub(super) fn has_flag(self, flag: TaskFlag) -> bool {
        self.0 & flag as u32 != 0
    }

    pub(super) fn set_flag(&mut self, flag: TaskFlag) {
        self.0 |= flag as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_given_back() {
        let states = [
            TaskState::Waiting,
            TaskState::Preparing,
            TaskState::AwaitingApproval,
            TaskState::Ready,
            TaskState::Running,
            TaskState::Backoff,
            TaskState::Group,
            TaskState::Settled,
        ];
        let mut packed = PackedState::default();
        for state in states {
            packed.set_state(state);
            assert_eq!(packed.state(), state);
        }
    }

    #[test]
    fn its_parts_do_not_touch_each_other() {
        let mut packed = PackedState::default();
        assert_eq!((packed.state(), packed.attempt()), (TaskState::Waiting, 0));
        packed.set_attempt(3);
        packed.set_state(TaskState::Settled);
        packed.set_flag(TaskFlag::Stopping);
        packed.set_attempt(u32::MAX);
        packed.set_state(TaskState::AwaitingApproval);
        assert_eq!(packed.state(), TaskState::AwaitingApproval);
        assert_eq!(packed.attempt(), PackedState::LAST_ATTEMPT);
        assert!(packed.has_flag(TaskFlag::Stopping));
        assert!(!packed.has_flag(TaskFlag::Sealed) && !packed.has_flag(TaskFlag::StepTimer));
        packed.set_attempt(0);
        assert!(packed.has_flag(TaskFlag::Stopping));
        assert_eq!(
            (packed.state(), packed.attempt()),
            (TaskState::AwaitingApproval, 0)
        );
    }
}
