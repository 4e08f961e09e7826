// swift-format-ignore-file
// Made by openapi/embed out of openapi/openapi.yaml (dad1cb3748b11b3b7f723459b63e6ca5d26d0e4281d4f3d62dfb7f0643069c6d).

extension OpenAPIDocument {
    static let yaml = ##"""
# The contract of Ladle's HTTP API, written by hand. After a change run `openapi/embed`; a test holds this file against the
# route table, `make lint` against the sources' problem codes, `make contract` against the running program.
openapi: 3.1.0
info:
  title: Ladle
  version: '1'
  summary: A local HTTP/SSE bridge to an OpenClaw gateway.
  description: |
    One process holds one connection to the gateway and serves it to many. JSON, camelCase; times are RFC 3339 in UTC with
    milliseconds; ids are opaque strings.

    **Errors** are RFC 9457 problems. `code` is stable: branch on it. `hint` is what to type next, `retryAfterMs` stands in
    `Retry-After` too, and `requestId` is in the log.

    **Every answer** has `Ladle-Version`. HEAD and OPTIONS work on every path and are not listed. A method a path does not
    have is answered 405 with `Allow`; a method nobody knows 501.

    **Query parameters** that an operation does not have are passed over; one that looks like a misspelling of its own (`type` for
    `types`) is answered 400 `BAD_PARAMETER`, as is one that stands twice.

    **Before an operation is known** a request can be refused with 400, 408, 414, 417, 421, 431, 501, 503 or 505 and a
    problem of the same form (`components/responses`); the connection is closed then.

