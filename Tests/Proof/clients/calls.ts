// Every operation through the TypeScript client of openapi-generator: the steps of a file, as steps.py has them.
import * as ladle from "./ladle";

declare const process: { argv: string[]; env: Record<string, string> };
declare function require(name: "node:fs"): { readFileSync(path: string, encoding: "utf8"): string };

type Step = {
  operation: string; status: number; parameters: Record<string, unknown>; body: any; form: string | null;
  keep: Record<string, string>; awaits: Record<string, string> | null;
};

const [, , name, later, file, picture] = process.argv;
const kept: Record<string, string> = { name, later };
let text = "";
const configuration = new ladle.Configuration({
  basePath: process.env.LADLE_URL, accessToken: process.env.LADLE_TOKEN,
  // The answer as it was on the wire, to compare what is read with it.
  middleware: [{ post: async ({ response }) => { text = await response.clone().text(); } }],
});
const services: any[] = [];
for (const [word, kind] of Object.entries(ladle)) {
  if (word.endsWith("Api")) services.push(new (kind as any)(configuration));
}

function filled(value: any): any {
  if (typeof value === "string") return value.replace(/\{(\w+)\}/g, (whole, word) => kept[word] ?? whole);
  if (Array.isArray(value)) return value.map(filled);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [filled(key), filled(inner)]));
  }
  return value;
}

const at = (place: string, value: any): any => place.split(/[./]/).reduce((found, part) => found?.[part], value);

/** What the wire said and the typed answer does not have; undefined if it has all. */
function lost(value: any, typed: any): string | undefined {
  if (typed instanceof Date) return typed.toISOString().startsWith(String(value).slice(0, 10)) ? undefined : `${value} became ${typed}`;
  if (value && typeof value === "object") {
    if (!typed || typeof typed !== "object") return `${JSON.stringify(value)} became ${typed}`;
    for (const [key, inner] of Object.entries(value)) {
      const name = [key, `_${key}`, key.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())].find((one) => one in typed);
      const fault = lost(inner, name && typed[name]);
      if (fault) return `${key}: ${fault}`;
    }
    return undefined;
  }
  return value === typed ? undefined : `${JSON.stringify(value)} became ${JSON.stringify(typed)}`;
}

async function call(step: Step) {
  const service = services.find((one) => `${step.operation}Raw` in one);
  const parameters: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(filled(step.parameters) as object)) {
    parameters[word.replace(/-(\w)/g, (_, letter) => letter.toUpperCase()).replace(/^\w/, (letter) => letter.toLowerCase())] = value;
  }
  if (step.body === "png") {
    parameters.body = new Blob([Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0))], { type: "image/png" });
  } else if (step.body !== null) {
    const opts = service[`${step.operation}RequestOpts`].toString();
    const word: string = opts.match(/body: \(?[\s\S]*?requestParameters\[['"](\w+)['"]\]/)![1];
    parameters[word] = (ladle as any)[`${word[0].toUpperCase()}${word.slice(1)}FromJSON`](filled(step.body));
  }
  const init = step.body === "png" ? { headers: { "Content-Type": "image/png" } } : undefined;
  try {
    const answer = await service[`${step.operation}Raw`](parameters, init && (async (context: any) => ({ ...context.init, headers: { ...context.init.headers, ...init.headers } })));
    return { status: answer.raw.status, fields: answer.raw.headers, typed: await answer.value() };
  } catch (error: any) {
    if (!error.response) throw error;
    return { status: error.response.status, fields: error.response.headers, typed: undefined };
  }
}

async function main() {
  const said: object[] = [];
  for (const step of JSON.parse(require("node:fs").readFileSync(file, "utf8")) as Step[]) {
    for (;;) {
      let fault: string | undefined, status = 0, more = false;
      try {
        const answer = await call(step);
        const isJSON = answer.fields.get("content-type")?.includes("json");
        const value = isJSON ? JSON.parse(text) : undefined;
        status = answer.status;
        fault = status !== step.status ? `answered ${status}: ${text.slice(0, 400)}` : isJSON && status < 400 ? lost(value, answer.typed) : undefined;
        let found = value;
        if (!fault && step.awaits) {
          kept.cursor = value.cursor;
          const wanted = Object.entries(filled(step.awaits));
          found = value.events.find((event: any) => wanted.every(([place, so]) => at(place, event) === so));
          more = !found && value.events.length > 0;
          if (!found && !more) fault = `no event came that is ${JSON.stringify(wanted)}`;
        }
        if (!fault && !more) {
          for (const [word, place] of Object.entries(step.keep)) {
            kept[word] = place.startsWith("@") ? answer.fields.get(place.slice(1))! : String(at(place, found)).split("/v1/act/").pop()!;
          }
        }
      } catch (error) {
        fault = String(error);
      }
      said.push({ operation: step.operation, status, fault });
      if (!more) break;
    }
  }
  console.log(JSON.stringify(said));
}

main();
