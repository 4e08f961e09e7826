"""OpenAI's own Python library against `/openai/v1` of the built program: models, whole and streamed answers, errors as the library's
exceptions, retries that make one message, side calls that make none, sessions, and a background response whose stream is taken up again
after `kill -9`: the text whole, once."""

import signal
import threading
import time

import base64

import httpx
import ollama
import openai

from harness import DemoGateway, Serve, Tally, options, until

options()
tally = Tally()
check = tally.check
gateway = DemoGateway("--speed", "3")
serve = Serve("--openai-enabled", "--log-level", "error", gateway=gateway.url).linked()
status, made = serve.json("POST", "/v1/tokens", {"name": "door", "scopes": ["send"], "paths": ["/openai", "/ollama"]})
KEY = made["token"]


def client(base="/openai/v1", key=KEY, **more):
    return openai.OpenAI(base_url=serve.url + base, api_key=key, **more)


def user(text, *before):
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": said} for place, said in enumerate((*before, text))]


def sent():
    """The messages that went to the outbox so far."""
    return len(serve.json("GET", "/v1/outbox?limit=200")[1]["entries"])


def raised(kind, code, ask):
    try:
        ask()
    except kind as error:
        return check(getattr(error, "code", None) == code, f"{kind.__name__} has the code {code}: {error.code}, {error}")
    except openai.OpenAIError as error:
        return check(False, f"{type(error).__name__} in place of {kind.__name__}: {error}")
    return check(False, f"{kind.__name__} {code} is not raised")


# -- models and errors

own = client()
check([model.id for model in own.models.list()] == ["ladle", "ladle/main", "ladle/scout", "ladle/tasks"], "the models are the agents")
check(own.models.retrieve("ladle/main").id == "ladle/main", "a model with a slash is found")
raised(openai.NotFoundError, "model_not_found", lambda: own.chat.completions.create(model="gpt-4o", messages=user("x")))
raised(openai.AuthenticationError, "invalid_api_key", lambda: client(key="ldl_wrong").models.list())
raised(openai.BadRequestError, "unsupported_parameter", lambda: own.chat.completions.create(
    model="ladle", messages=user("x"), response_format={"type": "json_object"}))
