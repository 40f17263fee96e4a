// Command run searches package toy: it prints a line of JSON a case, as kpsim explore does,
package main

import (
	"encoding/json"
	"os"

	"kpsim/scripts/drawn-faults/testdata/toy"
)

func main() {
	status := 0
	for _, k := range []struct {
		name                string
		from, to, sum, many int
		fails               bool
	}{
		{"one", 4, 4, 4, 1, false},
		{"three", 1, 3, 6, 3, false},
		{"none", 3, 1, 0, 0, true},
	} {
		sum, n, err := toy.Sum(k.from, k.to)
		ok := sum == k.sum && n == k.many && (err != nil) == k.fails
		seen := "Never"
		if !ok {
			seen, status = "Sometimes", 1
		}
		if json.NewEncoder(os.Stdout).
			Encode(map[string]any{"scenario": k.name, "property": "sum", "observation": seen, "expected": ok}) != nil {
			status = 2
		}
	}
	os.Exit(status)
}
