// Generated from docs/schema/config.schema.json by packaging/npm/generate.mjs.

/**
 * `planwright.toml`.
 */
export interface Config {
  tools?: Tools;
  approvals?: Approvals;
  flow?: Flow;
  budgets?: Budgets;
  /**
   * The rate limits of servers, by their names, such as `github = "100/m"`.
   */
  rates?: {
    [k: string]: string;
  };
  runaway?: Runaway;
  output?: Output;
  /**
   * The variables of the environment that plans may pass to tools, such as `REGION = ["shop.*"]`.
   */
  env?: {
    [k: string]: string[];
  };
  /**
   * The secrets that plans may pass to tools, by their names.
   */
  secrets?: {
    [k: string]: Secret;
  };
  /**
   * The stages of work through a gateway, by their names. The first one of the file is where a client begins. Where
   * your own file has stages, those of a project do not count.
   */
  stages?: {
    [k: string]: Stage;
  };
  serve?: Serve;
  /**
   * Rules for some clients of `serve --listen`, by names of your choice.
   */
  clients?: {
    [k: string]: Client;
  };
  store?: Store;
  telemetry?: Telemetry;
  model?: Model;
  dates?: Dates;
}
/**
 * The tools that plans may call, and assumptions about them.
 */
export interface Tools {
  /**
   * The tools that plans may call; without it, all of them.
   */
  allow?: string[];
  /**
   * The tools that plans may not call, even if they are allowed.
   */
  deny?: string[];
  /**
   * The tools that ask a person before each call.
   */
  ask?: string[];
  /**
   * The tools that need not ask although they declare themselves destructive; only in your own file.
   */
  no_ask?: string[];
  /**
   * The tools that change nothing, regardless of their annotations; only in your own file. Such a tool need not ask either.
   */
  read_only?: string[];
  /**
   * The tools that may safely be called twice with the same arguments, regardless of their annotations; only in your own
   * file.
   */
  idempotent?: string[];
  /**
   * The policy for tools of MCP servers that changed since they were pinned: `ask` asks before each call until a person accepts the
   * change, `warn` shows it, `off` pins nothing. Without it, `ask`, and `warn` for the servers of the user's own `mcp.json`. A project's
   * file can only make it stricter.
   */
  pin?: string;
  /**
   * The policy for tools that state neither `readOnlyHint: true` nor `destructiveHint`: `ask` asks before each call, `run` calls them.
   * Without it, they ask if a plan or `call_tool` of the gateway calls them, and run elsewhere. A project's file can only make it
   * stricter.
   */
  unannotated?: string;
  /**
   * The parameters of other people's servers that take references in a plan that shares marked parameters only, as those of the
   * Concierge dialect: `TOOL:PARAMETER`, or `TOOL:*` for all of a tool; only in your own file.
   */
  sharable?: string[];
  /**
   * The calls that undo calls of tools, by patterns of these: `server.tool(id=${output.id})`, as in a plan in lines. References read the
   * output and the arguments of the call to undo. The `undo` of a step takes precedence, and of two patterns the one further up, first
   * in your own file.
   */
  undo?: {
    [k: string]: string;
  };
  /**
   * False to record no structure of answers: the names and types of the fields that tools without an output schema returned in stored runs,
   * without values. A project's file can only switch it off.
   */
  learn_outputs?: boolean;
}
/**
 * Rules for decisions about calls.
 */
export interface Approvals {
  /**
   * True if decisions from the command line require the passphrase that `planwright passphrase` sets.
   */
  passphrase?: boolean;
}
/**
 * The rules of data flow.
 */
