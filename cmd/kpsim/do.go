package main

import (
	"fmt"
	"reflect"

	"kpsim/internal/ui/cli"
)

// do runs a command and tells what went wrong. What it has judged is printed last, if --format asks for that.
func do(p *cli.Program, c command) int {
	done := func(int, error) error { return nil }
	if j, ok := c.(cli.Judge); ok {
		var err error
		if done, err = p.Judging(verbOf(c), j); err != nil {
			fmt.Fprintf(p.Err, "kpsim: --format: %v\n", err)
			return cli.BadInput
		}
	}
	status, err := attempt(p, c)
	if err != nil && !p.LostBy(err) {
		fmt.Fprintf(p.Err, "kpsim: %v\n", err)
		status = cli.BadInput
	}
	lost := done(status, err)
	if why := p.Lost(); why != "" {
		fmt.Fprintf(p.Err, "kpsim: %s; make room, or write to another place\n", why)
		if status == cli.OK {
			return cli.BadInput
		}
	} else if lost != nil {
		fmt.Fprintf(p.Err, "kpsim: %v\n", lost)
		return cli.BadInput
	}
	return status
}

// verbOf returns the name of a command of the first level; "" if it is another.
func verbOf(c command) string {
	for _, v := range verbs {
		if reflect.TypeOf(v.new()) == reflect.TypeOf(c) {
			return v.name
		}
	}
	return ""
}

// attempt runs a command. A panic is the simulator's fault: none of what it came up with counts.
func attempt(p *cli.Program, c command) (status int, err error) {
	defer func() {
		if v := recover(); v != nil {
			bug(p, v)
			status, err = cli.Bug, nil
		}
	}()
	return c.Run(p)
}
