"""Every operation through the client of openapi-python-client."""

import enum
import importlib
import inspect
import io
import os
import pkgutil
import sys
import types
import typing

import steps
from ladle_client import AuthenticatedClient, api
from ladle_client.types import File


def plain(name):
    return name.replace("_", "").replace("-", "").lower()


modules = {plain(found.name.rsplit(".", 1)[1]): found.name for found in pkgutil.walk_packages(api.__path__, "ladle_client.api.")}
client = AuthenticatedClient(os.environ["LADLE_URL"], os.environ["LADLE_TOKEN"])


def taken(annotation, value, form=None):
    """The value as the type that a parameter names: a model, an enumeration, a list of either, or as it is."""
    for one in typing.get_args(annotation) if isinstance(annotation, types.UnionType) else [annotation]:
        if hasattr(one, "from_dict") and (form is None or one.__name__ == form):
            return one.from_dict(value)
        if inspect.isclass(one) and issubclass(one, enum.Enum):
            return one(value)
        if typing.get_origin(one) is list:
            return [taken(typing.get_args(one)[0], inner) for inner in value]
    return value


def call(operation, parameters, body, form):
    if plain(operation) not in modules:
        return None
    function = importlib.import_module(modules[plain(operation)]).sync_detailed
    places = {plain(name): parameter for name, parameter in inspect.signature(function).parameters.items()}
    arguments = {places[plain(name)].name: taken(places[plain(name)].annotation, value) for name, value in parameters.items()}
    if body is not None:
        arguments["body"] = File(io.BytesIO(steps.png())) if body == "png" else taken(places["body"].annotation, body, form)
    answer = function(client=client, **arguments)
    typed = answer.parsed
    return (int(answer.status_code), {name.lower(): value for name, value in answer.headers.items()}, answer.content,
            typed.to_dict() if hasattr(typed, "to_dict") else typed, type(typed).__name__)


steps.run("attrs", sys.argv[1], call)
