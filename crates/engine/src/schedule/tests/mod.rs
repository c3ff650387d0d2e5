//! Scripted scenes of the scheduler, and its properties.

mod calls;
mod groups;
mod properties;
mod queues;
mod scene;
