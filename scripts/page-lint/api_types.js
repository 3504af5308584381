/** Writes the schemas of docs/reference/openapi.json as TypeScript types, so that the page is checked against the API. */

import { readFileSync, writeFileSync } from "node:fs";

const SOURCE = new URL("../../docs/reference/openapi.json", import.meta.url);
const TARGET = new URL("node_modules/api.d.ts", import.meta.url);

const nameOf = (name) => name.replaceAll(".", "_");

/** The type of a schema. A response has all properties, also those with a default. */
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref.split("/").at(-1));
  if (schema.anyOf || schema.oneOf) return (schema.anyOf ?? schema.oneOf).map(typeOf).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return `(${typeOf(schema.items ?? {})})[]`;
  if (schema.properties) return `{ ${Object.entries(schema.properties).map(property).join("; ")} }`;
  if (schema.type === "object") return `Record<string, ${typeOf(schema.additionalProperties || {})}>`;
  return (
    { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" }[schema.type] ?? "any"
  );
}

/** An event without a sentence of clew has no `texts`. */
const property = ([name, schema]) => `${JSON.stringify(name)}${name === "texts" ? "?" : ""}: ${typeOf(schema)}`;

const { components } = JSON.parse(readFileSync(SOURCE, "utf8"));
const types = Object.entries(components.schemas).map(([name, schema]) => `  type ${nameOf(name)} = ${typeOf(schema)};`);
writeFileSync(TARGET, `declare namespace Api {\n${types.join("\n")}\n}\n`);