    **Who may**: a token as `Authorization: Bearer`; none is needed for the user that runs `ladle serve`, on the control
    socket and (Linux) on loopback, unless `access.loopback=token`. `x-ladle-scope` names the scope an operation takes, null
    where it is open to all; scope `admin` has every scope.
  license:
    name: MIT
    identifier: MIT
servers:
  - url: http://127.0.0.1:18780
    description: The default listener.
security:
  - bearer: []
tags:
  - {name: messages, description: What people and the agent say.}
  - {name: runs, description: Turns of the agent and their steps.}
  - {name: events, description: One stream for everything.}
  - {name: outbox, description: What is to be sent and what became of it.}
  - {name: identity, description: The agent's IDENTITY.md and USER.md.}
  - {name: sessions, description: Conversations and agents.}
  - {name: access, description: 'Tokens, tickets and pairing.'}
  - {name: system, description: 'Health, status and this document.'}

paths:
  /healthz:
    get:
      operationId: getHealth
      tags: [system]
      summary: Whether the process is alive; says nothing else.
      security: []
      x-ladle-scope: null
      responses:
        '200':
          description: It is.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Health'}
              example: {status: ok}
        '400': {$ref: '#/components/responses/BadRequest'}
        '403': {$ref: '#/components/responses/CrossOrigin'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}

  /metrics:
    get:
      operationId: getMetrics
      tags: [system]
      summary: Everything Ladle counts, for Prometheus.
      description: Text format 0.0.4, or OpenMetrics 1.0 where that is preferred.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      responses:
        '200':
          description: All metrics.
          content:
            text/plain:
              schema: {type: string}
              example: |
                # HELP ladle_link_up 1 while the gateway is connected.
                # TYPE ladle_link_up gauge
                ladle_link_up 1.0
            application/openmetrics-text:
              schema: {type: string}
              example: |
                # HELP ladle_link_up 1 while the gateway is connected.
                # TYPE ladle_link_up gauge
                ladle_link_up 1.0
                # EOF
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /openapi.json:
    get:
      operationId: getOpenAPIAsJSON
      tags: [system]
      summary: This document as JSON.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The document.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {type: object, required: [openapi, info, paths]}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /openapi.yaml:
    get:
      operationId: getOpenAPIAsYAML
      tags: [system]
      summary: This document as it was written.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The document.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/yaml:
              schema: {type: object, required: [openapi, info, paths]}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /readyz:
    get:
      operationId: getReadiness
      tags: [system]
      summary: Whether a message would be accepted durably now.
      description: The gateway is not part of it, because restarting Ladle does not repair a gateway.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      responses:
        '200':
          description: It would.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Readiness'}
              example: {status: ready}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/activity:
    get:
      operationId: getActivity
      tags: [runs]
      summary: What is going on now.
      description: As text, one line for each running step.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The active runs and a headline.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Activity'}
              example: {active: 0, runs: [], headline: idle}
            text/plain:
              schema: {type: string}
              example: "agent:main:main  Fetching from wttr.in... (3s)\n"
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /v1/agents:
    get:
      operationId: listAgents
      tags: [sessions]
      summary: The gateway's agents.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: From the gateway, or as last seen while it is away (`live` false).
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/AgentList'}
              example:
                agents: [{id: main, name: Main, default: true, session: 'agent:main:main'}]
                live: true
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/debug/frames:
    get:
      operationId: getFrames
      tags: [system]
      summary: What went over the link lately, without its secrets.
      description: |
        As a list or as a stream; only with `debug.frames`. Numbers begin anew with each start of the program.
      x-ladle-scope: admin
      parameters:
        - name: before
          in: query
          description: Only frames before this number.
          schema: {type: integer, minimum: 1, maximum: 9223372036854775807}
        - name: limit
          in: query
          schema: {type: integer, minimum: 1, maximum: 500, default: 100}
        - name: since
          in: query
          description: Only frames after this number; `Last-Event-ID` wins over it.
          schema: {type: integer, minimum: 0, maximum: 9223372036854775807}
        - name: Last-Event-ID
          in: header
          description: The number of the last frame seen, as EventSource sends it.
          schema: {type: string}
      responses:
        '200':
          description: The last frames, oldest first.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/FrameList'}
              example:
                frames: [{number: 7, at: '2026-11-21T07:31:27.137Z', direction: in, size: 61, frame: {type: event, event: tick}}]
            text/event-stream:
              schema: {$ref: '#/components/schemas/FrameBlock'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoFrameLog'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /v1/events:
    get:
      operationId: streamEvents
      tags: [events]
      summary: Everything that happens, as it happens.
      description: |
        One cursor, four forms: Server-Sent Events, one JSON object a line, a readable line an event, and with `poll` a long
        poll. `hello` comes first. Durable events have an `id`; with `Last-Event-ID` or `since` the stream goes on after it,
        also after a restart of Ladle: inside the window nothing is missing and nothing comes twice, outside it one `reset`
        says from where to reload. Keep-alives are comment lines. The stream never answers with a 5xx because the gateway is
        away, and over a limit it is opened all the same: `hello`, `shutdown` with a reason, and closed.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - name: compress
          in: query
          description: |
            Together with an `Accept-Encoding` that takes gzip: the stream is compressed, each event readable when it arrives.
            Never by `Accept-Encoding` alone, which libraries send by themselves: whoever sends messages and sees the lengths of
            what is compressed can learn about the texts beside his own.
          schema: {const: gzip}
          example: gzip
        - name: heartbeat
          in: query
          description: Seconds between keep-alive comments; `event` sends them as events every 15 s.
          schema:
            anyOf:
              - {type: integer, minimum: 5, maximum: 60}
              - {const: event}
          example: 15
        - name: limit
          in: query
          description: Ends the stream after so many events, those that every stream begins with aside.
          schema: {type: integer, minimum: 1, maximum: 1000000}
          example: 10
        - name: poll
          in: query
          description: Answers JSON, at the latest after so many seconds; JSON is the form of this alone, and else 406.
          schema: {type: integer, minimum: 0, maximum: 300}
          example: 25
        - name: run
          in: query
          description: Only events of this run.
          schema: {type: string, minLength: 1, maxLength: 512, pattern: '^[^\x00-\x1f\x7f]*$'}
        - {$ref: '#/components/parameters/Session'}
        - name: since
          in: query
          description: The id to go on after; `Last-Event-ID` wins over it.
          schema: {$ref: '#/components/schemas/Cursor'}
          example: d080b48405.39
        - name: snapshot
          in: query
          description: 'After `hello` also `summary` and the active runs, without ids.'
          schema: {$ref: '#/components/schemas/Flag'}
        - name: timeout
          in: query
          description: Ends the stream after so many seconds.
          schema: {type: integer, minimum: 1, maximum: 86400}
          example: 60
        - name: types
          in: query
          description: Only these types; `run.*` for a family, `*` for all.
          style: form
          explode: false
          schema:
            type: array
            minItems: 1
            items: {$ref: '#/components/schemas/EventTypePattern'}
          example: [run.*, outbox]
        - name: Last-Event-ID
          in: header
          description: The id of the last event seen, as EventSource sends it; an empty one is none.
          schema: {$ref: '#/components/schemas/Cursor'}
      responses:
        '200':
          description: |
            The stream. Of `text/event-stream` the schema is that of one block; `x-item-schema` is that of one line.
          content:
            text/event-stream:
              schema: {$ref: '#/components/schemas/ServerSentEvent'}
              example:
                id: d080b48405.39
                event: hello
                retry: 1000
                data: '{"id":"d080b48405.39","type":"hello","at":"2026-11-21T07:31:27.228Z","version":"0.1.0","epoch":"d080b48405","resume":"fresh","retry":1000,"link":{"state":"online","detail":"Connected.","since":"2026-11-21T07:31:27.137Z","scopes":["operator.read","operator.write"]}}'
            application/x-ndjson:
              schema: {type: string}
              x-item-schema: {$ref: '#/components/schemas/Event'}
            text/plain:
              schema: {type: string}
              example: "2026-11-21T07:31:27.186Z run.ended agent:main:main completed: Hello!\n"
            application/json:
              schema: {$ref: '#/components/schemas/EventPage'}
              example: {events: [], cursor: d080b48405.38}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/TooManyStreams'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/identity:
    get:
      operationId: getIdentity
      tags: [identity]
      summary: The agent's IDENTITY.md, as fields and as the file.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/Refresh'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200': {$ref: '#/components/responses/Identity'}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: putIdentity
      tags: [identity]
      summary: Replaces IDENTITY.md, or all of its fields.
      description: With `markdown` the whole file; with fields, those that are not named are cleared.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/IdentityReplacement'}
            examples:
              fields: {value: {fields: {name: Ada, emoji: 🦊}}}
              file: {value: {markdown: "# IDENTITY.md\n\n- **Name:** Ada\n"}}
          text/markdown:
            schema: {type: string, maxLength: 2097152, pattern: '^[^\x00]*$'}
            example: "# IDENTITY.md\n\n- **Name:** Ada\n"
      responses:
        '200': {$ref: '#/components/responses/Identity'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/WriteNotSeen'}
        '412': {$ref: '#/components/responses/DocumentChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/TooManyWriters'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
    patch:
      operationId: patchIdentity
      tags: [identity]
      summary: Changes some fields and keeps every other byte of the file.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      requestBody:
        required: true
        content:
          application/merge-patch+json:
            schema: {$ref: '#/components/schemas/IdentityPatch'}
            example: {vibe: calm}
          application/json:
            schema: {$ref: '#/components/schemas/IdentityPatch'}
            example: {name: Ada, theme: null}
      responses:
        '200': {$ref: '#/components/responses/Identity'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/WriteNotSeen'}
        '412': {$ref: '#/components/responses/DocumentChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/TooManyWriters'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/identity/avatar:
    get:
      operationId: getAvatar
      tags: [identity]
      summary: The agent's picture.
      description: The one put here, else the one inside IDENTITY.md.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The picture.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            image/png: {schema: {type: string, contentMediaType: image/png}}
            image/jpeg: {schema: {type: string, contentMediaType: image/jpeg}}
            image/webp: {schema: {type: string, contentMediaType: image/webp}}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAvatar'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: putAvatar
      tags: [identity]
      summary: Keeps a picture of up to 2 MiB for the agent.
      description: Checked by its content. It is kept here; the gateway does not see it.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      requestBody:
        required: true
        content:
          image/png: {schema: {type: string, contentMediaType: image/png}}
          image/jpeg: {schema: {type: string, contentMediaType: image/jpeg}}
          image/webp: {schema: {type: string, contentMediaType: image/webp}}
      responses:
        '200':
          description: What was kept.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Avatar'}
              example: {agent: main, mimeType: image/png, width: 128, height: 128, bytes: 4711}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '412': {$ref: '#/components/responses/AvatarChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: deleteAvatar
      tags: [identity]
      summary: Forgets the picture that was put here.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      responses:
        '204': {description: It is forgotten.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '412': {$ref: '#/components/responses/AvatarChanged'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/messages:
    get:
      operationId: listMessages
      tags: [messages]
      summary: A conversation, newest last.
      description: |
        From the gateway, and from what was last seen (`live` false, `asOf`) while it is away. Housekeeping messages never show.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - name: after
          in: query
          description: Only newer ones; a place as an answer gave it, or a message's id.
          schema: {type: string, minLength: 1, maxLength: 512}
        - name: before
          in: query
          description: Only older ones; a place as an answer gave it, or a message's id.
          schema: {type: string, minLength: 1, maxLength: 512}
        - name: limit
          in: query
          schema: {type: integer, minimum: 1, maximum: 500, default: 50}
        - {$ref: '#/components/parameters/Session'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: A page of it.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/MessageList'}
              example:
                session: agent:main:main
                messages:
                  - {id: 2cc9faf3, role: assistant, text: 'It is sunny, 21 °C.', at: '2026-11-21T07:31:27.173Z', state: sent}
                live: true
            text/plain:
              schema: {type: string}
              example: "2026-11-21T07:31:27.173Z assistant\n  It is sunny, 21 °C.\n"
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoPlace'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}
    post:
      operationId: sendMessage
      tags: [messages]
      summary: Sends a message; it is on disk before the answer.
      description: |
        As JSON, as text (the whole body), or as a form; what `curl -d` sends without `=` pairs is taken as text. With `wait`
        the answer comes when the run has ended, or is 202 when the time is over first. With `Accept: text/event-stream` the
        answer streams the events of this message and its run.
      x-ladle-scope: send
      parameters:
        - name: force
          in: query
          description: Sends it also when it is only one of the gateway's stop words.
          schema: {$ref: '#/components/schemas/Flag'}
        - {$ref: '#/components/parameters/Session'}
        - name: thinking
          in: query
          description: The thinking level for this message.
          schema: {$ref: '#/components/schemas/Thinking'}
        - name: wait
          in: query
          description: Seconds to wait for the end of the run; `Prefer` is the other way to say it.
          schema: {type: integer, minimum: 0, maximum: 600}
          example: 60
        - name: Prefer
          in: header
          description: '`wait=N` waits for the end of the run, `respond-async` does not (RFC 7240).'
          schema: {type: string}
          example: wait=60
        - name: Idempotency-Key
          in: header
          description: |
            The same key with the same message replays the acceptance for 24 h (`Idempotency-Replayed`). Bare or quoted.
          schema: {type: string, pattern: '^(?:[!#-+\--:<-~]{1,255}|"(?:[ !#-\[\]-~]|\\["\\]){1,255}")$'}
          example: '"backup-2026-11-21"'
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewMessage'}
            examples:
              text: {value: {text: append the weather to weather.txt}}
              later: {value: {text: good morning, session: main, thinking: low, ttlSeconds: 3600}}
          text/plain:
            schema: {$ref: '#/components/schemas/MessageText'}
            example: turn the lights off
          application/x-www-form-urlencoded:
            schema: {$ref: '#/components/schemas/NewMessageForm'}
            example: {text: turn the lights off}
      responses:
        '200':
          description: The run has ended, or this is the stream of its events.
          headers:
            Location: {$ref: '#/components/headers/Location'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Reply'}
            text/plain:
              schema: {type: string, description: The reply alone.}
              example: "It is sunny, 21 °C.\n"
            text/event-stream:
              schema: {$ref: '#/components/schemas/ServerSentEvent'}
        '202':
          description: It is accepted and on disk.
          headers:
            Location: {$ref: '#/components/headers/Location'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Entry'}
              example:
                id: 01a1fd04-6940-72f5-a81b-cb80306e9dd1
                kind: message
                session: agent:main:main
                text: append the weather to weather.txt
                state: queued
                createdAt: '2026-11-21T07:31:27.168Z'
                updatedAt: '2026-11-21T07:31:27.168Z'
                attemptCount: 0
                expiresAt: '2026-11-23T07:31:27.168Z'
                version: 1
            text/plain:
              schema: {type: string}
              example: "queued 01a1fd04-6940-72f5-a81b-cb80306e9dd1\n"
          links:
            entry: {operationId: getEntry, parameters: {id: '$response.body#/id'}}
            retry: {operationId: retryEntry, parameters: {id: '$response.body#/id'}}
            cancel: {operationId: cancelEntry, parameters: {id: '$response.body#/id'}}
            run: {operationId: getRun, parameters: {id: '$response.body#/id'}}
            abort: {operationId: abortRun, parameters: {id: '$response.body#/id'}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/NotSent'}
        '413': {$ref: '#/components/responses/MessageTooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidMessage'}
        '429': {$ref: '#/components/responses/OutboxFull'}
        '502': {$ref: '#/components/responses/RunFailed'}
        '503': {$ref: '#/components/responses/Unavailable'}
        '504': {$ref: '#/components/responses/EntryExpired'}
        '507': {$ref: '#/components/responses/StorageFull'}

  /v1/outbox:
    get:
      operationId: listOutbox
      tags: [outbox]
      summary: What is to be sent and what became of it, newest first.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - name: before
          in: query
          description: Only entries accepted before this one.
          schema: {$ref: '#/components/schemas/EntryID'}
        - name: limit
          in: query
          schema: {type: integer, minimum: 1, maximum: 500, default: 50}
        - {$ref: '#/components/parameters/Session'}
        - name: state
          in: query
          style: form
          explode: false
          schema:
            type: array
            minItems: 1
            items: {$ref: '#/components/schemas/EntryState'}
          example: [queued, retrying]
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: A page of entries and the counts of all.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/EntryList'}
              example: {pending: 0, unconfirmed: 0, failed: 0, entries: []}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoPlace'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/outbox/{id}:
    get:
      operationId: getEntry
      tags: [outbox]
      summary: One entry with its attempts.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/EntryID'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200': {$ref: '#/components/responses/Entry'}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoEntry'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: cancelEntry
      tags: [outbox]
      summary: Takes an entry back, or dismisses one that failed.
      x-ladle-scope: send
      parameters:
        - {$ref: '#/components/parameters/EntryID'}
        - name: force
          in: query
          description: Also where nobody can tell whether it arrived.
          schema: {$ref: '#/components/schemas/Flag'}
        - name: If-Match
          in: header
          description: The entry's ETag; 412 when it has moved on.
          schema: {$ref: '#/components/schemas/EntityTags'}
      responses:
        '200': {$ref: '#/components/responses/Entry'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoEntry'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '409': {$ref: '#/components/responses/NotCancellable'}
        '412': {$ref: '#/components/responses/EntryChanged'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}
        '507': {$ref: '#/components/responses/StorageFull'}

  /v1/outbox/{id}/retry:
    post:
      operationId: retryEntry
      tags: [outbox]
      summary: Sends a failed, expired or unconfirmed entry again.
      description: >-
        Its attempts are counted anew, and it has the time it had at first (`ttlSeconds` or `outbox.ttl`), from now on or from its
        `notBefore`.
      x-ladle-scope: send
      parameters:
        - {$ref: '#/components/parameters/EntryID'}
        - name: If-Match
          in: header
          description: The entry's ETag; 412 when it has moved on.
          schema: {$ref: '#/components/schemas/EntityTags'}
      responses:
        '200': {$ref: '#/components/responses/Entry'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoEntry'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/NotRetryable'}
        '412': {$ref: '#/components/responses/EntryChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}
        '507': {$ref: '#/components/responses/StorageFull'}

  /v1/pairing:
    get:
      operationId: listPairing
      tags: [access]
      summary: Applications that wait for a decision.
      x-ladle-scope: admin
      responses:
        '200':
          description: They.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/PairingList'}
              example: {requests: []}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
    post:
      operationId: applyForPairing
      tags: [access]
      summary: A device asks for a token.
      description: On the host `ladle clients approve CODE` grants it; the device polls with the id, for five minutes.
      security: []
      x-ladle-scope: null
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/PairingApplication'}
            example: {name: kitchen tablet, scopes: [read, send]}
      responses:
        '202':
          description: Somebody has to decide now.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/PairingReceipt'}
              example:
                id: ldp_M8Ap0pcp7cWP97EAEZLgT2YxSQpy69EewM3s6G1GvkX
                code: 2X7P-6P4J
                expiresAt: '2026-11-21T07:36:27.224Z'
                approve: ladle clients approve 2X7P-6P4J
          links:
            poll: {operationId: pollPairing, parameters: {id: '$response.body#/id'}}
            approve: {operationId: approvePairing, requestBody: {code: '$response.body#/code'}}
            reject: {operationId: rejectPairing, requestBody: {code: '$response.body#/code'}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '403': {$ref: '#/components/responses/CrossOrigin'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '429': {$ref: '#/components/responses/TooManyApplications'}

  /v1/pairing/approve:
    post:
      operationId: approvePairing
      tags: [access]
      summary: Grants an application, all of its scopes or fewer.
      x-ladle-scope: admin
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/PairingApproval'}
            example: {code: 2X7P-6P4J, scopes: [read]}
      responses:
        '200': {$ref: '#/components/responses/PairingRequest'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoCode'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/AlreadyDecided'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /v1/pairing/reject:
    post:
      operationId: rejectPairing
      tags: [access]
      summary: Refuses an application.
      x-ladle-scope: admin
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/PairingRejection'}
            example: {code: 2X7P-6P4J}
      responses:
        '200': {$ref: '#/components/responses/PairingRequest'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoCode'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/AlreadyDecided'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /v1/pairing/{id}:
    get:
      operationId: pollPairing
      tags: [access]
      summary: Where an application stands; the token, once.
      security: []
      x-ladle-scope: null
      parameters:
        - name: id
          in: path
          required: true
          description: The secret id from the application's answer.
          schema: {type: string, minLength: 1}
          example: ldp_M8Ap0pcp7cWP97EAEZLgT2YxSQpy69EewM3s6G1GvkX
      responses:
        '200':
          description: Its status, and the token when it has just been approved.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/PairingStatus'}
              example: {status: pending, expiresAt: '2026-11-21T07:36:27.224Z'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/CrossOrigin'}
        '404': {$ref: '#/components/responses/NoPairing'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/profile:
    get:
      operationId: getProfile
      tags: [identity]
      summary: What the agent knows about its user, USER.md, as fields and as the file.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/Refresh'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200': {$ref: '#/components/responses/Profile'}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: putProfile
      tags: [identity]
      summary: Replaces USER.md, or all of its fields.
      description: With `markdown` the whole file; with fields, those that are not named are cleared.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/ProfileReplacement'}
            examples:
              fields: {value: {fields: {callName: Sam, timezone: Europe/Berlin}}}
              file: {value: {markdown: "# USER.md\n\n- **Name:** Sam\n"}}
          text/markdown:
            schema: {type: string, maxLength: 2097152, pattern: '^[^\x00]*$'}
            example: "# USER.md\n\n- **Name:** Sam\n"
      responses:
        '200': {$ref: '#/components/responses/Profile'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/WriteNotSeen'}
        '412': {$ref: '#/components/responses/DocumentChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/TooManyWriters'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
    patch:
      operationId: patchProfile
      tags: [identity]
      summary: Changes some fields and keeps every other byte of the file.
      x-ladle-scope: identity
      parameters:
        - {$ref: '#/components/parameters/Agent'}
        - {$ref: '#/components/parameters/IfMatch'}
      requestBody:
        required: true
        content:
          application/merge-patch+json:
            schema: {$ref: '#/components/schemas/ProfilePatch'}
            example: {callName: Sam}
          application/json:
            schema: {$ref: '#/components/schemas/ProfilePatch'}
            example: {timezone: Europe/Berlin, notes: null}
      responses:
        '200': {$ref: '#/components/responses/Profile'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoAgent'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/WriteNotSeen'}
        '412': {$ref: '#/components/responses/DocumentChanged'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '428': {$ref: '#/components/responses/PreconditionRequired'}
        '429': {$ref: '#/components/responses/TooManyWriters'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/runs:
    get:
      operationId: listRuns
      tags: [runs]
      summary: Turns of the agent, newest first.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - name: active
          in: query
          description: Only those under way, or only those that have ended.
          schema: {$ref: '#/components/schemas/Flag'}
        - name: before
          in: query
          description: The id of the last run of the page before.
          schema: {type: string}
        - name: limit
          in: query
          schema: {type: integer, minimum: 1, maximum: 200, default: 50}
        - {$ref: '#/components/parameters/Session'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: A page of them.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/RunList'}
              example: {runs: []}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoPlace'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/runs/{id}:
    get:
      operationId: getRun
      tags: [runs]
      summary: One turn of the agent with its steps.
      description: Named by its own id, or by the id of the message it answers. As text, what the agent said.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/RunID'}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The run.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Run'}
            text/plain:
              schema: {type: string}
              example: "It is sunny, 21 °C.\n"
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoRun'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/runs/{id}/abort:
    post:
      operationId: abortRun
      tags: [runs]
      summary: Stops a run.
      x-ladle-scope: send
      parameters:
        - {$ref: '#/components/parameters/RunID'}
      responses:
        '200': {$ref: '#/components/responses/Aborted'}
        '202': {$ref: '#/components/responses/AbortQueued'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoRun'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': {$ref: '#/components/responses/RunNotStarted'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/OutboxFull'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
        '504': {$ref: '#/components/responses/GatewayTimeout'}
        '507': {$ref: '#/components/responses/StorageFull'}

  /v1/sessions:
    get:
      operationId: listSessions
      tags: [sessions]
      summary: The gateway's conversations.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - name: limit
          in: query
          schema: {type: integer, minimum: 1, maximum: 1000, default: 200}
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: From the gateway, or as last seen while it is away (`live` false).
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/SessionList'}
              example:
                sessions: [{key: 'agent:main:main', agent: main, kind: direct, active: false, updatedAt: '2026-11-21T07:31:27.120Z'}]
                live: true
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/sessions/{key}/abort:
    post:
      operationId: abortSession
      tags: [sessions]
      summary: Stops every run of a conversation.
      x-ladle-scope: send
      parameters:
        - name: key
          in: path
          required: true
          schema: {$ref: '#/components/schemas/SessionKey'}
          example: main
      responses:
        '200': {$ref: '#/components/responses/Aborted'}
        '202': {$ref: '#/components/responses/AbortQueued'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/OutboxFull'}
        '502': {$ref: '#/components/responses/GatewayFault'}
        '503': {$ref: '#/components/responses/Unavailable'}
        '504': {$ref: '#/components/responses/GatewayTimeout'}
        '507': {$ref: '#/components/responses/StorageFull'}

  /v1/status:
    get:
      operationId: getStatus
      tags: [system]
      summary: 'Link, outbox, runs and events at a glance.'
      description: As text, the screenful a person wants.
      security: [{bearer: []}, {ticket: []}]
      x-ladle-scope: read
      parameters:
        - {$ref: '#/components/parameters/IfNoneMatch'}
      responses:
        '200':
          description: The status.
          headers:
            ETag: {$ref: '#/components/headers/ETag'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Status'}
              example:
                version: 0.1.0
                startedAt: '2026-11-21T07:31:27.131Z'
                demo: true
                link: {state: online, detail: Connected., since: '2026-11-21T07:31:27.137Z', url: 'ws://127.0.0.1:43015', protocol: 4, gateway: {version: 2026.6.11}, scopes: [operator.read, operator.write]}
                outbox: {pending: 0, unconfirmed: 0, failed: 0}
                runs: {active: 0}
                events: {epoch: d080b48405, last: d080b48405.2, subscribers: 0}
            text/plain:
              schema: {type: string}
        '304': {$ref: '#/components/responses/NotModified'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}

  /v1/tickets:
    post:
      operationId: createTicket
      tags: [access]
      summary: A ticket for one read of one path, for clients that cannot set headers.
      description: It stands in the URL as `?ticket=`, works once, and only within 60 s.
      x-ladle-scope: read
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewTicket'}
            example: {path: /v1/events}
      responses:
        '201':
          description: The ticket.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Ticket'}
              example: {ticket: ldt_4BZI4MkzLJN6nzjUOFXa6tDoMopbawRXJeZGxOSIdUT, path: /v1/events, expiresAt: '2026-11-21T07:32:27.224Z'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '429': {$ref: '#/components/responses/TooManyTickets'}

  /v1/tokens:
    get:
      operationId: listTokens
      tags: [access]
      summary: The tokens there are, without their secrets.
      x-ladle-scope: admin
      responses:
        '200':
          description: They.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/TokenList'}
              example:
                tokens: [{id: 01a1fd04-691a-765d-8ba4-1ca2a00fc2df, name: kitchen tablet, scopes: [read], shown: ldl_M96KMA, createdAt: '2026-11-21T07:31:27.130Z'}]
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
    post:
      operationId: createToken
      tags: [access]
      summary: Makes a token; its secret is shown this once.
      x-ladle-scope: admin
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewToken'}
            example: {name: backup script, scopes: [read, send], expiresInSeconds: 2592000}
      responses:
        '201':
          description: The token.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/NewTokenSecret'}
              example:
                id: 01a1fd04-6977-7d44-a122-ee27f6dfde87
                name: backup script
                scopes: [read, send]
                createdAt: '2026-11-21T07:31:27.223Z'
                token: ldl_6uYfIeGWG1GOsCR6zgvAu86ujZsQtV4DHycfz2PsJkW13x6UL
          links:
            revoke: {operationId: revokeToken, parameters: {id: '$response.body#/id'}}
            rotate: {operationId: rotateToken, parameters: {id: '$response.body#/id'}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '422': {$ref: '#/components/responses/InvalidField'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/tokens/{id}:
    delete:
      operationId: revokeToken
      tags: [access]
      summary: Ends a token; its open streams close at once.
      x-ladle-scope: admin
      parameters:
        - {$ref: '#/components/parameters/TokenID'}
      responses:
        '204': {description: It is no more.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoToken'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /v1/tokens/{id}/rotate:
    post:
      operationId: rotateToken
      tags: [access]
      summary: Gives a token a new secret; the old one ends.
      x-ladle-scope: admin
      parameters:
        - {$ref: '#/components/parameters/TokenID'}
      responses:
        '200':
          description: The token with its new secret.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/NewTokenSecret'}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/NotPaired'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NoToken'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/TooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '421': {$ref: '#/components/responses/WrongHost'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '503': {$ref: '#/components/responses/Unavailable'}

components:
  securitySchemes:
    bearer:
      type: http
      scheme: bearer
      description: |
        A token of `ladle token create` or of pairing. The user that runs `ladle serve` needs none on the control socket and,
        on Linux, on loopback, unless `access.loopback=token`; a credential that is sent is the one that counts.
    ticket:
      type: apiKey
      in: query
      name: ticket
      description: 'A ticket of `POST /v1/tickets`: one read of one path.'

  headers:
    ETag:
      description: The validator of this version.
      required: true
      schema: {type: string}
      example: '"4e38c3611440f60a9e645003b2c7c4ac"'
    Location:
      description: The entry of the outbox.
      required: true
      schema: {type: string}
      example: /v1/outbox/01a1fd04-6940-72f5-a81b-cb80306e9dd1
    WWW-Authenticate:
      description: RFC 6750.
      required: true
      schema: {type: string}
      example: Bearer realm="ladle"
    Retry-After:
      description: Seconds.
      required: true
      schema: {type: integer, minimum: 0}

  parameters:
    Agent:
      name: agent
      in: query
      description: The agent's id; the gateway's default agent where it is not given.
      schema: {type: string, pattern: '^[a-z0-9][a-z0-9_-]{0,63}$'}
      example: main
    EntryID:
      name: id
      in: path
      required: true
      schema: {type: string, minLength: 1}
      example: 01a1fd04-6940-72f5-a81b-cb80306e9dd1
    IfMatch:
      name: If-Match
      in: header
      description: The ETag of the version that the write is meant for, or `*`. Without it 428.
      schema: {$ref: '#/components/schemas/EntityTags'}
      example: '*'
    IfNoneMatch:
      name: If-None-Match
      in: header
      description: The ETag of what is known already; 304 while it is still that.
      schema: {type: string}
    Refresh:
      name: refresh
      in: query
      description: Reads the gateway now.
      schema: {$ref: '#/components/schemas/Flag'}
    RunID:
      name: id
      in: path
      required: true
      schema: {type: string, minLength: 1}
      example: 01a1fd04-6940-72f5-a81b-cb80306e9dd1
    Session:
      name: session
      in: query
      schema: {$ref: '#/components/schemas/SessionKey'}
      example: main
    TokenID:
      name: id
      in: path
      required: true
      description: The token's id, or its name where only one has it.
      schema: {type: string, minLength: 1}
      example: 01a1fd04-6977-7d44-a122-ee27f6dfde87

  responses:
    Identity:
      description: The identity.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Identity'}
          example:
            agent: main
            fields: {name: Ada, vibe: calm}
            markdown: "# IDENTITY.md\n\n- **Name:** Ada\n- **Vibe:** calm\n"
            stale: false
            asOf: '2026-11-21T07:31:27.141Z'
        text/markdown:
          schema: {type: string}
    Profile:
      description: The profile.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Profile'}
          example:
            agent: main
            fields: {callName: Sam}
            markdown: "# USER.md\n\n- **What to call them:** Sam\n"
            stale: false
            asOf: '2026-11-21T07:31:27.141Z'
        text/markdown:
          schema: {type: string}
    Entry:
      description: The entry.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Entry'}
    PairingRequest:
      description: The application that was decided.
      content:
        application/json:
          schema: {$ref: '#/components/schemas/PairingRequest'}
    Aborted:
      description: What was stopped; nothing where nothing ran.
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Aborted'}
          example: {aborted: true, runIds: [01a1fd04-6940-72f5-a81b-cb80306e9dd1]}
    AbortQueued:
      description: The gateway is away; the abort waits in the outbox.
      headers:
        Location: {$ref: '#/components/headers/Location'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Aborted'}
    NotModified:
      description: It is still what `If-None-Match` names.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}

    BadRequest:
      description: 'The syntax is wrong: request, query, header or body.'
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 400}
              code:
                enum:
                  - BAD_BYTE
                  - BAD_CHUNK
                  - BAD_CONTENT_LENGTH
                  - BAD_FIELD
                  - BAD_HEADER
                  - BAD_HOST
                  - BAD_PARAMETER
                  - BAD_REQUEST_LINE
                  - BAD_TARGET
                  - BAD_TRAILER
                  - BAD_TRANSFER_ENCODING
                  - ENDED_EARLY
                  - HOST_REQUIRED
                  - MALFORMED_JSON
                  - MALFORMED_TEXT
                  - UPGRADE_REFUSED
          example:
            type: urn:ladle:problem:BAD_PARAMETER
            title: Bad parameter
            status: 400
            detail: '`limit` is a whole number from 1 to 500.'
            code: BAD_PARAMETER
            field: limit
            retryable: false
            requestId: req-4gwa131f
    NotPaired:
      description: No credential that counts.
      headers:
        WWW-Authenticate: {$ref: '#/components/headers/WWW-Authenticate'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 401}
              code: {const: NOT_PAIRED}
    CrossOrigin:
      description: A web page from elsewhere, or a request through Tailscale Funnel.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 403}
              code: {enum: [CROSS_ORIGIN, FUNNEL_REFUSED]}
    Forbidden:
      description: The credential, the page or the link may not do that.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 403}
              code: {enum: [CROSS_ORIGIN, FUNNEL_REFUSED, GATEWAY_SCOPE_MISSING, MISSING_SCOPE, SESSION_NOT_ALLOWED]}
    NotFound:
      description: There is no such resource.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {const: NOT_FOUND}
    NoAgent:
      description: There is no such agent.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [NOT_FOUND, UNKNOWN_AGENT]}
    NoAvatar:
      description: There is no picture, or it is at a URL (`avatarUrl`), which is not fetched.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [AVATAR_IS_REMOTE, NOT_FOUND, UNKNOWN_AGENT]}
    NoFrameLog:
      description: Frames are not kept.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {const: FRAME_LOG_OFF}
    NoEntry:
      description: There is no such entry.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [ENTRY_NOT_FOUND, NOT_FOUND]}
    NoPlace:
      description: There is nothing of the id that `before` or `after` names, or it is kept no more; begin anew.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {const: PLACE_NOT_FOUND}
    NoRun:
      description: There is no such run.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [NOT_FOUND, RUN_NOT_FOUND]}
    NoToken:
      description: There is no such token, or several have this name.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [NOT_FOUND, UNKNOWN_TOKEN]}
    NoCode:
      description: No application waits under this code.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {const: UNKNOWN_CODE}
    NoPairing:
      description: There is no such application, or it is over.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 404}
              code: {enum: [NOT_FOUND, UNKNOWN_PAIRING]}
    MethodNotAllowed:
      description: The path does not have this method; `Allow` names those it has.
      headers:
        Allow: {required: true, schema: {type: string}, example: 'GET, POST, HEAD, OPTIONS'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 405}
              code: {const: METHOD_NOT_ALLOWED}
    NotAcceptable:
      description: None of the media types in `Accept` is to be had here.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 406}
              code: {const: NOT_ACCEPTABLE}
    RequestTimeout:
      description: The request came too slowly.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 408}
              code: {const: REQUEST_TIMEOUT}
    NotSent:
      description: The message or its run was stopped, or a request with this key is just being accepted.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {enum: [ENTRY_CANCELLED, IDEMPOTENCY_IN_FLIGHT, RUN_ABORTED]}
    NotCancellable:
      description: The gateway has it already, or nobody can tell (`?force=true`).
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {enum: [ALREADY_DISPATCHED, ENTRY_UNCONFIRMED]}
    NotRetryable:
      description: There is nothing to send again.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {enum: [ALREADY_DISPATCHED, NOT_RETRYABLE]}
    RunNotStarted:
      description: Nothing runs for this message yet.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {const: RUN_NOT_STARTED}
    AlreadyDecided:
      description: This application was decided before.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {const: ALREADY_DECIDED}
    WriteNotSeen:
      description: The file was written and reads otherwise now.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 409}
              code: {const: WRITE_NOT_SEEN}
    DocumentChanged:
      description: The file is not the version that `If-Match` names.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 412}
              code: {const: PRECONDITION_FAILED}
    AvatarChanged:
      description: The picture is not the version that `If-Match` names, or there is none.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 412}
              code: {const: PRECONDITION_FAILED}
    EntryChanged:
      description: The entry is not the version that `If-Match` names.
      headers:
        ETag: {$ref: '#/components/headers/ETag'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 412}
              code: {const: ENTRY_CHANGED}
    TooLarge:
      description: The body or a field of it is too large.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 413}
              code: {enum: [BODY_TOO_LARGE, INVALID_FIELD]}
    MessageTooLarge:
      description: The message or an attachment is larger than the gateway takes.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 413}
              code: {enum: [ATTACHMENT_TOO_LARGE, BODY_TOO_LARGE, MESSAGE_TOO_LARGE]}
    TargetTooLong:
      description: The request line is too long.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 414}
              code: {const: REQUEST_LINE_TOO_LONG}
    UnsupportedMediaType:
      description: The body is of no type that this operation takes, or has a Content-Encoding.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 415}
              code: {enum: [UNSUPPORTED_ENCODING, UNSUPPORTED_MEDIA_TYPE]}
    UnmetExpectation:
      description: '`Expect` is not 100-continue.'
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 417}
              code: {const: UNMET_EXPECTATION}
    WrongHost:
      description: The Host is not one this server answers to.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 421}
              code: {const: WRONG_HOST}
    InvalidField:
      description: Well-formed, but a field is not allowed as it is.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 422}
              code: {const: INVALID_FIELD}
    InvalidMessage:
      description: A field is not allowed as it is, the message is a stop word, or its key came with another message.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 422}
              code: {enum: [IDEMPOTENCY_KEY_REUSED, INVALID_FIELD, STOP_WORD]}
    PreconditionRequired:
      description: '`If-Match` is missing.'
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 428}
              code: {const: PRECONDITION_REQUIRED}
    RateLimited:
      description: Too many of one kind in a short time.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {const: RATE_LIMITED}
    OutboxFull:
      description: Too many in a short time, or as many entries wait as may.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {enum: [OUTBOX_FULL, RATE_LIMITED]}
    TooManyWriters:
      description: Too many changes of this file wait for each other.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {enum: [RATE_LIMITED, TOO_MANY_WRITERS]}
    TooManyApplications:
      description: Too many applications, at once or in a short time.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {enum: [RATE_LIMITED, TOO_MANY_APPLICATIONS]}
    TooManyStreams:
      description: As many streams and waiting polls are open as one caller, or all together, may have.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {enum: [RATE_LIMITED, TOO_MANY_STREAMS]}
    TooManyTickets:
      description: More tickets wait to be used than one caller may have.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 429}
              code: {enum: [RATE_LIMITED, TOO_MANY_TICKETS]}
    HeadTooLarge:
      description: The header fields take too much.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 431}
              code: {enum: [BAD_TRAILER, HEAD_TOO_LARGE]}
    NotImplemented:
      description: A method or a transfer coding that nobody here knows.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 501}
              code: {enum: [UNKNOWN_METHOD, UNKNOWN_TRANSFER_CODING]}
    GatewayFault:
      description: The gateway, or the agent behind it, did not do it.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 502}
              code: {enum: [AGENT_DID_NOT_ANSWER, GATEWAY_ANSWER_UNREADABLE, GATEWAY_ERROR, GATEWAY_REFUSED]}
    RunFailed:
      description: The run failed, with the provider's words in `detail`, or the gateway did not take the message.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 502}
              code: {enum: [RUN_FAILED, SEND_REJECTED]}
    Unavailable:
      description: The database cannot be used, the gateway is away, or this process is ending.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 503}
              code: {enum: [GATEWAY_UNAVAILABLE, SHUTTING_DOWN, STORE_UNAVAILABLE, TOO_MANY_CONNECTIONS]}
    EntryExpired:
      description: The message could not be sent in its time.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 504}
              code: {const: ENTRY_EXPIRED}
    GatewayTimeout:
      description: The gateway did not answer; whether it happened is not known.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 504}
              code: {const: GATEWAY_TIMEOUT}
    VersionNotSupported:
      description: Neither HTTP/1.0, HTTP/1.1 nor HTTP/2.
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 505}
              code: {const: UNSUPPORTED_VERSION}
    StorageFull:
      description: The disk has no room; what was accepted before is kept.
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/problem+json:
          schema:
            allOf: [{$ref: '#/components/schemas/Problem'}]
            properties:
              status: {const: 507}
              code: {const: STORAGE_FULL}

  schemas:
    # Values
    Time:
      type: string
      pattern: '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'
      examples: ['2026-11-21T07:31:27.131Z']
    Flag:
      description: 'True: `true`, `1`, or the bare name. False: `false` or `0`.'
      anyOf:
        - {type: boolean}
        - {type: integer, minimum: 0, maximum: 1}
        - {type: string, maxLength: 0}
    SessionKey:
      description: '`agent:AGENT:REST`; `main` is the main conversation, any other word one of the default agent.'
      type: string
      minLength: 1
      maxLength: 512
      pattern: '^[ \t]*(?:(?![Aa][Gg][Ee][Nn][Tt]:)[^\x00-\x20\x7f-\x9f]*[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]|[Aa][Gg][Ee][Nn][Tt]:[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\x00-\x20\x7f-\x9f]*[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])[ \t]*$'
    Thinking:
      type: string
      pattern: '^[a-z-]{1,32}$'
      examples: [low]
    Cursor:
      description: 'The id of an event: EPOCH.SEQUENCE. Empty is none.'
      type: string
      pattern: '^(?:[a-z0-9]{1,16}\.(?:0|[1-9][0-9]{0,18}))?$'
    EntityTags:
      type: string
      pattern: '^(?:\*|(?:W/)?"[!#-~]*"(?:[ \t]*,[ \t]*(?:W/)?"[!#-~]*"){0,31})$'
    EntryID:
      type: string
      pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
    EntryState:
      enum: [queued, sending, retrying, accepted, unconfirmed, delivered, failed, cancelled, expired]
    Scope:
      enum: [read, send, identity, control, nodes, admin]
    EventTypePattern:
      enum:
        - '*'
        - approval
        - heartbeat
        - hello
        - identity
        - link
        - message
        - node
        - outbox
        - profile
        - reset
        - run.*
        - run.delta
        - run.ended
        - run.started
        - run.step
        - session
        - shutdown
        - summary

    # Errors
    Problem:
      description: RFC 9457.
      type: object
      required: [type, title, status, detail, code, requestId]
      properties:
        type: {type: string, pattern: '^urn:ladle:problem:[A-Z_]+$'}
        title: {type: string}
        status: {type: integer}
        detail: {type: string}
        code: {type: string, pattern: '^[A-Z_]+$', description: Stable; branch on it.}
        field: {type: string, description: 'The parameter, header or body field at fault.'}
        hint: {type: string, description: The exact command or setting that mends it.}
        retryable: {type: boolean}
        retryAfterMs: {type: integer, minimum: 0}
        requiredScopes: {type: array, items: {type: string}}
        requestId: {type: string, description: In the log.}
        offset: {type: integer, minimum: 0, description: The byte at which JSON ceases to be JSON.}
        gatewayCode: {type: string, description: The gateway's own code.}
        currentETag: {type: string}
        conflicts: {type: array, items: {$ref: '#/components/schemas/FieldConflict'}}
        avatarUrl: {type: string}
        entry: {$ref: '#/components/schemas/Entry'}
        run: {$ref: '#/components/schemas/Run'}
    FieldConflict:
      type: object
      required: [field, current, requested]
      properties:
        field: {type: string}
        current: {type: string}
        requested: {type: string}

    # System
    Health:
      type: object
      required: [status]
      properties:
        status: {const: ok}
    Readiness:
      type: object
      required: [status]
      properties:
        status: {const: ready}
    Status:
      type: object
      required: [version, startedAt, demo, link, outbox, runs, events]
      properties:
        version: {type: string}
        startedAt: {$ref: '#/components/schemas/Time'}
        demo: {type: boolean}
        link: {$ref: '#/components/schemas/Link'}
        outbox:
          type: object
          required: [pending, unconfirmed, failed]
          properties:
            pending: {type: integer, minimum: 0}
            unconfirmed: {type: integer, minimum: 0}
            failed: {type: integer, minimum: 0}
            oldestAgeMs: {type: integer, minimum: 0}
            fault:
              description: >-
                Why the entries that wait could not be read from the database. Until they are, nothing is sent, and the
                counts leave them out; reading is tried again every second.
              type: string
            attempts:
              description: Attempts to send since the start, by how they ended.
              type: object
              properties:
                accepted: {type: integer, minimum: 0}
                not_dispatched: {type: integer, minimum: 0}
                rejected_transient: {type: integer, minimum: 0}
                rejected_terminal: {type: integer, minimum: 0}
                ambiguous: {type: integer, minimum: 0}
                route_changed: {type: integer, minimum: 0}
        runs:
          type: object
          required: [active]
          properties:
            active: {type: integer, minimum: 0}
        events:
          type: object
          required: [epoch, last, subscribers]
          properties:
            epoch: {type: string}
            first: {type: string}
            last: {type: string}
            subscribers: {type: integer, minimum: 0}
        connections:
          type: object
          required: [limit, configured]
          properties:
            limit:
              description: Connections there may be at once; less than `configured` where the system allows too few open files.
              type: integer
              minimum: 1
            configured:
              description: The setting `limits.connections`.
              type: integer
              minimum: 1
    FrameList:
      type: object
      required: [frames]
      properties:
        frames: {type: array, items: {$ref: '#/components/schemas/Frame'}}
        before: {type: integer, minimum: 1, description: The place of the page before.}
    FrameBlock:
      description: One block of the stream; a last one of event `shutdown` tells why it ends.
      type: object
      required: [event, data]
      properties:
        id: {type: string}
        event: {enum: [frame, shutdown]}
        retry: {type: integer, minimum: 0}
        data:
          type: string
          contentMediaType: application/json
          contentSchema:
            anyOf: [{$ref: '#/components/schemas/Frame'}, {$ref: '#/components/schemas/ShutdownEvent'}]
    Link:
      description: Ladle's one connection to the gateway.
      type: object
      required: [state, detail, since, scopes]
      properties:
        state:
          enum: [connecting, online, waiting_for_approval, refused, offline]
        code: {type: string, description: 'The gateway''s code word for word where it sent one.'}
        detail: {type: string}
        hint: {type: string}
        since: {$ref: '#/components/schemas/Time'}
        url: {type: string}
        protocol: {enum: [3, 4]}
        gateway:
          type: object
          properties:
            version: {type: string}
        scopes: {type: array, items: {type: string}, description: The gateway's scopes in effect.}
        retryAt: {$ref: '#/components/schemas/Time'}
        requestId: {type: string, description: What the gateway's owner approves.}
        clockSkewMs: {type: integer, description: How far the gateway's clock is ahead where that is notable.}

    # Messages
    Message:
      description: One chat message as people see it.
      type: object
      required: [id, role, text, at, state]
      properties:
        id: {type: string}
        role: {enum: [user, assistant, system, tool]}
        text: {type: string}
        at: {$ref: '#/components/schemas/Time'}
        state: {enum: [sending, sent, failed]}
        runId: {type: string}
        steps: {type: array, items: {$ref: '#/components/schemas/Step'}}
        attachments:
          type: array
          items:
            type: object
            properties:
              name: {type: string}
              mimeType: {type: string}
              bytes: {type: integer, minimum: 0}
        error: {type: string}
    MessageList:
      type: object
      required: [session, messages, live]
      properties:
        session: {type: string}
        messages: {type: array, items: {$ref: '#/components/schemas/Message'}}
        before: {type: string, description: The place of the next older page.}
        after: {type: string, description: The place of the next newer page.}
        live: {type: boolean}
        asOf: {$ref: '#/components/schemas/Time'}
    MessageText:
      description: At most 262,144 bytes of UTF-8, without NUL, and not of blanks and control characters alone.
      type: string
      maxLength: 262144
      pattern: '^[^\x00]*[^\s\ufeff\x00-\x1f\x7f-\x9f][^\x00]*$'
    NewMessage:
      description: Unknown fields are ignored beside known ones.
      type: object
      anyOf:
        - required: [text]
          properties:
            text: {$ref: '#/components/schemas/MessageText'}
        - required: [attachments]
          properties:
            attachments: {type: array, minItems: 1}
      properties:
        text: {type: [string, 'null'], maxLength: 262144, pattern: '^[^\x00]*$'}
        session:
          anyOf: [{$ref: '#/components/schemas/SessionKey'}, {type: 'null'}]
        thinking:
          anyOf: [{$ref: '#/components/schemas/Thinking'}, {type: 'null'}]
        attachments: {type: [array, 'null'], maxItems: 32, items: {$ref: '#/components/schemas/NewAttachment'}}
        ttlSeconds: {type: [integer, 'null'], minimum: 1, maximum: 2592000}
        notBefore:
          description: In the future, at most 30 days away.
          anyOf: [{type: string, format: date-time}, {type: 'null'}]
    NewAttachment:
      description: A picture; with protocol 4 any file. Of the four known kinds of pictures the content is looked at.
      type: object
      required: [mimeType, data]
      properties:
        name: {type: [string, 'null'], maxLength: 255, pattern: '^[^\x00-\x1f]*$'}
        mimeType: {type: string, maxLength: 127}
        data: {type: string, contentEncoding: base64}
      anyOf:
        - properties:
            mimeType: {enum: [image/png, image/jpeg, image/gif, image/webp]}
            data:
              type: string
              contentEncoding: base64
              pattern: '^(?:iVBOR[w-z0-9+/][A-Za-z0-9+/]{2}|/9j/|R0lGO[A-P][A-Za-z0-9+/]{2}|UklGR[g-v][A-Za-z0-9+/]{4}[BFJNRVZdhlptx159]XRUJQ[A-Za-z0-9+/]{4})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$'
        - properties:
            mimeType: {type: string, pattern: '^(?!(?:[Ii][Mm][Aa][Gg][Ee]/(?:[Pp][Nn][Gg]|[Jj][Pp][Ee][Gg]|[Gg][Ii][Ff]|[Ww][Ee][Bb][Pp]))$)[A-Za-z0-9+.-]+/[A-Za-z0-9+.-]+$'}
            data:
              type: string
              contentEncoding: base64
              pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$'
    NewMessageForm:
      description: A body with other fields, or without `text` and `message`, is no such form but text as it stands.
      type: object
      additionalProperties: false
      anyOf:
        - required: [text]
        - required: [message]
      properties:
        text: {$ref: '#/components/schemas/MessageText'}
        message: {$ref: '#/components/schemas/MessageText'}
        session: {$ref: '#/components/schemas/SessionKey'}
        thinking: {$ref: '#/components/schemas/Thinking'}
        ttlSeconds: {type: string, pattern: '^[1-9][0-9]{0,5}$'}
        notBefore: {type: string, format: date-time}
    Reply:
      type: object
      required: [entry, reply]
      properties:
        entry: {$ref: '#/components/schemas/Entry'}
        run: {$ref: '#/components/schemas/Run'}
        reply: {type: string, description: Empty when the agent stayed silent.}

    # Runs
    Run:
      description: One turn of the agent.
      type: object
      required: [id, session, state, startedAt, text, steps]
      properties:
        id: {type: string}
        session: {type: string}
        state: {enum: [queued, running, completed, failed, aborted]}
        startedAt: {$ref: '#/components/schemas/Time'}
        endedAt: {$ref: '#/components/schemas/Time'}
        text: {type: string}
        steps: {type: array, items: {$ref: '#/components/schemas/Step'}}
        error: {type: string}
        usage: {$ref: '#/components/schemas/Usage'}
    RunWithoutSteps:
      type: object
      required: [id, session, state, startedAt, text]
      properties:
        id: {type: string}
        session: {type: string}
        state: {enum: [queued, running, completed, failed, aborted]}
        startedAt: {$ref: '#/components/schemas/Time'}
        endedAt: {$ref: '#/components/schemas/Time'}
        text: {type: string}
        error: {type: string}
        usage: {$ref: '#/components/schemas/Usage'}
    Usage:
      type: object
      required: [input, output, cacheRead, cacheWrite, totalTokens]
      properties:
        input: {type: integer, minimum: 0}
        output: {type: integer, minimum: 0}
        cacheRead: {type: integer, minimum: 0}
        cacheWrite: {type: integer, minimum: 0}
        totalTokens: {type: integer, minimum: 0}
        cost: {type: number, minimum: 0}
    Step:
      description: One item of live activity inside a run.
      type: object
      required: [id, runId, seq, kind, category, label, state, startedAt]
      properties:
        id: {type: string}
        runId: {type: string}
        seq: {type: integer, minimum: 1}
        kind: {enum: [thinking, tool, approval, notice, error]}
        tool: {type: string}
        toolCallId: {type: string}
        category:
          description: For an icon; take one that is not known as `generic`.
          enum: [thinking, terminal, browser, network, fileSystem, search, generic, message, schedule, memory, agent, media, approval]
        label: {type: string, description: The text to show now.}
        detail: {type: string}
        state: {enum: [running, waiting, done, failed, cancelled]}
        startedAt: {$ref: '#/components/schemas/Time'}
        endedAt: {$ref: '#/components/schemas/Time'}
        durationMs: {type: integer, minimum: 0}
        exitCode: {type: integer}
        error: {type: string}
    RunList:
      type: object
      required: [runs]
      properties:
        runs: {type: array, items: {$ref: '#/components/schemas/Run'}}
        before: {type: string, description: The place of the next page.}
    Frame:
      type: object
      required: [number, at, direction, size]
      properties:
        number: {type: integer}
        at: {type: string, format: date-time}
        direction: {enum: [in, out]}
        size: {type: integer, description: Bytes on the wire.}
        frame: {description: 'The frame as JSON, redacted; absent where it was none.'}
    Activity:
      type: object
      required: [active, runs, headline]
      properties:
        active: {type: integer, minimum: 0}
        runs: {type: array, items: {$ref: '#/components/schemas/Run'}}
        headline: {type: string}
    Aborted:
      type: object
      required: [aborted, runIds]
      properties:
        aborted: {type: boolean}
        runIds: {type: array, items: {type: string}}
        state: {enum: [completed, failed, aborted], description: What the run had come to before.}
        entries: {type: array, items: {$ref: '#/components/schemas/Entry'}}

    # Outbox
    Entry:
      description: One command in the outbox.
      type: object
      required: [id, kind, session, state, createdAt, updatedAt, attemptCount, expiresAt, version]
      properties:
        id: {type: string}
        kind: {type: string, examples: [message, abort]}
        session: {type: string}
        text: {type: string}
        state: {$ref: '#/components/schemas/EntryState'}
        createdAt: {$ref: '#/components/schemas/Time'}
        updatedAt: {$ref: '#/components/schemas/Time'}
        attemptCount: {type: integer, minimum: 0}
        nextAttemptAt: {$ref: '#/components/schemas/Time'}
        notBefore: {$ref: '#/components/schemas/Time'}
        expiresAt: {$ref: '#/components/schemas/Time'}
        runId: {type: string}
        proof:
          description: What showed that it arrived.
          enum: [run-event, message-event, history, text-match, gateway-receipt, answer]
        blockedReason: {type: string}
        error:
          type: object
          required: [code, detail]
          properties:
            code: {type: string}
            detail: {type: string}
        version: {type: integer, minimum: 1}
        attempts: {type: array, items: {$ref: '#/components/schemas/Attempt'}}
    Attempt:
      type: object
      required: [at, class, key]
      properties:
        at: {$ref: '#/components/schemas/Time'}
        class: {enum: [accepted, not_dispatched, rejected_transient, rejected_terminal, ambiguous, route_changed]}
        key: {type: string}
        code: {type: string}
        detail: {type: string}
        delayMs: {type: integer, minimum: 0}
    EntryList:
      type: object
      required: [pending, unconfirmed, failed, entries]
      properties:
        pending: {type: integer, minimum: 0}
        unconfirmed: {type: integer, minimum: 0}
        failed: {type: integer, minimum: 0}
        entries: {type: array, items: {$ref: '#/components/schemas/Entry'}}
        before: {type: string, description: The place of the next page.}

    # Identity and profile
    IdentityFields:
      type: object
      properties:
        name: {type: string}
        creature: {type: string}
        vibe: {type: string}
        theme: {type: string}
        emoji: {type: string}
        avatar: {type: string}
    Identity:
      type: object
      required: [agent, fields, markdown, stale, asOf]
      properties:
        agent: {type: string}
        fields: {$ref: '#/components/schemas/IdentityFields'}
        markdown: {type: string}
        path: {enum: [rpc, chat], description: By which way a write went.}
        stale: {type: boolean}
        asOf: {$ref: '#/components/schemas/Time'}
    ProfileFields:
      type: object
      properties:
        name: {type: string}
        callName: {type: string}
        pronouns: {type: string}
        timezone: {type: string}
        notes: {type: string}
        context: {type: string}
        directives:
          type: array
          readOnly: true
          items: {$ref: '#/components/schemas/Directive'}
    Directive:
      type: object
      properties:
        observed: {type: string}
        status: {type: string}
        text: {type: string}
    Profile:
      type: object
      required: [agent, fields, markdown, stale, asOf]
      properties:
        agent: {type: string}
        fields: {$ref: '#/components/schemas/ProfileFields'}
        markdown: {type: string}
        path: {enum: [rpc, chat], description: By which way a write went.}
        stale: {type: boolean}
        asOf: {$ref: '#/components/schemas/Time'}
    LineValue:
      description: One line; null and the empty string clear.
      type: [string, 'null']
      maxLength: 1024
      pattern: '^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$'
    TextValue:
      description: Null and the empty string clear.
      type: [string, 'null']
      maxLength: 32768
      pattern: '^(?:[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\r\n)*$'
    IdentityPatch:
      type: object
      additionalProperties: false
      properties:
        name: {$ref: '#/components/schemas/LineValue'}
        creature: {$ref: '#/components/schemas/LineValue'}
        vibe: {$ref: '#/components/schemas/LineValue'}
        theme: {$ref: '#/components/schemas/LineValue'}
        emoji: {type: [string, 'null'], maxLength: 64, pattern: '^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$'}
        avatar: {type: [string, 'null'], maxLength: 262144, pattern: '^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$'}
    IdentityReplacement:
      anyOf:
        - type: object
          required: [markdown]
          properties:
            markdown: {type: string, maxLength: 2097152, pattern: '^[^\x00]*$'}
        - type: object
          required: [fields]
          properties:
            fields: {$ref: '#/components/schemas/IdentityPatch'}
            markdown: false
        - {$ref: '#/components/schemas/IdentityPatch'}
    ProfilePatch:
      type: object
      additionalProperties: false
      properties:
        name: {$ref: '#/components/schemas/LineValue'}
        callName: {$ref: '#/components/schemas/LineValue'}
        pronouns: {$ref: '#/components/schemas/LineValue'}
        timezone: {$ref: '#/components/schemas/LineValue'}
        notes: {$ref: '#/components/schemas/TextValue'}
        context: {type: [string, 'null'], maxLength: 262144, pattern: '^(?:[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\r\n)*$'}
    ProfileReplacement:
      anyOf:
        - type: object
          required: [markdown]
          properties:
            markdown: {type: string, maxLength: 2097152, pattern: '^[^\x00]*$'}
        - type: object
          required: [fields]
          properties:
            fields: {$ref: '#/components/schemas/ProfilePatch'}
            markdown: false
        - {$ref: '#/components/schemas/ProfilePatch'}
    Avatar:
      type: object
      required: [agent, mimeType, width, height, bytes]
      properties:
        agent: {type: string}
        mimeType: {enum: [image/png, image/jpeg, image/webp]}
        width: {type: integer, minimum: 1}
        height: {type: integer, minimum: 1}
        bytes: {type: integer, minimum: 1}

    # Sessions
    Session:
      type: object
      required: [key]
      properties:
        key: {type: string}
        agent: {type: string}
        kind: {type: string}
        label: {type: string}
        title: {type: string}
        preview: {type: string}
        model: {type: string}
        thinking: {type: string}
        verbose: {type: string}
        status: {type: string}
        active: {type: boolean}
        updatedAt: {$ref: '#/components/schemas/Time'}
    SessionList:
      type: object
      required: [sessions, live]
      properties:
        sessions: {type: array, items: {$ref: '#/components/schemas/Session'}}
        live: {type: boolean}
        asOf: {$ref: '#/components/schemas/Time'}
    AgentList:
      type: object
      required: [agents, live]
      properties:
        agents:
          type: array
          items:
            type: object
            required: [id, default, session]
            properties:
              id: {type: string}
              name: {type: string}
              emoji: {type: string}
              avatar: {type: string}
              default: {type: boolean}
              session: {type: string}
        live: {type: boolean}
        asOf: {$ref: '#/components/schemas/Time'}

    # Access
    TokenName:
      description: One line of printable characters, at most 64 bytes.
      type: string
      format: printable-line
      minLength: 1
      maxLength: 64
    PairingApplication:
      type: object
      required: [name, scopes]
      properties:
        name: {$ref: '#/components/schemas/TokenName'}
        scopes: {type: array, minItems: 1, items: {$ref: '#/components/schemas/Scope'}}
    PairingReceipt:
      type: object
      required: [id, code, expiresAt, approve]
      properties:
        id: {type: string, description: The device's secret.}
        code: {type: string, description: For people.}
        expiresAt: {$ref: '#/components/schemas/Time'}
        approve: {type: string, description: The command that grants it.}
    PairingRequest:
      type: object
      required: [code, name, scopes, from, requestedAt, expiresAt]
      properties:
        code: {type: string}
        name: {type: string}
        scopes: {type: array, items: {$ref: '#/components/schemas/Scope'}}
        from: {type: string}
        requestedAt: {$ref: '#/components/schemas/Time'}
        expiresAt: {$ref: '#/components/schemas/Time'}
    PairingList:
      type: object
      required: [requests]
      properties:
        requests: {type: array, items: {$ref: '#/components/schemas/PairingRequest'}}
    PairingApproval:
      type: object
      required: [code]
      properties:
        code: {type: string, minLength: 1}
        scopes: {type: [array, 'null'], minItems: 1, items: {$ref: '#/components/schemas/Scope'}}
    PairingRejection:
      type: object
      required: [code]
      properties:
        code: {type: string, minLength: 1}
    PairingStatus:
      type: object
      required: [status]
      properties:
        status: {enum: [pending, approved, rejected, superseded, delivered, busy]}
        expiresAt: {$ref: '#/components/schemas/Time'}
        id: {type: string}
        name: {type: string}
        scopes: {type: array, items: {$ref: '#/components/schemas/Scope'}}
        sessions: {type: array, items: {type: string}}
        createdAt: {$ref: '#/components/schemas/Time'}
        token: {type: string}
    NewTicket:
      type: object
      required: [path]
      properties:
        path: {type: string, format: path, description: 'A path that scope read may GET, without its query.'}
    Ticket:
      type: object
      required: [ticket, path, expiresAt]
      properties:
        ticket: {type: string}
        path: {type: string}
        expiresAt: {$ref: '#/components/schemas/Time'}
    NewToken:
      type: object
      required: [name, scopes]
      properties:
        name: {$ref: '#/components/schemas/TokenName'}
        scopes: {type: array, minItems: 1, items: {$ref: '#/components/schemas/Scope'}}
        sessions:
          description: Only these conversations, and the documents of their agents.
          type: [array, 'null']
          minItems: 1
          maxItems: 64
          items: {$ref: '#/components/schemas/SessionKey'}
        expiresInSeconds: {type: [integer, 'null'], minimum: 1, maximum: 3155760000}
        expiresAt:
          description: In the future; wins over `expiresInSeconds`.
          anyOf: [{type: string, format: date-time}, {type: 'null'}]
      # Who makes tokens is not limited by them.
      if: {properties: {scopes: {contains: {const: admin}}}}
      then: {properties: {sessions: {type: 'null'}}}
    NewTokenSecret:
      type: object
      required: [id, name, scopes, createdAt, token]
      properties:
        id: {type: string}
        name: {type: string}
        scopes: {type: array, items: {$ref: '#/components/schemas/Scope'}}
        sessions: {type: array, items: {type: string}}
        createdAt: {$ref: '#/components/schemas/Time'}
        expiresAt: {$ref: '#/components/schemas/Time'}
        token: {type: string, description: Shown this once.}
    Token:
      type: object
      required: [id, name, scopes, shown, createdAt]
      properties:
        id: {type: string}
        name: {type: string}
        scopes: {type: array, items: {$ref: '#/components/schemas/Scope'}}
        sessions: {type: array, items: {type: string}}
        shown: {type: string, description: Its first characters.}
        createdAt: {$ref: '#/components/schemas/Time'}
        expiresAt: {$ref: '#/components/schemas/Time'}
        lastUsedAt: {$ref: '#/components/schemas/Time'}
    TokenList:
      type: object
      required: [tokens]
      properties:
        tokens: {type: array, items: {$ref: '#/components/schemas/Token'}}

    # Events
    EventPage:
      description: The answer of a long poll.
      type: object
      required: [events, cursor]
      properties:
        events: {type: array, items: {$ref: '#/components/schemas/Event'}}
        cursor: {type: string, description: The `since` of the next one.}
        reset:
          type: object
          required: [newest]
          properties:
            requested: {type: string}
            oldest: {type: string}
            newest: {type: string}
    ServerSentEvent:
      description: One block of a stream.
      type: object
      required: [event, data]
      properties:
        id: {type: string, description: Of durable events and of `hello`.}
        event: {type: string, description: The `type` of the data.}
        retry: {type: integer, minimum: 0}
        data:
          type: string
          contentMediaType: application/json
          contentSchema: {$ref: '#/components/schemas/Event'}
    Event:
      oneOf:
        - {$ref: '#/components/schemas/HelloEvent'}
        - {$ref: '#/components/schemas/LinkEvent'}
        - {$ref: '#/components/schemas/RunStartedEvent'}
        - {$ref: '#/components/schemas/RunDeltaEvent'}
        - {$ref: '#/components/schemas/RunStepEvent'}
        - {$ref: '#/components/schemas/RunEndedEvent'}
        - {$ref: '#/components/schemas/MessageEvent'}
        - {$ref: '#/components/schemas/OutboxEvent'}
        - {$ref: '#/components/schemas/IdentityEvent'}
        - {$ref: '#/components/schemas/ProfileEvent'}
        - {$ref: '#/components/schemas/SessionEvent'}
        - {$ref: '#/components/schemas/SummaryEvent'}
        - {$ref: '#/components/schemas/HeartbeatEvent'}
        - {$ref: '#/components/schemas/ResetEvent'}
        - {$ref: '#/components/schemas/ShutdownEvent'}
        - {$ref: '#/components/schemas/TruncatedEvent'}
    HelloEvent:
      description: The first event of every stream.
      type: object
      required: [id, type, at, version, epoch, resume, retry, link]
      properties:
        id: {type: string, description: The position the stream stands at.}
        type: {const: hello}
        at: {$ref: '#/components/schemas/Time'}
        version: {type: string}
        epoch: {type: string}
        resume: {enum: [fresh, recovered, reset]}
        retry: {type: integer, minimum: 0}
        link: {$ref: '#/components/schemas/Link'}
    LinkEvent:
      description: The link's state has changed. Without id.
      type: object
      required: [type, at, link]
      properties:
        type: {const: link}
        at: {$ref: '#/components/schemas/Time'}
        link: {$ref: '#/components/schemas/Link'}
    RunStartedEvent:
      description: A run has begun. Durable; without id in a snapshot.
      type: object
      required: [type, at, session, runId, run]
      properties:
        id: {type: string}
        type: {const: run.started}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        run: {$ref: '#/components/schemas/RunWithoutSteps'}
    RunDeltaEvent:
      description: A piece of a run's text. Without id.
      type: object
      required: [type, at, session, runId, text, offset]
      properties:
        type: {const: run.delta}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        text: {type: string}
        offset: {type: integer, minimum: 0, description: 'Where it begins, in UTF-16 units.'}
        replace: {const: true, description: It takes the place of the whole text.}
    RunStepEvent:
      description: A step has begun or changed. Durable; without id in a snapshot.
      type: object
      required: [type, at, session, runId, step]
      properties:
        id: {type: string}
        type: {const: run.step}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        step: {$ref: '#/components/schemas/Step'}
    RunEndedEvent:
      description: A run has ended. Durable.
      type: object
      required: [type, at, session, runId, run]
      properties:
        id: {type: string}
        type: {const: run.ended}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        run: {$ref: '#/components/schemas/RunWithoutSteps'}
    MessageEvent:
      description: A message is new, or its state has changed. Durable.
      type: object
      required: [id, type, at, session, message]
      properties:
        id: {type: string}
        type: {const: message}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        message: {$ref: '#/components/schemas/Message'}
    OutboxEvent:
      description: An entry has changed. Durable; without id where a stream begins by telling how things stand.
      type: object
      required: [type, at, session, entry]
      properties:
        id: {type: string}
        type: {const: outbox}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        entry: {$ref: '#/components/schemas/Entry'}
    IdentityEvent:
      description: IDENTITY.md has changed. Durable.
      type: object
      required: [id, type, at, agent, etag]
      properties:
        id: {type: string}
        type: {const: identity}
        at: {$ref: '#/components/schemas/Time'}
        agent: {type: string}
        etag: {type: string}
    ProfileEvent:
      description: USER.md has changed. Durable.
      type: object
      required: [id, type, at, agent, etag]
      properties:
        id: {type: string}
        type: {const: profile}
        at: {$ref: '#/components/schemas/Time'}
        agent: {type: string}
        etag: {type: string}
    SessionEvent:
      description: A conversation came, changed or went. Durable.
      type: object
      required: [id, type, at, session, reason, sessionInfo]
      properties:
        id: {type: string}
        type: {const: session}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        reason: {type: string}
        sessionInfo: {$ref: '#/components/schemas/Session'}
    SummaryEvent:
      description: How things stand, with `snapshot=true`. Without id.
      type: object
      required: [type, at, active, link]
      properties:
        type: {const: summary}
        at: {$ref: '#/components/schemas/Time'}
        active: {type: integer, minimum: 0}
        link: {$ref: '#/components/schemas/Link'}
    HeartbeatEvent:
      description: Keep-alive, where comments are no use. Without id.
      type: object
      required: [type, at]
      properties:
        type: {const: heartbeat}
        at: {$ref: '#/components/schemas/Time'}
    ResetEvent:
      description: The position asked for is not in the log; reload what `reload` lists. Without id.
      type: object
      required: [type, at, newest, epoch, reload]
      properties:
        type: {const: reset}
        at: {$ref: '#/components/schemas/Time'}
        requested: {type: string}
        oldest: {type: string}
        newest: {type: string}
        epoch: {type: string}
        reload: {type: array, items: {type: string}}
    ShutdownEvent:
      description: The last event of a stream that Ladle ends. Without id.
      type: object
      required: [type, at, reason, retry]
      properties:
        type: {const: shutdown}
        at: {$ref: '#/components/schemas/Time'}
        reason: {type: string, examples: [shutting_down, too_many_streams, token_revoked, token_rotated]}
        retry: {type: integer, minimum: 0, description: Milliseconds until it is worth coming back.}
    TruncatedEvent:
      description: In place of an event of more than 128 KiB; `href` has the whole.
      type: object
      required: [type, at, truncated, bytes, href]
      properties:
        id: {type: string}
        type: {type: string}
        at: {$ref: '#/components/schemas/Time'}
        session: {type: string}
        runId: {type: string}
        truncated: {const: true}
        bytes: {type: integer, minimum: 0}
        href: {type: string}

"""##

    static let json = ##"""
{"openapi":"3.1.0","info":{"title":"Ladle","version":"1","summary":"A local HTTP/SSE bridge to an OpenClaw gateway.","description":"One process holds one connection to the gateway and serves it to many. JSON, camelCase; times are RFC 3339 in UTC with\nmilliseconds; ids are opaque strings.\n\n**Errors** are RFC 9457 problems. `code` is stable: branch on it. `hint` is what to type next, `retryAfterMs` stands in\n`Retry-After` too, and `requestId` is in the log.\n\n**Every answer** has `Ladle-Version`. HEAD and OPTIONS work on every path and are not listed. A method a path does not\nhave is answered 405 with `Allow`; a method nobody knows 501.\n\n**Query parameters** that an operation does not have are passed over; one that looks like a misspelling of its own (`type` for\n`types`) is answered 400 `BAD_PARAMETER`, as is one that stands twice.\n\n**Before an operation is known** a request can be refused with 400, 408, 414, 417, 421, 431, 501, 503 or 505 and a\nproblem of the same form (`components/responses`); the connection is closed then.\n\n**Who may**: a token as `Authorization: Bearer`; none is needed for the user that runs `ladle serve`, on the control\nsocket and (Linux) on loopback, unless `access.loopback=token`. `x-ladle-scope` names the scope an operation takes, null\nwhere it is open to all; scope `admin` has every scope.\n","license":{"name":"MIT","identifier":"MIT"}},"servers":[{"url":"http://127.0.0.1:18780","description":"The default listener."}],"security":[{"bearer":[]}],"tags":[{"name":"messages","description":"What people and the agent say."},{"name":"runs","description":"Turns of the agent and their steps."},{"name":"events","description":"One stream for everything."},{"name":"outbox","description":"What is to be sent and what became of it."},{"name":"identity","description":"The agent's IDENTITY.md and USER.md."},{"name":"sessions","description":"Conversations and agents."},{"name":"access","description":"Tokens, tickets and pairing."},{"name":"system","description":"Health, status and this document."}],"paths":{"/healthz":{"get":{"operationId":"getHealth","tags":["system"],"summary":"Whether the process is alive; says nothing else.","security":[],"x-ladle-scope":null,"responses":{"200":{"description":"It is.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Health"},"example":{"status":"ok"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"403":{"$ref":"#/components/responses/CrossOrigin"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"}}}},"/metrics":{"get":{"operationId":"getMetrics","tags":["system"],"summary":"Everything Ladle counts, for Prometheus.","description":"Text format 0.0.4, or OpenMetrics 1.0 where that is preferred.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","responses":{"200":{"description":"All metrics.","content":{"text/plain":{"schema":{"type":"string"},"example":"# HELP ladle_link_up 1 while the gateway is connected.\n# TYPE ladle_link_up gauge\nladle_link_up 1.0\n"},"application/openmetrics-text":{"schema":{"type":"string"},"example":"# HELP ladle_link_up 1 while the gateway is connected.\n# TYPE ladle_link_up gauge\nladle_link_up 1.0\n# EOF\n"}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/openapi.json":{"get":{"operationId":"getOpenAPIAsJSON","tags":["system"],"summary":"This document as JSON.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The document.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"type":"object","required":["openapi","info","paths"]}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/openapi.yaml":{"get":{"operationId":"getOpenAPIAsYAML","tags":["system"],"summary":"This document as it was written.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The document.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/yaml":{"schema":{"type":"object","required":["openapi","info","paths"]}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/readyz":{"get":{"operationId":"getReadiness","tags":["system"],"summary":"Whether a message would be accepted durably now.","description":"The gateway is not part of it, because restarting Ladle does not repair a gateway.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","responses":{"200":{"description":"It would.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Readiness"},"example":{"status":"ready"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/activity":{"get":{"operationId":"getActivity","tags":["runs"],"summary":"What is going on now.","description":"As text, one line for each running step.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The active runs and a headline.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Activity"},"example":{"active":0,"runs":[],"headline":"idle"}},"text/plain":{"schema":{"type":"string"},"example":"agent:main:main  Fetching from wttr.in... (3s)\n"}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/v1/agents":{"get":{"operationId":"listAgents","tags":["sessions"],"summary":"The gateway's agents.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"From the gateway, or as last seen while it is away (`live` false).","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/AgentList"},"example":{"agents":[{"id":"main","name":"Main","default":true,"session":"agent:main:main"}],"live":true}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/debug/frames":{"get":{"operationId":"getFrames","tags":["system"],"summary":"What went over the link lately, without its secrets.","description":"As a list or as a stream; only with `debug.frames`. Numbers begin anew with each start of the program.\n","x-ladle-scope":"admin","parameters":[{"name":"before","in":"query","description":"Only frames before this number.","schema":{"type":"integer","minimum":1,"maximum":9223372036854775807}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":500,"default":100}},{"name":"since","in":"query","description":"Only frames after this number; `Last-Event-ID` wins over it.","schema":{"type":"integer","minimum":0,"maximum":9223372036854775807}},{"name":"Last-Event-ID","in":"header","description":"The number of the last frame seen, as EventSource sends it.","schema":{"type":"string"}}],"responses":{"200":{"description":"The last frames, oldest first.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/FrameList"},"example":{"frames":[{"number":7,"at":"2026-11-21T07:31:27.137Z","direction":"in","size":61,"frame":{"type":"event","event":"tick"}}]}},"text/event-stream":{"schema":{"$ref":"#/components/schemas/FrameBlock"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoFrameLog"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/v1/events":{"get":{"operationId":"streamEvents","tags":["events"],"summary":"Everything that happens, as it happens.","description":"One cursor, four forms: Server-Sent Events, one JSON object a line, a readable line an event, and with `poll` a long\npoll. `hello` comes first. Durable events have an `id`; with `Last-Event-ID` or `since` the stream goes on after it,\nalso after a restart of Ladle: inside the window nothing is missing and nothing comes twice, outside it one `reset`\nsays from where to reload. Keep-alives are comment lines. The stream never answers with a 5xx because the gateway is\naway, and over a limit it is opened all the same: `hello`, `shutdown` with a reason, and closed.\n","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"name":"compress","in":"query","description":"Together with an `Accept-Encoding` that takes gzip: the stream is compressed, each event readable when it arrives.\nNever by `Accept-Encoding` alone, which libraries send by themselves: whoever sends messages and sees the lengths of\nwhat is compressed can learn about the texts beside his own.\n","schema":{"const":"gzip"},"example":"gzip"},{"name":"heartbeat","in":"query","description":"Seconds between keep-alive comments; `event` sends them as events every 15 s.","schema":{"anyOf":[{"type":"integer","minimum":5,"maximum":60},{"const":"event"}]},"example":15},{"name":"limit","in":"query","description":"Ends the stream after so many events, those that every stream begins with aside.","schema":{"type":"integer","minimum":1,"maximum":1000000},"example":10},{"name":"poll","in":"query","description":"Answers JSON, at the latest after so many seconds; JSON is the form of this alone, and else 406.","schema":{"type":"integer","minimum":0,"maximum":300},"example":25},{"name":"run","in":"query","description":"Only events of this run.","schema":{"type":"string","minLength":1,"maxLength":512,"pattern":"^[^\\x00-\\x1f\\x7f]*$"}},{"$ref":"#/components/parameters/Session"},{"name":"since","in":"query","description":"The id to go on after; `Last-Event-ID` wins over it.","schema":{"$ref":"#/components/schemas/Cursor"},"example":"d080b48405.39"},{"name":"snapshot","in":"query","description":"After `hello` also `summary` and the active runs, without ids.","schema":{"$ref":"#/components/schemas/Flag"}},{"name":"timeout","in":"query","description":"Ends the stream after so many seconds.","schema":{"type":"integer","minimum":1,"maximum":86400},"example":60},{"name":"types","in":"query","description":"Only these types; `run.*` for a family, `*` for all.","style":"form","explode":false,"schema":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/EventTypePattern"}},"example":["run.*","outbox"]},{"name":"Last-Event-ID","in":"header","description":"The id of the last event seen, as EventSource sends it; an empty one is none.","schema":{"$ref":"#/components/schemas/Cursor"}}],"responses":{"200":{"description":"The stream. Of `text/event-stream` the schema is that of one block; `x-item-schema` is that of one line.\n","content":{"text/event-stream":{"schema":{"$ref":"#/components/schemas/ServerSentEvent"},"example":{"id":"d080b48405.39","event":"hello","retry":1000,"data":"{\"id\":\"d080b48405.39\",\"type\":\"hello\",\"at\":\"2026-11-21T07:31:27.228Z\",\"version\":\"0.1.0\",\"epoch\":\"d080b48405\",\"resume\":\"fresh\",\"retry\":1000,\"link\":{\"state\":\"online\",\"detail\":\"Connected.\",\"since\":\"2026-11-21T07:31:27.137Z\",\"scopes\":[\"operator.read\",\"operator.write\"]}}"}},"application/x-ndjson":{"schema":{"type":"string"},"x-item-schema":{"$ref":"#/components/schemas/Event"}},"text/plain":{"schema":{"type":"string"},"example":"2026-11-21T07:31:27.186Z run.ended agent:main:main completed: Hello!\n"},"application/json":{"schema":{"$ref":"#/components/schemas/EventPage"},"example":{"events":[],"cursor":"d080b48405.38"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/TooManyStreams"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/identity":{"get":{"operationId":"getIdentity","tags":["identity"],"summary":"The agent's IDENTITY.md, as fields and as the file.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/Refresh"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"$ref":"#/components/responses/Identity"},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}},"put":{"operationId":"putIdentity","tags":["identity"],"summary":"Replaces IDENTITY.md, or all of its fields.","description":"With `markdown` the whole file; with fields, those that are not named are cleared.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/IdentityReplacement"},"examples":{"fields":{"value":{"fields":{"name":"Ada","emoji":"🦊"}}},"file":{"value":{"markdown":"# IDENTITY.md\n\n- **Name:** Ada\n"}}}},"text/markdown":{"schema":{"type":"string","maxLength":2097152,"pattern":"^[^\\x00]*$"},"example":"# IDENTITY.md\n\n- **Name:** Ada\n"}}},"responses":{"200":{"$ref":"#/components/responses/Identity"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/WriteNotSeen"},"412":{"$ref":"#/components/responses/DocumentChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/TooManyWriters"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}},"patch":{"operationId":"patchIdentity","tags":["identity"],"summary":"Changes some fields and keeps every other byte of the file.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"requestBody":{"required":true,"content":{"application/merge-patch+json":{"schema":{"$ref":"#/components/schemas/IdentityPatch"},"example":{"vibe":"calm"}},"application/json":{"schema":{"$ref":"#/components/schemas/IdentityPatch"},"example":{"name":"Ada","theme":null}}}},"responses":{"200":{"$ref":"#/components/responses/Identity"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/WriteNotSeen"},"412":{"$ref":"#/components/responses/DocumentChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/TooManyWriters"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/identity/avatar":{"get":{"operationId":"getAvatar","tags":["identity"],"summary":"The agent's picture.","description":"The one put here, else the one inside IDENTITY.md.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The picture.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"image/png":{"schema":{"type":"string","contentMediaType":"image/png"}},"image/jpeg":{"schema":{"type":"string","contentMediaType":"image/jpeg"}},"image/webp":{"schema":{"type":"string","contentMediaType":"image/webp"}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAvatar"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}},"put":{"operationId":"putAvatar","tags":["identity"],"summary":"Keeps a picture of up to 2 MiB for the agent.","description":"Checked by its content. It is kept here; the gateway does not see it.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"requestBody":{"required":true,"content":{"image/png":{"schema":{"type":"string","contentMediaType":"image/png"}},"image/jpeg":{"schema":{"type":"string","contentMediaType":"image/jpeg"}},"image/webp":{"schema":{"type":"string","contentMediaType":"image/webp"}}}},"responses":{"200":{"description":"What was kept.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Avatar"},"example":{"agent":"main","mimeType":"image/png","width":128,"height":128,"bytes":4711}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"412":{"$ref":"#/components/responses/AvatarChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}},"delete":{"operationId":"deleteAvatar","tags":["identity"],"summary":"Forgets the picture that was put here.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"responses":{"204":{"description":"It is forgotten."},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"412":{"$ref":"#/components/responses/AvatarChanged"},"421":{"$ref":"#/components/responses/WrongHost"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/messages":{"get":{"operationId":"listMessages","tags":["messages"],"summary":"A conversation, newest last.","description":"From the gateway, and from what was last seen (`live` false, `asOf`) while it is away. Housekeeping messages never show.\n","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"name":"after","in":"query","description":"Only newer ones; a place as an answer gave it, or a message's id.","schema":{"type":"string","minLength":1,"maxLength":512}},{"name":"before","in":"query","description":"Only older ones; a place as an answer gave it, or a message's id.","schema":{"type":"string","minLength":1,"maxLength":512}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":500,"default":50}},{"$ref":"#/components/parameters/Session"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"A page of it.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/MessageList"},"example":{"session":"agent:main:main","messages":[{"id":"2cc9faf3","role":"assistant","text":"It is sunny, 21 °C.","at":"2026-11-21T07:31:27.173Z","state":"sent"}],"live":true}},"text/plain":{"schema":{"type":"string"},"example":"2026-11-21T07:31:27.173Z assistant\n  It is sunny, 21 °C.\n"}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoPlace"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}},"post":{"operationId":"sendMessage","tags":["messages"],"summary":"Sends a message; it is on disk before the answer.","description":"As JSON, as text (the whole body), or as a form; what `curl -d` sends without `=` pairs is taken as text. With `wait`\nthe answer comes when the run has ended, or is 202 when the time is over first. With `Accept: text/event-stream` the\nanswer streams the events of this message and its run.\n","x-ladle-scope":"send","parameters":[{"name":"force","in":"query","description":"Sends it also when it is only one of the gateway's stop words.","schema":{"$ref":"#/components/schemas/Flag"}},{"$ref":"#/components/parameters/Session"},{"name":"thinking","in":"query","description":"The thinking level for this message.","schema":{"$ref":"#/components/schemas/Thinking"}},{"name":"wait","in":"query","description":"Seconds to wait for the end of the run; `Prefer` is the other way to say it.","schema":{"type":"integer","minimum":0,"maximum":600},"example":60},{"name":"Prefer","in":"header","description":"`wait=N` waits for the end of the run, `respond-async` does not (RFC 7240).","schema":{"type":"string"},"example":"wait=60"},{"name":"Idempotency-Key","in":"header","description":"The same key with the same message replays the acceptance for 24 h (`Idempotency-Replayed`). Bare or quoted.\n","schema":{"type":"string","pattern":"^(?:[!#-+\\--:<-~]{1,255}|\"(?:[ !#-\\[\\]-~]|\\\\[\"\\\\]){1,255}\")$"},"example":"\"backup-2026-11-21\""}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewMessage"},"examples":{"text":{"value":{"text":"append the weather to weather.txt"}},"later":{"value":{"text":"good morning","session":"main","thinking":"low","ttlSeconds":3600}}}},"text/plain":{"schema":{"$ref":"#/components/schemas/MessageText"},"example":"turn the lights off"},"application/x-www-form-urlencoded":{"schema":{"$ref":"#/components/schemas/NewMessageForm"},"example":{"text":"turn the lights off"}}}},"responses":{"200":{"description":"The run has ended, or this is the stream of its events.","headers":{"Location":{"$ref":"#/components/headers/Location"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Reply"}},"text/plain":{"schema":{"type":"string","description":"The reply alone."},"example":"It is sunny, 21 °C.\n"},"text/event-stream":{"schema":{"$ref":"#/components/schemas/ServerSentEvent"}}}},"202":{"description":"It is accepted and on disk.","headers":{"Location":{"$ref":"#/components/headers/Location"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Entry"},"example":{"id":"01a1fd04-6940-72f5-a81b-cb80306e9dd1","kind":"message","session":"agent:main:main","text":"append the weather to weather.txt","state":"queued","createdAt":"2026-11-21T07:31:27.168Z","updatedAt":"2026-11-21T07:31:27.168Z","attemptCount":0,"expiresAt":"2026-11-23T07:31:27.168Z","version":1}},"text/plain":{"schema":{"type":"string"},"example":"queued 01a1fd04-6940-72f5-a81b-cb80306e9dd1\n"}},"links":{"entry":{"operationId":"getEntry","parameters":{"id":"$response.body#/id"}},"retry":{"operationId":"retryEntry","parameters":{"id":"$response.body#/id"}},"cancel":{"operationId":"cancelEntry","parameters":{"id":"$response.body#/id"}},"run":{"operationId":"getRun","parameters":{"id":"$response.body#/id"}},"abort":{"operationId":"abortRun","parameters":{"id":"$response.body#/id"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/NotSent"},"413":{"$ref":"#/components/responses/MessageTooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidMessage"},"429":{"$ref":"#/components/responses/OutboxFull"},"502":{"$ref":"#/components/responses/RunFailed"},"503":{"$ref":"#/components/responses/Unavailable"},"504":{"$ref":"#/components/responses/EntryExpired"},"507":{"$ref":"#/components/responses/StorageFull"}}}},"/v1/outbox":{"get":{"operationId":"listOutbox","tags":["outbox"],"summary":"What is to be sent and what became of it, newest first.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"name":"before","in":"query","description":"Only entries accepted before this one.","schema":{"$ref":"#/components/schemas/EntryID"}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":500,"default":50}},{"$ref":"#/components/parameters/Session"},{"name":"state","in":"query","style":"form","explode":false,"schema":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/EntryState"}},"example":["queued","retrying"]},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"A page of entries and the counts of all.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/EntryList"},"example":{"pending":0,"unconfirmed":0,"failed":0,"entries":[]}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoPlace"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/outbox/{id}":{"get":{"operationId":"getEntry","tags":["outbox"],"summary":"One entry with its attempts.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/EntryID"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"$ref":"#/components/responses/Entry"},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoEntry"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}},"delete":{"operationId":"cancelEntry","tags":["outbox"],"summary":"Takes an entry back, or dismisses one that failed.","x-ladle-scope":"send","parameters":[{"$ref":"#/components/parameters/EntryID"},{"name":"force","in":"query","description":"Also where nobody can tell whether it arrived.","schema":{"$ref":"#/components/schemas/Flag"}},{"name":"If-Match","in":"header","description":"The entry's ETag; 412 when it has moved on.","schema":{"$ref":"#/components/schemas/EntityTags"}}],"responses":{"200":{"$ref":"#/components/responses/Entry"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoEntry"},"406":{"$ref":"#/components/responses/NotAcceptable"},"409":{"$ref":"#/components/responses/NotCancellable"},"412":{"$ref":"#/components/responses/EntryChanged"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"},"507":{"$ref":"#/components/responses/StorageFull"}}}},"/v1/outbox/{id}/retry":{"post":{"operationId":"retryEntry","tags":["outbox"],"summary":"Sends a failed, expired or unconfirmed entry again.","description":"Its attempts are counted anew, and it has the time it had at first (`ttlSeconds` or `outbox.ttl`), from now on or from its `notBefore`.","x-ladle-scope":"send","parameters":[{"$ref":"#/components/parameters/EntryID"},{"name":"If-Match","in":"header","description":"The entry's ETag; 412 when it has moved on.","schema":{"$ref":"#/components/schemas/EntityTags"}}],"responses":{"200":{"$ref":"#/components/responses/Entry"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoEntry"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/NotRetryable"},"412":{"$ref":"#/components/responses/EntryChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"},"507":{"$ref":"#/components/responses/StorageFull"}}}},"/v1/pairing":{"get":{"operationId":"listPairing","tags":["access"],"summary":"Applications that wait for a decision.","x-ladle-scope":"admin","responses":{"200":{"description":"They.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingList"},"example":{"requests":[]}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}},"post":{"operationId":"applyForPairing","tags":["access"],"summary":"A device asks for a token.","description":"On the host `ladle clients approve CODE` grants it; the device polls with the id, for five minutes.","security":[],"x-ladle-scope":null,"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingApplication"},"example":{"name":"kitchen tablet","scopes":["read","send"]}}}},"responses":{"202":{"description":"Somebody has to decide now.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingReceipt"},"example":{"id":"ldp_M8Ap0pcp7cWP97EAEZLgT2YxSQpy69EewM3s6G1GvkX","code":"2X7P-6P4J","expiresAt":"2026-11-21T07:36:27.224Z","approve":"ladle clients approve 2X7P-6P4J"}}},"links":{"poll":{"operationId":"pollPairing","parameters":{"id":"$response.body#/id"}},"approve":{"operationId":"approvePairing","requestBody":{"code":"$response.body#/code"}},"reject":{"operationId":"rejectPairing","requestBody":{"code":"$response.body#/code"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"403":{"$ref":"#/components/responses/CrossOrigin"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"429":{"$ref":"#/components/responses/TooManyApplications"}}}},"/v1/pairing/approve":{"post":{"operationId":"approvePairing","tags":["access"],"summary":"Grants an application, all of its scopes or fewer.","x-ladle-scope":"admin","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingApproval"},"example":{"code":"2X7P-6P4J","scopes":["read"]}}}},"responses":{"200":{"$ref":"#/components/responses/PairingRequest"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoCode"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/AlreadyDecided"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/v1/pairing/reject":{"post":{"operationId":"rejectPairing","tags":["access"],"summary":"Refuses an application.","x-ladle-scope":"admin","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingRejection"},"example":{"code":"2X7P-6P4J"}}}},"responses":{"200":{"$ref":"#/components/responses/PairingRequest"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoCode"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/AlreadyDecided"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/v1/pairing/{id}":{"get":{"operationId":"pollPairing","tags":["access"],"summary":"Where an application stands; the token, once.","security":[],"x-ladle-scope":null,"parameters":[{"name":"id","in":"path","required":true,"description":"The secret id from the application's answer.","schema":{"type":"string","minLength":1},"example":"ldp_M8Ap0pcp7cWP97EAEZLgT2YxSQpy69EewM3s6G1GvkX"}],"responses":{"200":{"description":"Its status, and the token when it has just been approved.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingStatus"},"example":{"status":"pending","expiresAt":"2026-11-21T07:36:27.224Z"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/CrossOrigin"},"404":{"$ref":"#/components/responses/NoPairing"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/profile":{"get":{"operationId":"getProfile","tags":["identity"],"summary":"What the agent knows about its user, USER.md, as fields and as the file.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/Refresh"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"$ref":"#/components/responses/Profile"},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}},"put":{"operationId":"putProfile","tags":["identity"],"summary":"Replaces USER.md, or all of its fields.","description":"With `markdown` the whole file; with fields, those that are not named are cleared.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/ProfileReplacement"},"examples":{"fields":{"value":{"fields":{"callName":"Sam","timezone":"Europe/Berlin"}}},"file":{"value":{"markdown":"# USER.md\n\n- **Name:** Sam\n"}}}},"text/markdown":{"schema":{"type":"string","maxLength":2097152,"pattern":"^[^\\x00]*$"},"example":"# USER.md\n\n- **Name:** Sam\n"}}},"responses":{"200":{"$ref":"#/components/responses/Profile"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/WriteNotSeen"},"412":{"$ref":"#/components/responses/DocumentChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/TooManyWriters"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}},"patch":{"operationId":"patchProfile","tags":["identity"],"summary":"Changes some fields and keeps every other byte of the file.","x-ladle-scope":"identity","parameters":[{"$ref":"#/components/parameters/Agent"},{"$ref":"#/components/parameters/IfMatch"}],"requestBody":{"required":true,"content":{"application/merge-patch+json":{"schema":{"$ref":"#/components/schemas/ProfilePatch"},"example":{"callName":"Sam"}},"application/json":{"schema":{"$ref":"#/components/schemas/ProfilePatch"},"example":{"timezone":"Europe/Berlin","notes":null}}}},"responses":{"200":{"$ref":"#/components/responses/Profile"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoAgent"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/WriteNotSeen"},"412":{"$ref":"#/components/responses/DocumentChanged"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"428":{"$ref":"#/components/responses/PreconditionRequired"},"429":{"$ref":"#/components/responses/TooManyWriters"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/runs":{"get":{"operationId":"listRuns","tags":["runs"],"summary":"Turns of the agent, newest first.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"name":"active","in":"query","description":"Only those under way, or only those that have ended.","schema":{"$ref":"#/components/schemas/Flag"}},{"name":"before","in":"query","description":"The id of the last run of the page before.","schema":{"type":"string"}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":200,"default":50}},{"$ref":"#/components/parameters/Session"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"A page of them.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/RunList"},"example":{"runs":[]}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoPlace"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/runs/{id}":{"get":{"operationId":"getRun","tags":["runs"],"summary":"One turn of the agent with its steps.","description":"Named by its own id, or by the id of the message it answers. As text, what the agent said.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/RunID"},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The run.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Run"}},"text/plain":{"schema":{"type":"string"},"example":"It is sunny, 21 °C.\n"}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoRun"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/runs/{id}/abort":{"post":{"operationId":"abortRun","tags":["runs"],"summary":"Stops a run.","x-ladle-scope":"send","parameters":[{"$ref":"#/components/parameters/RunID"}],"responses":{"200":{"$ref":"#/components/responses/Aborted"},"202":{"$ref":"#/components/responses/AbortQueued"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoRun"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"409":{"$ref":"#/components/responses/RunNotStarted"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/OutboxFull"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"},"504":{"$ref":"#/components/responses/GatewayTimeout"},"507":{"$ref":"#/components/responses/StorageFull"}}}},"/v1/sessions":{"get":{"operationId":"listSessions","tags":["sessions"],"summary":"The gateway's conversations.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":1000,"default":200}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"From the gateway, or as last seen while it is away (`live` false).","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/SessionList"},"example":{"sessions":[{"key":"agent:main:main","agent":"main","kind":"direct","active":false,"updatedAt":"2026-11-21T07:31:27.120Z"}],"live":true}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/sessions/{key}/abort":{"post":{"operationId":"abortSession","tags":["sessions"],"summary":"Stops every run of a conversation.","x-ladle-scope":"send","parameters":[{"name":"key","in":"path","required":true,"schema":{"$ref":"#/components/schemas/SessionKey"},"example":"main"}],"responses":{"200":{"$ref":"#/components/responses/Aborted"},"202":{"$ref":"#/components/responses/AbortQueued"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/OutboxFull"},"502":{"$ref":"#/components/responses/GatewayFault"},"503":{"$ref":"#/components/responses/Unavailable"},"504":{"$ref":"#/components/responses/GatewayTimeout"},"507":{"$ref":"#/components/responses/StorageFull"}}}},"/v1/status":{"get":{"operationId":"getStatus","tags":["system"],"summary":"Link, outbox, runs and events at a glance.","description":"As text, the screenful a person wants.","security":[{"bearer":[]},{"ticket":[]}],"x-ladle-scope":"read","parameters":[{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The status.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Status"},"example":{"version":"0.1.0","startedAt":"2026-11-21T07:31:27.131Z","demo":true,"link":{"state":"online","detail":"Connected.","since":"2026-11-21T07:31:27.137Z","url":"ws://127.0.0.1:43015","protocol":4,"gateway":{"version":"2026.6.11"},"scopes":["operator.read","operator.write"]},"outbox":{"pending":0,"unconfirmed":0,"failed":0},"runs":{"active":0},"events":{"epoch":"d080b48405","last":"d080b48405.2","subscribers":0}}},"text/plain":{"schema":{"type":"string"}}}},"304":{"$ref":"#/components/responses/NotModified"},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}}},"/v1/tickets":{"post":{"operationId":"createTicket","tags":["access"],"summary":"A ticket for one read of one path, for clients that cannot set headers.","description":"It stands in the URL as `?ticket=`, works once, and only within 60 s.","x-ladle-scope":"read","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewTicket"},"example":{"path":"/v1/events"}}}},"responses":{"201":{"description":"The ticket.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Ticket"},"example":{"ticket":"ldt_4BZI4MkzLJN6nzjUOFXa6tDoMopbawRXJeZGxOSIdUT","path":"/v1/events","expiresAt":"2026-11-21T07:32:27.224Z"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"429":{"$ref":"#/components/responses/TooManyTickets"}}}},"/v1/tokens":{"get":{"operationId":"listTokens","tags":["access"],"summary":"The tokens there are, without their secrets.","x-ladle-scope":"admin","responses":{"200":{"description":"They.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/TokenList"},"example":{"tokens":[{"id":"01a1fd04-691a-765d-8ba4-1ca2a00fc2df","name":"kitchen tablet","scopes":["read"],"shown":"ldl_M96KMA","createdAt":"2026-11-21T07:31:27.130Z"}]}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"}}},"post":{"operationId":"createToken","tags":["access"],"summary":"Makes a token; its secret is shown this once.","x-ladle-scope":"admin","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewToken"},"example":{"name":"backup script","scopes":["read","send"],"expiresInSeconds":2592000}}}},"responses":{"201":{"description":"The token.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewTokenSecret"},"example":{"id":"01a1fd04-6977-7d44-a122-ee27f6dfde87","name":"backup script","scopes":["read","send"],"createdAt":"2026-11-21T07:31:27.223Z","token":"ldl_6uYfIeGWG1GOsCR6zgvAu86ujZsQtV4DHycfz2PsJkW13x6UL"}}},"links":{"revoke":{"operationId":"revokeToken","parameters":{"id":"$response.body#/id"}},"rotate":{"operationId":"rotateToken","parameters":{"id":"$response.body#/id"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"422":{"$ref":"#/components/responses/InvalidField"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/tokens/{id}":{"delete":{"operationId":"revokeToken","tags":["access"],"summary":"Ends a token; its open streams close at once.","x-ladle-scope":"admin","parameters":[{"$ref":"#/components/parameters/TokenID"}],"responses":{"204":{"description":"It is no more."},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoToken"},"406":{"$ref":"#/components/responses/NotAcceptable"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/tokens/{id}/rotate":{"post":{"operationId":"rotateToken","tags":["access"],"summary":"Gives a token a new secret; the old one ends.","x-ladle-scope":"admin","parameters":[{"$ref":"#/components/parameters/TokenID"}],"responses":{"200":{"description":"The token with its new secret.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewTokenSecret"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/NotPaired"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NoToken"},"406":{"$ref":"#/components/responses/NotAcceptable"},"408":{"$ref":"#/components/responses/RequestTimeout"},"413":{"$ref":"#/components/responses/TooLarge"},"415":{"$ref":"#/components/responses/UnsupportedMediaType"},"421":{"$ref":"#/components/responses/WrongHost"},"429":{"$ref":"#/components/responses/RateLimited"},"503":{"$ref":"#/components/responses/Unavailable"}}}}},"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","description":"A token of `ladle token create` or of pairing. The user that runs `ladle serve` needs none on the control socket and,\non Linux, on loopback, unless `access.loopback=token`; a credential that is sent is the one that counts.\n"},"ticket":{"type":"apiKey","in":"query","name":"ticket","description":"A ticket of `POST /v1/tickets`: one read of one path."}},"headers":{"ETag":{"description":"The validator of this version.","required":true,"schema":{"type":"string"},"example":"\"4e38c3611440f60a9e645003b2c7c4ac\""},"Location":{"description":"The entry of the outbox.","required":true,"schema":{"type":"string"},"example":"/v1/outbox/01a1fd04-6940-72f5-a81b-cb80306e9dd1"},"WWW-Authenticate":{"description":"RFC 6750.","required":true,"schema":{"type":"string"},"example":"Bearer realm=\"ladle\""},"Retry-After":{"description":"Seconds.","required":true,"schema":{"type":"integer","minimum":0}}},"parameters":{"Agent":{"name":"agent","in":"query","description":"The agent's id; the gateway's default agent where it is not given.","schema":{"type":"string","pattern":"^[a-z0-9][a-z0-9_-]{0,63}$"},"example":"main"},"EntryID":{"name":"id","in":"path","required":true,"schema":{"type":"string","minLength":1},"example":"01a1fd04-6940-72f5-a81b-cb80306e9dd1"},"IfMatch":{"name":"If-Match","in":"header","description":"The ETag of the version that the write is meant for, or `*`. Without it 428.","schema":{"$ref":"#/components/schemas/EntityTags"},"example":"*"},"IfNoneMatch":{"name":"If-None-Match","in":"header","description":"The ETag of what is known already; 304 while it is still that.","schema":{"type":"string"}},"Refresh":{"name":"refresh","in":"query","description":"Reads the gateway now.","schema":{"$ref":"#/components/schemas/Flag"}},"RunID":{"name":"id","in":"path","required":true,"schema":{"type":"string","minLength":1},"example":"01a1fd04-6940-72f5-a81b-cb80306e9dd1"},"Session":{"name":"session","in":"query","schema":{"$ref":"#/components/schemas/SessionKey"},"example":"main"},"TokenID":{"name":"id","in":"path","required":true,"description":"The token's id, or its name where only one has it.","schema":{"type":"string","minLength":1},"example":"01a1fd04-6977-7d44-a122-ee27f6dfde87"}},"responses":{"Identity":{"description":"The identity.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Identity"},"example":{"agent":"main","fields":{"name":"Ada","vibe":"calm"},"markdown":"# IDENTITY.md\n\n- **Name:** Ada\n- **Vibe:** calm\n","stale":false,"asOf":"2026-11-21T07:31:27.141Z"}},"text/markdown":{"schema":{"type":"string"}}}},"Profile":{"description":"The profile.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Profile"},"example":{"agent":"main","fields":{"callName":"Sam"},"markdown":"# USER.md\n\n- **What to call them:** Sam\n","stale":false,"asOf":"2026-11-21T07:31:27.141Z"}},"text/markdown":{"schema":{"type":"string"}}}},"Entry":{"description":"The entry.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Entry"}}}},"PairingRequest":{"description":"The application that was decided.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/PairingRequest"}}}},"Aborted":{"description":"What was stopped; nothing where nothing ran.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Aborted"},"example":{"aborted":true,"runIds":["01a1fd04-6940-72f5-a81b-cb80306e9dd1"]}}}},"AbortQueued":{"description":"The gateway is away; the abort waits in the outbox.","headers":{"Location":{"$ref":"#/components/headers/Location"}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Aborted"}}}},"NotModified":{"description":"It is still what `If-None-Match` names.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"BadRequest":{"description":"The syntax is wrong: request, query, header or body.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":400},"code":{"enum":["BAD_BYTE","BAD_CHUNK","BAD_CONTENT_LENGTH","BAD_FIELD","BAD_HEADER","BAD_HOST","BAD_PARAMETER","BAD_REQUEST_LINE","BAD_TARGET","BAD_TRAILER","BAD_TRANSFER_ENCODING","ENDED_EARLY","HOST_REQUIRED","MALFORMED_JSON","MALFORMED_TEXT","UPGRADE_REFUSED"]}}},"example":{"type":"urn:ladle:problem:BAD_PARAMETER","title":"Bad parameter","status":400,"detail":"`limit` is a whole number from 1 to 500.","code":"BAD_PARAMETER","field":"limit","retryable":false,"requestId":"req-4gwa131f"}}}},"NotPaired":{"description":"No credential that counts.","headers":{"WWW-Authenticate":{"$ref":"#/components/headers/WWW-Authenticate"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":401},"code":{"const":"NOT_PAIRED"}}}}}},"CrossOrigin":{"description":"A web page from elsewhere, or a request through Tailscale Funnel.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":403},"code":{"enum":["CROSS_ORIGIN","FUNNEL_REFUSED"]}}}}}},"Forbidden":{"description":"The credential, the page or the link may not do that.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":403},"code":{"enum":["CROSS_ORIGIN","FUNNEL_REFUSED","GATEWAY_SCOPE_MISSING","MISSING_SCOPE","SESSION_NOT_ALLOWED"]}}}}}},"NotFound":{"description":"There is no such resource.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"const":"NOT_FOUND"}}}}}},"NoAgent":{"description":"There is no such agent.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["NOT_FOUND","UNKNOWN_AGENT"]}}}}}},"NoAvatar":{"description":"There is no picture, or it is at a URL (`avatarUrl`), which is not fetched.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["AVATAR_IS_REMOTE","NOT_FOUND","UNKNOWN_AGENT"]}}}}}},"NoFrameLog":{"description":"Frames are not kept.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"const":"FRAME_LOG_OFF"}}}}}},"NoEntry":{"description":"There is no such entry.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["ENTRY_NOT_FOUND","NOT_FOUND"]}}}}}},"NoPlace":{"description":"There is nothing of the id that `before` or `after` names, or it is kept no more; begin anew.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"const":"PLACE_NOT_FOUND"}}}}}},"NoRun":{"description":"There is no such run.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["NOT_FOUND","RUN_NOT_FOUND"]}}}}}},"NoToken":{"description":"There is no such token, or several have this name.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["NOT_FOUND","UNKNOWN_TOKEN"]}}}}}},"NoCode":{"description":"No application waits under this code.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"const":"UNKNOWN_CODE"}}}}}},"NoPairing":{"description":"There is no such application, or it is over.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":404},"code":{"enum":["NOT_FOUND","UNKNOWN_PAIRING"]}}}}}},"MethodNotAllowed":{"description":"The path does not have this method; `Allow` names those it has.","headers":{"Allow":{"required":true,"schema":{"type":"string"},"example":"GET, POST, HEAD, OPTIONS"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":405},"code":{"const":"METHOD_NOT_ALLOWED"}}}}}},"NotAcceptable":{"description":"None of the media types in `Accept` is to be had here.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":406},"code":{"const":"NOT_ACCEPTABLE"}}}}}},"RequestTimeout":{"description":"The request came too slowly.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":408},"code":{"const":"REQUEST_TIMEOUT"}}}}}},"NotSent":{"description":"The message or its run was stopped, or a request with this key is just being accepted.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"enum":["ENTRY_CANCELLED","IDEMPOTENCY_IN_FLIGHT","RUN_ABORTED"]}}}}}},"NotCancellable":{"description":"The gateway has it already, or nobody can tell (`?force=true`).","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"enum":["ALREADY_DISPATCHED","ENTRY_UNCONFIRMED"]}}}}}},"NotRetryable":{"description":"There is nothing to send again.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"enum":["ALREADY_DISPATCHED","NOT_RETRYABLE"]}}}}}},"RunNotStarted":{"description":"Nothing runs for this message yet.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"const":"RUN_NOT_STARTED"}}}}}},"AlreadyDecided":{"description":"This application was decided before.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"const":"ALREADY_DECIDED"}}}}}},"WriteNotSeen":{"description":"The file was written and reads otherwise now.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":409},"code":{"const":"WRITE_NOT_SEEN"}}}}}},"DocumentChanged":{"description":"The file is not the version that `If-Match` names.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":412},"code":{"const":"PRECONDITION_FAILED"}}}}}},"AvatarChanged":{"description":"The picture is not the version that `If-Match` names, or there is none.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":412},"code":{"const":"PRECONDITION_FAILED"}}}}}},"EntryChanged":{"description":"The entry is not the version that `If-Match` names.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":412},"code":{"const":"ENTRY_CHANGED"}}}}}},"TooLarge":{"description":"The body or a field of it is too large.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":413},"code":{"enum":["BODY_TOO_LARGE","INVALID_FIELD"]}}}}}},"MessageTooLarge":{"description":"The message or an attachment is larger than the gateway takes.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":413},"code":{"enum":["ATTACHMENT_TOO_LARGE","BODY_TOO_LARGE","MESSAGE_TOO_LARGE"]}}}}}},"TargetTooLong":{"description":"The request line is too long.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":414},"code":{"const":"REQUEST_LINE_TOO_LONG"}}}}}},"UnsupportedMediaType":{"description":"The body is of no type that this operation takes, or has a Content-Encoding.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":415},"code":{"enum":["UNSUPPORTED_ENCODING","UNSUPPORTED_MEDIA_TYPE"]}}}}}},"UnmetExpectation":{"description":"`Expect` is not 100-continue.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":417},"code":{"const":"UNMET_EXPECTATION"}}}}}},"WrongHost":{"description":"The Host is not one this server answers to.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":421},"code":{"const":"WRONG_HOST"}}}}}},"InvalidField":{"description":"Well-formed, but a field is not allowed as it is.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":422},"code":{"const":"INVALID_FIELD"}}}}}},"InvalidMessage":{"description":"A field is not allowed as it is, the message is a stop word, or its key came with another message.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":422},"code":{"enum":["IDEMPOTENCY_KEY_REUSED","INVALID_FIELD","STOP_WORD"]}}}}}},"PreconditionRequired":{"description":"`If-Match` is missing.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":428},"code":{"const":"PRECONDITION_REQUIRED"}}}}}},"RateLimited":{"description":"Too many of one kind in a short time.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"const":"RATE_LIMITED"}}}}}},"OutboxFull":{"description":"Too many in a short time, or as many entries wait as may.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"enum":["OUTBOX_FULL","RATE_LIMITED"]}}}}}},"TooManyWriters":{"description":"Too many changes of this file wait for each other.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"enum":["RATE_LIMITED","TOO_MANY_WRITERS"]}}}}}},"TooManyApplications":{"description":"Too many applications, at once or in a short time.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"enum":["RATE_LIMITED","TOO_MANY_APPLICATIONS"]}}}}}},"TooManyStreams":{"description":"As many streams and waiting polls are open as one caller, or all together, may have.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"enum":["RATE_LIMITED","TOO_MANY_STREAMS"]}}}}}},"TooManyTickets":{"description":"More tickets wait to be used than one caller may have.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":429},"code":{"enum":["RATE_LIMITED","TOO_MANY_TICKETS"]}}}}}},"HeadTooLarge":{"description":"The header fields take too much.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":431},"code":{"enum":["BAD_TRAILER","HEAD_TOO_LARGE"]}}}}}},"NotImplemented":{"description":"A method or a transfer coding that nobody here knows.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":501},"code":{"enum":["UNKNOWN_METHOD","UNKNOWN_TRANSFER_CODING"]}}}}}},"GatewayFault":{"description":"The gateway, or the agent behind it, did not do it.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":502},"code":{"enum":["AGENT_DID_NOT_ANSWER","GATEWAY_ANSWER_UNREADABLE","GATEWAY_ERROR","GATEWAY_REFUSED"]}}}}}},"RunFailed":{"description":"The run failed, with the provider's words in `detail`, or the gateway did not take the message.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":502},"code":{"enum":["RUN_FAILED","SEND_REJECTED"]}}}}}},"Unavailable":{"description":"The database cannot be used, the gateway is away, or this process is ending.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":503},"code":{"enum":["GATEWAY_UNAVAILABLE","SHUTTING_DOWN","STORE_UNAVAILABLE","TOO_MANY_CONNECTIONS"]}}}}}},"EntryExpired":{"description":"The message could not be sent in its time.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":504},"code":{"const":"ENTRY_EXPIRED"}}}}}},"GatewayTimeout":{"description":"The gateway did not answer; whether it happened is not known.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":504},"code":{"const":"GATEWAY_TIMEOUT"}}}}}},"VersionNotSupported":{"description":"Neither HTTP/1.0, HTTP/1.1 nor HTTP/2.","content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":505},"code":{"const":"UNSUPPORTED_VERSION"}}}}}},"StorageFull":{"description":"The disk has no room; what was accepted before is kept.","headers":{"Retry-After":{"$ref":"#/components/headers/Retry-After"}},"content":{"application/problem+json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Problem"}],"properties":{"status":{"const":507},"code":{"const":"STORAGE_FULL"}}}}}}},"schemas":{"Time":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$","examples":["2026-11-21T07:31:27.131Z"]},"Flag":{"description":"True: `true`, `1`, or the bare name. False: `false` or `0`.","anyOf":[{"type":"boolean"},{"type":"integer","minimum":0,"maximum":1},{"type":"string","maxLength":0}]},"SessionKey":{"description":"`agent:AGENT:REST`; `main` is the main conversation, any other word one of the default agent.","type":"string","minLength":1,"maxLength":512,"pattern":"^[ \\t]*(?:(?![Aa][Gg][Ee][Nn][Tt]:)[^\\x00-\\x20\\x7f-\\x9f]*[^\\x00-\\x20\\x7f-\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]|[Aa][Gg][Ee][Nn][Tt]:[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\\x00-\\x20\\x7f-\\x9f]*[^\\x00-\\x20\\x7f-\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000])[ \\t]*$"},"Thinking":{"type":"string","pattern":"^[a-z-]{1,32}$","examples":["low"]},"Cursor":{"description":"The id of an event: EPOCH.SEQUENCE. Empty is none.","type":"string","pattern":"^(?:[a-z0-9]{1,16}\\.(?:0|[1-9][0-9]{0,18}))?$"},"EntityTags":{"type":"string","pattern":"^(?:\\*|(?:W/)?\"[!#-~]*\"(?:[ \\t]*,[ \\t]*(?:W/)?\"[!#-~]*\"){0,31})$"},"EntryID":{"type":"string","pattern":"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},"EntryState":{"enum":["queued","sending","retrying","accepted","unconfirmed","delivered","failed","cancelled","expired"]},"Scope":{"enum":["read","send","identity","control","nodes","admin"]},"EventTypePattern":{"enum":["*","approval","heartbeat","hello","identity","link","message","node","outbox","profile","reset","run.*","run.delta","run.ended","run.started","run.step","session","shutdown","summary"]},"Problem":{"description":"RFC 9457.","type":"object","required":["type","title","status","detail","code","requestId"],"properties":{"type":{"type":"string","pattern":"^urn:ladle:problem:[A-Z_]+$"},"title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},"code":{"type":"string","pattern":"^[A-Z_]+$","description":"Stable; branch on it."},"field":{"type":"string","description":"The parameter, header or body field at fault."},"hint":{"type":"string","description":"The exact command or setting that mends it."},"retryable":{"type":"boolean"},"retryAfterMs":{"type":"integer","minimum":0},"requiredScopes":{"type":"array","items":{"type":"string"}},"requestId":{"type":"string","description":"In the log."},"offset":{"type":"integer","minimum":0,"description":"The byte at which JSON ceases to be JSON."},"gatewayCode":{"type":"string","description":"The gateway's own code."},"currentETag":{"type":"string"},"conflicts":{"type":"array","items":{"$ref":"#/components/schemas/FieldConflict"}},"avatarUrl":{"type":"string"},"entry":{"$ref":"#/components/schemas/Entry"},"run":{"$ref":"#/components/schemas/Run"}}},"FieldConflict":{"type":"object","required":["field","current","requested"],"properties":{"field":{"type":"string"},"current":{"type":"string"},"requested":{"type":"string"}}},"Health":{"type":"object","required":["status"],"properties":{"status":{"const":"ok"}}},"Readiness":{"type":"object","required":["status"],"properties":{"status":{"const":"ready"}}},"Status":{"type":"object","required":["version","startedAt","demo","link","outbox","runs","events"],"properties":{"version":{"type":"string"},"startedAt":{"$ref":"#/components/schemas/Time"},"demo":{"type":"boolean"},"link":{"$ref":"#/components/schemas/Link"},"outbox":{"type":"object","required":["pending","unconfirmed","failed"],"properties":{"pending":{"type":"integer","minimum":0},"unconfirmed":{"type":"integer","minimum":0},"failed":{"type":"integer","minimum":0},"oldestAgeMs":{"type":"integer","minimum":0},"fault":{"description":"Why the entries that wait could not be read from the database. Until they are, nothing is sent, and the counts leave them out; reading is tried again every second.","type":"string"},"attempts":{"description":"Attempts to send since the start, by how they ended.","type":"object","properties":{"accepted":{"type":"integer","minimum":0},"not_dispatched":{"type":"integer","minimum":0},"rejected_transient":{"type":"integer","minimum":0},"rejected_terminal":{"type":"integer","minimum":0},"ambiguous":{"type":"integer","minimum":0},"route_changed":{"type":"integer","minimum":0}}}}},"runs":{"type":"object","required":["active"],"properties":{"active":{"type":"integer","minimum":0}}},"events":{"type":"object","required":["epoch","last","subscribers"],"properties":{"epoch":{"type":"string"},"first":{"type":"string"},"last":{"type":"string"},"subscribers":{"type":"integer","minimum":0}}},"connections":{"type":"object","required":["limit","configured"],"properties":{"limit":{"description":"Connections there may be at once; less than `configured` where the system allows too few open files.","type":"integer","minimum":1},"configured":{"description":"The setting `limits.connections`.","type":"integer","minimum":1}}}}},"FrameList":{"type":"object","required":["frames"],"properties":{"frames":{"type":"array","items":{"$ref":"#/components/schemas/Frame"}},"before":{"type":"integer","minimum":1,"description":"The place of the page before."}}},"FrameBlock":{"description":"One block of the stream; a last one of event `shutdown` tells why it ends.","type":"object","required":["event","data"],"properties":{"id":{"type":"string"},"event":{"enum":["frame","shutdown"]},"retry":{"type":"integer","minimum":0},"data":{"type":"string","contentMediaType":"application/json","contentSchema":{"anyOf":[{"$ref":"#/components/schemas/Frame"},{"$ref":"#/components/schemas/ShutdownEvent"}]}}}},"Link":{"description":"Ladle's one connection to the gateway.","type":"object","required":["state","detail","since","scopes"],"properties":{"state":{"enum":["connecting","online","waiting_for_approval","refused","offline"]},"code":{"type":"string","description":"The gateway's code word for word where it sent one."},"detail":{"type":"string"},"hint":{"type":"string"},"since":{"$ref":"#/components/schemas/Time"},"url":{"type":"string"},"protocol":{"enum":[3,4]},"gateway":{"type":"object","properties":{"version":{"type":"string"}}},"scopes":{"type":"array","items":{"type":"string"},"description":"The gateway's scopes in effect."},"retryAt":{"$ref":"#/components/schemas/Time"},"requestId":{"type":"string","description":"What the gateway's owner approves."},"clockSkewMs":{"type":"integer","description":"How far the gateway's clock is ahead where that is notable."}}},"Message":{"description":"One chat message as people see it.","type":"object","required":["id","role","text","at","state"],"properties":{"id":{"type":"string"},"role":{"enum":["user","assistant","system","tool"]},"text":{"type":"string"},"at":{"$ref":"#/components/schemas/Time"},"state":{"enum":["sending","sent","failed"]},"runId":{"type":"string"},"steps":{"type":"array","items":{"$ref":"#/components/schemas/Step"}},"attachments":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"mimeType":{"type":"string"},"bytes":{"type":"integer","minimum":0}}}},"error":{"type":"string"}}},"MessageList":{"type":"object","required":["session","messages","live"],"properties":{"session":{"type":"string"},"messages":{"type":"array","items":{"$ref":"#/components/schemas/Message"}},"before":{"type":"string","description":"The place of the next older page."},"after":{"type":"string","description":"The place of the next newer page."},"live":{"type":"boolean"},"asOf":{"$ref":"#/components/schemas/Time"}}},"MessageText":{"description":"At most 262,144 bytes of UTF-8, without NUL, and not of blanks and control characters alone.","type":"string","maxLength":262144,"pattern":"^[^\\x00]*[^\\s\\ufeff\\x00-\\x1f\\x7f-\\x9f][^\\x00]*$"},"NewMessage":{"description":"Unknown fields are ignored beside known ones.","type":"object","anyOf":[{"required":["text"],"properties":{"text":{"$ref":"#/components/schemas/MessageText"}}},{"required":["attachments"],"properties":{"attachments":{"type":"array","minItems":1}}}],"properties":{"text":{"type":["string","null"],"maxLength":262144,"pattern":"^[^\\x00]*$"},"session":{"anyOf":[{"$ref":"#/components/schemas/SessionKey"},{"type":"null"}]},"thinking":{"anyOf":[{"$ref":"#/components/schemas/Thinking"},{"type":"null"}]},"attachments":{"type":["array","null"],"maxItems":32,"items":{"$ref":"#/components/schemas/NewAttachment"}},"ttlSeconds":{"type":["integer","null"],"minimum":1,"maximum":2592000},"notBefore":{"description":"In the future, at most 30 days away.","anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]}}},"NewAttachment":{"description":"A picture; with protocol 4 any file. Of the four known kinds of pictures the content is looked at.","type":"object","required":["mimeType","data"],"properties":{"name":{"type":["string","null"],"maxLength":255,"pattern":"^[^\\x00-\\x1f]*$"},"mimeType":{"type":"string","maxLength":127},"data":{"type":"string","contentEncoding":"base64"}},"anyOf":[{"properties":{"mimeType":{"enum":["image/png","image/jpeg","image/gif","image/webp"]},"data":{"type":"string","contentEncoding":"base64","pattern":"^(?:iVBOR[w-z0-9+/][A-Za-z0-9+/]{2}|/9j/|R0lGO[A-P][A-Za-z0-9+/]{2}|UklGR[g-v][A-Za-z0-9+/]{4}[BFJNRVZdhlptx159]XRUJQ[A-Za-z0-9+/]{4})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"}}},{"properties":{"mimeType":{"type":"string","pattern":"^(?!(?:[Ii][Mm][Aa][Gg][Ee]/(?:[Pp][Nn][Gg]|[Jj][Pp][Ee][Gg]|[Gg][Ii][Ff]|[Ww][Ee][Bb][Pp]))$)[A-Za-z0-9+.-]+/[A-Za-z0-9+.-]+$"},"data":{"type":"string","contentEncoding":"base64","pattern":"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$"}}}]},"NewMessageForm":{"description":"A body with other fields, or without `text` and `message`, is no such form but text as it stands.","type":"object","additionalProperties":false,"anyOf":[{"required":["text"]},{"required":["message"]}],"properties":{"text":{"$ref":"#/components/schemas/MessageText"},"message":{"$ref":"#/components/schemas/MessageText"},"session":{"$ref":"#/components/schemas/SessionKey"},"thinking":{"$ref":"#/components/schemas/Thinking"},"ttlSeconds":{"type":"string","pattern":"^[1-9][0-9]{0,5}$"},"notBefore":{"type":"string","format":"date-time"}}},"Reply":{"type":"object","required":["entry","reply"],"properties":{"entry":{"$ref":"#/components/schemas/Entry"},"run":{"$ref":"#/components/schemas/Run"},"reply":{"type":"string","description":"Empty when the agent stayed silent."}}},"Run":{"description":"One turn of the agent.","type":"object","required":["id","session","state","startedAt","text","steps"],"properties":{"id":{"type":"string"},"session":{"type":"string"},"state":{"enum":["queued","running","completed","failed","aborted"]},"startedAt":{"$ref":"#/components/schemas/Time"},"endedAt":{"$ref":"#/components/schemas/Time"},"text":{"type":"string"},"steps":{"type":"array","items":{"$ref":"#/components/schemas/Step"}},"error":{"type":"string"},"usage":{"$ref":"#/components/schemas/Usage"}}},"RunWithoutSteps":{"type":"object","required":["id","session","state","startedAt","text"],"properties":{"id":{"type":"string"},"session":{"type":"string"},"state":{"enum":["queued","running","completed","failed","aborted"]},"startedAt":{"$ref":"#/components/schemas/Time"},"endedAt":{"$ref":"#/components/schemas/Time"},"text":{"type":"string"},"error":{"type":"string"},"usage":{"$ref":"#/components/schemas/Usage"}}},"Usage":{"type":"object","required":["input","output","cacheRead","cacheWrite","totalTokens"],"properties":{"input":{"type":"integer","minimum":0},"output":{"type":"integer","minimum":0},"cacheRead":{"type":"integer","minimum":0},"cacheWrite":{"type":"integer","minimum":0},"totalTokens":{"type":"integer","minimum":0},"cost":{"type":"number","minimum":0}}},"Step":{"description":"One item of live activity inside a run.","type":"object","required":["id","runId","seq","kind","category","label","state","startedAt"],"properties":{"id":{"type":"string"},"runId":{"type":"string"},"seq":{"type":"integer","minimum":1},"kind":{"enum":["thinking","tool","approval","notice","error"]},"tool":{"type":"string"},"toolCallId":{"type":"string"},"category":{"description":"For an icon; take one that is not known as `generic`.","enum":["thinking","terminal","browser","network","fileSystem","search","generic","message","schedule","memory","agent","media","approval"]},"label":{"type":"string","description":"The text to show now."},"detail":{"type":"string"},"state":{"enum":["running","waiting","done","failed","cancelled"]},"startedAt":{"$ref":"#/components/schemas/Time"},"endedAt":{"$ref":"#/components/schemas/Time"},"durationMs":{"type":"integer","minimum":0},"exitCode":{"type":"integer"},"error":{"type":"string"}}},"RunList":{"type":"object","required":["runs"],"properties":{"runs":{"type":"array","items":{"$ref":"#/components/schemas/Run"}},"before":{"type":"string","description":"The place of the next page."}}},"Frame":{"type":"object","required":["number","at","direction","size"],"properties":{"number":{"type":"integer"},"at":{"type":"string","format":"date-time"},"direction":{"enum":["in","out"]},"size":{"type":"integer","description":"Bytes on the wire."},"frame":{"description":"The frame as JSON, redacted; absent where it was none."}}},"Activity":{"type":"object","required":["active","runs","headline"],"properties":{"active":{"type":"integer","minimum":0},"runs":{"type":"array","items":{"$ref":"#/components/schemas/Run"}},"headline":{"type":"string"}}},"Aborted":{"type":"object","required":["aborted","runIds"],"properties":{"aborted":{"type":"boolean"},"runIds":{"type":"array","items":{"type":"string"}},"state":{"enum":["completed","failed","aborted"],"description":"What the run had come to before."},"entries":{"type":"array","items":{"$ref":"#/components/schemas/Entry"}}}},"Entry":{"description":"One command in the outbox.","type":"object","required":["id","kind","session","state","createdAt","updatedAt","attemptCount","expiresAt","version"],"properties":{"id":{"type":"string"},"kind":{"type":"string","examples":["message","abort"]},"session":{"type":"string"},"text":{"type":"string"},"state":{"$ref":"#/components/schemas/EntryState"},"createdAt":{"$ref":"#/components/schemas/Time"},"updatedAt":{"$ref":"#/components/schemas/Time"},"attemptCount":{"type":"integer","minimum":0},"nextAttemptAt":{"$ref":"#/components/schemas/Time"},"notBefore":{"$ref":"#/components/schemas/Time"},"expiresAt":{"$ref":"#/components/schemas/Time"},"runId":{"type":"string"},"proof":{"description":"What showed that it arrived.","enum":["run-event","message-event","history","text-match","gateway-receipt","answer"]},"blockedReason":{"type":"string"},"error":{"type":"object","required":["code","detail"],"properties":{"code":{"type":"string"},"detail":{"type":"string"}}},"version":{"type":"integer","minimum":1},"attempts":{"type":"array","items":{"$ref":"#/components/schemas/Attempt"}}}},"Attempt":{"type":"object","required":["at","class","key"],"properties":{"at":{"$ref":"#/components/schemas/Time"},"class":{"enum":["accepted","not_dispatched","rejected_transient","rejected_terminal","ambiguous","route_changed"]},"key":{"type":"string"},"code":{"type":"string"},"detail":{"type":"string"},"delayMs":{"type":"integer","minimum":0}}},"EntryList":{"type":"object","required":["pending","unconfirmed","failed","entries"],"properties":{"pending":{"type":"integer","minimum":0},"unconfirmed":{"type":"integer","minimum":0},"failed":{"type":"integer","minimum":0},"entries":{"type":"array","items":{"$ref":"#/components/schemas/Entry"}},"before":{"type":"string","description":"The place of the next page."}}},"IdentityFields":{"type":"object","properties":{"name":{"type":"string"},"creature":{"type":"string"},"vibe":{"type":"string"},"theme":{"type":"string"},"emoji":{"type":"string"},"avatar":{"type":"string"}}},"Identity":{"type":"object","required":["agent","fields","markdown","stale","asOf"],"properties":{"agent":{"type":"string"},"fields":{"$ref":"#/components/schemas/IdentityFields"},"markdown":{"type":"string"},"path":{"enum":["rpc","chat"],"description":"By which way a write went."},"stale":{"type":"boolean"},"asOf":{"$ref":"#/components/schemas/Time"}}},"ProfileFields":{"type":"object","properties":{"name":{"type":"string"},"callName":{"type":"string"},"pronouns":{"type":"string"},"timezone":{"type":"string"},"notes":{"type":"string"},"context":{"type":"string"},"directives":{"type":"array","readOnly":true,"items":{"$ref":"#/components/schemas/Directive"}}}},"Directive":{"type":"object","properties":{"observed":{"type":"string"},"status":{"type":"string"},"text":{"type":"string"}}},"Profile":{"type":"object","required":["agent","fields","markdown","stale","asOf"],"properties":{"agent":{"type":"string"},"fields":{"$ref":"#/components/schemas/ProfileFields"},"markdown":{"type":"string"},"path":{"enum":["rpc","chat"],"description":"By which way a write went."},"stale":{"type":"boolean"},"asOf":{"$ref":"#/components/schemas/Time"}}},"LineValue":{"description":"One line; null and the empty string clear.","type":["string","null"],"maxLength":1024,"pattern":"^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$"},"TextValue":{"description":"Null and the empty string clear.","type":["string","null"],"maxLength":32768,"pattern":"^(?:[^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029]|\\r\\n)*$"},"IdentityPatch":{"type":"object","additionalProperties":false,"properties":{"name":{"$ref":"#/components/schemas/LineValue"},"creature":{"$ref":"#/components/schemas/LineValue"},"vibe":{"$ref":"#/components/schemas/LineValue"},"theme":{"$ref":"#/components/schemas/LineValue"},"emoji":{"type":["string","null"],"maxLength":64,"pattern":"^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$"},"avatar":{"type":["string","null"],"maxLength":262144,"pattern":"^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$"}}},"IdentityReplacement":{"anyOf":[{"type":"object","required":["markdown"],"properties":{"markdown":{"type":"string","maxLength":2097152,"pattern":"^[^\\x00]*$"}}},{"type":"object","required":["fields"],"properties":{"fields":{"$ref":"#/components/schemas/IdentityPatch"},"markdown":false}},{"$ref":"#/components/schemas/IdentityPatch"}]},"ProfilePatch":{"type":"object","additionalProperties":false,"properties":{"name":{"$ref":"#/components/schemas/LineValue"},"callName":{"$ref":"#/components/schemas/LineValue"},"pronouns":{"$ref":"#/components/schemas/LineValue"},"timezone":{"$ref":"#/components/schemas/LineValue"},"notes":{"$ref":"#/components/schemas/TextValue"},"context":{"type":["string","null"],"maxLength":262144,"pattern":"^(?:[^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029]|\\r\\n)*$"}}},"ProfileReplacement":{"anyOf":[{"type":"object","required":["markdown"],"properties":{"markdown":{"type":"string","maxLength":2097152,"pattern":"^[^\\x00]*$"}}},{"type":"object","required":["fields"],"properties":{"fields":{"$ref":"#/components/schemas/ProfilePatch"},"markdown":false}},{"$ref":"#/components/schemas/ProfilePatch"}]},"Avatar":{"type":"object","required":["agent","mimeType","width","height","bytes"],"properties":{"agent":{"type":"string"},"mimeType":{"enum":["image/png","image/jpeg","image/webp"]},"width":{"type":"integer","minimum":1},"height":{"type":"integer","minimum":1},"bytes":{"type":"integer","minimum":1}}},"Session":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"agent":{"type":"string"},"kind":{"type":"string"},"label":{"type":"string"},"title":{"type":"string"},"preview":{"type":"string"},"model":{"type":"string"},"thinking":{"type":"string"},"verbose":{"type":"string"},"status":{"type":"string"},"active":{"type":"boolean"},"updatedAt":{"$ref":"#/components/schemas/Time"}}},"SessionList":{"type":"object","required":["sessions","live"],"properties":{"sessions":{"type":"array","items":{"$ref":"#/components/schemas/Session"}},"live":{"type":"boolean"},"asOf":{"$ref":"#/components/schemas/Time"}}},"AgentList":{"type":"object","required":["agents","live"],"properties":{"agents":{"type":"array","items":{"type":"object","required":["id","default","session"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"emoji":{"type":"string"},"avatar":{"type":"string"},"default":{"type":"boolean"},"session":{"type":"string"}}}},"live":{"type":"boolean"},"asOf":{"$ref":"#/components/schemas/Time"}}},"TokenName":{"description":"One line of printable characters, at most 64 bytes.","type":"string","format":"printable-line","minLength":1,"maxLength":64},"PairingApplication":{"type":"object","required":["name","scopes"],"properties":{"name":{"$ref":"#/components/schemas/TokenName"},"scopes":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Scope"}}}},"PairingReceipt":{"type":"object","required":["id","code","expiresAt","approve"],"properties":{"id":{"type":"string","description":"The device's secret."},"code":{"type":"string","description":"For people."},"expiresAt":{"$ref":"#/components/schemas/Time"},"approve":{"type":"string","description":"The command that grants it."}}},"PairingRequest":{"type":"object","required":["code","name","scopes","from","requestedAt","expiresAt"],"properties":{"code":{"type":"string"},"name":{"type":"string"},"scopes":{"type":"array","items":{"$ref":"#/components/schemas/Scope"}},"from":{"type":"string"},"requestedAt":{"$ref":"#/components/schemas/Time"},"expiresAt":{"$ref":"#/components/schemas/Time"}}},"PairingList":{"type":"object","required":["requests"],"properties":{"requests":{"type":"array","items":{"$ref":"#/components/schemas/PairingRequest"}}}},"PairingApproval":{"type":"object","required":["code"],"properties":{"code":{"type":"string","minLength":1},"scopes":{"type":["array","null"],"minItems":1,"items":{"$ref":"#/components/schemas/Scope"}}}},"PairingRejection":{"type":"object","required":["code"],"properties":{"code":{"type":"string","minLength":1}}},"PairingStatus":{"type":"object","required":["status"],"properties":{"status":{"enum":["pending","approved","rejected","superseded","delivered","busy"]},"expiresAt":{"$ref":"#/components/schemas/Time"},"id":{"type":"string"},"name":{"type":"string"},"scopes":{"type":"array","items":{"$ref":"#/components/schemas/Scope"}},"sessions":{"type":"array","items":{"type":"string"}},"createdAt":{"$ref":"#/components/schemas/Time"},"token":{"type":"string"}}},"NewTicket":{"type":"object","required":["path"],"properties":{"path":{"type":"string","format":"path","description":"A path that scope read may GET, without its query."}}},"Ticket":{"type":"object","required":["ticket","path","expiresAt"],"properties":{"ticket":{"type":"string"},"path":{"type":"string"},"expiresAt":{"$ref":"#/components/schemas/Time"}}},"NewToken":{"type":"object","required":["name","scopes"],"properties":{"name":{"$ref":"#/components/schemas/TokenName"},"scopes":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Scope"}},"sessions":{"description":"Only these conversations, and the documents of their agents.","type":["array","null"],"minItems":1,"maxItems":64,"items":{"$ref":"#/components/schemas/SessionKey"}},"expiresInSeconds":{"type":["integer","null"],"minimum":1,"maximum":3155760000},"expiresAt":{"description":"In the future; wins over `expiresInSeconds`.","anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]}},"if":{"properties":{"scopes":{"contains":{"const":"admin"}}}},"then":{"properties":{"sessions":{"type":"null"}}}},"NewTokenSecret":{"type":"object","required":["id","name","scopes","createdAt","token"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"scopes":{"type":"array","items":{"$ref":"#/components/schemas/Scope"}},"sessions":{"type":"array","items":{"type":"string"}},"createdAt":{"$ref":"#/components/schemas/Time"},"expiresAt":{"$ref":"#/components/schemas/Time"},"token":{"type":"string","description":"Shown this once."}}},"Token":{"type":"object","required":["id","name","scopes","shown","createdAt"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"scopes":{"type":"array","items":{"$ref":"#/components/schemas/Scope"}},"sessions":{"type":"array","items":{"type":"string"}},"shown":{"type":"string","description":"Its first characters."},"createdAt":{"$ref":"#/components/schemas/Time"},"expiresAt":{"$ref":"#/components/schemas/Time"},"lastUsedAt":{"$ref":"#/components/schemas/Time"}}},"TokenList":{"type":"object","required":["tokens"],"properties":{"tokens":{"type":"array","items":{"$ref":"#/components/schemas/Token"}}}},"EventPage":{"description":"The answer of a long poll.","type":"object","required":["events","cursor"],"properties":{"events":{"type":"array","items":{"$ref":"#/components/schemas/Event"}},"cursor":{"type":"string","description":"The `since` of the next one."},"reset":{"type":"object","required":["newest"],"properties":{"requested":{"type":"string"},"oldest":{"type":"string"},"newest":{"type":"string"}}}}},"ServerSentEvent":{"description":"One block of a stream.","type":"object","required":["event","data"],"properties":{"id":{"type":"string","description":"Of durable events and of `hello`."},"event":{"type":"string","description":"The `type` of the data."},"retry":{"type":"integer","minimum":0},"data":{"type":"string","contentMediaType":"application/json","contentSchema":{"$ref":"#/components/schemas/Event"}}}},"Event":{"oneOf":[{"$ref":"#/components/schemas/HelloEvent"},{"$ref":"#/components/schemas/LinkEvent"},{"$ref":"#/components/schemas/RunStartedEvent"},{"$ref":"#/components/schemas/RunDeltaEvent"},{"$ref":"#/components/schemas/RunStepEvent"},{"$ref":"#/components/schemas/RunEndedEvent"},{"$ref":"#/components/schemas/MessageEvent"},{"$ref":"#/components/schemas/OutboxEvent"},{"$ref":"#/components/schemas/IdentityEvent"},{"$ref":"#/components/schemas/ProfileEvent"},{"$ref":"#/components/schemas/SessionEvent"},{"$ref":"#/components/schemas/SummaryEvent"},{"$ref":"#/components/schemas/HeartbeatEvent"},{"$ref":"#/components/schemas/ResetEvent"},{"$ref":"#/components/schemas/ShutdownEvent"},{"$ref":"#/components/schemas/TruncatedEvent"}]},"HelloEvent":{"description":"The first event of every stream.","type":"object","required":["id","type","at","version","epoch","resume","retry","link"],"properties":{"id":{"type":"string","description":"The position the stream stands at."},"type":{"const":"hello"},"at":{"$ref":"#/components/schemas/Time"},"version":{"type":"string"},"epoch":{"type":"string"},"resume":{"enum":["fresh","recovered","reset"]},"retry":{"type":"integer","minimum":0},"link":{"$ref":"#/components/schemas/Link"}}},"LinkEvent":{"description":"The link's state has changed. Without id.","type":"object","required":["type","at","link"],"properties":{"type":{"const":"link"},"at":{"$ref":"#/components/schemas/Time"},"link":{"$ref":"#/components/schemas/Link"}}},"RunStartedEvent":{"description":"A run has begun. Durable; without id in a snapshot.","type":"object","required":["type","at","session","runId","run"],"properties":{"id":{"type":"string"},"type":{"const":"run.started"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"run":{"$ref":"#/components/schemas/RunWithoutSteps"}}},"RunDeltaEvent":{"description":"A piece of a run's text. Without id.","type":"object","required":["type","at","session","runId","text","offset"],"properties":{"type":{"const":"run.delta"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"text":{"type":"string"},"offset":{"type":"integer","minimum":0,"description":"Where it begins, in UTF-16 units."},"replace":{"const":true,"description":"It takes the place of the whole text."}}},"RunStepEvent":{"description":"A step has begun or changed. Durable; without id in a snapshot.","type":"object","required":["type","at","session","runId","step"],"properties":{"id":{"type":"string"},"type":{"const":"run.step"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"step":{"$ref":"#/components/schemas/Step"}}},"RunEndedEvent":{"description":"A run has ended. Durable.","type":"object","required":["type","at","session","runId","run"],"properties":{"id":{"type":"string"},"type":{"const":"run.ended"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"run":{"$ref":"#/components/schemas/RunWithoutSteps"}}},"MessageEvent":{"description":"A message is new, or its state has changed. Durable.","type":"object","required":["id","type","at","session","message"],"properties":{"id":{"type":"string"},"type":{"const":"message"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"message":{"$ref":"#/components/schemas/Message"}}},"OutboxEvent":{"description":"An entry has changed. Durable; without id where a stream begins by telling how things stand.","type":"object","required":["type","at","session","entry"],"properties":{"id":{"type":"string"},"type":{"const":"outbox"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"entry":{"$ref":"#/components/schemas/Entry"}}},"IdentityEvent":{"description":"IDENTITY.md has changed. Durable.","type":"object","required":["id","type","at","agent","etag"],"properties":{"id":{"type":"string"},"type":{"const":"identity"},"at":{"$ref":"#/components/schemas/Time"},"agent":{"type":"string"},"etag":{"type":"string"}}},"ProfileEvent":{"description":"USER.md has changed. Durable.","type":"object","required":["id","type","at","agent","etag"],"properties":{"id":{"type":"string"},"type":{"const":"profile"},"at":{"$ref":"#/components/schemas/Time"},"agent":{"type":"string"},"etag":{"type":"string"}}},"SessionEvent":{"description":"A conversation came, changed or went. Durable.","type":"object","required":["id","type","at","session","reason","sessionInfo"],"properties":{"id":{"type":"string"},"type":{"const":"session"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"reason":{"type":"string"},"sessionInfo":{"$ref":"#/components/schemas/Session"}}},"SummaryEvent":{"description":"How things stand, with `snapshot=true`. Without id.","type":"object","required":["type","at","active","link"],"properties":{"type":{"const":"summary"},"at":{"$ref":"#/components/schemas/Time"},"active":{"type":"integer","minimum":0},"link":{"$ref":"#/components/schemas/Link"}}},"HeartbeatEvent":{"description":"Keep-alive, where comments are no use. Without id.","type":"object","required":["type","at"],"properties":{"type":{"const":"heartbeat"},"at":{"$ref":"#/components/schemas/Time"}}},"ResetEvent":{"description":"The position asked for is not in the log; reload what `reload` lists. Without id.","type":"object","required":["type","at","newest","epoch","reload"],"properties":{"type":{"const":"reset"},"at":{"$ref":"#/components/schemas/Time"},"requested":{"type":"string"},"oldest":{"type":"string"},"newest":{"type":"string"},"epoch":{"type":"string"},"reload":{"type":"array","items":{"type":"string"}}}},"ShutdownEvent":{"description":"The last event of a stream that Ladle ends. Without id.","type":"object","required":["type","at","reason","retry"],"properties":{"type":{"const":"shutdown"},"at":{"$ref":"#/components/schemas/Time"},"reason":{"type":"string","examples":["shutting_down","too_many_streams","token_revoked","token_rotated"]},"retry":{"type":"integer","minimum":0,"description":"Milliseconds until it is worth coming back."}}},"TruncatedEvent":{"description":"In place of an event of more than 128 KiB; `href` has the whole.","type":"object","required":["type","at","truncated","bytes","href"],"properties":{"id":{"type":"string"},"type":{"type":"string"},"at":{"$ref":"#/components/schemas/Time"},"session":{"type":"string"},"runId":{"type":"string"},"truncated":{"const":true},"bytes":{"type":"integer","minimum":0},"href":{"type":"string"}}}}}}
"""##
}
