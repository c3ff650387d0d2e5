// Generated from docs/schema/log.schema.json by packaging/npm/generate.mjs.

/**
 * The planner's label in the check of a plan under a flow policy.
 */
export type FlowModeV1 = "clean" | "exposed";

/**
 * The calls of a run in order.
 */
export interface LogV1 {
  /**
   * [`LOG_SCHEMA`].
   */
  schema: string;
  run: RunListingV1;
  /**
   * The lines in order; a call has the place at which it was sent.
   */
  lines: LogLineV1[];
}
/**
 * The run.
 */
export interface RunListingV1 {
  /**
   * The id of the run.
   */
  id: string;
  /**
   * The time of its start, in UTC.
   */
  created: string;
  /**
   * The status: `succeeded`, `failed`, `waiting` and `cancelled` as in reports, `running` if a process runs it, `interrupted` if its
   * last process ended without a final entry.
   */
  status: string;
  /**
   * True if the run was imported from a file, without consent and tool sources.
   */
  imported?: boolean;
  /**
   * The process that runs it.
   */
  pid?: number | null;
  /**
   * The machine of that process.
   */
  host?: string | null;
  /**
   * The plan's name.
   */
  plan: string | null;
  /**
   * The plan's digest, as the run began.
   */
  digest: string;
  /**
   * The dialect that the plan is written in.
   */
  dialect: string | null;
  /**
   * The number of steps of the plan.
   */
  steps: number;
  /**
   * The number of steps that have succeeded, failed or been skipped.
   */
  done: number;
  /**
   * The number of calls.
   */
  calls: number;
  /**
   * The duration, in milliseconds, without the time between two processes.
   */
  duration_ms: number;
}
/**
 * An event of a run.
 */
export interface LogLineV1 {
  /**
   * The kind of line: `began` and `ended` are about a process, `call` about a call; `asked`, `decided` and `chosen` are about people,
   * `extended`, `draining` (nothing new starts from here on), `cancelled` and `out_of_time` about the run.
   */
  what: string;
  /**
   * The time, in milliseconds from the start of the run, without the time between two processes.
   */
  at_ms: number;
  /**
   * The time in UTC.
   */
  time: string;
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
   * The status. Of a call: `succeeded`, `failed`, `given_up`, `running`, or `unknown` if its process ended first. Of a process:
   * the status of the run at its end, or `interrupted`.
   */
  status?: string | null;
  /**
   * The output of the call, or the value that a person set in its place.
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
   * The duration, in milliseconds.
   */
  took_ms?: number | null;
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
   * The number of steps that the plan has now.
   */
  steps?: number | null;
  /**
   * The reason for another plan, if a model wrote it.
   */
  revision?: RevisionV1 | null;
  /**
   * The results that stay in this process although its plan changes what they were computed from.
   */
  kept?: RetainedStepV1[];
  /**
   * The version of the program.
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
 * The reason for another plan of a run, and its author.
 */
export interface RevisionV1 {
  /**
   * `replanned`: the model wrote the further steps; `repaired`: it corrected the arguments of one step.
   */
  kind: string;
  /**
   * The step that had failed.
   */
  step: string;
  /**
   * The failure before it.
   */
  error: string;
  /**
   * The name of the model.
   */
  model: string;
}
/**
 * A result that no plan of the run computes any more: it stays although the new plan changes its sources, or it was set.
 */
export interface RetainedStepV1 {
  /**
   * The step.
   */
  step: string;
  /**
   * True if a part of the result, or the decision to retain it, may come from an untrusted source.
   */
  untrusted: boolean;
  /**
   * True if a part of the result is private.
   */
  private: boolean;
  /**
   * The label of the planner that asked to retain or set the result, if its plan was checked by a flow policy.
   */
  asked_by?: FlowModeV1 | null;
  /**
   * True if the request has set the result, so that no plan computed it.
   */
  set?: boolean;
}
