"""Runs a scenario with the official Python SDK.

Usage: client.py SERVER [ARGUMENT...] < scenario.json
"""

import json
import os
import re
import sys

import anyio
import mcp.client.session
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

saved = {}
elicitations = []
answer = None  # the form content or refusal for the step that is running


def emit(line):
    print(json.dumps(line), flush=True)


def plain(value):
    """The fields that the server sent, under their names on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def describe(error):
    error = getattr(error, "exceptions", [error])[0]
    inner = getattr(error, "error", None)
    return {
        "type": type(error).__name__,
        "code": getattr(inner, "code", None),
        "message": str(error),
        "data": getattr(inner, "data", None),
    }


def fill(value):
    """Replace "${planned.structuredContent.plan}" by a value of an earlier result."""
    if isinstance(value, str):
        match = re.fullmatch(r"\$\{(.+)\}", value)
        if not match:
            return value
        found = saved
        for key in match[1].split("."):
            found = found[int(key)] if isinstance(found, list) else found.get(key)
        return found
    if isinstance(value, list):
        return [fill(item) for item in value]
    if isinstance(value, dict):
        return {key: fill(item) for key, item in value.items()}
    return value


async def answer_form(context, params):
    elicitations.append(plain(params))
    return ElicitResult.model_validate(answer or {"action": "decline"})


async def on_message(message):
    if isinstance(message, Exception):
        emit({"op": "onerror", "error": describe(message)})


async def perform(client, step):
    op = step["op"]
    if op == "list_tools":
        return await client.list_tools()
    if op == "list_prompts":
        return await client.list_prompts()
    if op == "get_prompt":
        return await client.get_prompt(step["name"], fill(step.get("arguments")))
    if op == "call_tool":
        return await client.call_tool(step["name"], fill(step.get("arguments", {})))
    raise ValueError(f"unknown step: {op}")


async def run(client, step, index):
    line = {"step": index, "op": step["op"], "name": step.get("name", step.get("uri"))}
    try:
        with anyio.fail_after(30):
            if step["op"] == "parallel":
                line["result"] = await run_together(client, step["calls"])
            else:
                line["result"] = plain(await perform(client, step))
            if "save" in step:
                saved[step["save"]] = line["result"]
    except Exception as error:
        line["error"] = describe(error)
    return line


async def run_together(client, steps):
    lines = [None] * len(steps)

    async def one(index):
        lines[index] = await run(client, steps[index], index)

    async with anyio.create_task_group() as group:
        for index in range(len(steps)):
            group.start_soon(one, index)
    return lines


async def main():
    global answer
    scenario = json.load(sys.stdin)
    era = scenario["era"]
    mode = era
    if era.startswith("2025-"):
        mode = "legacy"
        # The SDK always offers its newest version. An older offer needs this.
        mcp.client.session.LATEST_HANDSHAKE_VERSION = era
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    client = Client(
        server,
        mode=mode,
        message_handler=on_message,
        elicitation_callback=answer_form if scenario.get("elicitation") else None,
    )
    try:
        await client.__aenter__()
    except Exception as error:
        emit({"op": "connect", "error": describe(error)})
        return
    info = client.server_info
    emit(
        {
            "op": "connect",
            "result": {
                "protocolVersion": client.protocol_version,
                "serverInfo": plain(info) if info else None,
                "capabilities": plain(client.server_capabilities),
                "instructions": client.instructions,
            },
        }
    )
    for index, step in enumerate(scenario["steps"]):
        answer = step.get("answer")
        elicitations.clear()
        line = await run(client, step, index)
        if elicitations:
            line["elicitations"] = list(elicitations)
        emit(line)
    await client.__aexit__(None, None, None)
    emit({"op": "close"})


anyio.run(main)
