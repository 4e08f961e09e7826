"""A client of Ladle: calls and models as its contract has them, and events that resume."""

from .client import AuthenticatedClient, Client
from .event_types import Event
from .stream import AsyncEvents, Events, LadleError, UnknownEvent

__all__ = ["AsyncEvents", "AuthenticatedClient", "Client", "Event", "Events", "LadleError", "UnknownEvent"]
