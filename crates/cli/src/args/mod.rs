//! The command line, as clap reads it.

mod command;
mod engine_options;
mod inspect;
pub(crate) mod planning;
pub(crate) mod run;
mod serve;
mod servers;
mod subjects;
mod tips;

pub(crate) use command::{
    Arguments, Colour, Command, DemoArguments, Format, MAX_DEPTH, MAX_SIZE, PlanArguments,
    Progress, RunArguments, RunFormat, RunOutputArguments, SingleCallArguments, StoreArguments,
    TextArguments, ToolArguments, TrustArguments,
};
pub(crate) use engine_options::{EngineArguments, GuardArguments};
pub(crate) use inspect::{
    CheckArguments, ConfigArguments, ConvertArguments, DatesArguments, DrawingFormat,
    ExplainArguments, FlowArguments, FlowSwitches, ShowArguments, TimeArguments, ToolsArguments,
};
pub(crate) use planning::{
    AdaptArguments, AskArguments, ChatArguments, CreateArguments, ModelArguments,
    PlanningArguments, Protocol,
};
pub(crate) use run::{
    Approve, ApproveArguments, AttachArguments, CancelArguments, ConsentArguments, DeleteArguments,
    DiffArguments, DrainArguments, ExportArguments, ImportArguments, ListArguments, LogsArguments,
    PassphraseArguments, PruneArguments, QuestionArguments, RejectArguments, ReplayArguments,
    ResumeArguments, RunStateArgument, RunsArguments, SaveArguments, StreamArguments,
    WaitingArguments,
};
pub(crate) use serve::{
    InitArguments, LoginArguments, ServeArguments, TokenArguments, TokenCommand, UiArguments,
    WorkerArguments, WrapArguments, WrapScope,
};
pub(crate) use servers::{
    AddServerArguments, DoctorArguments, ListServersArguments, ManArguments, ServersArguments,
    ServersCommand,
};
pub(crate) use subjects::parse;

#[cfg(test)]
mod tests;
