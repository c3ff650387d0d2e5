//! `planwright chat`: conversations with a model that calls tools and runs plans.

mod acts;
mod calls;
mod chat_file;
pub(crate) mod command;
mod context;
mod delegates;
mod output;
mod plans;
mod review;
mod streamed;
mod tool_definitions;
mod turn;
