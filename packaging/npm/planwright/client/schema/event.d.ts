// Generated from docs/schema/event.schema.json by packaging/npm/generate.mjs.

/**
 * An event of a run.
 */
export interface EventV1 {
  /**
   * [`EVENT_SCHEMA`].
   */
  schema: string;
  /**
   * The time, in milliseconds from the start of the run.
   */
  at_ms: number;
  /**
   * The kind of event.
   */
  event:
    | "run_started"
    | "plan_extended"
    | "step_started"
    | "attempt_started"
    | "call_progress"
    | "attempt_ended"
    | "retry_scheduled"
    | "approval_asked"
    | "approval_decided"
    | "outcome_unknown"
    | "step_ended"
    | "run_draining"
    | "run_ended";
  /**
   * The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
   */
  address?: string | null;
  /**
   * The step's id.
   */
  step?: string | null;
  /**
   * The tool.
   */
  tool?: string | null;
  /**
   * The number of items of a step that runs for each of a list.
   */
  items?: number | null;
  /**
   * The number of the attempt, from 1; at a step's end, the number of attempts.
   */
  attempt?: number | null;
  /**
   * The arguments.
   */
  args?: unknown;
  /**
   * The status: of a step as in the report, of the run `succeeded`, `failed`, `waiting` or `cancelled`.
   */
  status?: string | null;
  /**
   * The output of a step.
   */
  output?: unknown;
  /**
   * The reason of the failure.
   */
  error?: ErrorV1 | null;
  /**
   * The reason why it did not run.
   */
  reason?: Reason | null;
  /**
   * The amount of work that a call has done, in a unit of its tool's own.
   */
  progress?: number | null;
  /**
   * The total amount of work of the call, in the same unit.
   */
  total?: number | null;
  /**
   * The message that the tool reports with its progress.
   */
  message?: string | null;
  /**
   * The pause before the next attempt, in milliseconds.
   */
  pause_ms?: number | null;
  /**
   * True if a call may be made.
   */
  approved?: boolean | null;
  /**
   * The run's id.
   */
  run?: string | null;
  /**
   * The plan's name.
   */
  plan?: string | null;
  /**
   * The plan's digest.
   */
  digest?: string | null;
  /**
   * The number of steps of the plan.
   */
  steps?: number | null;
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
