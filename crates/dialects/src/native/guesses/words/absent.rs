//! Fields of other systems that have no counterpart of their own here, and what a plan has in their place.

/// Words for a field without a counterpart, and what a plan has in its place.
pub(in crate::native::guesses) struct Absent {
    /// The words in lower case, without signs between their parts.
    words: &'static [&'static str],
    /// True if a step without arguments more often has the words for one.
    pub(in crate::native::guesses) is_loose: bool,
    /// The advice after `leave it out: `, in which `ID` stands for the id of the step.
    pub(in crate::native::guesses) advice: &'static str,
}

/// `key` in lower case, without signs between its parts.
pub(in crate::native::guesses) fn normal(key: &str) -> String {
    key.chars()
        .filter(|sign| sign.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Words in lower case, without signs between their parts.
#[derive(Clone, Copy)]
pub(in crate::native::guesses) struct Words(pub(in crate::native::guesses) &'static [&'static str]);

impl Words {
    /// Returns true if `key` is one of the words.
    pub(in crate::native::guesses) fn contains(self, key: &str) -> bool {
        self.0.contains(&&*normal(key))
    }
}

/// Returns true if `key` is one of `words`, which are in lower case, without signs between their parts, and with blanks between them.
pub(in crate::native::guesses) fn is_among(words: &str, key: &str) -> bool {
    words.split(' ').any(|word| is_same(key, word))
}

/// Returns true if `key` is `word` but for its case and the signs between its parts.
pub(in crate::native::guesses) fn is_same(key: &str, word: &str) -> bool {
    let letters = key.chars().filter(|sign| sign.is_alphanumeric());
    letters.flat_map(char::to_lowercase).eq(word.chars())
}

/// The entry of `table` for `key`, whatever stands between its parts.
pub(in crate::native::guesses) fn absent(
    table: &'static [Absent],
    key: &str,
) -> Option<&'static Absent> {
    let key = normal(key);
    table.iter().find(|absent| absent.words.contains(&&*key))
}

/// Fields of steps.
#[rustfmt::skip]
pub(in crate::native::guesses) const OF_STEPS: &[Absent] = &[
    Absent {
        words: &["next", "nextstep", "nextnode", "goto", "transitions"],
        is_loose: false,
        advice: "a step waits for those that it refers to, and for those in its `after`, so write `\"after\": [\"ID\"]` in the next step if it does not use `${ID}`",
    },
    Absent {
        words: &["backoff", "retrybackoff", "backoffstrategy", "backoffrate", "backofffactor", "exponentialbackoff"],
        is_loose: false,
        advice: "`retry` waits longer before each further attempt, from its `delay` on, `\"retry\": {\"attempts\": 3, \"delay\": \"1s\"}`",
    },
    Absent {
        words: &["delay", "wait", "sleep", "pause", "delayseconds", "delayms", "waitseconds", "startdelay", "delaybefore", "delayafter", "waitbefore", "waitafter", "initialdelay"],
        is_loose: true,
        advice: "a step starts as soon as the steps that it needs have ended; only attempts have pauses between them, `\"retry\": {\"attempts\": 3, \"delay\": \"5s\"}`",
    },
    Absent {
        words: &["ratelimit", "throttle", "qps", "rps", "requestspersecond", "requestsperminute"],
        is_loose: true,
        advice: "the rate of calls is a setting of the server in `planwright.toml`, `[rates]` with `SERVER = \"100/m\"`",
    },
    Absent {
        words: &["batchsize", "batch", "chunksize", "chunk"],
        is_loose: true,
        advice: "a loop has no batches; `\"max_parallel\": 5` says how many of its calls run at once",
    },
    Absent {
        words: &["runon", "triggerrule", "runwhen"],
        is_loose: false,
        advice: "a step that runs after a failure has `\"when\": \"${!results.STEP.success}\"` with the id of the step that may fail, and that one `\"on_error\": \"continue\"`",
    },
    Absent {
        words: &["transform", "outputpath", "resultpath", "resultselector", "outputselector", "outputmapping", "outputtransform", "postprocess", "jq", "jsonpath", "pick", "parseoutput", "resultexpression"],
        is_loose: true,
        advice: "take the part where it is used, `${ID.FIELD}`, or add a step that computes it, `{\"id\": \"part\", \"value\": \"${ID.FIELD}\"}`",
    },
    Absent {
        words: &["assert", "asserts", "assertion", "assertions", "expect", "expects", "expected", "validate", "validation", "validations", "ensure", "postcondition", "successcondition", "successcriteria", "failedwhen", "verify"],
        is_loose: true,
        advice: "a step states no test of its output; the steps that need the test have it as a condition, `\"when\": \"${ID.FIELD != null}\"`",
    },
    Absent {
        words: &["outputschema", "responseformat", "responseschema", "outputtype", "returntype", "outputformat"],
        is_loose: true,
        advice: "the tool states the form of its output; `extract` with a `schema` gets data from a text",
    },
    Absent {
        words: &["env", "environment", "environmentvariables", "envvars"],
        is_loose: true,
        advice: "a tool gets its arguments only; in them, `${vars.NAME}` is a variable of the plan, and `${env.NAME}` one of the environment",
    },
    Absent {
        words: &["rollback", "compensate", "compensation", "oncancel", "ontimeout"],
        is_loose: false,
        advice: "a call that undoes something is a step of its own, with `\"when\": \"${!results.ID.success}\"`, and this one has `\"on_error\": \"continue\"`",
    },
    Absent {
        words: &["model", "llm", "temperature", "maxtokens", "systemprompt"],
        is_loose: true,
        advice: "a step calls a tool; only `extract` has a model read a text, and it is the model of the run, `--model`",
    },
    Absent {
        words: &["indexvar", "indexas", "indexname", "indexvariable", "counter"],
        is_loose: false,
        advice: "the number of the item is `${index}`, from 0 on",
    },
    Absent {
        words: &["priority", "cache", "cached", "cacheable", "memoize", "tags", "labels", "category", "owner", "weight", "estimatedtime", "estimatedduration", "estimatedcost", "cost", "color", "icon", "metadata", "meta", "annotations", "log", "logging", "loglevel", "verbose", "stream", "streaming", "notify", "notifications", "phase", "stage", "status", "pool", "queue", "runson", "shell", "permissions", "requiredtools", "expectedduration"],
        is_loose: true,
        advice: "a step has no such field, and runs as it does without it",
    },
];

