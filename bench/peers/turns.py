"""What the drivers of other systems share: the shapes, the tool, and taking turns.

Each driver is a process that reads the number of a shape from each line of its input, runs it once to warm up and then
as often as a turn asks for, and answers with the seconds that each run took: from the text of a plan, over reading it,
to what its run came to. What comes out is verified after the time was taken.
"""

import asyncio
import json
import sys
import time


async def step(a=0, b=0, ms=0):
    """The only tool: sleeps `ms` milliseconds, if any, and gives one more than `a` and `b`."""
    if ms:
        await asyncio.sleep(ms / 1000)
    return 1 + max(a, b)


def args_of(step, reference):
    """The arguments of a step, with references as `reference` writes them."""
    args = {name: reference(read) for name, read in zip("ab", step["reads"])}
    if step["ms"]:
        args["ms"] = step["ms"]
    return args


def serve(shapes, text_of, run, outputs_of):
    """Takes turns until the input ends.

    `text_of` makes the text of a plan from a shape, `run` runs a text, and `outputs_of` gives from what `run` came to
    the outputs of all steps in their order, or fails where not every step succeeded.
    """
    asyncio.run(_serve(shapes, text_of, run, outputs_of))


async def _serve(shapes, text_of, run, outputs_of):
    for line in sys.stdin:
        shape = shapes[int(line)]
        text = text_of(shape)
        expected = [step["gives"] for step in shape["steps"]]
        seconds = []
        for _ in range(1 + shape["runs"]):
            start = time.perf_counter()
            result = await run(text)
            seconds.append(time.perf_counter() - start)
            if outputs_of(result, shape) != expected:
                raise SystemExit(f"`{shape['name']}` came out wrong")
        print(json.dumps({"seconds": seconds[1:]}), flush=True)
