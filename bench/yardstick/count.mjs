// Counts o200k tokens: a JSON list of texts on standard input, the list of their counts on standard output. With the argument `pieces`,
// the list of the texts of their tokens; a token that ends inside a character has an empty text, and the next one has the character.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import process from "node:process";

const require = createRequire(`${process.env.YARDSTICK_PACKAGES}/package.json`);
const { decode, encode } = require("gpt-tokenizer/encoding/o200k_base");

function pieces(one) {
  const tokens = encode(one);
  let written = 0;
  return tokens.map((_, at) => {
    const text = decode(tokens.slice(0, at + 1));
    if (text.endsWith("\uFFFD")) return "";
    const piece = text.slice(written);
    written = text.length;
    return piece;
  });
}

const texts = JSON.parse(await text(process.stdin));
const answer = process.argv[2] === "pieces" ? pieces : (one) => encode(one).length;
console.log(JSON.stringify(texts.map(answer)));
