#include "copenapi.h"

// `openapi/embed` makes openapi.json and the next line, the SHA-256 of the two files one after the other.
// c2b87af06bda6c47ff4909d0edc26b0716767b8974a8edf15cce51c4ca50c055

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
