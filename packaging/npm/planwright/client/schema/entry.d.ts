// Generated from docs/schema/entry.schema.json by packaging/npm/generate.mjs.

/**
 * An entry of the journal of a run.
 */
export interface EntryV1 {
  /**
   * [`ENTRY_SCHEMA`].
   */
  schema: string;
  /**
   * The time, in milliseconds from the start of the run, without the time between two processes.
   */
  at_ms: number;
  /**
   * The time in UTC.
   */
  time: string;
  /**
   * The turn of the driver, from 0.
   */
  turn: number;
  /**
   * True if the entry is an input of the run, false if it is a decision of the run.
   */
  told: boolean;
  record: RecordV1;
}
/**
 * The record.
 */
export interface RecordV1 {
  /**
   * The kind: `opened`, `sent`, `answered`, `given_up`, `asked`, `decided`, `chosen`, `timer_fired`, `extended`, `closed`, `draining`, `cancelled`,
   * `out_of_time`, `paused`, `went_on`, `settled` or `ended`. Records between `paused` and `went_on` arrived while the run was
   * computing.
   */
  what: string;
  /**
   * The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
   */
  address?: string | null;
  /**
   * The tool's server.
   */
  server?: string | null;
  /**
   * The tool's name at its server.
   */
  tool?: string | null;
  /**
   * The number of the attempt, from 1.
   */
  attempt?: number | null;
  /**
   * The arguments, or those that a person replaced them by.
   */
  args?: unknown;
  /**
   * The output.
   */
  output?: unknown;
  /**
   * Content that is not text, as MCP writes it.
   */
  content?: unknown[];
  /**
   * The reason of the failure.
   */
  error?: ErrorV1 | null;
  /**
   * True if the call may be made.
   */
  approved?: boolean | null;
  /**
   * The reason of a rejection, in the person's words.
   */
  because?: string | null;
  /**
   * The person's choice about the step: `retry`, `skip` or `set`.
   */
  choice?: string | null;
  /**
   * The timer: `attempt` and `step` are time limits, `pause` is the wait for the next attempt.
   */
  timer?: string | null;
  /**
   * The status.
   */
  status?: string | null;
  /**
   * True if the plan handles the failure.
   */
  handled?: boolean;
  /**
   * The reason why it did not run.
   */
  reason?: Reason | null;
  /**
   * The time of its start, in milliseconds from the start of the run.
   */
  started_ms?: number | null;
  /**
   * The plan's digest.
   */
  digest?: string | null;
  /**
   * The number of steps that the plan has now.
   */
  steps?: number | null;
  /**
   * The amount of work since the last input after which the run paused.
   */
  after?: number | null;
  /**
   * The version of the program that has begun to drive the run.
   */
  version?: string | null;
  /**
   * The id of its process.
   */
  pid?: number | null;
}
/**
 * The reason why a step failed.
 */
export interface ErrorV1 {
  /**
   * The kind of failure. `tool`: the tool returned an error; `timeout`: the call took too long; `unavailable`: the server cannot
   * be reached, the connection was lost, or the answer cannot be read; `arguments`: the arguments do not fit the tool's schema;
   * `reference`: a reference led nowhere; `approval`: a person rejected the call; `policy`: the call is forbidden; `budget`: a
   * budget is used up; `internal`: a defect of Planwright.
   */
  kind: "tool" | "timeout" | "unavailable" | "arguments" | "reference" | "approval" | "policy" | "budget" | "internal";
  /**
   * The message of the tool or server, or one clause of Planwright.
   */
  message: string;
  /**
   * Further data.
   */
  data: unknown;
}
/**
 * The reason why a step did not run.
 */
export interface Reason {
  /**
   * The kind of reason. `step`: a step that it needs did not succeed; `branch`: no step filled a slot; `condition`: its own
   * condition was false; `stopped`: the run stopped after a failure; `person`: a person decided to skip it.
   */
  because: "step" | "branch" | "condition" | "stopped" | "person";
  /**
   * The step or slot that it is about.
   */
  of: string;
}
