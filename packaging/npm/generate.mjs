// Makes the types of the client: those of the documents of `docs/schema`, and the declarations of `client/index.js`.
//
//     node packaging/npm/generate.mjs FOLDER
//
// The packages come from the folder that PLANWRIGHT_PACKAGING names, see `xtask/src/test/dist.rs`.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const client = join(root, "packaging/npm/planwright/client");
const require = createRequire(resolve(process.env.PLANWRIGHT_PACKAGING, "package.json"));

/** Writes all generated types into `folder`. */
export async function generate(folder) {
  const { compile } = require("json-schema-to-typescript");
  mkdirSync(join(folder, "schema"), { recursive: true });
  for (const file of readdirSync(join(root, "docs/schema")).sort()) {
    const name = file.replace(".schema.json", "");
    const schema = JSON.parse(readFileSync(join(root, "docs/schema", file), "utf8"));
    // The types of versioned documents have the version in their name; a plan has none.
    const title = schema.title?.endsWith("V1") ? schema.title : name[0].toUpperCase() + name.slice(1);
    const types = await compile({ ...explicit(schema), title }, title, {
      bannerComment: `// Generated from docs/schema/${file} by packaging/npm/generate.mjs.`,
      additionalProperties: false,
    });
    writeFileSync(join(folder, "schema", `${name}.d.ts`), types);
  }
  if (folder !== client) {
    cpSync(join(client, "index.js"), join(folder, "index.js"));
  }
  const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
  const strict = ["--ignoreConfig", "--strict", "--allowJs", "--checkJs", "--types", ""];
  const platform = ["--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,dom.asynciterable"];
  const output = ["--declaration", "--emitDeclarationOnly", "--outDir", folder];
  execFileSync(process.execPath, [tsc, ...strict, ...platform, ...output, join(folder, "index.js")], { stdio: "inherit" });
}

/** The keywords that say which values a schema takes. */
const RESTRICTIONS = ["type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items"];

/** Returns a schema in which any value and any object are explicit, since the compiler takes both for an object without fields. */
function explicit(schema) {
  if (typeof schema !== "object" || schema === null) {
    return schema;
  }
  const all = (schemas) => Object.fromEntries(Object.entries(schemas).map(([key, inner]) => [key, explicit(inner)]));
  const result = { ...schema };
  for (const field of ["properties", "$defs"]) {
    if (schema[field]) {
      result[field] = all(schema[field]);
    }
  }
  for (const field of ["items", "additionalProperties", "not"]) {
    if (schema[field] !== undefined) {
      result[field] = explicit(schema[field]);
    }
  }
  for (const field of ["anyOf", "oneOf", "allOf"]) {
    if (schema[field]) {
      result[field] = schema[field].map(explicit);
    }
  }
  if (!RESTRICTIONS.some((field) => field in schema)) {
    result.tsType = "unknown";
  } else if ([schema.type].flat().includes("object") && !schema.properties) {
    result.additionalProperties ??= true;
  }
  return result;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await generate(process.argv[2] ?? client);
}
