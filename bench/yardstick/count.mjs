// Counts o200k tokens: a JSON list of texts on standard input, the list of their counts on standard output.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import process from "node:process";

const require = createRequire(`${process.env.YARDSTICK_PACKAGES}/package.json`);
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
const texts = JSON.parse(await text(process.stdin));
console.log(JSON.stringify(texts.map((one) => encode(one).length)));
