// Generated from docs/schema/report.schema.json by packaging/npm/generate.mjs.

/**
 * The status of a run.
 */
export type ReportStatus = "succeeded" | "failed" | "rejected" | "waiting" | "cancelled" | "dry_run";

/**
 * The report of a run.
 */
export interface ReportV1 {
  /**
   * [`REPORT_SCHEMA`].
   */
  schema: string;
  /**
   * The run's id; an empty text if nothing ran.
   */
  run: string;
  plan: PlanV1;
  /**
   * The dialect that it was written in.
   */
  dialect: string | null;
  /**
   * The status.
   */
  status: "succeeded" | "failed" | "rejected" | "waiting" | "cancelled" | "dry_run";
  /**
   * The duration, in milliseconds.
   */
  duration_ms: number;
  /**
   * The output that a model receives.
   */
  output: unknown;
  /**
   * The steps, in plan order.
   */
  steps: StepV1[];
  /**
   * All calls, in the order in which they were sent, except those of steps that a person has decided about with `resume --skip`
   * or `--set`.
   */
  calls: CallV1[];
  /**
   * The variables at the end.
   */
  vars: unknown;
  /**
   * The state at the end.
   */
  state: unknown;
  /**
   * The data at the end.
   */
  data: unknown;
  /**
   * The state of each instance at the end.
   */
  instances: {
    [k: string]: unknown;
  };
  /**
   * True if a model wrote another plan during the run.
   */
  replanned?: boolean;
  /**
   * The reasons for each change of the plan.
   */
  revisions?: RevisionV1[];
  /**
   * The tokens and the cost of models in this process: of answers about other plans or arguments, and of steps that extract data.
   */
  usage?: UsageV1 | null;
  /**
   * The flow of data, if the plan was checked for it.
   */
  flow?: ReportFlowV1 | null;
  /**
   * The revert of the run, if its plan has `on_failure: revert` and it failed.
   */
  revert?: ReportRevertV1 | null;
  /**
   * The diagnostics of the plan, before and during the run.
   */
  diagnostics: Diagnostic[];
}
/**
 * The plan.
 */
export interface PlanV1 {
  /**
   * The name of the plan.
   */
  name: string | null;
  /**
   * The digest of its meaning; none if it was rejected. In a dry run it is the one that `--approve plan:DIGEST` takes, which
   * covers inputs and tools as well.
   */
  digest: string | null;
}
/**
 * A step, an item of its loop, or a round of its repetition.
 */
