//! `planwright chat`: conversations with a model that calls tools and runs plans.

mod acts;
mod calls;
mod chat_file;
mod chat_plans;
pub(crate) mod command;
mod context;
mod library;
mod plan_command;
mod plans;
mod tool_offer;
mod turn;
mod turn_runs;
