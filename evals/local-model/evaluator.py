#!/usr/bin/env python3
"""Answers `countersign eval --evaluator` with a model behind a server that speaks the OpenAI protocol.

    EVALUATOR_URL      the server, by default http://127.0.0.1:8777/v1
    EVALUATOR_MODEL    the model as the server names it, by default `local`
    EVALUATOR_KEY      a bearer key, if the server wants one
    EVALUATOR_TIMEOUT  seconds for an answer, by default 300
    EVALUATOR_SCHEMA   `object` for servers that take the schema beside `json_object` (llama.cpp)

A line of JSON on standard input is a question, {"messages", "schema", "max_tokens"}; a line on standard output its answer,
{"text": …} or {"failure": …}.
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("EVALUATOR_URL", "http://127.0.0.1:8777/v1").rstrip("/") + "/chat/completions"
HEADERS = {"Content-Type": "application/json"}
if os.environ.get("EVALUATOR_KEY"):
    HEADERS["Authorization"] = "Bearer " + os.environ["EVALUATOR_KEY"]


def answer(question):
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": question["schema"]}}
    if os.environ.get("EVALUATOR_SCHEMA") == "object":
        schema = {"type": "json_object", "schema": question["schema"]}
    body = {
        "model": os.environ.get("EVALUATOR_MODEL", "local"),
        "messages": question["messages"],
        "max_tokens": question["max_tokens"],
        "temperature": 0,
        "response_format": schema,
    }
    request = urllib.request.Request(URL, json.dumps(body).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=float(os.environ.get("EVALUATOR_TIMEOUT", "300"))) as response:
            choice = json.load(response)["choices"][0]
    except urllib.error.HTTPError as error:
        return {"failure": f"{error}: {error.read(2000).decode(errors='replace')}"}
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    text = (choice.get("message") or {}).get("content")
    if choice.get("finish_reason") != "stop" or not text:
        return {"failure": f"the answer ended by {choice.get('finish_reason')}"}
    return {"text": text}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
