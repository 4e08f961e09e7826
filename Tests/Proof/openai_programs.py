"""Unchanged programs that speak OpenAI's API, each with base URL and key alone: LangChain, LiteLLM, llm and Open WebUI with its page's calls.
And OpenAI's library behind a proxy that cuts connections or lets them hang two hundred times: no message runs twice, and none is lost. They
come from PyPI into environments of their own; Open WebUI without the parts that need a graphics card or a gigabyte."""

import collections
import http.client
import importlib.metadata
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import threading
import time
import uuid

from harness import ROOT, DemoGateway, Serve, Tally, free_port, options, scratch, until

PROGRAMS = ["openai==3.57.0", "litellm==1.108.7", "langchain-openai==1.7.4", "llm==0.36"]
ENVIRONMENT = ROOT / ".build/openai-programs"
WEBUI, WEBUI_VERSION = ROOT / ".build/open-webui", "0.12.4"
WITHOUT = """accelerate sentence-transformers transformers faster-whisper onnxruntime opencv-python-headless rapidocr-onnxruntime rapidocr pyarrow
pandas google-api-python-client google-auth-httplib2 google-auth-oauthlib playwright unstructured nltk soundfile pymilvus qdrant-client
weaviate-client elasticsearch opensearch-py pinecone oracledb einops pypdf fpdf2 sentencepiece youtube-transcript-api""".split()
chosen = options(faults=(200, 200), seed=(1, 1))
tally = Tally()
check = tally.check


def install(environment, *words):
    python = environment / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    return subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words]).returncode == 0


if pathlib.Path(sys.prefix) != ENVIRONMENT:
    if not install(ENVIRONMENT, *PROGRAMS):
        print("left out: the programs cannot be installed here")
        check(True, "")
        tally.end()
    os.execv(ENVIRONMENT / "bin/python", [str(ENVIRONMENT / "bin/python"), *sys.argv])

import httpx
import langchain_openai
import litellm
import openai

gateway = DemoGateway("--speed", "2")
limits = [f"--limits-{name}" for name in ("sends-burst", "all-sends-burst")]
serve = Serve("--openai-enabled", "--log-level", "error", *(part for name in limits for part in (name, "100000")),
              gateway=gateway.url).linked()
KEY = serve.json("POST", "/v1/tokens", {"name": "programs", "scopes": ["send"], "paths": ["/openai"]})[1]["token"]
BASE = serve.url + "/openai/v1"


def entries():
    return serve.json("GET", "/v1/outbox?limit=500")[1]["entries"]


def runs():
    return serve.json("GET", "/v1/runs?limit=200")[1]["runs"]


def sessions(words):
    return [entry["session"] for entry in entries() if entry["text"] == words]


def libraries():
    chat = langchain_openai.ChatOpenAI(base_url=BASE, api_key=KEY, model="ladle")
    first = chat.invoke("hello")
    check(first.content == "Hello! You said: hello", f"LangChain: {first.content}")
    turns = [("human", "hello"), ("ai", first.content), ("human", "echo langchain goes on")]
    check("".join(piece.content for piece in chat.stream(turns)) == "langchain goes on", "LangChain streams")
    check(set(sessions("echo langchain goes on")) <= set(sessions("hello")), "LangChain stays in its session")
    ask = {"model": "openai/ladle/main", "api_base": BASE, "api_key": KEY}
    whole = litellm.completion(**ask, messages=[{"role": "user", "content": "echo litellm"}])
    check(whole.choices[0].message.content == "litellm", "LiteLLM")
    pieces = litellm.completion(**ask, messages=[{"role": "user", "content": "echo litellm streams"}], stream=True)
    check("".join(piece.choices[0].delta.content or "" for piece in pieces) == "litellm streams", "LiteLLM streams")
    before = len(entries())
    try:
        litellm.completion(**ask, messages=[{"role": "user", "content": "fail with 500"}])
        check(False, "LiteLLM raises for a failed run")
    except openai.APIError:
        pass
    check(len(entries()) == before + 1, f"LiteLLM's failed message ran {len(entries()) - before} times")


