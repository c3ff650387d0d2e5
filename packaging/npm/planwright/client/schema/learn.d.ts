// Generated from docs/schema/learn.schema.json by packaging/npm/generate.mjs.

/**
 * A plan that was learned from traces.
 */
export interface LearnV1 {
  /**
   * [`LEARN_SCHEMA`].
   */
  schema: string;
  /**
   * The text of the plan.
   */
  plan: string;
  /**
   * The dialect of the text: `native` or `lines`.
   */
  dialect: string;
  /**
   * True if the plan is sound over the tools.
   */
  sound: boolean;
  /**
   * True if the traces leave nothing open that changes the meaning of the plan.
   */
  complete: boolean;
  /**
   * True if the plan makes the calls of each trace over its answers.
   */
  same_calls: boolean;
  /**
   * True if the tools were known, so that schemas and effects were checked.
   */
  has_tools: boolean;
  /**
   * The inputs of the plan.
   */
  inputs: LearnInputV1[];
  /**
   * The traces, in the order in which they were named.
   */
  traces: LearnTraceV1[];
  /**
   * The findings: what the traces leave open, and what was decided in spite of alternatives.
   */
  findings: LearnFindingV1[];
  /**
   * The diagnostics of the check of the plan.
   */
  diagnostics: Diagnostic[];
  /**
   * The name and the version that the plan was saved as.
   */
  saved?: string | null;
}
/**
 * An input of a learned plan.
 */
export interface LearnInputV1 {
  /**
   * The name.
   */
  name: string;
  /**
   * The schema of its values.
   */
  schema: unknown;
  /**
   * The value in each trace, `null` if the trace does not use it.
   */
  values: unknown[];
}
/**
 * A trace, and the run of the plan over its answers.
 */
export interface LearnTraceV1 {
  /**
   * The name: the file, the run or the session.
   */
  name: string;
  /**
   * The number of calls that the plan has to make.
   */
  calls: number;
  /**
   * The comparison of the plan with the trace; none if the plan is not sound.
   */
  replay?: LearnReplayV1 | null;
}
/**
 * The comparison of a plan, over recorded answers, with its trace.
 */
export interface LearnReplayV1 {
  /**
   * The number of calls that the plan and the trace make.
   */
  same: number;
  /**
   * The calls of the trace that the plan does not make.
   */
  missing: LearnCallV1[];
  /**
   * The calls of the plan that the trace does not have.
   */
  additional: LearnCallV1[];
  /**
   * The calls that change something and came before an earlier one of the trace.
   */
  reordered: LearnCallV1[];
}
/**
 * A call that only a trace or only the plan makes.
 */
export interface LearnCallV1 {
  /**
   * The tool.
   */
  tool: string;
  /**
   * The arguments.
   */
  args: unknown;
}
/**
 * A finding about a learned plan.
 */
export interface LearnFindingV1 {
  /**
   * The kind, such as `single_trace` or `optional_call`.
   */
  kind: string;
  /**
   * True if the meaning of the plan depends on it.
   */
  undecided: boolean;
  /**
   * The step, if the plan has one for it.
   */
  step?: string | null;
  /**
   * The argument.
   */
  argument?: string | null;
  /**
   * The fact, as one clause.
   */
  message: string;
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
