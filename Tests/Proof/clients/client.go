// The Go client of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"os"

	ladle "ladleclient"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	name := os.Args[1]
	configuration := ladle.NewConfiguration()
	configuration.Servers = ladle.ServerConfigurations{{URL: os.Getenv("LADLE_URL")}}
	client := ladle.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), ladle.ContextAccessToken, os.Getenv("LADLE_TOKEN"))

	start, _, err := client.EventsAPI.StreamEvents(ctx).Poll(0).Execute()
	must(err)
	message := ladle.NewMessageInput()
	message.SetText("echo " + name)
	message.SetSession(name)
	sent, _, err := client.MessagesAPI.SendMessage(ctx).MessageInput(*message).Wait(30).Execute()
	must(err)
	reply := sent.Reply
	run, _, err := client.RunsAPI.GetRun(ctx, reply.Entry.Id).Execute()
	must(err)
	history, _, err := client.MessagesAPI.ListMessages(ctx).Session(name).Execute()
	must(err)
	texts := []string{}
	for _, one := range history.Messages {
		texts = append(texts, one.Text)
	}
	// Each event is of the type that it says.
	page, _, err := client.EventsAPI.StreamEvents(ctx).Poll(0).Since(start.Cursor).Session(name).Types("run.*").Execute()
	must(err)
	ended := ""
	for _, event := range page.Events {
		if event.RunEndedEvent != nil {
			ended = event.RunEndedEvent.Run.Text
		}
	}

	_, answer, err := client.IdentityAPI.GetIdentity(ctx).Execute()
	must(err)
	tag := answer.Header.Get("ETag")
	patch := ladle.NewIdentityPatch()
	patch.SetVibe(name)
	changed, _, err := client.IdentityAPI.PatchIdentity(ctx).IfMatch(tag).IdentityPatch(*patch).Execute()
	must(err)
	_, refused, err := client.IdentityAPI.PatchIdentity(ctx).IfMatch(tag).IdentityPatch(*patch).Execute()
	problem := err.(*ladle.GenericOpenAPIError).Model().(ladle.Problem)

	token, _, err := client.AccessAPI.CreateToken(ctx).TokenInput(*ladle.NewTokenInput(name, []ladle.Scope{"read"})).Execute()
	must(err)
	revoked, err := client.AccessAPI.RevokeToken(ctx, token.Id).Execute()
	must(err)
	left, _, err := client.AccessAPI.ListTokens(ctx).Execute()
	must(err)
	names := []string{}
	for _, one := range left.Tokens {
		names = append(names, one.Name)
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"session": reply.Entry.Session, "reply": reply.Reply, "run": run.State, "history": texts, "ended": ended,
		"vibe": changed.Fields.GetVibe(), "refused": refused.StatusCode, "code": problem.Code,
		"revoked": revoked.StatusCode, "tokens": names,
	}))
}
