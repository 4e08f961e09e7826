#include "copenapi.h"

// `openapi/embed` makes openapi.json and the next line, the SHA-256 of the two files one after the other.
// 8b77b3ee21706546811fd7096aa6f6e170a8db5e8419b0da08b5ec25723e9c4c

static const uint8_t yaml[] = {
#embed "../../openapi/openapi.yaml"
};

static const uint8_t json[] = {
#embed "../../openapi/openapi.json"
};

size_t copenapi_yaml_count(void) { return sizeof yaml; }
uint8_t copenapi_yaml(size_t place) { return yaml[place]; }
size_t copenapi_json_count(void) { return sizeof json; }
uint8_t copenapi_json(size_t place) { return json[place]; }