export interface Flow {
  /**
   * False to switch the analysis off; without it, true. A project's file can only switch it on.
   */
  enabled?: boolean;
  /**
   * The outputs that are untrusted, as `TOOL` or `TOOL:FIELD`; without it, `["*"]`. A project's file adds to it.
   */
  untrusted?: string[];
  /**
   * The outputs that are trusted nevertheless; only in your own file.
   */
  trusted?: string[];
  /**
   * The parameters that untrusted values must not reach; `builtin` stands for the built-in list, which holds without it. A project's
   * file adds to it.
   */
  guard?: string[];
  /**
   * The outputs that are private; without it, none. A project's file adds to it.
   */
  private?: string[];
  /**
   * The parameters through which values leave; without it, none. A project's file adds to it.
   */
  leaves?: string[];
  /**
   * The guarded parameters whose calls untrusted values must not decide; without it, none. A project's file adds to it.
   */
  decides?: string[];
  /**
   * The label of literals and inputs of plans: `clean`, or `exposed` if they are untrusted; without it, `clean`. A project's file can
   * only write `exposed`.
   */
  planner?: string;
  /**
   * The consequence of a violation: `ask` lets the step wait for approval, `deny` refuses the plan, `warn` only warns;
   * default: `ask`. A project's file can only make it stricter.
   */
  violation?: string;
  /**
   * The policy for destructive tools: `ask` asks before each call, `by-flow` only for a call that violates the flow policy; without it,
   * `ask`. Only in your own file.
   */
  effects?: string;
}
/**
 * The budgets of one run.
 */
export interface Budgets {
  /**
   * Maximum number of calls, including each attempt and each failed call.
   */
  calls?: number;
  /**
   * Maximum duration of the run, such as `10m`. Calls that are in flight then are cancelled.
   */
  wall_time?: string;
  /**
   * Maximum size of all outputs together: a number of bytes, or text such as `50MB`.
   */
  output_bytes?: number | string;
  /**
   * Maximum size of the values of the run wherever they are written: computed outputs, arguments with
   * their step and with each attempt, slots, the run's output. If it is not set, 64 MiB, plus four times the size of inputs and answers of
   * tools.
   */
  written_bytes?: number | string;
  /**
   * The number of failed calls in a row after which nothing new is called.
   */
  failures_in_a_row?: number;
  /**
   * Maximum number of calls of all tools together that match a pattern, such as `"mail.*" = 5`.
   */
  tools?: {
    [k: string]: number;
  };
  /**
   * Maximum number of calls of a server, by its name.
   */
  servers?: {
    [k: string]: number;
  };
}
/**
 * The limits on repetition without progress.
 */
export interface Runaway {
  /**
   * The largest number of calls of a tool with the same arguments in one run.
   */
  same_call?: number;
  /**
   * The largest number of rounds of a `repeat` in a row with the same output.
   */
  same_rounds?: number;
}
/**
 * The limits on values shown to people and models.
 */
export interface Output {
  /**
   * Maximum number of bytes that are shown of one step's output: a number, or text such as `64KiB`.
   */
  max_bytes?: number | string;
}
/**
 * A secret: its place, and the tools that may receive it. Only your own file can set the place.
 */
export interface Secret {
  /**
   * The variable of the environment that holds it.
   */
  env?: string;
  /**
   * The file that holds it, from the folder of this file on; a line break at its end does not count.
   */
  file?: string;
  /**
   * The tools that may receive it.
   */
  tools?: string[];
}
/**
 * A stage: its tools, and the stages that can follow. Calls and plans that need a tool of another stage are refused.
 */
export interface Stage {
  /**
   * The tools of the stage.
   */
  tools?: string[];
  /**
   * The stages that can follow it; without it, none.
   */
  next?: string[];
  /**
   * The names that must have values before a client can move to it.
   */
  needs?: string[];
}
/**
 * The limits of `serve` for its clients, and its HTTP server.
 */
