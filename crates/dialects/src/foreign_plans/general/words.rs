//! The words of systems that are not known one by one, and what they mean.

/// The meaning of a field of a call, of a group of calls, or of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The name of a call.
    Id,
    /// The name of the result of a call.
    Result,
    /// The server of a tool.
    Server,
    /// The arguments of a call.
    Args,
    /// The calls for which a call waits.
    After,
    /// The condition of a call or of a group.
    When,
    /// The calls under a condition.
    Then,
    /// The calls under the opposite of a condition.
    Otherwise,
    /// The list of a loop.
    Over,
    /// The name of the item of a loop.
    ItemName,
    /// A field that the native dialect reads, or guesses, under this name: a limit of time, further attempts.
    Option,
    /// A text for people.
    Note,
    /// The title of a plan or of a call.
    Title,
    /// The inputs of a plan, with their defaults.
    Inputs,
    /// The constants of a plan.
    Constants,
    /// The output of a plan.
    Output,
    /// The edges between calls.
    Edges,
    /// A mark of a format or of an editor that says nothing about a run.
    Mark,
}

/// `key` without signs and in lower case, so that `toolName`, `tool-name` and `Tool Name` are the same.
pub(super) fn normal(key: &str) -> String {
    let signs = key.chars().filter(|sign| sign.is_alphanumeric());
    signs.flat_map(char::to_lowercase).collect()
}

/// The words of each meaning, as [`normal`] writes them; those of other languages are at the end of a list.
const WORDS: [(Meaning, &[&str]); 18] = [
    (
        Meaning::Id,
        &[
            "id", "stepid", "taskid", "nodeid", "actionid", "callid", "key", "step", "nr", "no", "number",
            "stepnumber", "index", "uid", "ref", "label", "stepname", "taskname", "schritt", "paso", "étape",
            "passo", "nummer",
        ],
    ),
    (
        Meaning::Result,
        &[
            "saveas", "saveto", "storeas", "storein", "resultvariable", "result", "resultname", "resultkey",
            "resultas", "outputvariable", "outputvar", "outputname", "outputkey", "outputas", "responsevariable",
            "register", "assign", "assignto", "as", "var", "variable", "out", "bind", "evidence", "callit",
            "storeresultas", "saveresultas", "saveoutputas", "returns", "name", "speichernals", "guardarcomo", "sortie",
        ],
    ),
    (Meaning::Server, &["server", "servername", "mcpserver", "provider", "toolset", "app", "connector"]),
    (
        Meaning::Args,
        &[
            "args", "arguments", "argument", "params", "parameters", "input", "inputs", "with", "toolinput",
            "actioninput", "toolargs", "toolparams", "toolparameters", "toolarguments", "kwargs", "opkwargs",
            "payload", "mapper", "inputparameters", "functionargs", "functionarguments", "data", "parameter",
            "argumente", "parámetros", "argumentos", "arguments", "paramètres", "parâmetros", "parametri",
        ],
    ),
    (
        Meaning::After,
        &[
            "after", "dependson", "dependencies", "dependency", "depends", "needs", "requires", "require", "waitfor",
            "waitsfor", "runafter", "prerequisites", "parents", "deps", "dep", "upstream", "predecessors", "follows",
            "blockedby", "nach", "abhängigvon", "dependede", "dependende", "despuésde", "après", "depois", "dopo",
        ],
    ),
    (
        Meaning::When,
        &["when", "if", "condition", "conditions", "onlyif", "runif", "guard", "wenn", "cuando", "quand"],
    ),
    (
        Meaning::Then,
        &["then", "iftrue", "ontrue", "true", "whentrue", "thensteps", "dann", "entonces", "alors"],
    ),
    (
        Meaning::Otherwise,
        &["else", "iffalse", "onfalse", "false", "otherwise", "whenfalse", "default", "elsesteps", "sonst"],
    ),
    (
        Meaning::Over,
        &["foreach", "for", "loop", "over", "items", "withitems", "withparam", "each", "iterate", "loopover", "in", "collection"],
    ),
    (Meaning::ItemName, &["itemname", "itemvar", "itemvariable", "loopvar", "iterator", "it", "item"]),
    (
        Meaning::Option,
        &[
            "retry", "retries", "maxretries", "attempts", "maxattempts", "timeout", "timeoutms", "timeoutseconds",
            "onerror", "onfailure", "continueonerror", "ignoreerrors", "approval", "requiresapproval", "optional",
            "fallback", "maxparallel", "repeat", "delay",
        ],
    ),
    (
        Meaning::Note,
        &[
            "description", "desc", "comment", "comments", "note", "notes", "reason", "reasoning", "rationale",
            "thought", "thoughts", "explanation", "purpose", "why", "what", "goal", "objective", "intent", "summary",
            "question", "userrequest", "expectedoutput", "doc", "documentation", "beschreibung", "objetivo",
            "descripción", "descripcion", "ziel", "notiz", "zweck", "but", "objectif", "descrição",
        ],
    ),
    (Meaning::Title, &["title", "alias", "displayname", "planname", "workflowname", "titel", "título"]),
    (Meaning::Inputs, &["inputs", "input", "params", "parameters", "inputschema"]),
    (Meaning::Constants, &["vars", "variables", "constants", "env", "let", "locals"]),
    (
        Meaning::Output,
        &["output", "outputs", "return", "returns", "result", "results", "finaloutput", "answer", "final"],
    ),
    (Meaning::Edges, &["edges", "links"]),
    (
        Meaning::Mark,
        &[
            "version", "apiversion", "schema", "schemaversion", "typeversion", "specversion", "dsl", "namespace",
            "position", "ui", "mode", "kind", "metadata", "tags", "labels", "document", "type", "status",
        ],
    ),
];

