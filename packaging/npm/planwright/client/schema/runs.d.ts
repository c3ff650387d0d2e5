// Generated from docs/schema/runs.schema.json by packaging/npm/generate.mjs.

/**
 * Stored runs.
 */
export interface RunsV1 {
  /**
   * [`RUNS_SCHEMA`].
   */
  schema: string;
  /**
   * The runs, the newest first.
   */
  runs: RunListingV1[];
}
/**
 * A stored run.
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
