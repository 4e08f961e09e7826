// The API's contract, openapi/openapi.yaml and its JSON form, as part of the program.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Bytes of the YAML form, and one of them.
size_t copenapi_yaml_count(void);
uint8_t copenapi_yaml(size_t place);

// The same for the JSON form.
size_t copenapi_json_count(void);
uint8_t copenapi_json(size_t place);

// The same for openapi/asyncapi.json, which describes the event stream.
size_t copenapi_events_count(void);
uint8_t copenapi_events(size_t place);
