#include "copenapi.h"

// `openapi/embed` makes openapi.json and the next line, the SHA-256 of the two files one after the other.
// a07c2e9ac5ad75c0b9c3c4da2dd721f28798bc7e7e142353604ab58be9b0aa29

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
