// A client of Ladle: calls and models as its contract has them, and events that resume.
export * from "./generated/index.js";
export * from "./events.js";
