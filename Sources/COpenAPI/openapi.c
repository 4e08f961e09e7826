#include "copenapi.h"

// `openapi/embed` makes openapi.json and the next line, the SHA-256 of the two files one after the other.
// ef501dbffbbca0ee717affb2236fc8be85cbe5c76eaa1224fd9ddfa2e42b2d5e

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
