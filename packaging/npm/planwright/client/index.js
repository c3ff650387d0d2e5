/**
 * A client for `planwright serve --listen`: it checks plans, runs them, watches their runs, and decides about calls that wait.
 *
 * It speaks MCP 2026-07-28 over HTTP, in which each request stands for itself. A plan that takes long is a task of MCP, so a run
 * outlives the connection, and another process can watch it.
 *
 * @module
 */

/** @typedef {import("./schema/plan.js").Plan} Plan */
/** @typedef {{ [name: string]: unknown }} Values */
/** @typedef {Plan | Values | string} AnyPlan A plan in any dialect, as an object or as text. */

/**
 * A diagnostic of a plan.
 *
 * @typedef {object} Finding
 * @property {string} code The code, such as `PW0201`; `planwright explain` explains it.
 * @property {string} at The JSON pointer to its place in the plan.
 * @property {string} message
 * @property {string} [help] The way to fix it.
 */

/**
 * A step that failed, was skipped, waits, or has an unknown outcome.
 *
 * @typedef {object} StepReport
 * @property {string | null} step The step with the item or round, such as `weather[2]`.
 * @property {string} [tool]
 * @property {Values} [args]
 * @property {string} [kind] The kind of error.
 * @property {string} [message]
 * @property {string} [because] The reason why it was skipped, or runs again.
 * @property {boolean} [handled] True if the plan goes on in spite of the error.
 */

/**
 * A call of a run that is to be reverted.
 *
 * @typedef {object} CallReport
 * @property {string} call The step with the item or round.
 * @property {string} tool
 * @property {string} [undo] The tool that undoes it.
 */

/**
 * The answer about a plan or a run.
 *
 * @typedef {object} Outcome
 * @property {"sound" | "rejected" | "succeeded" | "failed" | "waiting" | "cancelled" | "running" | "interrupted"} status
 *   `sound` and `rejected` are about plans, the others about runs.
 * @property {string} [run] The id of the run.
 * @property {any} [output] The output that the plan selects. Large values are abbreviated; {@link Planwright.output} reads all.
 * @property {string[]} [done] The steps that succeeded, if the run did not.
 * @property {StepReport[]} [errors]
 * @property {StepReport[]} [skipped]
 * @property {StepReport[]} [waiting] The calls that a person has to decide about.
 * @property {StepReport[]} [unknown] The calls with an unknown outcome.
 * @property {StepReport[]} [rerun] The steps that run again because the plan has changed.
 * @property {CallReport[]} [undos] The calls that a revert undoes, in the order of their undos, if it has not started.
 * @property {CallReport[]} [not_undone] The calls that happened, and that nothing undoes. Those in doubt are `unknown`.
 * @property {number} [undone_before] The number of calls that earlier reverts have undone.
 * @property {Finding[]} [findings] The diagnostics of the plan.
 * @property {any} [steps] The steps of a sound plan.
 * @property {string} [message] The reason why a request was refused.
 * @property {string} [next] The way to continue.
 */

/**
 * A call that waits for a decision.
 *
 * @typedef {object} Question
 * @property {string} key The name of the question in {@link Planwright.decide}.
 * @property {string} message The call with its arguments, for a person.
 */

/** @typedef {"approve" | { reject: string }} Decision The text of `reject` is the reason; it may be empty. */

/**
 * The state of a run.
 *
 * @typedef {object} RunState
 * @property {string} run
 * @property {"working" | "input_required" | "completed" | "cancelled" | "failed"} status
 * @property {string} [progress] Such as `2 of 5 steps`.
 * @property {Question[]} questions The calls that wait for a decision.
 * @property {Outcome} [outcome] The outcome, once the run is `completed` or `cancelled`.
 */

/**
 * @typedef {object} RunOptions
 * @property {Values} [inputs] The inputs of the plan.
 * @property {string} [dialect] The dialect of the plan, if it is not to be recognised by its form.
 * @property {(question: Question) => Decision | undefined | Promise<Decision | undefined>} [decide] Decides about a call that waits.
 *   Without it, or if it returns nothing, the run waits until a person decides elsewhere, as with `planwright approve`.
 * @property {(state: RunState) => void} [onState] Receives each state of a run that takes longer than two seconds.
 * @property {AbortSignal} [signal] Cancels the run.
 */

