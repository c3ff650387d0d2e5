// Generated from docs/schema/diff.schema.json by packaging/npm/generate.mjs.

/**
 * The difference between two runs.
 */
export interface DiffV1 {
  /**
   * [`DIFF_SCHEMA`].
   */
  schema: string;
  /**
   * True if nothing differs but times.
   */
  same: boolean;
  before: RunListingV1;
  after: RunListingV11;
  /**
   * The duration of the second run as a multiple of the first.
   */
  duration_ratio: number | null;
  plan: PlanDiffV1;
  /**
   * The difference between their inputs.
   */
  inputs: ChangeV1[];
  /**
   * The steps, items and rounds of both, in the order of the second one's plan.
   */
  steps: StepDiffV1[];
}
/**
 * The run that was named first.
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
 * The run that was named second.
 */
export interface RunListingV11 {
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
 * The difference between their plans.
 */
export interface PlanDiffV1 {
  /**
   * True if both mean the same.
   */
  same: boolean;
  /**
   * The steps that only the second has.
   */
  added: string[];
  /**
   * The steps that only the first has.
   */
  removed: string[];
  /**
   * The steps that differ in the second.
   */
  changed: string[];
}
/**
 * A place at which two values differ.
 */
export interface ChangeV1 {
  /**
   * The place, as a JSON pointer; empty for the whole value.
   */
  pointer: string;
  /**
   * The value in the first run, if there is one.
   */
  before?: unknown;
  /**
   * The value in the second run, if there is one.
   */
  after?: unknown;
}
/**
 * The difference of a step, an item or a round.
 */
export interface StepDiffV1 {
  /**
   * The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
   */
  address: string;
  /**
   * True if nothing differs but times.
   */
  same: boolean;
  /**
   * The outcome in the first run; none if that run has no such step.
   */
  before: StepSideV1 | null;
  /**
   * The outcome in the second run; none if that run has no such step.
   */
  after: StepSideV1 | null;
  /**
   * The duration in the second run as a multiple of the first.
   */
  duration_ratio: number | null;
  /**
   * The difference of its arguments.
   */
  args: ChangeV1[];
  /**
   * The difference of its output.
   */
  output: ChangeV1[];
}
/**
 * The outcome of a step in one of the runs.
 */
export interface StepSideV1 {
  /**
   * The status.
   */
  status: string;
  /**
   * The number of calls of its tool.
   */
  attempts: number;
  /**
   * The duration, in milliseconds.
   */
  duration_ms: number | null;
  /**
   * The reason of the failure.
   */
  error: ErrorV1 | null;
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