export interface Serve {
  /**
   * The names, beside its address, that a request may call the server by, such as `plans.example.com`. Only in your own file.
   */
  hosts?: string[];
  /**
   * The origins of web pages that may send requests, such as `https://chat.example.com`. Only in your own file.
   */
  origins?: string[];
  /**
   * The largest request: a number, or text such as `4MiB`.
   */
  max_body?: number | string;
  /**
   * The largest number of requests of one client in progress; requests that only listen do not count.
   */
  max_requests?: number;
  /**
   * The largest number of plans of one client in progress.
   */
  max_plans?: number;
  /**
   * The largest number of connections, of all clients together.
   */
  max_connections?: number;
  /**
   * The rate limit of one client's requests, such as `100/s`.
   */
  rate?: string;
  /**
   * The time limit for sending a request, such as `30s`.
   */
  request_time?: string;
  /**
   * The time limit of a shutdown, such as `30s`: runs are suspended, and requests in progress answered.
   */
  shutdown_time?: string;
  /**
   * The time after the end of a run for which later plans may refer to its results, such as `1h`; `0s` is never.
   */
  recall_for?: string;
  /**
   * Maximum number of bytes of earlier results that one plan may refer to: a number, or text such as `8MiB`.
   */
  recall_bytes?: number | string;
  /**
   * The time that a call in a plan may go without progress, such as `5m`, for steps and servers without their own `timeout`. An
   * open question to a person does not count.
   */
  call_timeout?: string;
  /**
   * The time after which a plan becomes a task, such as `2s`, if the client supports tasks; `0s` is at once.
   */
  task_after?: string;
  /**
   * Maximum number of tokens of the tool list in a description. A model has to search longer lists.
   */
  listing_tokens?: number;
  /**
   * True to store records of the calls that clients make without a plan, with arguments and answers. `planwright learn --from` reads these
   * records. Only the user's own file can switch them on.
   */
  record_calls?: boolean;
  oauth?: Oauth;
}
/**
 * The issuer of access tokens.
 */
export interface Oauth {
  /**
   * The issuer, exactly as its discovery document has it, such as `https://id.example.com/realms/work`.
   */
  issuer?: string;
  /**
   * The address of this gateway as its clients know it, such as `https://plans.example.com/mcp`.
   */
  resource?: string;
  /**
   * The audiences that are accepted, one of them in each token; without it, `resource`.
   */
  audiences?: string[];
  /**
   * The scopes that a token must have.
   */
  scopes?: string[];
  /**
   * The algorithms of signatures that are accepted; without it, all of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`,
   * `ES384` and `EdDSA`.
   */
  algorithms?: string[];
  /**
   * The claim that names the client; without it, `sub`.
   */
  subject_claim?: string;
  /**
   * The claim with the groups of the client, as a name or as a path such as `realm_access.roles`; without it, `groups`.
   */
  groups_claim?: string;
  /**
   * The time for which the last keys of an issuer that cannot be reached are used, such as `1h`, which it is without this.
   */
  keys_for?: string;
}
/**
 * Rules for the clients of `serve --listen` that `who` selects. They only narrow: all tables that select a client apply to it, beside the
 * rest of the file.
 */
export interface Client {
  /**
   * The clients: `token:NAME` of `planwright token`, `subject:NAME` and `group:NAME` of access tokens, `*` for all, `others` for those that no
   * other table of the file selects by name or group.
   */
  who?: string[];
  /**
   * The tools that these clients can see and call; without it, all that the rest of the file allows.
   */
  allow?: string[];
  /**
   * The tools that these clients cannot see or call.
   */
  deny?: string[];
  /**
   * The tools whose calls a person must approve.
   */
  ask?: string[];
  /**
   * The largest number of plans of such a client in progress.
   */
  max_plans?: number;
  /**
   * The clients whose runs these clients can see, resume and cancel beside their own: `token:NAME`, `subject:NAME` or `*`; only in your own file.
   */
  runs_of?: string[];
  budgets?: Budgets1;
  /**
   * The rate limits of servers in one run, by their names.
   */
  rates?: {
    [k: string]: string;
  };
  runaway?: Runaway1;
}
/**
 * The budgets of one run of such a client.
 */
