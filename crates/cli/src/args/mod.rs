//! The command line, as clap reads it.

mod command;
mod engine_options;
mod inspect;
mod learn;
pub(crate) mod planning;
pub(crate) mod run;
mod serve;
mod servers;
mod shared;
mod subjects;
mod tips;

pub(crate) use command::{
    Arguments, Command, DemoArguments, RunArguments, SingleCallArguments, TrustArguments,
};
pub(crate) use engine_options::{EngineArguments, GuardArguments};
pub(crate) use inspect::{
    CheckArguments, ConfigArguments, ConvertArguments, DatesArguments, DrawingFormat,
    ExplainArguments, FlowArguments, FlowSwitches, LspArguments, ShowArguments, TimeArguments,
    ToolsArguments,
};
pub(crate) use learn::{LearnArguments, TraceFormatArgument};
pub(crate) use planning::{
    AdaptArguments, AskArguments, ChatArguments, CreateArguments, ModelArguments,
    PlanningArguments, Protocol,
};
pub(crate) use run::{
    ApproveArguments, AttachArguments, CancelArguments, DeleteArguments, DiffArguments,
    ExportArguments, ImportArguments, ListArguments, LogsArguments, PassphraseArguments,
    PruneArguments, QuestionArguments, RejectArguments, ReplayArguments, ResumeArguments,
    RevertArguments, RunStateArgument, RunsArguments, SaveArguments, WaitingArguments,
};
pub(crate) use serve::{
    HealthArguments, InitArguments, LoginArguments, ServeArguments, TokenArguments, TokenCommand,
    UiArguments, WorkerArguments, WrapArguments, WrapScope,
};
pub(crate) use servers::{
    AddServerArguments, DoctorArguments, ListServersArguments, ManArguments, ServersArguments,
    ServersCommand,
};
pub(crate) use shared::{
    Approve, Colour, ConsentArguments, DrainArguments, Format, MAX_DEPTH, MAX_SIZE, PlanArguments,
    Progress, RunFormat, RunOutputArguments, StoreArguments, TextArguments, ToolArguments,
};
pub(crate) use subjects::parse;

#[cfg(test)]
mod tests;
