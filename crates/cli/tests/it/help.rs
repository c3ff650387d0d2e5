//! The list of commands, words that people try for them, and the manual.

use crate::program::{planwright, stderr, stdout};
use crate::prompts::{assert_screen, screen};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = planwright(folder.path()).args(arguments).output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn commands_are_listed_by_subject() {
    let (exit, help, _) = run(&["--help"]);
    assert_eq!(exit, Some(0));
    insta::assert_snapshot!(help, @r"
    Checks and runs plans of tool calls over MCP servers

    Usage: planwright [OPTIONS] <COMMAND>

    Plans:
      check        Check a plan, several, or all stored ones: diagnostics only, nothing is called
      explain      Explain a diagnostic code or a kind of error: what it means, why it matters, how to
                   fix it
      flow         Show the origins of a plan's arguments: each guarded or leaving parameter, its
                   sources and paths
      lsp          Help an editor with plans: a language server over standard input and output
      show         Draw a plan, or a stored run with the status of each step
      convert      Write a plan in another dialect, or report the parts that it cannot express
      save         Save a plan under a name, as its newest version
      learn        Learn a plan from traces of the same work: what an agent did, call by call
      list         List the saved plans with their inputs
      delete       Delete a saved plan, or one version of it. Its runs are not affected

    Runs:
      run          Check a plan, then run it
      call         Call one tool, as a plan of one step: it is checked, approved and stored like any
                   other
      resume       Resume a run that was interrupted, is waiting for a decision, or failed
      revert       Undo the calls of a run in reverse order
      runs         List the stored runs, the newest first
      logs         Print the log of a run: its calls in the order of sending, the decisions, and the
                   processes that drove it
      attach       Watch a run in progress, even if another process drives it
      cancel       Cancel a run in progress, even if another process drives it
      replay       Replay a run from its journal without any calls, and compare its decisions
      diff         Compare two runs: their plans, inputs, and the outcome of each step; or the plans in
                   two files
      export       Write a run to a file that another machine can import, show and replay
      import       Import a run that `export` wrote
      prune        Delete old runs. Runs that wait for a person or whose process died are retained; runs
                   that were ended with Ctrl-C are deleted
      ui           Show plans and runs in the browser: graphs, live runs, and the calls that wait for a
                   decision

    Decisions:
      waiting      List all calls that wait for a decision, of all runs, with their arguments
      approve      Show the calls of a run that wait for a decision, and approve them
      reject       Reject calls that wait for a decision: their steps fail
      passphrase   Set or change the passphrase that decisions on the command line require

    Models:
      create       Let a model write a plan for a goal
      ask          Answer a question with the available tools
      chat         Chat with a model that can call the tools, and write and run plans
      dates        Resolve a date phrase: `last week`, `October 1st to October 10th`, `3 days ago`

    Servers and tools:
      servers      List, test or add MCP servers
      tools        List the tools of the configured servers, or their changes
      trust        Trust an `mcp.json`, so that its servers are started when it is found rather than
                   named
      login        Log in to an HTTP server that requires authorization

    Gateway:
      serve        Run a gateway: one MCP server in front of many, which runs plans
      health       Ask a gateway that serves over HTTP whether it answers
      wrap         Put the gateway in front of a client's MCP servers
      token        Tokens of the clients that may reach `serve` over HTTP

    Workflow engines:
      worker       Execute runs and calls of tools for a Restate server, until a signal arrives

    Setup:
      demo         Run a plan over the files of this folder, with nothing installed
      init         Write a commented `planwright.toml`, and a trusted `mcp.json` if none exists
      config       Show the effective configuration and its origins
      doctor       Check the environment of commands: configuration, store, servers, model. Starts the
                   servers
      completions  Print a script that completes commands, flags, and the names of plans, runs, steps
                   and tools in a shell
      man          Print the manual page, or write the pages of all commands to a folder
      help         Explain a command

    Options:
      -h, --help          Print help
      -V, --version       Print version
          --color <WHEN>  Use of colours: auto, always, never [default: auto]
          --no-pager      Do not page long output. By default, output longer than the terminal is shown
                          with `PAGER`, or `less`
          --log <WHAT>    Log to standard error: a level, or targets with levels, such as
                          `warn,planwright=debug`; `PLANWRIGHT_LOG` by default

    `planwright help COMMAND` explains a command, `planwright man` prints the manual.
    ");
    assert_eq!(run(&["help"]).1, help);
    let (exit, _, usage) = run(&[]);
    assert_eq!((exit, usage), (Some(2), help));
}

#[test]
fn misspelt_commands_and_names_of_other_programs_suggest_a_command() {
    for (word, command) in [
        ("rnu", "run"),
        ("start", "run"),
        ("server", "servers"),
        ("stop", "cancel"),
        ("dry-run", "run --dry-run"),
    ] {
        let (exit, _, error) = run(&[word]);
        assert_eq!(exit, Some(2), "{word}");
        let tip = format!("tip: a similar subcommand exists: '{command}'\n");
        assert!(error.contains(&tip), "{word}: {error}");
    }
    let (exit, _, error) = run(&["frobnicate"]);
    assert_eq!(exit, Some(2));
    assert!(!error.contains("tip:"), "{error}");
    // The commands below another one have their own.
    let (_, _, error) = run(&["token", "lst"]);
    assert!(error.contains("'list'"), "{error}");
}

#[test]
fn unknown_options_and_other_words_lead_to_what_is_meant() {
    for (line, tip) in [
        ("version", "a similar argument exists: '--version'"),
        (
            "create x --base-url y",
            "a similar argument exists: '--model-base-url'",
        ),
        (
            "run plan.json --from-step b",
            "`planwright resume RUN --retry STEP` calls a step of a stored run again; finished steps stay finished",
        ),
        (
            "servers add --hedaer x",
            "a similar argument exists: '--header'",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (exit, _, error) = run(&words);
        assert_eq!(exit, Some(2), "{line}");
        assert_eq!(error.matches("tip: ").count(), 1, "{line}: {error}");
        assert!(error.contains(&format!("tip: {tip}\n")), "{line}: {error}");
    }
}

#[test]
fn a_misspelt_command_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    assert_screen("misspelt", &screen(folder.path(), "statsu", &[]));
}

#[test]
fn aliases_are_the_commands() {
    let (_, check, _) = run(&["help", "validate"]);
    assert_eq!(check, run(&["help", "check"]).1);
    let (exit, _, error) = run(&["status"]);
    assert_eq!((exit, &*error), (Some(0), "no runs are stored yet\n"));
}

#[test]
fn manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let man = |arguments: &[&str]| {
        let output = planwright(folder.path())
            .arg("man")
            .args(arguments)
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let page = man(&[]);
    assert!(page.contains(".TH planwright 1"), "{page}");
    let written = man(&["--output", "pages"]);
    for name in ["planwright", "planwright-run", "planwright-servers-add"] {
        assert!(written.contains(&format!("pages/{name}.1\n")), "{written}");
    }
    let page = std::fs::read_to_string(folder.path().join("pages/planwright-run.1")).unwrap();
    assert!(page.contains("\\-\\-max\\-parallel"), "{page}");
}
