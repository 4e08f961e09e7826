// Every operation through the Go client of openapi-generator: the calls that compiled.py writes, one a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	ladle "ladleclient"
)

type step struct {
	Operation  string
	Path       []string
	Parameters map[string]json.RawMessage
	Body       json.RawMessage
}

// The answer of the program about one call: what it read, or why it could not.
type said map[string]any

func method(of reflect.Value, name string) (reflect.Value, bool) {
	for i := 0; i < of.NumMethod(); i++ {
		if strings.EqualFold(of.Type().Method(i).Name, name) {
			return of.Method(i), true
		}
	}
	return reflect.Value{}, false
}

// A value of the type that a function takes: a file by its name, all else out of its JSON.
func taken(text json.RawMessage, kind reflect.Type) (reflect.Value, error) {
	if kind == reflect.TypeOf((*os.File)(nil)) {
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return reflect.Value{}, err
		}
		file, err := os.Open(name)
		return reflect.ValueOf(file), err
	}
	value := reflect.New(kind)
	err := json.Unmarshal(text, value.Interface())
	return value.Elem(), err
}

func call(client *ladle.APIClient, ctx context.Context, one step) (said, error) {
	var request reflect.Value
	services := reflect.ValueOf(client).Elem()
	for i := 0; i < services.NumField(); i++ {
		if !services.Type().Field(i).IsExported() {
			continue
		}
		if begin, found := method(services.Field(i), one.Operation); found {
			arguments := []reflect.Value{reflect.ValueOf(ctx)}
			for _, word := range one.Path {
				arguments = append(arguments, reflect.ValueOf(word))
			}
			request = begin.Call(arguments)[0]
		}
	}
	if !request.IsValid() {
		return said{"absent": true}, nil
	}
	for name, text := range one.Parameters {
		set, found := method(request, name)
		if !found {
			continue // it stands in the path
		}
		value, err := taken(text, set.Type().In(0))
		if err != nil {
			return nil, err
		}
		request = set.Call([]reflect.Value{value})[0]
	}
	if string(one.Body) != "null" {
		var set reflect.Value
		for i := 0; i < request.NumMethod(); i++ {
			if kind := request.Method(i).Type(); kind.NumIn() == 1 && (kind.In(0).Kind() == reflect.Struct || kind.In(0).Kind() == reflect.Pointer) {
				set = request.Method(i)
			}
		}
		value, err := taken(one.Body, set.Type().In(0))
		if err != nil {
			return nil, err
		}
		request = set.Call([]reflect.Value{value})[0]
	}
	execute, _ := method(request, "Execute")
	answers := execute.Call(nil)
	if err, failed := answers[len(answers)-1].Interface().(error); failed {
		refused, known := err.(*ladle.GenericOpenAPIError)
		if !known || refused.Model() == nil {
			return nil, err
		}
		return said{"typed": refused.Model()}, nil
	}
	if len(answers) < 3 {
		return said{"typed": nil}, nil
	}
	return said{"typed": answers[0].Interface()}, nil
}

func main() {
	configuration := ladle.NewConfiguration()
	configuration.Servers = ladle.ServerConfigurations{{URL: os.Getenv("LADLE_URL")}}
	client := ladle.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), ladle.ContextAccessToken, os.Getenv("LADLE_TOKEN"))
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var one step
		answer := said{}
		if err := json.Unmarshal(line, &one); err != nil {
			answer["fault"] = err.Error()
		} else if answer, err = call(client, ctx, one); err != nil {
			answer = said{"fault": err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			text, _ = json.Marshal(said{"fault": err.Error()})
		}
		fmt.Println(string(text))
	}
}
