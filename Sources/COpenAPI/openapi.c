#include "copenapi.h"

// `openapi/embed` makes openapi.json and the next line, the SHA-256 of the two files one after the other.
<<<<<<< HEAD
// b384fa4ff82f919f984bf96fe92ad0717e8e9012db119a3e22b762718c1c17ed
=======
// b384fa4ff82f919f984bf96fe92ad0717e8e9012db119a3e22b762718c1c17ed
>>>>>>> 5c2da1f (API: a token limited to sessions sees its own in the status)

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