def llm():
    folder = pathlib.Path(scratch())
    (folder / "extra-openai-models.yaml").write_text(f"- {{model_id: ladle, model_name: ladle, api_base: {BASE}, api_key_name: ladle}}\n")
    (folder / "keys.json").write_text(json.dumps({"ladle": KEY}))
    for words, more in (("echo llm begins", []), ("echo llm goes on", ["-c"])):
        done = subprocess.run([ENVIRONMENT / "bin/llm", "-m", "ladle", *more, words], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LLM_USER_PATH": str(folder)})
        check(done.stdout == words[5:] + "\n", f"llm: {done.stdout} {done.stderr}")
    check(sessions("echo llm begins") == sessions("echo llm goes on"), "llm -c stays in its session")


# -- a proxy that cuts

class Cutter:
    """Forwards requests to Ladle, one a connection, and spoils some."""

    WAYS = ["refused", "before", "half", "after", "head", "text", "hang before", "hang after", "hang in the text"]

    def __init__(self, faults, seed):
        self.random, self.left, self.done = random.Random(seed), faults, collections.Counter()
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/openai/v1"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.server.accept()[0],), daemon=True).start()

    def way(self):
        with self.lock:
            if self.left == 0 or self.random.random() > 0.6:
                return None
            self.left -= 1
            way = self.random.choice(self.WAYS)
            self.done[way] += 1
            return way

    def serve(self, client):
        way = self.way()
        with client:
            try:
                client.settimeout(30)
                if way != "refused":
                    self.forward(client, way)
            except OSError:
                pass

    def forward(self, client, way):
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(65536) or b"\r\n\r\n"
        head, _, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += client.recv(65536)
        if way == "before":
            return
        if way == "hang before":
            return time.sleep(1.6)
        head = re.sub(rb"(?i)\r\n(connection|host):[^\r]*", b"", head)
        request = head + f"\r\nHost: 127.0.0.1:{serve.port}\r\nConnection: close\r\n\r\n".encode() + body
        with socket.create_connection(("127.0.0.1", serve.port), 30) as ladle:
            if way == "half":
                return ladle.sendall(request[:self.random.randrange(1, len(request))])
            ladle.sendall(request)
            if way in ("after", "hang after"):
                return time.sleep(1.6 if way == "hang after" else self.random.choice((0, 0.02, 0.3)))
            limits = {"head": (1, 200), "text": (500, 1400), "hang in the text": (500, 1400)}
            left = self.random.randrange(*limits[way]) if way in limits else 1 << 60
            while left > 0 and (data := ladle.recv(4096)):
                client.sendall(data[:left])
                left -= len(data)
            if way == "hang in the text":
                time.sleep(1.6)


def ask_chat(library, words):
    return library.chat.completions.create(model="ladle", messages=[{"role": "user", "content": words}]).choices[0].message.content


def ask_stream(library, words):
    text, end = "", None
    for piece in library.chat.completions.create(model="ladle", stream=True, messages=[{"role": "user", "content": words}]):
        text += piece.choices[0].delta.content or ""
        end = piece.choices[0].finish_reason or end
    return text if end else None


def ask_response(library, words):
    return library.responses.create(model="ladle", input=words).output_text


def ask_background(library, words):
    made = library.responses.create(model="ladle", input=words, background=True)
    for _ in range(100):
        try:
            made = library.responses.retrieve(made.id)
        except openai.APIConnectionError:
            continue
        if made.status == "completed":
            return made.output_text
        time.sleep(0.1)
    return None


def cuts():
    cutter = Cutter(chosen.faults, chosen.seed)
    once = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))
    library = openai.OpenAI(base_url=cutter.url, api_key=KEY, timeout=1.0, max_retries=6, http_client=once)
    openai._base_client.INITIAL_RETRY_DELAY, openai._base_client.MAX_RETRY_DELAY = 0.05, 0.2
    ways = [ask_chat, ask_stream, ask_response, ask_background]
    answers, unanswered = {}, 0
    number = 0
    while cutter.left:
        number += 1
        words = f"echo cut {number}"
        try:
            # Whoever repeats a request by hand says it again: here only the library repeats.
            answers[words] = ways[number % len(ways)](library, words)
        except (openai.APIError, httpx.HTTPError):
            unanswered += 1
    until(lambda: not any(run["state"] in ("queued", "running") for run in runs()), what="the end of all runs")
    told = collections.Counter(entry["text"] for entry in entries())
    check(not [words for words in told if words.startswith("echo cut") and told[words] > 1], f"said twice: {told.most_common(3)}")
    lost = [words for words, answer in answers.items() if answer is not None and (not told[words] or answer != words[5:])]
    check(not lost, f"lost or wrong: {[(words, answers[words]) for words in lost][:3]}")
    print(f"cuts: {sum(cutter.done.values())} faults, {number} messages, {len(answers)} answered, {unanswered} given up by the library")


# -- Open WebUI

class WebUI:
    def __init__(self):
        self.port, self.token = free_port(), None
        headers = {"X-Ladle-Session": "{{CHAT_ID}}", "X-Ladle-Task": "{{TASK}}", "X-Ladle-Message": "{{MESSAGE_ID}}"}
        environment = {"FROM_INIT_PY": "true", "DATA_DIR": scratch(), "WEBUI_AUTH": "False", "ENABLE_OLLAMA_API": "false",
                       "RAG_EMBEDDING_ENGINE": "openai", "HF_HUB_OFFLINE": "1", "WEBUI_SECRET_KEY": "x", "OPENAI_API_BASE_URLS": BASE,
                       "OPENAI_API_KEYS": KEY, "OPENAI_API_CONFIGS": json.dumps({"0": {"enable": True, "headers": headers}})}
        self.process = subprocess.Popen([WEBUI / "bin/python", "-m", "uvicorn", "open_webui.main:app", "--port", str(self.port)],
                                        env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=scratch())
        until(self.is_there, seconds=180, every=0.5, what="Open WebUI")
        self.token = self.ask("POST", "/api/v1/auths/signin", {"email": "", "password": ""})["token"]

    def is_there(self):
        assert self.process.poll() is None, "Open WebUI has ended"
        try:
            return self.ask("GET", "/health") is not None
        except OSError:
            return False

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        fields = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        connection.request(method, path, None if body is None else json.dumps(body), fields)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, (path, answer.status, text[:300])
        return json.loads(text or b"null")


