/**
 * A client for `planwright serve --listen`: it checks plans, runs them, watches their runs, and decides about calls that wait.
 *
 * It speaks MCP 2026-07-28 over HTTP, in which each request stands for itself. A plan that takes long is a task of MCP, so a run
 * outlives the connection, and another process can watch it.
 *
 * @module
 */
export type Plan = import("./schema/plan.js").Plan;
export type Values = {
    [name: string]: unknown;
};
export type AnyPlan = Plan | Values | string;
export type Finding = {
    /**
     * The code, such as `PW0201`; `planwright explain` explains it.
     */
    code: string;
    /**
     * The JSON pointer to its place in the plan.
     */
    at: string;
    message: string;
    /**
     * The way to fix it.
     */
    help?: string;
};
export type StepReport = {
    /**
     * The step with the item or round, such as `weather[2]`.
     */
    step: string | null;
    tool?: string;
    args?: Values;
    /**
     * The kind of error.
     */
    kind?: string;
    message?: string;
    /**
     * The reason why it was skipped, or runs again.
     */
    because?: string;
    /**
     * True if the plan goes on in spite of the error.
     */
    handled?: boolean;
};
export type CallReport = {
    /**
     * The step with the item or round.
     */
    call: string;
    tool: string;
    /**
     * The tool that undoes it.
     */
    undo?: string;
};
export type Outcome = {
    /**
     *   `sound` and `rejected` are about plans, the others about runs.
     */
    status: "sound" | "rejected" | "succeeded" | "failed" | "waiting" | "cancelled" | "running" | "interrupted";
    /**
     * The id of the run.
     */
    run?: string;
    /**
     * The output that the plan selects. Large values are abbreviated; {@link Planwright.output} reads all.
     */
    output?: any;
    /**
     * The steps that succeeded, if the run did not.
     */
    done?: string[];
    errors?: StepReport[];
    skipped?: StepReport[];
    /**
     * The calls that a person has to decide about.
     */
    waiting?: StepReport[];
    /**
     * The calls with an unknown outcome.
     */
    unknown?: StepReport[];
    /**
     * The steps that run again because the plan has changed.
     */
    rerun?: StepReport[];
    /**
     * The calls that a revert undoes, in the order of their undos, if it has not started.
     */
    undos?: CallReport[];
    /**
     * The calls that happened, and that nothing undoes. Those in doubt are `unknown`.
     */
    not_undone?: CallReport[];
    /**
     * The number of calls that earlier reverts have undone.
     */
    undone_before?: number;
    /**
     * The diagnostics of the plan.
     */
    findings?: Finding[];
    /**
     * The steps of a sound plan.
     */
    steps?: any;
    /**
     * The reason why a request was refused.
     */
    message?: string;
    /**
     * The way to continue.
     */
    next?: string;
};
export type Question = {
    /**
     * The name of the question in {@link Planwright.decide}.
     */
    key: string;
    /**
     * The call with its arguments, for a person.
     */
    message: string;
};
export type Decision = "approve" | {
    reject: string;
};
export type RunState = {
    run: string;
    status: "working" | "input_required" | "completed" | "cancelled" | "failed";
    /**
     * Such as `2 of 5 steps`.
     */
    progress?: string;
    /**
     * The calls that wait for a decision.
     */
    questions: Question[];
    /**
     * The outcome, once the run is `completed` or `cancelled`.
     */
    outcome?: Outcome;
};
export type RunOptions = {
    /**
     * The inputs of the plan.
     */
    inputs?: Values;
    /**
     * The dialect of the plan, if it is not to be recognised by its form.
     */
    dialect?: string;
    /**
     * Decides about a call that waits.
     * Without it, or if it returns nothing, the run waits until a person decides elsewhere, as with `planwright approve`.
     */
    decide?: (question: Question) => Decision | undefined | Promise<Decision | undefined>;
    /**
     * Receives each state of a run that takes longer than two seconds.
     */
    onState?: (state: RunState) => void;
    /**
     * Cancels the run.
     */
    signal?: AbortSignal;
};
export type ResumeOptions = {
    /**
     * Replaces the plan.
     */
    plan?: AnyPlan;
    /**
     * The steps whose results stay although the plan changes their inputs.
     */
    keep?: string[];
    /**
     * The steps to run again.
     */
    retry?: string[];
    /**
     * The steps to skip.
     */
    skip?: string[];
    /**
     * Outputs by step.
     */
    set?: Values;
};
export type RevertOptions = {
    /**
     * The step, item or round whose calls are the first to undo, in the order in which they ended.
     */
    from?: string;
    /**
     * Only lists the calls; nothing is called.
     */
    check?: boolean;
};
/** A request that the server did not accept, or an answer that is none. */
export declare class PlanwrightError extends Error {
    /** The code of the JSON-RPC error, if the answer has one. */
    code: number | undefined;
    /** The HTTP status. */
    status: number | undefined;
    /**
     * @param {string} message
     * @param {{ code?: number, status?: number }} [details]
     */
    constructor(message: string, { code, status }?: {
        code?: number;
        status?: number;
    });
}
/** A gateway, as one of its clients. It has no connection to close. */
export declare class Planwright {
    #private;
    /**
     * @param {object} options
     * @param {string} options.url The address of the gateway with its path, such as `http://127.0.0.1:8000/mcp`.
     * @param {string} [options.token] The token of this client, from `planwright token create`.
     * @param {typeof globalThis.fetch} [options.fetch] Sends the requests in place of the global `fetch`.
     */
    constructor({ url, token, fetch }: {
        url: string;
        token?: string;
        fetch?: typeof globalThis.fetch;
    });
    /**
     * Checks a plan. Nothing is called.
     *
     * @param {AnyPlan} plan
     * @param {Pick<RunOptions, "inputs" | "dialect" | "signal">} [options]
     * @returns {Promise<Outcome>} `sound`, or `rejected` with all `findings`.
     */
    check(plan: AnyPlan, { inputs, dialect, signal }?: Pick<RunOptions, "inputs" | "dialect" | "signal">): Promise<Outcome>;
    /**
     * Runs a plan to its end.
     *
     * @param {AnyPlan} plan
     * @param {RunOptions} [options]
     * @returns {Promise<Outcome>} The outcome, also of a plan that was `rejected` and a run that `failed`.
     * @throws {PlanwrightError} The request was not accepted.
     */
    run(plan: AnyPlan, options?: RunOptions): Promise<Outcome>;
    /**
     * Resumes a run that failed, waits or was interrupted. Completed steps are not repeated.
     *
     * @param {string} run
     * @param {RunOptions & ResumeOptions} [options]
     * @returns {Promise<Outcome>}
     * @throws {PlanwrightError} The request was not accepted.
     */
    resume(run: string, options?: RunOptions & ResumeOptions): Promise<Outcome>;
    /**
     * Undoes what a run did, in reverse order, by a run of its own. If something cannot be undone, or may be undone already, nothing is called
     * and the outcome is `rejected`: a person decides about the rest, with `planwright revert RUN --partial`.
     *
     * @param {string} run
     * @param {Pick<RunOptions, "decide" | "onState" | "signal"> & RevertOptions} [options]
     * @returns {Promise<Outcome>} The outcome of the run that undoes; `sound` if there is nothing to undo, or with `check`.
     * @throws {PlanwrightError} The request was not accepted.
     */
    revert(run: string, options?: Pick<RunOptions, "decide" | "onState" | "signal"> & RevertOptions): Promise<Outcome>;
    /**
     * Starts a plan, and returns once the run is a task or has ended.
     *
     * @param {AnyPlan} plan
     * @param {Pick<RunOptions, "inputs" | "dialect" | "signal">} [options]
     * @returns {Promise<RunState>} Its `run` is for {@link Planwright.watch}.
     */
    start(plan: AnyPlan, { inputs, dialect, signal }?: Pick<RunOptions, "inputs" | "dialect" | "signal">): Promise<RunState>;
    /**
     * Watches a run, of this process or of another one of the same client.
     *
     * @param {string} run
     * @param {{ signal?: AbortSignal }} [options] The signal ends the watching; the run continues.
     * @returns {AsyncGenerator<RunState, void, void>} Each change; the last one has the outcome.
     */
    watch(run: string, { signal }?: {
        signal?: AbortSignal;
    }): AsyncGenerator<RunState, void, void>;
    /**
     * Decides about calls that wait. The first decision about a call counts.
     *
     * @param {string} run
     * @param {{ [key: string]: Decision }} decisions By the keys of the questions.
     * @returns {Promise<void>}
     */
    decide(run: string, decisions: {
        [key: string]: Decision;
    }): Promise<void>;
    /**
     * Cancels a run, and the calls that it has in flight.
     *
     * @param {string} run
     * @returns {Promise<void>}
     */
    cancel(run: string): Promise<void>;
    /**
     * Returns the state or the outcome of a run.
     *
     * @param {string} run
     * @returns {Promise<Outcome>}
     */
    show(run: string): Promise<Outcome>;
    /**
     * Reads the whole output of a run, or of one of its steps.
     *
     * @param {string} run
     * @param {string} [step]
     * @returns {Promise<any>}
     */
    output(run: string, step?: string): Promise<any>;
    /**
     * Finds tools that plans may call.
     *
     * @param {string} query What is needed, in words.
     * @param {{ server?: string, limit?: number }} [options]
     * @returns {Promise<string[]>} The signatures of the tools.
     */
    tools(query: string, { server, limit }?: {
        server?: string;
        limit?: number;
    }): Promise<string[]>;
}
