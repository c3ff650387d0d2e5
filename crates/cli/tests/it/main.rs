//! The program as its users meet it.

mod approvals;
mod call;
mod cases;
mod chat;
mod checking;
mod client_explanation;
mod code_pages;
#[cfg(unix)]
mod completion;
mod convert;
mod converted;
mod crashes;
mod dates;
mod decisions;
mod demo;
mod durations;
#[cfg(unix)]
mod effects;
mod exits;
mod explain;
mod extraction;
mod figures;
mod findings;
mod fixing;
mod gateway;
mod guards;
mod guide;
mod help;
mod init;
mod inspect;
mod interrupts;
mod learned;
mod learning;
mod model;
mod needed_servers;
mod openapi;
mod origins;
mod orphans;
mod outages;
mod page;
#[cfg(unix)]
mod paging;
mod pins;
mod planner;
mod postgres;
mod program;
mod prompts;
mod real_servers;
mod reference;
mod restate;
#[cfg(unix)]
mod restate_faults;
mod resume;
mod revert;
mod runs;
mod secrets;
mod selectors;
mod servers;
mod stored;
mod streamed;
mod telemetry;
mod terminal;
mod tokens;
mod trust;
mod typing;
mod unknown;
mod waiting;
#[cfg(unix)]
mod watching;
mod whole_plans;
mod wrap;
mod wrap_clients;
mod written;
