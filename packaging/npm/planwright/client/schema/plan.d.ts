// Generated from docs/schema/plan.schema.json by packaging/npm/generate.mjs.

/**
 * A step: exactly one of `tool`, `plan`, `value` and `extract`.
 */
export type Step = {
  /**
   * The step's id, unique in the plan.
   */
  id: string | number;
  /**
   * A line for people.
   */
  title?: string;
  /**
   * The tool to call: `tool`, or `server.tool`.
   */
  tool?: string;
  /**
   * The plan to run: the name of a stored one, or a plan. `args` are its inputs.
   */
  plan?: string | Plan;
  /**
   * The step's output itself, made of references without a call.
   */
  value?: unknown;
  extract?: Extract;
  /**
   * The arguments, with references at any depth: `"${step.field[0]}"` preserves the value's type, in longer text the value is inserted.
   */
  args?: {
    [k: string]: unknown;
  };
  /**
   * Arguments without names, for the tool's parameters in their order, the required ones first.
   */
  positional?: unknown[];
  /**
   * Ids of steps that must end first, though no data comes from them.
   */
  after?: string[];
  /**
   * A condition, such as `"${a.total > 3}"`; the step is skipped if it is false.
   */
  when?: string | boolean;
  /**
   * Runs the step once for each item, which `${item}` and `${index}` refer to; the output is the list of outputs.
   */
  for_each?:
    | string
    | unknown[]
    | {
        items: string | unknown[];
        max_parallel?: number;
      };
  /**
   * The name of the item of `for_each` in references of the step, such as `order` for `${order.id}`; one word.
   */
  as?: string;
  /**
   * The output of `for_each` has each item beside its output: `[{"item", "output"}]`.
   */
  with_item?: boolean;
  /**
   * The maximum number of items of `for_each` in flight at the same time.
   */
  max_parallel?: number;
  repeat?: Repeat;
  /**
   * The slot that the output goes to, such as `"vars.name"` or `"state.user"`.
   */
  writes?: string | Writes;
  /**
   * The effect of a failure: the run fails, continues, or uses a replacement output.
   */
  on_error?:
    | ("fail" | "continue")
    | {
        output: unknown;
      };
  /**
   * The maximum number of attempts, or `{"attempts", "delay"}`.
   */
  retry?: number | Retry;
  /**
   * The time that the whole step may take.
   */
  timeout?: string | number;
  /**
   * Asks a person first.
   */
  approval?: boolean;
  /**
   * A second call with the same arguments does no harm.
   */
  idempotent?: boolean;
  /**
   * The step runs exclusively: no other step at the same time.
   */
  alone?: boolean;
  /**
   * The instance that the step runs for.
   */
  instance?: string;
  /**
   * The kinds of slots that the plan in `plan` may read.
   */
  scopes?: ("inputs" | "vars" | "state" | "data")[];
  undo?: Undo;
  /**
   * The reason for the step.
   */
  note?: string;
} & Step1;
/**
 * The slots that a step writes.
 */
export type Writes = {
  /**
   * The slot, or several that all receive the output.
   */
  to?: string | [string, ...string[]];
  /**
   * Slots for different outcomes: the first receives the output of a success, the last that of a failure.
   *
   * @minItems 2
   */
  one_of?: [string, string, ...string[]];
  /**
   * The way in which the output is combined with the value in the slot.
   */
  method?: "set" | "merge" | "assign" | "push" | "concat";
} & Writes1;
export type Writes1 = unknown;
export type Step1 = unknown;

/**
 * Steps that call tools, and the data that they pass to each other.
 */
export interface Plan {
  /**
   * A short name.
   */
  name?: string;
  /**
   * A line for people.
   */
  title?: string;
  /**
   * More lines for people.
   */
  description?: string;
  /**
   * Inputs by name: a JSON Schema for each, with `default`; an input without one is required.
   */
  inputs?: {
    [k: string]:
      | {
          [k: string]: unknown;
        }
      | boolean;
  };
  /**
   * Variables and their values.
   */
  vars?: {
    [k: string]: unknown;
  };
  /**
   * Initial values of the slots: `{"state": {…}, "data": {…}}`, or a list of such objects with `instance`.
   */
  slots?:
    | {
        inputs?: {
          [k: string]: unknown;
        };
        vars?: {
          [k: string]: unknown;
        };
        state?: {
          [k: string]: unknown;
        };
        data?: {
          [k: string]: unknown;
        };
      }
    | {
        inputs?: {
          [k: string]: unknown;
        };
        vars?: {
          [k: string]: unknown;
        };
        state?: {
          [k: string]: unknown;
        };
        data?: {
          [k: string]: unknown;
        };
        instance?: string;
      }[];
  /**
   * JSON Schemas of the slots by kind, or a list of such objects.
   */
  slot_schemas?:
    | {
        inputs?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        vars?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        state?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        data?:
          | {
              [k: string]: unknown;
            }
          | boolean;
      }
    | {
        inputs?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        vars?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        state?:
          | {
              [k: string]: unknown;
            }
          | boolean;
        data?:
          | {
              [k: string]: unknown;
            }
          | boolean;
      }[];
  /**
   * Instances: the plan runs once for each of them, each with its own slots.
   */
  instances?: string[];
  /**
   * The steps. A step starts as soon as the steps that it refers to have ended.
   */
  steps: Step[];
  /**
   * The ids of the steps whose outputs the plan returns, or any other value with references; all outputs if absent.
   */
  output?: unknown;
  /**
   * The meaning of the order of steps: none, or the order in which they run.
   */
  ordering?: "dataflow" | "listed";
  /**
   * The effect of a failure: independent steps continue, no further step starts, or another run undoes what the run did.
   */
  on_failure?: "keep_going" | "stop" | "revert";
  /**
   * The parameters that may receive references: all, or those that the tool marks with `x-sharable`.
   */
  sharing?: "open" | "marked";
  /**
   * The use of the plan: it is run, or only checked and shown.
   */
  mode?: "run" | "show";
  /**
   * Any further data, which is stored with the plan.
   */
  metadata?: unknown;
}
/**
 * Data that a model without tools extracts from a text; the model that writes plans never sees the text.
 */
export interface Extract {
  /**
   * The text or other value to read, such as `"${page.result}"`.
   */
  from: unknown;
  /**
   * JSON Schema of the output, without references.
   */
  schema: {
    [k: string]: unknown;
  };
  /**
   * The data to look for.
   */
  ask?: string;
}
/**
 * Repeats the step until a condition holds; `${last}` is the output of the previous round, `${index}` the number of the round from 0.
 */
export interface Repeat {
  /**
   * Ends the repetition if it is true. The step's own id refers to the round that just ended.
   */
  until: string | boolean;
  /**
   * The maximum number of rounds; 10 if absent.
   */
  max?: number;
}
/**
 * The retries of a call.
 */
export interface Retry {
  /**
   * Maximum number of attempts at a call that can be retried, the first included.
   */
  attempts: number;
  /**
   * The pause before the second attempt; it doubles from there, up to a minute, and varies by up to a fifth.
   */
  delay?: string | number;
}
/**
 * The call that undoes that of the step, for `planwright revert`.
 */
export interface Undo {
  /**
   * The tool to call: `tool`, or `server.tool`.
   */
  tool: string;
  /**
   * The arguments. `${output.field}` reads the output of the call to undo, `${arguments.name}` an argument of it.
   */
  arguments?: {
    [k: string]: unknown;
  };
}
