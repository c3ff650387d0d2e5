// Generated from docs/schema/sessions.schema.json by packaging/npm/generate.mjs.

/**
 * The sessions of clients that called tools without a plan.
 */
export interface SessionsV1 {
  /**
   * [`SESSIONS_SCHEMA`].
   */
  schema: string;
  /**
   * The sessions, the newest first.
   */
  sessions: SessionV1[];
}
/**
 * A session of a client.
 */
export interface SessionV1 {
  /**
   * The id.
   */
  id: string;
  /**
   * The client.
   */
  client: string;
  /**
   * The time of the first call, in UTC.
   */
  began: string;
  /**
   * The time of the last answer, in UTC.
   */
  ended: string;
  /**
   * The number of calls.
   */
  calls: number;
}
