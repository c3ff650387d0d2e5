// Generated from docs/schema/recurring.schema.json by packaging/npm/generate.mjs.

/**
 * Work that recurs.
 */
export interface RecurringV1 {
  /**
   * [`RECURRING_SCHEMA`].
   */
  schema: string;
  /**
   * The work, the most frequent first.
   */
  recurring: RecurringWorkV1[];
}
/**
 * Work that several traces have in common: the same tools and the same flow of data.
 */
export interface RecurringWorkV1 {
  /**
   * The tools, in order; a loop is one entry.
   */
  tools: string[];
  /**
   * The number of traces.
   */
  count: number;
  /**
   * The time of the last call, in UTC, if it is known.
   */
  last: string | null;
  /**
   * The names of the traces: files, runs and sessions.
   */
  traces: string[];
  /**
   * The command that learns a plan from some of them.
   */
  command: string;
}