/**
 * @typedef {object} ResumeOptions
 * @property {AnyPlan} [plan] Replaces the plan.
 * @property {string[]} [keep] The steps whose results stay although the plan changes their inputs.
 * @property {string[]} [retry] The steps to run again.
 * @property {string[]} [skip] The steps to skip.
 * @property {Values} [set] Outputs by step.
 */

/**
 * @typedef {object} RevertOptions
 * @property {string} [from] The step, item or round whose calls are the first to undo, in the order in which they ended.
 * @property {boolean} [check] Only lists the calls; nothing is called.
 */

const REVISION = "2026-07-28";
const TASKS = "io.modelcontextprotocol/tasks";
/** The number of times that a request is sent again if the server refuses it because of the rate. */
const MAX_RETRIES = 5;

/** A request that the server did not accept, or an answer that is none. */
export class PlanwrightError extends Error {
  /**
   * @param {string} message
   * @param {{ code?: number, status?: number }} [details]
   */
  constructor(message, { code, status } = {}) {
    super(message);
    this.name = "PlanwrightError";
    /** The code of the JSON-RPC error, if the answer has one. */
    this.code = code;
    /** The HTTP status. */
    this.status = status;
  }
}

/** A gateway, as one of its clients. It has no connection to close. */
export class Planwright {
  /** @type {string} */ #url;
  /** @type {string | undefined} */ #token;
  /** @type {typeof globalThis.fetch} */ #fetch;
  #requests = 0;

  /**
   * @param {object} options
   * @param {string} options.url The address of the gateway with its path, such as `http://127.0.0.1:8000/mcp`.
   * @param {string} [options.token] The token of this client, from `planwright token create`.
   * @param {typeof globalThis.fetch} [options.fetch] Sends the requests in place of the global `fetch`.
   */
  constructor({ url, token, fetch = globalThis.fetch }) {
    this.#url = url;
    this.#token = token;
    this.#fetch = fetch;
  }

