// Package main is above the runs: no ban applies.
package main

import (
	"fmt"
	"os"
	"time"

	_ "kpsim/kprobes/kpev"
)

func main() {
	done := make(chan bool)
	go func() { done <- true }()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	for k := range map[string]float64{"a": 0.5} {
		fmt.Fprintln(os.Stdout, k)
	}
}
