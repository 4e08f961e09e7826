// A follower with the package ladle-client: `follow.js URL TOKEN SINCE`. A line of JSON for each event, break and refusal.
import { Configuration, Events, LadleError } from "ladle-client";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [, , basePath, accessToken, since] = process.argv;
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);

const events = new Events(new Configuration({ basePath, accessToken }), {
  ...(since ? { since } : {}),
  onBreak: (why, pause) => say({ break: String(why), pause: pause / 1000 }),
});
try {
  for await (const event of events) {
    const id = "id" in event ? event.id : undefined;
    const text = event.type === "run.ended" ? event.run?.text : undefined;
    say({ type: event.type, id, text, cursor: events.cursor });
  }
} catch (error) {
  if (!(error instanceof LadleError)) throw error;
  say({ refused: error.status, code: error.code, told: error.message });
}
