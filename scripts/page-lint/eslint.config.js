/** Finds mistakes, not matters of style. Undefined names and wrong types are found by TypeScript. */

import js from "@eslint/js";

export default [
  { ...js.configs.recommended, files: ["**/*.js"] },
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      eqeqeq: "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-undef": "off",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