export interface Budgets1 {
  /**
   * Maximum number of calls, including each attempt and each failed call.
   */
  calls?: number;
  /**
   * Maximum duration of the run, such as `10m`. Calls that are in flight then are cancelled.
   */
  wall_time?: string;
  /**
   * Maximum size of all outputs together: a number of bytes, or text such as `50MB`.
   */
  output_bytes?: number | string;
  /**
   * Maximum size of the values of the run wherever they are written: computed outputs, arguments with
   * their step and with each attempt, slots, the run's output. If it is not set, 64 MiB, plus four times the size of inputs and answers of
   * tools.
   */
  written_bytes?: number | string;
  /**
   * The number of failed calls in a row after which nothing new is called.
   */
  failures_in_a_row?: number;
  /**
   * Maximum number of calls of all tools together that match a pattern, such as `"mail.*" = 5`.
   */
  tools?: {
    [k: string]: number;
  };
  /**
   * Maximum number of calls of a server, by its name.
   */
  servers?: {
    [k: string]: number;
  };
}
/**
 * The limits on repetition without progress.
 */
export interface Runaway1 {
  /**
   * The largest number of calls of a tool with the same arguments in one run.
   */
  same_call?: number;
  /**
   * The largest number of rounds of a `repeat` in a row with the same output.
   */
  same_rounds?: number;
}
/**
 * The time and the size for which `serve` stores runs.
 */
export interface Store {
  /**
   * The time for which runs that have ended are stored, such as `30d`. Runs that wait or were interrupted are not deleted.
   */
  keep?: string;
  /**
   * The size of the store at which the oldest runs that have ended are deleted: a number, or text such as `1GiB`.
   */
  max_bytes?: number | string;
}
/**
 * The collector of spans and metrics.
 */
export interface Telemetry {
  /**
   * The collector, such as `http://localhost:4318`; default: `OTEL_EXPORTER_OTLP_ENDPOINT`. Without either, nothing is sent.
   */
  endpoint?: string;
  /**
   * Headers for the collector, such as `x-api-key = "…"`.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * True if spans contain the arguments and results of calls.
   */
  capture_values?: boolean;
}
/**
 * The model that writes plans.
 */
export interface Model {
  /**
   * The model, such as `openai:gpt-4o`, if neither `--model` nor `PLANWRIGHT_MODEL` names one.
   */
  name?: string;
  /**
   * The address of its provider, if it is not the usual one.
   */
  base_url?: string;
  /**
   * The variable of the environment that holds the key, if it is not the provider's usual one.
   */
  key_variable?: string;
  /**
   * The file that holds the key, from the folder of this file on; a line break at its end does not count.
   */
  key_file?: string;
  /**
   * The dialect of its plans: `json`, or `lines`, which take about two thirds of the tokens; without it, `json`.
   *
   * Earlier versions had it as `notation`, which is still read.
   */
  dialect?: string;
  /**
   * Between 0, nearly the same answer each time, and 2; without it, 0.1.
   */
  temperature?: number;
  /**
   * Maximum number of tokens of an answer.
   */
  max_tokens?: number;
  /**
   * The time limit of a question with all its attempts; without it, `2m`.
   */
  timeout?: string;
  /**
   * The number of attempts if the provider cannot answer for now; without it, 3.
   */
  attempts?: number;
  prices?: Prices;
}
/**
 * The price of a million of its tokens, in US dollars.
 */
export interface Prices {
  /**
   * Tokens that it reads.
   */
  input: number;
  /**
   * Tokens that it writes.
   */
  output: number;
  /**
   * Tokens that its provider read from its cache; without it, the same as others.
   */
  cached?: number | null;
}
/**
 * The calendar of phrases of time.
 */
export interface Dates {
  /**
   * The first day of the week, such as `sunday`; without it, `monday`.
   */
  first_weekday?: string;
  /**
   * The first month of the fiscal year, such as `april`; without it, phrases such as `FY24` have no meaning.
   */
  fiscal_year?: string;
  /**
   * The calendar year whose number a fiscal year has: that of its `end` or its `start`; without it, `end`.
   */
  fiscal_year_number?: string;
}
