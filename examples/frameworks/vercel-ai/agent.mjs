// An agent of Vercel's AI SDK that runs a plan. A script plays the model, so that the example needs no key.

import { readFileSync } from "node:fs";

import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const plan = JSON.parse(readFileSync("plan.json", "utf8"));
const usage = { inputTokens: {}, outputTokens: {} };
const call = { type: "tool-call", toolCallId: "1", toolName: "execute_plan", input: JSON.stringify({ plan }) };
const model = new MockLanguageModelV4({
  doGenerate: [
    { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] },
    { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop" }, usage, warnings: [] },
  ],
});

const planwright = await createMCPClient({
  transport: new StdioMCPTransport({ command: "planwright", args: ["serve", "--servers", "mcp.json"] }),
});
try {
  const result = await generateText({
    model,
    tools: await planwright.tools(),
    stopWhen: stepCountIs(10),
    prompt: "Add 2 and 3, and say the result.",
  });
  for (const { toolResults } of result.steps) {
    for (const { output } of toolResults) {
      console.log(JSON.stringify(output.structuredContent));
    }
  }
  console.log(result.text);
} finally {
  await planwright.close();
}
// → {"status":"succeeded","run":"…","output":{"said":"Echo: The sum of 2 and 3 is 5."}}
// → Done.