  /**
   * Checks a plan. Nothing is called.
   *
   * @param {AnyPlan} plan
   * @param {Pick<RunOptions, "inputs" | "dialect" | "signal">} [options]
   * @returns {Promise<Outcome>} `sound`, or `rejected` with all `findings`.
   */
  async check(plan, { inputs, dialect, signal } = {}) {
    return outcomeOf(await this.#call("check_plan", { plan, inputs, dialect }, signal));
  }

  /**
   * Runs a plan to its end.
   *
   * @param {AnyPlan} plan
   * @param {RunOptions} [options]
   * @returns {Promise<Outcome>} The outcome, also of a plan that was `rejected` and a run that `failed`.
   * @throws {PlanwrightError} The request was not accepted.
   */
  async run(plan, options = {}) {
    const { inputs, dialect, signal } = options;
    return this.#finish(await this.#call("execute_plan", { plan, inputs, dialect }, signal), options);
  }

  /**
   * Resumes a run that failed, waits or was interrupted. Completed steps are not repeated.
   *
   * @param {string} run
   * @param {RunOptions & ResumeOptions} [options]
   * @returns {Promise<Outcome>}
   * @throws {PlanwrightError} The request was not accepted.
   */
  async resume(run, options = {}) {
    const { plan, inputs, dialect, keep, retry, skip, set, signal } = options;
    const arguments_ = { run, plan, inputs, dialect, keep, retry, skip, set };
    return this.#finish(await this.#call("resume_plan", arguments_, signal), options);
  }

  /**
   * Undoes what a run did, in reverse order, by a run of its own. If something cannot be undone, or may be undone already, nothing is called
   * and the outcome is `rejected`: a person decides about the rest, with `planwright revert RUN --partial`.
   *
   * @param {string} run
   * @param {Pick<RunOptions, "decide" | "onState" | "signal"> & RevertOptions} [options]
   * @returns {Promise<Outcome>} The outcome of the run that undoes; `sound` if there is nothing to undo, or with `check`.
   * @throws {PlanwrightError} The request was not accepted.
   */
  async revert(run, options = {}) {
    const { from, check, signal } = options;
    return this.#finish(await this.#call("revert_run", { run, from, check }, signal), options);
  }

  /**
   * Starts a plan, and returns once the run is a task or has ended.
   *
   * @param {AnyPlan} plan
   * @param {Pick<RunOptions, "inputs" | "dialect" | "signal">} [options]
   * @returns {Promise<RunState>} Its `run` is for {@link Planwright.watch}.
   */
  async start(plan, { inputs, dialect, signal } = {}) {
    return stateOf(await this.#call("execute_plan", { plan, inputs, dialect }, signal));
  }

  /**
   * Watches a run, of this process or of another one of the same client.
   *
   * @param {string} run
   * @param {{ signal?: AbortSignal }} [options] The signal ends the watching; the run continues.
   * @returns {AsyncGenerator<RunState, void, void>} Each change; the last one has the outcome.
   */
  async *watch(run, { signal } = {}) {
    let last = "";
    for (;;) {
      const task = await this.#ask("tasks/get", { taskId: run }, signal);
      const state = stateOf(task);
      if (last !== JSON.stringify(state)) {
        last = JSON.stringify(state);
        yield state;
      }
      if (state.status !== "working" && state.status !== "input_required") {
        return;
      }
      await delay(task.pollIntervalMs ?? 500, signal);
    }
  }

  /**
   * Decides about calls that wait. The first decision about a call counts.
   *
   * @param {string} run
   * @param {{ [key: string]: Decision }} decisions By the keys of the questions.
   * @returns {Promise<void>}
   */
  async decide(run, decisions) {
    const answers = Object.entries(decisions).map(([key, decision]) => {
      const content =
        decision === "approve" ? { decision } : { decision: "reject", because: decision.reject };
      return [key, { action: "accept", content }];
    });
    await this.#ask("tasks/update", { taskId: run, inputResponses: Object.fromEntries(answers) });
  }

  /**
   * Cancels a run, and the calls that it has in flight.
   *
   * @param {string} run
   * @returns {Promise<void>}
   */
  async cancel(run) {
    await this.#ask("tasks/cancel", { taskId: run });
  }

  /**
   * Returns the state or the outcome of a run.
   *
   * @param {string} run
   * @returns {Promise<Outcome>}
   */
  async show(run) {
    return outcomeOf(await this.#call("get_run", { run }));
  }

  /**
   * Reads the whole output of a run, or of one of its steps.
   *
   * @param {string} run
   * @param {string} [step]
   * @returns {Promise<any>}
   */
  async output(run, step) {
    const part = step === undefined ? "output" : `steps/${step}`;
    const { contents } = await this.#ask("resources/read", { uri: `planwright://runs/${run}/${part}` });
    const texts = contents.filter((/** @type {any} */ content) => content.mimeType === "application/json");
    return texts.length === 1 ? JSON.parse(texts[0].text) : contents;
  }

  /**
   * Finds tools that plans may call.
   *
   * @param {string} query What is needed, in words.
   * @param {{ server?: string, limit?: number }} [options]
   * @returns {Promise<string[]>} The signatures of the tools.
   */
  async tools(query, { server, limit } = {}) {
    const found = await this.#call("search_tools", { query, server, limit });
    return found.structuredContent?.tools ?? [];
  }

  /**
   * Follows a run that has become a task to its end.
   *
   * @param {any} answer
   * @param {RunOptions} options
   * @returns {Promise<Outcome>}
   */
  async #finish(answer, { decide, onState, signal }) {
    if (answer.resultType !== "task") {
      return outcomeOf(answer);
    }
    const run = answer.taskId;
    const asked = new Set();
    try {
      for await (const state of this.watch(run, { signal })) {
        onState?.(state);
        if (state.outcome !== undefined) {
          return state.outcome;
        }
        for (const question of decide ? state.questions : []) {
          if (!asked.has(question.key)) {
            asked.add(question.key);
            const decision = await decide?.(question);
            if (decision !== undefined) {
              await this.decide(run, { [question.key]: decision });
            }
          }
        }
      }
    } catch (error) {
      if (signal?.aborted) {
        await this.cancel(run);
      }
      throw error;
    }
    throw new PlanwrightError(`the run \`${run}\` has no outcome`);
  }

  /**
   * @param {string} name
   * @param {Values} arguments_
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  #call(name, arguments_, signal) {
    return this.#ask("tools/call", { name, arguments: arguments_ }, signal);
  }

  /**
   * Sends a request and returns its result.
   *
   * @param {string} method
   * @param {any} params
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async #ask(method, params, signal) {
    const id = ++this.#requests;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": REVISION,
      "io.modelcontextprotocol/clientInfo": { name: "planwright/client", version: REVISION },
      "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } },
    };
    /** @type {Record<string, string>} */
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": params.name ?? params.uri ?? params.taskId,
    };
    if (this.#token !== undefined) {
      headers.authorization = `Bearer ${this.#token}`;
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    for (let retries = 0; ; retries += 1) {
      const response = await this.#fetch(this.#url, { method: "POST", headers, body, signal });
      // A request that was refused because of the rate had no effect.
      if (response.status === 429 && retries < MAX_RETRIES) {
        await response.body?.cancel();
        await delay(1000 * Number(response.headers.get("retry-after") ?? 1), signal);
        continue;
      }
      return resultOf(await messageOf(response, id), response.status);
    }
  }
}

/**
 * @param {any} message
 * @param {number} status
 * @returns {any}
 */
function resultOf(message, status) {
  if (message?.result !== undefined) {
    return message.result;
  }
  const error = message?.error;
  throw new PlanwrightError(error?.message ?? `the server answered without a result (${status})`, { code: error?.code, status });
}

/**
 * Reads the answer to the request `id`: the body, or an event of the stream.
 *
 * @param {Response} response
 * @param {number} id
 * @returns {Promise<any>} `undefined` if there is none.
 */
async function messageOf(response, id) {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const text = await response.text();
  const messages = isStream ? eventsOf(text) : [text];
  for (const message of messages.map(parsed)) {
    // An error about the request as a whole has no id.
    if (message?.id === id || (message?.id == null && message?.error !== undefined)) {
      return message;
    }
  }
  return undefined;
}

/**
 * Returns the data of the events of a stream.
 *
 * @param {string} text
 * @returns {string[]}
 */
function eventsOf(text) {
  const events = text.split(/\r?\n\r?\n/);
  const dataOf = (/** @type {string} */ event) =>
    event
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).replace(/^ /, ""))
      .join("\n");
  return events.map(dataOf).filter((data) => data !== "");
}

