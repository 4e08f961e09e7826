// Events of Ladle that go on after a break of any kind: each durable event once and in order, inside Ladle's window.
import { type Configuration, type Event, EventFromJSON } from "./generated/index.js";

// Ladle is asked for a sign of life every 15 s; a connection that brings none for so long is given up.
const HEARTBEAT = 15;
const SILENCE = 45_000;
const LONGEST_PAUSE = 30_000;
const FORM = "application/x-ndjson";

/** A problem of Ladle's (RFC 9457), as far as it is known. */
export interface Refusal { code?: string; detail?: string; hint?: string; [member: string]: unknown }

/** Ladle refuses the stream, and asking again would not help: a revoked token, a misspelt type, another server. */
export class LadleError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  constructor(readonly status: number, readonly problem: Refusal) {
    const code = problem.code ?? "NOT_LADLE";
    const hint = problem.hint ? ` (${problem.hint})` : "";
    super(`${status} ${code}: ${problem.detail ?? "The answer is not one of Ladle's."}${hint}`);
    this.name = "LadleError";
    this.code = code;
    this.hint = problem.hint;
  }
}

export interface Choice {
  types?: string;
  session?: string;
  run?: string;
  snapshot?: boolean;
  /** A `cursor` of an earlier stream; without it the stream begins now. */
  since?: string;
  /** Ends the stream, and the loop over it, without an error. */
  signal?: AbortSignal;
  /** Hears why a connection ended, and in how many milliseconds the next one is tried. */
  onBreak?: (why: unknown, pause: number) => void;
}

/** `for await (const event of new Events(configuration, { types: "run.*" }))` never ends by itself. After a `break`,
 * another loop over it goes on behind. An event of a newer Ladle whose type is not known here comes as it was sent. */
export class Events implements AsyncIterable<Event> {
  /** The position behind the last event that was handed over. Keep it, and a later stream goes on there. */
  cursor: string | undefined;
  private retry = 1000;
  private failures = 0;
  private told: number | undefined;
  private behindReset: string | undefined;

  constructor(private readonly configuration: Configuration, private readonly choice: Choice = {}) {
    this.cursor = choice.since;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal } = this.choice;
    while (!signal?.aborted) {
      const connection = new AbortController();
      const cut = () => connection.abort(signal?.reason);
      let silence = setTimeout(cut, SILENCE);
      let why: unknown = "the connection ended";
      signal?.addEventListener("abort", cut);
      this.told = this.behindReset = undefined;
      try {
        const answer = await this.connect(connection.signal);
        const reader = answer && answer.body!.getReader();
        const decoder = new TextDecoder();
        for (let rest = ""; reader;) {
          clearTimeout(silence);
          silence = setTimeout(cut, SILENCE);
          const { done, value } = await reader.read();
          // The caller may take its time.
          clearTimeout(silence);
          if (done) break;
          const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
          // The piece of a line at which a connection broke is sent again.
          rest = lines.pop()!;
          for (const line of lines) {
            const event = this.taken(JSON.parse(line));
            if (event) yield event;
            if (signal?.aborted) return;
          }
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof LadleError || error instanceof SyntaxError || isFinal(error)) throw error;
        why = error;
      } finally {
        clearTimeout(silence);
        signal?.removeEventListener("abort", cut);
        connection.abort();
      }
      await this.pause(why);
    }
  }

  private async request(): Promise<[string, Record<string, string>]> {
    const chosen: Record<string, string> = { heartbeat: String(HEARTBEAT) };
    for (const name of ["types", "session", "run"] as const) {
      const value = this.choice[name];
      if (value !== undefined) chosen[name] = value;
    }
    if (this.choice.snapshot) chosen.snapshot = "true";
    const headers: Record<string, string> = { ...this.configuration.headers, Accept: FORM };
    if (this.cursor) headers["Last-Event-ID"] = this.cursor;
    const token = await this.configuration.accessToken?.("bearer", []);
    if (token) headers.Authorization = `Bearer ${token}`;
    return [`${this.configuration.basePath}/v1/events?${new URLSearchParams(chosen)}`, headers];
  }

  /** The answer if it is a stream; nothing if it may be one later. */
  private async connect(signal: AbortSignal): Promise<Response | undefined> {
    const [url, headers] = await this.request();
    const { credentials, fetchApi = fetch } = this.configuration;
    const answer = await fetchApi(url, { headers, signal, ...(credentials ? { credentials } : {}), cache: "no-store" });
    if (answer.status === 200 && answer.headers.get("Content-Type")?.startsWith(FORM)) return answer;
    if (answer.status === 408 || answer.status === 429 || answer.status >= 500) {
      const told = Number(answer.headers.get("Retry-After") ?? NaN);
      if (told >= 0) this.told = told * 1000;
      return undefined;
    }
    throw new LadleError(answer.status, await answer.json().catch(() => ({})) as Refusal);
  }

  private taken(data: any): Event | undefined {
    if (data.type === "heartbeat") return undefined;
    if (data.type === "hello") [this.retry, this.failures] = [data.retry, 0];
    if (data.type === "hello" && data.resume === "reset") {
      // Until the caller has heard of it, the next connection has to say it again.
      this.behindReset = data.id;
    } else if (data.type === "reset") {
      this.cursor = this.behindReset ?? data.newest;
    } else if (data.type === "shutdown") {
      this.told = data.retry;
    } else {
      this.cursor = data.id ?? this.cursor;
    }
    return EventFromJSON(data);
  }

  /** As long as Ladle said, else its `retry`, twice as long after each try that failed. */
  private async pause(why: unknown): Promise<void> {
    const { signal, onBreak } = this.choice;
    const growing = Math.min(this.retry * 2 ** Math.min(this.failures++, 10), LONGEST_PAUSE);
    const pause = this.told ?? growing * (1 + Math.random() / 4);
    onBreak?.(why, pause);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, pause);
      function end() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      }
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
    });
  }
}

/** A URL that is none, or a certificate that is not to be trusted: trying again does not help. */
function isFinal(error: any): boolean {
  const code = String(error?.cause?.code ?? "");
  return /CERT|SIGNATURE|ERR_INVALID_URL|ERR_INVALID_CHAR/.test(code) || error?.cause instanceof SyntaxError;
}
