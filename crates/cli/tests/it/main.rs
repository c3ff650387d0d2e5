//! The program as its users meet it.

mod approvals;
mod call;
mod cases;
mod chat;
mod checking;
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
mod model;
mod origins;
mod orphans;
#[cfg(unix)]
mod paging;
mod pins;
mod planner;
mod program;
mod prompts;
mod real_servers;
mod reference;
mod resume;
mod runs;
mod secrets;
mod selectors;
mod servers;
mod stored;
mod streamed;
mod telemetry;
mod tokens;
mod trust;
mod unknown;
mod waiting;
#[cfg(unix)]
mod watching;
mod wrap;
mod written;