class Chat:
    """A chat as the page of Open WebUI keeps it."""

    def __init__(self, webui):
        self.webui, self.messages, self.last = webui, {}, None
        chat = {"title": "New Chat", "models": ["ladle"], "messages": [], "history": {"messages": {}, "currentId": None}}
        self.id = webui.ask("POST", "/api/v1/chats/new", {"chat": chat})["id"]

    def say(self, words, stop_after=None):
        question, answer = str(uuid.uuid4()), str(uuid.uuid4())
        self.messages[question] = {"id": question, "parentId": self.last, "childrenIds": [answer], "role": "user", "content": words,
                                   "timestamp": int(time.time()), "models": ["ladle"]}
        self.messages[answer] = {"id": answer, "parentId": question, "childrenIds": [], "role": "assistant", "content": "", "model": "ladle",
                                 "modelName": "ladle", "timestamp": int(time.time())}
        turns, place = [], question
        while place:
            turns.insert(0, {"role": self.messages[place]["role"], "content": self.messages[place]["content"]})
            place = self.messages[place]["parentId"]
        history = {"messages": self.messages, "currentId": answer}
        self.webui.ask("POST", f"/api/v1/chats/{self.id}", {"chat": {"history": history, "messages": [], "models": ["ladle"]}})
        self.webui.ask("POST", "/api/chat/completions", {
            "stream": True, "model": "ladle", "messages": turns, "chat_id": self.id, "id": answer, "session_id": "page", "parent_id": question,
            "user_message": self.messages[question],
            "background_tasks": {"title_generation": True, "tags_generation": True, "follow_up_generation": True}})
        if stop_after is not None:
            time.sleep(stop_after)
            self.webui.ask("POST", f"/api/tasks/chat/{self.id}/stop", {})
        self.last = answer
        return until(lambda: self.ended(answer), seconds=40, every=0.3, what=f"the end of {words}") if stop_after is None else self.now(answer)

    def now(self, answer):
        chat = self.webui.ask("GET", f"/api/v1/chats/{self.id}")["chat"]
        found = chat["history"]["messages"].get(answer, {})
        self.messages[answer]["content"] = found.get("content", "")
        self.title = chat.get("title")
        return found

    def ended(self, answer):
        found = self.now(answer)
        return found if found.get("done") or found.get("error") else None


def open_webui():
    needs = WEBUI / "needs.txt"
    if not needs.exists():
        if not install(WEBUI, "--no-deps", f"open-webui=={WEBUI_VERSION}"):
            return print(f"left out: Open WebUI {WEBUI_VERSION} cannot be installed here")
        about = next(WEBUI.glob("lib/python*/site-packages/open_webui-*.dist-info/METADATA")).read_text()
        wanted = [line for line in re.findall(r"^Requires-Dist: (.*)$", about, re.MULTILINE) if "extra ==" not in line]
        kept = [line for line in wanted if re.split(r"[\[=<>!~; (]", line)[0].lower() not in WITHOUT]
        (WEBUI / "wanted.txt").write_text("\n".join(kept))
        if not install(WEBUI, "-r", str(WEBUI / "wanted.txt")):
            return print(f"left out: what Open WebUI {WEBUI_VERSION} needs cannot be installed here")
        (WEBUI / "wanted.txt").rename(needs)
    webui = WebUI()
    try:
        before = len(runs())
        chat = Chat(webui)
        check("You said: hello from the page" in chat.say("hello from the page")["content"], "Open WebUI's first answer")
        for number in range(2, 6):
            check(f"page {number}" in chat.say(f"echo page {number}")["content"], f"Open WebUI's answer {number}")
        time.sleep(2)
        own = [entry for entry in entries() if "page" in entry["text"]]
        check(len(runs()) == before + 5, f"five messages and three side calls each are {len(runs()) - before} runs")
        check(len({entry["session"] for entry in own}) == 1, "one chat is one session")
        check(chat.now(chat.last) and "page" in chat.title, f"its title is made of its words: {chat.title}")
        chat.say("slow story", stop_after=2)
        until(lambda: runs()[0]["state"] == "aborted", what="Stop to stop the run")
        chat.say("slow count", stop_after=0.05)
        time.sleep(5)
        chat.say("echo after the stop")
        words = [entry["text"] for entry in entries()]
        check(words[0] == "echo after the stop", f"a stopped message is not said again: {words[:2]}")
        check(sessions("echo after the stop")[0] == own[0]["session"], "the chat stays in its session")
        other = Chat(webui)
        other.say("hello from the page")
        check(len(set(sessions("hello from the page"))) == 2, "two chats are two sessions")
    finally:
        webui.process.terminate()
        webui.process.wait()


libraries()
llm()
cuts()
open_webui()
versions = [f"{name} {importlib.metadata.version(name)}" for name in ("openai", "litellm", "langchain-openai", "llm")]
print(f"programs: {', '.join(versions)}, Open WebUI {WEBUI_VERSION}")
tally.end()
