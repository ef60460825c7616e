"""Runs a scenario with the official Python SDK.

Usage: client.py SERVER [ARGUMENT...] < scenario.json
"""

import json
import os
import sys

import anyio
import mcp.client.session
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

plan = None  # the digest of the last plan that a result had
answer = None  # the form content or refusal for the step that is running


def emit(line):
    print(json.dumps(line), flush=True)


def plain(value):
    """The fields that the server sent, under their names on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def describe(error):
    error = getattr(error, "exceptions", [error])[0]
    return {"type": type(error).__name__, "text": str(error), "data": getattr(getattr(error, "error", None), "data", None)}


async def answer_form(_context, _params):
    return ElicitResult.model_validate(answer or {"action": "decline"})


async def on_message(message):
    if isinstance(message, Exception):
        emit({"op": "onerror", "error": describe(message)})


async def perform(client, step):
    words = json.loads(json.dumps(step.get("arguments", {})).replace("<plan>", str(plan)))
    match step["op"]:
        case "list_tools":
            return plain(await client.list_tools())
        case "list_prompts":
            return plain(await client.list_prompts())
        case "get_prompt":
            return plain(await client.get_prompt(step["name"], words))
        case "call_tool":
            return plain(await client.call_tool(step["name"], words))
        case "parallel":
            lines = [None] * len(step["calls"])
            async with anyio.create_task_group() as group:
                for index, call in enumerate(step["calls"]):
                    group.start_soon(run, client, call, index, lines)
            return lines
        case op:
            raise ValueError(f"unknown step: {op}")


async def run(client, step, index, lines):
    global plan
    line = lines[index] = {"step": index, "op": step["op"], "name": step.get("name")}
    try:
        with anyio.fail_after(30):
            line["result"] = await perform(client, step)
        content = line["result"].get("structuredContent") if step["op"] == "call_tool" else None
        plan = ((content or {}).get("data") or {}).get("plan_digest") or plan
    except Exception as error:
        line["error"] = describe(error)


async def main():
    global answer
    scenario = json.load(sys.stdin)
    mode = era = scenario["era"]
    if era.startswith("2025-"):
        mode = "legacy"
        # The SDK always offers its newest version. An older offer needs this.
        mcp.client.session.LATEST_HANDSHAKE_VERSION = era
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    form = answer_form if scenario.get("elicitation") else None
    client = Client(server, mode=mode, message_handler=on_message, elicitation_callback=form)
    try:
        await client.__aenter__()
    except Exception as error:
        emit({"op": "connect", "error": describe(error)})
        return
    lines = [None] * len(scenario["steps"])
    for index, step in enumerate(scenario["steps"]):
        answer = step.get("answer")
        await run(client, step, index, lines)
        emit(lines[index])
    await client.__aexit__(None, None, None)
    emit({"op": "close"})


anyio.run(main)
