"""Every operation through the Python client of openapi-generator."""

import inspect
import json
import os
import sys

import openapi_client
import steps


def plain(name):
    return name.replace("_", "").replace("-", "").lower()


client = openapi_client.ApiClient(openapi_client.Configuration(os.environ["LADLE_URL"], access_token=os.environ["LADLE_TOKEN"]))
functions = {}
for kind in vars(openapi_client).values():
    if inspect.isclass(kind) and kind.__name__.endswith("Api"):
        service = kind(client)
        functions |= {plain(name.removesuffix("_with_http_info")): getattr(service, name) for name in dir(kind)
                      if name.endswith(("_with_http_info", "_without_preload_content"))}


def as_json(typed):
    if isinstance(typed, list):
        return [as_json(one) for one in typed]
    return typed.to_dict() if hasattr(typed, "to_dict") else typed


def call(operation, parameters, body, form):
    function = functions[plain(operation)]
    places = {plain(name): name for name in inspect.signature(function).parameters}
    arguments = {places[plain(name)]: value for name, value in parameters.items()}
    if body is not None:
        place = next(name for plain_name, name in places.items() if name[0] != "_" and name not in arguments
                     and (name == "body" or hasattr(openapi_client, "".join(part.title() for part in name.split("_")))))
        if place != "body":
            kind = getattr(openapi_client, "".join(part.title() for part in place.split("_")))
            body = kind.from_json(json.dumps(body))
        arguments[place] = steps.png() if body == "png" else body
        if body == "png":
            arguments["_content_type"] = "image/png"
    try:
        answer = function(**arguments)
    except openapi_client.ApiException as error:
        if not error.status:
            # It has no reader for that media type; the same function gives the bytes.
            answer = functions[plain(operation) + "withoutpreloadcontent"](**arguments)
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.data, None, "bytes"
        return error.status, {name.lower(): value for name, value in error.headers.items()}, error.body, as_json(error.data), type(error.data).__name__
    return (answer.status_code, {name.lower(): value for name, value in (answer.headers or {}).items()}, answer.raw_data, as_json(answer.data),
            type(answer.data).__name__)


steps.run("pydantic", sys.argv[1], call)
