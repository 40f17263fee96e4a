package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"kpsim/campaign/lead"
	"kpsim/internal/ui/cli"
)

// announcer returns a function that prints events, and posts them to a webhook if there is one.
func announcer(p *cli.Program, asJSON bool, hook string) func(e *lead.Event) {
	var mu sync.Mutex
	client := http.Client{Timeout: 10 * time.Second}
	return func(e *lead.Event) {
		mu.Lock()
		defer mu.Unlock()
		printEvent(p, asJSON, e)
		p.Flush()
		if hook == "" || e.Kind == "find" && !e.Find.New {
			return
		}
		go func() {
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			r, err := client.Post(hook, "application/json", bytes.NewReader(data))
			if err == nil {
				r.Body.Close()
				if r.StatusCode >= 300 {
					err = fmt.Errorf("it answered %s", r.Status)
				}
			}
			if err != nil {
				fmt.Fprintf(p.Err, "kpsim-campaign: --webhook: %v\n", err)
			}
		}()
	}
}

func printEvent(p *cli.Program, asJSON bool, e *lead.Event) {
	if asJSON {
		_ = p.PrintJSON(e)
		return
	}
	switch e.Kind {
	case "find":
		f := e.Find
		known := "new"
		if !f.New {
			known = "known since " + f.First
		}
		fmt.Fprintf(p.Out, "%s: find %s (%s): %s breaks %s: %s\n",
			e.Campaign, f.Cause.Cause, known, f.Scenario, f.Property, f.Message)
		for _, s := range f.Story {
			p.Indented(cli.Indent, s)
		}
	case "aside":
		fmt.Fprintf(p.Out, "%s: unit %s is set aside: %s\n", e.Campaign, e.Trouble.Unit.Key(), e.Trouble.Why)
	case "ended":
		fmt.Fprintf(p.Out, "%s: ended after %s; report: kpsim-campaign results %s\n",
			e.Campaign, cli.Number(e.Status.Runs, "run"), e.Campaign)
	}
}