/// True if `key` has the `meaning`.
pub(super) fn means(key: &str, meaning: Meaning) -> bool {
    let key = normal(key);
    WORDS.iter().any(|(found, words)| *found == meaning && words.contains(&&*key))
}

/// The fields that may hold the name of a tool, the most certain first.
pub(super) const TOOLS: [&str; 36] = [
    "tool", "toolname", "toolid", "toolref", "taskref", "functionname", "function", "fn", "func", "call", "uses", "use",
    "service", "actionname", "operation", "operator", "method", "run", "do", "resource", "template", "activity",
    "action", "skill", "capability", "module", "component", "op", "task", "node", "type", "kind", "name", "werkzeug",
    "herramienta", "outil",
];

/// Those of [`TOOLS`] that hold a tool even if its name is a plain word.
pub(super) const CERTAIN_TOOLS: [&str; 11] = [
    "tool", "toolname", "toolid", "functionname", "function", "fn", "func", "call", "werkzeug", "herramienta", "outil",
];

/// The fields whose calls run one after the other.
pub(super) const SEQUENCES: [&str; 9] =
    ["sequence", "sequential", "do", "try", "block", "then", "main", "series", "stages"];

/// The values of a field `type` or `kind` that say only what kind of thing an object is.
pub(super) fn is_kind(value: &str) -> bool {
    let kinds = [
        "tool", "toolcall", "tooluse", "mcp", "mcptool", "action", "step", "task", "call", "calltool", "function", "node",
        "plan", "workflow", "dag", "sequence", "sequential", "parallel", "group", "foreach", "loop", "condition",
        "conditional", "branch", "if", "switch", "object", "invoke", "toolinvocation",
    ];
    kinds.contains(&&*normal(value))
}

/// True if the field `key` says when, where or for whom a plan runs, which is not the affair of a plan.
pub(super) fn is_harmless(key: &str) -> bool {
    let words = [
        "schedule", "scheduleinterval", "cron", "trigger", "triggers", "on", "start", "owner", "owners", "hosts",
        "connection", "gatherfacts", "runson", "settings", "defaultargs", "startdate", "catchup", "serviceaccountname",
        "estimateddurationseconds", "priority", "author", "created", "createdat", "color", "icon", "team", "maintainer",
    ];
    words.contains(&&*normal(key))
}

/// True if the field `key` is about the file, if its value is a single one.
pub(super) fn is_about_the_file(key: &str) -> bool {
    let words = ["active", "enabled", "project", "lang", "language", "sprache", "idioma", "date", "datum"];
    words.contains(&&*normal(key))
}
