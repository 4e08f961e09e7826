"""What the documentation of other applications says their files may have, for those that docs/apps.md is written for: key by
key, as far as the recipes and their next change need it. A key with `!` has to be there; what is not listed is a mistake."""

from numbers import Number

TEXT, FLAG = str, bool


def faults(value, shape, place=""):
    """Every place at which a value is not of a shape: a type, a list of words, [shape of each], or {key: shape}."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place}: no object"]
        known = {key.rstrip("!"): inner for key, inner in shape.items()}
        found = [f"{place}.{key}: not documented" for key in value if key not in known and "*" not in known]
        found += [f"{place}.{key.rstrip('!')}: missing" for key in shape if key.endswith("!") and key[:-1] not in value]
        for key, inner in value.items():
            found += faults(inner, known.get(key, known.get("*", object)), f"{place}.{key}") if key in known or "*" in known else []
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place}: no list"]
        return [fault for number, one in enumerate(value) for fault in faults(one, shape[0], f"{place}[{number}]")]
    if isinstance(shape, tuple):
        return [] if value in shape else [f"{place}: {value!r} is none of {shape}"]
    if callable(shape) and not isinstance(shape, type):
        return shape(value, place)
    return [] if isinstance(value, shape) and not (shape is Number and isinstance(value, bool)) else [f"{place}: {value!r} is no {shape.__name__}"]


def by(key, shapes):
    """The shape that the value of a key decides about."""
    def choose(value, place):
        kind = value.get(key) if isinstance(value, dict) else None
        return faults(value, shapes[kind], place) if kind in shapes else [f"{place}.{key}: {kind!r} is none of {list(shapes)}"]
    return choose


HTTP = {
    "headers": {"*": TEXT}, "username": TEXT, "password": TEXT, "authentication": ("basic", "digest"), "timeout": Number, "verify_ssl": FLAG,
}
SENSOR = {
    "name": TEXT, "unique_id": TEXT, "value_template": TEXT, "availability": TEXT, "json_attributes": [TEXT], "json_attributes_path": TEXT,
    "unit_of_measurement": TEXT, "device_class": TEXT, "state_class": TEXT, "icon": TEXT, "picture": TEXT, "force_update": FLAG,
}


def action(value, place):
    """home-assistant.io/docs/scripts: an action, a condition, or a loop over a list."""
    kind = value if isinstance(value, dict) else {}
    if "repeat" in kind:
        return faults(value, {"repeat!": {"for_each!": object, "sequence!": [action]}}, place)
    if "condition" in kind:
        return faults(value, {"condition!": ("template",), "value_template!": TEXT}, place)
    return faults(value, {"action!": TEXT, "data": dict, "target": dict, "response_variable": TEXT, "continue_on_error": FLAG}, place)


# home-assistant.io/integrations: input_text, rest_command, rest, notify.rest; docs/automation.
HOME_ASSISTANT = {
    "rest_command": {"*": {
        **HTTP, "url!": TEXT, "method": ("get", "patch", "post", "put", "delete"), "payload": TEXT, "content_type": TEXT,
        "insecure_cipher": FLAG}},
    "rest": [{
        **HTTP, "resource!": TEXT, "method": ("GET", "POST"), "payload": TEXT, "params": {"*": TEXT}, "scan_interval": Number,
        "encoding": TEXT, "sensor": [SENSOR], "binary_sensor": [SENSOR]}],
    "notify": [{
        **HTTP, "platform!": ("rest",), "name": TEXT, "resource!": TEXT, "method": ("GET", "POST", "POST_JSON"), "params": {"*": TEXT},
        "message_param_name": TEXT, "title_param_name": TEXT, "target_param_name": TEXT, "data": dict, "data_template": dict}],
    "automation ladle": [{
        "alias": TEXT, "id": TEXT, "description": TEXT, "mode": ("single", "restart", "queued", "parallel"), "conditions": list,
        "max_exceeded": ("silent", "warning", "error", "critical"),
        "triggers!": [by("trigger", {
            "time_pattern": {"trigger": TEXT, "hours": TEXT, "minutes": TEXT, "seconds": TEXT},
            "time": {"trigger": TEXT, "at!": TEXT},
            "state": {"trigger": TEXT, "entity_id!": TEXT, "from": object, "to": object, "not_from": object, "not_to": object, "for": object},
            "webhook": {"trigger": TEXT, "webhook_id!": TEXT, "allowed_methods": [TEXT], "local_only": FLAG}})],
        "actions!": [action]}],
    "input_text": {"*": {"name": TEXT, "min": Number, "max": Number, "initial": TEXT, "icon": TEXT, "pattern": TEXT}},
}

# github.com/Alexays/Waybar/wiki/Module:-Custom
WAYBAR = {"*": {
    "exec!": TEXT, "return-type": ("json",), "interval": Number, "restart-interval": Number, "escape": FLAG, "format": TEXT, "tooltip": FLAG,
    "on-click": TEXT, "max-length": Number, "signal": Number}}

NODE = {"id!": TEXT, "type!": TEXT, "z!": TEXT, "name": TEXT, "x": Number, "y": Number, "wires!": [[TEXT]]}
# nodered.org/docs/user-guide/nodes, and what its editor exports.
NODE_RED = [by("type", {
    "tab": {"id!": TEXT, "type!": TEXT, "label!": TEXT, "disabled": FLAG, "info": TEXT,
            "env": [{"name!": TEXT, "value!": TEXT, "type!": ("str", "num", "bool", "json", "env", "cred")}]},
    "inject": {**NODE, "props!": [{"p!": TEXT, "v": TEXT, "vt": TEXT}], "repeat": TEXT, "crontab": TEXT, "once": FLAG, "onceDelay": Number,
               "topic": TEXT, "payload": TEXT, "payloadType": ("str", "num", "json", "date", "bool")},
    "function": {**NODE, "func!": TEXT, "outputs!": Number, "timeout": Number, "noerr": Number, "initialize": TEXT, "finalize": TEXT, "libs": list},
    "http request": {**NODE, "method!": ("GET", "POST", "PUT", "DELETE", "PATCH", "use"), "ret!": ("txt", "bin", "obj"), "url!": TEXT,
                     "paytoqs": TEXT, "tls": TEXT, "persist": FLAG, "proxy": TEXT, "authType": TEXT, "senderr": FLAG, "headers": list},
    "delay": {**NODE, "pauseType!": ("delay", "delayv", "random", "rate", "timed"), "timeout": TEXT,
              "timeoutUnits": ("milliseconds", "seconds", "minutes", "hours", "days")},
    "debug": {**NODE, "active": FLAG, "tosidebar": FLAG, "console": FLAG, "tostatus": FLAG, "complete": TEXT, "targetType": TEXT},
})]

STEP = {"id!": TEXT, "name!": TEXT, "type!": TEXT, "typeVersion!": Number, "position!": [Number], "parameters!": dict, "credentials": dict,
        "disabled": FLAG, "notes": TEXT}
# docs.n8n.io: the export format, Schedule Trigger, HTTP Request.
N8N = {
    "name!": TEXT, "settings": dict, "active": FLAG,
    "nodes!": [by("type", {
        "n8n-nodes-base.scheduleTrigger": {**STEP, "parameters!": {"rule!": {"interval!": [{
            "field": ("seconds", "minutes", "hours", "days", "weeks", "months", "cronExpression"), "triggerAtHour": Number,
            "triggerAtMinute": Number, "daysInterval": Number}]}}},
        "n8n-nodes-base.httpRequest": {**STEP, "parameters!": {
            "method": ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"), "url!": TEXT,
            "authentication": ("none", "predefinedCredentialType", "genericCredentialType"), "genericAuthType": TEXT, "sendHeaders": FLAG,
            "sendQuery": FLAG, "sendBody": FLAG, "contentType": TEXT, "specifyBody": ("keypair", "json", "string"), "jsonBody": TEXT,
            "options": {"timeout": Number, "response": dict, "batching": dict, "redirect": dict}}}})],
    "connections!": {"*": {"main!": [[{"node!": TEXT, "type!": ("main",), "index!": Number}]]}},
}