/// Fields of plans. `VALUE` stands for the value of the field.
#[rustfmt::skip]
pub(in crate::native::guesses) const OF_PLANS: &[Absent] = &[
    Absent {
        words: &["trigger", "triggers", "on", "schedule", "cron", "start", "entrypoint", "startat", "interval"],
        is_loose: false,
        advice: "a plan does not say when it runs, `planwright run` does",
    },
    Absent {
        words: &["maxparallel", "maxconcurrency", "concurrency", "parallelism", "maxworkers"],
        is_loose: false,
        advice: "run the plan with `planwright run PLAN --max-parallel VALUE`",
    },
    Absent {
        words: &["timeout", "timeoutseconds", "timeoutminutes", "maxtime", "timelimit", "deadline"],
        is_loose: false,
        advice: "run the plan with `planwright run PLAN --max-time VALUE`",
    },
    Absent {
        words: &["retries", "maxretries", "retry", "retrypolicy", "retryconfig"],
        is_loose: false,
        advice: "each step has its own, `\"retry\": 3`",
    },
    Absent {
        words: &["tools", "servers", "mcpservers", "toolset", "availabletools", "toolsused", "requiredtools"],
        is_loose: false,
        advice: "the tools are those of the servers of the run, `--servers FILE`",
    },
    Absent {
        words: &["agents", "agent", "model", "llm", "provider", "systemprompt", "temperature"],
        is_loose: false,
        advice: "a plan has no agents and no model, its steps call tools",
    },
    Absent {
        words: &["defaults", "settings", "config", "configuration", "options"],
        is_loose: false,
        advice: "a plan has no settings, each step has its own fields, such as `\"retry\": 3` and `\"timeout\": \"30s\"`",
    },
    Absent {
        words: &["secrets", "credentials"],
        is_loose: false,
        advice: "`${secrets.NAME}` in an argument is a secret, which `planwright.toml` gives to the tool",
    },
    Absent {
        words: &["onsuccess", "oncomplete", "oncompletion", "onfinish"],
        is_loose: false,
        advice: "what is done at the end is a step whose `after` has the ids of the steps before it",
    },
];

/// Words for data about a plan, which is its `metadata`.
#[rustfmt::skip]
pub(in crate::native::guesses) const ABOUT_PLANS: Words = Words(&[
    "author", "authors", "tags", "labels", "keywords", "category", "owner", "license", "created", "createdat", "createdby", "updatedat",
    "priority", "confidence", "complexity", "requestid", "sessionid", "userid", "estimatedtime", "estimatedduration", "estimatedcost",
    "assumptions", "meta", "annotations", "risks", "successcriteria",
]);
