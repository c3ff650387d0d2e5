//! Slots of runs that are being started, so that concurrent requests do not exceed the limit of a client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_mcp::gateway::ClientId;

/// The number of reserved slots, by client.
#[derive(Clone, Debug, Default)]
pub(super) struct RunSlots(Arc<Mutex<Reserved>>);

type Reserved = HashMap<ClientId, usize>;

/// The limits of the runs of one client that are in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLimits {
    /// The number of runs.
    pub(crate) runs: usize,
    /// The number of written bytes above which no further run starts.
    pub(crate) bytes: u64,
}

/// The reason why a client may not start another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// Too many runs of the client are in progress.
    Runs,
    /// The runs in progress have written too many bytes, this number.
    Bytes(u64),
}

/// The slot of a run that is being started, until the run is tracked or this is dropped.
#[derive(Debug)]
pub(crate) struct RunSlot {
    slots: RunSlots,
    /// `None` once the slot is released.
    client: Option<ClientId>,
}

impl RunSlots {
    /// Reserves a slot. `in_flight` returns the number of the client's runs in progress, and the bytes that they have written.
    pub(super) fn reserve(
        &self,
        client: &ClientId,
        limits: RunLimits,
        in_flight: impl FnOnce() -> (usize, u64),
    ) -> Result<RunSlot, NoSlot> {
        let mut reserved = self.lock();
        let starting = reserved.get(client).copied().unwrap_or_default();
        let (count, bytes) = in_flight();
        if count + starting >= limits.runs {
            return Err(NoSlot::Runs);
        }
        if bytes > limits.bytes {
            return Err(NoSlot::Bytes(bytes));
        }
        *reserved.entry(client.clone()).or_default() += 1;
        Ok(RunSlot {
            slots: self.clone(),
            client: Some(client.clone()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Reserved> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunSlot {
    /// Releases the slot and lets `track` add the run, under one lock, so that other requests count exactly one of both.
    pub(super) fn replace_by(mut self, track: impl FnOnce()) {
        let client = self.client.take();
        let mut reserved = self.slots.lock();
        track();
        release(&mut reserved, client.as_ref());
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            release(&mut self.slots.lock(), Some(&client));
        }
    }
}

fn release(reserved: &mut Reserved, client: Option<&ClientId>) {
    let Some(client) = client else {
        return;
    };
    if let Some(count) = reserved.get_mut(client) {
        *count -= 1;
        if *count == 0 {
            reserved.remove(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_before_its_run_is_tracked() {
        let (slots, client) = (RunSlots::default(), ClientId::local());
        let limits = RunLimits { runs: 2, bytes: 8 };
        let reserve = |count, bytes| slots.reserve(&client, limits, || (count, bytes));
        assert_eq!(reserve(2, 0).unwrap_err(), NoSlot::Runs);
        assert_eq!(reserve(1, 9).unwrap_err(), NoSlot::Bytes(9));
        let first = reserve(0, 0).unwrap();
        let second = reserve(0, 8).unwrap();
        assert_eq!(reserve(0, 0).unwrap_err(), NoSlot::Runs);
        assert!(
            slots
                .reserve(&ClientId::new("other"), limits, || (0, 0))
                .is_ok()
        );
        drop(first);
        second.replace_by(|| {});
        assert!(slots.lock().is_empty());
    }
}
