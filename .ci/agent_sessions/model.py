"""A model on the loopback that answers from a script, in the dialects of four
programming interfaces: Anthropic's messages, OpenAI's responses and chat
completions, Gemini's generateContent.

A step of the script is {"tool": name, "input": …}, {"offered": ending, "input": …}
(the tool among those on offer whose name ends so), {"text": …}, {"hang": true} (the answer never comes) or {"error": status, "type": …}. The next step
answers each request that offers tools; other requests, as for a title, get a
short text."""

import http.server
import json
import threading


class Model:
    def __init__(self):
        self.steps, self.requests, self.calls = [], [], 0
        self.hanging, self.lock = threading.Event(), threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"model": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def play(self, steps):
        """Sets the steps of the prompt to come."""
        with self.lock:
            self.steps = list(steps)
            self.hanging.clear()

    def next_step(self, request):
        with self.lock:
            self.requests.append(request)
            if not request.get("tools") or not self.steps:
                return {"text": "done"}
            step = self.steps[0]
            # A program tries a failed request again; it is to fail each time.
            return step if "error" in step else named(request, self.steps.pop(0))

    def call_id(self):
        with self.lock:
            self.calls += 1
            return f"call_{self.calls:04}"


def named(request, step):
    """Returns a step with the name of the tool as this program offers it."""
    if "offered" not in step:
        return step
    for tool, namespace in offered(request["tools"]):
        if tool.endswith(step["offered"]):
            return dict(step, tool=tool, **({"namespace": namespace} if namespace else {}))
    return {"text": f"no tool {step['offered']} is on offer"}


def offered(tools, namespace=None):
    for tool in tools:
        inner = tool.get("functionDeclarations") or tool.get("function_declarations")
        if tool.get("type") == "namespace":
            yield from offered(tool["tools"], tool["name"])
        elif inner:
            yield from offered(inner)
        else:
            yield tool.get("name") or tool.get("function", {}).get("name", ""), namespace


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_events(self, events, named=False):
        lines = []
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            data = event if isinstance(event, str) else json.dumps(event)
            lines.append(f"{name}data: {data}\n\n")
        self.answer("".join(lines).encode(), "text/event-stream")

    def do_HEAD(self):
        self.answer(b"")

    def do_GET(self):
        if self.path.startswith("/npm"):
            return self.answer({"error": "not found"}, status=404)
        self.answer({"data": [], "models": []})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0].rstrip("/")
        dialect = next((d for d in DIALECTS if path.endswith(d)), None)
        if dialect is None:
            return self.answer({"input_tokens": 10, "totalTokens": 10})
        step = self.model.next_step(request)
        if "hang" in step:
            return self.hang()
        if "error" in step:
            error = {"type": step["type"], "code": step["type"], "message": "scripted failure"}
            return self.answer({"type": "error", "error": error}, status=step["error"])
        DIALECTS[dialect](self, request, step)

    def hang(self):
        self.model.hanging.set()
        self.close_connection = True
        try:
            while self.connection.recv(1024):
                pass
        except ConnectionError:
            pass


def messages(handler, request, step):
    usage = {"input_tokens": 1, "output_tokens": 1}
    if "tool" in step:
        block, stop = {"type": "tool_use", "id": handler.model.call_id(), "name": step["tool"], "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
        whole = dict(block, input=step["input"])
    else:
        block, stop = {"type": "text", "text": ""}, "end_turn"
        delta, whole = {"type": "text_delta", "text": step["text"]}, {"type": "text", "text": step["text"]}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if not request.get("stream"):
        return handler.answer(dict(message, content=[whole], stop_reason=stop))
    handler.answer_events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ], named=True)


def responses(handler, request, step):
    if "tool" not in step:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": step["text"], "annotations": []}]}
    elif isinstance(step["input"], str):
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": handler.model.call_id(), "name": step["tool"], "input": step["input"]}
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": handler.model.call_id(), "name": step["tool"],
                "arguments": json.dumps(step["input"])}
        if "namespace" in step:
            item["namespace"] = step["namespace"]
    tokens = step.get("tokens", 1)
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1, "input_tokens_details": None, "output_tokens_details": None}
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    if not request.get("stream"):
        return handler.answer(dict(response, status="completed", output=[item], usage=usage))
    handler.answer_events([
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": dict(response, status="completed", output=[item], usage=usage)},
    ], named=True)


def chat_completions(handler, request, step):
    message, finish = {"role": "assistant", "content": step.get("text", "")}, "stop"
    if "tool" in step:
        call = {"index": 0, "id": handler.model.call_id(), "type": "function",
                "function": {"name": step["tool"], "arguments": json.dumps(step["input"])}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    tokens = step.get("tokens", 1)
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    common = {"id": "chatcmpl_1", "created": 1, "model": request.get("model")}
    if not request.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return handler.answer(dict(common, object="chat.completion", choices=[choice], usage=usage))
    chunk = dict(common, object="chat.completion.chunk")
    handler.answer_events([
        dict(chunk, choices=[{"index": 0, "delta": message, "finish_reason": None}]),
        dict(chunk, choices=[{"index": 0, "delta": {}, "finish_reason": finish}], usage=usage),
        "[DONE]",
    ])


def generate_content(handler, request, step):
    part = {"functionCall": {"name": step["tool"], "args": step["input"]}} if "tool" in step else {"text": step["text"]}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    if ":stream" in handler.path:
        return handler.answer_events([answer])
    handler.answer(answer)


DIALECTS = {
    "/messages": messages,
    "/responses": responses,
    "/chat/completions": chat_completions,
    ":generateContent": generate_content,
    ":streamGenerateContent": generate_content,
}