export interface StepV1 {
  /**
   * The step's id.
   */
  id: string;
  /**
   * The instance, if the plan runs for several.
   */
  instance?: string | null;
  /**
   * The item of a `for_each`.
   */
  item?: number | null;
  /**
   * The round of a `repeat`.
   */
  round?: number | null;
  /**
   * The tool, as the plan names it.
   */
  tool: string | null;
  /**
   * The status: `succeeded`, `failed`, `skipped` (it had no reason to run), `not_run` (nothing new was started before its turn came),
   * `cancelled`, `waiting` (for a person), or `unknown` (a call was not answered, and may or may not have happened).
   */
  status: "succeeded" | "failed" | "skipped" | "not_run" | "cancelled" | "waiting" | "unknown";
  /**
   * The arguments.
   */
  args: unknown;
  /**
   * The output.
   */
  output: unknown;
  /**
   * Content that is not text, as MCP writes it.
   */
  content?: unknown[];
  /**
   * The number of calls of its tool.
   */
  attempts: number;
  /**
   * The time of its start, in milliseconds from the start of the run.
   */
  started_ms: number | null;
  /**
   * The time of its end, in milliseconds from the start of the run.
   */
  ended_ms: number | null;
  /**
   * The reason of the failure.
   */
  error: ErrorV1 | null;
  /**
   * True if the plan handles the failure, so it does not fail the run.
   */
  handled?: boolean;
  /**
   * The reason why it did not run.
   */
  reason: Reason | null;
  /**
   * True if a person would be asked first; only in a dry run.
   */
  approval?: boolean;
  /**
   * The steps that it waits for; only in a dry run.
   */
  after?: string[] | null;
  /**
   * Items, rounds, or the steps of an inner plan.
   */
  parts?: StepV1[];
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
/**
 * A call.
 */
export interface CallV1 {
  /**
   * The step's id.
   */
  step: string;
  /**
   * The instance, if the plan runs for several.
   */
  instance?: string | null;
  /**
   * The item of a `for_each`.
   */
  item?: number | null;
  /**
   * The round of a `repeat`.
   */
  round?: number | null;
  /**
   * The number of the attempt, from 1.
   */
  attempt: number;
  /**
   * The tool, as the plan names it.
   */
  tool: string;
  /**
   * The arguments.
   */
  args: unknown;
  /**
   * True if the tool answered without an error.
   */
  ok: boolean;
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
 * The tokens and the cost of answers.
 */
export interface UsageV1 {
  /**
   * Requests that were sent, those that failed included.
   */
  requests: number;
  /**
   * Tokens that were read.
   */
  input_tokens: number;
  /**
   * The number of read tokens that the provider had cached.
   */
  cached_tokens: number;
  /**
   * Tokens that were written.
   */
  output_tokens: number;
  /**
   * The cost in US dollars, if the price is known.
   */
  cost: number | null;
}
/**
 * The flow of data in a run: the violations of the policy with their outcomes, and the labels of the output.
 */
export interface ReportFlowV1 {
  /**
   * `clean`, `warns`, `asks` or `denied`.
   */
  verdict: string;
  /**
   * The digest of the policy.
   */
  policy: string;
  /**
   * The label of the planner: `clean` or `exposed`.
   */
  planner: string;
  /**
   * The violations.
   */
  violations: ReportViolationV1[];
  /**
   * `untrusted` if the output contains data of untrusted origin, else `trusted`.
   */
  output_integrity: string;
  /**
   * `private` if the output contains private data, else `public`.
   */
  output_confidentiality: string;
}
/**
 * A violation of the flow policy, and the outcome of the call.
 */
export interface ReportViolationV1 {
  /**
   * `approved` if the call was made with consent, `rejected` if a person refused it, `waiting` if it was not decided, `not_made`
   * if no person was asked.
   */
  decision: string;
  [k: string]: unknown;
}
/**
 * The revert of a run: another run undid what it did.
 */
export interface ReportRevertV1 {
  /**
   * The run that reverts; `null` if there was nothing to undo, or it did not start.
   */
  run: string | null;
  /**
   * The status of that run.
   */
  status: ReportStatus | null;
  /**
   * The reason why it did not start.
   */
  error?: string | null;
  /**
   * The steps, items and rounds whose calls happened and have no undo.
   */
  unreverted: string[];
  /**
   * The steps, items and rounds with calls that may or may not have happened.
   */
  in_doubt: string[];
}
/**
 * A diagnostic.
 */
export interface Diagnostic {
  /**
   * The code, such as `PW0201`.
   */
  code: string;
  /**
   * `error`, `warning` or `note`. A note is a fact about the reading of the plan.
   */
  severity: string;
  /**
   * The problem.
   */
  message: string;
  /**
   * The place, as a JSON pointer into the plan's text.
   */
  pointer: string;
  /**
   * The place, as `start` and `end` in bytes of the text, if the place is in the plan.
   */
  span?: unknown;
  /**
   * A hint how to fix it.
   */
  help?: string | null;
  /**
   * The likely correction, if there is one: the text `replacement` at the JSON pointer `pointer`. It may change what the plan does.
   */
  fix?: unknown;
  /**
   * Edits of the text that, all together, fix the problem and do not change what the plan does: each writes `replacement` in place of the
   * bytes from `start` to `end` of `span`.
   */
  fixes?: unknown[];
  /**
   * The plan of the library that pointer and span refer to, where it is not the plan itself.
   */
  source?: string | null;
}
