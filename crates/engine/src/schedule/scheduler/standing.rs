//! Where a task stands, in one number: of a million tasks each byte counts, since what does not fit into a processor's caches is
//! waited for.

use super::super::task::TaskState;

/// How a task stands: its state, the attempt that it is at, and three marks. The state has the lowest three bits, a mark one each, the
/// attempt the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing(u32);

/// Something that is so or not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// No further children will be added.
    Sealed = 1 << 3,
    /// Nothing new may start below.
    Stopping = 1 << 4,
    /// The timer of the whole task is set.
    StepTimer = 1 << 5,
}

impl Standing {
    const STATE: u32 = 0b111;
    const ATTEMPT_SHIFT: u32 = 6;

    /// The last attempt that can be told from the one before.
    pub(super) const LAST_ATTEMPT: u32 = u32::MAX >> Self::ATTEMPT_SHIFT;

    pub(super) fn state(self) -> TaskState {
        match self.0 & Self::STATE {
            0 => TaskState::Waiting,
            1 => TaskState::Preparing,
            2 => TaskState::Asking,
            3 => TaskState::Ready,
            4 => TaskState::Running,
            5 => TaskState::Pausing,
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

    pub(super) fn has(self, mark: Mark) -> bool {
        self.0 & mark as u32 != 0
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        self.0 |= mark as u32;
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
            TaskState::Asking,
            TaskState::Ready,
            TaskState::Running,
            TaskState::Pausing,
            TaskState::Group,
            TaskState::Settled,
        ];
        let mut standing = Standing::default();
        for state in states {
            standing.set_state(state);
            assert_eq!(standing.state(), state);
        }
    }

    #[test]
    fn its_parts_do_not_touch_each_other() {
        let mut standing = Standing::default();
        assert_eq!(
            (standing.state(), standing.attempt()),
            (TaskState::Waiting, 0)
        );
        standing.set_attempt(3);
        standing.set_state(TaskState::Settled);
        standing.mark(Mark::Stopping);
        standing.set_attempt(u32::MAX);
        standing.set_state(TaskState::Asking);
        assert_eq!(standing.state(), TaskState::Asking);
        assert_eq!(standing.attempt(), Standing::LAST_ATTEMPT);
        assert!(standing.has(Mark::Stopping));
        assert!(!standing.has(Mark::Sealed) && !standing.has(Mark::StepTimer));
        standing.set_attempt(0);
        assert!(standing.has(Mark::Stopping));
        assert_eq!(
            (standing.state(), standing.attempt()),
            (TaskState::Asking, 0)
        );
    }
}