/**
 * @param {string} text
 * @returns {any} `undefined` if it is not JSON.
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * @param {any} result The result of a call of a tool.
 * @returns {Outcome}
 */
function outcomeOf(result) {
  if (result.structuredContent !== undefined) {
    return result.structuredContent;
  }
  throw new PlanwrightError(result.content?.[0]?.text ?? "the answer has no structured content");
}

/**
 * @param {any} answer A task, or the result of a call of a tool.
 * @returns {RunState}
 */
function stateOf(answer) {
  if (answer.taskId === undefined) {
    const outcome = outcomeOf(answer);
    return { run: outcome.run ?? "", status: "completed", questions: [], outcome };
  }
  const { taskId: run, status, statusMessage, inputRequests, result, error } = answer;
  const questions = Object.entries(inputRequests ?? {}).map(([key, request]) => ({
    key,
    message: /** @type {any} */ (request).params.message,
  }));
  /** @type {RunState} */
  const state = { run, status, questions };
  if (statusMessage !== undefined) {
    state.progress = statusMessage;
  }
  if (result !== undefined) {
    state.outcome = outcomeOf(result);
  } else if (status === "cancelled") {
    state.outcome = { status, run };
  } else if (status === "failed") {
    throw new PlanwrightError(error?.message ?? `the task \`${run}\` failed`, { code: error?.code });
  }
  return state;
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function delay(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
