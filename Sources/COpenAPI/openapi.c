#include "copenapi.h"

// `openapi/embed` makes openapi.json, asyncapi.json and the next line, the SHA-256 of the three files one after the other.
// ad192bdebb63e94794c08913dcc3aaf6bf60fd0cc96831d27333de62c0f85247

static const uint8_t yaml[] = {
#embed "../../openapi/openapi.yaml"
};

static const uint8_t json[] = {
#embed "../../openapi/openapi.json"
};

static const uint8_t events[] = {
#embed "../../openapi/asyncapi.json"
};

size_t copenapi_yaml_count(void) { return sizeof yaml; }
uint8_t copenapi_yaml(size_t place) { return yaml[place]; }
size_t copenapi_json_count(void) { return sizeof json; }
uint8_t copenapi_json(size_t place) { return json[place]; }
size_t copenapi_events_count(void) { return sizeof events; }
uint8_t copenapi_events(size_t place) { return events[place]; }