raised(openai.BadRequestError, "invalid_image_url", lambda: own.chat.completions.create(model="ladle", messages=[
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.invalid/x.png"}}]}]))
narrow = serve.json("POST", "/v1/tokens", {"name": "reader", "scopes": ["read"]})[1]["token"]
raised(openai.PermissionDeniedError, "insufficient_permissions", lambda: client(key=narrow).models.list())
for path in ("/v1/status", "/v1/messages", "/v1/tokens"):
    check(serve.call("GET", path, headers={"Authorization": f"Bearer {KEY}"})[0] == 403, f"the key does not open {path}")
check(sent() == 0, "nothing of that was a message")

# -- whole and streamed

answer = own.chat.completions.with_raw_response.create(model="ladle", messages=user("hello"), temperature=0.5)
chat = answer.parse()
check(chat.choices[0].message.content == "Hello! You said: hello", f"a whole answer: {chat}")
check(answer.headers["ladle-ignored"] == "temperature", "what was ignored is named")
session = answer.headers["ladle-session"]
again = own.chat.completions.with_raw_response.create(model="ladle", messages=user("echo two", "hello", chat.choices[0].message.content))
check(again.headers["ladle-session"] == session, "a client that repeats the turns stays in its session")
fresh = own.chat.completions.with_raw_response.create(model="ladle", messages=user("echo three", "hello", "something else"))
check(fresh.headers["ladle-session"] != session, "turns that nobody knows are a session of their own")
two = [own.chat.completions.with_raw_response.create(model="ladle", messages=user("echo x"), user="raycast-extension",
                                                      extra_headers={"X-Ladle-Message": str(number)}).headers["ladle-session"] for number in range(2)]
check(two[0] != two[1], "a constant user names no session")
base = client(base="/openai")
base.base_url = httpx.URL(serve.url + "/openai/v1/")
check(base.chat.completions.create(model="ladle/main", messages=user("echo four"),
                                   extra_headers={"X-Ladle-Session": "work"}).choices[0].message.content == "four", "the longer base")

begun, text, notes = time.monotonic(), "", []
stream = own.chat.completions.create(model="ladle", messages=user("append the weather"), stream=True, stream_options={"include_usage": True})
first = next(iter(stream))
check(first.choices[0].delta.role == "assistant" and time.monotonic() - begun < 1, "the role comes within a second")
for chunk in stream:
    for choice in chunk.choices:
        text += choice.delta.content or ""
        notes.append(getattr(choice.delta, "reasoning_content", None))
check(text.startswith("Done: I appended"), f"a streamed answer: {text}")
check(any(note and "weather.txt" in note for note in notes), f"its step is reasoning: {notes}")

raised(openai.UnprocessableEntityError, "run_failed", lambda: own.chat.completions.create(model="ladle", messages=user("fail with 401")))
try:
    for chunk in own.chat.completions.create(model="ladle", messages=user("fail with 500"), stream=True):
        pass
    check(False, "a stream of a failed run raises")
except openai.APIError as error:
    check(error.code == "run_failed", f"a stream of a failed run: {error}")

# -- side calls

before = sent()
probe = own.chat.completions.create(model="ladle", messages=user("What is the capital of France?"), max_tokens=3)
check(probe.choices[0].finish_reason == "length", "a probe is answered")
title = own.chat.completions.create(model="ladle", messages=user(
    "### Task:\nGenerate a concise title, 3-5 words\n<chat_history>\nUSER: boil an egg\nASSISTANT: x\n</chat_history>"))
check(title.choices[0].message.content == '{"title":"boil an egg"}', f"a title: {title.choices[0].message.content}")
raised(openai.BadRequestError, "unsupported_task", lambda: own.chat.completions.create(model="ladle/tasks", messages=user("write a poem")))
check(sent() == before, "side calls are no messages")

# -- a client that gives up and asks again

hurried = client(timeout=1.0, max_retries=5)
slow = hurried.chat.completions.create(model="ladle", messages=user("slow count"))
check(slow.choices[0].message.content.endswith("number 30,"), "the answer comes to a retry")
check(sent() == before + 1, "time-outs and retries made one message")

stream = own.chat.completions.create(model="ladle", messages=user("slow story"), stream=True)
next(iter(stream))
time.sleep(0.5)
stream.response.close()
until(lambda: serve.json("GET", "/v1/runs?limit=1")[1]["runs"][0]["state"] == "aborted", seconds=8, what="the stop of a closed stream")

# -- responses

made = own.responses.create(model="ladle", input="echo one", metadata={"topic": "x"})
check(made.output_text == "one" and made.status == "completed", f"a response: {made.output_text}")
check(own.responses.retrieve(made.id).output_text == "one", "it is kept")
following = own.responses.create(model="ladle", input="echo next", previous_response_id=made.id)
check(following.metadata["ladle_session"] == made.metadata["ladle_session"], "the next one goes on in its session")
check(own.responses.input_items.list(made.id).data[0].content[0].text == "echo one", "its input is kept")
conversation = own.conversations.create()
pair = [own.responses.create(model="ladle", input=f"echo {word}", conversation=conversation.id).metadata["ladle_session"] for word in "ab"]
check(pair[0] == pair[1], "a conversation is one session")
own.responses.delete(made.id)
raised(openai.NotFoundError, "response_not_found", lambda: own.responses.retrieve(made.id))
running = own.responses.create(model="ladle", input="slow story", background=True)
check(running.status == "queued", "a background response comes at once")
until(lambda: own.responses.retrieve(running.id).status == "in_progress", what="the run of a background response")
check(own.responses.cancel(running.id).status == "cancelled", "it can be stopped")

# -- Ollama's own library

def old(key=KEY):
    return ollama.Client(host=serve.url + "/ollama", headers={"Authorization": f"Bearer {key}"})


def refused(status, ask, words):
    try:
        ask()
    except ollama.ResponseError as error:
        return check(error.status_code == status and words in error.error, f"Ollama's {status} {words}: {error.status_code} {error.error}")
    return check(False, f"Ollama's {status} {words} is not raised")


check([model.model for model in old().list().models] == ["ladle", "ladle/main", "ladle/scout", "ladle/tasks"], "Ollama's models")
check("completion" in old().show("ladle/main:latest").capabilities, "a model is shown")
before = sent()
whole = old().chat("ladle:latest", user("hello"))
check(whole.message.content == "Hello! You said: hello" and whole.done and whole.done_reason == "stop", f"an answer of Ollama's: {whole}")
pieces = list(old().chat("ladle", user("append the weather"), stream=True))
text = "".join(piece.message.content for piece in pieces)
check(text.startswith("Done") and pieces[-1].done and not any(piece.done for piece in pieces[:-1]), f"a stream of Ollama's: {text}")
check(any(piece.message.thinking for piece in pieces) and len(pieces) > 3, "its steps are thoughts")
next_ = old().chat("ladle", [*user("hello"), {"role": "assistant", "content": whole.message.content}, *user("echo more")])
check(next_.message.content == "more", "a conversation goes on")
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
picture = old().chat("ladle", [{"role": "user", "content": "echo seen", "images": [PIXEL]}])
check(picture.message.content == "seen", f"a picture goes along: {picture}")
check(sent() == before + 4, "each is one message")
refused(404, lambda: old().chat("gpt-oss", user("x")), "There is no model")
refused(404, lambda: old().show("gpt-oss"), "not found")
refused(400, lambda: old().pull("ladle"), "nothing to pull")
refused(400, lambda: old().chat("ladle", user("x"), format="json"), "`format`")
refused(401, lambda: old("ldl_wrong").list(), "")
refused(403, lambda: old(narrow).list(), "")
refused(422, lambda: old().chat("ladle", user("fail with 401")), "401")
try:
    list(old().chat("ladle", user("fail with 401"), stream=True))
    check(False, "a stream of a failed run ends")
except ollama.ResponseError as error:
    check("401" in error.error, f"a stream of a failed run: {error.error}")

# -- a background stream over two kills

events, text, deaths = [], "", 0
id_, last = None, None
stream = own.responses.create(model="ladle", input="slow count", background=True, stream=True)
while True:
    try:
        for event in stream:
            events.append(event.type)
            check(last is None or event.sequence_number > last, f"{event.type} has a number of before")
            last = event.sequence_number
            id_ = id_ or event.response.id
            if event.type == "response.output_text.delta":
                text += event.delta
                if deaths < 2 and len(text) > 40 + 90 * deaths:
                    deaths += 1
                    serve.kill(signal.SIGKILL)
                    break
        else:
            break
    except (openai.APIConnectionError, httpx.HTTPError):
        pass
    if serve.process.poll() is not None:
        serve = serve.again().linked()
    stream = client(max_retries=3).responses.retrieve(id_, stream=True, starting_after=last)
whole = " ".join(f"number {number}," for number in range(1, 31))
check(deaths == 2 and text == whole, f"after {deaths} kills the text is whole, once: {text}")
check(events.count("response.created") == 1 and events[-1] == "response.completed", f"events: {events[:3]} {events[-3:]}")
check(client().responses.retrieve(id_).output_text == whole, "and so is the response")
print(f"openai: openai {openai.__version__} and ollama 0.6.3, {sent()} messages, {deaths} kills")
tally.end()
