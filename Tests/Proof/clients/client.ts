// The TypeScript client of openapi-generator.
import { AccessApi, Configuration, EventsApi, IdentityApi, MessagesApi, ResponseError, RunsApi, Scope } from "./ladle";

declare const process: { argv: string[]; env: Record<string, string> };

async function main() {
  const name = process.argv[2];
  const configuration = new Configuration({ basePath: process.env.LADLE_URL, accessToken: process.env.LADLE_TOKEN });
  const [messages, identity] = [new MessagesApi(configuration), new IdentityApi(configuration)];
  const access = new AccessApi(configuration);
  const events = new EventsApi(configuration);
  const since = (await events.streamEvents({ poll: 0 })).cursor;
  const reply = await messages.sendMessage({ messageInput: { text: `echo ${name}`, session: name }, wait: 30 });
  if (!reply || !("reply" in reply)) throw new Error("it was not waited for");
  const run = await new RunsApi(configuration).getRun({ id: reply.entry.id });
  const history = await messages.listMessages({ session: name });
  // Each event is of the type that it says.
  let ended = "";
  for (const event of (await events.streamEvents({ poll: 0, since, session: name, types: "run.*" })).events) {
    if (event.type === "run.ended") ended = event.run?.text ?? "";
  }
  const ifMatch = (await identity.getIdentityRaw({})).raw.headers.get("ETag")!;
  const changed = await identity.patchIdentity({ ifMatch, identityPatch: { vibe: name } });
  const refused = await identity
    .patchIdentity({ ifMatch, identityPatch: { vibe: "old" } })
    .then(() => undefined, (error: ResponseError) => error.response);
  const token = await access.createToken({ tokenInput: { name, scopes: [Scope.Read] } });
  const revoked = await access.revokeTokenRaw({ id: token.id });
  console.log(JSON.stringify({
    session: reply.entry.session, reply: reply.reply, run: run.state, history: history.messages.map((message) => message.text),
    ended, vibe: changed.fields.vibe, refused: refused?.status, code: (await refused?.json())?.code,
    revoked: revoked.raw.status, tokens: (await access.listTokens()).tokens.map((token) => token.name),
  }));
}

main();
