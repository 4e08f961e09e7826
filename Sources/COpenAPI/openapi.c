#include "copenapi.h"

// `openapi/embed` makes openapi.json, asyncapi.json and the next line, the SHA-256 of the three files one after the other.
// 346c8cb102017593c9d138a3c86014c1c2bf808f836dffa79dcc07e58c1d3845

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
